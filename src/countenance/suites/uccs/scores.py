"""Score files: what a participant hands in, read fast and refused with a line number (versions 2 and 3).

Version 2: FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE[,SUBJECT_ID_1,SCORE_1,...]. Version 3: a header, six
columns in any order, landmarks, and for scoring a similarity for each gallery subject (S_0001, ...).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.metrics.curves import ListedIdentities
from countenance.suites.uccs.files import first_line
from countenance.suites.uccs.lines import Floats, Gathered, Ints, Lines, integer, number, read_lines, whole
from countenance.suites.uccs.protocol import LANDMARKS

COLUMNS_V2 = ("FILE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT", "DETECTION_SCORE")
COLUMNS_V3 = ("FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT")
FIXED = len(COLUMNS_V2)
MOST_LABELS = 10
SUBJECT = re.compile(r"S_(\d+)")

Parser = Callable[[Sequence[str], str], Sequence[object]]
"""From the fields of a line and its place to its values, or an error."""


@dataclass(frozen=True)
class Scores:
    """The detections of a score file in the order of its lines."""

    path: Path
    version: int
    kind: Literal["detection", "recognition"]
    images: tuple[str, ...]
    """The names in the file, in order of first appearance."""
    image: Ints
    """Each detection's image, as a number in `images`."""
    line: Ints
    box: Floats
    score: Floats
    labels: ListedIdentities
    """The identities listed for each detection; in version 3 those with the largest similarities, falling."""
    subjects: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Version 3: the gallery subject of each similarity column."""
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.score)

    def listed(self, row: int) -> tuple[Ints, Floats]:
        """The identities of one detection, with their scores."""
        part = slice(int(self.labels.start[row]), int(self.labels.start[row] + self.labels.count[row]))
        return self.labels.identity[part], self.labels.score[part]


def file_version(path: Path) -> int:
    """The version of a score file: version 3 begins with a header that names DETECTION_SCORE second."""
    head = first_line(path)
    if head is None:
        raise InputError(f"{path}: no detection in it (empty, or comments only); expected lines {','.join(COLUMNS_V2)}")
    fields = [name.strip().strip('"').upper() for name in head[1].split(",")]
    header = "DETECTION_SCORE" in fields and fields.index("DETECTION_SCORE") != FIXED - 1
    return 3 if header else 2


def read_scores(path: Path, version: int | None = None, *, top: int = 0) -> Scores:
    """Read a score file; of version 3's similarities so many of the largest are kept (a detection curve needs none)."""
    return _read_v2(path) if (version or file_version(path)) == 2 else _read_v3(path, top)


def parser_of(path: Path, version: int) -> tuple[int, Parser]:
    """The header line of a file (0: none), and the function that refuses a wrong line by its place."""
    return (0, parse_v2) if version == 2 else (Header.of(path).line, Header.of(path).parse)


def _read_v2(path: Path) -> Scores:
    found, counts = Gathered(), [np.empty(0, np.int64)]
    pairs = [np.empty((0, 2))]

    def take(lines: Lines) -> bool:
        if lines.count.min() < FIXED or (lines.count % 2).any():
            return False
        wanted = np.ones(len(lines.fields), dtype=bool)
        wanted[lines.first] = False
        values = lines.numbers(wanted)
        if values is None:
            return False
        table = values[lines.first[:, None] + np.arange(1, FIXED)]
        wanted[lines.first[:, None] + np.arange(FIXED)] = False
        listed = values[wanted].reshape(-1, 2)
        good = (table[:, 2:4] > 0).all() and whole(listed[:, 0]) and np.isfinite(listed[:, 1]).all()
        if not good or not found.add(lines, 0, table):
            return False
        counts.append((lines.count - FIXED) // 2)
        pairs.append(listed)
        return True

    read_lines(path, 0, take, parse_v2)
    count, both = np.concatenate(counts), np.concatenate(pairs)
    labels = ListedIdentities(np.cumsum(count) - count, count, both[:, 0].astype(np.int64), both[:, 1])
    over = np.flatnonzero(count > MOST_LABELS)
    warnings = []
    if over.size:
        warnings.append(
            f"{path} line {np.concatenate(found.line)[over[0]]}: {count[over[0]]} labels, the challenge allows "
            f"{MOST_LABELS} a face ({len(over)} such lines); all of them are used"
        )
    return _scores(path, 2, found, labels, recognition=bool(count.any()), warnings=tuple(warnings))


def parse_v2(fields: Sequence[str], place: str) -> Sequence[object]:
    """Name, box, score and pairs of identity and score of one line, or an error that names its place.

    >>> parse_v2(["a.jpg", "1", "2", "3", "4", "0.5", "7", "0.9"], "scores.txt line 3")
    ['a.jpg', 1.0, 2.0, 3.0, 4.0, 0.5, 7, 0.9]
    """
    if fields[0].upper() == "FILE" and (len(fields) == 1 or fields[1][:1].isalpha()):
        raise InputError(f"{place}: a header line without '#'; begin it with '# ' or remove it")
    if len(fields) < FIXED:
        raise InputError(f"{place}: {len(fields)} fields, expected at least {FIXED} ({','.join(COLUMNS_V2)})")
    if len(fields) % 2:
        raise InputError(
            f"{place}: {len(fields)} fields; after the first {FIXED} come pairs SUBJECT_ID,SCORE, "
            "and the last pair is not complete"
        )
    made: list[object] = [*_name_and_box(fields[0], fields[1:FIXED], place)]
    for rank, k in enumerate(range(FIXED, len(fields), 2), 1):
        made += [integer(fields[k], f"SUBJECT_ID_{rank}", place), number(fields[k + 1], f"SCORE_{rank}", place)]
    return made


def _name_and_box(name: str, values: Sequence[str], place: str) -> tuple[object, ...]:
    """The image, the box and the score, checked."""
    if not name:
        raise InputError(f"{place}: FILE is empty, expected an image's name")
    found = [number(text, column, place) for text, column in zip(values, COLUMNS_V2[1:], strict=True)]
    for column, value in zip(COLUMNS_V2[3:5], found[2:4], strict=True):
        if value <= 0:
            raise InputError(f"{place}: {column} is {value:g}, expected more than 0; remove boxes without area")
    return name, *found


@dataclass(frozen=True)
class Header:
    """The columns of a version 3 file."""

    line: int
    names: tuple[str, ...]
    which: tuple[int, ...]
    """Where the image, the box and the score are, in the order of version 2."""
    similar: tuple[int, ...]
    """Where the similarities are."""
    subjects: Ints
    """Whose they are."""

    @classmethod
    def of(cls, path: Path) -> "Header":
        """The header of a file, checked: its columns are the six, landmarks, or S_ and a number."""
        head = first_line(path)
        if head is None:
            raise InputError(f"{path}: the file is empty, expected a header line {','.join(COLUMNS_V3)}")
        place, names = f"{path} line {head[0]}", [name.strip().strip('"') for name in head[1].split(",")]
        for name in COLUMNS_V3:
            if name not in names:
                raise InputError(
                    f"{place}: no column {name}{near(name, names)}; "
                    f"a version 3 file begins with the header {','.join(COLUMNS_V3)}"
                )
        if len(set(names)) < len(names):
            raise InputError(f"{place}: column {next(name for name in names if names.count(name) > 1)} occurs twice")
        subjects = {k: int(match[1]) for k, name in enumerate(names) if (match := SUBJECT.fullmatch(name))}
        for k, name in enumerate(names):
            if k not in subjects and name not in COLUMNS_V3 and name not in LANDMARKS:
                raise InputError(
                    f"{place}: column {name!r} is not known{near(name, [*COLUMNS_V3, *LANDMARKS])}; "
                    "expected landmarks (REYE_X, ...) or similarities (S_0001, ...)"
                )
        if len(set(subjects.values())) != len(subjects):
            raise InputError(f"{place}: a gallery subject has two similarity columns")
        which = tuple(names.index(name) for name in COLUMNS_V2)
        return cls(head[0], tuple(names), which, tuple(subjects), np.array([*subjects.values()], dtype=np.int64))

    def parse(self, fields: Sequence[str], place: str) -> Sequence[object]:
        """The values of one line in the order of the header, or an error that names its place."""
        if len(fields) != len(self.names):
            what = "some are missing" if len(fields) < len(self.names) else "there are too many"
            raise InputError(f"{place}: {len(fields)} fields, expected {len(self.names)} as in the header; {what}")
        name, *values = (fields[column] for column in self.which)
        made: list[object] = list(fields)
        for column, value in zip(self.which, _name_and_box(name, values, place), strict=True):
            made[column] = value
        for column in self.similar:
            made[column] = number(fields[column], self.names[column], place)
        return made


def _read_v3(path: Path, top: int) -> Scores:
    header = Header.of(path)
    recognition, k = bool(header.similar), min(top, len(header.similar))
    used = header.similar if k else ()
    found, similarity, identity = Gathered(), [np.empty((0, k))], [np.empty((0, k), np.int64)]
    wanted = np.zeros(len(header.names), dtype=bool)
    wanted[[*header.which[1:], *used]] = True
    adjoining = bool(used) and used[-1] - used[0] + 1 == len(used)

    def take(lines: Lines) -> bool:
        if (lines.count != len(header.names)).any():
            return False
        values = lines.numbers(np.tile(wanted, len(lines.count)))
        if values is None:
            return False
        values = values.reshape(-1, len(header.names))
        table = values[:, header.which[1:]]
        matrix = values[:, slice(used[0], used[-1] + 1) if adjoining else list(used)]
        good = (table[:, 2:4] > 0).all() and np.isfinite(matrix).all()
        if not good or not found.add(lines, header.which[0], table):
            return False
        score, column = largest(matrix, k)
        similarity.append(score)
        identity.append(header.subjects[column])
        return True

    read_lines(path, header.line, take, Header(header.line, header.names, header.which, used, header.subjects).parse)
    score, who = np.concatenate(similarity), np.concatenate(identity)
    count = np.full(len(score), k)
    labels = ListedIdentities(np.arange(len(score)) * k, count, who.ravel(), score.ravel())
    return _scores(path, 3, found, labels, recognition=recognition, subjects=header.subjects)


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


def _scores(
    path: Path, version: int, found: Gathered, labels: ListedIdentities, *, recognition: bool,
    subjects: Ints | None = None, warnings: tuple[str, ...] = (),
) -> Scores:  # fmt: skip
    """The lines put together; a file without any detection is refused."""
    if not found.table:
        raise InputError(f"{path}: no detection in it; an algorithm that found nothing has no curve")
    table = np.concatenate(found.table)
    return Scores(
        path, version, "recognition" if recognition else "detection", tuple(found.known), np.concatenate(found.image),
        np.concatenate(found.line), np.ascontiguousarray(table[:, :4]), np.ascontiguousarray(table[:, 4]), labels,
        np.empty(0, np.int64) if subjects is None else subjects, warnings,
    )  # fmt: skip


def on_protocol(scores: Scores, images: tuple[str, ...], protocol: str) -> tuple[Ints, tuple[str, ...]]:
    """Each detection's image as a number in the protocol's `images`, -1 for others, which a warning names once."""
    number = {name: k for k, name in enumerate(images)}
    stems: dict[str, int] = {}
    if scores.version == 3:  # scoring files drop the extension
        for name, k in number.items():
            stems.setdefault(name.rsplit(".", 1)[0], k)
    of_name = np.array([number.get(name, stems.get(name, -1)) for name in scores.images], dtype=np.int64)
    image = of_name[scores.image]
    strange = np.flatnonzero(image < 0)
    if not strange.size:
        return image, ()
    line, name = scores.line[strange[0]], scores.images[scores.image[strange[0]]]
    what = f"image {name!r} is not in {protocol}"
    if strange.size == len(image):
        raise InputError(
            f"{scores.path} line {line}: {what}, nor is any other image of this file; "
            "give the protocol's own file names, or another --which-set"
        )
    others = int(np.count_nonzero(of_name < 0)) - 1
    more = f" (and {others} more)" if others else ""
    return image, (f"{scores.path} line {line}: {what}{more}; {strange.size} detections on such images are left out",)
