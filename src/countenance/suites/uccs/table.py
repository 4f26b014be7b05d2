"""Comma-separated lines as arrays: what a file's `LineLayout` asks for.

Ordinary blocks of lines are cut up whole. A block with anything else in it (quotes, spaces, words among the numbers) is
parsed line by line, which is where every error gets its line number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.uccs import lines as reader
from countenance.suites.uccs.files import first_line
from countenance.suites.uccs.lines import Floats, Ints, Lines, data_blocks, integer, joined, number, rows, whole

NOBODY: Ints = np.empty(0, np.int64)


class NumberColumn(NamedTuple):
    """A column of numbers: its name, its place in a line, and what its numbers must be."""

    name: str
    at: int
    whole: bool = False
    positive: bool = False


@dataclass(frozen=True)
class LineLayout:
    """What the lines of a file hold, and what is read of them."""

    columns: tuple[str, ...]
    """What its owner calls the columns, for errors."""
    file: int
    """Where the image's name is."""
    numbers: tuple[NumberColumn, ...]
    least: int
    """How many fields a line has: so many, or more unless `exact`."""
    empty: str
    """What to say of a file without any line."""
    exact: bool = False
    header_line: int = 0
    pairs: bool = False
    """After the fields come pairs SUBJECT_ID,SCORE."""
    words: tuple[int, ...] = ()
    """Columns that are kept as text; a line may end before them."""
    subjects: Ints = field(default_factory=lambda: NOBODY)
    """The last so many of `numbers` are similarities to these subjects; the `top` largest become pairs."""
    top: int = 0

    def parse(self, fields: Sequence[str], place: str) -> list[str]:
        """The fields of one line with every number as Python writes it, or an error that names its place."""
        if problem := self._miscounted(fields):
            raise InputError(f"{place}: {problem}")
        if not fields[self.file]:
            raise InputError(f"{place}: FILE is empty, expected an image's name")
        made = [*fields, *[""] * (max(self.words, default=0) + 1 - len(fields))]
        for name, at, whole_, positive in (*self.numbers, *(self._pairs(len(fields)) if self.pairs else ())):
            value = (integer if whole_ else number)(fields[at], name, place)
            if positive and value <= 0:
                raise InputError(f"{place}: {name} is {value:g}, expected more than 0; remove boxes without area")
            made[at] = repr(value)
        return made

    def _pairs(self, fields: int) -> Iterator[NumberColumn]:
        for rank, k in enumerate(range(self.least, fields, 2), 1):
            yield NumberColumn(f"SUBJECT_ID_{rank}", k, whole=True)
            yield NumberColumn(f"SCORE_{rank}", k + 1)

    def _miscounted(self, fields: Sequence[str]) -> str:
        n = len(fields)
        if self.pairs and fields[0].upper() == "FILE" and (n == 1 or fields[1][:1].isalpha()):
            return "a header line without '#'; begin it with '# ' or remove it"
        if self.exact and n != self.least:
            what = "some are missing" if n < self.least else "there are too many"
            return f"{n} fields, expected {self.least} as in the header; {what}"
        if n < self.least:
            return f"{n} fields, expected at least {len(self.columns)} ({','.join(self.columns)})"
        if self.pairs and (n - self.least) % 2:
            told = f"{n} fields; after the first {self.least} come pairs SUBJECT_ID,SCORE"
            return f"{told}, and the last pair is not complete"
        return ""


class FileTable(NamedTuple):
    """The lines of a file as arrays, a row for each."""

    image: Ints
    """The image of each row, as a number in `names`."""
    line: Ints
    numbers: Floats
    """A column for each of the layout's, without similarities."""
    listed: Ints
    """How many pairs each row has."""
    pairs: Floats
    """Subject and score, those of one row after those of another."""
    words: list[list[str]]
    names: tuple[str, ...] = ()
    """In order of first appearance."""


def read_table(path: Path, layout: LineLayout) -> FileTable:
    """Read a file, a block of lines at a time; without any line it is refused."""
    known: dict[str, int] = {}
    parts: list[FileTable] = []
    for start, block in data_blocks(path, layout.header_line):
        lines = reader.cut(block, start)
        part = None if lines is None else _part(lines, layout, known)
        if part is None:
            clean = [(line, layout.parse(fields, f"{path} line {line}")) for line, fields in rows(block, start, path)]
            part = _part(joined(clean), layout, known)
            assert part or not clean, f"{path}: lines from {start} on were parsed and then declined"
        parts += [part] if part else []
    if not parts:
        raise InputError(f"{path}: {layout.empty}")
    image, line, numbers, listed, pairs = (np.concatenate([part[k] for part in parts]) for k in range(5))
    words = [[word for part in parts for word in part.words[k]] for k in range(len(layout.words))]
    return FileTable(image, line, numbers, listed, pairs, words, tuple(known))


def _part(lines: Lines, layout: LineLayout, known: dict[str, int]) -> FileTable | None:
    """A block of lines; None where one of them needs a closer look, or there is none."""
    n, count, places = len(lines.count), lines.count, np.array([column.at for column in layout.numbers], dtype=np.int64)
    if not n or count.min() < max([layout.least, *(k + 1 for k in layout.words)]):
        return None
    if (layout.exact and (count != layout.least).any()) or (layout.pairs and ((count - layout.least) % 2).any()):
        return None
    at = lines.first[:, None] if not layout.exact else np.empty((0, 1), np.int64)
    listed = np.full(len(lines.fields), layout.pairs)
    listed[at + np.arange(layout.least)] = False
    if layout.exact:  # all lines are alike, which is faster where there are a thousand similarities
        wanted = np.tile(np.isin(np.arange(layout.least), places), n)
    else:
        wanted = listed.copy()
        wanted[at + places] = True
    values = lines.numbers(wanted)
    if values is None:
        return None
    numbers, pairs = values.reshape(n, -1)[:, places] if layout.exact else values[at + places], values[listed]
    found = lines.texts(layout.file).dictionary_encode()
    names = [word.strip() for word in found.dictionary.to_pylist()]
    whole_, positive = ([k for k, column in enumerate(layout.numbers) if column[which]] for which in (2, 3))
    good = np.isfinite(numbers).all() and np.isfinite(pairs).all() and (numbers[:, positive] > 0).all()
    if not (good and all(names) and whole(numbers[:, whole_]) and whole(pairs[::2])):
        return None
    codes = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
    words = [[word.strip() for word in lines.texts(k).to_pylist()] for k in layout.words]
    each = (count - layout.least) // 2 if layout.pairs else np.zeros(n, np.int64)
    table = FileTable(codes[found.indices.to_numpy()], lines.line, numbers, each, pairs.reshape(-1, 2), words)
    return _largest_only(table, layout) if len(layout.subjects) else table


def _largest_only(table: FileTable, layout: LineLayout) -> FileTable:
    """Similarities as pairs, so that a large gallery does not fill the memory."""
    own = len(layout.numbers) - len(layout.subjects)
    score, column = largest(table.numbers[:, own:], layout.top)
    pairs = np.stack([layout.subjects[column].astype(np.float64), score], axis=-1).reshape(-1, 2)
    return table._replace(numbers=table.numbers[:, :own].copy(), listed=np.full(len(score), layout.top), pairs=pairs)


def largest(matrix: Floats, k: int) -> tuple[Floats, Ints]:
    """The k largest values of each row, falling, and their columns; of equal ones the earlier column first.

    >>> largest(np.array([[0.1, 0.9, 0.5]]), 2)
    (array([[0.9, 0.5]]), array([[1, 2]]))
    """
    if k > 12:
        column = np.argsort(-matrix, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(matrix, column, axis=1), column
    matrix, rows = matrix.copy(), np.arange(len(matrix))
    score, column = np.empty((len(matrix), k)), np.empty((len(matrix), k), np.int64)
    for j in range(k):
        column[:, j] = matrix.argmax(axis=1)
        score[:, j] = matrix[rows, column[:, j]]
        matrix[rows, column[:, j]] = -np.inf
    return score, column


def header_of(path: Path, columns: Sequence[str]) -> tuple[int, list[str]]:
    """Number and names of the header line of a file."""
    head = first_line(path)
    if head is None:
        raise InputError(f"{path}: the file is empty, expected a header line {','.join(columns)}")
    return head[0], [name.strip().strip('"') for name in head[1].split(",")]


def places_in(names: Sequence[str], columns: Sequence[str], place: str, told: str) -> list[int]:
    """Where each of the columns is in a header; one that is missing is an error with the nearest name."""
    missing = next((name for name in columns if name not in names), None)
    if missing is not None:
        raise InputError(f"{place}: no column {missing}{near(missing, names)}; {told}")
    return [names.index(name) for name in columns]
