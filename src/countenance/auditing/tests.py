"""The tests of two sides, from their sums: rates (z or Fisher's exact), means (Welch), ranks (Mann-Whitney), pairs.

One definition each. The sums may be numbers or arrays of any shape, so the same function gives the p of the table
that was observed and of every permutation of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countenance.auditing._dist import both, tail
from countenance.auditing.exact_test import fisher
from countenance.auditing.sums import Cross, Numbers, Side, Way, covariance, way_residual
from countenance.auditing.table import Array

SMALLEST_EXPECTED = 5
SMALLEST_EXPECTED_FAR_OUT = 20
"""The fewest expected cases at which z is used for a level below .01, where its tail is less accurate."""
LARGEST_EXACT = 50_000
CLOSEST = 0.9999
"""Correlations of two estimates are limited to this."""
LEAN = 1.5
"""How many times the slope is subtracted. In simulations from 1 to 2, power rose and levels were kept up to 1.5."""


@dataclass(frozen=True)
class Tested:
    """What two sides show. All are arrays where the sums are.

    `n1`, `n2`: effective sizes (rates); `v1`, `v2`: variances of the two estimates, `rho` their correlation
    through shared clusters; `df` of the reference distribution (infinite: normal); `exact`: Fisher's test was used.
    """

    p: Numbers
    z: Numbers
    df: Numbers
    v1: Numbers
    v2: Numbers
    rho: Numbers
    n1: Numbers = math.nan
    n2: Numbers = math.nan
    exact: Numbers = False

    @property
    def se(self) -> Numbers:
        """The standard error of the difference."""
        return np.sqrt(joint(self.v1, self.v2, self.rho))


def joint(v1: Numbers, v2: Numbers, rho: Numbers) -> Numbers:
    """The variance of a difference.

    >>> float(joint(1.0, 1.0, 0.5))
    1.0
    """
    with np.errstate(all="ignore"):
        return np.maximum(v1 + v2 - 2 * rho * np.sqrt(v1 * v2), 0.0)


def mean_size(side: Side, way: Way) -> Numbers:
    """The mean size of a row's cluster, Σn_c²/n."""
    with np.errstate(all="ignore"):
        return way.nn / np.asarray(side.n, dtype=float)


def correlations(sides: list[Side]) -> list[Numbers]:
    """In each way, the correlation of rows within a cluster, pooled over sides (each about its own mean), in [0, 1].

    >>> from countenance.auditing.sums import simple
    >>> [float(icc) for icc in correlations([simple(np.array([1.0, 0.0, 1.0]))])]
    [0.0]
    """
    iccs = []
    with np.errstate(all="ignore"):
        for index in range(min(2, len(sides[0].ways))):
            excess: Numbers = 0.0
            most: Numbers = 0.0
            for side in sides:
                way, n = side.ways[index][1], np.asarray(side.n, dtype=float)
                varied = ~np.asarray(side.constant)
                excess = excess + np.where(varied, way_residual(side, way) - n * side.spread, 0.0)
                most = most + np.where(varied, n * side.spread * (mean_size(side, way) - 1), 0.0)
            iccs.append(np.where(most > 0, np.clip(excess / most, 0.0, 1.0), 0.0))
    return iccs


def implied(side: Side, iccs: list[Numbers]) -> Numbers:
    """The design effect that correlations found elsewhere imply for a side: 1 + (m - 1)·icc, the larger of two ways."""
    effect: Numbers = 1.0
    for icc, (_, way) in zip(iccs, side.ways, strict=False):
        effect = np.maximum(effect, 1 + (mean_size(side, way) - 1) * icc)
    return np.where(np.asarray(side.alone), 1.0, effect)


def own_effect(side: Side) -> Numbers:
    """A side's own design effect: its variance over that of independent rows; NaN without variance."""
    with np.errstate(all="ignore"):
        effect = side.variance / (side.spread / np.asarray(side.n, dtype=float))
    return np.where(np.asarray(side.alone), 1.0, np.where(np.asarray(side.constant), np.nan, effect))


def design_effect(side: Side, iccs: list[Numbers]) -> Numbers:
    """The larger of a side's own design effect and the one implied, never below 1; a lone cluster counts as one row."""
    effect = np.fmax(own_effect(side), implied(side, iccs))
    lone = (np.asarray(side.units) < 2) & ~np.asarray(side.alone)
    return np.where(lone, np.asarray(side.n, dtype=float), np.maximum(effect, 1.0))


def freedom(v1: Numbers, v2: Numbers, side1: Side, side2: Side, cross: Cross) -> Numbers:
    """Satterthwaite's degrees of freedom of v1 + v2, in effective clusters, less where clusters are on both sides.

    >>> from countenance.auditing.sums import simple
    >>> side = simple(np.arange(11.0))
    >>> float(freedom(1.0, 1.0, side, side, Cross()))
    20.0
    """
    with np.errstate(all="ignore"):
        parts = v1 * v1 / np.maximum(side1.effective - 1, 0.5) + v2 * v2 / np.maximum(side2.effective - 1, 0.5)
        parts = parts + 2 * v1 * v2 * cross.shared / (np.asarray(side1.n, dtype=float) * side2.n)
        return np.where(parts > 0, (v1 + v2) ** 2 / parts, 1.0)


def rates(side1: Side, side2: Side, cross: Cross, least: Numbers = SMALLEST_EXPECTED) -> Tested:
    """Pooled two-proportion z on effective sizes (Rao-Scott); Fisher's exact where an expected cell is below `least`.

    Each side's design effect is at least the one that both sides together imply; the covariance of sides that share
    clusters is taken off afterwards. Unclustered, z equals statsmodels' `proportions_ztest`. Clustered, the scale is
    estimated, so z is referred to Student's t.

    >>> from countenance.auditing.sums import simple
    >>> a, b = simple(np.repeat([1.0, 0.0], [120, 30])), simple(np.repeat([1.0, 0.0], [400, 145]))
    >>> tested = rates(a, b, Cross())
    >>> round(float(tested.z), 6), round(float(tested.p), 6)
    (1.650523, 0.098836)
    """
    iccs = correlations([side1, side2])
    with np.errstate(all="ignore"):
        n1, n2 = np.asarray(side1.n, dtype=float), np.asarray(side2.n, dtype=float)
        rate1, rate2 = side1.total / n1, side2.total / n2
        m1, m2 = n1 / design_effect(side1, iccs), n2 / design_effect(side2, iccs)
        pooled = (side1.total + side2.total) / (n1 + n2)
        row = pooled * (1 - pooled)
        v1 = np.where(side1.constant, row, side1.spread) / m1
        v2 = np.where(side2.constant, row, side2.spread) / m2
        rho = _correlation(side1, side2, cross, v1, v2)
        null1, null2 = row / m1, row / m2
        variance = joint(null1, null2, rho)
        z = (rate1 - rate2) / np.sqrt(variance)
        solo = np.asarray(side1.alone) & np.asarray(side2.alone) & (np.asarray(cross.shared) == 0)
        df = np.where(solo, np.inf, freedom(1 / m1, 1 / m2, side1, side2, cross))
        p = np.asarray(both(z, df))
        # Sides that share clusters carry more information than two independent samples of their size.
        worth = variance / (null1 + null2)
        e1, e2 = m1 / worth, m2 / worth
        share = (rate1 * e1 + rate2 * e2) / (e1 + e2)
        expected = np.minimum(e1, e2) * np.minimum(share, 1 - share)
        same = np.asarray(side1.constant) & np.asarray(side2.constant) & (rate1 == rate2)
        exact = (expected < least) & ~same & np.isfinite(e1) & np.isfinite(e2)
        if exact.any():
            cells = (rate1 * e1, (1 - rate1) * e1, rate2 * e2, (1 - rate2) * e2)
            p = np.array(p)
            counted = fisher(*(np.rint(np.broadcast_to(cell, p.shape)[exact]) for cell in cells))
            # Fisher's test treats effective counts as exact. With few clusters they are uncertain; the t test includes
            # that.
            scaled = ~np.broadcast_to(solo, p.shape)[exact]
            p[exact] = np.where(scaled, np.fmax(counted, p[exact]), counted)
        p = np.where(same | ~np.isfinite(p), 1.0, p)
    return Tested(p, z, df, v1, v2, rho, m1, m2, exact)


def means(side1: Side, side2: Side, cross: Cross, further: float = 0.0) -> Tested:
    """Welch's t, cluster-robust. Each side has at least the variance that the rows of both imply.

    A small group that happens to show none of the rare values would otherwise have a variance near 0. `further` is
    added to the squares of the rows: values known to be possible that may not have occurred.

    >>> from countenance.auditing.sums import simple
    >>> tested = means(simple(np.array([1.0, 2.0, 3.0])), simple(np.array([2.0, 4.0, 6.0])), Cross())
    >>> round(float(tested.z), 6), round(float(tested.df), 6)
    (-1.455214, 3.420118)
    """
    with np.errstate(all="ignore"):
        return _welch(side1, side2, cross, _least_variances(side1, side2, further), further)


def _welch(side1: Side, side2: Side, cross: Cross, floors: tuple[Numbers, Numbers], further: float = 0.0) -> Tested:
    """Welch's t with variances no smaller than `floors`."""
    with np.errstate(all="ignore"):
        v1, v2 = np.fmax(side1.variance, floors[0]), np.fmax(side2.variance, floors[1])
        rho = _correlation(side1, side2, cross, v1, v2)
        z = _distance(side1, side2) / np.sqrt(joint(v1, v2, rho))
        df = freedom(v1, v2, side1, side2, cross)
        p = np.asarray(both(z, df))
        still = np.asarray(side1.constant) & np.asarray(side2.constant) & (further == 0)
        p = np.where(still | ~np.isfinite(p), 1.0, p)
    return Tested(p, z, df, v1, v2, rho)


def unskewed(side1: Side, side2: Side, cross: Cross) -> Array:
    """The p of `means` without the part of a side's variance that its own mean explains, if sums of cubes are known.

    The mean of few skewed values and its variance go together: a group with more zeros has a lower mean and a larger
    variance, and t hides it. Regressed on the mean, an estimated variance has the slope third moment / variance. What
    that slope, times `LEAN`, explains of a side's distance from the common mean is taken off, down to the variance that
    the rows of both sides imply. Sides that are not skewed keep Welch's t.
    """
    if side1.thirds is None or side2.thirds is None:
        return np.asarray(means(side1, side2, cross).p)
    with np.errstate(all="ignore"):
        floor1, floor2 = floors = _least_variances(side1, side2)
        tested = _welch(side1, side2, cross, floors)
        n1, n2 = np.asarray(side1.n, dtype=float), np.asarray(side2.n, dtype=float)
        common = (side1.total + side2.total) / (n1 + n2)
        v1 = np.fmax(side1.variance - LEAN * _slope(side1) * (side1.total / n1 - common), floor1)
        v2 = np.fmax(side2.variance - LEAN * _slope(side2) * (side2.total / n2 - common), floor2)
        t = _distance(side1, side2) / np.sqrt(joint(v1, v2, tested.rho))
        p = np.asarray(both(t, tested.df))
    return np.where(np.isfinite(p) & (np.asarray(tested.p) < 1), p, tested.p)


def _least_variances(side1: Side, side2: Side, further: float = 0.0) -> tuple[Numbers, Numbers]:
    """The variances of two estimates that the rows of both sides imply, and their correlation within clusters."""
    iccs = correlations([side1, side2])
    n1, n2 = np.asarray(side1.n, dtype=float), np.asarray(side2.n, dtype=float)
    row = (n1 * side1.spread + n2 * side2.spread + further) / (n1 + n2)
    return row * implied(side1, iccs) / n1, row * implied(side2, iccs) / n2


def _distance(side1: Side, side2: Side) -> Numbers:
    return side1.total / np.asarray(side1.n, dtype=float) - side2.total / np.asarray(side2.n, dtype=float)


def _slope(side: Side) -> Array:
    """How much the variance of a side's estimate grows with the estimate: its third cumulant over its variance."""
    n = np.asarray(side.n, dtype=float)
    rate = side.total / n
    yyy, yyn, ynn, nnn = side.thirds or (0.0, 0.0, 0.0, 0.0)
    third = (yyy - 3 * rate * yyn + 3 * rate**2 * ynn - rate**3 * nnn) / n**3
    slope = np.asarray(third / (way_residual(side, side.first) / n**2))
    return np.where(np.isfinite(slope), slope, 0.0)


def _correlation(side1: Side, side2: Side, cross: Cross, v1: Numbers, v2: Numbers) -> Numbers:
    if not cross.ways:
        return np.zeros(np.shape(v1))
    rho = covariance(side1, side2, cross) / np.sqrt(v1 * v2)
    return np.clip(np.where(np.isfinite(rho), rho, 0.0), -CLOSEST, CLOSEST)


def compare(kind: str, side1: Side, side2: Side, cross: Cross, least: Numbers = SMALLEST_EXPECTED) -> Tested:
    """The test of a rate, of a mean, or of the change of a rate (one more row gained or lost was possible)."""
    return rates(side1, side2, cross, least) if kind == "rate" else means(side1, side2, cross, float(kind == "change"))


def mcnemar(gains: Array, losses: Array) -> tuple[str, float, float]:
    """Exact McNemar from counts per cluster: pairs right only in the first, pairs right only in the second.

    Whole clusters swap their conditions under the null, so the null is Σ±|gain - loss|, worked out exactly. With one
    discordant pair a cluster it equals statsmodels' `mcnemar(exact=True)`. Gives the name, the smaller count and p.

    >>> _, fewer, p = mcnemar(np.repeat([1, 0], [8, 2]), np.repeat([0, 1], [8, 2]))
    >>> fewer, round(p, 6)
    (2.0, 0.109375)
    """
    # Discordant pairs within a cluster are correlated; with one pair per cluster they are independent.
    net = gains - losses
    observed = abs(int(net.sum()))
    statistic = float(min(gains.sum(), losses.sum()))
    name = "McNemar exact" if (gains + losses).max(initial=0) <= 1 else "McNemar exact (clusters swapped)"
    if not observed:
        return name, statistic, 1.0
    if _too_many_swaps(net):
        return name, statistic, float(2 * tail(observed / math.sqrt(float((net**2).sum()))))
    distances, null = _swapped(net)
    return name, statistic, float(min(1.0, null[distances >= observed].sum()))


def mcnemar_attainable(gains: Array, losses: Array) -> Array | None:
    """Every p that exact McNemar can give with these discordant pairs, rising; None where p is an approximation.

    >>> mcnemar_attainable(np.array([1, 0, 1]), np.array([0, 1, 0]))
    array([0.25, 1. ])
    """
    net = gains - losses
    if _too_many_swaps(net):
        return None
    distances, null = _swapped(net)
    return np.array([min(1.0, null[distances >= least].sum()) for least in np.unique(distances)[::-1]])


def _too_many_swaps(net: Array) -> bool:
    """Whether the exact null would take too long; the normal distribution is close by then."""
    return bool(np.abs(net).sum() > LARGEST_EXACT and np.abs(net).max() > 1)


def _swapped(net: Array) -> tuple[Array, Array]:
    """The distances from 0 that Σ± can have when whole clusters swap, and how probable each is."""
    from scipy import stats

    sizes = np.abs(net).astype(np.int64)
    sizes, null = sizes[sizes > 0], np.ones(1)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        step = np.zeros(count * size + 1)
        step[::size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        null = np.convolve(null, step)
    possible = null > 0
    return np.abs(2 * np.arange(len(null)) - int(sizes.sum()))[possible], null[possible]
