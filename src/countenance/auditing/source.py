"""Any table of rows: a path (.parquet, a folder of them, .csv), an Arrow table, a pandas DataFrame or a mapping.

A column may be named with or without our prefix (`attr.` for attributes, `m.` for metrics).
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from countenance.auditing.parquet import SUFFIXES, ParquetFiles
from countenance.auditing.table import UNKNOWN, flat, is_list, is_text, text_of
from countenance.decoding import decoding
from countenance.errors import InputError
from countenance.person_columns import GROUPS_OF

ATTRIBUTE = "attr."
NOTE = b"countenance.note"
"""The key under which a column's metadata holds a note on the column."""


class Source:
    """The columns of a table, read on first use. A source that is used again keeps what it has read.

    >>> Source({"sex": ["f", "m"], "found": [1, 0]}).names
    ['sex', 'found']
    """

    def __init__(self, table: Any, label: str | None = None) -> None:
        import pyarrow as pa

        self.path: Path | None = None
        self.parquet: ParquetFiles | None = None
        self._table: Any = None
        self._cache: dict[Any, Any] = {}
        if isinstance(table, ParquetFiles):
            self.label, self.parquet, self.names = str(table.files[0]), table, list(table.schema.names)
        elif isinstance(table, str | Path):
            self.path = Path(table)
            self.label = str(table)
            if (self.path / "run.json").is_file():
                raise InputError(f"{table}: a run, not a table; open it first: countenance.Run({str(table)!r})")
            if _is_parquet(self.path):
                self.parquet = ParquetFiles.of(self.path)
                self.names = list(self.parquet.schema.names)
            else:
                self.names = _names_of_csv(self.path)
        elif isinstance(table, pa.Table):
            self.label, self._table, self.names = "table", table, list(table.column_names)
        elif isinstance(table, Mapping):
            self.label, self._table, self.names = "table", table, [str(name) for name in table]
            lengths = {str(name): len(column) for name, column in table.items()}
            if len(set(lengths.values())) > 1:
                raise InputError(f"table: columns differ in length ({lengths}); expected one value in each row")
        elif hasattr(table, "columns") and hasattr(table, "dtypes"):
            self.label, self._table, self.names = "table", table, [str(name) for name in table.columns]
        else:
            raise InputError(
                f"table: found {type(table).__name__}, expected a path (.parquet, .csv), a pyarrow Table, "
                "a pandas DataFrame or a mapping of columns"
            )
        self.label = self.label if label is None else label

    def resolve(self, name: str, prefix: str = "", what: str = "column") -> str:
        """The table's own name for a column the user named; an unknown name is an error with similar names.

        `age` means the groups of ages where a run or a dataset has nothing else.

        >>> Source({"attr.sex": ["f"], "m.found": [1]}).resolve("found", "m.")
        'm.found'
        """
        groups = [prefix + GROUPS_OF[name]] if prefix == ATTRIBUTE and name in GROUPS_OF else []
        for candidate in (prefix + name, name, *groups):
            if candidate in self.names:
                return self._single(candidate)
        bare = {n.removeprefix("attr.").removeprefix("m.") if prefix else n: n for n in self.names}
        folded = {n.casefold(): n for n in bare}
        near = [folded[n] for n in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)]
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"the columns are {_some(self.names)}"
        raise InputError(f"{self.label}: no {what} {name!r}; {hint}")

    def _single(self, name: str) -> str:
        """A column's name; InputError where several have it."""
        if self.names.count(name) > 1:
            raise InputError(
                f"{self.label}: {self.names.count(name)} columns are named {name!r}; "
                "rename them so that each name occurs once"
            )
        return name

    def note_of(self, name: str) -> str:
        """The note that the maker of a column stored with it; empty where there is none."""
        import pyarrow as pa

        schema = self.parquet.schema if self.parquet is not None else getattr(self._table, "schema", None)
        if not isinstance(schema, pa.Schema) or name not in schema.names:
            return ""
        return ((schema.field(name).metadata or {}).get(NOTE) or b"").decode("utf-8", "replace")

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result of `make()`, computed once for each key."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def type_of(self, name: str) -> Any:
        """The Arrow type of a column; None where its values are of mixed kinds."""
        return self.keep(("type", name), lambda: self._type(name))

    def kind(self, name: str) -> str:
        """The kind of a column's values: text, boolean, list (of texts), number or other.

        >>> [Source({"a": ["x"], "b": [True], "c": [1.5]}).kind(name) for name in "abc"]
        ['text', 'boolean', 'number']
        """
        import pyarrow as pa

        kind = self.type_of(name)
        if kind is None:
            return "other"
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if is_list(kind):
            return "list" if is_text(kind.value_type) else "other"
        if is_text(kind):
            return "text"
        if pa.types.is_boolean(kind):
            return "boolean"
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        return "number" if number else "text" if pa.types.is_null(kind) else "other"

    def is_code(self, name: str) -> bool:
        """Whether a column holds texts or whole numbers, which may identify the person of a row.

        >>> [Source({"a": ["x"], "b": [7], "c": [1.5]}).is_code(name) for name in "abc"]
        [True, True, False]
        """
        import pyarrow as pa

        kind = self.type_of(name)
        if kind is None or pa.types.is_null(kind):
            return False
        return bool(pa.types.is_integer(kind)) or self.kind(name) == "text"

    def distinct(self, name: str) -> int:
        """How many different known values a column has."""
        return len(self.values(name))

    def values(self, name: str) -> set[str]:
        """The different known values of a column, as texts."""
        texts: set[str] = set()
        for column in self._parts(name):
            values = flat(column.flatten()) if is_list(column.type) else column
            texts |= {text_of(value) for value in values.unique().to_pylist()}
        return texts - {UNKNOWN}

    def _parts(self, name: str) -> Iterator[Any]:
        """A column, piece by piece where it is in files."""
        if self.parquet is None:
            yield self.read([name], [])[name]
            return
        for batch in self.parquet.batches(name):
            yield flat(batch.column(name))

    def _type(self, name: str) -> Any:
        import pyarrow as pa

        path = self.path
        if self.parquet is not None:
            return self.parquet.schema.field(name).type
        if path is not None:
            with _csv_errors(path):
                return self.keep("schema", lambda: _open_csv(path).schema).field(name).type
        if isinstance(self._table, pa.Table):
            return self._table.schema.field(name).type
        try:
            return self.read([], [name])[name].type
        except InputError:
            return None

    def read(self, texts: Sequence[str], others: Sequence[str]) -> dict[str, Any]:
        """The named columns as arrow arrays; `texts` keep the text a CSV has ("01" is not 1)."""
        import pyarrow as pa

        names = [self._single(name) for name in dict.fromkeys([*texts, *others])]
        if self.parquet is not None or self.path is not None:
            table = self.parquet.read(names) if self.parquet is not None else _read_csv(self.path, texts, names)
            return {name: flat(table.column(name)) for name in names}
        if isinstance(self._table, pa.Table):
            return {name: flat(self._table.column(name)) for name in names}
        by_text = {
            str(name): name for name in (self._table if isinstance(self._table, Mapping) else self._table.columns)
        }
        return {name: _to_arrow(name, self._table[by_text[name]]) for name in names}


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _is_parquet(path: Path) -> bool:
    """Whether a table is Parquet (a file, or a folder of them) or CSV; anything else is refused."""
    if not path.exists():
        raise InputError(f"{path}: no such file; expected a .parquet or .csv table of rows")
    if path.is_dir():
        return True
    if not path.is_file():  # reading a pipe would never end
        raise InputError(f"{path}: not a regular file; expected a .parquet or .csv table of rows")
    if path.suffix.lower() not in {*SUFFIXES, ".csv", ".txt"}:
        raise InputError(f"{path}: {path.suffix or 'no extension'}, expected .parquet or .csv")
    return path.suffix.lower() in SUFFIXES


def _names_of_csv(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        try:
            header = next(csv.reader(lines), None)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text ({error}); save it as UTF-8") from None
    if not header:
        problem = "empty file" if header is None else "line 1 is empty"
        raise InputError(f"{path}: {problem}, expected a header line with the names of the columns")
    if len(header) == 1 and (other := next((sign for sign in (";", "\t") if sign in header[0]), "")):
        separator = "semicolons" if other == ";" else "tabs"
        raise InputError(f"{path}: columns separated by {separator}, expected commas; export it as CSV with commas")
    return header


def _read_csv(path: Any, texts: Sequence[str], names: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc

    options = pc.ConvertOptions(
        include_columns=names, column_types={name: pa.string() for name in texts}, strings_can_be_null=False
    )
    with _csv_errors(path):
        return pc.read_csv(path, convert_options=options, parse_options=pc.ParseOptions(newlines_in_values=True))


def _open_csv(path: Path) -> Any:
    import pyarrow.csv as pc

    options = pc.ConvertOptions(strings_can_be_null=False)
    return pc.open_csv(path, convert_options=options, parse_options=pc.ParseOptions(newlines_in_values=True))


@contextmanager
def _csv_errors(path: Path) -> Iterator[None]:
    with decoding(path, "CSV table"):
        yield


def _to_arrow(name: str, values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return flat(values)
    try:
        if isinstance(values, np.ndarray) and values.ndim > 1:
            values = list(values)
        return flat(pa.array(values, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, UnicodeEncodeError) as error:
        raise InputError(f"column {name!r}: mixed kinds of values ({str(error).splitlines()[0]})") from None
