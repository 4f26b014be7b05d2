"""Large comma-separated files as arrays: a name and numbers on each line, as the file's `LineLayout` says.

Ordinary blocks of lines are cut up whole. A block with anything else in it (quotes, spaces, words among the numbers) is
parsed line by line, which is where every error gets its line number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from countenance.data.reading import lines as reader
from countenance.data.reading.lines import Floats, Ints, Lines, data_blocks, joined, rows
from countenance.data.reading.text_blocks import Digest, first_line
from countenance.data.tables import finite_number, near
from countenance.errors import DataError
from countenance.metrics.topk import largest

NAME = "FILE"
"""What the column of names is called."""
NO_IDS: Ints = np.empty(0, np.int64)


class NumberColumn(NamedTuple):
    """A column of numbers: its name, its place in a line, and what its numbers must be."""

    name: str
    at: int
    whole: bool = False
    positive: str = ""
    """The remedy for a number that is not above 0; empty: any number is valid."""


@dataclass(frozen=True)
class LineLayout:
    """What the lines of a file hold, and which fields are read."""

    columns: tuple[str, ...]
    """The names of the columns, for errors."""
    name: int
    """The place of the image's name in a line."""
    numbers: tuple[NumberColumn, ...]
    least: int
    """How many fields a line has: this many, or more unless `exact`."""
    empty: str
    """The error for a file without lines."""
    exact: bool = False
    header_line: int = 0
    pairs: tuple[str, str] | None = None
    """The name of the pairs of numbers that follow the fields; the first of a pair is a whole number."""
    words: tuple[int, ...] = ()
    """Columns that are kept as text; a line may end before them."""
    listed: Ints = field(default_factory=lambda: NO_IDS)
    """How many of the last `numbers` belong to these ids; the `top` largest of a line become pairs of id and number."""
    top: int = 0

    def parse(self, fields: Sequence[str], place: str) -> list[str]:
        """The fields of one line, with every number as Python writes it; an error names the place."""
        if problem := self._miscounted(fields):
            raise DataError(f"{place}: {problem}")
        if not fields[self.name]:
            raise DataError(f"{place}: {NAME} is empty, expected an image's name")
        output = [*fields, *[""] * (max(self.words, default=0) + 1 - len(fields))]
        for name, at, whole_, positive in (*self.numbers, *self._pairs(len(fields))):
            value = (integer if whole_ else finite_number)(fields[at], name, place)
            if positive and value <= 0:
                raise DataError(f"{place}: {name} is {value:g}, expected more than 0; {positive}")
            output[at] = repr(value)
        return output

    def _pairs(self, fields: int) -> Iterator[NumberColumn]:
        first, second = self.pairs or ("", "")
        for rank, k in enumerate(range(self.least, fields if self.pairs else 0, 2), 1):
            yield NumberColumn(f"{first}_{rank}", k, whole=True)
            yield NumberColumn(f"{second}_{rank}", k + 1)

    def _miscounted(self, fields: Sequence[str]) -> str:
        n = len(fields)
        if self.pairs and fields[0].upper() == NAME and (n == 1 or fields[1][:1].isalpha()):
            return "a header line without '#'; begin it with '# ' or remove it"
        if self.exact and n != self.least:
            what = "some are missing" if n < self.least else "there are too many"
            return f"{n} fields, expected {self.least} as in the header; {what}"
        if n < self.least:
            return f"{n} fields, expected at least {len(self.columns)} ({','.join(self.columns)})"
        if self.pairs and (n - self.least) % 2:
            stated = f"{n} fields; after the first {self.least} come pairs {','.join(self.pairs)}"
            return f"{stated}, and the last pair is not complete"
        return ""


class FileTable(NamedTuple):
    """The lines of a file as arrays, a row for each."""

    image: Ints
    """The image of each row, as a number in `names`."""
    line: Ints
    numbers: Floats
    """A column for each of the layout's, without those that became pairs."""
    listed: Ints
    """How many pairs each row has."""
    pairs: Floats
    """The numbers of each pair, row after row."""
    words: list[list[str]]
    names: tuple[str, ...] = ()
    """In order of first appearance."""


def read_table(path: Path, layout: LineLayout, digest: Digest | None = None) -> FileTable:
    """Read a file, a block of lines at a time; without any line it is refused. `digest` gets its bytes."""
    known: dict[str, int] = {}
    parts: list[FileTable] = []
    for start, block in data_blocks(path, layout.header_line, digest):
        lines = reader.cut(block, start)
        part = None if lines is None else _part(lines, layout, known)
        if part is None:
            clean = [(line, layout.parse(fields, f"{path} line {line}")) for line, fields in rows(block, start, path)]
            part = _part(joined(clean), layout, known)
            assert part or not clean, f"{path}: lines from {start} on were parsed and then declined"
        parts += [part] if part else []
    if not parts:
        raise DataError(f"{path}: {layout.empty}")
    image, line, numbers, listed, pairs = (np.concatenate([part[k] for part in parts]) for k in range(5))
    words = [[word for part in parts for word in part.words[k]] for k in range(len(layout.words))]
    return FileTable(image, line, numbers, listed, pairs, words, tuple(known))


def _part(lines: Lines, layout: LineLayout, known: dict[str, int]) -> FileTable | None:
    """A block of lines as arrays; None if a line needs the slow parser, or the block is empty."""
    n, count, places = len(lines.count), lines.count, np.array([column.at for column in layout.numbers], dtype=np.int64)
    if not n or count.min() < max([layout.least, *(k + 1 for k in layout.words)]):
        return None
    if (layout.exact and (count != layout.least).any()) or (layout.pairs and ((count - layout.least) % 2).any()):
        return None
    at = lines.first[:, None] if not layout.exact else np.empty((0, 1), np.int64)
    listed = np.full(len(lines.fields), layout.pairs is not None)
    listed[at + np.arange(layout.least)] = False
    if layout.exact:  # faster: all lines have the same fields (there may be a thousand)
        expected = np.tile(np.isin(np.arange(layout.least), places), n)
    else:
        expected = listed.copy()
        expected[at + places] = True
    values = lines.numbers(expected)
    if values is None:
        return None
    numbers, pairs = values.reshape(n, -1)[:, places] if layout.exact else values[at + places], values[listed]
    result = lines.texts(layout.name).dictionary_encode()
    names = [word.strip() for word in result.dictionary.to_pylist()]
    whole_, positive = ([k for k, column in enumerate(layout.numbers) if column[which]] for which in (2, 3))
    good = np.isfinite(numbers).all() and np.isfinite(pairs).all() and (numbers[:, positive] > 0).all()
    if not (good and all(names) and whole(numbers[:, whole_]) and whole(pairs[::2])):
        return None
    codes = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
    words = [[word.strip() for word in lines.texts(k).to_pylist()] for k in layout.words]
    each = (count - layout.least) // 2 if layout.pairs else np.zeros(n, np.int64)
    table = FileTable(codes[result.indices.to_numpy()], lines.line, numbers, each, pairs.reshape(-1, 2), words)
    return _largest_only(table, layout) if len(layout.listed) else table


def _largest_only(table: FileTable, layout: LineLayout) -> FileTable:
    """The largest listed numbers as pairs, so that a thousand columns take little memory."""
    own = len(layout.numbers) - len(layout.listed)
    score, column = largest(table.numbers[:, own:], layout.top)
    pairs = np.stack([layout.listed[column].astype(np.float64), score], axis=-1).reshape(-1, 2)
    return table._replace(numbers=table.numbers[:, :own].copy(), listed=np.full(len(score), layout.top), pairs=pairs)


def integer(text: str, column: str, place: str) -> int:
    """A whole number, or an error that names place and column.

    >>> integer("-1", "SUBJECT_ID", "line 3")
    -1
    """
    value = finite_number(text, column, place)
    if value != int(value) or abs(value) >= 2**53:
        raise DataError(f"{place}: {column} is {text!r}, expected a whole number (-1: unknown)")
    return int(value)


def whole(values: Floats) -> bool:
    """Whether all are finite whole numbers that a double holds exactly."""
    return bool(((values == np.floor(values)) & (np.abs(values) < 2**53)).all())


def header_of(path: Path, columns: Sequence[str]) -> tuple[int, list[str]]:
    """Number and names of the header line of a file."""
    head = first_line(path)
    if head is None:
        raise DataError(f"{path}: the file is empty, expected a header line {','.join(columns)}")
    return head[0], [name.strip().strip('"') for name in head[1].split(",")]


def places_in(names: Sequence[str], columns: Sequence[str], place: str, stated: str) -> list[int]:
    """Where each of the columns is in a header; one that is missing is an error with the nearest name."""
    missing = next((name for name in columns if name not in names), None)
    if missing is not None:
        raise DataError(f"{place}: no column {missing}{near(missing, names)}; {stated}")
    return [names.index(name) for name in columns]
