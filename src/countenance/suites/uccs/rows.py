"""Lines walked one by one: slower than `tokens`, takes quotes and spaces, and every error has its line."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from countenance.errors import InputError


def rows(block: bytes, line: int, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line that is neither empty nor a comment.

    A quoted field may not run over a line's end: no name or number here needs that, and an open quote would
    swallow the rest of the file.

    >>> list(rows(b'# c\\n"a,b",1\\n', 1, Path("f")))
    [(2, ['a,b', '1'])]
    """
    for number, text in enumerate(io.StringIO(block.decode("utf-8"), newline="\n"), line):
        text = text.rstrip("\n")
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            fields = next(csv.reader([text], strict=True))
        except (csv.Error, StopIteration) as error:
            raise InputError(f"{path} line {number}: {error}; check the quotes") from None
        yield number, [field.strip() for field in fields]


def number(text: str, column: str, place: str) -> float:
    """A finite number, or an error that names place and column.

    >>> number("nan", "DETECTION_SCORE", "scores.txt line 3")
    Traceback (most recent call last):
    countenance.errors.InputError: scores.txt line 3: DETECTION_SCORE is 'nan', expected a finite number
    """
    try:
        value = float(text if "_" not in text else "")  # Python would take 1_000
    except ValueError:
        raise InputError(f"{place}: {column} is {text!r}, expected a number") from None
    if not math.isfinite(value):
        raise InputError(f"{place}: {column} is {text!r}, expected a finite number")
    return value


def integer(text: str, column: str, place: str) -> int:
    """A whole number, or an error that names place and column.

    >>> integer("-1", "SUBJECT_ID", "line 3")
    -1
    """
    value = number(text, column, place)
    if value != int(value) or abs(value) >= 2**53:
        raise InputError(f"{place}: {column} is {text!r}, expected a whole number (-1: unknown)")
    return int(value)


def positive_area(columns: Sequence[str], values: Sequence[float], place: str) -> None:
    """Refuse a box without area.

    >>> positive_area(["BB_WIDTH"], [0.0], "line 3")
    Traceback (most recent call last):
    countenance.errors.InputError: line 3: BB_WIDTH is 0, expected more than 0; remove boxes without area
    """
    for column, value in zip(columns, values, strict=True):
        if value <= 0:
            raise InputError(f"{place}: {column} is {value:g}, expected more than 0; remove boxes without area")
