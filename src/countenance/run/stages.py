"""The stages after prediction: score, reduce, finish. Each reads and writes the store and can run alone."""

import datetime
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from countenance.answers.store import answers_from_table
from countenance.data import Sample
from countenance.errors import InputError
from countenance.run.early_stop import Watch
from countenance.run.manifest import Manifest
from countenance.run.plan import Piece, RunPlan
from countenance.run.rows import columns_of, failure_table, together
from countenance.run.shard import ShardResult, score_one, valid
from countenance.run.store import FAILURES, MANY_SCORES, MOST_ROWS, SCORES, WORK, Marker, RunStore
from countenance.tasks import Context, Reduced, Shard, Task
from countenance.tasks.reduce import merged

Progress = Callable[[str, int], Any]
Notes = Callable[[Sequence[Sample], Mapping[str, Any], Context], list[str]]
"""From samples and their predictions to sentences about what looks like a mistake."""
BLOCK = 100_000
"""Rows of the score table that are written at once."""
MOST_NOTED = 5000
"""Notes look at about so many images of a larger run."""
MOST_VALUES = 30
"""Attributes with more values are not compared unless they are named."""
NEVER_GROUPS = ("split", "part", "base")
"""Attributes that say where an image comes from, not who is in it."""
FIRST_GROUPS = ("skin_tone", "age_group", "gender")
"""Attributes that results are given for where nobody named any."""


def score(plan: RunPlan, store: RunStore, piece: Piece, marker: Marker) -> None:
    """Score the stored predictions of a shard again: no model is needed."""
    answers = store.shard_answers(piece.number)
    result = ShardResult(failures=list(marker.failures), skipped=marker.skipped, read=marker.pictures)
    for sample in plan.read(piece):
        if sample.id in answers:
            score_one(plan.task, sample, valid(plan.task, sample, answers[sample.id]), result)
    store.forget_shard(piece.number)
    result.commit(store, piece.number, plan.task, columns_of(plan.task, plan.samples.attributes))


@dataclass
class WholeRun:
    """The run as a reducer sees it."""

    table: Any
    read: Callable[[], Iterator[Shard]]
    seed: int = 0
    maker: Progress | None = None
    by: tuple[str, ...] | None = None
    """The attributes named by the user."""

    def rows(self) -> Any:
        return self.table

    def shards(self) -> Iterator[Shard]:
        return self.read()

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes named; otherwise skin tone, age group and gender, or whatever has 2 to 30 words instead."""
        kinds = {field.name.removeprefix("attr."): str(field.type) for field in self.table.schema}
        if self.by is not None:  # numbers cut into bins and intersections are the audit's
            return tuple(name for name in self.by if kinds.get(name, "double") != "double")
        kept = []
        for column in self.table.column_names:
            name = column.removeprefix("attr.")
            if name != column and name not in NEVER_GROUPS and kinds[name] == "string":
                values = self.table[column].unique().drop_null()
                if 2 <= len(values) <= MOST_VALUES:
                    kept.append(name)
        return tuple(name for name in FIRST_GROUPS if name in kept) or tuple(kept)

    def progress(self, what: str, total: int) -> Any:
        return nullcontext(lambda n=1: None) if self.maker is None else self.maker(what, total)


def planned(plan: RunPlan, store: RunStore, progress: Progress | None = None) -> WholeRun:
    """A run that has just been worked off, shard by shard as planned."""
    pieces = plan.pieces()

    def shards() -> Iterator[Shard]:
        for piece in pieces:
            samples = [sample for sample in plan.read(piece) if plan.task.asks(sample)]
            yield Shard(samples, store.shard_answers(piece.number), store.shard_rows(piece.number))

    table = together([store.shard_rows(piece.number) for piece in pieces])
    return WholeRun(table, shards, plan.settings.seed, progress, plan.by)


def stored(store: RunStore, dataset: Iterable[Sample], manifest: Manifest) -> WholeRun:
    """A finished run, with the samples of its dataset as it is now; InputError when some are gone from it."""
    table = store.scores()
    by_id = {sample.id: sample for sample in dataset}

    def shards() -> Iterator[Shard]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in store.answer_files():
            answers = answers_from_table(store.table(name), f"{store.place}/{name}")
            lost = [key for key in answers if key not in by_id]
            if lost:
                raise InputError(f"the dataset no longer has {lost[0]!r}")
            rows = table.filter(pc.is_in(table["sample"], pa.array(list(answers), pa.string())))
            yield Shard([by_id[key] for key in answers], answers, rows)

    by = None if manifest.by is None else tuple(manifest.by)
    return WholeRun(table, shards, manifest.seed, by=by)


def reduce(task: Task, whole: WholeRun) -> Reduced:
    """What the task's reducer finds in the run; nothing where it has none."""
    if task.reduce is None:
        return Reduced()
    states = [task.reduce.partial(shard) for shard in whole.shards()]
    if not states:
        raise InputError("the run has no stored predictions; the same `countenance run` command makes them again")
    return task.reduce.finish(merged(states, task.reduce.merge), whole)


def notes_on(plan: RunPlan, store: RunStore, notes: Notes) -> list[str]:
    """What looks like a mistake in the predictions; of a large run in parts of some shards, evenly spaced."""
    pieces = plan.pieces()[:: max(1, plan.images() // MOST_NOTED)]
    each = plan.images() if plan.images() <= MOST_NOTED else -(-MOST_NOTED // len(pieces))
    samples: list[Sample] = []
    answers: dict[str, Any] = {}
    for piece in pieces:
        read = plan.read(piece.first(each))
        found = store.shard_answers(piece.number, {sample.id for sample in read})
        samples += [sample for sample in read if sample.id in found]
        answers |= found
    return notes(samples, answers, plan.context())


def finish(
    plan: RunPlan,
    store: RunStore,
    markers: Mapping[int, Marker],
    manifest: Manifest,
    *,
    watch: Watch,
    notes: Notes,
    progress: Progress | None = None,
) -> Manifest:
    """Put the shards together, reduce them, and say that the run is complete.

    AllFailed: no image has a valid prediction, and `watch` does not allow that.
    """
    pieces = plan.pieces()
    failures = [row for piece in pieces for row in markers[piece.number].failures]
    watch.finished(failures, plan.images() - sum(marker.skipped for marker in markers.values()))
    if plan.task.reduce is None:
        reduced = Reduced()
        stream_scores(store, [piece.number for piece in pieces])
    else:
        whole = planned(plan, store, progress)
        reduced = reduce(plan.task, whole)
        write_scores(store, whole.table, reduced)
    store.write_table(FAILURES, failure_table(failures, plan.samples.attributes))
    store.write_results(reduced.results)
    skipped = plan.samples.skipped + sum(marker.skipped for marker in markers.values())
    seen = "\n".join(markers[piece.number].pictures for piece in pieces)
    dataset = manifest.dataset.model_copy(
        update={
            "skipped": skipped,
            "images": plan.images() - sum(m.skipped for m in markers.values()),
            "pictures": hashlib.sha256(seen.encode()).hexdigest() if seen.strip() else "",
        }
    )
    manifest = manifest.model_copy(
        update={
            "status": "complete",
            "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "failed": len(failures),
            "dataset": dataset,
            "cores": os.cpu_count(),
            "notes": [*manifest.notes, *reduced.notes, *notes_on(plan, store, notes)],
        }
    )
    store.write_manifest(manifest)
    store.seal()
    for entry in store.storage.entries(WORK):
        store.storage.delete(entry.name)
    return manifest


def stream_scores(store: RunStore, shards: Sequence[int]) -> None:
    """Write the score table from the rows of the shards; memory does not grow with their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas, rows = [], 0
    for number in shards:
        table = store.shard_rows(number)
        schemas.append(table.schema)
        rows += table.num_rows
    schema = pa.unify_schemas(schemas)

    def blocks() -> Iterator[Any]:
        waiting: list[Any] = [schema.empty_table()]
        for number in shards:
            waiting.append(store.shard_rows(number))
            if sum(table.num_rows for table in waiting) >= BLOCK:
                yield together(waiting)
                waiting = [schema.empty_table()]
        if len(waiting) > 1 or not rows:
            yield together(waiting)

    left = blocks()
    for number in range(max(1, -(-rows // MOST_ROWS))):
        name = SCORES if rows <= MOST_ROWS else f"{MANY_SCORES}{number:05d}.parquet"
        some = left if rows <= MOST_ROWS else itertools.islice(left, MOST_ROWS // BLOCK)

        def write(stream: Any, some: Iterable[Any] = some) -> None:
            with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
                for table in some:
                    writer.write_table(table)

        store.storage.write_stream(name, write)


def write_scores(store: RunStore, table: Any, reduced: Reduced) -> None:
    """Write the score table with the columns that the reducer adds."""
    import pyarrow as pa

    for name, values in reduced.columns.items():
        if len(values) != table.num_rows:
            raise InputError(f"column {name!r} of the reducer has {len(values)} values for {table.num_rows} rows")
        column = pa.array(values, pa.float64(), from_pandas=True)
        place = table.column_names.index(f"m.{name}") if f"m.{name}" in table.column_names else None
        if place is None:
            table = table.append_column(f"m.{name}", column)
        else:
            table = table.set_column(place, f"m.{name}", column)
    if table.num_rows <= MOST_ROWS:
        store.write_table(SCORES, table)
        return
    for number, start in enumerate(range(0, table.num_rows, MOST_ROWS)):
        store.write_table(f"{MANY_SCORES}{number:05d}.parquet", table.slice(start, MOST_ROWS))
