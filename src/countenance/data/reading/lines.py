"""Comma-separated lines of files of any size, cut up a block at a time or one by one."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.reading.text_blocks import Digest, blocks
from countenance.errors import DataError

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

    def numbers(self, expected: Bools) -> Floats | None:
        """The `expected` fields as Python reads numbers, nan and inf too; None if one of them is not a number.

        Other places of the array are undefined.

        >>> cut(b"a,1.5\\n", 1).numbers(np.array([False, True]))[1]
        np.float64(1.5)
        """
        import pyarrow as pa

        _, offsets, text = self.fields.buffers()
        valid = pa.py_buffer(np.packbits(expected, bitorder="little"))
        try:
            cast = pa.StringArray.from_buffers(len(self.fields), offsets, text, valid).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
        return np.frombuffer(cast.buffers()[1], np.float64, len(cast))

    def texts(self, column: int) -> Any:
        """The field of each row in a column, as an Arrow array of text."""
        return self.fields.take(self.first + column)


def data_blocks(path: Path, header_line: int = 0, digest: Digest | None = None) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file below its header line."""
    for start, block in blocks(path, digest=digest):
        below = block.split(b"\n", max(0, header_line - start + 1))[-1]
        if below:
            yield max(start, header_line + 1), below


def all_rows(path: Path, header_line: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line below the header."""
    for start, block in data_blocks(path, header_line):
        yield from rows(block, start, path)


def cut(block: bytes, line: int) -> Lines | None:
    """Cut a block up, without empty lines and lines that begin with `#`; None if it has quotes or indented comments.

    >>> cut(b"# c\\na,1\\n\\nb,2,3\\n", 1).line
    array([2, 4])
    """
    if b'"' in block or (b"#" in block and re.search(rb"^\s+#", block, re.MULTILINE)):
        return None
    while block.startswith((b"#", b"\n")):
        block, line = block[block.index(b"\n") + 1 :], line + 1
    lines = _split(block)
    if (b"#" in block and b"\n#" in block) or b"\n\n" in block:
        remaining = [(n, row) for n, row in enumerate(block.split(b"\n"), line) if row and row[0] != HASH]
        lines = _split(b"".join(row + b"\n" for _, row in remaining))
        return replace(lines, line=np.array([n for n, _ in remaining], dtype=np.int64))
    return replace(lines, line=np.arange(line, line + len(lines.count)))


def _split(block: bytes) -> Lines:
    import pyarrow as pa

    array = np.frombuffer(block, np.uint8)
    # One comparison finds both delimiters, and a few characters that numbers and most names do not have.
    end = np.flatnonzero(array < COMMA + 1)
    result = array[end]
    if (result == COMMA).sum() + (result == NEWLINE).sum() != len(end):
        end = np.flatnonzero((array == NEWLINE) | (array == COMMA))
        result = array[end]
    offsets = np.zeros(len(end) + 1, np.int32)
    np.subtract(end, np.arange(len(end)), out=offsets[1:], casting="unsafe")
    text = pa.py_buffer(block.translate(None, b",\n"))
    fields = pa.StringArray.from_buffers(len(end), pa.py_buffer(offsets), text)
    last = np.flatnonzero(result == NEWLINE)
    first = np.concatenate([[0], last[:-1] + 1]) if last.size else np.empty(0, np.int64)
    return Lines(fields, first, last - first + 1, np.empty(0, np.int64))


def joined(stated: Sequence[tuple[int, list[str]]]) -> Lines:
    """Lines that are cut up already, each with its number."""
    import pyarrow as pa

    count = np.array([len(fields) for _, fields in stated], dtype=np.int64)
    line = np.array([line for line, _ in stated], dtype=np.int64)
    return Lines(
        pa.array([item for _, row in stated for item in row], pa.string()), np.cumsum(count) - count, count, line
    )


def rows(block: bytes, line: int, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line that is neither empty nor a comment.

    A quoted field may not run over a line's end: an open quote would include the rest of the file.

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
            raise DataError(f"{path} line {number}: {error}; check the quotes") from None
        yield number, [field.strip() for field in fields]
