"""Intervals of means over people, at the smallest sizes."""

import math

import numpy as np
import pytest

from countenance.metrics.intervals import macro_mean


def test_two_people_are_the_fewest_with_an_interval() -> None:
    values, cells = np.array([1.0, 2.0, 3.0, 5.0]), np.array([0, 0, 1, 1])
    two = macro_mean(values, cells, np.array([0, 1, 0, 1]))
    assert two.value == pytest.approx(2.75) and two.low < 2.75 < two.high
    one = macro_mean(values, cells, np.zeros(4, dtype=np.int64))
    assert one.value == pytest.approx(2.75) and math.isnan(one.low) and math.isnan(one.high)
