"""Tables in users' files: any separator, decimal comma, JSON, compressed; as columns with types."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.labels.files import table_suffix
from countenance.data.labels.text_files import MOST_TITLES, decoded, read_text_table
from countenance.errors import InputError
from countenance.words import is_missing, is_number, number_of, without_thousands

TEXTS = (".csv", ".tsv", ".txt", ".tab")
RECORDS = (".json", ".jsonl", ".ndjson")


def is_plain(path: Path) -> bool:
    """Whether a table needs no recognition: Parquet, or CSV in UTF-8 with commas and its header first.

    >>> is_plain(Path("rows.parquet")), is_plain(Path("rows.tsv")), is_plain(Path("rows.csv.gz"))
    (True, False, False)
    """
    if path.suffix.lower() not in (".csv", ".txt", ".tsv", ".tab", ".gz", *RECORDS) or path.is_dir():
        return True
    if path.suffix.lower() not in (".csv", ".txt"):
        return False
    if not path.is_file():
        return True
    with path.open("rb") as file:
        head, *rows = (file.readline(2**16) for _ in range(MOST_TITLES))
    try:
        first = head.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    name, *others = (cell.strip() for cell in first.split(","))
    if any(rows) and not any(others) and (not first.strip() or (name and any(b"," in row for row in rows))):
        return False  # a title above the header, or an empty line
    return "," in first or not (";" in first or "\t" in first)


def table_columns(path: Path, notes: list[str] | None = None) -> dict[str, Any]:
    """The columns of a file of rows: text with any separator, decimal comma and words for missing cells, or JSON.

    Notes on what was left out of a text file and on its recognised format are added to `notes`.
    """
    suffix = table_suffix(path)
    if suffix in TEXTS:
        table = read_text_table(path, lambda cell: False)
        table.problems.refuse()
        if notes is not None:
            notes += table.notes
        others = [cell for cells in table.columns.values() for cell in cells]
        return {name: _typed(cells, others, table.decimal_comma) for name, cells in table.columns.items()}
    if suffix in RECORDS:
        return _of_records(path, suffix)
    raise InputError(
        f"{path}: {suffix or 'no extension'}, expected .parquet, .csv, .tsv, .json or .jsonl (or .gz of it)"
    )


def write_columns(columns: Mapping[str, Any], path: Path) -> Path:
    """Write columns as Parquet, for the page of an audit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(dict(columns)), path)
    return path


def _of_records(path: Path, suffix: str) -> dict[str, Any]:
    """The columns of a list of records, of lines of records, or of lists under their names."""
    import pyarrow as pa

    text = decoded(path)[0]
    try:
        content = [json.loads(line) for line in text.splitlines() if line.strip()] if suffix != ".json" else None
        content = json.loads(text) if content is None else content
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    listed = isinstance(content, Mapping) and content and all(isinstance(cells, list) for cells in content.values())
    try:
        if listed:
            return dict(zip(*_named(pa.table(content)), strict=True))
        if isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content):
            names = list(dict.fromkeys(name for row in content for name in row))
            return {name: pa.array([row.get(name) for row in content]) for name in names}
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise InputError(f"{path}: mixed kinds of values ({str(error).splitlines()[0]})") from None
    raise InputError(f"{path}: expected a list of records such as [{{'sex': 'f', 'hired': 1}}]")


def _named(table: Any) -> tuple[list[str], list[Any]]:
    return table.column_names, [column.combine_chunks() for column in table.columns]


def _typed(cells: Sequence[str], others: Sequence[str], comma: bool) -> Any:
    """A column of text as numbers if all values clearly are numbers (01 is a code), otherwise as words."""
    import pyarrow as pa

    cells, doubtful = without_thousands(cells, others, comma=comma)
    known = [cell for cell in cells if not is_missing(cell)]
    codes = any(len(cell) > 1 and cell.startswith("0") and cell[1:].isdecimal() for cell in known)
    if known and not codes and doubtful is None and all(map(is_number, known)):
        numbers = [None if is_missing(cell) else number_of(cell) for cell in cells]
        whole = all(number is None or (number.is_integer() and abs(number) < 2**53) for number in numbers)
        return pa.array(numbers, pa.float64()).cast(pa.int64()) if whole else pa.array(numbers, pa.float64())
    return pa.array([None if is_missing(cell) else cell for cell in cells], pa.string())
