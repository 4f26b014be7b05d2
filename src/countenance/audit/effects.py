"""How large a difference is: Cohen's h, rank-biserial correlation, and intervals of differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from countenance.audit._dist import quantile
from countenance.audit.estimates import clopper_pearson_limits, wilson_limits
from countenance.audit.sums import Numbers
from countenance.audit.table import Array

Limits = tuple[Numbers, Numbers]


def angle(p: Numbers) -> Array:
    """A rate on the arcsine scale.

    >>> round(float(angle(0.5)), 6)
    1.570796
    """
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(p, 0.0, 1.0))))


def cohen_h(p1: float, p2: float) -> float:
    """The difference of two rates on the arcsine scale.

    >>> round(cohen_h(0.8, 0.733945), 6)
    0.156599
    """
    return float(angle(p1) - angle(p2))


def mover(one: Numbers, limits1: Limits, two: Numbers, limits2: Limits, rho: Numbers = 0.0) -> tuple[Array, Array]:
    """The interval of one - two from the limits of each (the method of variance estimates recovery).

    `rho` is the correlation of the two estimates.

    >>> [round(float(bound), 3) for bound in mover(0.8, (0.729, 0.856), 0.734, (0.695, 0.769))]
    [-0.013, 0.134]
    """

    def far(here: Numbers, there: Numbers) -> Array:
        return np.asarray(np.sqrt(np.maximum(here**2 + there**2 - 2 * rho * here * there, 0.0)))

    difference = one - two
    low = difference - far(one - limits1[0], limits2[1] - two)
    high = difference + far(limits1[1] - one, two - limits2[0])
    return np.asarray(low), np.asarray(high)


def newcombe(k1: float, n1: float, k2: float, n2: float, alpha: float = 0.05) -> tuple[float, float]:
    """Newcombe's interval of p1 - p2 from the two Wilson intervals.

    >>> [round(x, 6) for x in newcombe(120, 150, 400, 545)]
    [-0.013393, 0.134225]
    """
    low, high = RateGap(k1 / n1, n1, k2 / n2, n2).difference(alpha)
    return float(low), float(high)


@dataclass(frozen=True)
class RateGap:
    """Two rates with their effective sizes, degrees of freedom and correlation: intervals of their difference."""

    p1: Numbers
    n1: Numbers
    p2: Numbers
    n2: Numbers
    df1: Numbers = math.inf
    df2: Numbers = math.inf
    rho: Numbers = 0.0

    def _limits(self, alpha: float | Array, of: Callable[..., Limits]) -> tuple[Limits, Limits]:
        t1, t2 = quantile(1 - alpha / 2, self.df1), quantile(1 - alpha / 2, self.df2)
        return of(self.p1, self.n1, t1), of(self.p2, self.n2, t2)

    def difference(self, alpha: float | Array) -> tuple[Array, Array]:
        """Newcombe's interval."""
        first, second = self._limits(alpha, wilson_limits)
        return mover(self.p1, first, self.p2, second, self.rho)

    def cautious(self, alpha: float | Array) -> tuple[Array, Array]:
        """The same from the limits of Clopper and Pearson: Wilson's are too narrow towards the nearer end, 0 or 1."""
        first, second = self._limits(alpha, clopper_pearson_limits)
        return mover(self.p1, first, self.p2, second, self.rho)

    def h(self, alpha: float) -> tuple[Array, Array]:
        """The interval of Cohen's h: the arcsines of the Wilson limits."""
        first, second = self._limits(alpha, wilson_limits)
        one, two = ((angle(low), angle(high)) for low, high in (first, second))
        return mover(angle(self.p1), one, angle(self.p2), two, self.rho)

    def within(self, delta: Numbers, alpha: float | Array) -> Array:
        """Whether the 1 - 2·alpha interval lies inside ±delta, by Newcombe's and by the cautious limits."""
        inside = np.ones(np.shape(self.p1), dtype=bool)
        for low, high in (self.difference(2 * alpha), self.cautious(2 * alpha)):
            inside &= (low > -delta) & (high < delta)
        return inside


@dataclass(frozen=True)
class MeanGap:
    """A difference with its standard error and degrees of freedom."""

    gap: Numbers
    se: Numbers
    df: Numbers

    def difference(self, alpha: float | Array) -> tuple[Array, Array]:
        """The t interval."""
        half = quantile(1 - alpha / 2, self.df) * self.se
        return np.asarray(self.gap - half), np.asarray(self.gap + half)

    def within(self, delta: Numbers, alpha: float | Array) -> Array:
        """Whether the 1 - 2·alpha interval lies inside ±delta."""
        low, high = self.difference(2 * alpha)
        return np.asarray((low > -delta) & (high < delta))


class Bounds(Protocol):
    """Anything that can tell whether its 1 - 2·alpha interval lies inside ±delta."""

    def within(self, delta: Numbers, alpha: float | Array) -> Array:
        """Whether it does."""
        ...


def equivalence(gap: Bounds, delta: Numbers, alpha: float) -> tuple[Array, Array]:
    """Whether the difference is shown to be smaller than delta, and the smallest level at which it would be.

    Without a delta (NaN) nothing can be shown.

    >>> shown, p = equivalence(RateGap(1.0, 10_000.0, 1.0, 10_000.0), 0.05, 0.05)
    >>> bool(shown), bool(p < 1e-6)
    (True, True)
    >>> bool(equivalence(RateGap(59 / 60, 60.0, 1.0, 1000.0), 0.05, 0.05)[0])
    False
    """
    with np.errstate(all="ignore"):
        shown = gap.within(delta, alpha)
        low = np.full(np.shape(shown), -30.0)  # logarithms of levels
        high = np.full(np.shape(shown), math.log(0.5))
        for _ in range(14):
            middle = (low + high) / 2
            inside = gap.within(delta, np.exp(middle))
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        p = np.where(gap.within(delta, 0.4999), np.exp(high), 1.0)
    # The search is not exact; the verdict is.
    p = np.where(shown, np.minimum(p, np.nextafter(alpha, 0)), np.maximum(p, alpha))
    return shown, np.where(np.isnan(delta), np.nan, p)


@dataclass(frozen=True)
class RankBiserial:
    """P(first > second) - P(first < second), its variances with and without clusters, U of the first."""

    r: float
    u: float
    variance: float
    simple: float
    ties: float


def rank_biserial(
    ranks1: Array, ranks2: Array, clusters1: Array | None = None, clusters2: Array | None = None
) -> RankBiserial:
    """The rank-biserial correlation from integer ranks; the variance is that of DeLong, summed over clusters.

    >>> round(rank_biserial(np.array([1, 2, 3]), np.array([0, 1, 1])).r, 6)
    0.777778
    """
    n1, n2 = len(ranks1), len(ranks2)
    top = int(max(ranks1.max(), ranks2.max())) + 1
    count1, count2 = np.bincount(ranks1, minlength=top), np.bincount(ranks2, minlength=top)
    place1 = ((np.cumsum(count2) - count2 / 2) / n2)[ranks1]  # share of the second side below each of the first
    place2 = 1 - ((np.cumsum(count1) - count1 / 2) / n1)[ranks2]
    auc = float(place1.mean())
    e1, e2 = (place1 - auc) / n1, (place2 - auc) / n2
    simple = _spread(e1) + _spread(e2)
    ties = float(((count1 + count2).astype(float) ** 3 - (count1 + count2)).sum())
    variance = simple
    if clusters1 is not None and clusters2 is not None:
        size = int(max(clusters1.max(), clusters2.max())) + 1
        sums = np.bincount(clusters1, e1, minlength=size) + np.bincount(clusters2, e2, minlength=size)
        used = len(np.union1d(clusters1, clusters2))
        # A cluster that makes up much of a side hides its own deviation; the weight is that of the variance of means.
        far = np.maximum(_leverage(clusters1, size), _leverage(clusters2, size))
        variance = float(used / max(used - 1, 1) * ((1 + 2 * far) * sums**2).sum())
    return RankBiserial(2 * auc - 1, auc * n1 * n2, 4 * variance, 4 * simple, ties)


def _leverage(clusters: Array, size: int) -> Array:
    """How much more of a side each cluster is than one of equal clusters would be; 0 where the cluster is not on it."""
    counts = np.bincount(clusters, minlength=size)
    here = counts > 0
    return np.asarray(np.where(here, counts / len(clusters) - 1 / here.sum(), 0.0))


def _spread(e: Array) -> float:
    return float(len(e) / max(len(e) - 1, 1) * (e**2).sum())


def z_of_u(found: RankBiserial, n1: int, n2: int) -> float:
    """U as a standard normal value under the null, corrected for ties (no continuity correction).

    >>> round(z_of_u(rank_biserial(np.array([2, 3]), np.array([0, 1])), 2, 2), 6)
    1.549193
    """
    total = n1 + n2
    variance = n1 * n2 / 12 * (total + 1 - found.ties / (total * (total - 1)))
    return (found.u - n1 * n2 / 2) / math.sqrt(variance) if variance > 0 else math.nan
