"""From rows in memory to the sums of every group: one pass a grouping, over clusters where they are whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from countenance.audit.groups import Grouping, Members
from countenance.audit.sums import Cross, CrossWay, GroupSums, Side
from countenance.audit.table import Array, Attribute
from countenance.audit.units import Units

UNEQUAL = 4
"""A cluster so many times as large as the mean one makes sizes unequal."""
CHUNK = 400_000
"""Rows that are summed at once where a cluster may be in several groups."""


@dataclass(frozen=True)
class Column:
    """A metric's values (NaN: outside its denominator), centred so that sums of squares do not cancel."""

    name: str
    kind: str
    values: Array
    centre: float = 0.0

    @classmethod
    def of(cls, name: str, kind: str, values: Array) -> Column:
        """A column about its mean; a rate stays as it is, so that its sums are whole numbers."""
        known = ~np.isnan(values)
        if kind == "rate" or not known.any():
            return cls(name, kind, values)
        centre = float(values.mean() if known.all() else values[known].mean())
        return cls(name, kind, values - centre, centre)


class Layout:
    """Rows in the order of their clusters in one way of clustering; no codes: every row is a cluster."""

    def __init__(self, codes: Array | None, total: int) -> None:
        self.alone, self.total = codes is None, total
        self.order: Array | None = None
        if codes is None:
            self.count = total
            return
        if (np.diff(codes) < 0).any():
            self.order = np.argsort(codes, kind="stable")
            codes = codes[self.order]
        self.codes: Array = codes
        self.count = int(codes[-1]) + 1 if len(codes) else 0
        self.starts: Array = np.searchsorted(codes, np.arange(self.count + 1))
        self._sums: dict[str, tuple[Array, Array, Array]] = {}

    @cached_property
    def unequal(self) -> bool:
        """Whether some cluster is much larger than the others, so that its weight in a variance matters."""
        if self.alone or not self.count:
            return False
        sizes = np.diff(self.starts)
        return bool(sizes.max() > UNEQUAL * sizes.mean())

    def arranged(self, column: Array) -> Array:
        """A column in the order of the clusters."""
        return column if self.order is None else column[self.order]

    def varies(self, one: Attribute) -> bool:
        """Whether an attribute differs between rows of some cluster."""
        if self.alone:
            return False
        pattern = self.arranged(pattern_of(one, self.total))
        return bool((pattern[self.starts[self.codes]] != pattern).any())

    def cluster_sums(self, column: Column) -> tuple[Array, Array, Array]:
        """Rows, sum and sum of squares of every cluster."""
        if self.alone:
            known = ~np.isnan(column.values)
            y = column.values if known.all() else np.where(known, column.values, 0.0)
            return known.astype(float), y, y if column.kind == "rate" else y * y
        if column.name not in self._sums:
            values = self.arranged(column.values)
            known = ~np.isnan(values)
            if known.all():
                n = np.diff(self.starts).astype(float)
            else:
                n = np.bincount(self.codes, known, minlength=self.count)
                values = np.where(known, values, 0.0)
            y = np.bincount(self.codes, values, minlength=self.count)
            squares = y if column.kind == "rate" else np.bincount(self.codes, values * values, minlength=self.count)
            self._sums[column.name] = (n, y, squares)
        return self._sums[column.name]


def pattern_of(one: Attribute, total: int) -> Array:
    """A code for each row that says which groups of an attribute it is in.

    >>> pattern_of(Attribute("a", ["x", "y"], np.array([0, 1, 0]), np.array([0, 0, 2])), 4)[[1, 3]].tolist()
    [0, 0]
    """
    if one.rows is None:
        return one.codes
    # A row's set of groups is known by the sum of one large random number for each group.
    marks = np.random.default_rng(0).integers(1, 2**62, size=max(len(one.levels), 1))
    sums = np.zeros(total, dtype=np.int64)
    np.add.at(sums, one.rows, marks[one.codes])
    return np.unique(sums, return_inverse=True)[1]


class RowSums:
    """The sums of any metric over any grouping of one table."""

    def __init__(self, attributes: Sequence[Attribute], units: Units, total: int) -> None:
        self.attributes, self.units, self.total = attributes, units, total
        codes: list[Array | None] = [None] if not units.codes else list(units.codes)
        if len(codes) == 2:
            width = int(units.codes[1].max(initial=0)) + 1
            codes.append(np.unique(units.codes[0] * width + units.codes[1], return_inverse=True)[1])
        self.layouts = [Layout(one, total) for one in codes]

    @cached_property
    def varying(self) -> list[list[bool]]:
        """For each way and attribute, whether the attribute differs within clusters."""
        return [[layout.varies(one) for one in self.attributes] for layout in self.layouts]

    def splits(self, grouping: Grouping) -> bool:
        """Whether a cluster may have rows in several cells of a grouping."""
        return any(varying[index] for varying in self.varying for index in grouping.attributes)

    def of(self, grouping: Grouping, members: Members, column: Column, pairs: bool = False) -> GroupSums:
        """Sum one metric over the cells of one grouping; `pairs`: also what any two cells share."""
        made = []
        for layout, varying in zip(self.layouts, self.varying, strict=True):
            split = any(varying[index] for index in grouping.attributes)
            made.append((_split if split else _whole)(layout, members, column, len(grouping.cells), pairs))
        sums = made[0]
        if len(made) == 1:
            return sums
        return GroupSums(
            replace(sums.cells, further=tuple(other.cells.first for other in made[1:])),
            replace(sums.rests, further=tuple(other.rests.first for other in made[1:])),
            _joined([other.against_rest for other in made], len(grouping.cells)),
            replace(sums.whole, further=tuple(other.whole.first for other in made[1:])),
            lambda g, h: _joined([other.between(g, h) for other in made], len(np.atleast_1d(g))),
        )


def _joined(crosses: list[Cross], size: int) -> Cross:
    zeros = CrossWay(*([np.zeros(size)] * 4))
    if not any(cross.ways for cross in crosses):
        return Cross()
    return Cross(tuple(cross.ways[0] if cross.ways else zeros for cross in crosses))


def powers(n: Array, y: Array, cubes: bool) -> list[Array]:
    """What is added up over clusters of n rows with sum y: n, y, whether it is there, n², yn, y² (n³, yn², y²n)."""
    nn, yy = n * n, y * y
    plain = [n, y, (n > 0).astype(float), nn, y * n, yy]
    return [*plain, nn * n, nn * y, yy * n] if cubes else plain


def side(parts: Iterable[Array], squares: Array, centre: float) -> Side:
    """A side from its sums of `powers` and its sum of squares over rows."""
    n, y, clusters, nn, yn, yy, *cubes = parts
    nnn, ynn, yyn = cubes or (None, None, None)
    return Side(n, y, clusters, nn, yn, yy, squares, centre, nnn, ynn, yyn)


def _whole(layout: Layout, members: Members, column: Column, size: int, pairs: bool) -> GroupSums:
    """Every cluster is in one cell as a whole, or in none."""
    sums = layout.cluster_sums(column)
    if members.rows is None:
        cell = members.cells if layout.alone else layout.arranged(members.cells)[layout.starts[:-1]]
        known = cell >= 0
        if not known.all():
            cell, sums = cell[known], (sums[0][known], sums[1][known], sums[2][known])
        everyone = mine = _features(layout, *sums)
    else:
        home = members.rows
        if not layout.alone:
            first = layout.starts[:-1] if layout.order is None else layout.order[layout.starts[:-1]]
            place = np.full(layout.total, -1, dtype=np.int64)  # the first row of a cluster speaks for it
            place[first] = np.arange(layout.count)
            home = place[members.rows]
        cell, home = members.cells[home >= 0], home[home >= 0]
        distinct = np.unique(home)
        everyone = _features(layout, *(part[distinct] for part in sums))
        mine = _features(layout, *(part[home] for part in sums))
    added = {id(part): np.bincount(cell, part, minlength=size) for part in mine}
    total = {id(part): part.sum() for part in everyone}
    rest = [total[id(b)] - added[id(a)] for a, b in zip(mine, everyone, strict=True)]
    cells = [added[id(part)] for part in mine]
    whole = [total[id(part)] for part in everyone]
    made = (side(parts[:-1], parts[-1], column.centre) for parts in (cells, rest, whole))
    return GroupSums(next(made), next(made), Cross(), next(made), lambda g, h: Cross())


def _features(layout: Layout, n: Array, y: Array, squares: Array) -> list[Array]:
    """`powers` of whole clusters and their squares; columns that are equal are the same object, added up once."""
    if layout.alone:
        return [n, y, n, n, y, squares, squares]
    return [*powers(n, y, layout.unequal), squares]


def _split(layout: Layout, members: Members, column: Column, size: int, pairs: bool) -> GroupSums:
    """A cluster may have rows in several cells: sums over blocks (the rows of one cluster in one cell), in chunks."""
    blocks = _Blocks(size, column.centre, pairs, layout.unequal)
    values = layout.arranged(column.values)
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
        own = values[here] if rows is None else values[rows[here]]
        blocks.add(cells[here], homes[here] - first, own, last - first, None if rows is None else rows[here])
        first = last
    return blocks.sums()


class _Blocks:
    """Sums over blocks, added up chunk by chunk."""

    def __init__(self, size: int, centre: float, pairs: bool, cubes: bool) -> None:
        self.size, self.centre, self.cubes = size, centre, cubes
        count = 9 if cubes else 6
        self.cell, self.rest, self.whole = np.zeros((count, size)), np.zeros((count, size)), np.zeros(count)
        self.squares, self.all_squares = np.zeros(size), 0.0
        self.cross = np.zeros((4, size))
        self.kept: list[tuple[Array, Array, Array, Array]] | None = [] if pairs else None
        self.homes = 0

    def add(self, cells: Array, homes: Array, values: Array, count: int, rows: Array | None) -> None:
        """Add the rows of some clusters, all of them; `rows` where a row may be in several cells."""
        size = self.size
        keep = (cells >= 0) & ~np.isnan(values)
        if not keep.all():
            cells, homes, values = cells[keep], homes[keep], values[keep]
            rows = None if rows is None else rows[keep]
        keys = homes.astype(np.int64) * size + cells
        counted = np.bincount(keys, minlength=count * size)
        there = np.flatnonzero(counted)
        n, y = counted[there].astype(float), np.bincount(keys, values, minlength=count * size)[there]
        home, cell = np.divmod(there, size)
        squares = values * values
        if rows is None:
            big_n, big_y = np.bincount(home, n, minlength=count), np.bincount(home, y, minlength=count)
            self.all_squares += float(squares.sum())
        else:
            once = np.unique(rows, return_index=True)[1]
            big_n = np.bincount(homes[once], minlength=count).astype(float)
            big_y = np.bincount(homes[once], values[once], minlength=count)
            self.all_squares += float(squares[once].sum())
        self.squares += np.bincount(cells, squares, minlength=size)
        other_n, other_y = big_n[home] - n, big_y[home] - y
        mine = powers(n, y, self.cubes)
        others, both = powers(other_n, other_y, self.cubes), powers(big_n[home], big_y[home], self.cubes)
        for place in range(len(mine)):
            self.cell[place] += np.bincount(cell, mine[place], minlength=size)
            self.rest[place] += np.bincount(cell, others[place] - both[place], minlength=size)
        for place, product in enumerate((y * other_y, y * other_n, n * other_y, n * other_n)):
            self.cross[place] += np.bincount(cell, product, minlength=size)
        self.whole += [part.sum() for part in powers(big_n, big_y, self.cubes)]
        if self.kept is not None:
            self.kept.append((home + self.homes, cell, n, y))
        self.homes += count

    def sums(self) -> GroupSums:
        """The sums of all chunks."""
        cells = side(self.cell, self.squares, self.centre)
        rests = side(self.rest + self.whole[:, None], self.all_squares - self.squares, self.centre)
        whole = side(self.whole, np.asarray(self.all_squares), self.centre)
        return GroupSums(cells, rests, Cross((CrossWay(*self.cross),)), whole, self._between)

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
