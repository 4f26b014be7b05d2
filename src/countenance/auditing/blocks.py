"""Sums where a cluster may have rows in several groups: over blocks, the rows of one cluster in one cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countenance.auditing.groups import Members
from countenance.auditing.layout import Column, Layout, powers, side
from countenance.auditing.sums import Cross, CrossWay, GroupSums, cluster_means
from countenance.auditing.table import Array

CHUNK = 100_000
"""Rows that are summed at once."""
SPARSE = 3
"""Up to this many possible blocks per row the blocks form a grid; beyond that, only those that occur are used."""


def split_sums(layout: Layout, members: Members, columns: Sequence[Column], size: int, pairs: bool) -> list[GroupSums]:
    """The sums of several columns over the cells of one grouping, chunk by chunk of whole clusters."""
    blocks = [_Blocks(size, column.centre, pairs, layout.unequal) for column in columns]
    values = [layout.arranged(column.values) for column in columns]
    counts = [None if column.counts is None else layout.arranged(column.counts) for column in columns]
    squares = [None if column.squares is None else layout.arranged(column.squares) for column in columns]
    rows: Array | None = None
    if members.rows is None:
        cells, homes, ends = layout.arranged(members.cells), layout.codes, layout.starts
    else:
        place = np.empty(layout.total, dtype=np.int64)
        place[np.arange(layout.total) if layout.order is None else layout.order] = np.arange(layout.total)
        order = np.argsort(place[members.rows], kind="stable")
        rows, cells = place[members.rows][order], members.cells[order]
        homes = layout.codes[rows]
        ends = np.searchsorted(homes, np.arange(layout.count + 1))
    first = 0
    while first < layout.count:
        last = int(np.searchsorted(ends, ends[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), first + max(1, 8 * CHUNK // max(size, 1)), layout.count)
        here = slice(int(ends[first]), int(ends[last]))
        own = None if rows is None else rows[here]
        chunks: list[_Chunk] = []
        picked = here if own is None else own
        for block, column, counted, squared in zip(blocks, values, counts, squares, strict=True):
            part, count = column[picked], None if counted is None else counted[picked]
            known = (cells[here] >= 0) & (~np.isnan(part) if count is None else count > 0)
            chunk = next((chunk for chunk in chunks if chunk.fits(known, count)), None)
            if chunk is None:
                chunk = _Chunk(cells[here], homes[here] - first, known, last - first, size, own, count)
                chunks.append(chunk)
            square = part * part if squared is None else squared[picked]
            block.add(chunk, *((part, square) if chunk.all_known else (part[known], square[known])))
        first = last
    return [block.sums() for block in blocks]


class _Chunk:
    """The blocks of some clusters, all of their rows that have a value; the same for every such metric.

    Where most blocks occur they are a grid of cells and clusters, which is added up along its rows; else a list.
    """

    def __init__(
        self,
        cells: Array,
        homes: Array,
        known: Array,
        count: int,
        size: int,
        rows: Array | None,
        weights: Array | None = None,
    ) -> None:
        self.known, self.all_known, self.count, self.size = known, bool(known.all()), count, size
        self.weights = weights
        if not self.all_known:
            cells, homes = cells[known], homes[known]
            rows = None if rows is None else rows[known]
            weights = None if weights is None else weights[known]
        self.cells, self.homes, self.width = cells, homes, count * size
        self.keys = cells.astype(np.int64)
        self.keys *= count
        self.keys += homes
        counted = np.bincount(self.keys, weights, minlength=self.width)
        self.grid = self.width <= SPARSE * len(self.keys)
        if self.grid:
            self.n = counted.reshape(size, count).astype(float)
        else:
            self.blocks = np.flatnonzero(counted)
            self.n = counted[self.blocks].astype(float)
            self.cell, self.home = np.divmod(self.blocks, count)
        self.once: Array | None = None
        if rows is None:
            self.big_n = self.per_cluster(self.n)
        else:  # a row may be in several cells
            self.once = np.unique(rows, return_index=True)[1]
            once = None if weights is None else weights[self.once]
            self.big_n = np.bincount(homes[self.once], once, minlength=count).astype(float)
        self.here_n = self.beside(self.big_n)
        self.inside = self.n > 0
        self.rows = self.per_cell(self.n)
        self.clusters = self.per_cell(self.inside)
        self.full = self.per_cell((self.n == self.here_n) & self.inside)
        self.row_products = self.products(self.n, self.n), self.products(self.n, self.here_n)

    def fits(self, known: Array, weights: Array | None) -> bool:
        """Whether a column with a value in these rows has the same blocks."""
        if weights is None or self.weights is None:
            return weights is self.weights and np.array_equal(self.known, known)
        return np.array_equal(self.known, known) and np.array_equal(self.weights, weights)

    def sums(self, values: Array) -> Array:
        """The sum of the rows of every block."""
        sums = np.bincount(self.keys, values, minlength=self.width)
        return sums.reshape(self.size, self.count) if self.grid else sums[self.blocks]

    def per_cell(self, weights: Array) -> Array:
        """Sum over the blocks of each cell."""
        return weights.sum(axis=1) if self.grid else np.bincount(self.cell, weights, minlength=self.size)

    def products(self, first: Array, second: Array) -> Array:
        """Sum over the blocks of each cell the products of two numbers of a block.

        In a grid only the sums are written: to write the products of a million rows would cost more than to add them.
        """
        if not self.grid:
            return np.bincount(self.cell, first * second, minlength=self.size)
        if len(second) == 1:
            return np.asarray(np.einsum("ij,j->i", first, second[0]))
        return np.asarray(np.einsum("ij,ij->i", first, second))

    def per_cluster(self, weights: Array) -> Array:
        """Sum over the blocks of each cluster."""
        return weights.sum(axis=0) if self.grid else np.bincount(self.home, weights, minlength=self.count)

    def beside(self, clusters: Array) -> Array:
        """The value of each block's cluster."""
        return clusters[None, :] if self.grid else clusters[self.home]

    def shared(self, y: Array) -> Array:
        """For every two cells, summed over clusters: products of their sums, of sums and rows, and of their rows."""
        if self.grid:
            return np.stack([y @ y.T, y @ self.n.T, self.n @ self.n.T])
        from scipy import sparse

        place, shape = (self.cell, self.home), (self.size, self.count)
        sums, rows = (sparse.csr_matrix((part, place), shape=shape) for part in (y, self.n))
        return np.stack([part.toarray() for part in (sums @ sums.T, sums @ rows.T, rows @ rows.T)])


class _Blocks:
    """The sums of one column, added up chunk by chunk."""

    def __init__(self, size: int, centre: float, pairs: bool, cubes: bool) -> None:
        self.size, self.centre, self.cubes = size, centre, cubes
        count = 9 if cubes else 6
        self.cell, self.whole = np.zeros((count, size)), np.zeros(count)
        self.beside = np.zeros((4, size))  # products with sums of the whole cluster: Σy·Y, Σy·N, Σn·Y, Σn·N
        self.full = np.zeros(size)  # clusters of which every row is in the cell
        self.rest_cubes = np.zeros((3, size))
        self.means, self.rest_means, self.all_means = np.zeros((2, size)), np.zeros((2, size)), np.zeros(2)
        self.squares, self.all_squares = np.zeros(size), 0.0
        self.shared = np.zeros((3, size, size)) if pairs else None
        """What every two cells share: `_Chunk.shared`."""

    def add(self, chunk: _Chunk, values: Array, squares: Array) -> None:
        """Add the rows of some clusters, with their squares."""
        n, y = chunk.n, chunk.sums(values)
        self.squares += np.bincount(chunk.cells, squares, minlength=self.size)
        if chunk.once is None:
            big_y = chunk.per_cluster(y)
            self.all_squares += float(squares.sum())
        else:
            big_y = np.bincount(chunk.homes[chunk.once], values[chunk.once], minlength=chunk.count)
            self.all_squares += float(squares[chunk.once].sum())
        here_n, here_y = chunk.here_n, chunk.beside(big_y)
        squared_n, n_by_n = chunk.row_products
        for place, part in enumerate((chunk.rows, chunk.per_cell(y), chunk.clusters, squared_n)):
            self.cell[place] += part
        for place, second in enumerate((n, y), 4):
            self.cell[place] += chunk.products(y, second)
        for place, (first, second) in enumerate(((y, here_y), (y, here_n), (n, here_y))):
            self.beside[place] += chunk.products(first, second)
        self.beside[3] += n_by_n
        self.full += chunk.full
        self.whole += [part.sum() for part in powers(chunk.big_n, big_y, self.cubes)]
        if self.cubes:
            square, rows = y * y, n * n
            for place, (first, second) in enumerate(((rows, n), (rows, y), (square, n)), 6):
                self.cell[place] += chunk.products(first, second)
            left = powers(here_n - n, here_y - y, cubes=True)[6:]
            for place, (part, both) in enumerate(zip(left, powers(here_n, here_y, cubes=True)[6:], strict=True)):
                self.rest_cubes[place] += chunk.per_cell(part - both)
        self._add_means(chunk, n, y, big_y)
        if self.shared is not None:
            self.shared += chunk.shared(y)

    def _add_means(self, chunk: _Chunk, n: Array, y: Array, big_y: Array) -> None:
        """Add clusters' means in the cells; for the rest of a cell, by how much its blocks change the means of all
        rows."""
        own, everyone = cluster_means(n, y), cluster_means(chunk.big_n, big_y)
        left = cluster_means(chunk.here_n - n, chunk.beside(big_y) - y)
        here = chunk.beside(everyone)
        away = np.where(chunk.inside, left - here, 0.0)
        self.means += [chunk.per_cell(own), chunk.products(own, own)]
        self.rest_means += [chunk.per_cell(away), chunk.products(away, left + here)]
        self.all_means += [everyone.sum(), (everyone * everyone).sum()]

    def sums(self) -> GroupSums:
        """The sums of all chunks; the rest of a cell is everybody minus the cell."""
        n, y, _, nn, yn, yy = self.cell[:6]
        by_y, by_n, n_by_y, n_by_n = self.beside
        whole = self.whole[:, None]
        rest = [
            whole[0] - n,
            whole[1] - y,
            whole[2] - self.full,
            whole[3] - 2 * n_by_n + nn,
            whole[4] - n_by_y - by_n + yn,
            whole[5] - 2 * by_y + yy,
        ]
        if self.cubes:
            rest += list(self.rest_cubes + whole[6:])
        cross = CrossWay(by_y - yy, by_n - yn, n_by_y - yn, n_by_n - nn)
        return GroupSums(
            side(self.cell, self.squares, self.centre, (self.means[0], self.means[1])),
            side(
                rest,
                self.all_squares - self.squares,
                self.centre,
                (self.all_means[0] + self.rest_means[0], self.all_means[1] + self.rest_means[1]),
            ),
            Cross((cross,)),
            side(
                self.whole,
                np.asarray(self.all_squares),
                self.centre,
                (np.asarray(self.all_means[0]), np.asarray(self.all_means[1])),
            ),
            self._between,
        )

    def _between(self, g: Array, h: Array) -> Cross:
        yy, yn, nn = np.zeros((3, self.size, self.size)) if self.shared is None else self.shared
        return Cross((CrossWay(yy[g, h], yn[g, h], yn[h, g], nn[g, h]),))
