"""The protocols: which images a set has, and the truth about their faces (versions 2 and 3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.uccs.files import first_line
from countenance.suites.uccs.lines import (
    Floats,
    Gathered,
    Ints,
    Lines,
    all_rows,
    integer,
    number,
    read_lines,
    whole,
)

COLUMNS = ("FACE_ID", "FILE", "SUBJECT_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")
CARD = "countenance.json"
"""Written by `make-data`: says that nobody in the pictures exists."""
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


def protocol_path(data: Path, which: str, version: int) -> Path:
    """Where a version keeps the protocol of a set."""
    return data / "protocol" / f"{which}.csv" if version == 2 else data / f"{which}.csv"


def image_folder(data: Path, which: str, version: int) -> Path:
    """Where a version keeps the images of a set."""
    return data / (which if version == 2 else f"{which}_images")


def real_people(data: Path) -> bool:
    """Whether the pictures of a data directory show people who exist: all do, but for those that `make-data` wrote."""
    try:
        return json.loads((data / CARD).read_text(encoding="utf-8")).get("real_people") is not False
    except (OSError, ValueError, AttributeError):
        return True


def detect_version(data: Path, which: str) -> int:
    """The version whose protocol lies in a data directory (2 when both do)."""
    found = [version for version in (2, 3) if protocol_path(data, which, version).is_file()]
    if not found:
        places = " nor ".join(str(protocol_path(data, which, version)) for version in (2, 3))
        raise InputError(
            f"{data}: no protocol of the {which} set: neither {places}; "
            "give the folder that the challenge's zip files were extracted into, or make one with "
            "`countenance uccs make-data`"
        )
    return found[0]


def read_protocol(
    data: Path, which: str, version: int, *, attributes: bool = False, exclude: Path | None = None
) -> Protocol:
    """Read a set's protocol; `attributes` also reads the further columns, as text.

    `exclude` is version 3's list of gallery faces, where it does not lie beside the protocol.
    """
    path = protocol_path(data, which, version)
    head = first_line(path)
    if head is None:
        raise InputError(f"{path}: the file is empty, expected a header line {','.join(COLUMNS)}")
    header = [name.strip().strip('"') for name in head[1].split(",")]
    if len(header) == 1:
        return _images_only(path, version, header[0], head[0])
    protocol = _read_faces(path, version, header, head[0], attributes)
    return protocol if version == 2 else _exclude(protocol, exclude or data / f"exclude_gallery_{which}.txt")


def _positions(header: list[str], version: int, path: Path, line: int) -> list[int]:
    if version == 2:
        if len(header) < len(COLUMNS):
            raise InputError(
                f"{path} line {line}: {len(header)} columns, expected at least 7 ({','.join(COLUMNS)}), "
                "or 1 (FILE) for a test set"
            )
        if header[0].lstrip("-").replace(".", "").isdigit():
            raise InputError(f"{path} line {line}: no header line; put {','.join(COLUMNS)} above the faces")
        return list(range(len(COLUMNS)))
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        hint = near(missing[0], header)
        raise InputError(f"{path} line {line}: no column {missing[0]}{hint}; version 3 names its columns")
    return [header.index(name) for name in COLUMNS]


def _images_only(path: Path, version: int, header: str, line: int) -> Protocol:
    if header.upper() != "FILE":
        raise InputError(f"{path} line {line}: the only column is {header!r}, expected FILE")
    known: dict[str, None] = {}
    for number_, fields in all_rows(path, line):
        if len(fields) != 1:
            raise InputError(f"{path} line {number_}: {len(fields)} fields, expected 1 (FILE)")
        known[fields[0]] = None
    if not known:
        raise InputError(f"{path}: no image below the header")
    return Protocol(path, version, tuple(known), truth=False)


def _read_faces(path: Path, version: int, header: list[str], line: int, attributes: bool) -> Protocol:
    columns = _positions(header, version, path, line)
    numeric = columns[2:] if version == 2 else [columns[0], *columns[2:]]
    further = {name: k for k, name in enumerate(header) if k not in columns and name} if attributes else {}
    found, words = Gathered(), {name: list[str]() for name in further}

    def take(lines: Lines) -> bool:
        if lines.count.min() <= max([*columns, *further.values()]):
            return False
        wanted = np.zeros(len(lines.fields), dtype=bool)
        wanted[lines.first[:, None] + np.array(numeric)] = True
        values = lines.numbers(wanted)
        if values is None:
            return False
        table = values[lines.first[:, None] + np.array(numeric)]
        if not whole(table[:, :-4]) or not found.add(lines, columns[1], table):
            return False
        for name, k in further.items():
            words[name] += [word.strip() for word in lines.texts(k).to_pylist()]
        return True

    def parse(fields: Sequence[str], place: str) -> Sequence[object]:
        if len(fields) <= max(columns):
            raise InputError(f"{place}: {len(fields)} fields, expected at least 7 ({','.join(COLUMNS)})")
        if not fields[columns[1]]:
            raise InputError(f"{place}: FILE is empty, expected an image's name")
        made: list[object] = [*fields, *[""] * (len(header) - len(fields))]
        for k, name in zip(columns, COLUMNS, strict=True):
            if k in numeric:
                made[k] = (integer if name.endswith("_ID") else number)(fields[k], name, place)
        return made

    read_lines(path, line, take, parse)
    if not found.table:
        raise InputError(f"{path}: no face below the header")
    table = np.concatenate(found.table)
    box = np.ascontiguousarray(table[:, -4:])
    empty = int(np.count_nonzero((box[:, 2:] <= 0).any(axis=1)))
    # A participant cannot correct the published protocol: such a face stays in the count, and nobody finds it.
    warnings = (f"{path}: {empty} faces have no area; they count as missed",) if empty else ()
    face_id = np.zeros(len(table), np.int64) if version == 2 else table[:, 0].astype(np.int64)
    return Protocol(
        path, version, tuple(found.known), True, np.concatenate(found.image), face_id, table[:, -5].astype(np.int64),
        box, np.zeros(len(table), dtype=bool), words, warnings,
    )  # fmt: skip


def _exclude(protocol: Protocol, path: Path) -> Protocol:
    """Mark the faces that the gallery was cropped from: they are neither to be found nor false alarms."""
    if not path.exists():
        notice = f"{path.name} is not beside the protocol: no face is excluded"
        return replace(protocol, warnings=(*protocol.warnings, notice))
    wanted: dict[int, int] = {}
    for line, fields in all_rows(path):
        place = f"{path} line {line}"
        if len(fields) != 1:
            raise InputError(f"{place}: {len(fields)} fields, expected 1 (FACE_ID)")
        face = integer(fields[0], "FACE_ID", place)
        if face in wanted:
            raise InputError(f"{place}: FACE_ID {face} is in line {wanted[face]} already; remove one")
        wanted[face] = line
    ids = np.fromiter(wanted, np.int64, len(wanted))
    strange = ids[~np.isin(ids, protocol.face_id)]
    if strange.size:
        place = f"{path} line {wanted[int(strange[0])]}"
        raise InputError(f"{place}: FACE_ID {strange[0]} is not in {protocol.path.name}; remove it")
    return replace(protocol, excluded=np.isin(protocol.face_id, ids))
