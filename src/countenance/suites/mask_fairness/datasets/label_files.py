"""Label files of one picture: YOLO text and Pascal VOC XML, read as hostile input."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from countenance.data.tables import read_text
from countenance.errors import InputError
from countenance.suites.mask_fairness.datasets.truth import Array, checked_corners, corners, masked_word

Faces = list[tuple[Array, str | None]]
"""Corners in pixels, and whether a mask is worn (yes, no, not known)."""

YOLO_CLASSES = ("mask", "no_mask")
LARGEST_XML = 10_000_000


def read_yolo(path: Path, width: int, height: int, classes: Sequence[str] = YOLO_CLASSES) -> Faces:
    """The faces of a YOLO file: a line `class cx cy w h` for each, normalised."""
    boxes, masked = [], []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path} line {number}"
        fields = line.split()
        if len(fields) != 5:
            raise InputError(f"{place}: {len(fields)} fields, expected 5 (class cx cy w h)")
        try:
            index, *box = int(float(fields[0])), *(float(field) for field in fields[1:])
        except (ValueError, OverflowError):
            raise InputError(f"{place}: {line.strip()!r:.60} holds a field that is no number") from None
        if not np.isfinite(box).all():
            raise InputError(f"{place}: a number that is not finite")
        if not 0 <= index < len(classes):
            raise InputError(f"{place}: class {index}, expected 0 to {len(classes) - 1} ({', '.join(classes)})")
        masked.append(masked_word(classes[index], place))
        boxes.append(box)
    if not boxes:
        return []
    array, sizes = np.array(boxes), np.tile([float(width), float(height)], (len(boxes), 1))
    if float(array.max()) > 1.5:  # far outside in any reading: these are pixels, which YOLO files never hold
        checked_corners(array, sizes, "centre", "normalised", str(path))
    return list(zip(corners(array, sizes, "centre", "normalised"), masked, strict=True))


def read_voc(path: Path, width: int, height: int) -> Faces:
    """The faces of a Pascal VOC file: `object` with `name` and `bndbox` in pixels."""
    text = read_text(path)
    if len(text) > LARGEST_XML:
        raise InputError(f"{path}: {len(text):,} characters, more than a label file of one picture can need")
    if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
        raise InputError(f"{path}: declares a document type or entities, which label files do not need; remove it")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - a document type was refused above
    except (ElementTree.ParseError, RecursionError) as error:
        raise InputError(f"{path}: not XML ({error})") from None
    faces: Faces = []
    for number, item in enumerate(root.iter("object"), 1):
        place = f"{path} object {number}"
        box = item.find("bndbox")
        if box is None:
            raise InputError(f"{place}: no bndbox")
        values = [_value(box, name, place) for name in ("xmin", "ymin", "xmax", "ymax")]
        if values[2] < values[0] or values[3] < values[1]:
            raise InputError(f"{place}: bndbox {values} has xmax < xmin or ymax < ymin")
        faces.append((np.array(values), masked_word(item.findtext("name") or "", place)))
    outside = sum(box[2] > 1.05 * width + 1 or box[3] > 1.05 * height + 1 for box, _ in faces)
    if outside:
        shown = f"{outside} of {len(faces)} boxes leave the {width}×{height} picture"
        raise InputError(f"{path}: {shown}; is it another copy of it?")
    return faces


def _value(box: ElementTree.Element, name: str, place: str) -> float:
    text = box.findtext(name)
    try:
        value = float(text or "")
    except ValueError:
        raise InputError(f"{place}: {name} is {text!r}, expected a number") from None
    if not np.isfinite(value):
        raise InputError(f"{place}: {name} is {text!r}, expected a finite number")
    return value
