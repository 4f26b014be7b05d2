"""Score files: what a participant hands in, read fast and refused with a line number (versions 2 and 3)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from countenance.errors import InputError
from countenance.metrics.curves import Labels
from countenance.suites.uccs.files import blocks, first_line
from countenance.suites.uccs.tokens import Floats, Ints

COLUMNS_V2 = ("FILE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT", "DETECTION_SCORE")
COLUMNS_V3 = ("FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT")
MOST_LABELS = 10

Kind = Literal["detection", "recognition"]


@dataclass(frozen=True)
class Scores:
    """The detections of a score file in the order of its lines."""

    path: Path
    version: int
    kind: Kind
    images: tuple[str, ...]
    """The names in the file, in order of first appearance."""
    image: Ints
    """Each detection's image, as a number in `images`."""
    line: Ints
    box: Floats
    score: Floats
    labels: Labels | None = None
    """Version 2: the identities listed for each detection, when they were asked for."""
    subjects: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Version 3: the gallery subject of each similarity column."""
    top_score: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Version 3: the largest similarities of each detection, falling."""
    top_subject: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))
    """Version 3: whose they are."""
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.score)


@dataclass
class _Parts:
    """What the blocks of a file gave so far."""

    known: dict[str, int] = field(default_factory=dict)
    image: list[Ints] = field(default_factory=list)
    line: list[Ints] = field(default_factory=list)
    table: list[Floats] = field(default_factory=list)
    label_count: list[Ints] = field(default_factory=list)
    identity: list[Ints] = field(default_factory=list)
    label_score: list[Floats] = field(default_factory=list)


def file_version(path: Path) -> int:
    """The version of a score file: version 3 begins with a header that names DETECTION_SCORE second."""
    head = first_line(path)
    if head is None:
        raise InputError(f"{path}: no detection in it (empty, or comments only); expected lines {','.join(COLUMNS_V2)}")
    fields = [name.strip().strip('"').upper() for name in head[1].split(",")]
    header = "DETECTION_SCORE" in fields and fields.index("DETECTION_SCORE") != len(COLUMNS_V2) - 1
    return 3 if header else 2


def read_scores(path: Path, version: int | None = None, *, labels: bool = False, top: int = 0) -> Scores:
    """Read a score file.

    `labels` keeps the identities of version 2, `top` so many of the largest similarities of version 3 (a detection
    curve needs neither).
    """
    from countenance.suites.uccs import scores_v2, scores_v3

    version = version or file_version(path)
    return scores_v2.read(path, labels=labels) if version == 2 else scores_v3.read(path, top=top)


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


def collected(parts: _Parts, path: Path, version: int, kind: Kind, **more: object) -> Scores:
    """The blocks put together; a file without any detection is refused."""
    if not parts.table or not sum(map(len, parts.table)):
        raise InputError(f"{path}: no detection in it; an algorithm that found nothing has no curve")
    box, score = _emptied(parts.table)
    return Scores(
        path,
        version,
        kind,
        tuple(parts.known),
        np.concatenate(parts.image),
        np.concatenate(parts.line),
        box,
        score,
        **more,  # type: ignore[arg-type]
    )


def _emptied(tables: list[Floats]) -> tuple[Floats, Floats]:
    """Boxes and scores of all tables, which are let go one by one: a large file is not in memory twice."""
    total = sum(map(len, tables))
    box, score = np.empty((total, 4)), np.empty(total)
    end = total
    while tables:
        table = tables.pop()
        box[end - len(table) : end], score[end - len(table) : end] = table[:, :4], table[:, 4]
        end -= len(table)
    return box, score


def data_blocks(path: Path, header_line: int = 0) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file below its header line."""
    for start, block in blocks(path):
        if start <= header_line:
            cut = 0
            for _ in range(header_line - start + 1):
                cut = block.index(b"\n", cut) + 1
            block, start = block[cut:], header_line + 1
        if block:
            yield start, block
