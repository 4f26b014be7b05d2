"""Comma-separated lines as arrays.

Ordinary blocks of lines are cut up whole. A block with anything else in it (quotes, spaces, words among the numbers) is
parsed line by line, which is where every error gets its line number; what was parsed takes the same way after that.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import finite_number
from countenance.errors import InputError
from countenance.suites.uccs.files import blocks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEWLINE, COMMA, HASH = b"\n,#"


@dataclass(frozen=True)
class Lines:
    """The fields of a block of lines: row i owns the `count[i]` fields from `first[i]` on."""

    fields: Any
    """An Arrow array of text."""
    first: Ints
    count: Ints
    line: Ints

    def numbers(self, wanted: Bools) -> Floats | None:
        """The wanted fields as numbers as Python reads them, nan and inf too; None if one of them is not a number.

        The other places of the array hold nothing to be relied on.

        >>> cut(b"a,1.5\\n", 1).numbers(np.array([False, True]))[1]
        np.float64(1.5)
        """
        import pyarrow as pa

        _, offsets, text = self.fields.buffers()
        valid = pa.py_buffer(np.packbits(wanted, bitorder="little"))
        try:
            cast = pa.StringArray.from_buffers(len(self.fields), offsets, text, valid).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
        return np.frombuffer(cast.buffers()[1], np.float64, len(cast))

    def texts(self, column: int) -> Any:
        """The field of each row in a column, as an Arrow array of text."""
        return self.fields.take(self.first + column)


@dataclass
class Gathered:
    """What the lines of a file gave so far: the image, the place and the numbers of each."""

    known: dict[str, int] = field(default_factory=dict)
    """Numbers of the images, in order of first appearance."""
    image: list[Ints] = field(default_factory=list)
    line: list[Ints] = field(default_factory=list)
    table: list[Floats] = field(default_factory=list)

    def add(self, lines: Lines, name: int, table: Floats) -> bool:
        """Add rows whose image is named in column `name`; False, adding nothing, for an empty name or a nan."""
        if not np.isfinite(table).all():
            return False
        found = lines.texts(name).dictionary_encode()
        words = [word.strip() for word in found.dictionary.to_pylist()]
        if not all(words):
            return False
        codes = np.array([self.known.setdefault(word, len(self.known)) for word in words], dtype=np.int64)
        self.image.append(codes[found.indices.to_numpy()])
        self.line.append(lines.line)
        self.table.append(table)
        return True


def read_lines(
    path: Path, header_line: int, take: Callable[[Lines], bool], parse: Callable[[Sequence[str], str], Sequence[object]]
) -> None:
    """Hand the lines below the header to `take`, a block at a time.

    Where `take` declines a block (with False), `parse` turns the fields of each of its lines into clean ones or raises
    an error with their place, and `take` gets those.
    """
    for start, block in data_blocks(path, header_line):
        lines = cut(block, start)
        if lines is None or (len(lines.count) and not take(lines)):
            parsed = [(number, parse(fields, f"{path} line {number}")) for number, fields in rows(block, start, path)]
            if parsed and not take(_joined(parsed)):
                raise AssertionError(f"{path}: lines from {start} on were parsed and then declined")


def data_blocks(path: Path, header_line: int = 0) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file below its header line."""
    for start, block in blocks(path):
        if start <= header_line:
            cut_at = 0
            for _ in range(header_line - start + 1):
                cut_at = block.index(b"\n", cut_at) + 1
            block, start = block[cut_at:], header_line + 1
        if block:
            yield start, block


def all_rows(path: Path, header_line: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line below the header."""
    for start, block in data_blocks(path, header_line):
        yield from rows(block, start, path)


def cut(block: bytes, line: int) -> Lines | None:
    """Cut a block up, without empty lines and lines that begin with `#`; None where it has quotes.

    >>> cut(b"# c\\na,1\\n\\nb,2,3\\n", 1).line
    array([2, 4])
    """
    if b'"' in block:
        return None
    while block.startswith((b"#", b"\n")):
        block, line = block[block.index(b"\n") + 1 :], line + 1
    lines = _split(block)
    if (b"#" in block and b"\n#" in block) or b"\n\n" in block:
        kept = [(n, row) for n, row in enumerate(block.split(b"\n"), line) if row and row[0] != HASH]
        lines = _split(b"".join(row + b"\n" for _, row in kept))
        return replace(lines, line=np.array([n for n, _ in kept], dtype=np.int64))
    return replace(lines, line=np.arange(line, line + len(lines.count)))


def _split(block: bytes) -> Lines:
    import pyarrow as pa

    array = np.frombuffer(block, np.uint8)
    # One comparison finds both delimiters, and a few characters that numbers and most names do not have.
    end = np.flatnonzero(array < COMMA + 1)
    found = array[end]
    if (found == COMMA).sum() + (found == NEWLINE).sum() != len(end):
        end = np.flatnonzero((array == NEWLINE) | (array == COMMA))
        found = array[end]
    offsets = np.zeros(len(end) + 1, np.int32)
    np.subtract(end, np.arange(len(end)), out=offsets[1:], casting="unsafe")
    text = pa.py_buffer(block.translate(None, b",\n"))
    fields = pa.StringArray.from_buffers(len(end), pa.py_buffer(offsets), text)
    last = np.flatnonzero(found == NEWLINE)
    first = np.concatenate([[0], last[:-1] + 1]) if last.size else np.empty(0, np.int64)
    return Lines(fields, first, last - first + 1, np.empty(0, np.int64))


def _joined(parsed: Sequence[tuple[int, Sequence[object]]]) -> Lines:
    import pyarrow as pa

    fields = [one if isinstance(one, str) else repr(one) for _, row in parsed for one in row]
    count = np.array([len(row) for _, row in parsed], dtype=np.int64)
    line = np.array([number for number, _ in parsed], dtype=np.int64)
    return Lines(pa.array(fields, pa.string()), np.cumsum(count) - count, count, line)


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
    if "_" in text:  # Python would take 1_000
        raise InputError(f"{place}: {column} is {text!r}, expected a number")
    return finite_number(text, column, place)


def integer(text: str, column: str, place: str) -> int:
    """A whole number, or an error that names place and column.

    >>> integer("-1", "SUBJECT_ID", "line 3")
    -1
    """
    value = number(text, column, place)
    if value != int(value) or abs(value) >= 2**53:
        raise InputError(f"{place}: {column} is {text!r}, expected a whole number (-1: unknown)")
    return int(value)


def whole(values: Floats) -> bool:
    """Whether all are finite whole numbers that a double holds exactly."""
    return bool(((values == np.floor(values)) & (np.abs(values) < 2**53)).all())
