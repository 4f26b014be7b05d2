"""Score rows and failures as Arrow tables with the same columns in every shard, so that shards concatenate."""

from collections.abc import Mapping, Sequence
from typing import Any

from countenance.data import Sample
from countenance.data.sample import Floats
from countenance.errors import RunError
from countenance.tasks import Task
from countenance.text import redacted

FIRST = {"sample": "string", "subject": "string", "identity": "string"}
FAILURE = ("sample", "kind", "reason")


def columns_of(task: Task, attributes: Mapping[str, str]) -> dict[str, str]:
    """The columns of a run's score table with their types: who, the attributes, then the metrics."""
    columns = FIRST | {f"attr.{name}": kind for name, kind in attributes.items()}
    return columns | {f"m.{metric.name}": "double" for metric in task.metrics if not metric.of_groups}


def rows_table(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], numbers: Mapping[str, Floats] | None = None
) -> Any:
    """Score rows with these columns; metrics that only some rows have, and further columns of numbers, come after them.

    NaN in `numbers` is a value that is not known.
    """
    import pyarrow as pa

    numbers = numbers or {}
    further = sorted(({name for row in rows for name in row} | set(numbers)) - set(columns))
    kinds = dict(columns) | dict.fromkeys(further, "double")
    types = {"string": pa.string(), "double": pa.float64(), "list": pa.list_(pa.string())}
    arrays = [
        pa.array(numbers[name], from_pandas=True)
        if name in numbers
        else pa.array([_as(kind, row.get(name)) for row in rows], types[kind])
        for name, kind in kinds.items()
    ]
    return pa.table(arrays, names=list(kinds))


def _as(kind: str, value: Any) -> Any:
    if value is None or kind == "double":
        return value
    if kind == "list":
        return list(value) if isinstance(value, (tuple, list)) else [str(value)]
    return f"{value:g}" if isinstance(value, float) else str(value)


def failure_row(sample: Sample, kind: str, reason: str) -> dict[str, Any]:
    """A failed image: the reason, and the people in it, so that everyone is counted."""
    people = [{**sample.attributes, **subject.attributes} for subject in sample.people] or [dict(sample.attributes)]
    names = dict.fromkeys(name for person in people for name in person)
    values = {
        name: [None if person.get(name) is None else _text(person[name]) for person in people]
        for name in names
        if not any(isinstance(person.get(name), float) for person in people)
    }
    return {
        "sample": sample.id,
        "kind": kind,
        "reason": redacted(reason.encode("utf-8", "replace").decode()[:500]),
        "people": [subject.identity or subject.id for subject in sample.people],
        "attributes": values,
    }


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def failure_table(failures: Sequence[Mapping[str, Any]], attributes: Mapping[str, str]) -> Any:
    """Failed images as a table; `people` and each `attr.*` list one value for each person in the image."""
    import pyarrow as pa

    names = [name for name, kind in attributes.items() if kind != "double"]
    rows = [
        {name: row[name] for name in FAILURE}
        | {"people": row.get("people") or []}
        | {f"attr.{name}": (row.get("attributes") or {}).get(name) for name in names}
        for row in failures
    ]
    several = pa.list_(pa.string())
    schema = [*((name, pa.string()) for name in FAILURE), ("people", several)]
    return pa.Table.from_pylist(rows, schema=pa.schema([*schema, *((f"attr.{name}", several) for name in names)]))


def check_scores(table: Any, place: str) -> None:
    """Refuse a score table whose columns are not of the kinds that runs have; `place` names its file."""
    import pyarrow.types as types

    if "sample" not in table.column_names:
        raise RunError(f"{place}: no column sample; it is not a score table of a run")
    if len(set(table.column_names)) < len(table.column_names):
        raise RunError(f"{place}: two columns of one name; evaluate again to repair")
    for column in table.schema:
        kind = column.type
        number = types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
        text = types.is_string(kind) or types.is_large_string(kind)
        if column.name in FIRST:
            good, expected = text, "text"
        elif column.name.startswith("m."):
            good, expected = number, "numbers"
        else:
            several = types.is_list(kind) and types.is_string(kind.value_type)
            good, expected = number or text or several, "text, numbers or lists of text"
        if not good and not types.is_null(kind):
            raise RunError(f"{place}: {column.name} holds {kind}, expected {expected}; evaluate again to repair")


def check_failures(table: Any, place: str) -> None:
    """Refuse a table of failed images whose columns are not of the kinds that runs have."""
    import pyarrow.types as types

    if "people" not in table.column_names:
        raise RunError(f"{place}: no column people; evaluate again to repair")
    for name in FAILURE:
        if name not in table.column_names or not types.is_string(table.schema.field(name).type):
            raise RunError(f"{place}: no column {name} of text; evaluate again to repair")
        if table[name].null_count:
            raise RunError(f"{place}: a row without {name}; evaluate again to repair")
    for column in table.schema:
        several = types.is_list(column.type) and types.is_string(column.type.value_type)
        if column.name not in FAILURE and not several:
            raise RunError(f"{place}: {column.name} holds {column.type}, expected lists of text; evaluate again")


def together(tables: Sequence[Any]) -> Any:
    """Tables of shards as one, in order; a column that only some have is null in the others."""
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="default").combine_chunks()
