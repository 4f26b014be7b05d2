"""A run as a reducer reads it: score rows, predictions and states, part by part."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from countenance.answers.store import answers_from_table
from countenance.data import Sample
from countenance.errors import RunError
from countenance.run.manifest import Manifest
from countenance.run.plan import Piece, RunPlan
from countenance.run.rows import together
from countenance.run.store import RunStore
from countenance.tasks import Shard, State

Progress = Callable[[str, int], Any]
Partial = Callable[[Shard], State]
BLOCK = 100_000
"""Rows of the score table that are held at once."""
MOST_VALUES = 30
"""Attributes with more values are not compared unless they are named."""
NEVER_GROUPS = ("split", "part", "base")
"""Attributes that say where an image comes from, not who is in it."""
FIRST_GROUPS = ("skin_tone", "age_group", "gender")
"""Attributes by which results are computed if none are named."""


class RunParts(ABC):
    """The parts of a run, in its order; each kind of run defines how its shards are read."""

    @abstractmethod
    def shards(self) -> Iterator[Shard]:
        """Samples, predictions and rows."""

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The score table in parts, or the columns named."""
        for shard in self.shards():
            rows = shard.rows
            yield rows if columns is None else rows.select([name for name in columns if name in rows.column_names])

    def states(self, partial: Partial) -> Iterator[State]:
        """The reducer's state of each part."""
        return (partial(shard) for shard in self.shards())

    def answers(self) -> Iterator[tuple[str, Any]]:
        """Every prediction with its sample's id."""
        return ((sample.id, answer) for shard in self.shards() for sample, answer in shard.answered())


@dataclass(frozen=True)
class LoadedShards(RunParts):
    """Shards in memory."""

    read: Callable[[], Iterator[Shard]]

    def shards(self) -> Iterator[Shard]:
        return self.read()


@dataclass(frozen=True)
class PlannedShards(RunParts):
    """A run that has just been processed: stored results are used, and samples are read only where necessary."""

    plan: RunPlan
    store: RunStore

    def shards(self) -> Iterator[Shard]:
        return (self._shard(piece) for piece in self.plan.pieces())

    def _shard(self, piece: Piece) -> Shard:
        samples = [sample for sample in self.plan.read(piece) if self.plan.task.asks(sample)]
        return Shard(samples, self.store.shard_answers(piece.number), self.store.shard_rows(piece.number))

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        return (self.store.shard_rows(piece.number, columns) for piece in self.plan.pieces())

    def states(self, partial: Partial) -> Iterator[State]:
        for piece in self.plan.pieces():
            state = self.store.shard_state(piece.number)
            yield partial(self._shard(piece)) if state is None else state

    def answers(self) -> Iterator[tuple[str, Any]]:
        for piece in self.plan.pieces():
            yield from self.store.shard_answers(piece.number).items()


@dataclass(frozen=True)
class StoredShards(RunParts):
    """A finished run, with the present samples of its dataset; InputError when some are missing."""

    store: RunStore
    dataset: Iterable[Sample]

    @cached_property
    def _by_id(self) -> dict[str, Sample]:
        return {sample.id: sample for sample in self.dataset}

    def shards(self) -> Iterator[Shard]:
        import pyarrow as pa
        import pyarrow.compute as pc

        scores = self.store.scores()
        for name in self.store.answer_files():
            answers = answers_from_table(self.store.table(name), f"{self.store.place}/{name}")
            rows = scores.filter(pc.is_in(scores["sample"], pa.array(list(answers), pa.string())))
            yield Shard(self._samples(answers), answers, rows)
        failed = self._samples(self.store.failures()["sample"].to_pylist())
        if failed:
            yield Shard(failed, {}, scores.slice(0, 0))

    def _samples(self, names: Iterable[str]) -> list[Sample]:
        lost = next((name for name in names if name not in self._by_id), None)
        if lost is not None:
            raise RunError(f"the dataset no longer has {lost!r}")
        return [self._by_id[name] for name in names]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        for name in self.store.score_files():
            table = self.store.table(name, columns=columns)
            for start in range(0, max(table.num_rows, 1), BLOCK):
                yield table.slice(start, BLOCK)

    def answers(self) -> Iterator[tuple[str, Any]]:
        return self.store.answers()


@dataclass
class WholeRun:
    """The whole run as a reducer reads it."""

    parts: RunParts
    seed: int = 0
    maker: Progress | None = None
    by: tuple[str, ...] | None = None
    """The attributes named by the user."""

    def rows(self, columns: Sequence[str] | None = None) -> Any:
        return together(list(self.parts.tables(columns)))

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        return self.parts.tables(columns)

    def shards(self) -> Iterator[Shard]:
        return self.parts.shards()

    def answers(self) -> Iterator[tuple[str, Any]]:
        return self.parts.answers()

    def states(self, partial: Partial) -> Iterator[State]:
        """The reducer's state of each part."""
        return self.parts.states(partial)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes named; by default skin tone, age group and gender, else attributes with 2 to 30 values."""
        values: dict[str, set[Any]] = {}
        kinds: dict[str, str] = {}
        for rows in self.parts.tables():
            kinds |= {field.name.removeprefix("attr."): str(field.type) for field in rows.schema}
            if self.by is not None:  # the audit makes bins of numbers and intersections
                return tuple(name for name in self.by if kinds.get(name, "double") != "double")
            for column in rows.column_names:
                name = column.removeprefix("attr.")
                if name != column and name not in NEVER_GROUPS and kinds[name] == "string":
                    words = values.setdefault(name, set())
                    if len(words) <= MOST_VALUES:
                        words |= set(rows[column].unique().drop_null().to_pylist())
        usable = [name for name, words in values.items() if 2 <= len(words) <= MOST_VALUES]
        return tuple(name for name in FIRST_GROUPS if name in usable) or tuple(usable)

    def progress(self, what: str, total: int) -> Any:
        return nullcontext(lambda n=1: None) if self.maker is None else self.maker(what, total)


def planned(plan: RunPlan, store: RunStore, progress: Progress | None = None) -> WholeRun:
    """A run that has just been processed, shard by shard as planned."""
    return WholeRun(PlannedShards(plan, store), plan.settings.seed, progress, plan.by)


def stored(store: RunStore, dataset: Iterable[Sample], manifest: Manifest) -> WholeRun:
    """A finished run, with the present samples of its dataset."""
    return WholeRun(StoredShards(store, dataset), manifest.seed, by=None if manifest.by is None else tuple(manifest.by))
