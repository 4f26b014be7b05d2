"""Equity measures of an audit: each with an interval, and with what a fair system of the same size would show.

Intervals are those of `metrics.equity_measures`, with the noise of a bootstrap of units. What a fair system would show
comes from permutations of the labels over units, as in min-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.computation import Computation
from countenance.auditing.directions import LOWER
from countenance.auditing.estimates import resampled, wilson_limits
from countenance.auditing.far_ends import SHARE, FarEnds
from countenance.auditing.finding import Equity
from countenance.auditing.groups import GROUP, Grouping, Members
from countenance.auditing.layout import Column, Layout
from countenance.auditing.permutations import Permutations
from countenance.auditing.row_labels import ComparisonRequest
from countenance.auditing.row_sums import RowSums
from countenance.auditing.sums import Side
from countenance.auditing.table import Array
from countenance.auditing.units import Units
from countenance.metrics import equity
from countenance.metrics.equity_measures import BOTH, ERRORS, SINGLE, GroupRates, Measure, widened_measure

DRAWS = 1000
MOST_STEPS = 200_000_000
"""Units times draws; larger tables have fewer draws, at least `FEWEST`."""
FEWEST = 200
PAIRS = (("impostor_accepted", "genuine_accepted"), ("fmr", "fnmr"), ("false_match", "false_non_match"))
"""Metrics that are FMR and FNMR: shares of impostors accepted and of genuine pairs accepted, or the errors."""


def equity_of(work: Computation) -> list[Equity]:
    """Every measure of every attribute that was named."""
    measures: list[Equity] = []
    for grouping in work.groupings:
        if grouping.named and len(grouping.cells) > 1:
            measures += _Attribute(work, grouping).measures()
    return measures


class _Attribute:
    """One attribute's groups: their rates, the noise of these, and rates of a fair system."""

    def __init__(self, work: Computation, grouping: Grouping) -> None:
        self.work, self.grouping, self.settings = work, grouping, work.settings
        scores = [metric for metric in work.measured if metric.kind == GROUP and metric.ends is not None]
        self.names = [metric.metric for metric in scores]
        self.columns = [metric.column for metric in scores]
        self.wrong: list[list[int]] = []
        """By metric, the places of those of its columns in which every missing score counts as wrong."""
        for metric in scores:
            self.wrong.append(list(range(len(self.columns), len(self.columns) + len(metric.wrong))))
            self.columns += metric.wrong
        self.members = grouping.members(work.rows.attributes, work.rows.size)
        units = work.rows.units
        way = Units(units.codes[:1], units.ways[:1], units.cluster)  # people, where people and images cross
        self.sums = work.sums if len(units.codes) < 2 else RowSums(work.rows.attributes, way, work.rows.size)
        self.layout = self.sums.layouts[0]
        steps = self.layout.count * len(self.columns) or 1
        self.draws = int(min(DRAWS, max(FEWEST, MOST_STEPS // steps)))
        sides = [work.sums.of(grouping, self.members, column).cells for column in self.columns]
        self.units = [np.asarray(side.units, dtype=float) for side in sides]
        self.rates = [np.asarray(side.mean, dtype=float) for side in sides]
        self.most = [_worth(side) for side in sides]
        self.limits = [_limits(side, self.settings.alpha) for side in sides]

    def measures(self) -> list[Equity]:
        """All measures; rates are of being served well, whichever way the metric is written."""
        measures: list[Equity] = []
        names = self.names
        pair = next(((a, b) for a, b in PAIRS if {a, b} <= {name.lower() for name in names}), None)
        lowered = [name.lower() for name in names]
        for index, name in enumerate(names):
            if pair is None or name.lower() not in pair:
                flip = self.work.judged[name].better == LOWER
                measures += [self._with_missing(measure, name, index, flip) for measure in SINGLE]
        if pair is not None:
            place1, place2 = lowered.index(pair[0]), lowered.index(pair[1])
            flips = (place1, False), (place2, pair == PAIRS[0])
            measures += [self._equity(measure, "FMR and FNMR", list(flips)) for measure in BOTH]
            for what, part in (("FMR", flips[0]), ("FNMR", flips[1])):
                measures += [self._equity(measure, what, [part]) for measure in ERRORS]
        return measures

    def _with_missing(self, measure: Measure, metric: str, index: int, flip: bool) -> Equity:
        """A measure of one metric, with its interval if every missing score were wrong."""
        equity = self._equity(measure, metric, [(index, flip)])
        if equity.undefined or not self.wrong[index]:
            return equity
        others = [self._equity(measure, metric, [(place, flip)]) for place in self.wrong[index]]
        low, high = (np.array([getattr(other, end) for other in others]) for end in ("low", "high"))
        return equity.model_copy(update={"low_wrong": float(low.min()), "high_wrong": float(high.max())})

    def _equity(self, measure: Measure, metric: str, parts: Sequence[tuple[int, bool]]) -> Equity:
        enough = np.logical_and.reduce([self.units[i] >= self.settings.min_n for i, _ in parts])
        if measure.name == "impact_ratio":  # categories under 2 % of the people are reported apart
            enough &= ~equity.small_categories(self.units[parts[0][0]])
        cells = np.flatnonzero(enough)
        names = self.grouping.cells
        facts: dict[str, Any] = {
            "attribute": self.grouping.name,
            "metric": metric,
            "measure": measure.name,
            "meaning": measure.meaning,
            "left_out": [name for name, used in zip(names, enough, strict=True) if not used],
        }
        if len(cells) < 2:
            few = f"fewer than two groups have {self.settings.min_n} {self.work.nouns[1]}"
            return Equity(**facts, undefined=f"{measure.name}: {few}")
        rates = np.concatenate([self._turned(self.rates[i][cells], flip) for i, flip in parts])
        groups = {
            names[g] if len(parts) == 1 else f"{what} {names[g]}": float(rate)
            for what, own in zip(("FMR", "FNMR"), np.split(rates, len(parts)), strict=False)
            for g, rate in zip(cells, own, strict=True)
        }
        try:
            value = measure.checked(rates)
        except equity.Undefined as why:
            return Equity(**facts, groups=groups, undefined=str(why))
        if measure.name == "impact_ratio":
            groups = {names[g]: float(number) for g, number in zip(cells, value, strict=True)}
        drawn, fair = (
            np.concatenate([self._turned(draws[i][:, cells], flip) for i, flip in parts], axis=1)
            for draws in (self._resampled, self._fair)
        )
        units = np.concatenate([self.units[i][cells] for i, _ in parts])
        # A false match involves two people, so one further person adds little information.
        alone = len(parts) == 1 and metric not in ("FMR", "FNMR")
        most = np.concatenate([self.most[i][cells] if alone else np.full(len(cells), np.inf) for i, _ in parts])
        measurement = GroupRates(rates, drawn, fair, units, len(parts), most=most).measured(
            measure, self.settings.alpha
        )
        if alone:
            index, flip = parts[0]
            ends = [self._turned(limit[cells], flip) for limit in self.limits[index]]
            measurement = widened_measure(
                measure, measurement, rates, (ends[1], ends[0]) if flip else (ends[0], ends[1])
            )
        return Equity(**facts, groups=groups, **measurement._asdict())

    @staticmethod
    def _turned(rates: Array, flip: bool) -> Array:
        return 1 - rates if flip else rates

    @cached_property
    def _resampled(self) -> list[Array]:
        """The rates of the groups in a bootstrap of units."""
        size = len(self.grouping.cells)
        each = [_by_unit(self.layout, self.members, column, size) for column in self.columns]
        totals = resampled(np.concatenate(each, axis=1), self.draws, self.settings.seed)
        with np.errstate(all="ignore"):
            return [
                totals[:, 2 * i * size : (2 * i + 1) * size] / totals[:, (2 * i + 1) * size : (2 * i + 2) * size]
                for i in range(len(self.columns))
            ]

    @cached_property
    def _fair(self) -> list[Array]:
        """The rates of the groups when labels are shuffled over units."""
        size = len(self.grouping.cells)
        nobody = np.full(size, -1)
        requests = [
            ComparisonRequest(column, np.zeros(size, np.int64), np.arange(size), nobody) for column in self.columns
        ]
        drawn = Permutations(self.sums, [self.grouping], requests, self.settings.seed)
        parts = [[np.asarray(sample.first.mean) for sample in samples] for samples in drawn.draw(self.draws)]
        return [np.concatenate([part[i] for part in parts]) for i in range(len(self.columns))]


def _worth(side: Side) -> Array:
    """The effective number of trials of people's means with one further person; infinite if every row is a cluster."""
    far, known = FarEnds(side, SHARE), np.asarray(side.mean, dtype=float)
    known = known[~np.isnan(known)]
    mean, variance = far.with_one_further(0.0 if not known.size or float(known.mean()) >= 0.5 else 1.0)
    with np.errstate(all="ignore"):
        worth = mean * (1 - mean) / variance
    return np.where(np.asarray(side.alone), np.inf, worth)


def _limits(side: Side, alpha: float) -> tuple[Array, Array]:
    """The limits of each rate with one further person at either end; Wilson's for people of one row who do not vary."""
    mean = np.asarray(side.mean, dtype=float)
    low, high = FarEnds(side, SHARE, of_trials=True).limits(alpha)
    wilson = wilson_limits(mean, np.asarray(side.n, dtype=float), quantile(1 - alpha / 2))
    plain = [np.where(np.asarray(side.constant), limit, mean) for limit in wilson]
    return np.where(np.isnan(low), plain[0], low), np.where(np.isnan(high), plain[1], high)


def _by_unit(layout: Layout, members: Members, column: Column, size: int) -> Array:
    """For every unit, the sum of a metric in each cell and then how many rows it has there."""
    values = column.values + column.centre
    rows = np.arange(len(values)) if members.rows is None else members.rows
    cells = members.cells
    keep = (cells >= 0) & ~np.isnan(values[rows])
    rows, cells = rows[keep], cells[keep]
    if layout.alone:
        unit = rows
    else:
        code = np.empty(layout.total, dtype=np.int64)
        code[slice(None) if layout.order is None else layout.order] = layout.codes
        unit = code[rows]
    key = unit * size + cells
    total = np.bincount(key, values[rows], minlength=layout.count * size).reshape(layout.count, size)
    count = np.bincount(key, minlength=layout.count * size).reshape(layout.count, size)
    return np.concatenate([total, count], axis=1)
