"""Room: audit. One group's number and its interval, with rows of one cluster not taken as independent.

Everything is computed from sums over clusters: with n_c rows and sum y_c in cluster c and the ratio r =
Σy/Σn, the linearised variance of r is C/(C-1) · Σ(y_c - r·n_c)² / n².
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from countenance.audit._dist import quantile
from countenance.audit.table import Array


@dataclass(frozen=True)
class Side:
    """One side of a comparison: rows, their sum, and sums over clusters.

    `nn`, `yn`, `yy`: Σn_c², Σy_c·n_c, Σy_c². `squares`: Σy² over rows. `centre` was subtracted from every y.
    """

    n: int
    total: float
    clusters: int
    nn: float
    yn: float
    yy: float
    squares: float
    centre: float = 0.0

    @property
    def mean(self) -> float:
        """The estimate (rate or mean); NaN without rows."""
        return self.total / self.n + self.centre if self.n else math.nan

    @property
    def alone(self) -> bool:
        """Every row is a cluster of its own."""
        return self.nn == self.n

    @property
    def size(self) -> float:
        """The mean size of a row's cluster, Σn_c²/n."""
        return self.nn / self.n if self.n else math.nan

    @property
    def residual(self) -> float:
        """Σ(y_c - r·n_c)²."""
        r = self.total / self.n
        return max(self.yy - 2 * r * self.yn + r * r * self.nn, 0.0)

    @property
    def variance(self) -> float:
        """The linearised variance of the estimate; NaN when one cluster is all there is."""
        if self.clusters < 2:
            return math.nan
        return self.clusters / (self.clusters - 1) * self.residual / self.n**2

    @property
    def spread(self) -> float:
        """Σ(y - mean)²/n: the variance of a row; p(1-p) for a rate."""
        r = self.total / self.n
        return max(self.squares / self.n - r * r, 0.0)

    @property
    def constant(self) -> bool:
        """No variance at all (up to rounding)."""
        return self.n == 0 or self.spread <= 1e-14 * max(self.squares / self.n, 1e-300)


def simple(values: Array) -> Side:
    """The side of independent rows.

    >>> simple(np.array([1.0, 1.0, 0.0, 1.0])).mean
    0.75
    """
    n, total, squares = len(values), float(values.sum()), float((values**2).sum())
    return Side(n, total, n, float(n), total, squares, squares)


def design_effect(side: Side, icc: float = 0.0) -> float:
    """Variance over the variance of independent rows, never below 1.

    A side without variance says nothing about its own design effect; it takes 1 + (m - 1)·icc, m the mean
    size of a row's cluster, from the correlation found elsewhere in the table. One cluster alone: its n
    (effective size 1).

    >>> design_effect(simple(np.array([1.0, 0.0, 1.0])))
    1.0
    """
    if side.n == 0 or side.alone:
        return 1.0
    if side.clusters < 2:
        return float(side.n)
    if side.constant:
        return max(1.0, 1 + (side.size - 1) * icc)
    return max(1.0, side.variance / (side.spread / side.n))


def correlation(sides: list[Side]) -> float:
    """The correlation of rows within a cluster, pooled over sides (each about its own mean), in [0, 1].

    >>> correlation([simple(np.array([1.0, 0.0, 1.0]))])
    0.0
    """
    found = [s for s in sides if s.n and not s.constant]
    excess = sum(s.residual - s.n * s.spread for s in found)
    room = sum(s.n * s.spread * (s.size - 1) for s in found)
    return min(1.0, max(0.0, excess / room)) if room > 0 else 0.0


def wilson(count: float, nobs: float, alpha: float = 0.05) -> tuple[float, float]:
    """Wilson's score interval; `count` and `nobs` may be effective sizes.

    >>> [round(bound, 6) for bound in wilson(120, 150)]
    [0.728859, 0.856159]
    """
    if nobs <= 0:
        return math.nan, math.nan
    z = quantile(1 - alpha / 2)
    p = count / nobs
    denominator = 1 + z * z / nobs
    centre = (p + z * z / (2 * nobs)) / denominator
    half = z * math.sqrt(p * (1 - p) / nobs + z * z / (4 * nobs * nobs)) / denominator
    return min(max(0.0, centre - half), p), max(min(1.0, centre + half), p)


def student(side: Side, alpha: float = 0.05) -> tuple[float, float]:
    """The cluster-robust t interval of a mean; NaN bounds when fewer than two clusters are there.

    >>> [round(bound, 4) for bound in student(simple(np.array([1.0, 2.0, 3.0])))]
    [-0.4841, 4.4841]
    """
    if side.n == 0 or side.clusters < 2:
        return math.nan, math.nan
    half = quantile(1 - alpha / 2, side.clusters - 1) * math.sqrt(side.variance)
    return side.mean - half, side.mean + half


def interval(side: Side, kind: str, alpha: float = 0.05, icc: float = 0.0) -> tuple[float, float, float]:
    """Low, high and design effect of one group's estimate.

    >>> [round(x, 6) for x in interval(simple(np.repeat([1.0, 0.0], [120, 30])), "rate")]
    [0.728859, 0.856159, 1.0]
    """
    if side.n == 0:
        return math.nan, math.nan, math.nan
    deff = design_effect(side, icc)
    if kind == "rate":
        return *wilson(side.total / deff, side.n / deff, alpha), deff
    return *student(side, alpha), deff


def bootstrap(
    sums: Array,
    statistic: Callable[[Array], Array],
    *,
    replicates: int = 2000,
    alpha: float = 0.05,
    seed: int = 0,
) -> tuple[Array, Array, Array]:
    """Percentile cluster bootstrap of any function of sums: low, high, and the replicates themselves.

    `sums` has a row per cluster (or, for several terms each, shape clusters × terms); `statistic` turns
    summed terms (replicates × terms) into values (replicates, or replicates × outputs).

    >>> sums = np.array([[3.0, 4.0], [1.0, 2.0], [0.0, 1.0], [2.0, 2.0]])  # successes, rows
    >>> low, high, _ = bootstrap(sums, lambda s: s[:, 0] / s[:, 1], replicates=500)
    >>> bool(low < 6 / 9 < high)
    True
    """
    values = statistic(resampled(sums, replicates, seed))
    finite = values[np.isfinite(values).all(axis=tuple(range(1, values.ndim)))] if values.size else values
    if not len(finite):
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing, values
    low, high = np.quantile(finite, [alpha / 2, 1 - alpha / 2], axis=0)
    return low, high, values


def resampled(sums: Array, replicates: int, seed: int, cells: int = 200_000) -> Array:
    """Sums over clusters drawn with replacement, a row per replicate; small blocks stay in the cache.

    >>> resampled(np.ones((5, 2)), 3, 0)
    array([[5., 5.], [5., 5.], [5., 5.]])
    """
    rng = np.random.default_rng(seed)
    sums = np.asarray(sums, dtype=float)
    count = len(sums)
    if count == 0:
        return np.full((replicates, int(np.prod(sums.shape[1:]))), np.nan)
    sums = sums.reshape(count, -1)
    out = np.zeros((replicates, sums.shape[1]))
    # Equal clusters are exchangeable: draw how often each kind occurs instead of which cluster.
    kinds, sizes = np.unique(sums, axis=0, return_counts=True) if sums.shape[1] <= 8 else (sums, None)
    if sizes is not None and len(kinds) * 4 <= count:
        return np.asarray(rng.multinomial(count, sizes / count, size=replicates) @ kinds)
    block = max(1, cells // count)
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        drawn = rng.integers(0, count, size=(size, count), dtype=np.int64)
        drawn += np.arange(size)[:, None] * count
        weights = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        out[start : start + size] = weights @ sums
    return out
