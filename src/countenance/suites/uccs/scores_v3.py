"""Version 3 files: detections with a header and, for scoring, one similarity for each gallery subject."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.uccs.files import first_line, write_text
from countenance.suites.uccs.protocol import LANDMARKS
from countenance.suites.uccs.rows import number, positive_area, rows
from countenance.suites.uccs.scores import COLUMNS_V2, COLUMNS_V3, Kind, Scores, _Parts, collected, data_blocks
from countenance.suites.uccs.tokens import Floats, Ints, Tokens, chosen, columns, names, numbers, tokenize

SUBJECT = re.compile(r"S_(\d+)")
NUMERIC = COLUMNS_V2[1:]
"""The order in which the five numbers are kept, whatever the order of the columns: box, then score."""


def read(path: Path, *, top: int = 0) -> Scores:
    """Read a detection file, or a scoring file with the `top` largest similarities of every detection.

    More than those no curve needs, and all of them would be too much to keep.
    """
    header_line, header = read_header(path)
    subject_columns, subjects = gallery_columns(header, path, header_line)
    which = [header.index(name) for name in ("FILE", *NUMERIC)]
    parts, best = _Parts(), _Top(subjects, subject_columns, min(top, len(subjects)))
    for start, block in data_blocks(path, header_line):
        tokens = tokenize(block, start)
        if tokens is None or not _fast(tokens, which, len(header), parts, best):
            _slow(block, start, path, header, which, parts, best)
    kind: Kind = "recognition" if len(subjects) else "detection"
    return collected(parts, path, 3, kind, subjects=subjects, top_score=best.scores(), top_subject=best.subjects_())


class _Top:
    """Collects the largest similarities of every row."""

    def __init__(self, subjects: Ints, columns_: Sequence[int], k: int) -> None:
        self.subjects, self.columns, self.k = subjects, columns_, k
        self._score: list[Floats] = []
        self._subject: list[Ints] = []

    def add(self, matrix: Floats) -> None:
        score, column = largest(matrix, self.k)
        self._score.append(score)
        self._subject.append(self.subjects[column])

    def scores(self) -> Floats:
        return np.concatenate(self._score) if self._score else np.empty((0, self.k))

    def subjects_(self) -> Ints:
        return np.concatenate(self._subject) if self._subject else np.empty((0, self.k), np.int64)


def largest(matrix: Floats, k: int) -> tuple[Floats, Ints]:
    """The k largest values of each row, falling, and their columns; of equal ones the earlier column first.

    >>> largest(np.array([[0.1, 0.9, 0.5]]), 2)
    (array([[0.9, 0.5]]), array([[1, 2]]))
    """
    rows_ = np.arange(len(matrix))
    if k > 12:
        column = np.argsort(-matrix, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(matrix, column, axis=1), column
    matrix = matrix.copy()
    score, column = np.empty((len(matrix), k)), np.empty((len(matrix), k), np.int64)
    for j in range(k):
        column[:, j] = matrix.argmax(axis=1)
        score[:, j] = matrix[rows_, column[:, j]]
        matrix[rows_, column[:, j]] = -np.inf
    return score, column


def read_header(path: Path) -> tuple[int, list[str]]:
    """The number of the header line and its columns, checked."""
    head = first_line(path)
    if head is None:
        raise InputError(f"{path}: the file is empty, expected a header line {','.join(COLUMNS_V3)}")
    line, text = head
    header = [name.strip().strip('"') for name in text.split(",")]
    for name in COLUMNS_V3:
        if name not in header:
            raise InputError(
                f"{path} line {line}: no column {name}{near(name, header)}; "
                f"a version 3 file begins with the header {','.join(COLUMNS_V3)}"
            )
    twice = [name for name in header if header.count(name) > 1] if len(set(header)) < len(header) else []
    if twice:
        raise InputError(f"{path} line {line}: column {twice[0]} stands twice")
    return line, header


def gallery_columns(header: Sequence[str], path: Path, line: int) -> tuple[list[int], Ints]:
    """The similarity columns and their subjects; columns must be the six, landmarks, or S_ and a number."""
    found, subjects = [], []
    for k, name in enumerate(header):
        if match := SUBJECT.fullmatch(name):
            found.append(k)
            subjects.append(int(match[1]))
        elif name not in COLUMNS_V3 and name not in LANDMARKS:
            raise InputError(
                f"{path} line {line}: column {name!r} is not known{near(name, [*COLUMNS_V3, *LANDMARKS])}; "
                "expected landmarks (REYE_X, ...) or similarities (S_0001, ...)"
            )
    if len(set(subjects)) != len(subjects):
        raise InputError(f"{path} line {line}: a gallery subject has two similarity columns")
    return found, np.array(subjects, dtype=np.int64)


def _fast(tokens: Tokens, which: Sequence[int], width: int, parts: _Parts, best: _Top) -> bool:
    """Add a block of ordinary lines; False, adding nothing, when some line is not."""
    if not tokens.count.size:
        return True
    if (tokens.count != width).any():
        return False
    if best.k:  # nearly all fields
        wanted = np.ones(len(tokens.end), dtype=bool)
        wanted[tokens.first + which[0]] = False
    else:
        wanted = chosen(tokens, which[1:])
    values = numbers(tokens, wanted)
    if values is None:
        return False
    table = columns(tokens, values, which[1:])
    if not np.isfinite(table).all() or (table[:, 2:4] <= 0).any():
        return False
    matrix = np.empty((len(table), 0))
    if best.k:
        adjoining = best.columns[-1] - best.columns[0] + 1 == len(best.columns)
        take = slice(best.columns[0], best.columns[-1] + 1) if adjoining else best.columns
        matrix = values.reshape(-1, width)[:, take]
        if not np.isfinite(matrix).all():
            return False
    before = len(parts.known)
    image = names(tokens, which[0], parts.known)
    if image is None:
        for name in list(parts.known)[before:]:
            del parts.known[name]
        return False
    parts.image.append(image)
    parts.line.append(tokens.line)
    parts.table.append(table)
    best.add(matrix)
    return True


def parse(fields: Sequence[str], header: Sequence[str], which: Sequence[int], place: str) -> tuple[str, list[float]]:
    """Name, box and score of one line, or an error that names its place.

    >>> parse(["a.jpg", ".5", "1", "2", "3", "4"], COLUMNS_V3, [0, 2, 3, 4, 5, 1], "scores.txt line 3")
    ('a.jpg', [1.0, 2.0, 3.0, 4.0, 0.5])
    """
    if len(fields) != len(header):
        what = "some are missing" if len(fields) < len(header) else "there are too many"
        raise InputError(f"{place}: {len(fields)} fields, expected {len(header)} as in the header; {what}")
    name, *values = (fields[column] for column in which)
    if not name:
        raise InputError(f"{place}: FILE is empty, expected an image's name")
    box = [number(text, column, place) for text, column in zip(values, NUMERIC, strict=True)]
    positive_area(NUMERIC[2:4], box[2:4], place)
    return name, box


def _slow(
    block: bytes, start: int, path: Path, header: Sequence[str], which: Sequence[int], parts: _Parts, best: _Top
) -> None:
    image, line, table, matrix = [], [], [], []
    for n, fields in rows(block, start, path):
        place = f"{path} line {n}"
        name, box = parse(fields, header, which, place)
        if best.k:
            matrix.append([number(fields[k], header[k], place) for k in best.columns])
        image.append(parts.known.setdefault(name, len(parts.known)))
        line.append(n)
        table.append(box)
    parts.image.append(np.array(image, dtype=np.int64))
    parts.line.append(np.array(line, dtype=np.int64))
    parts.table.append(np.array(table, dtype=np.float64).reshape(-1, len(NUMERIC)))
    best.add(np.array(matrix, dtype=np.float64).reshape(len(image), len(best.columns) if best.k else 0))


def write_detections(path: Path, found: Iterable[tuple[str, Iterable[Sequence[float]]]]) -> None:
    """Write a detection file: for each image, detections as score, box and, if there are, ten landmark numbers."""
    ordered = [(name, [list(row) for row in rows_]) for name, rows_ in sorted(found, key=lambda item: item[0])]
    landmarks = any(len(row) > len(NUMERIC) for _, rows_ in ordered for row in rows_)

    def content(stream: IO[str]) -> None:
        stream.write(",".join((*COLUMNS_V3, *(LANDMARKS if landmarks else ()))) + "\n")
        for name, rows_ in ordered:
            for row in rows_:
                stream.write(name + "," + ",".join(f"{value:.2f}" for value in row) + "\n")

    write_text(path, content)


def write_scoring(
    path: Path, subjects: Sequence[int], found: Iterable[tuple[str, Iterable[tuple[Sequence[float], Floats]]]]
) -> None:
    """Write a scoring file: six columns, names without ending, a similarity for each subject; images as they come."""

    def content(stream: IO[str]) -> None:
        stream.write(",".join((*COLUMNS_V3, *(f"S_{subject:04d}" for subject in subjects))) + "\n")
        for name, rows_ in found:
            for box, similarity in rows_:
                stem = name.rsplit(".", 1)[0]
                numbers_ = [f"{value:.2f}" for value in box] + [f"{value:.6f}" for value in similarity.tolist()]
                stream.write(stem + "," + ",".join(numbers_) + "\n")

    write_text(path, content)
