"""Room: audit. Any table of rows becomes arrays: groups as codes, metrics as floats, clusters as codes.

A table is a path (.parquet, .csv), a pyarrow Table, a pandas DataFrame or a mapping of column names to
arrays. A column may be named with or without our prefix (`attr.` for attributes, `m.` for metrics).
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError

Array = NDArray[Any]
UNKNOWN = "(unknown)"
MAX_NUMERIC = 20


class Source:
    """The columns of a table, read only when asked for.

    >>> Source({"sex": ["f", "m"], "found": [1, 0]}).names
    ['sex', 'found']
    """

    def __init__(self, table: Any) -> None:
        import pyarrow as pa

        self.path: Path | None = None
        self._table: Any = None
        self._csv = False
        if isinstance(table, str | Path):
            self.path = Path(table)
            self.label = str(table)
            self._csv, self.names = _names_of_file(self.path)
        elif isinstance(table, pa.Table):
            self.label, self._table, self.names = "table", table, list(table.column_names)
        elif isinstance(table, Mapping):
            self.label, self._table, self.names = "table", table, [str(name) for name in table]
            lengths = {str(name): len(column) for name, column in table.items()}
            if len(set(lengths.values())) > 1:
                raise InputError(f"table: columns differ in length ({lengths}); expected one value a row in each")
        elif hasattr(table, "columns") and hasattr(table, "dtypes"):
            self.label, self._table, self.names = "table", table, [str(name) for name in table.columns]
        else:
            raise InputError(
                f"table: found {type(table).__name__}, expected a path (.parquet, .csv), a pyarrow Table, "
                "a pandas DataFrame or a mapping of columns"
            )

    def resolve(self, name: str, prefix: str = "", what: str = "column") -> str:
        """The table's own name for a column the user named; an unknown name is answered with the near ones.

        >>> Source({"attr.sex": ["f"], "m.found": [1]}).resolve("found", "m.")
        'm.found'
        """
        for candidate in (prefix + name, name):
            if candidate in self.names:
                if self.names.count(candidate) > 1:
                    raise InputError(
                        f"{self.label}: {self.names.count(candidate)} columns are named {candidate!r}; "
                        "rename them so that each name occurs once"
                    )
                return candidate
        bare = {n.removeprefix("attr.").removeprefix("m.") if prefix else n: n for n in self.names}
        near = difflib.get_close_matches(name, list(bare), n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"the columns are {_some(self.names)}"
        raise InputError(f"{self.label}: no {what} {name!r}; {hint}")

    def read(self, texts: Sequence[str], others: Sequence[str]) -> dict[str, Any]:
        """The named columns as arrow arrays; `texts` keep the text a CSV has ("01" is not 1)."""
        import pyarrow as pa

        wanted = list(dict.fromkeys([*texts, *others]))
        if self.path is not None:
            table = _read_csv(self.path, texts, wanted) if self._csv else _read_parquet(self.path, wanted)
            return {name: _flat(table.column(name)) for name in wanted}
        if isinstance(self._table, pa.Table):
            return {name: _flat(self._table.column(name)) for name in wanted}
        by_text = {
            str(name): name for name in (self._table if isinstance(self._table, Mapping) else self._table.columns)
        }
        return {name: _to_arrow(name, self._table[by_text[name]]) for name in wanted}


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _names_of_file(path: Path) -> tuple[bool, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.exists():
        raise InputError(f"{path}: no such file; expected a .parquet or .csv table of rows")
    if not path.is_file():  # a pipe would wait for ever
        raise InputError(f"{path}: not a regular file; expected a .parquet or .csv table of rows")
    if path.suffix.lower() in {".csv", ".txt"}:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            try:
                header = next(csv.reader(lines), None)
            except UnicodeDecodeError as error:
                raise InputError(f"{path}: not UTF-8 text ({error}); save it as UTF-8") from None
        if not header:
            raise InputError(f"{path}: empty file, expected a header line with the names of the columns")
        return True, header
    if path.suffix.lower() in {".parquet", ".pq"}:
        try:
            return False, list(pq.read_schema(path).names)
        except (pa.ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise InputError(f"{path}: not a readable Parquet file ({first})") from None
    raise InputError(f"{path}: {path.suffix or 'no extension'}, expected .parquet or .csv")


def _read_parquet(path: Path, wanted: list[str]) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read(columns=wanted)


def _read_csv(path: Path, texts: Sequence[str], wanted: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc

    options = pc.ConvertOptions(
        include_columns=wanted, column_types={name: pa.string() for name in texts}, strings_can_be_null=False
    )
    parse = pc.ParseOptions(newlines_in_values=True)
    try:
        return pc.read_csv(path, convert_options=options, parse_options=parse)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}") from None


def _flat(column: Any) -> Any:
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):  # very large columns may stay chunked
        column = pa.concat_arrays(column.chunks)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _to_arrow(name: str, values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _flat(values)
    try:
        if isinstance(values, np.ndarray) and values.ndim > 1:
            values = list(values)
        return _flat(pa.array(values, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, UnicodeEncodeError) as error:
        raise InputError(f"column {name!r}: mixed kinds of values ({str(error).splitlines()[0]})") from None


@dataclass(frozen=True)
class Attribute:
    """The groups of one attribute: `codes[i]` is row i's group, -1 when unknown.

    In a list column `rows` and `codes` run in parallel: row `rows[j]` is a member of group `codes[j]`.
    """

    name: str
    levels: list[str]
    codes: Array
    rows: Array | None = None


def attribute(name: str, column: Any, max_groups: int) -> Attribute:
    """Code a column into groups; exact equality of values, null and empty are unknown.

    >>> import pyarrow as pa
    >>> a = attribute("region", pa.array(["1. Asia", "11. Asia", None, "1. Asia"]), 100)
    >>> a.levels, a.codes.tolist()
    (['1. Asia', '11. Asia'], [0, 1, -1, 0])
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        parents = np.asarray(
            column.value_parent_indices()
            if hasattr(column, "value_parent_indices")
            else pa.compute.list_parent_indices(column)
        )
        flat = attribute(name, _flat(column.flatten()), max_groups)
        known = flat.codes >= 0
        width = max(len(flat.levels), 1)
        both = np.unique(parents[known].astype(np.int64) * width + flat.codes[known])
        return Attribute(name, flat.levels, (both % width).astype(np.int32), both // width)
    if pa.types.is_nested(kind):
        raise InputError(
            f"attribute {name!r}: values of type {kind}, expected texts, numbers, booleans or lists of them"
        )
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    codes = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    texts = [_text(value) for value in values]
    numbers = [_number(value) for value in values]
    known_texts = sorted({text for text in texts if text != UNKNOWN})
    numeric = bool(known_texts) and all(n is not None for n, t in zip(numbers, texts, strict=True) if t != UNKNOWN)
    if numeric and len(known_texts) > MAX_NUMERIC:
        raise InputError(
            f"attribute {name!r}: {len(known_texts)} different numbers, at most {MAX_NUMERIC} are taken as "
            "groups; bin them first (for example ages into 0_17, 18_39, 40_64, 65_plus)"
        )
    if len(known_texts) > max_groups:
        raise InputError(
            f"attribute {name!r}: {len(known_texts)} different values, more than max_groups={max_groups}; "
            "merge values, choose another column, or raise max_groups"
        )
    levels = sorted(known_texts, key=float) if numeric else known_texts
    position = {text: index for index, text in enumerate(levels)}
    table = np.array([position.get(text, -1) for text in texts] + [-1], dtype=np.int32)
    return Attribute(name, levels, table[codes])


def _text(value: Any) -> str:
    if value is None or value == "" or value != value:  # null, empty, NaN
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def metric(name: str, column: Any) -> tuple[Array, str]:
    """A column as floats (NaN: outside the denominator) and its kind: 'rate' for only 0 and 1, else 'mean'.

    >>> import pyarrow as pa
    >>> metric("found", pa.array([True, False, None]))
    (array([ 1.,  0., nan]), 'rate')
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = column.to_pylist()
        bad = next((v for v in values if v is not None and v != "" and _number(v) is None), None)
        if bad is not None:
            raise InputError(
                f"metric {name!r}: found the text {bad!r} in row {values.index(bad) + 1}, expected numbers"
            )
        floats = np.array([np.nan if v is None or v == "" else float(v) for v in values], dtype=float)
    elif pa.types.is_null(kind):
        floats = np.full(len(column), np.nan)
    elif (
        pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    ):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        floats = np.asarray(column.cast(pa.float64(), safe=False).fill_null(float("nan")), dtype=float)
    else:
        raise InputError(f"metric {name!r}: values of type {kind}, expected numbers or booleans")
    known = floats[~np.isnan(floats)]
    if np.isinf(known).any():
        row = int(np.flatnonzero(np.isinf(floats))[0]) + 1
        raise InputError(f"metric {name!r}: infinite in row {row}, expected finite numbers")
    return floats, "rate" if bool(((known == 0) | (known == 1)).all()) else "mean"
