"""Writing score files of both versions, each whole or not at all."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from countenance.files import write_atomically
from countenance.suites.uccs.lines import Floats
from countenance.suites.uccs.protocol import LANDMARKS
from countenance.suites.uccs.scores import COLUMNS_V2, COLUMNS_V3

Row = tuple[Sequence[float], float, Sequence[tuple[int, float]]]
"""A detection: box (left, top, width, height), detection score, and identities with their scores."""


def write_v2(
    path: Path, found: Iterable[tuple[str, Iterable[Row]]], *, recognition: bool, command: str | None = None
) -> None:
    """A version 2 file: two comment lines, images sorted, boxes with two decimals and similarities with six."""

    def lines() -> Iterator[str]:
        made_by = " ".join(command.split()) if command else " ".join(["countenance", *sys.argv[1:]])
        yield f"# Created using command line: {made_by}"
        yield "# " + ",".join(COLUMNS_V2) + (",SUBJECT_ID_1,SCORE_1,..." if recognition else "")
        for name, detections in sorted(found, key=lambda item: item[0]):
            shown = f'"{name}"' if "," in name else name
            for box, score, listed in detections:
                line = f"{shown}," + ",".join(f"{value:.2f}" for value in (*box, score))
                yield line + "".join(f",{identity},{value:.6f}" for identity, value in listed)

    _write(path, lines)


def write_detections(path: Path, found: Iterable[tuple[str, Iterable[Sequence[float]]]]) -> None:
    """A version 3 detection file: for each image, detections as score, box and, if there are, ten landmark numbers."""
    ordered = [(name, [list(row) for row in rows]) for name, rows in sorted(found, key=lambda item: item[0])]
    landmarks = any(len(row) >= len(COLUMNS_V3) for _, rows in ordered for row in rows)

    def lines() -> Iterator[str]:
        yield ",".join((*COLUMNS_V3, *(LANDMARKS if landmarks else ())))
        for name, rows in ordered:
            for row in rows:
                yield name + "," + ",".join(f"{value:.2f}" for value in row)

    _write(path, lines)


def write_scoring(
    path: Path, subjects: Sequence[int], found: Iterable[tuple[str, Iterable[tuple[Sequence[float], Floats]]]]
) -> None:
    """A version 3 scoring file: six columns, names without ending, a similarity for each subject; images as given."""

    def lines() -> Iterator[str]:
        yield ",".join((*COLUMNS_V3, *(f"S_{subject:04d}" for subject in subjects)))
        for name, rows in found:
            for box, similarity in rows:
                values = [f"{value:.2f}" for value in box] + [f"{value:.6f}" for value in similarity.tolist()]
                yield name.rsplit(".", 1)[0] + "," + ",".join(values)

    _write(path, lines)


def _write(path: Path, lines: Callable[[], Iterator[str]]) -> None:
    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines())

    write_atomically(path, write)
