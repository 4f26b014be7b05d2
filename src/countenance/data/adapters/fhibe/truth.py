"""The truth of each row of the table, in the form that tasks compare predictions with."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.fhibe.table import FhibeTable
from countenance.data.paths import inside
from countenance.data.reading.columns import literal
from countenance.data.reading.label_maps import label_map_of
from countenance.data.vocabulary import FACE_LABELS, KEYPOINTS
from countenance.decoding import file_content
from countenance.errors import DataError
from countenance.metrics.masks import Ints, polygon_runs
from countenance.settings.data import Compat

Array = NDArray[np.float64]
FAR = 1 << 24
"""Coordinates beyond this are refused: drawing counts in 32 bits."""
TRUE, FALSE = ("1", "1.0", "true"), ("0", "0.0", "false", "")


def coco_keypoints(points: Any, names: tuple[str, ...], place: str) -> list[list[float]]:
    """Named keypoints as rows of x, y and visibility (0 not there, 2 visible), in the order of `names`.

    >>> coco_keypoints({"0. Nose": [1, 2, 1]}, ("Nose", "Left eye"), "row 1: keypoints")
    [[1.0, 2.0, 2], [0.0, 0.0, 0]]
    """
    if not isinstance(points, dict):
        raise DataError(f"{place}: {type(points).__name__}, expected keypoints by name")
    by_name: dict[str, list[float]] = {}
    for name, point in points.items():
        short = str(name).split(". ")[-1]
        if short in names:
            try:
                x, y, seen = point
                by_name[short] = [float(x), float(y), 2 if int(seen) == 1 else int(seen)]
            except (TypeError, ValueError, OverflowError):
                raise DataError(f"{place}: {name!r} is {point!r:.40}, expected [x, y, visible]") from None
    return [by_name.get(name, [0.0, 0.0, 0]) for name in names]


def keypoints(table: FhibeTable, names: tuple[str, ...] = KEYPOINTS) -> Array:
    """The keypoints of each row: x, y, visibility."""
    cells = table.literals("keypoints")
    rows = [coco_keypoints(points, names, table.place(i, "keypoints")) for i, points in enumerate(cells)]
    return np.array(rows, dtype=np.float64).reshape(len(table), len(names), 3)


def face_diagonals(table: FhibeTable) -> Array:
    """The diagonal of each face box, in the published order of operations."""
    boxes = table.boxes("face_bbox").tolist()
    return np.array([float(np.sqrt((x1 - x0) ** 2 + (y1 - y0) ** 2)) for x0, y0, x1, y1 in boxes])


def person_runs(segments: Any, height: int, width: int, place: str) -> Ints:
    """The union of a person's polygons as run lengths: corners cut to whole pixels, borders included.

    >>> square = [{"class_name": "0. Face skin", "polygon": [{"x": 0, "y": 0}, {"x": 1.9, "y": 0}, {"x": 1, "y": 1}]}]
    >>> person_runs(square, 2, 2, "row 1: segments")
    array([0, 1, 1, 2])
    """
    if not isinstance(segments, list):
        raise DataError(f"{place}: {type(segments).__name__}, expected a list of segments")
    polygons = []
    for segment in segments:
        try:
            corners = [[int(corner["x"]), int(corner["y"])] for corner in segment["polygon"]]
            polygons.append(np.array(corners, dtype=np.int64).reshape(len(corners), 2))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise DataError(f"{place}: {segment!r:.60} is not a segment with a polygon of x and y") from None
        if (np.abs(polygons[-1]) > FAR).any():
            raise DataError(f"{place}: a corner is {np.abs(polygons[-1]).max()} pixels away, too far to draw")
    return polygon_runs(polygons, height, width)


def person_masks(table: FhibeTable) -> list[Ints]:
    """The mask of each row's person."""
    return [
        person_runs(segments, height, width, table.place(i, "segments"))
        for i, (segments, (height, width)) in enumerate(zip(table.literals("segments"), table.sizes(), strict=True))
    ]


def visible_parts(keypoints: dict[str, list[float]], classes: list[str], compat: Compat = "default") -> list[str]:
    """The visible body parts: the face, each segment's class, hands by knuckles or glove, legs.

    In strict mode knees and ankles make no leg, as published.

    >>> visible_parts({"29. Right heel": [1, 1, 1]}, ["20. Upper body clothes"])
    ['Face', 'Upper body clothes', 'Right leg', 'Leg']
    >>> visible_parts({"26. Left knee": [1, 1, 1]}, [], "strict"), visible_parts({"26. Left knee": [1, 1, 1]}, [])
    (['Face'], ['Face', 'Left leg', 'Leg'])
    """
    parts = ["Face"]
    for name in classes:
        part = name.split(". ")[-1]
        if part not in parts:
            parts.append(part)
    seen = {name.split(". ")[-1] for name, point in keypoints.items() if point[-1] > 0}
    parts += [
        f"{side} hand"
        for side in ("Left", "Right")
        if any(f"{side} {finger} knuckle" in seen for finger in ("pinky", "index", "thumb"))
    ]
    if any(part in parts for part in ("Left hand", "Right hand", "Glove")):
        parts.append("Hand")
    leg = ("heel", "foot index") if compat == "strict" else ("knee", "ankle", "heel", "foot index")
    for side in ("Left", "Right"):
        if f"{side} shoe" in parts or any(f"{side} {joint}" in seen for joint in leg):
            parts.append(f"{side} leg")
    if "Left leg" in parts or "Right leg" in parts:
        parts.append("Leg")
    return parts


def body_parts(table: FhibeTable, compat: Compat = "default") -> list[list[str]]:
    """The visible body parts of each row."""
    out = []
    for i, (points, segments) in enumerate(zip(table.literals("keypoints"), table.literals("segments"), strict=True)):
        try:
            out.append(visible_parts(points, [segment["class_name"] for segment in segments], compat))
        except (KeyError, TypeError, AttributeError, IndexError):
            place = table.place(i, "segments")
            raise DataError(f"{place}: segments need a class_name, keypoints [x, y, visible]") from None
    return out


def mask_path(table: FhibeTable, i: int) -> Path:
    """Where a row's label map is: the file named "combined" among its CelebA masks."""
    place = table.place(i, "CelebA")
    names = literal(table.text("CelebA")[i], place)
    combined = [n for n in names if isinstance(n, str) and "combined" in n] if isinstance(names, (list, tuple)) else []
    if not combined:
        raise DataError(f"{place}: no mask named 'combined' among {names!r:.60}")
    return inside(table.root, combined[0], place)


def face_labels(table: FhibeTable, i: int) -> NDArray[np.uint8]:
    """The label map of a row."""
    return face_labels_of(mask_bytes(table, i), table, i)


def mask_bytes(table: FhibeTable, i: int) -> bytes:
    """The file of a row's label map."""
    return file_content(mask_path(table, i), f"no such mask ({table.place(i, 'CelebA')})")


def face_labels_of(content: bytes, table: FhibeTable, i: int) -> NDArray[np.uint8]:
    """The label map of a row whose file was read."""
    return label_map_of(content, mask_path(table, i), len(FACE_LABELS), table.place(i, "CelebA"))


def usable(table: FhibeTable) -> FhibeTable:
    """The rows that verification uses: pictures of one person, of people with at least two such pictures."""
    alone = np.empty(len(table), dtype=bool)
    for i, cell in enumerate(table.text("multiple_subjects")):
        word = cell.strip().lower()
        if word not in TRUE + FALSE:
            raise DataError(f"{table.place(i, 'multiple_subjects')}: {cell!r}, expected True or False")
        alone[i] = word in FALSE
    people, code = np.unique(np.array(table.text("subject_id")), return_inverse=True)
    count = np.bincount(code[alone], minlength=len(people))
    return table.take(np.flatnonzero(alone & (count[code] >= 2)))
