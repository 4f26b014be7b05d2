"""Label files of one picture: YOLO text and Pascal VOC XML, read as untrusted input."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from countenance.data.categories import says_masked
from countenance.data.reading import cells
from countenance.data.reading.box_readings import YOLO, Array, checked_corners
from countenance.data.reading.class_names import ClassNames
from countenance.data.sample import Value
from countenance.data.tables import finite_number, read_text
from countenance.errors import DataError
from countenance.metrics.readings import LARGEST_NORMALISED, Reading


class NamedBox(NamedTuple):
    """Corners in pixels, the word for what the box shows, and identity and attributes where the file has them."""

    corners: Array
    word: str
    identity: str | None = None
    attributes: Mapping[str, Value] = {}


NamedBoxes = list[NamedBox]

OF_ANNOTATION = {
    *("name", "id", "pose", "truncated", "occluded", "difficult", "bndbox", "rotation", "score", "confidence"),
    *("deleted", "verified", "date", "ignore", "attribute", "attributes"),
}
"""Elements of a Pascal VOC `object` that are about the annotation; every other one is an attribute of the person."""
LARGEST_XML = 10_000_000
SAME_SHAPE = 0.02
"""A picture may be scaled: its proportions may differ from those that its VOC file names by this much."""


def read_yolo(
    path: Path, width: int, height: int, names: ClassNames | None = None, reading: Reading = YOLO
) -> NamedBoxes:
    """The boxes of a YOLO file: a line `class cx cy w h` for each, normalised (or in another reading).

    A line with keypoints after the box gives the box; a polygon (`class x y x y x y …`) gives the box around it.
    Without names the words are the class numbers.
    """
    boxes, words = [], []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path} line {number}"
        fields = line.split()
        index, *numbers = (
            finite_number(field, name, place) for field, name in zip(fields, _fields(fields), strict=True)
        )
        box = _box_of(numbers, reading, names.keypoints if names else None)
        if box is None:
            n = len(fields)
            why = "; polygons with an area and keypoints (x, y, visible) are read, this is neither" if n > 6 else ""
            why = "; are these predictions with their scores?" if n == 6 else why
            raise DataError(f"{place}: {n} field{'' if n == 1 else 's'}, expected 5 (class cx cy w h){why}")
        if index != int(index):
            raise DataError(f"{place}: class {index:g}, expected a whole number")
        words.append(str(int(index)) if names is None else names.word(int(index), place))
        boxes.append(box)
    if not boxes:
        return []
    array, sizes = np.array(boxes), np.tile([float(width), float(height)], (len(boxes), 1))
    if reading.units == "rel" and float(array.max()) > LARGEST_NORMALISED:
        checked_corners(array, sizes, reading, str(path))  # otherwise a single file in pixels would not be noticed
    return [NamedBox(*pair) for pair in zip(reading.corners(array, sizes), words, strict=True)]


def _fields(fields: Sequence[str]) -> list[str]:
    """The names of a line's fields in messages."""
    names = ("class", "cx", "cy", "w", "h")
    return [*names[: len(fields)], *(f"field {i + 1}" for i in range(len(names), len(fields)))]


def _box_of(numbers: Sequence[float], reading: Reading, keypoints: int | None) -> list[float] | None:
    """The box of a line without its class: alone, before keypoints, or around a polygon; None without a box.

    Keypoints have as many numbers as data.yaml says (`kpt_shape`), else threes whose last number is 0, 1 or 2.
    """
    box, rest = list(numbers[:4]), numbers[4:]
    if not rest:
        return box if len(box) == 4 else None
    visible = len(rest) % 3 == 0 and all(value in (0, 1, 2) for value in rest[2::3])
    if len(rest) == keypoints or (keypoints is None and visible):
        return box
    xs, ys = numbers[::2], numbers[1::2]
    if len(xs) != len(ys) or len(xs) < 3 or min(xs) == max(xs) or min(ys) == max(ys):
        return None
    corners = np.array([[min(xs), min(ys), max(xs), max(ys)]])
    own = reading.numbers(corners, np.ones((1, 2)))[0]
    return [float(value) for value in own]


def parse_xml(text: str, path: Path) -> ElementTree.Element:
    """The root of an XML file; a document type, which could name other files or grow without end, is refused."""
    if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
        raise DataError(f"{path}: declares a document type or entities, which label files do not need; remove it")
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - a document type was refused above
    except (ElementTree.ParseError, RecursionError) as error:
        raise DataError(f"{path}: not XML ({error})") from None


def read_voc(path: Path, width: int, height: int) -> NamedBoxes:
    """The boxes of a Pascal VOC file: `object` with `name`, `bndbox` in pixels, and its attributes and `identity`.

    Boxes are scaled when the file was made for a copy of the picture in another size.
    """
    text = read_text(path)
    if len(text) > LARGEST_XML:
        raise DataError(f"{path}: {len(text):,} characters, more than a label file of one picture can need")
    root = parse_xml(text, path)
    if root.tag != "annotation":
        raise DataError(f"{path}: <{root.tag:.60}>, expected the <annotation> of Pascal VOC; export it in that form")
    scale = _scale(root, width, height, path)
    result: NamedBoxes = []
    for number, item in enumerate(root.iter("object"), 1):
        place = f"{path} object {number}"
        box = item.find("bndbox")
        if box is None:
            raise DataError(f"{place}: no bndbox")
        values = [finite_number(box.findtext(name) or "", name, place) for name in ("xmin", "ymin", "xmax", "ymax")]
        if values[2] < values[0] or values[3] < values[1]:
            raise DataError(f"{place}: bndbox {values} has xmax < xmin or ymax < ymin")
        corners, word = np.array(values) * np.tile(scale, 2), (item.findtext("name") or "").strip()
        result.append(NamedBox(corners, word, *_person(item, place)))
    outside = sum(bool(box[2] > 1.05 * width + 1 or box[3] > 1.05 * height + 1) for box, *_ in result)
    if outside:
        shown = f"{outside} of {len(result)} boxes leave the {width}×{height} picture"
        raise DataError(f"{path}: {shown}; is it another copy of it?")
    return result


def _person(item: ElementTree.Element, place: str) -> tuple[str | None, dict[str, Value]]:
    """Who an object is and its attributes: elements of its own, or among its `attributes` as some tools write them."""
    pairs = [(entry.findtext("name"), entry.findtext("value")) for entry in item.iterfind("attributes/attribute")]
    pairs += [(child.tag, child.text) for child in (*item.iterfind("attributes/*"), *item) if not len(child)]
    stated = {name: value.strip() for name, value in pairs if name and value and name not in OF_ANNOTATION}
    identity, about = cells.identity_apart({name: value for name, value in stated.items() if value}, place)
    masked = says_masked(about.pop("masked", None) or about.pop("mask", ""))
    return identity, cells.attributes(about, place) | ({"masked": masked} if masked else {})


def _scale(root: ElementTree.Element, width: int, height: int, path: Path) -> Array:
    """From the picture size that the file names to the picture's own; 1 where it names none."""
    stated = [root.findtext(f"size/{name}") for name in ("width", "height")]
    try:
        named_width, named_height = (float(text) if text else 0.0 for text in stated)
    except ValueError:
        raise DataError(
            f"{path}: size is {stated[0]!r} × {stated[1]!r}, expected the picture's width and height"
        ) from None
    if not (0 < named_width < np.inf and 0 < named_height < np.inf):  # some tools write 0 × 0
        return np.ones(2)
    scale = np.array([width / named_width, height / named_height])
    if abs(scale[0] / scale[1] - 1) > SAME_SHAPE and abs(scale - 1).max() * max(width, height) > 1:
        raise DataError(
            f"{path}: was made for a picture of {named_width:g}×{named_height:g}, and the picture is {width}×{height}, "
            "which is another shape; put the picture there that the labels belong to"
        )
    return scale
