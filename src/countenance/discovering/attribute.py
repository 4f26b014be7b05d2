"""A slice as an attribute of the rows: known for the confirming half, unknown for the searched half."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.auditing.source import NOTE, Source
from countenance.discovering.discovery import Discovered
from countenance.errors import InputError
from countenance.run import Run
from countenance.run.file_names import SCORES


def column_of(discovered: Discovered, number: int, rows: int) -> list[str | None]:
    """yes or no for the rows of the confirming half, None for all others."""
    values: list[str | None] = [None] * rows
    inside, confirm = discovered.members[number].rows, discovered.rows.confirm
    for place, member, known in zip(discovered.rows.places, inside, confirm, strict=True):
        values[int(place)] = ("yes" if member else "no") if known else None
    return values


def check_name(name: str, columns: Sequence[str]) -> None:
    """Raise if a name is invalid or already a column of the table.

    >>> check_name("hard", ["attr.hard"])
    Traceback (most recent call last):
    countenance.errors.InputError: save_attribute='hard': the table has such a column; choose another name
    """
    if not name.replace("_", "").replace("-", "").isalnum():
        raise InputError(f"save_attribute={name!r}: expected letters, digits, _ and -")
    if f"attr.{name}" in columns or name in columns:
        raise InputError(f"save_attribute={name!r}: the table has such a column; choose another name")


def with_attribute(table: Any, discovered: Discovered, name: str, number: int = 0) -> Any:
    """A table with a slice as the attribute `attr.NAME`, with a note that says for which rows it is known."""
    import pyarrow as pa

    check_name(name, table.column_names)
    people = len(np.unique(discovered.rows.people[discovered.rows.confirm]))
    note = (
        f"{name} is a slice that was searched for ({discovered.slices[number].description}); it is known for the "
        f"{people:,} {discovered.rows.unit} on whom it was confirmed, and only they are compared"
    )
    field = pa.field(f"attr.{name}", pa.string(), metadata={NOTE: note.encode()})
    return table.append_column(field, pa.array(column_of(discovered, number, table.num_rows), pa.string()))


def save_in_run(run: Run, discovered: Discovered, name: str) -> None:
    """Add a slice to the score table of a run."""
    if len(run.store.score_files()) > 1:
        raise InputError(f"{run.place}: its scores are several files; save_attribute= needs a run of one")
    table = with_attribute(run.scores(), discovered, name)
    with run.store.replacing(SCORES):
        run.store.write_table(SCORES, table)


def save_table(source: Source, discovered: Discovered, name: str, out: Path) -> Path:
    """Write a table with a slice added beside the page."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(source.read([n for n in source.names if source.kind(n) == "text"], source.names))
    path = out / f"with_{name}.parquet"
    pq.write_table(with_attribute(table.select(source.names), discovered, name), path)
    return path
