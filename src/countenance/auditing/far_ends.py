"""One further person at the far end, whom an interval must allow for although nobody like that was observed.

Where everybody of a group is right in all of their pictures, nothing in the rows says that somebody might fail in all
of theirs. So no limit of a rate, or of a metric between two ends, is tighter than the one that people's means give (t
over people) with one further person at the far end of that side. Where hardly anybody fails, t is still too narrow: it
gives 60 people who never fail a limit of .951, and where one person in twenty fails, 60 people have none of them in 4.6
% of samples, not in 2.5 %. So no limit is tighter than Clopper and Pearson's either, for as many people, right or wrong
in all pictures, as have that variance. Rates of one row for each person need none of this: Wilson's and Clopper and
Pearson's limits are made for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.sums import Numbers, Side, Way
from countenance.auditing.table import Array

Ends = tuple[float, float]
SHARE: Ends = (0.0, 1.0)
CHANGE: Ends = (-1.0, 1.0)
"""The ends of a metric between 0 and 1, and of the change of one."""


@dataclass(frozen=True)
class FarEnds:
    """A side whose metric has two ends; limits are NaN where one further person makes no difference."""

    side: Side
    ends: Ends
    of_trials: bool = False
    """Whether rows are 0 or 1 (or a change of such rows), so that single rows are treated as independent trials."""

    def limits(self, alpha: Numbers) -> tuple[Array, Array]:
        """The limits of people's means with one further person at the lower end, and at the upper end.

        >>> from countenance.auditing.sums import clustered
        >>> right = clustered(np.ones(200), np.repeat(np.arange(25), 8))
        >>> low, high = FarEnds(right, SHARE, of_trials=True).limits(0.05)
        >>> round(float(low), 3), float(high)
        (0.863, 1.0)
        """
        low = high = np.full(np.shape(self.side.n), np.nan)
        for _, way in self.side.ways[:2]:
            low = np.fmin(low, self._limit(way, self.ends[0], alpha, -1))
            high = np.fmax(high, self._limit(way, self.ends[1], alpha, 1))
        needless = np.asarray(self.side.n) == 0
        if self.of_trials:
            needless = needless | np.asarray(self.side.alone)
        low, high = (np.where(needless, np.nan, np.clip(part, *self.ends)) for part in (low, high))
        return low, high

    def widened(self, low: Numbers, high: Numbers, alpha: Numbers) -> tuple[Array, Array]:
        """Limits at least as wide as those with one further person."""
        lowest, highest = self.limits(alpha)
        return np.fmin(low, lowest), np.fmax(high, highest)

    def with_one_further(self, end: float, way: Way | None = None) -> tuple[Array, Array]:
        """The mean of people's means with one further person at an end, and the variance of that mean."""
        way = self.side.first if way is None else way
        count, away = np.asarray(way.clusters, dtype=float), end - self.side.centre
        with np.errstate(all="ignore"):
            mean = (way.m + away) / (count + 1)
            squares = np.maximum(way.mm + away * away - (count + 1) * mean * mean, 0.0)
            return np.asarray(mean + self.side.centre), np.asarray(squares / count / (count + 1))

    def _limit(self, way: Way, end: float, alpha: Numbers, sign: int) -> Array:
        mean, variance = self.with_one_further(end, way)
        count = np.maximum(np.asarray(way.clusters, dtype=float), 1.0)
        with np.errstate(all="ignore"):
            by_t = mean + sign * quantile(1 - np.asarray(alpha) / 2, count) * np.sqrt(variance)
            exact = self._as_trials(way, end, alpha, sign, mean, variance)
        return np.asarray(np.fmin(by_t, exact) if sign < 0 else np.fmax(by_t, exact))

    def _as_trials(self, way: Way, end: float, alpha: Numbers, sign: int, mean: Array, variance: Array) -> Array:
        """Clopper and Pearson's limit for people who are either at the end or at the expected value.

        That many of them have the variance of the mean with one further person: fewer than there are rows, and no fewer
        than there are people. The expected value is the other end; for changes it is no change, or the mean change.
        """
        from scipy import special

        count = np.maximum(np.asarray(way.clusters, dtype=float), 1.0)
        average = np.asarray(way.m) / count + self.side.centre
        usual = 0.0 if self.ends[0] < 0 else self.ends[sign < 0]
        start = np.where(sign * (usual - average) > 0, average, usual)
        width = np.abs(start - end)
        at_end = np.abs(start - mean) / width
        trials = np.fmax(at_end * (1 - at_end) / (variance / width**2), count)
        cases = np.abs(start - average) / width * trials
        share = special.betaincinv(cases + 1, np.maximum(trials - cases, 1e-9), 1 - np.asarray(alpha) / 2)
        return np.asarray(start + sign * width * share)


def widened(far: FarEnds | None, limits: tuple[Any, Any], alpha: Numbers) -> tuple[Any, Any]:
    """Limits with one further person where the metric has ends; the same limits where it has none.

    >>> widened(None, (0.2, 0.4), 0.05)
    (0.2, 0.4)
    """
    return limits if far is None else far.widened(*limits, alpha)
