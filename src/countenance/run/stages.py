"""The stages after prediction: score, reduce, finish. Each reads and writes the store and can run alone."""

import datetime
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data import Sample
from countenance.data.conditions import Conditions, points_again
from countenance.errors import RunError
from countenance.run.early_stop import Watch
from countenance.run.file_names import FAILURES, MANY_SCORES, SCORES, WORK, is_own
from countenance.run.invariants import RowChecks, notes_on_contradictions
from countenance.run.manifest import Manifest
from countenance.run.marker import Marker
from countenance.run.pictures import total
from countenance.run.plan import Piece, RunPlan
from countenance.run.rows import columns_of, failure_table, together
from countenance.run.shard import ShardResult, score_one
from countenance.run.store import MOST_ROWS, RunStore
from countenance.run.whole_run import BLOCK, Progress, WholeRun, planned
from countenance.tasks import Context, Reduced, State, Task
from countenance.tasks.reduce import joined
from countenance.tasks.states import Spool, merged
from countenance.tasks.task import no_notes

Columns = Mapping[str, NDArray[np.float64]]
Notes = Callable[[Sequence[Sample], Mapping[str, Any], Context], list[str]]
"""A function from samples and predictions to sentences on what looks like a mistake."""
MOST_NOTED = 5000
"""Notes look at about this many images of a larger run."""


def score(plan: RunPlan, store: RunStore, piece: Piece, marker: Marker, conditions: Conditions) -> None:
    """Score the stored predictions of a shard again: no model is needed.

    `conditions` are those that an earlier score table holds; without any, pictures that were read are read again.
    """
    answers = store.shard_answers(piece.number)
    result = ShardResult(
        failures=store.shard_failures(piece.number),
        skipped=marker.skipped,
        read=marker.pictures,
        samples=[sample for sample in plan.read(piece) if plan.task.asks(sample)],
        conditions=conditions or Conditions(),
    )
    for sample in result.samples:
        if sample.id in answers:
            score_one(plan.task, sample, answers[sample.id], result)
            points = points_again(sample) if marker.pictures and not conditions else None
            if points is not None:
                result.conditions.add(sample.id, sample.subjects, points)
    store.forget_shard(piece.number)
    result.commit(store, piece.number, plan.task, columns_of(plan.task, plan.samples.attributes))


def reduce(task: Task, whole: WholeRun) -> Reduced:
    """The reducer's result for the run; nothing where the task has no reducer."""
    if task.reduce is None:
        return Reduced()
    states = whole.states(task.reduce.partial)
    with Spool() as spool:
        state: State | None
        if task.reduce.merge is joined:
            for partial_state in states:
                spool.add(partial_state)
            state = spool if spool.count else None
        else:
            state = merged(states, task.reduce.merge)
        if state is None:
            raise RunError("the run has no stored predictions; the same `countenance run` command makes them again")
        return task.reduce.finish(state, whole)


def notes_on(plan: RunPlan, store: RunStore, notes: Notes) -> list[str]:
    """Notes on predictions that look like a mistake; of a large run, parts of evenly spaced shards are checked."""
    if notes is no_notes:
        return []
    pieces = plan.pieces()[:: max(1, plan.images() // MOST_NOTED)]
    each = plan.images() if plan.images() <= MOST_NOTED else -(-MOST_NOTED // len(pieces))
    samples: list[Sample] = []
    answers: dict[str, Any] = {}
    for piece in pieces:
        read = plan.read(piece.first(each))
        shard_answers = store.shard_answers(piece.number, {sample.id for sample in read})
        samples += [sample for sample in read if sample.id in shard_answers]
        answers |= shard_answers
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
) -> None:
    """Combine the shards, reduce them, and record that the run is complete.

    Raises AllFailed if no image has a valid prediction and `watch` does not allow that.
    """
    pieces = plan.pieces()
    numbers = [piece.number for piece in pieces]
    failed = sum(markers[number].failed for number in numbers)
    images = plan.images() - sum(marker.skipped for marker in markers.values())
    if failed == images:
        watch.finished([row for number in numbers for row in store.shard_failures(number)], images)
    reduced = reduce(plan.task, planned(plan, store, progress))
    checks = RowChecks()
    stream_scores(store, numbers, reduced.columns, checks)
    stream_failures(store, [number for number in numbers if markers[number].failed], plan.samples.attributes)
    store.write_results(reduced)
    skipped = plan.samples.skipped + sum(marker.skipped for marker in markers.values())
    dataset = manifest.dataset.model_copy(
        update={
            "skipped": skipped,
            "images": images,
            "pictures": total(markers[number].pictures for number in numbers),
        }
    )
    manifest = manifest.model_copy(
        update={
            "status": "complete",
            "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "failed": failed,
            "dataset": dataset,
            "cores": os.cpu_count(),
            "notes": [
                *notes_on_contradictions(reduced.results, checks),
                *manifest.notes,
                *reduced.notes,
                *notes_on(plan, store, notes),
            ],
        }
    )
    store.write_manifest(manifest)
    store.seal()
    for entry in store.storage.entries(WORK):
        if is_own(entry.name):
            store.storage.delete(entry.name)


def stream_scores(store: RunStore, shards: Sequence[int], columns: Columns, checks: RowChecks) -> None:
    """Write the score table from the rows of the shards and the columns that a reducer adds, block by block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas: dict[Any, None] = {}
    rows = 0
    for number in shards:
        table = store.shard_rows(number)
        schemas[table.schema] = None
        rows += table.num_rows
    schema = pa.unify_schemas(list(schemas))
    _refuse_lengths(columns, rows)
    for name in columns:
        if f"m.{name}" not in schema.names:
            schema = schema.append(pa.field(f"m.{name}", pa.float64()))

    def blocks() -> Iterator[Any]:
        waiting: list[Any] = [schema.empty_table()]
        start = 0
        for k, number in enumerate(shards):
            waiting.append(store.shard_rows(number))
            if sum(table.num_rows for table in waiting) >= BLOCK or k + 1 == len(shards):
                block = with_columns(together(waiting), columns, start).select(schema.names)
                yield block
                waiting, start = [schema.empty_table()], start + block.num_rows

    left = blocks()
    for number in range(max(1, -(-rows // MOST_ROWS))):
        name = SCORES if rows <= MOST_ROWS else f"{MANY_SCORES}{number:05d}.parquet"
        some = left if rows <= MOST_ROWS else itertools.islice(left, MOST_ROWS // BLOCK)

        def write(stream: Any, some: Iterable[Any] = some) -> None:
            with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
                for table in some:
                    writer.write_table(table)
                    checks.add(table)

        store.storage.write_stream(name, write)


def stream_failures(store: RunStore, shards: Sequence[int], attributes: Mapping[str, str]) -> None:
    """Write the table of failed images from the shards, one shard at a time."""
    import pyarrow.parquet as pq

    empty = failure_table([], attributes)

    def write(stream: Any) -> None:
        with pq.ParquetWriter(stream, empty.schema, compression="zstd") as writer:
            for number in shards:
                writer.write_table(failure_table(store.shard_failures(number), attributes))

    store.storage.write_stream(FAILURES, write) if shards else store.write_table(FAILURES, empty)


def _refuse_lengths(columns: Columns, rows: int) -> None:
    for name, values in columns.items():
        if len(values) != rows:
            raise RunError(f"column {name!r} of the reducer has {len(values)} values for {rows} rows")


def with_columns(table: Any, columns: Columns, start: int = 0) -> Any:
    """Rows from `start` on of the score table, with the columns that the reducer adds."""
    import pyarrow as pa

    for name, values in columns.items():
        column = pa.array(values[start : start + table.num_rows], pa.float64(), from_pandas=True)
        place = table.column_names.index(f"m.{name}") if f"m.{name}" in table.column_names else None
        if place is None:
            table = table.append_column(f"m.{name}", column)
        else:
            table = table.set_column(place, f"m.{name}", column)
    return table


def write_scores(store: RunStore, table: Any, reduced: Reduced) -> Any:
    """Write a score table from memory with the columns that the reducer adds; returns the table as written."""
    _refuse_lengths(reduced.columns, table.num_rows)
    table = with_columns(table, reduced.columns)
    if table.num_rows <= MOST_ROWS:
        store.write_table(SCORES, table)
        return table
    for number, start in enumerate(range(0, table.num_rows, MOST_ROWS)):
        store.write_table(f"{MANY_SCORES}{number:05d}.parquet", table.slice(start, MOST_ROWS))
    return table
