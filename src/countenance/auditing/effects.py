"""Effect sizes: Cohen's h, rank-biserial correlation, and intervals of differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.estimates import clopper_pearson_limits, wilson_limits
from countenance.auditing.far_ends import FarEnds, widened
from countenance.auditing.sums import Numbers
from countenance.auditing.table import Array

Limits = tuple[Numbers, Numbers]


def effect_label(name: str) -> str:
    """The name of an effect as sentences and tables show it.

    >>> effect_label("h"), effect_label("rank-biserial")
    ("Cohen's h", 'rank-biserial')
    """
    return "Cohen's h" if name == "h" else name


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


def mover(
    value1: Numbers, limits1: Limits, value2: Numbers, limits2: Limits, shared: tuple[Numbers, Numbers] = (0.0, 0.0)
) -> tuple[Array, Array]:
    """The interval of one - two from the limits of each (the method of variance estimates recovery).

    `shared` is what the two have in common, below and above: see `in_common`.

    >>> [round(float(bound), 3) for bound in mover(0.8, (0.729, 0.856), 0.734, (0.695, 0.769))]
    [-0.013, 0.134]
    """

    def far(here: Numbers, there: Numbers, less: Numbers) -> Array:
        return np.asarray(np.sqrt(np.maximum(here**2 + there**2 - 2 * less, 0.0)))

    difference = value1 - value2
    low = difference - far(value1 - limits1[0], limits2[1] - value2, shared[0])
    high = difference + far(limits1[1] - value1, value2 - limits2[0], shared[1])
    return np.asarray(low), np.asarray(high)


def in_common(
    value1: Numbers, limits1: Limits, value2: Numbers, limits2: Limits, rho: Numbers
) -> tuple[Numbers, Numbers]:
    """The common part of two estimates whose correlation is `rho`: their covariance in units of the limits' reach.

    One further person is not on both sides, so limits that allow for one have no more in common than plain ones.

    >>> in_common(0.5, (0.4, 0.6), 0.5, (0.3, 0.7), 0.0)
    (0.0, 0.0)
    """
    return rho * (value1 - limits1[0]) * (limits2[1] - value2), rho * (limits1[1] - value1) * (value2 - limits2[0])


@dataclass(frozen=True)
class RateGap:
    """Two rates with their effective sizes, degrees of freedom and correlation: intervals of their difference.

    `far` are for limits with one further person, where people have several rows, see `FarEnds`.
    """

    p1: Numbers
    n1: Numbers
    p2: Numbers
    n2: Numbers
    df1: Numbers = math.inf
    df2: Numbers = math.inf
    rho: Numbers = 0.0
    far: tuple[FarEnds | None, FarEnds | None] = (None, None)

    def _mover(self, alpha: float | Array, of: Callable[..., Limits], scale: Callable[[Numbers], Numbers]) -> Limits:
        """The interval of the difference on a scale, from limits of each rate."""
        plain = [
            of(p, n, quantile(1 - alpha / 2, df))
            for p, n, df in ((self.p1, self.n1, self.df1), (self.p2, self.n2, self.df2))
        ]
        wide = [widened(far, limits, alpha) for far, limits in zip(self.far, plain, strict=True)]
        first, second, far1, far2 = ((scale(low), scale(high)) for low, high in (*plain, *wide))
        rate1, rate2 = scale(self.p1), scale(self.p2)
        return mover(rate1, far1, rate2, far2, in_common(rate1, first, rate2, second, self.rho))

    def difference(self, alpha: float | Array) -> Limits:
        """Newcombe's interval."""
        return self._mover(alpha, wilson_limits, _same)

    def cautious(self, alpha: float | Array) -> Limits:
        """The interval from Clopper and Pearson's limits: Wilson's are too narrow towards the nearer end, 0 or 1."""
        return self._mover(alpha, clopper_pearson_limits, _same)

    def h(self, alpha: float) -> Limits:
        """The interval of Cohen's h: the arcsines of the Wilson limits."""
        return self._mover(alpha, wilson_limits, angle)

    def decisive(self, alpha: float | Array) -> Limits:
        """The 1 - 2·alpha interval that must lie inside ±delta: the wider of Newcombe's and the cautious one."""
        return _wider(self.difference(2 * alpha), self.cautious(2 * alpha))


def _same(value: Numbers) -> Numbers:
    return value


def _wider(first: Limits, second: Limits) -> Limits:
    return np.fmin(first[0], second[0]), np.fmax(first[1], second[1])


@dataclass(frozen=True)
class MeanGap:
    """A difference of two means with its standard error and degrees of freedom; `far` as in `RateGap`."""

    mean1: Numbers
    mean2: Numbers
    se: Numbers
    df: Numbers
    covariance: Numbers = 0.0
    far: tuple[FarEnds | None, FarEnds | None] = (None, None)

    def difference(self, alpha: float | Array) -> Limits:
        """The t interval; where the metric has ends, with one further person, and never wider than the ends allow."""
        t = quantile(1 - alpha / 2, self.df)
        gap = self.mean1 - self.mean2
        low, high = np.asarray(gap - t * self.se), np.asarray(gap + t * self.se)
        first, second = self.far
        if first is None:
            return low, high
        limits1 = first.widened(self.mean1, self.mean1, alpha)
        limits2 = (self.mean2, self.mean2) if second is None else second.widened(self.mean2, self.mean2, alpha)
        shared = self.covariance * t * t
        low, high = _wider((low, high), mover(self.mean1, limits1, self.mean2, limits2, (shared, shared)))
        most = first.ends[1] - first.ends[0]
        return np.maximum(low, -most), np.minimum(high, most)

    def decisive(self, alpha: float | Array) -> Limits:
        """The 1 - 2·alpha interval that must lie inside ±delta."""
        return self.difference(2 * alpha)


class EffectGap(Protocol):
    """A difference with its intervals."""

    def difference(self, alpha: float | Array) -> Limits:
        """The 1 - alpha interval that is shown."""
        ...

    def decisive(self, alpha: float | Array) -> Limits:
        """The 1 - 2·alpha interval that decides whether the difference is smaller than δ."""
        ...


@dataclass(frozen=True)
class EffectBatch:
    """One difference seen in several ways, each of which must allow a claim: as it is, and with missing as wrong."""

    gaps: tuple[EffectGap, ...]

    def difference(self, alpha: float | Array) -> Limits:
        """The displayed interval: of the observed difference."""
        return self.gaps[0].difference(alpha)

    def decisive(self, alpha: float | Array) -> Limits:
        """The widest of all."""
        low, high = self.gaps[0].decisive(alpha)
        for gap in self.gaps[1:]:
            low, high = _wider((low, high), gap.decisive(alpha))
        return low, high


def equivalence(gap: EffectGap, delta: Numbers, alpha: float) -> tuple[Array, Array]:
    """Whether the difference is shown to be smaller than delta, and the smallest level at which it would be.

    Without a delta (NaN) nothing can be shown.

    >>> shown, p = equivalence(RateGap(1.0, 10_000.0, 1.0, 10_000.0), 0.05, 0.05)
    >>> bool(shown), bool(p < 1e-6)
    (True, True)
    >>> bool(equivalence(RateGap(59 / 60, 60.0, 1.0, 1000.0), 0.05, 0.05)[0])
    False
    """

    def within(level: float | Array) -> Array:
        lowest, highest = gap.decisive(level)
        return np.asarray((lowest > -delta) & (highest < delta))

    with np.errstate(all="ignore"):
        shown = within(alpha)
        low = np.full(np.shape(shown), -30.0)  # logarithms of levels
        high = np.full(np.shape(shown), math.log(0.5))
        for _ in range(14):
            middle = (low + high) / 2
            inside = within(np.exp(middle))
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        p = np.where(within(0.4999), np.exp(high), 1.0)
    # The search only approximates the end, so it follows the verdict, which is exact.
    p = np.where(shown, np.minimum(p, np.nextafter(alpha, 0)), np.maximum(p, alpha))
    return shown, np.where(np.isnan(delta), np.nan, p)


@dataclass(frozen=True)
class RankBiserial:
    """P(first > second) - P(first < second) and its variance."""

    r: float
    variance: float


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
    variance = _spread(e1) + _spread(e2)
    if clusters1 is not None and clusters2 is not None:
        size = int(max(clusters1.max(), clusters2.max())) + 1
        sums = np.bincount(clusters1, e1, minlength=size) + np.bincount(clusters2, e2, minlength=size)
        used = len(np.union1d(clusters1, clusters2))
        # A cluster that makes up much of a side hides its own deviation; the weight is that of the variance of means.
        far = np.maximum(_leverage(clusters1, size), _leverage(clusters2, size))
        variance = float(used / max(used - 1, 1) * ((1 + 2 * far) * sums**2).sum())
    return RankBiserial(2 * auc - 1, 4 * variance)


def _leverage(clusters: Array, size: int) -> Array:
    """The excess of each cluster's share of a side over that of equal clusters; 0 for clusters not on the side."""
    counts = np.bincount(clusters, minlength=size)
    here = counts > 0
    return np.asarray(np.where(here, counts / len(clusters) - 1 / here.sum(), 0.0))


def _spread(e: Array) -> float:
    return float(len(e) / max(len(e) - 1, 1) * (e**2).sum())
