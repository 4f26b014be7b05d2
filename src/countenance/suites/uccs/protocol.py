"""The protocols: which images a set has, and the truth about their faces (versions 2 and 3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.uccs.files import blocks, first_line
from countenance.suites.uccs.rows import integer, number, rows
from countenance.suites.uccs.tokens import Floats, Ints, chosen, names, numbers, tokenize
from countenance.suites.uccs.tokens import columns as fields_in

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
    columns = _positions(header, version, path, head[0])
    protocol = _read_faces(path, version, columns, head[0])
    if attributes and len(header) > len(COLUMNS):
        protocol = replace(protocol, attributes=_read_attributes(path, header, columns, head[0]))
    if version == 3:
        protocol = _exclude(protocol, exclude or data / f"exclude_gallery_{which}.txt")
    return protocol


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
    known: dict[str, int] = {}
    for start, block in blocks(path):
        for number_, fields in rows(block, start, path):
            if number_ != line:
                if len(fields) != 1:
                    raise InputError(f"{path} line {number_}: {len(fields)} fields, expected 1 (FILE)")
                known.setdefault(fields[0], len(known))
    if not known:
        raise InputError(f"{path}: no image below the header")
    return Protocol(path, version, tuple(known), truth=False)


def _read_faces(path: Path, version: int, columns: Sequence[int], header_line: int) -> Protocol:
    known: dict[str, int] = {}
    images: list[Ints] = []
    values: list[Floats] = []
    for start, block in blocks(path):
        if start <= header_line:
            cut = 0
            for _ in range(header_line - start + 1):
                cut = block.index(b"\n", cut) + 1
            block, start = block[cut:], header_line + 1
        fast = _fast(block, start, columns, version, known)
        image, value = fast or _slow(block, start, path, columns, version, known)
        images.append(image)
        values.append(value)
    table = np.concatenate(values) if values else np.empty((0, 6))
    if not len(table):
        raise InputError(f"{path}: no face below the header")
    box = table[:, 2:]
    empty = int(np.count_nonzero((box[:, 2:] <= 0).any(axis=1)))
    # The published protocol is not the participant's to mend: such a face stays in the count, and nobody finds it.
    warnings = (f"{path}: {empty} faces have no area; they count as missed",) if empty else ()
    return Protocol(
        path,
        version,
        tuple(known),
        image=np.concatenate(images),
        face_id=table[:, 0].astype(np.int64),
        subject=table[:, 1].astype(np.int64),
        box=np.ascontiguousarray(box),
        excluded=np.zeros(len(table), dtype=bool),
        warnings=warnings,
    )


def _fast(
    block: bytes, start: int, columns: Sequence[int], version: int, known: dict[str, int]
) -> tuple[Ints, Floats] | None:
    tokens = tokenize(block, start)
    if tokens is None or not len(tokens.count) or tokens.count.min() <= max(columns):
        return None
    if version == 3 and tokens.count.max() != tokens.count.min():
        return None
    numeric = [columns[0], *columns[2:]] if version == 3 else list(columns[2:])
    values = numbers(tokens, chosen(tokens, numeric))
    if values is None:
        return None
    table = fields_in(tokens, values, numeric)
    if version == 2:
        table = np.concatenate([np.zeros((len(table), 1)), table], axis=1)
    if not np.isfinite(table).all() or (table[:, :2] != np.floor(table[:, :2])).any():
        return None
    before = dict(known)
    image = names(tokens, columns[1], known)
    if image is None:
        known.clear()
        known.update(before)
        return None
    return image, table


def _slow(
    block: bytes, start: int, path: Path, columns: Sequence[int], version: int, known: dict[str, int]
) -> tuple[Ints, Floats]:
    images, values = [], []
    for line, fields in rows(block, start, path):
        place = f"{path} line {line}"
        if len(fields) <= max(columns):
            raise InputError(f"{place}: {len(fields)} fields, expected at least 7 ({','.join(COLUMNS)})")
        face, name, subject, *box = (fields[column] for column in columns)
        if not name:
            raise InputError(f"{place}: FILE is empty, expected an image's name")
        images.append(known.setdefault(name, len(known)))
        values.append(
            [
                integer(face, "FACE_ID", place) if version == 3 else 0,
                integer(subject, "SUBJECT_ID", place),
                *(number(text, column, place) for text, column in zip(box, COLUMNS[3:], strict=True)),
            ]
        )
    return np.array(images, dtype=np.int64), np.array(values, dtype=np.float64).reshape(-1, 6)


def _read_attributes(path: Path, header: list[str], columns: Sequence[int], line: int) -> dict[str, list[str]]:
    further = {name: k for k, name in enumerate(header) if k not in columns and name}
    found: dict[str, list[str]] = {name: [] for name in further}
    for start, block in blocks(path):
        for number_, fields in rows(block, start, path):
            if number_ == line:
                continue
            for name, k in further.items():
                found[name].append(fields[k] if k < len(fields) else "")
    return found


def _exclude(protocol: Protocol, path: Path) -> Protocol:
    """Mark the faces that the gallery was cropped from: they are neither to be found nor false alarms."""
    if not path.exists():
        notice = f"{path.name} is not beside the protocol: no face is excluded"
        return replace(protocol, warnings=(*protocol.warnings, notice))
    wanted: dict[int, int] = {}
    for start, block in blocks(path):
        for line, fields in rows(block, start, path):
            place = f"{path} line {line}"
            if len(fields) != 1:
                raise InputError(f"{place}: {len(fields)} fields, expected 1 (FACE_ID)")
            face = integer(fields[0], "FACE_ID", place)
            if face in wanted:
                raise InputError(f"{place}: FACE_ID {face} stands in line {wanted[face]} already; remove one")
            wanted[face] = line
    ids = np.fromiter(wanted, np.int64, len(wanted))
    strange = ids[~np.isin(ids, protocol.face_id)]
    if strange.size:
        place = f"{path} line {wanted[int(strange[0])]}"
        raise InputError(f"{place}: FACE_ID {strange[0]} is not in {protocol.path.name}; remove it")
    return replace(protocol, excluded=np.isin(protocol.face_id, ids))
