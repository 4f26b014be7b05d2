"""What an engine is given and what it must do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from countenance.models import ModelSpec
from countenance.run.early_stop import Watch
from countenance.run.plan import Piece
from countenance.run.stale import Difference
from countenance.tasks import Context
from countenance.tasks.task import CONTEXT

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """What a worker needs to know once; plain values, so that it can be sent to another machine."""

    task: str
    options: Mapping[str, Any] | None
    model: ModelSpec
    manifest: str
    """Where the samples are: a manifest's folder or URL."""
    store: str
    """Where the run is."""
    columns: Mapping[str, str]
    batch: int
    strict: bool = False
    time_limit: float = 120.0
    max_failures: float = 0.05
    withdrawn: frozenset[str] = frozenset()
    context: Context = CONTEXT
    environment: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """Works off shards and stores them."""

    watch: Watch
    """Told of every image that was answered or failed; it stops a run that is hopeless."""

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        """Predict, score and commit every piece."""

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        """Predict stored samples again (ids by shard) and say whether the model still gives the same."""
