"""Intervals of equity measures: what a measure can be while every group's rate stays inside its own interval.

The groups' intervals hold together at 1 − α (each at α over their number), so the range of the measure over all rates
inside them does too. It is wide, but it covers: bootstrap intervals of such measures do not, since noise alone makes
every measure larger (the spread of `docs/design/003-statistics.md` covered .43 to .94).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.metrics import equity
from countenance.metrics.equity import Undefined

Array = NDArray[np.float64]
ALL_CORNERS = 12
"""Up to so many groups every corner of the box of intervals is tried for the largest value."""
STEPS = 400


@dataclass(frozen=True)
class Rates:
    """The rates of groups with intervals that hold together."""

    values: Array
    low: Array
    high: Array


Range = tuple[float, float, float]
"""A measure's value, and the smallest and largest that it can be."""


def difference(rates: Array) -> float:
    """The largest rate minus the smallest.

    >>> difference(np.array([0.5, 0.75]))
    0.25
    """
    return float(np.max(rates) - np.min(rates))


def smallest_impact(rates: Array) -> float:
    """The smallest impact ratio."""
    return float(equity.impact_ratio(rates).min())


def even_measure(measure: Callable[[Array], float], rates: Rates, best: float, *, falls: bool = False) -> Range:
    """The range of a measure that is best where all rates are equal.

    Its best value lies where every rate is as near to one common value as its interval allows; its worst at a corner.

    >>> some = Rates(np.array([.5, .7]), np.array([.4, .6]), np.array([.6, .8]))
    >>> [round(x, 3) for x in even_measure(difference, some, 0.0)]
    [0.2, 0.0, 0.4]
    """
    sign = -1.0 if falls else 1.0

    def unevenness(values: Array) -> float:
        try:
            return sign * measure(values)
        except Undefined:  # a rate of 0 where a ratio is asked for: as uneven as can be
            return math.inf

    value = measure(rates.values)
    if rates.low.max() <= rates.high.min():
        least = sign * best
    else:
        grid = np.linspace(rates.high.min(), rates.low.max(), STEPS)
        least = min(unevenness(np.clip(c, rates.low, rates.high)) for c in grid)
    most = max(unevenness(corner) for corner in _corners(rates, unevenness))
    least, most = min(least, sign * value), max(most, sign * value)
    if falls:
        return value, (0.0 if math.isinf(most) else -most), -least
    return value, least, most


def _corners(rates: Rates, measure: Callable[[Array], float]) -> list[Array]:
    k = len(rates.values)
    if k <= ALL_CORNERS:
        return [np.where(np.array(up), rates.high, rates.low) for up in itertools.product((False, True), repeat=k)]
    order = np.argsort(rates.low + rates.high)
    best = max((_split(rates, order, cut) for cut in range(k + 1)), key=measure)
    while True:  # walk to a corner that no single change makes worse
        around = [best]
        for i in range(k):
            other = best.copy()
            other[i] = rates.low[i] if best[i] == rates.high[i] else rates.high[i]
            around.append(other)
        further = max(around, key=measure)
        if measure(further) <= measure(best):
            return [best]
        best = further


def _split(rates: Rates, order: NDArray[np.intp], cut: int) -> Array:
    values = rates.low.copy()
    values[order[cut:]] = rates.high[order[cut:]]
    return values


def range_of(measure: str, rates: Sequence[Rates], weight: float = 0.5) -> Range:
    """A measure of one rate, or of a false match and a false non-match rate, with the range that it can have.

    >>> narrow = Rates(np.array([.01, .04]), np.array([.009, .03]), np.array([.011, .05]))
    >>> [round(x, 2) for x in range_of("max_min_ratio", [narrow])]
    [4.0, 2.73, 5.56]
    """
    one = rates[0]
    if measure == "difference":
        return even_measure(difference, one, 0.0)
    if measure == "impact_ratio":
        return even_measure(smallest_impact, one, 1.0, falls=True)
    if measure in ("gini", "accuracy_std"):
        return even_measure(getattr(equity, measure), one, 0.0)
    if measure in ("max_min_ratio", "max_geomean_ratio", "skewed_error_ratio"):
        return even_measure(getattr(equity, measure), one, 1.0)
    parts = (rates[0], weight), (rates[1], 1 - weight)
    if measure == "fairness_discrepancy_rate":
        spans = [(even_measure(difference, part, 0.0), share) for part, share in parts]
        value, most, least = (1 - sum(share * span[i] for span, share in spans) for i in range(3))
        return value, least, most
    if measure == "garbe":
        spans = [(even_measure(equity.gini, part, 0.0), share) for part, share in parts if share > 0]
        value, least, most = (sum(share * span[i] for span, share in spans) for i in range(3))
        return value, least, most
    spans = [(even_measure(equity.max_min_ratio, part, 1.0), share) for part, share in parts if share > 0]
    value, least, most = (math.prod(span[i] ** share for span, share in spans) for i in range(3))
    return value, least, most
