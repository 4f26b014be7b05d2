"""The two sides of a comparison as sums over rows and over clusters, without the rows themselves.

With n_c rows and sum y_c in cluster c, a side is n, Σy, Σy² over rows and the number of clusters, Σn_c², Σy_c·n_c,
Σy_c², Σn_c³, Σy_c·n_c², Σy_c²·n_c over clusters, and Σm_c and Σm_c² of the clusters' means m_c. Every field may be
a number or an array of any shape, so one definition of a test serves one comparison, all comparisons of an audit, and
all permutations of them. Any code that makes these sums (from rows in memory, from a database) can have them audited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from countenance.auditing.table import Array

Numbers = Any
"""A float or an array of floats."""


@dataclass(frozen=True)
class Way:
    """Sums over the clusters of one way of clustering.

    The cubes, where known, weigh large clusters; `m` and `mm`, where known, are of the clusters' means.
    """

    clusters: Numbers
    nn: Numbers
    yn: Numbers
    yy: Numbers
    nnn: Numbers = None
    ynn: Numbers = None
    yyn: Numbers = None
    m: Numbers = None
    mm: Numbers = None


@dataclass(frozen=True)
class Side:
    """One side of a comparison. `centre` was subtracted from every y.

    `further` holds a second way of clustering that crosses the first, and the two together: rows that share both.

    >>> Side(4, 3.0, 4, 4.0, 3.0, 3.0, 3.0).mean
    0.75
    """

    n: Numbers
    total: Numbers
    clusters: Numbers
    nn: Numbers
    yn: Numbers
    yy: Numbers
    squares: Numbers
    centre: float = 0.0
    nnn: Numbers = None
    ynn: Numbers = None
    yyn: Numbers = None
    m: Numbers = None
    mm: Numbers = None
    thirds: tuple[Numbers, Numbers, Numbers, Numbers] | None = None
    """Σy_c³, Σy_c²·n_c, Σy_c·n_c², Σn_c³ of labels that are shuffled, where skewness matters."""
    further: tuple[Way, ...] = ()

    @property
    def mean(self) -> Numbers:
        """The estimate (rate or mean); NaN without rows."""
        with np.errstate(all="ignore"):
            mean = np.asarray(self.total, dtype=float) / self.n + self.centre
            mean = np.where(np.abs(mean) <= 1e-14 * abs(self.centre), 0.0, mean)  # what rounding leaves of a zero
        return _plain(np.where(np.asarray(self.n) > 0, mean, np.nan))

    @property
    def first(self) -> Way:
        """The sums of the first way."""
        return Way(self.clusters, self.nn, self.yn, self.yy, self.nnn, self.ynn, self.yyn, self.m, self.mm)

    @property
    def ways(self) -> list[tuple[int, Way]]:
        """Every way of clustering with its sign in the variance: +first, +second, -both together."""
        return list(zip((1, 1, -1), (self.first, *self.further), strict=False))

    @property
    def units(self) -> Numbers:
        """How many clusters there are; with two ways, of the scarcer one."""
        return self.clusters if not self.further else np.minimum(self.clusters, self.further[0].clusters)

    @property
    def alone(self) -> Numbers:
        """Whether every row is its own cluster."""
        alone = self.nn == self.n
        return alone if not self.further else alone & (self.further[0].nn == self.n)

    @property
    def spread(self) -> Numbers:
        """Σ(y - mean)²/n: the variance of a row; p(1-p) for a rate."""
        with np.errstate(all="ignore"):
            rate = self.total / np.asarray(self.n, dtype=float)
            return np.maximum(self.squares / np.asarray(self.n, dtype=float) - rate * rate, 0.0)

    @property
    def constant(self) -> Numbers:
        """Whether the side has no variance at all (up to rounding)."""
        with np.errstate(all="ignore"):
            least = 1e-14 * self.squares / np.asarray(self.n, dtype=float)
        return (np.asarray(self.n) == 0) | (self.spread <= least)

    @property
    def variance(self) -> Numbers:
        """The linearised variance of the estimate; NaN when there is only one cluster."""
        variance = 0.0
        for sign, way in self.ways:
            variance = variance + sign * way_variance(self, way)
        return variance

    @property
    def effective(self) -> Numbers:
        """How many clusters of equal size would be as informative, n²/Σn_c²; with two ways, of the scarcer one."""
        with np.errstate(all="ignore"):
            units = np.asarray(self.n, dtype=float) ** 2 / self.nn
            if self.further:
                units = np.minimum(units, np.asarray(self.n, dtype=float) ** 2 / self.further[0].nn)
        return units

    def take(self, index: Any) -> Side:
        """The chosen elements of every array."""
        return _each(lambda *part: np.asarray(part[0])[index], self)


@dataclass(frozen=True)
class CrossWay:
    """Products of two sides summed over the clusters they share: Σy₁y₂, Σy₁n₂, Σn₁y₂, Σn₁n₂."""

    yy: Numbers
    yn: Numbers
    ny: Numbers
    nn: Numbers


@dataclass(frozen=True)
class Cross:
    """The products of two sides in every way of clustering; none where no cluster can be on both sides."""

    ways: tuple[CrossWay, ...] = ()

    def take(self, index: Any) -> Cross:
        """The chosen elements of every array."""
        return Cross(
            tuple(CrossWay(*(np.asarray(getattr(w, f.name))[index] for f in fields(CrossWay))) for w in self.ways)
        )

    @property
    def shared(self) -> Numbers:
        """Σn₁n₂ over shared clusters: 0 where the sides share none."""
        return 0.0 if not self.ways else np.maximum.reduce([np.asarray(way.nn) for way in self.ways])


def way_residual(side: Side, way: Way) -> Numbers:
    """Σ(y_c - r·n_c)², with r the side's estimate."""
    with np.errstate(all="ignore"):
        rate = side.total / np.asarray(side.n, dtype=float)
        return np.maximum(way.yy - 2 * rate * way.yn + rate * rate * way.nn, 0.0)


def way_variance(side: Side, way: Way) -> Numbers:
    """C/(C-1) · Σw_c(y_c - r·n_c)² / n² with w_c = 1 + 2(n_c/n - 1/C).

    A cluster that makes up much of a side pulls the estimate to itself and so hides its own deviation. The weight
    is the first term of what the jackknife gives such a cluster; clusters of equal size all have weight 1.
    """
    n = np.asarray(side.n, dtype=float)
    count = np.asarray(way.clusters, dtype=float)
    residual = way_residual(side, way)
    with np.errstate(all="ignore"):
        if way.nnn is not None:
            rate = side.total / n
            large = np.maximum(way.yyn - 2 * rate * way.ynn + rate * rate * way.nnn, 0.0)
            residual = np.maximum(residual * (1 - 2 / count) + 2 * large / n, 0.0)
        return np.where(count > 1, count / (count - 1) * residual / n**2, np.nan)


def covariance(side1: Side, side2: Side, cross: Cross) -> Numbers:
    """The linearised covariance of two estimates through the clusters they share.

    >>> side = Side(2, 1.0, 2, 2.0, 1.0, 1.0, 1.0)
    >>> covariance(side, side, Cross())
    0.0
    """
    total = 0.0
    with np.errstate(all="ignore"):
        mean1, mean2 = side1.total / np.asarray(side1.n, dtype=float), side2.total / np.asarray(side2.n, dtype=float)
        for sign, way in zip((1, 1, -1), cross.ways, strict=False):
            product = way.yy - mean2 * way.yn - mean1 * way.ny + mean1 * mean2 * way.nn
            total = total + sign * product / (np.asarray(side1.n, dtype=float) * side2.n)
    return total


@dataclass(frozen=True)
class GroupSums:
    """The sums of one metric over the cells of one grouping.

    `cells[g]`, `rests[g]` (everybody known who is not in g) and `against_rest[g]` (their products) are arrays;
    `whole` is everybody known. `between(g, h)` gives the products of two cells.
    """

    cells: Side
    rests: Side
    against_rest: Cross
    whole: Side
    between: Callable[[Array, Array], Cross]


def concatenate(sides: Sequence[Side]) -> Side:
    """Sides one after the other; all have the same centre.

    >>> side = Side(*(np.array([value]) for value in (4, 3.0, 4, 4.0, 3.0, 3.0, 3.0)))
    >>> concatenate([side, side]).n.tolist()
    [4, 4]
    """
    return _each(lambda *parts: np.concatenate([np.atleast_1d(part) for part in parts]), *sides)


def concatenate_crosses(crosses: Sequence[Cross], sizes: Sequence[int]) -> Cross:
    """The products of several lists of comparisons; a list without shared clusters has zeros."""
    ways = max((len(cross.ways) for cross in crosses), default=0)
    joined = []
    for index in range(ways):
        parts = [
            cross.ways[index] if cross.ways else CrossWay(*([np.zeros(size)] * 4))
            for cross, size in zip(crosses, sizes, strict=True)
        ]
        joined.append(CrossWay(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(CrossWay))))
    return Cross(tuple(joined))


def _each(function: Callable[..., Any], *sides: Side) -> Side:
    """Apply a function to every array of several sides at once; None stays None."""
    changed: dict[str, Any] = {}
    for field in fields(Side):
        if field.name in ("centre", "further", "thirds"):
            continue
        parts = [getattr(side, field.name) for side in sides]
        changed[field.name] = None if any(part is None for part in parts) else function(*parts)
    further = []
    for ways in zip(*(side.further for side in sides), strict=True):
        values = [[getattr(way, field.name) for way in ways] for field in fields(Way)]
        further.append(Way(*(None if any(p is None for p in parts) else function(*parts) for parts in values)))
    return replace(sides[0], **changed, thirds=None, further=tuple(further))


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def simple(values: Array) -> Side:
    """The side of independent rows.

    >>> simple(np.array([1.0, 1.0, 0.0, 1.0])).mean
    0.75
    """
    n, total, squares = len(values), float(values.sum()), float((values**2).sum())
    return Side(n, total, n, float(n), total, squares, squares, 0.0, float(n), total, squares, total, squares)


def clustered(values: Array, clusters: Array) -> Side:
    """The side of rows that come in clusters (codes from 0).

    >>> side = clustered(np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1]))
    >>> side.clusters, side.nn
    (2.0, 5.0)
    """
    n, y = np.bincount(clusters).astype(float), np.bincount(clusters, values)
    m = cluster_means(n, y)
    return Side(
        len(values),
        float(values.sum()),
        float((n > 0).sum()),
        float(n @ n),
        float(n @ y),
        float(y @ y),
        float((values**2).sum()),
        0.0,
        float((n**3).sum()),
        float((n * n) @ y),
        float((y * y) @ n),
        float(m.sum()),
        float(m @ m),
    )


def cluster_means(n: Array, y: Array) -> Array:
    """The mean of each cluster; where it has no row, its sum of 0, which adds nothing.

    >>> cluster_means(np.array([2.0, 0.0]), np.array([1.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray(y / np.maximum(n, 1.0))
