"""Ordered attributes: the split into "up to some value" and "above it" that differs most, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from countenance.auditing import tests
from countenance.auditing.batch import BatchSides, gap_of
from countenance.auditing.derived_groupings import range_name, values_in_order
from countenance.auditing.finding import Finding, Split
from countenance.auditing.groups import GROUP, SPLIT, Grouping
from countenance.auditing.measured_metric import MeasuredMetric
from countenance.auditing.ordering import checked
from countenance.auditing.table import Attribute

if TYPE_CHECKING:
    from countenance.auditing.computation import Computation


def splits_of(work: Computation, findings: Sequence[Finding]) -> list[Split]:
    """For every ordered attribute and metric, the split that differs most among those that were tested."""
    ordered, records = checked(work.settings.ordered), []
    for index in work.rows.chosen.single:
        attribute = work.rows.attributes[index]
        codes = values_in_order(attribute, ordered)
        if len(codes) < 3:
            continue
        levels = [attribute.levels[code] for code in codes]
        for measured in (metric for metric in work.measured if metric.kind == GROUP):
            own = _tested(findings, attribute, measured, levels)
            if own:
                records.append(_record(work, own, measured, levels))
    return records


def _tested(
    findings: Sequence[Finding], attribute: Attribute, measured: MeasuredMetric, levels: Sequence[str]
) -> list[Finding]:
    """The findings that are splits: of two parts, and of the first and the last value against the rest."""
    ends = (levels[0], levels[-1])
    return [
        f
        for f in findings
        if f.attribute == attribute.name
        and f.metric == measured.metric
        and math.isfinite(f.p_adjusted)
        and (f.kind == SPLIT or (f.kind == GROUP and f.versus == "rest" and f.group in ends))
    ]


def _record(work: Computation, own: Sequence[Finding], measured: MeasuredMetric, levels: Sequence[str]) -> Split:
    """The split with the largest effect, significant ones before others; its lower values come first.

    Its interval is at the level shared by all splits.
    """
    first = max(own, key=lambda f: (f.p_adjusted < work.settings.alpha, abs(f.effect) if f.effect == f.effect else 0.0))
    low, high = _limits(work, first, measured, work.settings.alpha / (len(levels) - 1))
    last_first = first.kind == GROUP and first.group == levels[-1]
    below, above = (first.group, first.versus) if not last_first else (range_name(levels[:-1]), first.group)
    if first.kind == GROUP and not last_first:
        above = range_name(levels[1:])
    sign = -1 if last_first else 1
    first_side, second_side = (first.n, first.estimate), (first.n_versus, first.estimate_versus)
    (n, estimate), (n_versus, estimate_versus) = (second_side, first_side) if last_first else (first_side, second_side)
    return Split(
        attribute=first.attribute,
        metric=first.metric,
        split=below,
        versus=above,
        n=n,
        n_versus=n_versus,
        estimate=estimate,
        estimate_versus=estimate_versus,
        difference=sign * first.difference,
        low=min(sign * low, sign * high),
        high=max(sign * low, sign * high),
        p_adjusted=first.p_adjusted,
        verdict=first.verdict,
        splits=len(levels) - 1,
    )


def _limits(work: Computation, finding: Finding, measured: MeasuredMetric, alpha: float) -> tuple[float, float]:
    grouping, cell = _place(work, finding)
    sums = work.summing.of(grouping, [measured], tested=False)[0].sums
    sides = BatchSides.picked(sums, np.array([cell]), np.array([-1]), rest=True)
    tested = tests.compare(measured.column.kind, sides.first, sides.second, sides.cross)
    with np.errstate(all="ignore"):
        low, high = gap_of(measured.column.kind, sides, tested, measured.ends).difference(alpha)
    return float(low[0]), float(high[0])


def _place(work: Computation, finding: Finding) -> tuple[Grouping, int]:
    """The grouping and the cell of a finding."""
    for grouping in [*work.groupings, *work.derived]:
        same = grouping.kind == finding.kind and grouping.name == finding.attribute
        if same and finding.group in grouping.cells:
            return grouping, grouping.cells.index(finding.group)
    raise ValueError(f"no grouping of {finding.attribute} = {finding.group}")
