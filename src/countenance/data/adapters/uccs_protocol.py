"""The protocols: which images a set has, and the truth about their faces (versions 2 and 3)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.data.reading.lines import Floats, Ints, all_rows
from countenance.data.reading.number_table import LineLayout, NumberColumn, header_of, integer, places_in, read_table
from countenance.data.reading.plain_pickle import plain_values
from countenance.decoding import regular_file
from countenance.errors import DataError

COLUMNS = ("FACE_ID", "FILE", "SUBJECT_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")
CARD = "countenance.json"
"""Written by `make-data`: says that nobody in the pictures exists."""
EXCLUSIONS = (".txt", ".pickle", ".pkl")
"""Endings of version 3's list of gallery faces: text, and the pickles of its earlier releases."""
SETS = ("training", "validation", "test", "sample")
LANDMARKS = tuple(f"{point}_{axis}" for point in ("REYE", "LEYE", "NOSE", "RMOUTH", "LMOUTH") for axis in "XY")


@dataclass(frozen=True)
class Protocol:
    """A set's images and, unless it is a test set, their faces in the order of the file."""

    path: Path
    version: int
    images: tuple[str, ...]
    truth: bool = True
    image: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    face_id: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """0 throughout in version 2, where it is never used."""
    subject: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    box: Floats = field(default_factory=lambda: np.empty((0, 4)))
    excluded: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    attributes: dict[str, list[str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    every_column: bool = False
    """Whether its further columns were read too."""


def protocol_path(data: Path, which: str, version: int) -> Path:
    """The path of a set's protocol in a version's layout."""
    return data / "protocol" / f"{which}.csv" if version == 2 else data / f"{which}.csv"


def image_folder(data: Path, which: str, version: int) -> Path:
    """The folder of a set's images in a version's layout."""
    return data / (which if version == 2 else f"{which}_images")


def real_people(data: Path) -> bool:
    """Whether the pictures of a data directory show people who exist: all do, except those that `make-data` wrote."""
    try:
        return json.loads(regular_file(data / CARD).read_text("utf-8")).get("real_people") is not False
    except (OSError, ValueError, AttributeError, RecursionError):
        return True


def detect_version(data: Path, which: str) -> int:
    """The version whose protocol lies in a data directory (2 when both do)."""
    places = {version: protocol_path(data, which, version) for version in (2, 3)}
    versions = [version for version, path in places.items() if path.is_file()]
    if not versions:
        raise DataError(
            f"{data}: no protocol of the {which} set: neither {' nor '.join(map(str, places.values()))}; "
            "give the folder that the challenge's zip files were extracted into, or make one with "
            "`countenance uccs make-data`"
        )
    return versions[0]


def read_protocol(
    data: Path, which: str, version: int, *, attributes: bool = False, exclude: Path | None = None
) -> Protocol:
    """Read a set's protocol; `attributes` also reads the further columns, as text.

    `exclude` is version 3's list of gallery faces, where it does not lie beside the protocol.
    """
    path = protocol_path(data, which, version)
    line, header = header_of(path, COLUMNS)
    if len(header) == 1:
        return _images_only(path, version, header[0], line)
    protocol = _read_faces(path, version, header, line, attributes)
    return protocol if version == 2 else _exclude(protocol, exclude or data / f"exclude_gallery_{which}.txt")


def _positions(header: list[str], version: int, place: str) -> list[int]:
    if version == 3:
        return places_in(header, COLUMNS, place, "version 3 names its columns")
    if len(header) < len(COLUMNS):
        raise DataError(
            f"{place}: {len(header)} columns, expected at least 7 ({','.join(COLUMNS)}), or 1 (FILE) for a test set"
        )
    if header[0].lstrip("-").replace(".", "").isdigit():
        raise DataError(f"{place}: no header line; put {','.join(COLUMNS)} above the faces")
    return list(range(len(COLUMNS)))


def _images_only(path: Path, version: int, header: str, line: int) -> Protocol:
    if header.upper() != "FILE":
        raise DataError(f"{path} line {line}: the only column is {header!r}, expected FILE")
    table = read_table(path, LineLayout(("FILE",), 0, (), 1, "no image below the header", exact=True, header_line=line))
    return Protocol(path, version, table.names, truth=False)


def _read_faces(path: Path, version: int, header: list[str], line: int, attributes: bool) -> Protocol:
    columns = _positions(header, version, f"{path} line {line}")
    further = {name: k for k, name in enumerate(header) if k not in columns and name} if attributes else {}
    ids, *numbers = (
        NumberColumn(name, k, whole=name.endswith("_ID"))
        for name, k in zip(COLUMNS, columns, strict=True)
        if name != "FILE"
    )
    if version == 3:  # version 2 never uses FACE_ID, whatever it may be
        numbers = [ids, *numbers]
    table = read_table(
        path,
        LineLayout(
            COLUMNS,
            columns[1],
            tuple(numbers),
            max(columns) + 1,
            "no face below the header",
            header_line=line,
            words=tuple(further.values()),
        ),
    )
    box = np.ascontiguousarray(table.numbers[:, -4:])
    face_id = np.zeros(len(box), np.int64) if version == 2 else table.numbers[:, 0].astype(np.int64)
    empty = int(np.count_nonzero((box[:, 2:] <= 0).any(axis=1)))
    # A participant cannot correct the published protocol: such a face counts, though no detector can find it.
    warnings = (f"{path}: {empty} faces have no area; they count as missed",) if empty else ()
    words = dict(zip(further, table.words, strict=True))
    subject, nobody = table.numbers[:, -5].astype(np.int64), np.zeros(len(box), dtype=bool)
    return Protocol(
        path, version, table.names, True, table.image, face_id, subject, box, nobody, words, warnings, attributes
    )


def _exclude(protocol: Protocol, path: Path) -> Protocol:
    """Mark the faces that the gallery was cropped from: they are neither to be found nor false alarms."""
    path = next((same for same in (path, *map(path.with_suffix, EXCLUSIONS)) if same.exists()), path)
    if not path.exists():
        notice = f"{path.name} is not beside the protocol: no face is excluded"
        return replace(protocol, warnings=(*protocol.warnings, notice))
    places: dict[int, str] = {}
    for place, text in _excluded_ids(path):
        face = integer(text, "FACE_ID", place)
        if face in places:
            raise DataError(f"{place}: FACE_ID {face} is in {places[face]} already; remove one")
        places[face] = place.removeprefix(f"{path} ")
    ids = np.fromiter(places, np.int64, len(places))
    strange = ids[~np.isin(ids, protocol.face_id)]
    if strange.size:
        place = f"{path} {places[int(strange[0])]}"
        raise DataError(f"{place}: FACE_ID {strange[0]} is not in {protocol.path.name}; remove it")
    return replace(protocol, excluded=np.isin(protocol.face_id, ids))


def _excluded_ids(path: Path) -> Iterator[tuple[str, str]]:
    """The place and text of each FACE_ID of a text file, or of the pickled list of an earlier version."""
    if path.suffix in EXCLUSIONS[1:]:
        for number, value in enumerate(plain_values(regular_file(path).read_bytes(), str(path)), 1):
            yield f"{path} value {number}", str(value)
        return
    for line, fields in all_rows(path):
        place = f"{path} line {line}"
        if len(fields) != 1:
            raise DataError(f"{place}: {len(fields)} fields, expected 1 (FACE_ID)")
        yield place, fields[0]


class GalleryFace(NamedTuple):
    """One picture of a subject on version 3's watchlist: a cropped face with five landmarks."""

    file: str
    subject: int
    landmarks: Floats
    line: int


def read_gallery(data: Path) -> list[GalleryFace]:
    """Read `gallery.csv` of a data directory."""
    path, columns = data / "gallery.csv", ("FILE", "SUBJECT_ID", *LANDMARKS)
    line, header = header_of(path, columns)
    file, *rest = places_in(header, columns, f"{path} line {line}", "a gallery has a subject and five landmarks")
    numbers = tuple(
        NumberColumn(name, k, whole=name == "SUBJECT_ID") for name, k in zip(columns[1:], rest, strict=True)
    )
    layout = LineLayout(columns, file, numbers, len(header), "no face below the header", exact=True, header_line=line)
    table = read_table(path, layout)
    named = [table.names[k] for k in table.image.tolist()]
    subject = table.numbers[:, 0].astype(np.int64).tolist()
    faces = [*map(GalleryFace, named, subject, table.numbers[:, 1:], table.line.tolist())]
    for face in faces:
        if face.subject <= 0:
            problem = f"SUBJECT_ID is {face.subject}; a gallery holds known subjects, numbered from 1"
            raise DataError(f"{path} line {face.line}: {problem}")
    return faces
