"""Boxes in every reading: what their four numbers are (corners, a corner and a size, …) and in which units.

Two readings often both look right, and a wrong one gives wrong numbers without an error. So a reading is checked
against the pictures (`fitting`), and when almost nothing is found the other readings are tried
(`countenance.metrics.reading_trials`). Nothing changes the reading in use: it is always the user who decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from countenance.settings.box_words import Form, Units, form_named, units_named

Array = NDArray[np.float64]
FORMS: dict[Form, str] = {
    "xyxy": "x0, y0, x1, y1",
    "xywh": "x, y, w, h",
    "cxcywh": "cx, cy, w, h",
    "xxyy": "x0, x1, y0, y1",
    "yxyx": "y0, x0, y1, x1",
}
"""The forms by name, and the four numbers of each."""

LARGEST_NORMALISED = 1.5
"""Boxes may leave the picture a little; numbers in pixels are larger than this."""
LARGEST_SHARE_OUTSIDE = 0.05
"""A reading in which more boxes than this leave their picture does not fit."""


@dataclass(frozen=True)
class Reading:
    """The meaning of a box's four numbers, and their units.

    >>> str(Reading("cxcywh", "rel")), Reading("cxcywh", "rel").numbers_are
    ('cxcywh, rel', 'cx, cy, w, h as shares of the picture')
    """

    form: Form
    units: Units

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", form_named(self.form))
        object.__setattr__(self, "units", units_named(self.units))

    def __str__(self) -> str:
        return f"{self.form}, {self.units}"

    @property
    def numbers_are(self) -> str:
        """The four numbers and their units in words."""
        return f"{FORMS[self.form]} {'in pixels' if self.units == 'px' else 'as shares of the picture'}"

    def corners(self, numbers: Array, sizes: Array) -> Array:
        """Boxes in this reading as x0, y0, x1, y1 in pixels; `sizes` is width, height of each box's picture.

        >>> Reading("cxcywh", "rel").corners(np.array([[0.5, 0.5, 0.2, 0.4]]), np.array([[100, 50.0]]))
        array([[40., 15., 60., 35.]])
        """
        a, b, c, d = numbers.reshape(numbers.size // 4, 4).T
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not a box may have any size
            if self.form == "xyxy":
                corners = np.stack([a, b, c, d], axis=1)
            elif self.form == "xywh":
                corners = np.stack([a, b, a + c, b + d], axis=1)
            elif self.form == "cxcywh":
                corners = np.stack([a - c / 2, b - d / 2, a + c / 2, b + d / 2], axis=1)
            elif self.form == "xxyy":
                corners = np.stack([a, c, b, d], axis=1)
            else:
                corners = np.stack([b, a, d, c], axis=1)
            return corners * np.tile(sizes, 2) if self.units == "rel" else corners

    def numbers(self, corners: Array, sizes: Array) -> Array:
        """The numbers of boxes x0, y0, x1, y1 in pixels, written in this reading.

        >>> Reading("cxcywh", "rel").numbers(np.array([[40, 15, 60, 35.0]]), np.array([[100, 50.0]]))
        array([[0.5, 0.5, 0.2, 0.4]])
        """
        boxes = corners.reshape(corners.size // 4, 4)
        with np.errstate(over="ignore", invalid="ignore"):
            x0, y0, x1, y1 = (boxes / np.tile(sizes, 2) if self.units == "rel" else boxes).T
            if self.form == "xyxy":
                return np.stack([x0, y0, x1, y1], axis=1)
            if self.form == "xywh":
                return np.stack([x0, y0, x1 - x0, y1 - y0], axis=1)
            if self.form == "cxcywh":
                return np.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], axis=1)
            return np.stack([x0, x1, y0, y1] if self.form == "xxyy" else [y0, x0, y1, x1], axis=1)


CORNERS = Reading("xyxy", "px")
"""How this package itself gives boxes."""
READINGS = tuple(Reading(form, units) for units in get_args(Units) for form in FORMS)


def share_outside(corners: Array, sizes: Array) -> float:
    """Share of boxes that leave their picture by more than rounding (one pixel, or half a percent of the side).

    A box whose corners are the wrong way round, or that has no area, counts as well.

    >>> share_outside(np.array([[0, 0, 10, 10], [0, 0, 10, 99.0]]), np.array([[50, 50], [50, 50.0]]))
    0.5
    """
    if not len(corners):
        return 0.0
    slack = np.maximum(1.0, 0.005 * sizes)
    wrong = (corners[:, :2] < -slack).any(axis=1) | (corners[:, 2:] > sizes + slack).any(axis=1)
    return float((wrong | (corners[:, 2:] <= corners[:, :2]).any(axis=1)).mean())


def guessed_units(numbers: Array) -> Units:
    """Normalised if (almost) no box has a number above 1.5: in pixels such boxes would lie in the first two pixels.

    >>> guessed_units(np.array([[0.1, 0.2, 0.3, 1.1]])), guessed_units(np.array([[3, 4, 50, 60.0]]))
    ('rel', 'px')
    """
    if not len(numbers):
        return "rel"
    large = np.abs(numbers).max(axis=1) > LARGEST_NORMALISED
    return "px" if float(large.mean()) > LARGEST_SHARE_OUTSIDE else "rel"


def fitting(numbers: Array, sizes: Array) -> list[Reading]:
    """Every reading in which (almost) all boxes lie in their pictures and have an area.

    >>> [str(reading) for reading in fitting(np.array([[60, 50, 20, 30.0]]), np.array([[100, 100.0]]))]
    ['xywh, px', 'cxcywh, px']
    """
    if not len(numbers):
        return []
    units = guessed_units(numbers)
    return [
        reading
        for reading in READINGS
        if reading.units == units and share_outside(reading.corners(numbers, sizes), sizes) <= LARGEST_SHARE_OUTSIDE
    ]


def listed(readings: Sequence[Reading]) -> str:
    """Readings in words.

    >>> listed([Reading("xywh", "px"), Reading("cxcywh", "px")])
    'xywh, px (x, y, w, h) or cxcywh, px (cx, cy, w, h)'
    """
    return " or ".join(f"{reading} ({FORMS[reading.form]})" for reading in readings)
