"""Version 3's gallery: cropped faces of the subjects on the watchlist, with five landmarks each."""

from dataclasses import dataclass
from pathlib import Path

from countenance.data.tables import near, read_csv
from countenance.errors import InputError
from countenance.suites.uccs.lines import integer, number
from countenance.suites.uccs.protocol import LANDMARKS


@dataclass(frozen=True)
class GalleryFace:
    """One picture of a subject on the watchlist."""

    file: str
    subject: int
    landmarks: tuple[float, ...]
    line: int


def read_gallery(data: Path) -> list[GalleryFace]:
    """Read `gallery.csv` of a data directory."""
    path = data / "gallery.csv"
    header, table = read_csv(path)
    for name in ("FILE", "SUBJECT_ID", *LANDMARKS):
        if name not in header:
            raise InputError(f"{path} line 1: no column {name}{near(name, header)}")
    found = []
    for line, row in table:
        place = f"{path} line {line}"
        subject = integer(row["SUBJECT_ID"], "SUBJECT_ID", place)
        if subject <= 0:
            raise InputError(f"{place}: SUBJECT_ID is {subject}; a gallery holds known subjects, numbered from 1")
        landmarks = tuple(number(row[name], name, place) for name in LANDMARKS)
        found.append(GalleryFace(row["FILE"].strip(), subject, landmarks, line))
    if not found:
        raise InputError(f"{path}: no face below the header")
    return found
