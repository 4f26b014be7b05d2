"""From outcomes to points: thresholds for wanted numbers of false alarms, FROC, DIR, and rates per image.

A unit is what can be found: a face (FROC) or a probe (DIR, O-ROC). Its score is `MISSED` (minus infinity)
when it was not found; the negatives are the scores of the false alarms.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RateCurve:
    """Points of a curve and the threshold behind each of them (a score counts when it is >= the threshold)."""

    x: Floats
    y: Floats
    thresholds: Floats


def false_alarm_targets(negatives: int, *, log: bool, step: int) -> Floats:
    """The numbers of false alarms at which a curve is read, the last one being all of them.

    Logarithmic: eight a decade. Linear: every `step`. The arithmetic is the original's, whose rounding at
    exact powers of the base decides how many points there are. No false alarms: the one target 0.

    >>> false_alarm_targets(12, log=True, step=1)[[0, 4, -1]]
    array([ 1.        , 3.16227766, 12.        ])
    >>> false_alarm_targets(120, log=False, step=50)
    array([  0., 50., 100., 120.])
    """
    if negatives == 0:
        return np.zeros(1)
    if log:
        base = math.pow(10.0, 1.0 / 8.0)
        targets = [math.pow(base, i) for i in range(int(math.log(negatives, base)))]
    else:
        targets = [float(c) for c in range(0, negatives, step)]
    return np.array([*targets, float(negatives)])


def thresholds_at(negatives: Floats, targets: Floats) -> Floats:
    """For each target (a number of negatives) the lowest negative's score that at most so many negatives reach.

    For a target of all negatives it is just below the smallest score; where more negatives than the target have the
    largest score, just above that. Without negatives it is minus infinity, so that everything passes.

    >>> thresholds_at(np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.0, 1.0, 2.0, 3.0])).round(2)
    array([0.9, 0.9, 0.9, 0.5])
    """
    n = negatives.size
    if n == 0:
        return np.full(targets.shape, -np.inf)
    distinct, counts = np.unique(negatives, return_counts=True)
    distinct, passed = distinct[::-1], np.cumsum(counts[::-1])
    share = targets / n
    index = np.searchsorted(passed / n, share, side="right") - 1
    chosen = np.where(index >= 0, distinct[index], np.nextafter(distinct[0], np.inf))
    everything = share >= 1 - np.finfo(np.float64).eps
    return np.where(everything, np.nextafter(distinct[-1], -np.inf), chosen)


def at_least(scores: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """How many scores are >= each threshold.

    >>> at_least(np.array([0.2, 0.4, 0.4]), np.array([0.4, 0.5]))
    array([2, 0])
    """
    return np.asarray(scores.size - np.searchsorted(np.sort(scores), thresholds, side="left"), dtype=np.int64)


def froc_curve(units: Floats, negatives: Floats, total: int, *, log: bool, numbers: bool = False) -> RateCurve:
    """Detection rate over the number of false alarms (UCCS version 2).

    Where even the strictest threshold passes more false alarms than the target, the point is (target, 0).
    `numbers` gives counts instead of rates.

    >>> curve = froc_curve(np.array([0.9, 0.3]), np.array([0.5, 0.2]), 2, log=False)
    >>> curve.x, curve.y
    (array([0., 2.]), array([0., 1.]))
    """
    targets = false_alarm_targets(negatives.size, log=log, step=1000)
    thresholds = thresholds_at(negatives, targets)
    above = thresholds > negatives.max(initial=-np.inf) if negatives.size else np.zeros(targets.shape, bool)
    x = np.where(above, targets, at_least(negatives, thresholds))
    y = np.where(above, 0, at_least(_hits(units), thresholds))
    return RateCurve(x.astype(np.float64), _rate(y, total, numbers), thresholds)


def dir_curve(units: Floats, negatives: Floats, total: int, *, log: bool, numbers: bool = False) -> RateCurve:
    """Detection and identification rate over the nominal number of false identifications (UCCS version 2).

    >>> dir_curve(np.array([0.9, 0.3]), np.array([0.5, 0.2]), 2, log=False).y
    array([0.5, 1. ])
    """
    targets = false_alarm_targets(negatives.size, log=log, step=50)
    thresholds = thresholds_at(negatives, targets)
    return RateCurve(targets, _rate(at_least(_hits(units), thresholds), total, numbers), thresholds)


def per_image_curve(units: Floats, negatives: Floats, total: int, images: int, *, numbers: bool = False) -> RateCurve:
    """Rate over false alarms per image, one point for each distinct negative score (UCCS version 3).

    From the lowest threshold to the highest, so x falls. Without negatives there is one point at x = 0.

    >>> curve = per_image_curve(np.array([0.9, 0.3]), np.array([0.5, 0.2]), 2, 4)
    >>> curve.x, curve.y
    (array([0.5 , 0.25]), array([1. , 0.5]))
    """
    thresholds = np.unique(negatives) if negatives.size else np.array([-np.inf])
    x = at_least(negatives, thresholds) / images
    return RateCurve(x, _rate(at_least(_hits(units), thresholds), total, numbers), thresholds)


def _hits(units: Floats) -> Floats:
    return units[units > -np.inf]


def _rate(counts: NDArray[np.int64], total: int, numbers: bool) -> Floats:
    if numbers:
        return counts.astype(np.float64)
    if total <= 0:  # nothing to find: the rate is undefined, neither 0 nor 1
        return np.full(counts.shape, np.nan)
    return np.asarray(counts / total, dtype=np.float64)
