"""Calibration of probabilities: whether stated probabilities are right as often as they say."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.intervals import LEVEL, IntervalEstimate, bootstrap_interval, by_cluster, clustered_rate

Array = NDArray[np.float64]
BINS = 10
DRAWN = 200


class Bin(NamedTuple):
    """The answers whose stated probabilities lie in one range."""

    stated: float
    """Their mean stated probability."""
    right: IntervalEstimate
    """How often they were right, clustered by person."""


def _bins(stated: Array) -> NDArray[np.int64]:
    return np.minimum((stated * BINS).astype(np.int64), BINS - 1)


def reliability(stated: Array, right: Array, person: NDArray[np.int64]) -> list[Bin]:
    """Ten bins of equal width, those with answers in them.

    >>> [bin.right.value for bin in reliability(np.array([0.95, 0.95]), np.array([1.0, 0.0]), np.array([0, 1]))]
    [0.5]
    """
    place, bins = _bins(stated), []
    for k in np.unique(place).tolist():
        here = place == k
        bins.append(Bin(float(stated[here].mean()), clustered_rate(*by_cluster(right[here], person[here]))))
    return bins


def calibration_error(stated: Array, right: Array, weights: Array | None = None) -> float:
    """The expected calibration error: how far stated and seen shares are apart, averaged over answers.

    >>> round(calibration_error(np.array([0.9, 0.9, 0.6, 0.6]), np.array([1.0, 1.0, 0.0, 1.0])), 12)
    0.1
    """
    weight = np.ones(len(stated)) if weights is None else weights
    gap = np.bincount(_bins(stated), weight * (right - stated), minlength=BINS)
    return float(np.abs(gap).sum() / weight.sum()) if weight.sum() else float("nan")


class Calibration(NamedTuple):
    """The calibration error, and what perfectly calibrated probabilities would show by chance."""

    error: IntervalEstimate
    by_chance: float


def calibration(
    stated: Array, right: Array, person: NDArray[np.int64], *, seed: int = 0, level: float = LEVEL
) -> Calibration:
    """The calibration error with a bootstrap interval over people, and its expectation under perfect calibration."""
    _, who = np.unique(person, return_inverse=True)
    people = int(who.max()) + 1
    low, high = bootstrap_interval(
        lambda weights: calibration_error(stated, right, weights[who]), people, level=level, seed=seed
    )
    random = np.random.default_rng([seed, 13])
    chance = [calibration_error(stated, (random.random(len(stated)) < stated).astype(float)) for _ in range(DRAWN)]
    value = calibration_error(stated, right)
    return Calibration(
        IntervalEstimate(value, min(low, value), max(high, value), len(stated), people), float(np.mean(chance))
    )
