"""Score tables in duckdb: each is loaded once into a temporary database, and pages of rows are read from there."""

import shutil
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.decoding import decoding, limited_memory, most_memory
from countenance.scratch import scratch_folder

MEMORY = "128MB"
"""What duckdb may hold of all tables together; the rest stays in its file."""


class Tables:
    """A temporary database that is removed when the program ends."""

    def __init__(self) -> None:
        import duckdb

        folder = scratch_folder("view")
        self._database = duckdb.connect(
            str(folder / "rows.duckdb"),
            config={"threads": 2, "memory_limit": MEMORY, "temp_directory": str(folder)},
        )
        self._lock = threading.Lock()
        self._count = 0
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def load(self, files: Sequence[Path], place: str) -> str:
        """Load Parquet files, in order, as a table and return its name; `place` names their run in messages."""
        import pyarrow.dataset as ds

        # Through Arrow, since duckdb would take * and [ in the name of a folder for a pattern.
        with decoding(place, "score table"), limited_memory(max(map(most_memory, files))):
            return self.take_in(ds.dataset([str(file) for file in files], format="parquet"))

    def take_in(self, incoming: Any) -> str:
        """Load anything that Arrow can stream as a table; returns its name."""
        with self._lock:
            self._count += 1
            name = f"rows_{self._count}"
            here = self._database.cursor()
            here.register("incoming", incoming)
            here.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")  # noqa: S608 - a name of our own
            here.unregister("incoming")
            return name

    def drop(self, name: str) -> None:
        """Remove a table."""
        with self._lock:
            self._database.cursor().execute(f"DROP TABLE IF EXISTS {name}")

    def rows(self, name: str, places: Sequence[int]) -> list[dict[str, Any]]:
        """The rows at some places, in the order of the places."""
        if not len(places):
            return []
        query = f"SELECT t.rowid AS place, t.* FROM {name} t JOIN (SELECT unnest(?) AS k) w ON t.rowid = w.k"  # noqa: S608
        result = self._database.cursor().execute(query, [[int(place) for place in places]])
        names = [column[0] for column in result.description]
        by_place = {row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in result.fetchall()}
        return [by_place[int(place)] | {"place": int(place)} for place in places if int(place) in by_place]

    def named(self, name: str, column: str, values: Sequence[str]) -> list[dict[str, Any]]:
        """The rows with one of some values in a column."""
        query = f'SELECT t.* FROM {name} t WHERE t."{column}" IN (SELECT unnest(?))'  # noqa: S608
        result = self._database.cursor().execute(query, [list(values)])
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


_tables: Tables | None = None
_making = threading.Lock()


def tables() -> Tables:
    """The only database of this program."""
    global _tables
    with _making:
        if _tables is None:
            _tables = Tables()
        return _tables
