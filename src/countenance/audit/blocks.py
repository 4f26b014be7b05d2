"""Sums where a cluster may have rows in several groups: over blocks, the rows of one cluster in one cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from countenance.audit.groups import Members
from countenance.audit.layout import Column, Layout, powers, side
from countenance.audit.sums import Cross, CrossWay, GroupSums
from countenance.audit.table import Array

CHUNK = 400_000
"""Rows that are summed at once."""


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
        kept: list[_Chunk] = []
        picked = here if own is None else own
        for one, column, counted, squared in zip(blocks, values, counts, squares, strict=True):
            part, count = column[picked], None if counted is None else counted[picked]
            known = (cells[here] >= 0) & (~np.isnan(part) if count is None else count > 0)
            chunk = next((chunk for chunk in kept if chunk.fits(known, count)), None)
            if chunk is None:
                chunk = _Chunk(cells[here], homes[here] - first, known, last - first, size, own, count)
                kept.append(chunk)
            square = part * part if squared is None else squared[picked]
            one.add(chunk, *((part, square) if chunk.all_known else (part[known], square[known])))
        first = last
    return [one.sums() for one in blocks]


class _Chunk:
    """The blocks of some clusters, all of their rows that have a value; the same for every such metric."""

    def __init__(
        self, cells: Array, homes: Array, known: Array, count: int, size: int, rows: Array | None,
        weights: Array | None = None,
    ) -> None:  # fmt: skip
        self.known, self.all_known, self.count, self.weights = known, bool(known.all()), count, weights
        if not self.all_known:
            cells, homes = cells[known], homes[known]
            rows = None if rows is None else rows[known]
            weights = None if weights is None else weights[known]
        self.cells, self.homes, self.width = cells, homes, count * size
        self.keys = homes.astype(np.int64) * size + cells
        counted = np.bincount(self.keys, weights, minlength=self.width)
        self.blocks = np.flatnonzero(counted)
        self.n = counted[self.blocks].astype(float)
        self.home, self.cell = np.divmod(self.blocks, size)
        self.once: Array | None = None
        if rows is None:
            self.big_n = np.bincount(self.home, self.n, minlength=count)
        else:  # a row may be in several cells
            self.once = np.unique(rows, return_index=True)[1]
            once = None if weights is None else weights[self.once]
            self.big_n = np.bincount(homes[self.once], once, minlength=count).astype(float)
        self.here_n = self.big_n[self.home]

    def fits(self, known: Array, weights: Array | None) -> bool:
        """Whether a column with a value in these rows has the same blocks."""
        same = weights is self.weights if weights is None or self.weights is None else None
        return np.array_equal(self.known, known) and (
            np.array_equal(self.weights, weights) if same is None else same  # type: ignore[arg-type]
        )

    def add(self, weights: Array, size: int) -> Array:
        """Sum over the blocks of each cell."""
        return np.bincount(self.cell, weights, minlength=size)


class _Blocks:
    """The sums of one column, added up chunk by chunk."""

    def __init__(self, size: int, centre: float, pairs: bool, cubes: bool) -> None:
        self.size, self.centre, self.cubes = size, centre, cubes
        count = 9 if cubes else 6
        self.cell, self.whole = np.zeros((count, size)), np.zeros(count)
        self.beside = np.zeros((4, size))  # with whole clusters: Σy·Y, Σy·N, Σn·Y, Σn·N
        self.full = np.zeros(size)  # clusters that are in a cell as a whole
        self.rest_cubes = np.zeros((3, size))
        self.squares, self.all_squares = np.zeros(size), 0.0
        self.kept: list[tuple[Array, Array, Array, Array]] | None = [] if pairs else None
        self.homes = 0

    def add(self, chunk: _Chunk, values: Array, squares: Array) -> None:
        """Add the rows of some clusters, with their squares."""
        n, cell, size = chunk.n, chunk.cell, self.size
        y = np.bincount(chunk.keys, values, minlength=chunk.width)[chunk.blocks]
        self.squares += np.bincount(chunk.cells, squares, minlength=size)
        if chunk.once is None:
            big_y = np.bincount(chunk.home, y, minlength=chunk.count)
            self.all_squares += float(squares.sum())
        else:
            big_y = np.bincount(chunk.homes[chunk.once], values[chunk.once], minlength=chunk.count)
            self.all_squares += float(squares[chunk.once].sum())
        here_n, here_y = chunk.here_n, big_y[chunk.home]
        for place, part in enumerate(powers(n, y, self.cubes)):
            self.cell[place] += chunk.add(part, size)
        for place, product in enumerate((y * here_y, y * here_n, n * here_y, n * here_n)):
            self.beside[place] += chunk.add(product, size)
        self.full += np.bincount(cell[n == here_n], minlength=size)
        self.whole += [part.sum() for part in powers(chunk.big_n, big_y, self.cubes)]
        if self.cubes:
            left = powers(here_n - n, here_y - y, cubes=True)[6:]
            for place, (part, both) in enumerate(zip(left, powers(here_n, here_y, cubes=True)[6:], strict=True)):
                self.rest_cubes[place] += chunk.add(part - both, size)
        if self.kept is not None:
            self.kept.append((chunk.home + self.homes, cell, n, y))
        self.homes += chunk.count

    def sums(self) -> GroupSums:
        """The sums of all chunks; the rest of a cell is everybody less the cell."""
        n, y, _, nn, yn, yy = self.cell[:6]
        by_y, by_n, n_by_y, n_by_n = self.beside
        whole = self.whole[:, None]
        rest = [
            whole[0] - n, whole[1] - y, whole[2] - self.full, whole[3] - 2 * n_by_n + nn,
            whole[4] - n_by_y - by_n + yn, whole[5] - 2 * by_y + yy,
        ]  # fmt: skip
        if self.cubes:
            rest += list(self.rest_cubes + whole[6:])
        cross = CrossWay(by_y - yy, by_n - yn, n_by_y - yn, n_by_n - nn)
        return GroupSums(
            side(self.cell, self.squares, self.centre),
            side(rest, self.all_squares - self.squares, self.centre),
            Cross((cross,)),
            side(self.whole, np.asarray(self.all_squares), self.centre),
            self._between,
        )

    @cached_property
    def _products(self) -> tuple[Array, Array, Array]:
        from scipy import sparse

        home, cell, n, y = (np.concatenate(parts) for parts in zip(*(self.kept or []), strict=True))
        shape = (self.homes, self.size)
        rows = sparse.coo_matrix((n, (home, cell)), shape=shape).tocsr()
        sums = sparse.coo_matrix((y, (home, cell)), shape=shape).tocsr()
        return (sums.T @ sums).toarray(), (sums.T @ rows).toarray(), (rows.T @ rows).toarray()

    def _between(self, g: Array, h: Array) -> Cross:
        yy, yn, nn = self._products
        return Cross((CrossWay(yy[g, h], yn[g, h], yn[h, g], nn[g, h]),))
