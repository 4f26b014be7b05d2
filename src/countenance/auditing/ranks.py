"""Ranks: the typical value of a group. One ranking a metric serves every comparison.

The rank-biserial correlation of a group with the rest is 2(R̄₁ - R̄₂)/N, R̄ the mean ranks of the two sides and N how many
are ranked: the difference of two means. So the sums that serve means serve ranks too. Where no person is on both sides,
people are ranked by their means; else rows are, and belong to people.
"""

from __future__ import annotations

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.effects import RankBiserial, rank_biserial
from countenance.auditing.layout import Column, Layout
from countenance.auditing.small_groups import person_column
from countenance.auditing.sums import Cross, Numbers, Side, cluster_means, covariance
from countenance.auditing.table import Array


def dense_ranks(values: Array) -> Array:
    """Each value's place among the distinct values; NaN has -1.

    >>> dense_ranks(np.array([0.5, np.nan, 0.1, 0.5])).tolist()
    [1, -1, 0, 1]
    """
    places = np.full(len(values), -1, dtype=np.int32)
    known = ~np.isnan(values)
    places[known] = np.unique(values[known], return_inverse=True)[1]
    return places


def midranks(dense: Array) -> Array:
    """The ranks of values by their dense ranks, ties sharing their mean rank, about their mean; NaN for no value.

    >>> midranks(dense_ranks(np.array([0.5, 0.1, 0.5]))).tolist()
    [0.5, -1.0, 0.5]
    """
    known = dense >= 0
    counts = np.bincount(dense[known])
    middle = np.cumsum(counts) - counts / 2 + 0.5
    ranks = np.full(len(dense), np.nan)
    ranks[known] = middle[dense[known]] - (int(known.sum()) + 1) / 2
    return ranks


def people_means(layout: Layout, column: Column) -> Array:
    """The mean of every unit, rounded where sums of floats may differ by their order; NaN without a score."""
    n, y, _ = layout.cluster_sums(column)
    means = np.where(n > 0, cluster_means(n, y), np.nan)
    scale = np.nanmax(np.abs(means), initial=0.0) or 1.0
    return np.asarray(np.round(means / scale, 12) * scale + 0.0)


def rank_column(name: str, dense: Array, layout: Layout | None = None) -> Column:
    """Ranks as a column: of rows, or of people where a layout says which rows are theirs.

    >>> rank_column("x", dense_ranks(np.array([0.5, 0.1, 0.5]))).values.tolist()
    [0.5, -1.0, 0.5]
    """
    if layout is None:
        return Column(f"{name} (ranks)", "mean", midranks(dense))
    return person_column(f"{name} (ranks of people)", midranks(dense), layout)


def against_rest(side1: Side, side2: Side, cross: Cross, ranked: Numbers, alpha: float) -> tuple[Array, Array, Array]:
    """The rank-biserial correlations of groups with the rest, with intervals, from sums of `ranked` ranks."""
    with np.errstate(all="ignore"):
        scale = 2 / np.asarray(ranked, dtype=float)
        r = (np.asarray(side1.mean) - side2.mean) * scale
        variance = np.fmax(side1.variance, 0) + np.fmax(side2.variance, 0) - 2 * covariance(side1, side2, cross)
        half = quantile(1 - alpha / 2) * scale * np.sqrt(np.maximum(variance, 0.0))
        r = np.clip(r, -1.0, 1.0)
    return r, np.maximum(r - half, -1.0), np.minimum(r + half, 1.0)


def between(dense: Array, first: Array, second: Array, clusters: tuple[Array, ...]) -> RankBiserial:
    """The rank-biserial correlation of two groups of rows or people; of two ways of clustering, the larger variance."""
    plain = rank_biserial(dense[first], dense[second])
    for codes in clusters:
        other = rank_biserial(dense[first], dense[second], codes[first], codes[second])
        plain = other if other.variance > plain.variance else plain
    return plain


def kurtosis(values: Array) -> float:
    """The kurtosis of a column (3 for a normal one), NaN left out; 3 where nothing varies.

    >>> round(kurtosis(np.repeat([0.0, 1.0], [95, 5])), 2)
    18.05
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return 3.0
    away, spread = _standardised(known)
    square = away * away
    return float((square @ square) / len(known)) if spread > 0 else 3.0


def skewness(column: Column) -> float:
    """The skewness of a column (0 for a symmetrical one), NaN left out; 0 where nothing varies.

    >>> round(skewness(Column("x", "mean", np.repeat([0.0, 1.0], [95, 5]))), 2)
    4.13
    """
    if column.shape is not None:
        return column.shape.skewness
    known = column.values[~np.isnan(column.values)]
    if not len(known):
        return 0.0
    away, spread = _standardised(known)
    return float((away * away * away).mean()) if spread > 0 else 0.0


def _standardised(values: Array) -> tuple[Array, float]:
    """How many standard deviations values lie from their mean, and that deviation; powers of them do not overflow."""
    away = values - values.mean()
    spread = float(away.std())
    return away / (spread or 1.0), spread
