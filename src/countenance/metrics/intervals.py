"""Intervals of rates and means whose trials come in clusters: the pictures of a person are not independent.

Rates: Wilson's interval on the effective size p(1 - p) / V, with Student's t on the effective number of clusters. V is
the linearised variance over clusters and never smaller than that of independent trials. Means: the same V with a
symmetric t interval. The degrees of freedom also account for how uncertain V itself is (its relative variance is about
(kurtosis - 1) / clusters): a few clusters with most of the errors are worth few clusters.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LEVEL = 0.95
LEAST_DF = 3.0


class IntervalEstimate(NamedTuple):
    """A rate or mean with its interval; `n` trials of `clusters` clusters."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


NOTHING = IntervalEstimate(np.nan, np.nan, np.nan, 0, 0)


def student(df: ArrayLike, level: float = LEVEL) -> Array:
    """The half-width of a two-sided interval in standard errors; for infinite df from the normal distribution.

    >>> student([4.0, np.inf]).round(4)
    array([2.7764, 1.96  ])
    """
    from scipy import special

    freedom = np.asarray(df, dtype=np.float64)
    share = 1 - (1 - level) / 2
    finite = np.where(np.isinf(freedom), 1e9, np.maximum(freedom, 1.0))
    return np.asarray(np.where(np.isinf(freedom), special.ndtri(share), special.stdtrit(finite, share)))


def wilson(rate: ArrayLike, size: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
    """Wilson's score interval of a rate seen in `size` (effective) trials, t standard errors wide. No trials: NaN.

    >>> low, high = wilson(0.8, 150, 1.959964)
    >>> round(float(low), 6), round(float(high), 6)
    (0.728859, 0.856159)
    """
    p, n, z = (np.asarray(value, dtype=np.float64) for value in (rate, size, t))
    with np.errstate(divide="ignore", invalid="ignore"):
        below = 1 + z * z / n
        centre = (p + z * z / (2 * n)) / below
        half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / below
    return np.minimum(np.maximum(centre - half, 0), p), np.maximum(np.minimum(centre + half, 1), p)


def freedom(residuals: Array, effective: ArrayLike, used: int = 1) -> Array:
    """Degrees of freedom of a variance made from the residuals of clusters (the last axis runs over clusters).

    At most the effective number of clusters less the parameters used, and fewer when the squares of a few clusters
    are most of the sum.

    >>> freedom(np.array([1.0, -1.0, 1.0, -1.0] * 5), 20.0)
    array(19.)
    """
    most = np.maximum(np.asarray(effective, dtype=np.float64) - used, 1.0)
    squares = (residuals**2).sum(axis=-1)
    count = residuals.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = count * (residuals**4).sum(axis=-1) / squares**2
        own = 2 * count / np.maximum(kurtosis - 1, 1e-9)
    return np.asarray(np.minimum(most, np.maximum(np.nan_to_num(own, nan=np.inf), LEAST_DF)))


def by_cluster(values: Array, cluster: NDArray[np.int64]) -> tuple[Array, Array]:
    """Sum and number of the values of each cluster, as the functions below take them.

    >>> by_cluster(np.array([1.0, 0.0, 1.0]), np.array([0, 0, 2]))
    (array([1., 0., 1.]), array([2., 0., 1.]))
    """
    return np.bincount(cluster, values).astype(np.float64), np.bincount(cluster).astype(np.float64)


def correlation(groups: list[tuple[Array, Array]]) -> float:
    """The correlation of trials within clusters, pooled over groups of (errors, trials) a cluster, each about its rate.

    >>> correlation([(np.array([2.0, 0.0, 2.0, 0.0]), np.full(4, 2.0))])
    1.0
    """
    excess = room = 0.0
    for errors, trials in groups:
        total = trials.sum()
        if total > 0:
            p = errors.sum() / total
            excess += float(((errors - p * trials) ** 2).sum() - total * p * (1 - p))
            room += float(p * (1 - p) * ((trials**2).sum() - total))
    return min(1.0, max(0.0, excess / room)) if room > 0 else 0.0


def clustered_rate(errors: Array, trials: Array, level: float = LEVEL, icc: float = 0.0) -> IntervalEstimate:
    """A rate over clusters that have some errors in some trials each.

    `icc` is the correlation within clusters found in a larger pool: the variance is at least what it implies. One
    cluster has no interval.

    >>> estimate = clustered_rate(np.array([0.0, 1.0, 4.0, 0.0]), np.array([4.0, 4.0, 4.0, 4.0]))
    >>> estimate.value, estimate.n, estimate.clusters
    (0.3125, 16, 4)
    """
    tried = trials > 0
    k, n = errors[tried], trials[tried]
    total, clusters = float(n.sum()), len(n)
    if not clusters:
        return NOTHING
    p = float(k.sum() / total)
    if clusters < 2:
        return IntervalEstimate(p, np.nan, np.nan, round(total), clusters)
    effective = total**2 / float((n**2).sum())
    residual = k - p * n
    alone = p * (1 - p) / total
    implied = alone * (1 + (float((n**2).sum()) / total - 1) * icc)
    variance = max(clusters / (clusters - 1) * float((residual**2).sum()) / total**2, alone, implied)
    # With no errors, or only errors, the correlation within clusters cannot be estimated; each cluster counts as one
    # trial.
    size = p * (1 - p) / variance if variance > 0 else effective
    low, high = wilson(p, size, student(freedom(residual, effective), level))
    return IntervalEstimate(p, float(low), float(high), round(total), clusters)


def macro_mean(
    values: Array, cells: NDArray[np.int64], person: NDArray[np.int64], level: float = LEVEL
) -> IntervalEstimate:
    """The mean of the means of cells: every cell has the same weight, however many values it has. Clustered by person.

    >>> macro_mean(np.array([1.0, 1.0, 1.0, 5.0]), np.array([0, 0, 0, 1]), np.arange(4)).value
    3.0
    """
    if not len(values):
        return NOTHING
    _, cell, size = np.unique(cells, return_inverse=True, return_counts=True)
    _, who = np.unique(person, return_inverse=True)
    weight = 1 / (len(size) * size[cell])
    means = np.bincount(cell, values) / size
    mean, people = float(means.mean()), int(who.max()) + 1
    if people < 2:
        return IntervalEstimate(mean, np.nan, np.nan, len(values), people)
    residual = np.asarray(np.bincount(who, weight * (values - means[cell])), dtype=np.float64)
    share = np.bincount(who, weight)
    variance = people / (people - 1) * float((residual**2).sum())
    half = float(student(freedom(residual, 1 / float((share**2).sum()), len(size)), level)) * variance**0.5
    return IntervalEstimate(mean, mean - half, mean + half, len(values), people)


def clustered_mean(sums: Array, counts: Array, level: float = LEVEL) -> IntervalEstimate:
    """A mean over clusters that have a sum of values and a number of values each.

    >>> [round(x, 4) for x in clustered_mean(np.array([1.0, 2.0, 3.0]), np.ones(3))[:3]]
    [2.0, -0.4841, 4.4841]
    """
    seen = counts > 0
    y, n = sums[seen], counts[seen]
    total, clusters = float(n.sum()), len(n)
    if not clusters:
        return NOTHING
    mean = float(y.sum() / total)
    if clusters < 2:
        return IntervalEstimate(mean, np.nan, np.nan, round(total), clusters)
    residual = y - mean * n
    variance = clusters / (clusters - 1) * float((residual**2).sum()) / total**2
    half = float(student(freedom(residual, total**2 / float((n**2).sum())), level)) * variance**0.5
    return IntervalEstimate(mean, mean - half, mean + half, round(total), clusters)


def bootstrap_interval(
    statistic: Callable[[Array], float],
    clusters: int,
    *,
    replicates: int = 500,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of `statistic(weights)` when clusters are resampled (`weights`: how often each is drawn).

    >>> values = np.arange(100.0)
    >>> low, high = bootstrap_interval(lambda w: float((w * values).sum() / w.sum()), 100)
    >>> low < 49.5 < high
    True
    """
    if clusters == 0:
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    share = np.full(clusters, 1 / clusters)
    values = [statistic(random.multinomial(clusters, share).astype(np.float64)) for _ in range(replicates)]
    finite = np.array([value for value in values if np.isfinite(value)])
    if finite.size == 0:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    return float(np.quantile(finite, tail)), float(np.quantile(finite, 1 - tail))
