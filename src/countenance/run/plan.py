"""The plan: what is evaluated, on what, in which shards, and the key under which its results may be reused."""

import hashlib
import inspect
import json
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import countenance
from countenance.data import Dataset, Sample
from countenance.data.card import DatasetCard
from countenance.data.fit_input import FitContext
from countenance.data.manifest import SampleManifest
from countenance.data.manifest_writer import attribute_kinds
from countenance.errors import DataError
from countenance.files import file_hash
from countenance.metrics.readings import CORNERS, Reading
from countenance.models import ModelCard
from countenance.run.latency import LATENCY
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.run.withdrawals import NOBODY, Withdrawn
from countenance.settings import RunSettings
from countenance.tasks import Context, Task

SMALLEST, LARGEST = 64, 50_000
"""The bounds of the number of images in a shard: a small run that is killed loses little, and a large run has few
files."""


@dataclass(frozen=True)
class Piece:
    """A shard of a run: rows of one partition of the samples."""

    number: int
    partition: int
    start: int
    stop: int
    chosen: tuple[int, ...] | None = None
    """The rows drawn, where only some of the range are; None: all of them."""

    @property
    def images(self) -> int:
        return self.stop - self.start if self.chosen is None else len(self.chosen)

    def first(self, count: int) -> "Piece":
        """At most this many of its images.

        >>> Piece(0, 0, 100, 200).first(10).stop, Piece(0, 0, 100, 200, (101, 150, 199)).first(2).chosen
        (110, (101, 150))
        """
        if self.chosen is None:
            return replace(self, stop=min(self.stop, self.start + count))
        rows = self.chosen[:count]
        return replace(self, chosen=rows, stop=rows[-1] + 1 if rows else self.start)

    def after(self, count: int) -> "Piece":
        """Its images without the first ones.

        >>> Piece(0, 0, 100, 200).after(10).start, Piece(0, 0, 100, 200, (101, 150, 199)).after(2).chosen
        (110, (199,))
        """
        if self.chosen is None:
            return replace(self, start=min(self.stop, self.start + count))
        rows = self.chosen[count:]
        return replace(self, chosen=rows, start=rows[0] if rows else self.stop)


class Samples(Protocol):
    """The samples of a plan, in memory or in a manifest."""

    @property
    def card(self) -> DatasetCard: ...
    @property
    def attributes(self) -> Mapping[str, str]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def fingerprint_has_pictures(self) -> bool: ...
    @property
    def skipped(self) -> int: ...
    def pieces(self, size: int) -> list[Piece]: ...
    def read(self, piece: Piece) -> list[Sample]: ...


@dataclass(frozen=True)
class InMemory:
    """The samples of a dataset in memory: those that the task evaluates, or some of them."""

    card: DatasetCard
    samples: tuple[Sample, ...]
    attributes: Mapping[str, str]
    fingerprint: str
    fingerprint_has_pictures: bool
    """False where pictures are hashed when they are read."""
    skipped: int

    def pieces(self, size: int) -> list[Piece]:
        n = len(self.samples)
        return [Piece(k, 0, start, min(start + size, n)) for k, start in enumerate(range(0, n, size))]

    def read(self, piece: Piece) -> list[Sample]:
        return list(self.samples[piece.start : piece.stop])


@dataclass(frozen=True)
class InManifest:
    """The samples of a partitioned manifest; whether the task evaluates a sample is decided when it is read."""

    manifest: SampleManifest
    drawn: tuple[tuple[int, ...], ...] | None = None
    """Rows drawn from each partition; None: all."""

    @property
    def card(self) -> DatasetCard:
        return self.manifest.card

    @property
    def attributes(self) -> Mapping[str, str]:
        return self.manifest.attributes

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint()

    @property
    def fingerprint_has_pictures(self) -> bool:
        return True

    @property
    def skipped(self) -> int:
        return 0

    def pieces(self, size: int) -> list[Piece]:
        return list(self._pieces(size))

    def _pieces(self, size: int) -> Iterator[Piece]:
        number = 0
        for k, partition in enumerate(self.manifest.partitions):
            rows = range(partition.rows) if self.drawn is None else self.drawn[k]
            for i in range(0, len(rows), size):
                some = rows[i : i + size]
                chosen = None if self.drawn is None else tuple(some)
                yield Piece(number, k, some[0], some[-1] + 1, chosen)
                number += 1

    def read(self, piece: Piece) -> list[Sample]:
        return read_piece(self.manifest, piece)


def read_piece(manifest: SampleManifest, piece: Piece) -> list[Sample]:
    """The samples of a piece."""
    samples = manifest.rows(piece.partition, piece.start, piece.stop)
    return samples if piece.chosen is None else [samples[row - piece.start] for row in piece.chosen]


@dataclass(frozen=True)
class RunPlan:
    """Everything that determines a run's results, and nothing else."""

    task: Task
    card: ModelCard
    samples: Samples
    source: str | None
    settings: RunSettings
    reading: Reading = CORNERS
    """What the four numbers of the model's boxes are."""
    timed: bool = False
    """Whether the time of each image is measured."""
    fit: FitContext | None = field(default=None, compare=False)
    """What the model is fitted on first; task and data, which are in the key, determine it."""
    withdrawn: Withdrawn = NOBODY
    """Images that a purge removed; they are never read again."""

    @property
    def by(self) -> tuple[str, ...] | None:
        """The attributes of results by group. They are not part of the key, since no prediction depends on them."""
        return None if self.settings.by is None else tuple(self.settings.by)

    def read(self, piece: Piece) -> list[Sample]:
        """The samples of a piece."""
        return self.withdrawn.present(self.samples.read(piece))

    def context(self) -> Context:
        """The context against which predictions are checked, besides their own image."""
        if isinstance(self.samples, InMemory):
            return Context.of(self.samples.samples, self.reading)
        return Context(self.reading, frozenset(self.samples.attributes))

    def pieces(self) -> list[Piece]:
        """The shards. They depend on the plan alone, so they are the same for every engine and number of workers."""
        return self.samples.pieces(self.shard_size())

    def shard_size(self) -> int:
        """Images in a shard: a hundredth of the run within bounds, a multiple of the batch."""
        batch = self.settings.batch
        images = sum(piece.images for piece in self.samples.pieces(LARGEST))
        size = self.settings.shard or min(max(images // 100, SMALLEST), LARGEST)
        return max(batch, size // batch * batch)

    def images(self) -> int:
        return sum(piece.images for piece in self.pieces())

    def key(self) -> str:
        """A hash of what is evaluated: with equal keys stored shards may be reused."""
        options = None if self.task.options is None else self.task.options.model_dump(mode="json")
        parts = [
            countenance.__version__,
            self.task.name,
            options,
            _code_of(self.task),
            self.card.content,
            self.card.name,
            self.samples.fingerprint,
            sorted(self.samples.attributes),
            self.settings.of_key(),
            asdict(self.reading),
            self.timed,
            self.shard_size(),
        ]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()

    def manifest(self) -> Manifest:
        """The plan's part of `run.json`."""
        from countenance.data.image import decoder
        from countenance.run.engine.nvjpeg import gpu_decoder

        options = {} if self.task.options is None else self.task.options.model_dump(mode="json")
        return Manifest(
            key=self.key(),
            suite=self.settings.suite,
            task=self.task.name,
            task_source=bare(self.task.source),
            question=self.task.question,
            options=options,
            answer=self.task.answer.__name__,
            curve_of=self.task.curve_of,
            metrics=[
                MetricRecord(**asdict(metric)) for metric in (*self.task.metrics, *((LATENCY,) if self.timed else ()))
            ],
            model=self.card,
            dataset=DatasetRecord(
                card=self.samples.card,
                source=bare(self.source),
                fingerprint=self.samples.fingerprint,
                images=self.images(),
                skipped=self.samples.skipped,
            ),
            boxes=asdict(self.reading),
            batch=self.settings.batch,
            shard=self.shard_size(),
            seed=self.settings.seed,
            limit=self.settings.limit,
            decoder=decoder() if self.settings.decode == "exact" else gpu_decoder(),
            versions=versions(),
            by=None if self.by is None else list(self.by),
            about=dict(self.settings.about or {}),
            status="running",
        )


def bare(source: str | None) -> str | None:
    """A dataset's source without the folders of this machine: what may be published.

    >>> bare("people:portraits"), bare("/home/me/data/faces"), bare("uccs:/data/uccs?set=test&more=/data/more")
    ('people:portraits', 'faces', 'uccs:uccs?set=test&more=more')
    """
    if source is None:
        return None
    scheme, colon, rest = (
        source.partition(":") if ":" in source and "/" not in source.split(":")[0] else ("", "", source)
    )
    path, mark, options = rest.partition("?")
    named = "&".join(re.sub(r"=.*/", "=", option) for option in options.split("&"))
    return f"{scheme}{colon}{Path(path).name if '/' in path else path}{mark}{named}"


def _code_of(task: Task) -> list[str]:
    """Hashes of the source files of a custom task; ours are covered by the version."""
    digests = []
    parts: list[Callable[..., Any]] = [task.score, task.coerce, task.asks, task.refuse]
    parts += [] if task.fit_input is None else [task.fit_input]
    if task.reduce is not None:
        parts += [task.reduce.partial, task.reduce.finish, task.reduce.merge]
    for part in parts:
        if not str(getattr(part, "__module__", "")).startswith("countenance."):
            try:
                digests.append(file_hash(Path(inspect.getfile(part))))
            except (TypeError, OSError):
                digests.append(getattr(part, "__qualname__", type(part).__name__))
    return sorted(set(digests))


def make_plan(
    task: Task,
    data: Dataset | SampleManifest,
    card: ModelCard,
    *,
    source: str | None = None,
    settings: RunSettings | None = None,
    reading: Reading = CORNERS,
    timed: bool = False,
) -> RunPlan:
    """The plan of a run. With a limit, a seeded sample of the images, in the dataset's order."""
    settings = settings or RunSettings()
    if not len(data):
        raise DataError(f"dataset {data.card.name!r} holds no image")
    if isinstance(data, SampleManifest):
        if task.fit_input is not None:
            raise DataError(f"task {task.name!r} fits models, which needs a dataset that is read whole, no manifest")
        return RunPlan(task, card, _in_manifest(data, settings), source, settings, reading, timed)
    fit = None if task.fit_input is None else task.fit_input(data)
    chosen = _in_memory(task, data, settings, frozenset() if fit is None else fit.seen)
    return RunPlan(task, card, chosen, source, settings, reading, timed, None if fit is None else fit.context)


def _in_memory(task: Task, dataset: Dataset, settings: RunSettings, seen: frozenset[str] = frozenset()) -> InMemory:
    name, times = next(iter(Counter(sample.id for sample in dataset).most_common(1)))
    if times > 1:
        raise DataError(
            f"dataset {dataset.name!r}: the id {name!r} names {times} images; ids must be unique "
            "(`countenance data check` lists them all)"
        )
    unseen = [sample for sample in dataset if sample.id not in seen]
    samples = [sample for sample in unseen if task.asks(sample)]
    if not samples:
        raise DataError(f"dataset {dataset.name!r} has no image with the truth that {task.name} needs")
    skipped = len(unseen) - len(samples)
    if settings.limit is not None and settings.limit < len(samples):
        samples = [samples[i] for i in _drawn(len(samples), settings)]
    kinds, fingerprint = attribute_kinds(samples), dataset.truth_fingerprint()
    return InMemory(dataset.card, tuple(samples), kinds, fingerprint, not dataset.hashed_when_read, skipped)


def _in_manifest(manifest: SampleManifest, settings: RunSettings) -> InManifest:
    if settings.limit is None or settings.limit >= len(manifest):
        return InManifest(manifest)
    rows = _drawn(len(manifest), settings)
    starts = np.concatenate([[0], np.cumsum([p.rows for p in manifest.partitions])])
    cut = np.searchsorted(rows, starts)
    drawn = [tuple(int(r - starts[k]) for r in rows[cut[k] : cut[k + 1]]) for k in range(len(manifest.partitions))]
    return InManifest(manifest, tuple(drawn))


def _drawn(n: int, settings: RunSettings) -> list[int]:
    chosen = np.random.default_rng(settings.seed).permutation(n)[: settings.limit]  # a smaller draw is part of a larger
    return sorted(int(i) for i in chosen)


def versions() -> dict[str, str]:
    """The versions that numbers depend on."""
    installed = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
    }
    for package in ("numpy", "scipy", "pyarrow", "onnxruntime", "pillow", "opencv-python-headless", "torch"):
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
