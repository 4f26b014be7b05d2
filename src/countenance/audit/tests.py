"""Room: audit. Two-proportion z, Fisher, Welch, Mann-Whitney, McNemar; each told about clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countenance.audit._dist import both
from countenance.audit.effects import RankBiserial, z_of_u
from countenance.audit.estimates import Side, correlation, design_effect
from countenance.audit.sides import Cross
from countenance.audit.table import Array

SMALLEST_EXPECTED = 5
LARGEST_EXACT = 50_000


@dataclass(frozen=True)
class Test:
    """A test's name, statistic and two-sided p; `z` for the record; `df` of the reference distribution."""

    __test__ = False

    name: str
    statistic: float
    p: float
    z: float = math.nan
    df: float = math.inf


@dataclass(frozen=True)
class Effective:
    """Two sides' effective sizes, their design effects, and degrees of freedom (infinite: unclustered)."""

    n1: float
    n2: float
    deff1: float
    deff2: float
    df: float


def effective(one: Side, two: Side, cross: Cross) -> Effective:
    """The sizes two sides would have if their rows were independent.

    A side's design effect is the larger of its own and the one implied by the correlation pooled over both
    sides: a small group's own estimate is noisy, and one that happens to be all right or all wrong has
    none. Clusters with rows on both sides make the difference steadier (or, rarely, shakier): both design
    effects are scaled by the variance of the difference over the sum of variances. Never below 1.

    >>> from countenance.audit.estimates import simple
    >>> s = simple(np.array([1.0, 0.0, 1.0]))
    >>> effective(s, s, Cross())
    Effective(n1=3.0, n2=3.0, deff1=1.0, deff2=1.0, df=inf)
    """
    if one.alone and two.alone and cross.nn == 0:
        return Effective(float(one.n), float(two.n), 1.0, 1.0, math.inf)
    icc = correlation([one, two])
    deffs = [max(design_effect(side, icc), 1 + (side.size - 1) * icc) for side in (one, two)]
    apart = one.residual / one.n**2 + two.residual / two.n**2
    if cross.nn and apart > 0:
        joint = apart - 2 * covariance(one, two, cross)
        deffs = [max(1.0, deff * max(joint, 0.0) / apart) for deff in deffs]
    n1, n2 = one.n / deffs[0], two.n / deffs[1]
    return Effective(n1, n2, deffs[0], deffs[1], freedom(1 / n1, one.clusters, 1 / n2, two.clusters))


def covariance(one: Side, two: Side, cross: Cross) -> float:
    """The linearised covariance of the two estimates through shared clusters.

    >>> from countenance.audit.estimates import simple
    >>> s = simple(np.array([1.0, 0.0]))
    >>> covariance(s, s, Cross())
    0.0
    """
    r1, r2 = one.total / one.n, two.total / two.n
    return (cross.yy - r2 * cross.yn - r1 * cross.ny + r1 * r2 * cross.nn) / (one.n * two.n)


def freedom(v1: float, clusters1: int, v2: float, clusters2: int) -> float:
    """Satterthwaite's degrees of freedom of v1 + v2.

    >>> freedom(1.0, 11, 1.0, 11)
    20.0
    """
    parts = sum(v * v / (c - 1) for v, c in ((v1, clusters1), (v2, clusters2)) if c > 1)
    return (v1 + v2) ** 2 / parts if parts > 0 else 1.0


def two_rates(one: Side, two: Side, sizes: Effective) -> Test:
    """Pooled two-proportion z on effective sizes (Rao-Scott); Fisher's exact if an expected cell is < 5.

    Unclustered it equals statsmodels' `proportions_ztest`. Clustered, the scale is estimated from finitely
    many clusters, so z is referred to Student's t.

    >>> from countenance.audit.estimates import simple
    >>> a, b = simple(np.repeat([1.0, 0.0], [120, 30])), simple(np.repeat([1.0, 0.0], [400, 145]))
    >>> t = two_rates(a, b, effective(a, b, Cross()))
    >>> t.name, round(t.statistic, 6), round(t.p, 6)
    ('two-proportion z', 1.650523, 0.098836)
    """
    from scipy import stats

    pooled = (one.total + two.total) / (one.n + two.n)
    scale = math.sqrt(pooled * (1 - pooled) * (1 / sizes.n1 + 1 / sizes.n2))
    z = (one.mean - two.mean) / scale
    k1, k2 = one.total / sizes.deff1, two.total / sizes.deff2
    share = (k1 + k2) / (sizes.n1 + sizes.n2)
    expected = min(sizes.n1, sizes.n2) * min(share, 1 - share)
    clustered = math.isfinite(sizes.df)
    if expected < SMALLEST_EXPECTED:
        cells = np.rint([[k1, sizes.n1 - k1], [k2, sizes.n2 - k2]]).astype(np.int64)
        odds, p = stats.fisher_exact(cells)
        return Test("Fisher's exact" + (" (effective counts)" if clustered else ""), float(odds), float(p), z)
    name = "two-proportion z (Rao-Scott)" if clustered else "two-proportion z"
    return Test(name, z, both(z, sizes.df), z, sizes.df)


def two_means(one: Side, two: Side, cross: Cross) -> tuple[Test, float]:
    """Cluster-robust Welch t and the standard error of the difference.

    Unclustered it equals scipy's `ttest_ind(equal_var=False)`. Clustered, a side's variance is at least
    what spread and correlation pooled over both sides imply (see `effective`).

    >>> from countenance.audit.estimates import simple
    >>> t, se = two_means(simple(np.array([1.0, 2.0, 3.0])), simple(np.array([2.0, 4.0, 6.0])), Cross())
    >>> t.name, round(t.statistic, 6), round(t.p, 6), round(se, 6)
    ('Welch t', -1.549193, 0.220881, 1.290994)
    """
    alone = one.alone and two.alone and not cross.nn
    v1, v2 = one.variance, two.variance
    if not alone:
        v1, v2 = (max(v, least) for v, least in zip((v1, v2), _least(one, two), strict=True))
    joint = v1 + v2
    apart = one.residual / one.n**2 + two.residual / two.n**2
    if cross.nn and apart > 0:
        joint *= max(0.0, 1 - 2 * covariance(one, two, cross) / apart)
    se = math.sqrt(joint)
    df = freedom(v1, one.clusters, v2, two.clusters)
    t = (one.mean - two.mean) / se if se > 0 else math.nan
    name = "Welch t" if alone else "Welch t (cluster-robust)"
    return Test(name, t, both(t, df), t, df), se


def _least(one: Side, two: Side) -> list[float]:
    """Variances from spread and correlation pooled over both sides; a small side's own is often too small."""
    icc = correlation([one, two])
    spread = (one.n * one.spread + two.n * two.spread) / (one.n + two.n)
    return [spread * (1 + (side.size - 1) * icc) / side.n for side in (one, two)]


def mann_whitney(x: Array, y: Array, ranks: RankBiserial, df: float) -> Test:
    """Mann-Whitney, two-sided, as scipy's; clustered (df finite), z of U over the root of the design effect.

    >>> from countenance.audit.effects import rank_biserial
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    >>> t = mann_whitney(x, y, rank_biserial(np.array([0, 1, 2]), np.array([3, 4, 5])), math.inf)
    >>> t.statistic, round(t.p, 6)
    (0.0, 0.1)
    """
    from scipy import stats

    z = z_of_u(ranks, len(x), len(y))
    if math.isinf(df):
        found = stats.mannwhitneyu(x, y, alternative="two-sided")
        return Test("Mann-Whitney", float(found.statistic), float(found.pvalue), z)
    deff = max(1.0, ranks.variance / ranks.simple) if ranks.simple > 0 else 1.0
    z /= math.sqrt(deff)
    return Test("Mann-Whitney (Rao-Scott)", ranks.u, both(z, df), z, df)


def mcnemar(gains: Array, losses: Array) -> Test:
    """Exact McNemar from counts per cluster: pairs right only in the first, pairs right only in the second.

    Whole clusters swap their conditions under the null, so the null is Σ±|gain - loss|, worked out exactly.
    With one discordant pair a cluster it equals statsmodels' `mcnemar(exact=True)`. The statistic is the
    smaller count.

    >>> t = mcnemar(np.repeat([1, 0], [8, 2]), np.repeat([0, 1], [8, 2]))
    >>> t.statistic, round(t.p, 6)
    (2.0, 0.109375)
    """
    # Discordant pairs of one cluster move together; with one pair a cluster they are plain coin tosses.
    net = np.abs(gains - losses).astype(np.int64)
    observed = abs(int((gains - losses).sum()))
    statistic = float(min(gains.sum(), losses.sum()))
    name = "McNemar exact" if (gains + losses).max(initial=0) <= 1 else "McNemar exact (clusters swapped)"
    net = net[net > 0]
    if observed == 0 or not len(net):
        return Test(name, statistic, 1.0)
    from scipy import stats

    if net.sum() > LARGEST_EXACT and net.max() > 1:  # the exact null would take too long; it is normal by now
        return Test(name, statistic, both(observed / math.sqrt(float((net**2).sum()))))
    null = np.ones(1)
    for size, count in zip(*np.unique(net, return_counts=True), strict=True):
        step = np.zeros(count * size + 1)
        step[::size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        null = np.convolve(null, step)
    sums = 2 * np.arange(len(null)) - int(net.sum())
    return Test(name, statistic, float(min(1.0, null[np.abs(sums) >= observed].sum())))
