"""Writing score files of both versions, each whole or not at all."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from countenance.answers.formats.uccs_scores import COLUMNS_V2, COLUMNS_V3
from countenance.data.adapters.uccs_protocol import LANDMARKS
from countenance.data.reading.lines import Floats
from countenance.files import write_atomically

Row = tuple[Sequence[float], float, Sequence[tuple[int, float]]]
"""A detection: box (left, top, width, height), detection score, and identities with their scores."""


def write_v2(
    path: Path, images: Iterable[tuple[str, Iterable[Row]]], *, recognition: bool, command: str | None = None
) -> None:
    """A version 2 file: two comment lines, images sorted, boxes with two decimals and similarities with six."""
    made_by = " ".join(command.split()) if command else " ".join(["countenance", *sys.argv[1:]])
    columns = "# " + ",".join(COLUMNS_V2) + (",SUBJECT_ID_1,SCORE_1,..." if recognition else "")
    rows = (
        (name, (*box, score), "".join(f",{identity},{value:.6f}" for identity, value in listed))
        for name, detections in sorted(images, key=lambda item: item[0])
        for box, score, listed in detections
    )
    _write(path, f"# Created using command line: {made_by}\n{columns}", rows)


def write_detections(path: Path, images: Iterable[tuple[str, Iterable[Sequence[float]]]]) -> None:
    """A version 3 detection file: for each image, detections as score, box and, if there are, ten landmark numbers."""
    rows = [(name, row, "") for name, rows in sorted(images, key=lambda item: item[0]) for row in rows]
    columns = (*COLUMNS_V3, *LANDMARKS)
    full = any(len(row) == len(columns[1:]) for _, row, _ in rows)
    _write(path, ",".join(columns if full else COLUMNS_V3), rows)


def write_scoring(
    path: Path, subjects: Sequence[int], images: Iterable[tuple[str, Iterable[tuple[Sequence[float], Floats]]]]
) -> None:
    """A version 3 scoring file: six columns, names without ending, a similarity for each subject; images as given."""
    rows = (
        (name.rsplit(".", 1)[0], box, "".join(f",{value:.6f}" for value in similarity.tolist()))
        for name, rows in images
        for box, similarity in rows
    )
    _write(path, ",".join((*COLUMNS_V3, *(f"S_{subject:04d}" for subject in subjects))), rows)


def _write(path: Path, header: str, rows: Iterable[tuple[str, Sequence[float], str]]) -> None:
    """The lines of a file: an image's name, numbers with two decimals, and what follows them."""

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(f"{header}\n")
            for name, numbers, more in rows:
                shown = f'"{name}"' if "," in name else name
                stream.write(f"{shown}," + ",".join(f"{value:.2f}" for value in numbers) + f"{more}\n")

    write_atomically(path, write)
