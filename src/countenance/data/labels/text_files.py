"""Tables in text: commas, semicolons, tabs or spaces; UTF-8, UTF-16 or Windows-1252; with or without a header."""

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from countenance.data.labels.rows import LabelTable
from countenance.decoding import file_content
from countenance.errors import DataError

SIGNS = (",", ";", "\t", "|")
SAMPLE_LINES = 50
MOST_TITLES = 10
WORKBOOK = b"PK\x03\x04"
GZIP = b"\x1f\x8b"
LARGEST_CELL = 16 * 2**20
LARGEST_TEXT = 2**31
"""The largest size of a decompressed table, in bytes."""


def decoded(path: Path) -> tuple[str, list[str]]:
    """The text of a file, and a note if it is not UTF-8."""
    content = file_content(path)
    if content.startswith(GZIP):
        content = _unpacked(content, path)
    if content.startswith(WORKBOOK) or path.suffix.lower() in (".xls", ".xlsx", ".ods"):
        raise DataError(f"{path}: a workbook of a spreadsheet program; save the sheet as CSV (UTF-8) and name that")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16"), []
        except UnicodeDecodeError:
            raise DataError(f"{path}: damaged UTF-16 text; save it as UTF-8") from None
    if content.count(b"\x00") * 2 >= len(content) - content.count(b"\x00") > 0:  # without a byte order mark
        try:
            order = "be" if content[:1] == b"\x00" else "le"
            return content.decode(f"utf-16-{order}"), []
        except UnicodeDecodeError:
            pass
    if b"\x00" in content:
        raise DataError(f"{path}: not a text file; expected a table such as CSV")
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
    text = content.decode("cp1252", "replace")
    if any(not (letter.isprintable() or letter in "\r\n\t") or letter == "\ufffd" for letter in text):
        raise DataError(f"{path} line {line}: not UTF-8 text; save it as UTF-8")
    return text, [f"{path.name}: not UTF-8; read as Windows-1252, as spreadsheet programs save it"]


def _unpacked(content: bytes, path: Path) -> bytes:
    """The content of a gzip file; one that grows without end is refused."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            unpacked = stream.read(LARGEST_TEXT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: a damaged gzip file ({error})") from None
    if len(unpacked) > LARGEST_TEXT:
        raise DataError(f"{path}: more than {LARGEST_TEXT:,} bytes when unpacked; unpack it and name the part needed")
    return unpacked


def read_text_table(path: Path, names_picture: Callable[[str], bool]) -> LabelTable:
    """A table with its separator, header and number format recognised.

    `names_picture` says whether a cell names a picture: a first row that does is not a header.
    """
    text, notes = decoded(path)
    sign, listed = _records(text, path)
    listed = _after_count(listed)
    if not listed:
        raise DataError(f"{path}: the file is empty, expected a header line")
    for line, cells in listed[: (titles := _titles(listed, names_picture))]:
        notes.append(f"{path.name}: line {line} ({' '.join(filter(None, cells))}) is a title and left out")
    listed = listed[titles:]
    (_, header), body = listed[0], listed[1:]
    headless = any(names_picture(cell) for cell in header)
    if headless:
        header, body = [str(i + 1) for i in range(len(header))], listed
    widths = Counter(len(cells) for _, cells in body)
    if body and widths.most_common(1)[0][0] == len(header) + 1 and sign is None:
        header = ["file", *header]  # CelebA's header has no name for the column of files
    table = _columns(path, header, body)
    table.decimal_comma, table.headless = sign == ";", headless
    table.notes += notes
    return table


def _records(text: str, path: Path) -> tuple[str | None, list[tuple[int, list[str]]]]:
    """The separator (None: spaces) and every line that is not empty as cells."""
    stated = re.match(r"sep=(.)\r?\n", text)
    if stated:  # Excel's `sep=` line
        sign = stated[1]
        return sign, [(line + 1, cells) for line, cells in _split(text[stated.end() :], sign, path)]
    head = "\n".join(text.splitlines()[:SAMPLE_LINES])
    ranked = sorted(SIGNS, key=lambda sign: _fitness(head, sign), reverse=True)
    if _fitness(head, ranked[0])[0] > 1:
        return ranked[0], _split(text, ranked[0], path)
    rows = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len({len(cells) for _, cells in rows[2:] or rows}) == 1 and len(rows[-1][1]) > 1:
        return None, rows
    return ",", _split(text, ",", path)


def _fitness(head: str, sign: str) -> tuple[int, int]:
    """How well a separator fits: the most common number of columns, and how many lines have it."""
    try:
        widths = Counter(len(cells) for cells in csv.reader(io.StringIO(head), delimiter=sign) if cells)
    except csv.Error:
        return 0, 0
    if not widths:
        return 0, 0
    first = len(next(csv.reader(io.StringIO(head), delimiter=sign), []))
    width, times = widths.most_common(1)[0]
    agreeing = times * 2 >= sum(widths.values())
    return (max(width, first) if agreeing and first > 1 else min(width, first), times)


def _split(text: str, sign: str, path: Path) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, skipinitialspace=True)
    rows: list[tuple[int, list[str]]] = []
    before = csv.field_size_limit(LARGEST_CELL)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                rows.append((reader.line_num, stripped))
    except csv.Error as error:
        raise DataError(f"{path} line {reader.line_num}: {error}") from error
    finally:
        csv.field_size_limit(before)
    return rows


def _after_count(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The rows without a first line that only says how many there are (CelebA), and without leading comments."""
    while rows and rows[0][1][0].startswith("#") and len(rows) > 1:
        rows = rows[1:]
    first = [cell for cell in rows[0][1] if cell] if rows else []
    return rows[1:] if len(first) == 1 and first[0].isdecimal() and len(rows) > 1 else rows


def _titles(rows: Sequence[tuple[int, list[str]]], names_picture: Callable[[str], bool]) -> int:
    """How many lines are above the header: a title of one cell, and lines of one or two where the header has more.

    A header is a full line of names, without regard to empty cells at its end, above a line of no more cells.

    >>> rows = [(1, ["Study 7", ""]), (3, ["Date", "May"]), (4, ["file", "sex", "x"]), (5, ["a.jpg", "f", "1"])]
    >>> _titles(rows, lambda cell: cell == "a.jpg"), _titles(rows[2:], lambda cell: cell == "a.jpg")
    (2, 0)
    """
    widths = [max((i for i, cell in enumerate(cells, 1) if cell), default=0) for _, cells in rows[: MOST_TITLES + 2]]
    for count, ((_, header), (_, row)) in enumerate(itertools.pairwise(rows[: MOST_TITLES + 2])):
        width = widths[count]
        full = width > 1 and all(header[:width]) and len(header) == len(row) and widths[count + 1] <= width
        if full and not any(cell.isdecimal() or names_picture(cell) for cell in header[:width]):
            above = [sum(map(bool, cells)) for _, cells in rows[:count]]
            return (
                count if above[:1] in ([], [1]) and all(filled == 1 or filled == 2 < width for filled in above) else 0
            )
        if any(map(names_picture, header)) or sum(map(bool, header)) > 2:
            return 0
    return 0


def _columns(path: Path, header: Sequence[str], body: Sequence[tuple[int, list[str]]]) -> LabelTable:
    """Columns of text; rows of another length, and names that occur twice, are problems of the table."""
    table = LabelTable(path, {}, [])
    width = len(header)
    usable: list[tuple[int, list[str]]] = []
    repeated = [line for line, cells in body if cells == header]
    if repeated:
        table.notes.append(f"{path.name}: line {repeated[0]} repeats the header and is left out")
    for line, cells in body:
        if cells == header:
            continue
        trimmed = cells if len(cells) <= width else [*cells[:width], *(cell for cell in cells[width:] if cell)]
        if len(trimmed) == width:
            usable.append((line, trimmed))
        else:
            expected = f"{{}} of another number of fields than the header's {width}"
            table.problems.add(expected, line, f"{len(cells)} fields", "row is", "rows are")
    contents = [[cells[i] for _, cells in usable] for i in range(width)]
    for i, name in enumerate(header):
        if not name and not any(contents[i]):
            continue  # an empty column at the end
        title = name or f"column {i + 1}"
        if title in table.columns and table.columns[title] != contents[i]:
            table.problems.add_whole(f"two columns are called {title!r}; rename one of them")
        table.columns[title] = contents[i]
    table.lines = [line for line, _ in usable]
    return table
