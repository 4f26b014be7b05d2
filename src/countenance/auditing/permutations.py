"""Joint permutations of the labels of whole clusters, and the sums of every group under each of them.

A permutation gives every cluster the labels of another (of its stratum, where there are strata), all attributes at
once; scores, missing values and sizes stay where they are, and unknown labels move as labels do. Where no attribute
of a grouping varies within clusters, a cluster's label is one code, and sums over clusters are all that is needed.
Otherwise a cluster takes the rows of labels of its donor in random order, repeated or cut to its own number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from countenance.auditing.codes import combined, firsts_of, size_of
from countenance.auditing.contingency import Contingency
from countenance.auditing.groups import Grouping
from countenance.auditing.layout import Column, pattern_of, powers, side
from countenance.auditing.row_labels import ComparisonRequest, RowLabels, membership_matrix
from countenance.auditing.row_sums import RowSums
from countenance.auditing.sums import Cross, CrossWay, Side
from countenance.auditing.table import Array

CELLS = 1_000_000
"""About how many numbers a batch of permutations may hold at once."""
MANY = 20_000
"""With at least this many clusters, all columns of a metric are summed in one pass over the labels."""


@dataclass(frozen=True)
class Sampled:
    """The sides of all wanted comparisons of one metric, a row for each permutation."""

    first: Side
    second: Side
    cross: Cross


class Permutations:
    """Draws permutations from a seed, always in the same order, and sums every wanted comparison under each."""

    def __init__(
        self,
        sums: RowSums,
        groupings: Sequence[Grouping],
        requests: Sequence[ComparisonRequest],
        seed: int,
        strata: Array | None = None,
    ) -> None:
        if len(sums.layouts) != 1:
            raise ValueError("clusters that cross cannot be permuted")
        self.layout = sums.layouts[0]
        self.count = self.layout.count
        self.requests = requests
        self.rng = np.random.default_rng(seed)
        self.strata = _members(strata)
        self.split = [sums.splits(grouping) for grouping in groupings]
        whole = [i for i, split in enumerate(self.split) if not split]
        self.whole = _WholeLabels(sums, [groupings[i] for i in whole], whole) if whole else None
        self.rows = {i: RowLabels(sums, grouping) for i, grouping in enumerate(groupings) if self.split[i]}
        self.bases = (
            [] if self.whole is None else [self._bases(request.column, self.whole.cubes) for request in requests]
        )
        self.counted = self._counted()
        self.batch = self._batch()

    def _counted(self) -> Contingency | None:
        """The counts of kinds by labels, if drawing only these is enough; None otherwise."""
        if self.rows or self.whole is None or len(self.strata) > 1:
            return None
        columns = [column for bases in self.bases for column in bases.columns]
        return Contingency.of(columns, self.whole.codes, self.whole.patterns)

    def _bases(self, column: Column, cubes: bool) -> _Bases:
        return _Bases(*self.layout.cluster_sums(column), column, cubes)

    def _batch(self) -> int:
        size = max(self.count, self.layout.total if self.rows else 1)
        size = size if self.counted is None else self.counted.cells
        comparisons = max(len(request.g) for request in self.requests)
        return int(max(1, min(500, CELLS // size, CELLS // comparisons)))

    def draw(self, total: int) -> Iterator[list[Sampled]]:
        """Batches of permutations, `total` of them; a further call continues the same stream."""
        left = total
        while left > 0:
            size = min(self.batch, left)
            left -= size
            yield self._sample(size)

    def observed(self) -> list[Sampled]:
        """The sides of all wanted comparisons as the labels are."""
        if self.counted is not None and self.whole is not None:
            return self._of_counts(self.counted.observed(self.whole.codes)[None])
        donors = np.arange(self.count)[None]
        whole = None if self.whole is None else self.whole.codes[donors]
        return self._of_labels(whole, np.arange(self.layout.total)[None] if self.rows else None)

    def _of_counts(self, tables: Array) -> list[Sampled]:
        assert self.counted is not None and self.whole is not None
        counted, whole = self.counted, self.whole

        def met(bases: _Bases) -> list[Array]:
            return [counted.summed(tables, column) for column in bases.columns]

        return [
            _joined(whole.sums(bases, met, request), request, len(tables))
            for bases, request in zip(self.bases, self.requests, strict=True)
        ]

    def _sample(self, size: int) -> list[Sampled]:
        if self.counted is not None and self.whole is not None:
            return self._of_counts(self.counted.draw(self.rng, size))
        labels = whole = None
        if self.rows:
            donors = self._shuffled(np.arange(self.count), size)
            labels = self._row_labels(donors)
            whole = self.whole.codes[donors] if self.whole is not None else None
        elif self.whole is not None:
            whole = self._shuffled(self.whole.codes, size)
        return self._of_labels(whole, labels)

    def _of_labels(self, whole: Array | None, labels: Array | None) -> list[Sampled]:
        """The sides of all wanted comparisons: from whole clusters, or by rows from the row whose label each has."""
        parts: list[dict[int, tuple[Side, Side, Cross]]] = []
        for place, request in enumerate(self.requests):
            parts.append({})
            if self.whole is not None and whole is not None:
                parts[-1] |= self.whole.sums(self.bases[place], partial(self.whole.summed, whole), request)
        for i, rows in self.rows.items():
            if labels is not None:
                for places, sides in zip(parts, rows.sums(labels, self.requests, i), strict=True):
                    if sides is not None:
                        places[i] = sides
        size = next(len(drawn) for drawn in (whole, labels) if drawn is not None)
        return [_joined(places, request, size) for places, request in zip(parts, self.requests, strict=True)]

    def _shuffled(self, values: Array, size: int) -> Array:
        """A value of every cluster, exchanged within strata; a row for each permutation."""
        if len(self.strata) < 2:
            return self.rng.permuted(np.broadcast_to(values, (size, self.count)), axis=1)
        exchanged = np.empty((size, self.count), dtype=values.dtype)
        for members in self.strata:
            exchanged[:, members] = self.rng.permuted(np.broadcast_to(values[members], (size, len(members))), axis=1)
        return exchanged

    def _row_labels(self, donors: Array) -> Array:
        """For each permutation and row, the row whose label it takes."""
        layout = self.layout
        sizes, starts = np.diff(layout.starts), layout.starts[:-1]
        order = np.argsort(layout.codes + self.rng.random(layout.total))  # rows of a cluster in random order
        place = np.arange(layout.total) - starts[layout.codes]
        m, *other_sizes = np.unique(sizes).tolist()
        if not other_sizes:
            first = self.rng.integers(0, m, size=donors.shape, dtype=np.int32)
            inside = (first[:, :, None] + np.arange(m, dtype=np.int32)) % m
            rows = (donors[:, :, None] * m + inside).reshape(len(donors), -1)
        else:
            own = sizes[donors]
            start = (self.rng.random(donors.shape) * own).astype(np.int64)
            rows = starts[donors][:, layout.codes] + (start[:, layout.codes] + place) % own[:, layout.codes]
        return np.asarray(order[rows])


def _members(strata: Array | None) -> list[Array]:
    """The clusters of each stratum; empty where there is a single stratum."""
    if strata is None or not strata.any():
        return []
    return [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]


class _WholeLabels:
    """Groupings whose attributes do not vary within clusters: each cluster has one joint code."""

    def __init__(self, sums: RowSums, groupings: Sequence[Grouping], places: Sequence[int]) -> None:
        from scipy import sparse

        layout = sums.layouts[0]
        self.cubes = layout.unequal
        first = np.arange(layout.total) if layout.alone else layout.starts[:-1]
        used = sorted({index for grouping in groupings for index in grouping.attributes})
        code = np.zeros(layout.count, dtype=np.int64)
        for index in used:
            own = pattern_of(sums.attributes[index], layout.total)[first]
            code = combined(code, own)
        self.patterns = size_of(code)
        self.codes = code.astype(np.int32)
        rows = first[firsts_of(code)]
        self.offset: dict[int, int] = {}
        self.known: dict[int, int] = {}
        matrices = []
        start = 0
        for place, grouping in zip(places, groupings, strict=True):
            matrix = membership_matrix(sums, grouping, rows)
            self.offset[place], self.known[place] = start, start + matrix.shape[1]
            known = sparse.csr_matrix(np.asarray(matrix.sum(axis=1) > 0).astype(float))
            matrices += [matrix, known]
            start += matrix.shape[1] + 1
        self.matrix = sparse.hstack(matrices).T.tocsr()

    def summed(self, codes: Array, bases: _Bases) -> list[Array]:
        """The columns of the clusters added up by code, a row for each permutation of the codes."""
        size, count = codes.shape
        if count >= MANY:
            return self._in_one_pass(codes, bases)
        keys = (codes + (np.arange(size, dtype=np.int64) * self.patterns)[:, None]).ravel()
        added = []
        for column in bases.columns:
            if (column == column[0]).all():  # shuffling keeps the number of each label
                added.append(column[0] * np.bincount(self.codes, minlength=self.patterns)[None])
                continue
            tiled = np.broadcast_to(column, (size, count)).ravel()
            by_code = np.bincount(keys, tiled, minlength=size * self.patterns)
            added.append(by_code.reshape(size, self.patterns))
        return added

    def _in_one_pass(self, codes: Array, bases: _Bases) -> list[Array]:
        """The sums by a product with a 0/1 matrix, which reads every cluster once for all columns."""
        from scipy import sparse

        size, count = codes.shape
        ones, places = np.ones(count), np.arange(count + 1, dtype=np.int32)
        by_code = np.empty((size, self.patterns, bases.beside.shape[1]))
        for i in range(size):
            by_code[i] = sparse.csc_matrix((ones, codes[i], places), shape=(self.patterns, count)) @ bases.beside
        return list(np.moveaxis(by_code, 2, 0))

    def sums(
        self, bases: _Bases, summed: Callable[[_Bases], list[Array]], request: ComparisonRequest
    ) -> dict[int, tuple[Side, Side, Cross]]:
        """The sides of every comparison by grouping, a row for each permutation; `summed` adds columns up by code."""
        added = [np.asarray(self.matrix @ by_code.T).T for by_code in summed(bases)]
        sides: dict[int, tuple[Side, Side, Cross]] = {}
        for place, start in self.offset.items():
            here = request.place == place
            if not here.any():
                continue
            first = bases.side([part[:, start + request.g[here]] for part in added])
            if (request.h[here] >= 0).all():
                second = bases.side([part[:, start + request.h[here]] for part in added])
            else:
                known = [part[:, self.known[place], None] for part in added]
                mine = [part[:, start + request.g[here]] for part in added]
                second = bases.side([all_ - own for all_, own in zip(known, mine, strict=True)])
            sides[place] = (first, second, Cross())
        return sides


class _Bases:
    """The columns to add up over whole clusters, and how a side is made of their sums; equal sizes need fewer."""

    def __init__(self, n: Array, y: Array, squares: Array, column: Column, cubes: bool) -> None:
        self.centre, self.rate = column.centre, column.kind == "rate"
        self.thirds = column.kind == "mean"
        self.each: float | None = None  # rows per cluster, if equal in all
        if ((n == 0) | (n == n[0])).all():
            self.each = float(n[0]) or 1.0
            self.columns = [(n > 0).astype(float), y]
            if self.each > 1 or not self.rate:
                self.columns.append(y * y)
            if self.each > 1 and not self.rate:
                self.columns.append(squares)
            self.columns += [y**3] if self.thirds else []
        else:
            self.cubes = cubes
            self.columns = [*powers(n, y, cubes), *([] if self.rate else [squares])]
            if self.thirds:
                self.columns += [y**3] if cubes else [y**3, y * y * n, y * n * n, n**3]

    @cached_property
    def beside(self) -> Array:
        """The columns side by side, a row for each cluster."""
        return np.column_stack(self.columns)

    def side(self, sums: list[Array]) -> Side:
        """A side from the sums of the columns."""
        if self.each is None:
            return self._of_unequal(sums)
        m, count, total = self.each, sums[0], sums[1]
        yyy, sums = (sums[-1], sums[:-1]) if self.thirds else (None, sums)
        yy = sums[2] if len(sums) > 2 else total
        squares = sums[3] if len(sums) > 3 else total if self.rate else yy
        plain = side([m * count, total, count, m * m * count, m * total, yy], squares, self.centre)
        if yyy is None:
            return plain
        return replace(plain, thirds=(yyy, m * yy, m * m * total, m**3 * count))

    def _of_unequal(self, sums: list[Array]) -> Side:
        if self.rate:
            return side(sums, sums[1], self.centre)
        count = 9 if self.cubes else 6
        plain = side(sums[:count], sums[count], self.centre)
        if not self.thirds:
            return plain
        yyy, *further = sums[count + 1 :]
        yyn, ynn, nnn = further or (plain.yyn, plain.ynn, plain.nnn)
        return replace(plain, thirds=(yyy, yyn, ynn, nnn))


def _joined(parts: dict[int, tuple[Side, Side, Cross]], request: ComparisonRequest, size: int) -> Sampled:
    """The comparisons of all groupings side by side, in the order of `request`, with a row for each permutation."""
    places = list(dict.fromkeys(request.place.tolist()))
    ones, twos = [parts[place][0] for place in places], [parts[place][1] for place in places]
    crossed = any(parts[place][2].ways for place in places)
    ways: tuple[CrossWay, ...] = ()
    if crossed:
        zeros = [np.zeros((size, np.shape(side.total)[1])) for side in ones]
        each = [
            parts[place][2].ways[0] if parts[place][2].ways else CrossWay(zero, zero, zero, zero)
            for place, zero in zip(places, zeros, strict=True)
        ]
        ways = (CrossWay(*(np.hstack([getattr(way, name) for way in each]) for name in ("yy", "yn", "ny", "nn"))),)
    return Sampled(_beside(ones, size), _beside(twos, size), Cross(ways))


def _beside(sides: list[Side], size: int) -> Side:
    def stacked(parts: Sequence[Any]) -> Any:
        if any(part is None for part in parts):
            return None
        return np.hstack([np.broadcast_to(part, (size, part.shape[1])) for part in parts])

    names = ("n", "total", "clusters", "nn", "yn", "yy", "squares", "nnn", "ynn", "yyn")
    beside = Side(**{name: stacked([getattr(side, name) for side in sides]) for name in names}, centre=sides[0].centre)
    if all(side.thirds is None for side in sides):
        return beside
    # A grouping whose attribute differs within clusters has no such sums: its skewness is not known.
    thirds = [side.thirds or (np.full(np.shape(side.n), np.nan),) * 4 for side in sides]
    return replace(beside, thirds=tuple(stacked(part) for part in zip(*thirds, strict=True)))
