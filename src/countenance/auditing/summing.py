"""Sums over the groups of an attribute for every metric: scores, ranks, people's means, missing scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countenance.auditing import ranks, small_groups
from countenance.auditing.groups import GROUP, Grouping, Members
from countenance.auditing.layout import Column
from countenance.auditing.measured_metric import FewPeople, Intervals, MeasuredMetric, Ranked, Summed
from countenance.auditing.row_sums import RowSums
from countenance.auditing.rows import Rows
from countenance.auditing.settings import FEWEST, AuditSettings
from countenance.auditing.sums import GroupSums
from countenance.auditing.table import Array, Attribute


class Summing:
    """The sums of all metrics over any grouping; what a metric needs several times is computed once."""

    def __init__(self, rows: Rows, attributes: Sequence[Attribute], settings: AuditSettings) -> None:
        self.rows, self.attributes, self.settings = rows, attributes, settings
        self.sums = RowSums(attributes, rows.units, rows.size, rows.weights)
        self.layout = self.sums.layouts[0]
        self._columns: dict[tuple[int, bool], Column] = {}
        self._dense: dict[tuple[int, bool], Array] = {}
        self._people: dict[int, small_groups.PeopleMeans] = {}
        self._people_columns: dict[int, tuple[Column, Column]] = {}

    def members(self, grouping: Grouping) -> Members:
        """Which rows are in which cell."""
        return grouping.members(self.attributes, self.rows.size)

    def whole(self, grouping: Grouping) -> bool:
        """Whether all rows of each person are in one cell, and people are the independent units."""
        return len(self.sums.layouts) == 1 and not self.sums.splits(grouping)

    def of(self, grouping: Grouping, measured: Sequence[MeasuredMetric], *, tested: bool = True) -> list[Summed]:
        """The sums of every metric over one grouping; `tested`: also what only tests need."""
        members = self.members(grouping)
        ranked = [metric for metric in measured if tested and metric.column.kind != "rate" and len(grouping.cells) > 1]
        columns = [column for metric in measured for column in _columns_of(metric)]
        rank_columns = [self._rank_columns(metric.column, grouping, members) for metric in ranked]
        columns += [column for both in rank_columns for column in both]
        # All pairs of groups are needed to compare each two, or to find the largest difference among three or more.
        pairs = self.settings.comparison != "rest" or (grouping.named and len(grouping.cells) > 2)
        each = iter(self.sums.of_each(grouping, members, columns, pairs=pairs and grouping.kind == GROUP))
        parts = [[next(each) for _ in _columns_of(metric)] for metric in measured]
        of_ranks = {
            id(metric): self._ranked(grouping, members, metric.column, both, [next(each) for _ in both])
            for metric, both in zip(ranked, rank_columns, strict=True)
        }
        return [
            self._summed(grouping, members, metric, own, of_ranks.get(id(metric)), tested)
            for metric, own in zip(measured, parts, strict=True)
        ]

    def _summed(
        self,
        grouping: Grouping,
        members: Members,
        measured: MeasuredMetric,
        parts: list[GroupSums],
        ranked: Ranked | None,
        tested: bool,
    ) -> Summed:
        sums, wrong, missing = parts[0], parts[1 : 1 + len(measured.wrong)], parts[1 + len(measured.wrong) :]
        few = self._few(grouping, members, measured.column, sums) if tested and len(grouping.cells) > 1 else None
        intervals = Intervals.of(sums, measured, self.settings.alpha)
        return Summed(sums, intervals, ranked, few, tuple(wrong), missing[0] if missing else None)

    # ---- ranks

    def _rank_columns(self, column: Column, grouping: Grouping, members: Members) -> list[Column]:
        """The ranks among everybody, which the tests use, and among known groups, if these differ."""
        whole = self.whole(grouping)
        known = members.known(self.rows.size)
        if column.counts is not None and (self.layout.alone or not whole):
            used = {*grouping.attributes, *([] if grouping.derived_from is None else [grouping.derived_from])}
            attributes = self.rows.unknown & used
            keys = [frozenset(), attributes] if attributes else [frozenset()]
            return [self.rows.ranked[column.name, key] for key in keys if (column.name, key) in self.rows.ranked]
        everybody = self._rank_column(column, whole, None)
        if known.all():
            return [everybody]
        if whole:
            known = known if self.layout.alone else self.layout.firsts(known)
        return [everybody, self._rank_column(column, whole, known)]

    def _rank_column(self, column: Column, whole: bool, known: Array | None) -> Column:
        """The ranks of people's means, or of rows, among those that are known."""
        key = (id(column), whole)
        if key not in self._dense:
            values = ranks.people_means(self.layout, column) if whole else column.values
            self._dense[key] = ranks.dense_ranks(values)
        dense = self._dense[key]
        if known is not None:
            return ranks.rank_column(column.name, np.where(known, dense, -1), self.layout if whole else None)
        if key not in self._columns:
            self._columns[key] = ranks.rank_column(column.name, dense, self.layout if whole else None)
        return self._columns[key]

    def _ranked(
        self, grouping: Grouping, members: Members, column: Column, ranked: list[Column], sums: list[GroupSums]
    ) -> Ranked:
        everybody, total = (
            float(own.known.sum()) if own.counts is None else float(own.counts.sum()) for own in (ranked[0], ranked[-1])
        )
        if self.settings.comparison == "rest" or column.counts is not None:
            return Ranked(ranked[0], sums[0], sums[-1], total, everybody)
        whole = self.whole(grouping)
        dense = self._dense[id(column), whole]
        cells = self._people_of(grouping, members) if whole else _rows_of(members, len(grouping.cells))
        there = [own[dense[own] >= 0] for own in cells]
        clusters = () if whole else self.rows.units.codes
        return Ranked(ranked[0], sums[0], sums[-1], total, everybody, dense, there, clusters)

    # ---- few people

    def _few(self, grouping: Grouping, members: Members, column: Column, sums: GroupSums) -> FewPeople | None:
        """People's means, where some side has few people and nobody is on both sides."""
        units = np.concatenate([np.atleast_1d(side.units) for side in (sums.cells, sums.rests)])
        if not ((units >= FEWEST) & (units < self.settings.min_n)).any() or self.sums.splits(grouping):
            return None
        if column.counts is not None and self.layout.alone:  # the table has no single rows; a rate does not need them
            nobody = np.zeros(0)
            return FewPeople(column, sums, sums, nobody, nobody, []) if column.kind == "rate" else None
        key = id(column)
        if key not in self._people:
            self._people[key] = small_groups.PeopleMeans.of(self.layout, column)
            self._people_columns[key] = self._people[key].columns(column.name, self.layout)
        people, own = self._people[key], self._people_columns[key]
        of_means, of_spreads = self._of_people(grouping, members, own)
        return FewPeople(own[0], of_means, of_spreads, people.away, people.strata, self._people_of(grouping, members))

    def _of_people(self, grouping: Grouping, members: Members, columns: Sequence[Column]) -> list[GroupSums]:
        return self.sums.of_each(grouping, members, columns)

    def _people_of(self, grouping: Grouping, members: Members) -> list[Array]:
        """The units of every cell, where each unit is in it as a whole."""
        layout = self.layout
        rows = _rows_of(members, len(grouping.cells))
        if layout.alone:
            return rows
        home = np.empty(layout.total, dtype=np.int64)
        home[slice(None) if layout.order is None else layout.order] = layout.codes
        return [np.unique(home[own]) for own in rows]


def _columns_of(measured: MeasuredMetric) -> list[Column]:
    missing = [] if measured.missing is None else [measured.missing]
    return [measured.column, *measured.wrong, *missing]


def _rows_of(members: Members, size: int) -> list[Array]:
    """The rows of each cell."""
    rows = np.arange(len(members.cells)) if members.rows is None else members.rows
    use = members.cells >= 0
    rows, cells = rows[use], members.cells[use]
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(size + 1))
    return [rows[order[ends[g] : ends[g + 1]]] for g in range(size)]
