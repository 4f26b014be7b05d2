"""The ratio of two sides' failure rates: a difference of points hides that 4 % is twenty times 0.2 %."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from countenance.auditing.directions import LOWER
from countenance.auditing.sums import Numbers
from countenance.auditing.table import Array

RARE = 0.1
"""Failures are rare where one side fails less often than this."""
TWICE = 2.0
"""A ratio of failures whose interval lies above this is a disparity where failures are rare."""


class Ratio(NamedTuple):
    """A ratio with its interval; a limit is None where it is unbounded, and so is a ratio whose divisor is 0."""

    value: float | None
    low: float | None
    high: float | None


def mover_r(
    value1: Numbers, limits1: tuple[Numbers, Numbers], value2: Numbers, limits2: tuple[Numbers, Numbers]
) -> tuple[Array, Array, Array]:
    """The ratio one / two with its interval from the limits of each (Donner and Zou, 2012); infinite: unbounded.

    >>> value, low, high = mover_r(0.044, (0.030, 0.062), 0.002, (0.0, 0.009))
    >>> round(float(value), 3), round(float(low), 2), float(high)
    (22.0, 4.56, inf)
    """
    value1, value2, low1, high1, low2, high2 = np.broadcast_arrays(
        *(np.asarray(part, dtype=float) for part in (value1, value2, *limits1, *limits2))
    )
    both = value1 * value2
    with np.errstate(all="ignore"):
        value = np.where(value2 > 0, value1 / value2, np.where(value1 > 0, np.inf, np.nan))
        lower_root = np.sqrt(np.maximum(both**2 - low1 * high2 * (2 * value1 - low1) * (2 * value2 - high2), 0.0))
        upper_root = np.sqrt(np.maximum(both**2 - high1 * low2 * (2 * value1 - high1) * (2 * value2 - low2), 0.0))
        low = low1 * (2 * value1 - low1) / (both + lower_root)
        high = np.where(low2 > 0, (both + upper_root) / (low2 * (2 * value2 - low2)), np.inf)
    low = np.where(np.isfinite(low), np.minimum(np.maximum(low, 0.0), value), 0.0)
    return value, low, np.where(np.isnan(high), np.inf, np.maximum(high, value))


def failure_ratios(
    rates: tuple[Array, Array], limits: tuple[tuple[Array, Array], tuple[Array, Array]], better: str | None
) -> tuple[Array, Array, Array, Array]:
    """How many times as often the side that fails more fails, with its interval; and whether failures are rare.

    Where it is not known which way is better, the rarer outcome of both sides together counts as failing.
    """
    ones = np.full(np.shape(rates[0]), better == LOWER)
    if better is None:
        ones = (rates[0] + rates[1]) <= 1
    fail = [np.where(ones, rate, 1 - rate) for rate in rates]
    bounds = [(np.where(ones, low, 1 - high), np.where(ones, high, 1 - low)) for low, high in limits]
    more = fail[0] >= fail[1]
    first = [np.where(more, a, b) for a, b in zip((fail[0], *bounds[0]), (fail[1], *bounds[1]), strict=True)]
    second = [np.where(more, b, a) for a, b in zip((fail[0], *bounds[0]), (fail[1], *bounds[1]), strict=True)]
    value, low, high = mover_r(first[0], (first[1], first[2]), second[0], (second[1], second[2]))
    return value, low, high, second[0] < RARE


def ratio(value: float, low: float, high: float) -> Ratio:
    """A ratio as a finding keeps it.

    >>> ratio(22.0, 4.6, math.inf)
    Ratio(value=22.0, low=4.6, high=None)
    """
    return Ratio(*(float(part) if math.isfinite(part) else None for part in (value, low, high)))
