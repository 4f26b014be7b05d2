"""The plan: what is asked, of whom, in which shards, and the key under which its results may be reused."""

import hashlib
import inspect
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import countenance
from countenance.data import Dataset, Sample
from countenance.errors import InputError
from countenance.metrics.readings import CORNERS, Reading
from countenance.models import ModelCard
from countenance.models.model import file_hash
from countenance.tasks import Context, Task

SHARD = 64


@dataclass(frozen=True)
class Plan:
    """Everything that determines a run's results, and nothing that does not."""

    task: Task
    dataset: Dataset
    source: str | None
    card: ModelCard
    samples: tuple[Sample, ...]
    skipped: tuple[str, ...]
    batch: int
    seed: int
    limit: int | None
    fingerprint: str
    reading: Reading = CORNERS
    """What the four numbers of the model's boxes are."""

    def context(self) -> Context:
        """What every answer of this run is checked against, besides its own image."""
        return Context.of(self.samples, self.reading)

    def shards(self) -> list[tuple[int, int]]:
        """Start and end of each shard in `samples`."""
        size = max(self.batch, SHARD // self.batch * self.batch)
        return [(start, min(start + size, len(self.samples))) for start in range(0, len(self.samples), size)]

    def key(self) -> str:
        """A hash of what was asked: equal keys mean that stored shards may be reused."""
        asked = [
            countenance.__version__, self.task.name, _code_of(self.task), self.card.content, self.card.name,
            self.fingerprint, self.batch, self.seed, self.limit, [sample.id for sample in self.samples],
        ]  # fmt: skip
        if self.reading != CORNERS:
            asked.append(str(self.reading))
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()

    def manifest(self) -> dict[str, Any]:
        """What `run.json` says of the plan."""
        return {
            "countenance": countenance.__version__,
            "key": self.key(),
            "task": self.task.name,
            "task_source": self.task.source,
            "question": self.task.question,
            "metrics": [asdict(metric) for metric in self.task.metrics],
            "model": self.card.model_dump(),
            "dataset": {
                "card": self.dataset.card.model_dump(),
                "source": self.source,
                "fingerprint": self.fingerprint,
                "images": len(self.samples),
                "skipped": len(self.skipped),
            },
            "boxes": asdict(self.reading),
            "batch": self.batch,
            "seed": self.seed,
            "limit": self.limit,
            "versions": versions(),
        }


def _code_of(task: Task) -> list[str]:
    """Hashes of the files that a custom task is written in; the version stands for ours."""
    found = []
    for part in (task.score, task.coerce, task.asks, task.summarise, task.refuse):
        if not str(getattr(part, "__module__", "")).startswith("countenance."):
            try:
                found.append(file_hash(Path(inspect.getfile(part))))
            except (TypeError, OSError):
                found.append(getattr(part, "__qualname__", type(part).__name__))
    return sorted(set(found))


def make_plan(
    task: Task,
    dataset: Dataset,
    card: ModelCard,
    *,
    source: str | None = None,
    batch: int = 8,
    seed: int = 0,
    limit: int | None = None,
    reading: Reading = CORNERS,
) -> Plan:
    """The plan of a run. With a limit, a seeded sample of the images, in the dataset's order."""
    if not len(dataset):
        raise InputError(f"dataset {dataset.name!r} holds no image")
    if batch < 1:
        raise InputError(f"batch size {batch}, expected at least 1")
    if seed < 0:
        raise InputError(f"seed {seed}, expected 0 or more")
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}, expected at least 1")
    asked = [sample for sample in dataset if task.asks(sample)]
    if not asked:
        raise InputError(f"dataset {dataset.name!r} has no image with the truth that {task.name} needs")
    skipped = tuple(sample.id for sample in dataset if not task.asks(sample))
    if limit is not None and limit < len(asked):
        asked = _drawn(asked, limit, seed)
    return Plan(task, dataset, source, card, tuple(asked), skipped, batch, seed, limit, dataset.fingerprint(), reading)


def _drawn(samples: Sequence[Sample], n: int, seed: int) -> list[Sample]:
    import numpy as np

    chosen = np.random.default_rng(seed).permutation(len(samples))[:n]  # a smaller draw is part of a larger one
    return [samples[i] for i in sorted(chosen)]


def versions() -> dict[str, str]:
    """The versions that numbers depend on."""
    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
    }
    for package in (
        "numpy",
        "scipy",
        "statsmodels",
        "duckdb",
        "pyarrow",
        "onnxruntime",
        "opencv-python-headless",
    ):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
