"""The interface of engines: their input and duties."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from countenance.data.fit_input import FitContext
from countenance.models import ModelSpec
from countenance.run.early_stop import Watch
from countenance.run.plan import Piece
from countenance.run.staleness import Difference
from countenance.run.withdrawals import NOBODY, Withdrawn
from countenance.tasks import Context
from countenance.tasks.task import CONTEXT

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """A worker's configuration; plain values, so that it can be sent to another machine."""

    task: str
    options: Mapping[str, Any] | None
    model: ModelSpec
    manifest: str
    """Where the samples are: a manifest's folder or URL."""
    store: str
    """Where the run is."""
    columns: Mapping[str, str]
    batch: int
    decoders: int = 0
    """Decode processes of each worker; 0: pictures are decoded by a thread of the worker."""
    decode: str = "exact"
    """exact: by the processor; gpu: by the GPU that the model is on."""
    strict: bool = False
    time_limit: float = 120.0
    max_failures: float = 0.05
    withdrawn: Withdrawn = NOBODY
    context: Context = CONTEXT
    fit: FitContext | None = None
    """What the model is fitted on first."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rate:
    """How fast a few images were evaluated in one worker.

    >>> Rate(images=32, seconds=0.25, workers=2).estimate(1_000_000)
    '1,000,000 images to do; 32 of them took one worker 0.25 s (128 images/s), so about 1.1 h with 2 workers'
    """

    images: int
    seconds: float
    workers: int

    def estimate(self, images: int) -> str:
        """A sentence on the cost of this many images."""
        rate = self.images / max(self.seconds, 1e-9)
        left = images / rate / self.workers
        took = f"{left / 3600:.1f} h" if left >= 3600 else f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        return (
            f"{images:,} images to do; {self.images} of them took one worker {self.seconds:.2f} s "
            f"({rate:.3g} images/s), so about {took} with {workers}"
        )


class Engine(Protocol):
    """Processes shards and stores them."""

    watch: Watch
    """Receives every answered or failed image, and stops a run on which all images fail."""

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        """Predict, score and commit every piece."""

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        """Predict stored samples (ids by shard) again and return a difference from the stored answers.

        None if the model still gives the same answers.
        """

    def rate(self, piece: Piece) -> Rate | None:
        """How fast a few images of a piece are evaluated; None where this cannot be measured beforehand."""
