"""Curves by group, for tasks that have such curves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing.attributes import Choice, coded
from countenance.auditing.source import Source as Columns
from countenance.report import numbers, words
from countenance.report.charts.curves import CurveChart, GroupLine, colours
from countenance.report.names import attribute_label, value_label
from countenance.report.source import Audited

ORDERED = ("skin_tone", "age_group")
READ_AT = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Where the table reads the curves, as shares of the axis."""


Key = tuple[str, str, str]
"""Metric, attribute and group, as the audit names them."""


@dataclass(frozen=True)
class CurvePanel:
    """The curves of one attribute, with the table that goes with them."""

    attribute: str
    chart: CurveChart
    read_at: list[str]
    table: list[tuple[GroupLine, list[str], Key]]
    """A line, its values at the points of the table, and its group."""


def curve_panels(source: Audited) -> list[CurvePanel]:
    """A panel of curves for each attribute, for tasks that have curves by group."""
    metric = source.task.curve_of or "" if source.task else ""
    return [_panel(metric, name, lines, axes) for name, lines, axes in _lines(source)]


def _lines(source: Audited) -> list[tuple[str, list[GroupLine], tuple[str, str]]]:
    """For each attribute with at least two groups: its name, a line for each group, and the labels of the axes."""
    task = source.task
    if task is None or task.curve is None or task.curve_of is None:
        return []
    column = f"m.{task.curve_of}"
    if column not in source.scores.column_names:
        return []
    columns = Columns(source.scores)
    values = np.asarray(source.scores.column(column).to_numpy(zero_copy_only=False), dtype=np.float64)
    cuts = source.audit.settings.get("bins") or {}
    charts = []
    for name in source.names.by:
        known = columns.resolve(name.partition(":")[0] if name in cuts else name, "attr.", "attribute")
        choice = Choice(name, known, cuts=tuple(cuts.get(name, ())))
        groups = coded(choice, columns.read([known], [])[known], 10_000)
        lines = []
        levels = [level for level in source.names.levels.get(name, []) if level in groups.levels]
        looks = colours(len(levels), name in ORDERED)
        failed = _failed(source, name)
        for level, (colour, dash) in zip(levels, looks, strict=True):
            member = groups.codes == groups.levels.index(level)
            rows = values[member] if groups.rows is None else values[groups.rows[member]]
            rows = rows[np.isfinite(rows)]
            if not len(rows):
                continue
            x, y = task.curve(rows.tolist())
            label = value_label(name, level)
            lines.append(GroupLine(label, len(rows), x, y, colour, dash, level in failed, group=level))
        if len(lines) > 1:
            charts.append((name, lines, task.curve_axes))
    return charts


def _failed(source: Audited, attribute: str) -> set[str]:
    """The groups with a disparity to their disadvantage."""
    groups = [f for f in source.audit.findings if f.attribute == attribute and f.kind == "group"]
    disparities = [f for f in groups if f.verdict == words.DISPARITY]
    worse = [f for f in disparities if f.versus != "rest" or f.direction != words.BETTER]
    return {words.failed_side(f) for f in worse}


def _panel(metric: str, name: str, lines: Sequence[GroupLine], axes: tuple[str, str]) -> CurvePanel:
    label = attribute_label(name)
    low, high = min(lines[0].x), max(lines[0].x)
    places = [low + share * (high - low) for share in READ_AT]
    ends = ", ".join(f"{line.label} {_at(line, places[2])}" for line in lines)
    chart = CurveChart(
        axes,
        lines,
        title=f"{axes[1]} by {axes[0]}, a line for each group of {label}",
        description=f"At {axes[0]} {places[2]:g}: {ends}. More values are in the table below.",
    )
    table = [(line, [_at(line, x) for x in places], (metric, name, line.group)) for line in lines]
    return CurvePanel(label, chart, [f"{x:g}" for x in places], table)


def _at(line: GroupLine, x: float) -> str:
    place = int(np.argmin(np.abs(np.asarray(line.x, dtype=np.float64) - x)))
    return numbers.value(float(line.y[place]))
