"""From rows in memory to the sums of every group: over clusters where they are whole, else over blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from countenance.auditing.blocks import split_sums
from countenance.auditing.codes import combined
from countenance.auditing.groups import Grouping, Members
from countenance.auditing.layout import Column, Layout, powers, side
from countenance.auditing.sums import Cross, CrossWay, GroupSums, cluster_means
from countenance.auditing.table import Array, Attribute
from countenance.auditing.units import Units


def layouts(units: Units, total: int, weights: Array | None = None) -> list[Layout]:
    """The order of rows in every way of clustering, and in both at once; cached with the units."""
    if not units.codes:
        return [Layout(None, total, weights)]
    if not units.layouts:
        codes = list(units.codes)
        if len(codes) == 2:
            codes.append(combined(*codes))
        units.layouts.extend(Layout(way_codes, total, weights) for way_codes in codes)
    return units.layouts


class RowSums:
    """The sums of any metric over any grouping of one table.

    `size` is how many elements the arrays have, `total` how many rows those stand for.
    """

    def __init__(self, attributes: Sequence[Attribute], units: Units, size: int, weights: Array | None = None) -> None:
        self.attributes, self.units, self.size = attributes, units, size
        self.total = size if weights is None else int(weights.sum())
        self.layouts = layouts(units, size, weights)

    @cached_property
    def varying(self) -> list[list[bool]]:
        """For each way and attribute, whether the attribute differs within clusters."""
        varying = [[layout.varies(attribute) for attribute in self.attributes] for layout in self.layouts[:2]]
        if len(self.layouts) > 2:  # rows that share both clusters differ only where rows of either do
            varying.append(
                [
                    all(own) and self.layouts[2].varies(attribute)
                    for attribute, *own in zip(self.attributes, *varying, strict=True)
                ]
            )
        return varying

    def splits(self, grouping: Grouping) -> bool:
        """Whether a cluster may have rows in several cells of a grouping."""
        return any(varying[index] for varying in self.varying for index in grouping.attributes)

    def of(self, grouping: Grouping, members: Members, column: Column, pairs: bool = False) -> GroupSums:
        """Sum one metric over the cells of one grouping; with `pairs` also what any two cells share."""
        return self.of_each(grouping, members, [column], pairs)[0]

    def of_each(
        self, grouping: Grouping, members: Members, columns: Sequence[Column], pairs: bool = False
    ) -> list[GroupSums]:
        """Sum several columns over the cells of one grouping; what they have in common is worked out once."""
        sums = []
        for layout, varying in zip(self.layouts, self.varying, strict=True):
            if any(varying[index] for index in grouping.attributes):
                sums.append(split_sums(layout, members, columns, len(grouping.cells), pairs))
            else:
                sums.append([_whole(layout, members, column, len(grouping.cells)) for column in columns])
        return [self._crossed(list(ways), len(grouping.cells)) for ways in zip(*sums, strict=True)]

    def _crossed(self, ways: list[GroupSums], size: int) -> GroupSums:
        """The sums of one grouping in all ways of clustering, combined."""
        sums = ways[0]
        if len(ways) == 1:
            return sums
        return GroupSums(
            replace(sums.cells, further=tuple(other.cells.first for other in ways[1:])),
            replace(sums.rests, further=tuple(other.rests.first for other in ways[1:])),
            _joined([other.against_rest for other in ways], size),
            replace(sums.whole, further=tuple(other.whole.first for other in ways[1:])),
            lambda g, h: _joined([other.between(g, h) for other in ways], len(np.atleast_1d(g))),
        )


def _joined(crosses: list[Cross], size: int) -> Cross:
    zeros = CrossWay(*([np.zeros(size)] * 4))
    if not any(cross.ways for cross in crosses):
        return Cross()
    return Cross(tuple(cross.ways[0] if cross.ways else zeros for cross in crosses))


def _whole(layout: Layout, members: Members, column: Column, size: int) -> GroupSums:
    """The sums where every cluster is in one cell as a whole, or in none."""
    if members.rows is None and layout.mostly_alone:
        return _alone(layout, members, column, size)
    sums = layout.cluster_sums(column)
    if members.rows is None:
        cell = members.cells if layout.alone else layout.firsts(members.cells)
        known = cell >= 0
        if not known.all():
            cell, sums = cell[known], (sums[0][known], sums[1][known], sums[2][known])
        everyone = mine = _features(layout, *sums)
    else:
        home = members.rows
        if not layout.alone:
            first = layout.starts[:-1] if layout.order is None else layout.order[layout.starts[:-1]]
            place = np.full(layout.total, -1, dtype=np.int64)  # the first row of a cluster represents it
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
    return _grouped(cells, rest, whole, column.centre)


def _grouped(cells: list[Array], rest: list[Array], whole: list[Array], centre: float) -> GroupSums:
    """The sums of cells, rests and everybody, from features in the order of `_features`; no cluster is in two cells."""
    sides = (side(parts[:-3], parts[-3], centre, (parts[-2], parts[-1])) for parts in (cells, rest, whole))
    return GroupSums(next(sides), next(sides), Cross(), next(sides), lambda g, h: Cross())


def _alone(layout: Layout, members: Members, column: Column, size: int) -> GroupSums:
    """The same sums where few clusters have several rows: every row as a cluster, then corrected for those few."""
    rows, homes, first = layout.several
    own, cell = column.values[rows], members.cells[first]
    known = ~np.isnan(own)
    n = np.bincount(homes, known, minlength=len(first))
    y, squares = (np.bincount(homes[known], part[known], minlength=len(first)) for part in (own, own * own))
    values, cells = column.values, members.cells
    known = (cells >= 0) & ~np.isnan(values)
    if not known.all():
        values, cells = values[known], cells[known]
    counted = np.bincount(cells, minlength=size).astype(float)
    total = np.bincount(cells, values, minlength=size)
    squared = total if column.kind == "rate" else np.bincount(cells, values * values, minlength=size)
    each = [counted, total, counted, counted, total, squared, counted, total, squared]
    here = cell >= 0
    as_rows = [n, y, n, n, y, squares, n, y, squares]
    parts = [
        of_rows + np.bincount(cell[here], (together - apart)[here], minlength=size)
        for of_rows, together, apart in zip(each, powers(n, y, layout.unequal), as_rows, strict=False)
    ]
    parts.append(squared)
    m = cluster_means(n, y)
    for of_rows, together, apart in ((total, m, y), (squared, m * m, squares)):
        parts.append(of_rows + np.bincount(cell[here], (together - apart)[here], minlength=size))
    whole = [part.sum() for part in parts]
    rest = [everyone - part for everyone, part in zip(whole, parts, strict=True)]
    return _grouped(parts, rest, whole, column.centre)


def _features(layout: Layout, n: Array, y: Array, squares: Array) -> list[Array]:
    """`powers` of whole clusters, their squares, their means and squared means; equal columns are the same object."""
    if layout.alone:
        return [n, y, n, n, y, squares, squares, y, squares]
    m = cluster_means(n, y)
    return [*powers(n, y, layout.unequal), squares, m, m * m]
