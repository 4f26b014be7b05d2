"""Outlines of masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from countenance.report.contours import contours, simplified
from countenance.report.drawing import outline


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


@settings(max_examples=150, deadline=None)
@given(arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_exact_outlines_enclose_what_scipy_fills(mask):
    from scipy.ndimage import binary_fill_holes, label

    found = contours(mask, tolerance=0)
    across = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    parts, number = label(mask, across)
    wanted = sorted(int(binary_fill_holes(parts == i, np.ones((3, 3))).sum()) for i in range(1, number + 1))
    # A hole closed only by a corner belongs to the outside for a walk that turns right, and so it does for scipy.
    assert sorted(area(polygon) for polygon in found) == wanted


def test_a_hole_is_left_out_and_parts_that_touch_at_a_corner_stay_apart():
    ring = np.ones((5, 5), dtype=bool)
    ring[2, 2] = False
    assert [area(one) for one in contours(ring)] == [25]
    assert len(contours(np.eye(3, dtype=bool))) == 3
    assert contours(np.zeros((3, 3))) == []


def test_a_disc_has_few_corners_and_nearly_its_area():
    rows, columns = np.mgrid[:101, :101]
    disc = (rows - 50) ** 2 + (columns - 50) ** 2 <= 40**2
    (polygon,) = contours(disc)
    assert len(polygon) < 40 and area(polygon) == pytest.approx(disc.sum(), rel=0.03)


def test_corners_beyond_the_tolerance_stay():
    loop = np.array([[0.0, 0], [5, 1.5], [10, 0], [10, 10], [0, 10]])
    assert len(simplified(loop, 1.4)) == 5 and len(simplified(loop, 1.6)) == 4


def test_the_drawing_is_one_closed_path_drawn_twice():
    drawn = str(outline(np.ones((2, 3)), "truth"))
    assert drawn.count('d="M0 0L3 0L3 2L0 2z"') == 2
