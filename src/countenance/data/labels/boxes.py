"""Boxes in label tables: four columns or one, in pixels or as shares, checked against the pictures."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.data.labels.columns import BoxColumns
from countenance.data.labels.rows import LabelTable
from countenance.data.labels.values import numbers_in
from countenance.data.reading.box_readings import checked_corners
from countenance.data.sample import Floats
from countenance.errors import InputError
from countenance.metrics.readings import Reading, fitting, guessed_units
from countenance.settings.box_words import Form, Units
from countenance.words import is_missing, number_of

SPLIT = re.compile(r"[\s,;|]+")
KEYS: tuple[tuple[Form, tuple[str, ...]], ...] = (
    ("xyxy", ("xmin", "ymin", "xmax", "ymax")),
    ("xyxy", ("x1", "y1", "x2", "y2")),
    ("xyxy", ("left", "top", "right", "bottom")),
    ("xywh", ("x", "y", "width", "height")),
    ("xywh", ("x", "y", "w", "h")),
    ("xywh", ("left", "top", "width", "height")),
)
"""The names that a box written as {…} has for its numbers."""
OWN = ("face_box", "person_box")
"""Columns of `labels.csv`, whose boxes are x0, y0, x1, y1."""
LEAST_PERCENT = 5
"""Only with at least this many boxes is it tested whether they are in per cent."""
USUAL: tuple[Form, ...] = ("xyxy", "xywh")


@dataclass(frozen=True)
class StatedBoxes:
    """The user's options on boxes."""

    form: Form | None = None
    units: Units | None = None


Row = list[list[float]]
"""The boxes of a row, four numbers each."""


def corners_of(
    table: LabelTable, columns: BoxColumns, sizes: Sequence[tuple[int, int] | None], stated: StatedBoxes
) -> list[list[Floats]]:
    """The corners of every row's boxes in pixels; `sizes` are those of its picture, None without a picture."""
    doubts = len(table.problems.whole)
    form, rows = (columns.form, _of_four(table, columns)) if len(columns.names) == 4 else _of_cells(table, columns)
    if len(table.problems.whole) > doubts:
        return [[] for _ in rows]  # an unknown box format has no known position
    places = [(i, box) for i, boxes in enumerate(rows) if sizes[i] is not None for box in boxes]
    corners: list[list[Floats]] = [[] for _ in rows]
    if not places:
        return corners
    numbers = np.array([box for _, box in places])
    shapes = np.array([sizes[i] for i, _ in places], dtype=np.float64)
    reading = _reading(table, columns, form, numbers, shapes, stated)
    if reading is None:
        return corners
    readable = (shapes > 0).all(axis=1)
    if reading.units == "px" and stated.units is None:
        title, far = f"{table.path.name}: boxes ({', '.join(columns.names)})", reading.corners(numbers, shapes)
        table.notes += _unlikely_pixels(title, numbers, far, shapes, [table.lines[i] for i, _ in places])
    try:
        lines = [f"line {table.lines[places[k][0]]}" for k in np.flatnonzero(readable)]
        checked_corners(numbers[readable], shapes[readable], reading, "", lines)
    except InputError as error:
        table.problems.add_whole(f"boxes ({', '.join(columns.names)}) {str(error).removeprefix(': ')}")
    for (i, _), box in zip(places, reading.corners(numbers, shapes), strict=True):
        corners[i].append(box)
    return corners


def _unlikely_pixels(name: str, numbers: Floats, corners: Floats, shapes: Floats, lines: Sequence[int]) -> list[str]:
    """What may be wrong with numbers that are read as pixels: all can be per cent, or a few can be shares."""
    shares = np.flatnonzero((numbers >= 0).all(axis=1) & (numbers <= 1).all(axis=1) & (numbers > 0).any(axis=1))
    notes = []
    if len(shares):
        what = f"line {lines[shares[0]]} holds" if len(shares) == 1 else f"line {lines[shares[0]]} and others hold"
        notes.append(f"{name}: {what} only numbers up to 1, read as pixels like the others; are they shares?")
    decimals, far = float((numbers % 1 != 0).any(axis=1).mean()), float(corners.max())
    if len(numbers) >= LEAST_PERCENT and 50 < far <= 100 and shapes.min() > 2 * 100 and decimals > 0.5:
        notes.append(
            f"{name}: no box reaches beyond {far:g} in pictures of at least {shapes.min():g} pixels; read as "
            "pixels. Where they are per cent of the picture, divide them by 100"
        )
    return notes


def _reading(
    table: LabelTable, columns: BoxColumns, form: Form | None, numbers: Floats, shapes: Floats, stated: StatedBoxes
) -> Reading | None:
    """The reading of the numbers: from the user, the columns' names, or the only one that fits; None with a problem."""
    units = stated.units or guessed_units(numbers)
    form = stated.form or form
    if form is not None:
        return Reading(form, units)
    fits = [reading.form for reading in fitting(numbers, shapes) if reading.units == units]
    usual = [known for known in USUAL if known in fits]
    if columns.names[0] in OWN and "xyxy" in (usual or ["xyxy"]):
        return Reading("xyxy", units)
    if len(usual) == 1 or (not usual and len(fits) == 1):
        return Reading((usual or fits)[0], units)
    shown = ", ".join(f"{number:g}" for number in numbers[0])
    name = ", ".join(columns.names)
    if usual:
        table.problems.add_whole(
            f'{name}: [{shown}] and all others can be corners or a corner and a size; say truth_boxes="xyxy" '
            '(x0, y0, x1, y1) or truth_boxes="xywh" (x, y, width, height)'
        )
    else:
        table.problems.add_whole(
            f"{name}: [{shown}] and the others fit the pictures in no reading; are these the pictures?"
        )
    return None


def _of_four(table: LabelTable, columns: BoxColumns) -> list[Row]:
    """Boxes from four columns; a row without any of them has no box."""
    numbers = [numbers_in(table, name) for name in columns.names]
    rows: list[Row] = []
    for i, cells in enumerate(zip(*numbers, strict=True)):
        known = [cell for cell in cells if cell is not None]
        rows.append([known] if len(known) == len(cells) else [])
        missing = sum(is_missing(table.columns[name][i]) for name in columns.names)
        if 0 < missing < len(cells):
            table.problems.add("{} a box of fewer than four numbers", table.lines[i], "", "row has", "rows have")
    return rows


def _of_cells(table: LabelTable, columns: BoxColumns) -> tuple[Form | None, list[Row]]:
    """Boxes from one column, and their form where the cells say it themselves."""
    name, form = columns.names[0] if len(columns.names) == 1 else "", None
    rows: list[Row] = []
    for line, cell in zip(table.lines, table.columns[name], strict=True):
        boxes: Row = []
        if not is_missing(cell) and cell not in ("[]", "{}"):
            try:
                form, boxes = _boxes_in(cell, form)
            except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
                table.problems.add("{} not a box", line, cell, f"cell of {name} is", f"cells of {name} are")
        rows.append(boxes)
    return form, rows


def _boxes_in(cell: str, form: Form | None) -> tuple[Form | None, Row]:
    """The boxes of a cell: [1, 2, 3, 4], several of these, {"x": 1, …}, or 1 2 3 4."""
    if cell.startswith(("[", "{", "(")):
        text = cell.replace("(", "[").replace(")", "]").replace("'", '"')
        try:
            value = json.loads(text)
        except ValueError:
            value = [number_of(part) for part in SPLIT.split(text.strip("[] ")) if part]  # numpy prints without commas
    else:
        value = [number_of(part) for part in SPLIT.split(cell.strip()) if part]
    if isinstance(value, Mapping):
        form, value = _of_keys(value)
    elif value and isinstance(value[0], Mapping):
        pairs = [_of_keys(part) for part in value]
        return pairs[0][0], [box for _, box in pairs]
    if outlines := _outlines(value):
        return "xyxy", [[*np.min(points, axis=0), *np.max(points, axis=0)] for points in outlines]
    listed = value if value and isinstance(value[0], list) else [value]
    boxes = [[float(number) for number in box] for box in listed]
    if any(len(box) != 4 or not np.isfinite(box).all() for box in boxes):
        raise ValueError(cell)
    return form, boxes


def _outlines(value: Any) -> list[Floats]:
    """The polygons of a cell: [[x, y], [x, y], …], [x, y, x, y, x, y, …], or several of either; none for boxes.

    >>> [points.tolist() for points in _outlines([[1, 2], [5, 2], [5, 6]])], _outlines([[1, 2, 3, 4], [5, 6, 7, 8]])
    ([[[1.0, 2.0], [5.0, 2.0], [5.0, 6.0]]], [])
    """
    if not isinstance(value, list) or not value:
        return []
    if isinstance(value[0], list) and len(value[0]) != 2:
        parts = [_outlines(part) for part in value]
        return [part[0] for part in parts] if all(len(part) == 1 for part in parts) else []
    numbers = np.array(value, dtype=np.float64).ravel()
    is_outline = len(numbers) >= 6 and len(numbers) % 2 == 0 and bool(np.isfinite(numbers).all())
    return [numbers.reshape(-1, 2)] if is_outline else []


def _of_keys(value: Mapping[str, Any]) -> tuple[Form, list[float]]:
    plain = {str(key).casefold(): number for key, number in value.items()}
    for form, keys in KEYS:
        if all(key in plain for key in keys):
            return form, [float(plain[key]) for key in keys]
    raise KeyError(", ".join(plain))
