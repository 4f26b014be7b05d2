"""Score files of participants, read fast and refused with a line number (versions 2 and 3).

Version 2: FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE[,SUBJECT_ID_1,SCORE_1,...]. Version 3: a header, six
columns in any order, landmarks, and for scoring a similarity for each gallery subject (S_0001, ...).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from countenance.data.adapters.uccs_protocol import LANDMARKS
from countenance.data.reading.lines import Floats, Ints
from countenance.data.reading.number_table import NO_IDS, LineLayout, NumberColumn, header_of, places_in, read_table
from countenance.data.reading.text_blocks import first_line
from countenance.data.tables import near
from countenance.errors import ModelError
from countenance.metrics.curves import ListedIdentities

COLUMNS_V2 = ("FILE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT", "DETECTION_SCORE")
COLUMNS_V3 = ("FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT")
MOST_LABELS = 10
PAIR = ("SUBJECT_ID", "SCORE")
SUBJECT = re.compile(r"S_(\d+)")

EMPTY = "no detection in it; an algorithm that found nothing has no curve"


@dataclass(frozen=True)
class ScoreFile:
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
    """The identities listed for each detection; in version 3 those with the largest similarities, the largest first."""
    subjects: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Version 3: the gallery subject of each similarity column."""
    warnings: tuple[str, ...] = ()
    sha256: str = ""
    """The sha256 of the file that was read."""

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
        raise ModelError(f"{path}: no detection in it (empty, or comments only); expected lines {','.join(COLUMNS_V2)}")
    fields = [name.strip().strip('"').upper() for name in head[1].split(",")]
    header = "DETECTION_SCORE" in fields and fields.index("DETECTION_SCORE") != len(COLUMNS_V2) - 1
    return 3 if header else 2


def read_scores(path: Path, version: int | None = None, *, top: int = 0) -> ScoreFile:
    """Read a score file; of version 3's similarities only the `top` largest are kept."""
    version = version or file_version(path)
    layout, subjects = layout_of(path, version, top)
    digest = hashlib.sha256()
    table = read_table(path, layout, digest)
    start = np.cumsum(table.listed) - table.listed
    over = np.flatnonzero(table.listed > MOST_LABELS) if version == 2 else NO_IDS
    warning = (
        ""
        if not over.size
        else (
            f"{path} line {table.line[over[0]]}: {table.listed[over[0]]} labels, the challenge allows "
            f"{MOST_LABELS} a face ({len(over)} such lines); all of them are used"
        )
    )
    return ScoreFile(
        path,
        version,
        "recognition" if len(subjects) or table.listed.any() else "detection",
        table.names,
        table.image,
        table.line,
        np.ascontiguousarray(table.numbers[:, :4]),
        np.ascontiguousarray(table.numbers[:, 4]),
        ListedIdentities(start, table.listed, table.pairs[:, 0].astype(np.int64), table.pairs[:, 1].copy()),
        subjects,
        (warning,) if warning else (),
        digest.hexdigest(),
    )


def layout_of(path: Path, version: int, top: int = 0) -> tuple[LineLayout, Ints]:
    """The layout of a score file's lines, and the subjects in version 3's header."""
    if version == 2:
        return LineLayout(COLUMNS_V2, 0, _box(range(1, 6)), len(COLUMNS_V2), EMPTY, pairs=PAIR), NO_IDS
    line, names = header_of(path, COLUMNS_V3)
    place = f"{path} line {line}"
    file, *box = places_in(names, COLUMNS_V2, place, f"a version 3 file begins with the header {','.join(COLUMNS_V3)}")
    similar = {k: int(match[1]) for k, name in enumerate(names) if (match := SUBJECT.fullmatch(name))}
    if len(set(names)) < len(names):
        raise ModelError(f"{place}: column {next(name for name in names if names.count(name) > 1)} occurs twice")
    for k, name in enumerate(names):
        if k not in similar and name not in COLUMNS_V3 and name not in LANDMARKS:
            raise ModelError(
                f"{place}: column {name!r} is not known{near(name, [*COLUMNS_V3, *LANDMARKS])}; "
                "expected landmarks (REYE_X, ...) or similarities (S_0001, ...)"
            )
    subjects = np.array([*similar.values()], dtype=np.int64)
    if len(set(similar.values())) != len(similar):
        raise ModelError(f"{place}: a gallery subject has two similarity columns")
    numbers, columns = _box(box), min(top, len(similar))
    if columns:
        numbers += tuple(NumberColumn(names[k], k) for k in similar)
    return LineLayout(
        COLUMNS_V3,
        file,
        numbers,
        len(names),
        EMPTY,
        exact=True,
        header_line=line,
        listed=subjects if columns else NO_IDS,
        top=columns,
    ), subjects


def _box(places: Sequence[int]) -> tuple[NumberColumn, ...]:
    """Box and score, at any place in a line; a box must have an area."""
    return tuple(
        NumberColumn(name, k, positive="remove boxes without area" if name in COLUMNS_V2[3:5] else "")
        for name, k in zip(COLUMNS_V2[1:], places, strict=True)
    )


def on_protocol(scores: ScoreFile, images: tuple[str, ...], protocol: str) -> tuple[Ints, tuple[str, ...]]:
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
        raise ModelError(
            f"{scores.path} line {line}: {what}, nor is any other image of this file; "
            "give the protocol's own file names, or which= of another set"
        )
    others = int(np.count_nonzero(of_name < 0)) - 1
    more = f" (and {others} more)" if others else ""
    return image, (f"{scores.path} line {line}: {what}{more}; {strange.size} detections on such images are left out",)
