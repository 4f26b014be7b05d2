"""YOLO networks in ONNX files: heads of YOLOv5, v8, 11 and 26, declared or recognised by the shape of the output.

| head      | output           | what a box has                                                           |
|-----------|------------------|--------------------------------------------------------------------------|
| `v5`      | 1 × N × (5 + c)  | centre, width, height, whether there is anything, a share for each class |
| `v8`      | 1 × (4 + c) × N  | centre, width, height, a share for each class                            |
| `end2end` | 1 × N × 6        | corners, score, class; nothing is left to suppress                       |

YOLO11, and YOLO26 exported without its own suppression, have the head of v8. Pictures are letterboxed and boxes
suppressed as ultralytics does it for a network of fixed size.
"""

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress as ignored
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.answers.libraries import shown_by
from countenance.errors import ModelError
from countenance.metrics.boxes import suppress

Array = NDArray[np.float64]
Head = Literal["v5", "v8", "end2end"]
MIN_SCORE, OVERLAP = 0.25, 0.7
"""Scores above the first, overlaps up to the second: the defaults of ultralytics."""
MOST_BOXES = 300
APART = 7680.0
"""Boxes of different classes are moved so far apart that none suppresses the other."""
LARGEST = 8192
"""Pixels of a side, and classes, of a network that is recognised."""
COCO = ("person", *(f"class {i}" for i in range(1, 80)))
"""The classes of a network with 80 classes that it does not name; COCO's first class, a person, is the only one in use
here."""


class YoloBoxes(NamedTuple):
    """Boxes by their corners in pixels of the network's input, best score first."""

    xyxy: Array
    scores: Array
    labels: list[str]


def head_of(shape: Sequence[int], classes: int) -> Head:
    """The head that an output of this shape belongs to, for a network with this many classes.

    >>> head_of((1, 84, 8400), 80), head_of((1, 25200, 85), 80), head_of((1, 300, 6), 1)
    ('v8', 'v5', 'end2end')
    """
    _, rows, columns = shape
    if columns == 6 and rows <= 1000 and rows != 4 + classes:
        return "end2end"
    return "v8" if rows <= columns or rows == 4 + classes else "v5"


def yolo_boxes(output: Any, names: Sequence[str], head: Head | None, min_score: float, overlap: float) -> YoloBoxes:
    """The boxes in a network's output for one picture.

    >>> rows = np.zeros((1, 5, 8))
    >>> rows[0, :, 3] = 10, 10, 4, 6, 0.9
    >>> yolo_boxes(rows, ["face"], None, 0.25, 0.7)
    YoloBoxes(xyxy=array([[ 8.,  7., 12., 13.]]), scores=array([0.9]), labels=['face'])
    """
    values = np.asarray(output, dtype=np.float64)
    kind = head or head_of(values.shape, len(names))
    boxes, scores, numbers = _read(values[0], kind, len(names))
    chosen = np.flatnonzero(scores > min_score)
    boxes, scores, numbers = boxes[chosen], scores[chosen], numbers[chosen]
    if kind == "end2end":
        order = np.argsort(-scores, kind="stable")
    else:
        order = suppress(boxes + APART * numbers[:, None], scores, overlap)
    order = order[:MOST_BOXES]
    labels = [names[number] if 0 <= number < len(names) else f"class {number}" for number in numbers[order].tolist()]
    return YoloBoxes(boxes[order], np.clip(scores[order], 0, 1), labels)


def _read(table: Array, head: Head, classes: int) -> tuple[Array, Array, NDArray[np.int64]]:
    """The corners, the score and the class of every row."""
    if head == "end2end":
        return table[:, :4], table[:, 4], table[:, 5].astype(np.int64)
    rows = table.T if head == "v8" else table
    shares = rows[:, 4 : 4 + classes] if head == "v8" else rows[:, 5 : 5 + classes] * rows[:, 4:5]
    numbers = shares.argmax(axis=1)
    centre, half = rows[:, :2], rows[:, 2:4] / 2
    return np.hstack([centre - half, centre + half]), shares[np.arange(len(rows)), numbers], numbers


def kind_found(names: Sequence[str], declared: str | None, place: str) -> str | None:
    """What a network with these classes finds: `person`, `face`, or None if the name of its only class says nothing.

    >>> kind_found(["person", "car"], None, "net.onnx")
    'person'
    """
    shown = {kind for name in names if (kind := shown_by(name)) is not None}
    if declared is not None:
        return declared if declared in shown else None
    if len(shown) == 1:
        return shown.pop()
    if not shown and len(names) == 1:
        return None
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    what = "people and faces" if shown else "neither people nor faces"
    raise ModelError(
        f"{place}: its classes ({listed}) are {what}; say which count with "
        '"output": {"kind": "yolo", "names": […], "finds": "face"} in a declaration beside it '
        "(`countenance docs libraries`)"
    )


def declared_by(session: Any, place: str) -> dict[str, Any] | None:
    """The declaration that a YOLO network implies by its metadata and shapes; None for any other network."""
    stated, output = session.get_inputs()[0].shape, session.get_outputs()[0].shape
    facts: Mapping[str, str] = session.get_modelmeta().custom_metadata_map
    names, size = _literal(facts.get("names")), _literal(facts.get("imgsz")) or stated[2:]
    if len(stated) != 4 or stated[1] != 3 or len(output) != 3 or not _usual(size):
        return None
    words = _in_order(names) or list(_unnamed(output, size))
    if not words:
        return None
    return {
        "input": {"size": [size[1], size[0]], "resize": "letterbox", "std": [255.0] * 3},
        "output": {"kind": "yolo", "names": words, "finds": kind_found(words, None, place)},
    }


def _usual(size: Any) -> bool:
    """Whether these are a plausible height and width of a network's input."""
    return isinstance(size, list) and len(size) == 2 and all(type(n) is int and 0 < n <= LARGEST for n in size)


def _in_order(names: Any) -> list[str]:
    """Class names by number, from a list or from numbers with names; a number without a name gets one.

    >>> _in_order({0: "person", 2: "car"}), _in_order(["face"]), _in_order(None)
    (['person', 'class 1', 'car'], ['face'], [])
    """
    if isinstance(names, dict):
        numbers = [number for number in names if type(number) is int and 0 <= number < LARGEST]
        return [str(names.get(i, f"class {i}")) for i in range(max(numbers, default=-1) + 1)]
    return [str(name) for name in names] if isinstance(names, list | tuple) else []


def _unnamed(output: Sequence[Any], size: Sequence[int]) -> Sequence[str]:
    """The classes of a network that names none: COCO's names if it has as many classes, else numbers.

    Empty unless its output has as many boxes as a YOLO of its size.

    >>> _unnamed((1, 84, 8400), (640, 640))[0], _unnamed((1, 25200, 6), (640, 640)), _unnamed((1, 4420, 4), (240, 320))
    ('person', ['class 0'], [])
    """
    cells = sum((size[0] // stride) * (size[1] // stride) for stride in (8, 16, 32))
    if output[2] == cells and isinstance(output[1], int):
        count = output[1] - 4
    elif output[1] == 3 * cells and isinstance(output[2], int):
        count = output[2] - 5
    else:
        return []
    return COCO if count == len(COCO) else [f"class {i}" for i in range(count)]


def _literal(text: str | None) -> Any:
    with ignored(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(text) if text else None
    return None
