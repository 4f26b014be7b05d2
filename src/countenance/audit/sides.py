"""Room: audit. The sides of every comparison of one metric, from sums over (cluster, group)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from countenance.audit.estimates import Side
from countenance.audit.groups import Grouping, membership
from countenance.audit.table import Array, Attribute

DENSE = 20_000_000  # largest table of (cluster, cell) looked up directly instead of sorted


@dataclass(frozen=True)
class Cross:
    """Products of two sides summed over the clusters they share: Σy₁y₂, Σy₁n₂, Σn₁y₂, Σn₁n₂."""

    yy: float = 0.0
    yn: float = 0.0
    ny: float = 0.0
    nn: float = 0.0


class Members:
    """Which rows are in which cell of a grouping, worked out once for all metrics.

    A block is the rows of one cluster in one cell: `block[j]` of each membership, `home` and `cell` of each
    block.
    """

    def __init__(self, rows: Array, cells: Array, size: int, clusters: Array | None, overlap: bool = False) -> None:
        self.rows, self.cells, self.size, self.clusters, self.overlap = rows, cells, size, clusters, overlap
        if clusters is None:
            return
        keys = clusters[rows] * size + cells
        span = int(keys.max(initial=-1)) + 1
        if span <= DENSE:
            used = np.zeros(span, dtype=bool)
            used[keys] = True
            blocks = np.flatnonzero(used)
            self.block: Array = (np.cumsum(used, dtype=np.int32) - 1)[keys]
        else:
            blocks, self.block = np.unique(keys, return_inverse=True)
        self.home, self.cell = np.divmod(blocks, size)

    @cached_property
    def everyone(self) -> Sums:
        """The counts of a metric that every row has."""
        return Sums(self, self.block, np.unique(self.rows) if self.overlap else self.rows)

    @classmethod
    def of(cls, grouping: Grouping, attributes: Sequence[Attribute], total: int, clusters: Array | None) -> Members:
        """Place every row of the table."""
        rows, keys = membership(attributes, grouping.attributes, total)
        place = np.zeros(int(grouping.keys.max(initial=-1)) + 1, dtype=np.int32)
        place[grouping.keys] = np.arange(len(grouping.keys))
        return cls(rows, place[keys], len(grouping.cells), clusters, grouping.overlap)


class Sums:
    """How many rows each block, cell and cluster has; the same for every metric that all rows have."""

    def __init__(self, members: Members, block: Array, distinct: Array) -> None:
        assert members.clusters is not None
        n = np.bincount(block, minlength=len(members.home)).astype(float)
        self.some: Array | slice = n > 0 if len(block) < len(members.block) else slice(None)
        self.home, self.cell, self.n = members.home[self.some], members.cell[self.some], n[self.some]
        self.size = members.size
        if members.overlap:
            self.whole = np.bincount(members.clusters[distinct]).astype(float)
        else:
            self.whole = np.bincount(self.home, self.n)
        self.here = self.whole[self.home]
        self.clusters = np.bincount(self.cell, minlength=self.size)
        self.nn, self.with_n = self.add(self.n * self.n), self.add(self.n * self.here)
        self.full = np.bincount(self.cell[self.n == self.here], minlength=self.size)

    def add(self, weights: Array) -> Array:
        """Sum over the blocks of each cell."""
        return np.bincount(self.cell, weights, minlength=self.size)


class Sides:
    """Every cell's rows, sums and cluster sums for one metric; `rest(g)` is everybody known and not in g."""

    def __init__(self, members: Members, values: Array, kind: str, counted: tuple[Array, Array] | None = None) -> None:
        missing = np.isnan(values)
        everyone = not missing.any()
        keep = slice(None) if everyone else ~missing[members.rows]
        self.rows, self.cells = members.rows[keep], members.cells[keep]
        self.size, self.values, self.kind, self.clusters = members.size, values, kind, members.clusters
        self.distinct = np.unique(self.rows) if members.overlap else self.rows
        whole = not members.overlap and len(self.rows) == len(values)
        known = values if whole else values[self.distinct]
        # Means are centred so that sums of squares do not cancel; a rate's sums stay whole numbers.
        self.centre = 0.0 if kind == "rate" or not len(known) else float(known.mean())
        known = known - self.centre if self.centre else known
        y = values[self.rows] - self.centre if members.overlap else known
        if counted is not None and kind == "rate":  # duckdb has counted them all in one pass
            self._n, self._y = counted[0], counted[1].astype(float)
        else:
            self._n = np.bincount(self.cells, minlength=self.size)
            self._y = np.bincount(self.cells, y, minlength=self.size)
        self._squares = self._y if kind == "rate" else np.bincount(self.cells, y * y, minlength=self.size)
        total, squares = float(known.sum()), float(known @ known)
        if members.clusters is None:
            n = self._n.astype(float)
            self._own = (self._n, n, self._y, self._squares)
            self._with = (n, self._y, self._y, self._squares)
            self._full = self._n
            count = len(known)
            self.total = Side(count, total, count, float(count), total, squares, squares, self.centre)
            return
        sums = members.everyone if everyone else Sums(members, members.block[keep], self.distinct)
        y_sum = np.bincount(members.block[keep], y, minlength=len(members.home))[sums.some]
        if members.overlap:
            big_y = np.bincount(members.clusters[self.distinct], known, minlength=len(sums.whole))
        else:
            big_y = np.bincount(sums.home, y_sum, minlength=len(sums.whole))
        here_y = big_y[sums.home]
        self._own = (sums.clusters, sums.nn, sums.add(y_sum * sums.n), sums.add(y_sum * y_sum))
        both = sums.add(y_sum * here_y)
        self._with = (sums.with_n, sums.add(y_sum * sums.here), sums.add(sums.n * here_y), both)
        self._full = sums.full
        self._blocks = (sums.home, sums.cell, sums.n, y_sum)
        sizes = sums.whole
        self.total = Side(
            len(known),
            total,
            int((sizes > 0).sum()),
            float(sizes @ sizes),
            float(big_y @ sizes),
            float(big_y @ big_y),
            squares,
            self.centre,
        )

    def cell(self, g: int) -> Side:
        """The rows of cell g."""
        clusters, nn, yn, yy = (part[g] for part in self._own)
        return Side(
            int(self._n[g]),
            float(self._y[g]),
            int(clusters),
            float(nn),
            float(yn),
            float(yy),
            float(self._squares[g]),
            self.centre,
        )

    def rest(self, g: int) -> Side:
        """Everybody known who is not in cell g."""
        one, t = self.cell(g), self.total
        nn, yn, ny, yy = (float(part[g]) for part in self._with)
        return Side(
            t.n - one.n,
            t.total - one.total,
            t.clusters - int(self._full[g]),
            t.nn - 2 * nn + one.nn,
            t.yn - yn - ny + one.yn,
            t.yy - 2 * yy + one.yy,
            t.squares - one.squares,
            self.centre,
        )

    def cross_rest(self, g: int) -> Cross:
        """Products of cell g and its rest over the clusters they share."""
        one = self.cell(g)
        nn, yn, ny, yy = (float(part[g]) for part in self._with)
        return Cross(yy - one.yy, yn - one.yn, ny - one.yn, nn - one.nn)

    @cached_property
    def _products(self) -> tuple[Array, Array, Array]:
        from scipy import sparse

        home, cell, rows, sums = self._blocks
        shape = (int(home.max(initial=-1)) + 1, self.size)
        n = sparse.coo_matrix((rows, (home, cell)), shape=shape).tocsr()
        s = sparse.coo_matrix((sums, (home, cell)), shape=shape).tocsr()
        return (s.T @ s).toarray(), (s.T @ n).toarray(), (n.T @ n).toarray()

    def cross(self, g: int, h: int) -> Cross:
        """Products of cells g and h over the clusters they share."""
        if self.clusters is None:
            return Cross()
        yy, yn, nn = self._products
        return Cross(float(yy[g, h]), float(yn[g, h]), float(yn[h, g]), float(nn[g, h]))

    def blocks(self, chosen: Sequence[int]) -> tuple[Array, Array, Array]:
        """Blocks (rows of one cluster in one cell) of the chosen cells: place in `chosen`, rows, sum."""
        place = np.full(self.size, -1)
        place[list(chosen)] = np.arange(len(chosen))
        if self.clusters is None:
            labels, n, y = place[self.cells], np.ones(len(self.cells)), self.values[self.rows]
        else:
            _, cell, n, sums = self._blocks
            labels, y = place[cell], sums + self.centre * n
        keep = labels >= 0
        return labels[keep], n[keep], y[keep]

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        order = np.argsort(self.cells, kind="stable")
        return self.rows[order], np.concatenate([[0], np.cumsum(self._n)])

    def members(self, g: int) -> Array:
        """The rows of cell g, as positions in the table."""
        rows, start = self._sorted
        return rows[start[g] : start[g + 1]]

    def others(self, g: int) -> Array:
        """The rows of everybody known who is not in cell g."""
        inside = np.zeros(len(self.values), dtype=bool)
        inside[self.distinct] = True
        inside[self.members(g)] = False
        return np.flatnonzero(inside)

    @cached_property
    def ranks(self) -> Array:
        """Every value's place among the distinct values, so that ties are exact and sorting happens once."""
        places = np.zeros(len(self.values), dtype=np.int64)
        places[self.distinct] = np.unique(self.values[self.distinct], return_inverse=True)[1]
        return places


def side_of(rows: Array, values: Array, clusters: Array | None) -> Side:
    """The side made of the given rows.

    >>> side_of(np.array([0, 1, 3]), np.array([1.0, 0.0, 1.0, np.nan]), None).n
    2
    """
    rows = rows[~np.isnan(values[rows])]
    kind = "rate" if bool(np.isin(values[rows], (0, 1)).all()) else "mean"
    return Sides(Members(rows, np.zeros(len(rows), dtype=np.int32), 1, clusters), values, kind).cell(0)
