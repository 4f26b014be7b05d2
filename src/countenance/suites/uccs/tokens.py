"""Comma-separated lines cut up as arrays: where the fields are, which numbers they hold, which names.

This is the fast road for ordinary lines. Whatever it cannot take (quotes, words among the numbers) it declines with
None, and the caller walks the same lines one by one, which is where every error gets its line number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEWLINE, COMMA, HASH = b"\n,#"
LONGEST_NAME = 512
MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)


@dataclass(frozen=True)
class Tokens:
    """The fields of a block of lines: row i owns the `count[i]` fields from `first[i]` on."""

    block: bytes
    end: Ints
    """Where each field's delimiter stands; a field begins after the delimiter before it."""
    first: Ints
    count: Ints
    line: Ints


def tokenize(block: bytes, line: int) -> Tokens | None:
    """Cut a block up; empty lines and lines that begin with `#` are left out.

    >>> tokenize(b"# c\\na,1\\n\\nb,2,3\\n", 1).line
    array([2, 4])
    """
    if b'"' in block:
        return None
    while block.startswith((b"#", b"\n")):
        block, line = block[block.index(b"\n") + 1 :], line + 1
    tokens = _cut(block, np.empty(0, np.int64))
    stops = tokens.end[tokens.first + tokens.count - 1]
    if (stops[1:] - stops[:-1] == 1).any() or (b"#" in block and b"\n#" in block):
        kept = [(n, row) for n, row in enumerate(block.split(b"\n"), line) if row and row[0] != HASH]
        return _cut(b"".join(row + b"\n" for _, row in kept), np.array([n for n, _ in kept], dtype=np.int64))
    return replace(tokens, line=np.arange(line, line + len(stops)))


def _cut(block: bytes, line: Ints) -> Tokens:
    array = np.frombuffer(block, np.uint8)
    # One comparison finds both delimiters, and a few characters that numbers and most names do not have.
    end = np.flatnonzero(array < COMMA + 1)
    found = array[end]
    if (found == COMMA).sum() + (found == NEWLINE).sum() != len(end):
        end = np.flatnonzero((array == NEWLINE) | (array == COMMA))
        found = array[end]
    last = np.flatnonzero(found == NEWLINE)
    first = np.concatenate([[0], last[:-1] + 1]) if last.size else np.empty(0, np.int64)
    return Tokens(block, end, first, last - first + 1, line)


def numbers(tokens: Tokens, wanted: Bools) -> Floats | None:
    """The wanted fields as numbers, exactly as Python reads them; None if one of them is not a number.

    The other places of the array hold nothing to be relied on.

    >>> fields = tokenize(b"a,1.5\\n", 1)
    >>> numbers(fields, np.array([False, True]))[1]
    np.float64(1.5)
    """
    import pyarrow as pa

    offsets = np.zeros(len(tokens.end) + 1, np.int32)
    np.subtract(tokens.end, np.arange(len(tokens.end)), out=offsets[1:], casting="unsafe")
    text = tokens.block.translate(None, b",\n")
    valid = np.packbits(wanted, bitorder="little")
    buffers = (pa.py_buffer(offsets), pa.py_buffer(text), pa.py_buffer(valid))
    array = pa.StringArray.from_buffers(len(tokens.end), *buffers)
    try:
        cast = array.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return np.frombuffer(cast.buffers()[1], np.float64, len(cast))


def columns(tokens: Tokens, values: Floats, which: Sequence[int]) -> Floats:
    """The fields in the given columns of every row, which must be there.

    >>> columns(tokenize(b"a,b\\nc,d\\n", 1), np.arange(4.0), [1])
    array([[1.], [3.]])
    """
    width = int(tokens.count[0])
    if (tokens.count == width).all():
        return np.asarray(values.reshape(-1, width)[:, which])
    return np.asarray(values[tokens.first[:, None] + np.array(which)])


def chosen(tokens: Tokens, which: Sequence[int]) -> Bools:
    """Every field that stands in one of the given columns.

    >>> chosen(tokenize(b"a,b\\nc,d,e\\n", 1), [1])
    array([False,  True, False,  True, False])
    """
    wanted = np.zeros(len(tokens.end), dtype=bool)
    for column in which:
        wanted[tokens.first + column] = True
    return wanted


def names(tokens: Tokens, column: int, known: dict[str, int]) -> Ints | None:
    """The field of each row in `column`, as numbers in `known`, which new names are added to.

    Rows of one image usually follow each other, so only the changes are decoded.

    >>> known: dict[str, int] = {}
    >>> names(tokenize(b"a,1\\na,2\\nb,3\\na,4\\n", 1), 0, known), known
    (array([0, 0, 1, 0]), {'a': 0, 'b': 1})
    """
    which = tokens.first + column
    stop = tokens.end[which]
    start = np.where(which > 0, tokens.end[which - 1] + 1, 0)
    length = stop - start
    longest = int(length.max(initial=0))
    if not which.size:
        return np.empty(0, np.int64)
    if longest > LONGEST_NAME or int(length.min()) == 0:
        return None
    changed = np.ones(len(which), dtype=bool)
    changed[1:] = length[1:] != length[:-1]
    # Names are compared eight bytes at a time; the bytes after a name's end are masked.
    padded = tokens.block + bytes(8)
    words = np.ndarray((len(padded) - 7,), "<u8", buffer=padded, strides=(1,))
    for k in range(0, longest, 8):
        left = np.clip(length - k, 0, 8)
        word = words[np.minimum(start + k, len(words) - 1)] & MASKS[left]
        changed[1:] |= word[1:] != word[:-1]
    codes = []
    for a, b in zip(start[changed].tolist(), stop[changed].tolist(), strict=True):
        name = tokens.block[a:b].decode("utf-8").strip()
        if not name:
            return None
        codes.append(known.setdefault(name, len(known)))
    return np.asarray(np.array(codes, dtype=np.int64)[np.cumsum(changed) - 1])
