"""Score rows as Arrow tables with the same columns in every shard, so that shards concatenate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.data import Sample
from countenance.tasks import Task

FIRST = {"sample": "string", "subject": "string", "identity": "string"}


def columns_of(task: Task, samples: Sequence[Sample]) -> dict[str, str]:
    """The columns of a run's score table with their types: who, the attributes, then the metrics."""
    columns = dict(FIRST)
    for sample in samples:
        for attributes in (sample.attributes, *(subject.attributes for subject in sample.subjects)):
            for name, value in attributes.items():
                column = f"attr.{name}"
                columns[column] = _wider(columns.get(column), value)
    columns = {name: kind or "string" for name, kind in columns.items()}
    return columns | {f"m.{metric.name}": "double" for metric in task.metrics}


def _wider(known: str | None, value: Any) -> str:
    if value is None:
        return known or ""
    kind = "list" if isinstance(value, tuple) else "double" if isinstance(value, float) else "string"
    if not known or known == kind:
        return kind
    return "list" if "list" in (known, kind) else "string"


def write_rows(path: Path, rows: Sequence[dict[str, Any]], columns: dict[str, str]) -> None:
    """Write score rows under the columns given, metrics that only some rows have after them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    further = sorted({name for row in rows for name in row} - set(columns))
    kinds = columns | dict.fromkeys(further, "double")
    types = {"string": pa.string(), "double": pa.float64(), "list": pa.list_(pa.string())}
    arrays = [pa.array([_as(kind, row.get(name)) for row in rows], types[kind]) for name, kind in kinds.items()]
    pq.write_table(pa.table(arrays, names=list(kinds)), path, compression="zstd")


def _as(kind: str, value: Any) -> Any:
    if value is None or kind == "double":
        return value
    if kind == "list":
        return list(value) if isinstance(value, (tuple, list)) else [str(value)]
    return f"{value:g}" if isinstance(value, float) else value


def concatenate(paths: Sequence[Path], out: Path) -> int:
    """Put the shards' tables together, in order, as one file; returns the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.concat_tables([pq.read_table(path) for path in paths], promote_options="default").combine_chunks()
    pq.write_table(table, out, compression="zstd")
    return int(table.num_rows)
