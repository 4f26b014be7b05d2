"""Queries on Parquet files, which duckdb answers without holding their rows in memory."""

from __future__ import annotations

import shutil
from typing import Any

from countenance.auditing.parquet import ParquetFiles
from countenance.errors import InputError
from countenance.scratch import scratch_folder

MEMORY = "4GB"
"""The memory that duckdb may use; what does not fit goes to a temporary folder."""
TABLE = "incoming"


def has_duckdb() -> bool:
    """Whether the package is installed (extras `large` and `view`)."""
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


class Database:
    """One table of Parquet files in duckdb, and small tables beside it."""

    def __init__(self, parquet: ParquetFiles) -> None:
        import duckdb

        self.file = parquet.files[0]
        self._folder = scratch_folder("audit")
        config = {"memory_limit": MEMORY, "temp_directory": str(self._folder), "preserve_insertion_order": False}
        self.connection = duckdb.connect(":memory:", config=config)
        # Through Arrow, since duckdb would take * and [ in the name of a folder for a pattern.
        self.connection.register(TABLE, parquet.dataset())

    def table(self, query: str) -> Any:
        """The answer to a query, as an Arrow table."""
        return self.connection.sql(query).to_arrow_table()

    def row(self, query: str) -> tuple[Any, ...]:
        """The only row of the answer."""
        return tuple(self.connection.execute(query).fetchall()[0])

    def add(self, name: str, table: Any) -> None:
        """A small table, to be joined."""
        self.connection.register(f"arrow_{name}", table)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM arrow_{name}")  # noqa: S608
        self.connection.unregister(f"arrow_{name}")

    def values(self, column: str, where: str = "TRUE") -> Any:
        """The different values of a column, and how often each occurs."""
        return self.table(f"SELECT {quoted(column)} AS value, count(*) AS n FROM {TABLE} WHERE {where} GROUP BY 1")  # noqa: S608

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        if kind is not None and kind.__name__ == "OutOfMemoryException":
            raise InputError(
                f"{self.file}: adding up the rows takes more than the {MEMORY} that duckdb may hold beside its "
                "temporary files; name fewer attributes (by=) or metrics, or set depth=1"
            ) from error


def quoted(name: str) -> str:
    """A column's name as SQL writes it.

    >>> print(quoted('attr."x"'))
    "attr.""x\"""
    """
    return '"' + name.replace('"', '""') + '"'
