"""Sums of groups under permutation where an attribute varies within clusters, so that rows are labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing.codes import combined, firsts_of
from countenance.auditing.groups import Grouping
from countenance.auditing.layout import Column, pattern_of, powers, side
from countenance.auditing.row_sums import RowSums
from countenance.auditing.sums import Cross, CrossWay, Side
from countenance.auditing.table import Array

CACHED = 100_000
"""How many numbers of one kind are computed at once."""


@dataclass(frozen=True)
class ComparisonRequest:
    """The comparisons of one metric to look at under permutation: arrays of grouping, cell and other (-1: rest)."""

    column: Column
    place: Array
    g: Array
    h: Array


class RowLabels:
    """A grouping of which some attribute varies within clusters."""

    def __init__(self, sums: RowSums, grouping: Grouping) -> None:
        self.layout, self.cubes = sums.layouts[0], sums.layouts[0].unequal
        members = grouping.members(sums.attributes, sums.size)
        if members.rows is None:
            self.labels = np.where(members.cells < 0, len(grouping.cells), members.cells)
            self.matrix: Array = np.eye(len(grouping.cells) + 1, len(grouping.cells))
        else:  # a row may be in several cells: its label is the set of them
            code = np.zeros(sums.size, dtype=np.int64)
            for index in grouping.attributes:
                code = combined(code, pattern_of(sums.attributes[index], sums.size))
            self.labels, self.matrix = code, membership_matrix(sums, grouping, firsts_of(code)).toarray()

    def sums(
        self, rows: Array, requests: Sequence[ComparisonRequest], place: int
    ) -> list[tuple[Side, Side, Cross] | None]:
        """The sides of the comparisons of this grouping, a row for each permutation (`rows`: whose label each takes).

        Metrics that the same rows have share everything that does not depend on the metric.
        """
        here = [request.place == place for request in requests]
        if not any(h.any() for h in here):  # nothing in this grouping is large enough to be tested
            return [None] * len(requests)
        cells = np.unique(
            np.concatenate([request.g[h] for request, h in zip(requests, here, strict=True)]).astype(np.int64)
        )
        others = np.unique(
            np.concatenate([request.h[h] for request, h in zip(requests, here, strict=True)]).astype(np.int64)
        )
        named = bool(len(others)) and bool((others >= 0).all())
        looked_at = np.concatenate([cells, others]) if named else cells
        slots = _Slots(self.labels, self.matrix, looked_at)
        step = max(1, CACHED // (self.layout.count * slots.width))
        parts: list[list[tuple[Array, Array, Array]]] = [[] for _ in requests]
        some = [i for i, h in enumerate(here) if h.any()]
        for start in range(0, len(rows), step):
            counts: dict[bytes, _Counts] = {}
            for i in some:
                values = requests[i].column.values
                valid = ~np.isnan(values)
                key = b"" if valid.all() else valid.tobytes()
                if key not in counts:
                    use = slice(None) if not key else np.flatnonzero(valid)
                    counts[key] = _Counts(rows[start : start + step], use, self.layout, slots, self.cubes)
                sums = counts[key].of(requests[i].column, len(others) if named else 0)
                parts[i].append(sums)
        sides: list[tuple[Side, Side, Cross] | None] = []
        for i, request in enumerate(requests):
            if i not in some:
                sides.append(None)
                continue
            own, other, cross = (np.concatenate(part, axis=1) for part in zip(*parts[i], strict=True))
            pick = np.searchsorted(cells, request.g[here[i]])
            centre = request.column.centre
            sides.append(
                (
                    side(list(own[:-1, :, pick]), own[-1][:, pick], centre),
                    side(list(other[:-1, :, pick]), other[-1][:, pick], centre),
                    Cross((CrossWay(*(part[:, pick] for part in cross)),)),
                )
            )
        return sides


class _Slots:
    """Rows' labels in fewer slots: one for each cell of interest, one for other known rows, one for unknown rows."""

    def __init__(self, labels: Array, matrix: Array, cells: Array) -> None:
        known, members = matrix.any(axis=1), matrix[:, cells]
        self.matrix: Array | None = None
        if (matrix.sum(axis=1) <= 1).all():
            slot = np.where(members.any(axis=1), members.argmax(axis=1), len(cells) + (~known).astype(int))
            self.width, self.known = len(cells) + 2, np.arange(len(cells) + 2) <= len(cells)
        else:  # sets of cells
            kinds, slot = np.unique(np.column_stack([members, known]), axis=0, return_inverse=True)
            self.width, self.known, self.matrix = len(kinds), kinds[:, -1] > 0, kinds[:, :-1]
        self.of_row: Array = slot.ravel()[labels].astype(np.int64)
        self.cells = len(cells)

    def by_cell(self, part: Array) -> Array:
        """From sums by slot (second axis) to sums by cell."""
        return part[:, : self.cells] if self.matrix is None else np.tensordot(part, self.matrix, (1, 0)).swapaxes(1, -1)

    def all_known(self, part: Array) -> Array:
        """The sums of all known rows."""
        total: Array = part[:, :-1].sum(axis=1) if self.matrix is None else part[:, self.known].sum(axis=1)
        return total


class _Counts:
    """For some permutations, how many rows each cluster has in each cell; and with a metric, all its sums."""

    def __init__(self, rows: Array, use: Any, layout: Any, slots: _Slots, cubes: bool) -> None:
        self.slots, self.use, self.cubes = slots, use, cubes
        labels = slots.of_row[rows[:, use]]
        self.shape = (len(rows), slots.width, layout.count)
        self.places = np.arange(len(rows))[:, None] * slots.width + labels
        self.keys = (self.places * layout.count + layout.codes[use]).ravel()
        counted = np.bincount(self.keys, minlength=self.shape[0] * self.shape[1] * self.shape[2])
        by_slot = counted.reshape(self.shape).astype(float)
        self.n, self.big_n = slots.by_cell(by_slot), slots.all_known(by_slot)
        self.nn = self.n * self.n
        self.counts = self.n.sum(axis=2), (self.n > 0).sum(axis=2).astype(float), self.nn.sum(axis=2)
        self.full = ((self.n == self.big_n[:, None, :]) & (self.n > 0)).sum(axis=2)
        self.n_by_n = _by(self.n, self.big_n)
        if cubes:
            self.square = self.big_n * self.big_n
            self.nnn, self.n_by_nn = np.einsum("bgc,bgc->bg", self.nn, self.n), _by(self.n, self.square)
            self.nn_by_n = _by(self.nn, self.big_n)

    def of(self, column: Column, others: int) -> tuple[Array, Array, Array]:
        """The sums of the cells, of the other sides, and of their products; `others`: the last cells are references."""
        values = column.values[self.use]
        tiled = np.broadcast_to(values, self.places.shape).ravel()
        by_slot = np.bincount(self.keys, tiled, minlength=self.shape[0] * self.shape[1] * self.shape[2])
        by_slot = by_slot.reshape(self.shape)
        y, big_y = self.slots.by_cell(by_slot), self.slots.all_known(by_slot)
        if column.kind == "rate":
            squares, all_squares = y.sum(axis=2), big_y.sum(axis=1)
        else:
            again = np.broadcast_to(values * values, self.places.shape).ravel()
            flat = np.bincount(self.places.ravel(), again, minlength=self.shape[0] * self.shape[1])
            flat = flat.reshape(self.shape[:2])
            squares, all_squares = self.slots.by_cell(flat), self.slots.all_known(flat)
        yn, yy = y * self.n, y * y
        n, clusters, nn = self.counts
        own = [n, y.sum(axis=2), clusters, nn, yn.sum(axis=2), yy.sum(axis=2)]
        if self.cubes:
            own += [self.nnn, np.einsum("bgc,bgc->bg", self.nn, y), np.einsum("bgc,bgc->bg", yy, self.n)]
        own.append(squares)
        if others:
            return self._references(np.array(own), y, others)
        n_by_y, y_by_n, y_by_y = _by(self.n, big_y), _by(y, self.big_n), _by(y, big_y)
        whole = [part.sum(axis=1)[:, None] for part in powers(self.big_n, big_y, self.cubes)]
        rest = [
            whole[0] - own[0],
            whole[1] - own[1],
            whole[2] - self.full,
            whole[3] - 2 * self.n_by_n + own[3],
            whole[4] - n_by_y - y_by_n + own[4],
            whole[5] - 2 * y_by_y + own[5],
        ]
        if self.cubes:
            n_by_ny, n_by_yy = _by(self.n, self.big_n * big_y), _by(self.n, big_y * big_y)
            y_by_nn, y_by_ny = _by(y, self.square), _by(y, self.big_n * big_y)
            nn_by_y, yn_by_n, yn_by_y, yy_by_n = (
                _by(self.nn, big_y),
                _by(yn, self.big_n),
                _by(yn, big_y),
                _by(yy, self.big_n),
            )
            rest += [
                whole[6] - 3 * self.n_by_nn + 3 * self.nn_by_n - own[6],
                whole[7] - y_by_nn - 2 * n_by_ny + 2 * yn_by_n + nn_by_y - own[7],
                whole[8] - 2 * y_by_ny + yy_by_n - n_by_yy + 2 * yn_by_y - own[8],
            ]
        rest.append(all_squares[:, None] - squares)
        cross = [y_by_y - own[5], y_by_n - own[4], n_by_y - own[4], self.n_by_n - own[3]]
        return np.array(own), np.array(rest), np.array(cross)

    def _references(self, own: Array, y: Array, others: int) -> tuple[Array, Array, Array]:
        if others != 1:
            raise ValueError("a grouping has one reference")
        own_cells = own[:, :, :-1]
        reference = np.broadcast_to(own[:, :, -1:], own_cells.shape)
        n2, y2 = self.n[:, -1], y[:, -1]
        cross = [_by(y[:, :-1], y2), _by(y[:, :-1], n2), _by(self.n[:, :-1], y2), _by(self.n[:, :-1], n2)]
        return own_cells, reference, np.array(cross)


def _by(part: Array, weight: Array) -> Array:
    """Σ over clusters (the last axis) of a table by permutation, cell and cluster times a weight by cluster."""
    products: Array = np.matmul(part, weight[:, :, None])[:, :, 0]
    return products


def membership_matrix(sums: RowSums, grouping: Grouping, rows: Array) -> Any:
    """Which of the cells each of the given rows is in, as a sparse matrix."""
    from scipy import sparse

    members = grouping.members(sums.attributes, sums.size)
    if members.rows is None:
        cells, where = members.cells[rows], np.arange(len(rows))
        where, cells = where[cells >= 0], cells[cells >= 0]
    else:
        place = np.full(sums.size, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        where = place[members.rows]
        where, cells = where[where >= 0], members.cells[where >= 0]
    shape = (len(rows), len(grouping.cells))
    return sparse.csr_matrix((np.ones(len(where)), (where, cells)), shape=shape)
