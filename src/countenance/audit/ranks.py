"""Ranks: one ranking a metric serves every comparison with the rest.

The rank-biserial correlation of a group with the rest is 2(R̄₁ - R̄₂)/N, R̄ the mean ranks of the two sides and N their
rows: the difference of two means. So the sums that serve means serve ranks too.
"""

from __future__ import annotations

import math

import numpy as np

from countenance.audit._dist import both, quantile
from countenance.audit.effects import RankBiserial, rank_biserial, z_of_u
from countenance.audit.layout import Column
from countenance.audit.sums import Cross, Numbers, Side, covariance
from countenance.audit.table import Array

EXACT_UP_TO = 8
"""The size up to which scipy works out Mann and Whitney's distribution exactly, where there are no ties."""


def dense_ranks(values: Array) -> Array:
    """Each value's place among the distinct values; NaN has -1.

    >>> dense_ranks(np.array([0.5, np.nan, 0.1, 0.5])).tolist()
    [1, -1, 0, 1]
    """
    found = np.full(len(values), -1, dtype=np.int32)
    known = ~np.isnan(values)
    found[known] = np.unique(values[known], return_inverse=True)[1]
    return found


def rank_column(column: Column, dense: Array, known: Array) -> Column:
    """The ranks of the rows that are known, ties sharing their mean rank; about their mean.

    >>> column = Column("x", "mean", np.array([0.5, 0.1, 0.5]))
    >>> rank_column(column, dense_ranks(column.values), np.array([True, True, True])).values.tolist()
    [0.5, -1.0, 0.5]
    """
    use = known & (dense >= 0)
    counts = np.bincount(dense[use])
    middle = np.cumsum(counts) - counts / 2 + 0.5
    centre = (int(use.sum()) + 1) / 2
    values = np.full(len(dense), np.nan)
    values[use] = middle[dense[use]] - centre
    name = f"{column.name} (ranks{'' if known.all() else f' of {int(use.sum())}'})"
    return Column(name, "mean", values, 0.0)


def against_rest(one: Side, two: Side, cross: Cross, alpha: float) -> tuple[Array, Array, Array]:
    """The rank-biserial correlations of groups with the rest, with intervals, from the sums of ranks."""
    with np.errstate(all="ignore"):
        scale = 2 / (np.asarray(one.n, dtype=float) + two.n)
        r = (np.asarray(one.mean) - two.mean) * scale
        variance = np.fmax(one.variance, 0) + np.fmax(two.variance, 0) - 2 * covariance(one, two, cross)
        half = quantile(1 - alpha / 2) * scale * np.sqrt(np.maximum(variance, 0.0))
    return r, np.maximum(r - half, -1.0), np.minimum(r + half, 1.0)


def between(dense: Array, rows1: Array, rows2: Array, clusters: tuple[Array, ...]) -> RankBiserial:
    """The rank-biserial correlation of two groups of rows; of two ways of clustering, the larger variance."""
    found = rank_biserial(dense[rows1], dense[rows2])
    for codes in clusters:
        other = rank_biserial(dense[rows1], dense[rows2], codes[rows1], codes[rows2])
        found = other if other.variance > found.variance else found
    return found


def mann_whitney(x: Array, y: Array, ranks: RankBiserial, df: float) -> tuple[str, float, float, float]:
    """Mann-Whitney, two-sided, as scipy's; clustered (df finite), z of U over the root of the design effect.

    Gives the name of the test, U, p and z.

    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    >>> _, u, p, _ = mann_whitney(x, y, rank_biserial(np.array([0, 1, 2]), np.array([3, 4, 5])), math.inf)
    >>> u, round(p, 6)
    (0.0, 0.1)
    """
    n1, n2 = len(x), len(y)
    z = z_of_u(ranks, n1, n2)
    if math.isinf(df):
        if min(n1, n2) <= EXACT_UP_TO and ranks.ties == 0:
            from scipy import stats

            return "Mann-Whitney", ranks.u, float(stats.mannwhitneyu(x, y, alternative="two-sided").pvalue), z
        middle = n1 * n2 / 2
        far = max(abs(ranks.u - middle) - 0.5, 0.0)  # corrected for continuity
        p = both(far * abs(z) / abs(ranks.u - middle)) if ranks.u != middle else 1.0
        return "Mann-Whitney", ranks.u, float(p), z
    z /= math.sqrt(rank_effect(ranks))
    return "Mann-Whitney (Rao-Scott)", ranks.u, float(both(z, df)), z


def rank_effect(ranks: RankBiserial) -> float:
    """The design effect of a rank-biserial correlation, never below 1."""
    return max(1.0, ranks.variance / ranks.simple) if ranks.simple > 0 else 1.0


def kurtosis(values: Array) -> float:
    """The kurtosis of a column (3 for a normal one), NaN left out; 3 where nothing varies.

    >>> round(kurtosis(np.repeat([0.0, 1.0], [95, 5])), 2)
    18.05
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return 3.0
    known = known - known.mean()
    square = known * known
    second: Numbers = square.mean()
    return float((square @ square) / len(known) / second**2) if second > 0 else 3.0
