"""Lists of people who withdrew."""

import csv
import io
import re
from pathlib import Path

from countenance.data.tables import read_text
from countenance.errors import DataError
from countenance.person_columns import PERSON_COLUMNS

ID_COLUMNS = (*PERSON_COLUMNS, "subject", "id")
SEPARATORS = ",;\t"
COMMENT = re.compile(r"(?:^|\s)#.*")
"""A `#` inside an id is part of it."""


def read_subjects(path: Path) -> list[str]:
    """The ids of the people who withdrew: one on each line, or a CSV with a column such as subject_id.

    A CSV may be separated by commas, semicolons or tabs. Where the file has one id on each line, a `#` at the beginning
    of a line or after a space begins a comment.
    """
    text = read_text(path)
    tables = [_cells(path, text, separator) for separator in SEPARATORS]
    names = next((ids for rows in tables if (ids := _column(rows)) is not None), None)
    if names is None:
        first = tables[0][0] if tables[0] else []
        if len(first) > 1 and not first[0].startswith("#"):
            raise DataError(
                f"{path} line 1: {len(first)} columns and none of {', '.join(ID_COLUMNS)}; "
                "name the column of ids subject_id, or write one id on each line"
            )
        names = [COMMENT.sub("", line).strip() for line in text.splitlines()]
    ids = list(dict.fromkeys(name for name in names if name))
    if not ids:
        raise DataError(f"{path}: names nobody; write one subject id on each line")
    return ids


def _cells(path: Path, text: str, separator: str) -> list[list[str]]:
    try:
        rows = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
        return [[cell.strip() for cell in row] for row in rows if any(row)]
    except csv.Error as error:
        raise DataError(f"{path}: not a list of ids nor a CSV ({error})") from error


def _column(rows: list[list[str]]) -> list[str] | None:
    """The ids in the first column named in ID_COLUMNS; None without such a column."""
    names = [cell.casefold() for cell in rows[0]] if rows else []
    column = next((name for name in ID_COLUMNS if name in names), None)
    if column is None:
        return None
    place = names.index(column)
    return [row[place] for row in rows[1:] if len(row) > place]
