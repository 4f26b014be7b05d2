"""CSV files, read as UTF-8; every problem is reported with its row."""

import csv
import difflib
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from countenance.decoding import file_content
from countenance.errors import DataError
from countenance.text import printable
from countenance.words import plain_float


def read_text(path: Path) -> str:
    """A text file's content; a byte-order mark is dropped, anything but UTF-8 is refused with its place."""
    content = file_content(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(f"{path} line {line}: not UTF-8 text; save it as UTF-8") from None


def read_csv(
    path: Path, names: Sequence[str] | None = None, needed: Sequence[str] = ()
) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The header, and each row with its line number; a row of another length than the header is refused.

    `names` are the columns of a file without a header line, `needed` those that a header must have.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = list(names) if names else [name.strip() for name in next(filter(None, reader))]
    except StopIteration:
        raise DataError(f"{path}: the file is empty, expected a header line") from None
    except csv.Error as error:
        raise DataError(f"{path} line 1: {error}") from error
    other = next((sign for sign in (";", "\t") if len(header) == 1 and sign in header[0]), None)
    if other:
        named = "semicolons" if other == ";" else "tabs"
        raise DataError(f"{path} line 1: columns separated by {named}, expected commas; export it as CSV with commas")
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise DataError(f"{path} line 1: column {sorted(twice)[0]!r} occurs twice")
    for name in needed:
        if name not in header:
            raise DataError(f"{path} line 1: no column {name!r}{near(name, header)}; expected {', '.join(needed)}")

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(f"{path} line {reader.line_num}: {error}") from error
            if not row:
                continue
            if len(row) != len(header):
                raise DataError(f"{path} line {reader.line_num}: {len(row)} fields, expected {len(header)}")
            yield reader.line_num, dict(zip(header, row, strict=True))

    return header, rows()


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a CSV file; control characters in its cells are shown as codes.

    >>> csv_text(["name", "age"], [["a, b", 3]])
    'name,age\\n"a, b",3\\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([harmless(cell) for cell in row] for row in (header, *rows))
    return stream.getvalue()


def harmless(cell: object) -> object:
    """A cell whose text cannot steer the terminal that shows it.

    >>> harmless("a" + chr(27) + "[2J"), harmless(0.5)
    ('a\\\\x1b[2J', 0.5)
    """
    return printable(cell) if isinstance(cell, str) else cell


def near(name: str, known: Sequence[str]) -> str:
    """A hint such as " (did you mean skin_tone?)", or nothing.

    >>> near("skin_tne", ["skin_tone", "age"])
    ' (did you mean skin_tone?)'
    """
    result = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=2, cutoff=0.6)
    return f" (did you mean {' or '.join(result)}?)" if result else ""


def finite_number(value: object, name: str, place: str) -> float:
    """A number that a person wrote, or an error that names the place, the column and what was found.

    >>> finite_number("nan", "score", "scores.txt line 3")
    Traceback (most recent call last):
    countenance.errors.DataError: scores.txt line 3: score is 'nan', expected a finite number
    """
    try:
        number = plain_float(value)
    except (TypeError, ValueError, OverflowError):
        shown = "an integer too large" if isinstance(value, int) else f"{value!r:.60}"
        raise DataError(f"{place}: {name} is {shown}, expected a number") from None
    if not math.isfinite(number):
        raise DataError(f"{place}: {name} is {value!r:.60}, expected a finite number")
    return number
