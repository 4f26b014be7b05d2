"""Columns of a table as sums need them: metrics about their mean, rows in the order of their clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from countenance.auditing.sums import Side
from countenance.auditing.table import Array, Attribute

UNEQUAL = 4
"""Sizes count as unequal if a cluster is this many times as large as the mean."""


@dataclass(frozen=True)
class Shape:
    """What an audit needs of a metric's values besides their sums."""

    lowest: float
    highest: float
    kurtosis: float
    skewness: float


@dataclass(frozen=True)
class Column:
    """A metric's values (NaN: outside its denominator), centred so that sums of squares do not cancel."""

    name: str
    kind: str
    values: Array
    centre: float = 0.0
    counts: Array | None = None
    """Where an element stands for many rows: how many of them have a value; `values` are then their sums."""
    squares: Array | None = None
    """Where an element stands for many rows: their sums of squares."""
    shape: Shape | None = None
    """Where an element stands for many rows: the shape of their distribution, which sums do not have."""
    absent: Array | None = None
    """How many rows of every element have no score although they should; None: every row has its score."""

    @property
    def known(self) -> Array:
        """Which elements have a value."""
        return ~np.isnan(self.values) if self.counts is None else self.counts > 0

    def sums(self) -> tuple[Array, Array, Array]:
        """Rows, sum and sum of squares of every element.

        >>> [part.tolist() for part in Column("x", "mean", np.array([2.0, np.nan])).sums()]
        [[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]]
        """
        if self.counts is not None and self.squares is not None:
            return self.counts, self.values, self.squares
        known = self.known
        y = self.values if known.all() else np.where(known, self.values, 0.0)
        return known.astype(float), y, y if self.kind == "rate" else y * y

    def reordered(self, order: Array) -> Column:
        """The column with its elements in another order."""
        absent = None if self.absent is None else self.absent[order]
        return replace(self, values=self.values[order], absent=absent)

    @classmethod
    def of(cls, name: str, kind: str, values: Array, absent: Array | None = None) -> Column:
        """A column minus its mean; rates and their changes are not centred, so that their sums are whole numbers."""
        known = ~np.isnan(values)
        if absent is not None:  # a metric that no row has is not missing, it was not measured
            absent = absent.astype(float) if absent.any() and known.any() else None
        if kind in ("rate", "change") or not known.any():
            return cls(name, kind, values, absent=absent)
        centre = float(values.mean() if known.all() else values[known].mean())
        return cls(name, kind, values - centre, centre, absent=absent)


class Layout:
    """Rows in the order of their clusters in one way of clustering; no codes: every row is a cluster.

    `weights`: where elements stand for many rows, how many.
    """

    def __init__(self, codes: Array | None, total: int, weights: Array | None = None) -> None:
        self.alone, self.total, self.weights = codes is None, total, weights
        self.order: Array | None = None
        self._sums: dict[str, tuple[Array, tuple[Array, Array, Array]]] = {}
        if codes is None:
            self.count = total if weights is None else int(weights.sum())
            return
        if (np.diff(codes) < 0).any():
            self.order = np.argsort(codes, kind="stable")
            codes = codes[self.order]
        self.codes: Array = codes
        self.count = int(codes[-1]) + 1 if len(codes) else 0
        self.starts: Array = np.searchsorted(codes, np.arange(self.count + 1))

    @cached_property
    def sizes(self) -> Array:
        """How many rows each cluster has."""
        if self.alone:
            return np.ones(self.count)
        if self.weights is not None:
            return np.bincount(self.codes, self.arranged(self.weights))
        return np.diff(self.starts).astype(float)

    @cached_property
    def unequal(self) -> bool:
        """Whether some cluster is much larger than the others, so that its weight in a variance matters."""
        if self.alone or not self.count:
            return False
        return bool(self.sizes.max() > UNEQUAL * self.sizes.mean())

    @cached_property
    def mostly_alone(self) -> bool:
        """Whether few clusters have several rows."""
        if self.alone or self.weights is not None:
            return False
        sizes = np.diff(self.starts)
        return int(sizes[sizes > 1].sum()) * 4 <= self.total

    @cached_property
    def several(self) -> tuple[Array, Array, Array]:
        """The clusters that have several rows: their rows, the cluster of each from 0, and each cluster's first row."""
        sizes = np.diff(self.starts)
        chosen = np.flatnonzero(sizes > 1)
        places = np.flatnonzero(sizes[self.codes] > 1)
        homes = np.repeat(np.arange(len(chosen)), sizes[chosen])
        rows = places if self.order is None else self.order[places]
        first = self.starts[chosen]
        return rows, homes, first if self.order is None else self.order[first]

    def arranged(self, column: Array) -> Array:
        """A column in the order of the clusters."""
        return column if self.order is None else column[self.order]

    def varies(self, attribute: Attribute) -> bool:
        """Whether an attribute differs between rows of some cluster."""
        if self.alone:
            return False
        pattern = self.arranged(pattern_of(attribute, self.total))
        differs = pattern[1:] != pattern[:-1]
        differs[self.starts[1:-1] - 1] = False  # between the last row of a cluster and the first of the next
        return bool(differs.any())

    def firsts(self, column: Array) -> Array:
        """A column at the first row of every cluster."""
        first = self.starts[:-1]
        return column[first if self.order is None else self.order[first]]

    def cluster_sums(self, column: Column) -> tuple[Array, Array, Array]:
        """Rows, sum and sum of squares of every cluster."""
        if self.alone:
            return column.sums()
        cached = self._sums.get(column.name)
        if (cached is None or cached[0] is not column.values) and column.counts is not None:
            n, y, squares = (np.bincount(self.codes, self.arranged(part)) for part in column.sums())
            cached = self._sums[column.name] = (column.values, (n, y, squares))
        if cached is None or cached[0] is not column.values:  # cached sums may belong to a column of another question
            values = self.arranged(column.values)
            known = ~np.isnan(values)
            if known.all():
                n = np.diff(self.starts).astype(float)
            else:
                n = np.bincount(self.codes, known, minlength=self.count)
                values = np.where(known, values, 0.0)
            y = np.bincount(self.codes, values, minlength=self.count)
            squares = y if column.kind == "rate" else np.bincount(self.codes, values * values, minlength=self.count)
            cached = self._sums[column.name] = (column.values, (n, y, squares))
        return cached[1]


def pattern_of(attribute: Attribute, total: int) -> Array:
    """A code for each row that says which groups of an attribute it is in.

    >>> pattern_of(Attribute("a", ["x", "y"], np.array([0, 1, 0]), np.array([0, 0, 2])), 4)[[1, 3]].tolist()
    [0, 0]
    """
    if attribute.rows is None:
        return attribute.codes
    # A row's set of groups is known by the sum of one large random number for each group.
    marks = np.random.default_rng(0).integers(1, 2**62, size=len(attribute.levels))
    sums = np.zeros(total, dtype=np.int64)
    np.add.at(sums, attribute.rows, marks[attribute.codes])
    return np.unique(sums, return_inverse=True)[1]


def powers(n: Array, y: Array, cubes: bool) -> list[Array]:
    """The terms to sum over clusters of n rows with sum y: n, y, whether n > 0, n², yn, y² (and n³, n²y, ny²)."""
    nn, yy = n * n, y * y
    plain = [n, y, (n > 0).astype(float), nn, y * n, yy]
    return [*plain, nn * n, nn * y, yy * n] if cubes else plain


def side(
    parts: Iterable[Array], squares: Array, centre: float, means: tuple[Array, Array] | tuple[None, None] = (None, None)
) -> Side:
    """A side from its sums of `powers`, its sum of squares over rows, and the sums of its clusters' means."""
    n, y, clusters, nn, yn, yy, *cubes = parts
    nnn, ynn, yyn = cubes or (None, None, None)
    return Side(n, y, clusters, nn, yn, yy, squares, centre, nnn, ynn, yyn, *means)
