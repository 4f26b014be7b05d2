"""Boxes of a dataset's files: the meaning of their four numbers, checked against the pictures."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from countenance.errors import DataError
from countenance.metrics.readings import LARGEST_SHARE_OUTSIDE, Reading, fitting, guessed_units, share_outside

Array = NDArray[np.float64]
YOLO = Reading("cxcywh", "rel")
"""How YOLO files give boxes."""


def as_arguments(reading: Reading, *, truth: bool) -> str:
    """The arguments that choose a reading of the dataset's boxes, or of a model's; errors and notes name these.

    >>> as_arguments(YOLO, truth=True), as_arguments(YOLO, truth=False)
    ('truth_boxes="cxcywh", truth_units="rel"', 'box_format="cxcywh", units="rel"')
    """
    form, units = ("truth_boxes", "truth_units") if truth else ("box_format", "units")
    return f'{form}="{reading.form}", {units}="{reading.units}"'


def fits_sentence(readings: Sequence[Reading], spelled: Callable[[Reading], str]) -> str:
    """Every reading that fits.

    >>> fits_sentence([Reading("xywh", "px")], partial(as_arguments, truth=False))
    'this reading fits: box_format="xywh", units="px" (x, y, w, h in pixels)'
    """
    listed = " or ".join(f"{spelled(reading)} ({reading.numbers_are})" for reading in readings)
    return f"{'this reading fits' if len(readings) == 1 else 'these readings fit'}: {listed}"


def checked_corners(
    numbers: Array, sizes: Array, reading: Reading, place: str, images: Sequence[str] | None = None
) -> Array:
    """Corners in pixels; a reading in which more than 5 % of boxes leave the picture is refused, and those that fit are
    named.

    `images` are the names of the boxes' pictures: the error names the first one whose box leaves it.

    >>> many = np.tile([0.1, 0.9, 0.3, 0.15], (20, 1))
    >>> checked_corners(many, np.full((20, 2), 100.0), YOLO, "faces.csv")
    Traceback (most recent call last):
    countenance.errors.DataError: faces.csv: read as cxcywh, rel, 100 % of 20 boxes leave their picture ...
    """
    result = reading.corners(numbers, sizes)
    others = fitting(numbers, sizes)
    fits = ", and no other reading fits"
    if others:
        sentence = fits_sentence(others, partial(as_arguments, truth=True))
        fits = f"; {sentence}; in a dataset's name ?form={others[0].form}&units={others[0].units}"
    if reading.units == "px" and len(numbers) and guessed_units(numbers) == "rel":
        raise DataError(f"{place}: read as {reading}, but (almost) no number is above 1{fits}")
    share = share_outside(result, sizes)
    if share <= LARGEST_SHARE_OUTSIDE:
        return result
    right = "" if others else "; are these the pictures that the boxes belong to?"
    wrong = next((i for i in range(len(result)) if share_outside(result[i : i + 1], sizes[i : i + 1])), 0)
    first = f", the first in {images[wrong]}" if images else ""
    raise DataError(
        f"{place}: read as {reading}, {share * 100:.0f} % of {len(numbers)} boxes leave their picture or have no area "
        f"(at most {LARGEST_SHARE_OUTSIDE * 100:.0f} % may){first}{fits}{right}"
    )


def empty_boxes_note(boxes: Sequence[tuple[str, Array]], name: str) -> list[str]:
    """A sentence on boxes without an area, which no prediction can find; each comes with the name of its picture.

    >>> empty_boxes_note([("a.jpg", np.array([1, 2, 1, 5.0])), ("b.jpg", np.array([1, 2, 3, 5.0]))], "street")
    ['street: 1 box has no area and cannot be found (a.jpg); `countenance data check` names each']
    """
    empty = [image for image, box in boxes if (box[2:] <= box[:2]).any()]
    has = "1 box has" if len(empty) == 1 else f"{len(empty)} boxes have"
    shown = "".join(empty[:1]) + (", …" if len(empty) > 1 else "")
    return (
        [f"{name}: {has} no area and cannot be found ({shown}); `countenance data check` names each"] if empty else []
    )
