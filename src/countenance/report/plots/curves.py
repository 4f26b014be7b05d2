"""Curves: by group, as the page shows them, the curves among a run's results, and those of a suite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.report.charts.curves import curve_lines
from countenance.report.figures.curves import Chart, GroupLine, Limits
from countenance.report.names import attribute_label, clean
from countenance.report.plots.style import LINE, MILLIMETRE, SOFT, colour_of, drawing, shortened
from countenance.report.results import chart_of
from countenance.report.source import ReportSource
from countenance.tasks import Curve

WIDTH, HEIGHT = 178 * MILLIMETRE, 74 * MILLIMETRE
MARGIN = 0.02
"""The share of an axis that is left free at both ends, so that a curve on the axis is visible."""
LONGEST = 40


def curve_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """A figure for each audited attribute, for tasks that have a curve."""
    return [(attribute_label(name), curve_figure(Chart(axes, lines))) for name, lines, axes in curve_lines(source)]


def result_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """A figure for each curve among the results, with its bands and marks."""
    figures = []
    for result in source.results:
        if isinstance(result, Curve) and any(line.x for line in result.lines):
            by = f", by {attribute_label(result.attribute)}" if result.attribute else ""
            figures.append((f"{result.name}{by}", curve_figure(replace(chart_of(result), title=""))))
    return figures


def curve_figure(chart: Chart, height: float = HEIGHT) -> Any:
    """A chart as a figure; the legend is beside the axes, where it covers no curve."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    with drawing() as Figure:
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        ends = _ends(chart, 0), _ends(chart, 1)
        for axis, (low, high), log in zip((axes.xaxis, axes.yaxis), ends, chart.log, strict=True):
            if log:
                axis._set_axes_scale("log")
            else:
                axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
            axis.set_major_formatter(
                FuncFormatter(lambda value, _: f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}")
            )
            axis._set_lim(*_padded(low, high, log), auto=False)
        for index, line in enumerate(chart.lines):
            _draw(axes, line, index, (ends[0][0], ends[1][0]), chart.log)
        for x in chart.marks:
            if ends[0][0] <= x <= ends[0][1]:
                axes.axvline(x, color=LINE, linewidth=0.9, linestyle=(0, (4, 2)))
                axes.annotate(
                    f"{x:.3g}",
                    (x, 1),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    color=SOFT,
                    fontsize=6.5,
                )
        axes.set_xlabel(clean(chart.axes[0]))
        axes.set_ylabel(clean(chart.axes[1]))
        axes.set_title(shortened(clean(chart.title), 90), fontsize=8.5, loc="left")
        axes.grid(True)
        if any(line.label for line in chart.lines):
            figure.legend(loc="outside right upper", frameon=False, fontsize=7, handlelength=4)
    return figure


def _draw(axes: Any, line: GroupLine, index: int, lowest: tuple[float, float], log: tuple[bool, bool]) -> None:
    x, y, low, high = (np.asarray(values, dtype=np.float64) for values in (line.x, line.y, line.low, line.high))
    if log[0]:
        x = np.maximum(x, lowest[0])  # what is 0 lies on the edge, as on the page
    if log[1]:
        y, low, high = (np.maximum(values, lowest[1]) for values in (y, low, high))
    colour, known = colour_of(line.colour), np.isfinite(x) & np.isfinite(y)
    if len(low) == len(x) == len(high):
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, gid=f"band-{index}")
    count = f" (n = {line.n:,})" if line.n else ""
    dash = (0, tuple(float(part) for part in line.dash.split())) if line.dash else "-"
    axes.plot(
        x[known],
        y[known],
        color=colour,
        linewidth=2.4 if line.strong else 1.4,
        linestyle=dash,
        marker="o" if known.sum() == 1 else None,
        markersize=5,
        gid=f"curve-{index}",
        label=shortened(clean(line.label), LONGEST) + count or None,
    )


def _ends(chart: Chart, across: int) -> tuple[float, float]:
    """Both ends of an axis: its limits where the chart has them, or what the lines and bands reach."""
    limits: Limits = chart.limits[across]
    if limits is not None:
        return limits
    log = chart.log[across]
    values: list[float] = []
    for line in chart.lines:
        parts: Sequence[Sequence[float]] = (line.y, line.low, line.high) if across else (line.x,)
        values += [v for part in parts for v in part if math.isfinite(v) and (v > 0 or not log)]
    if across and not log:
        values += [0.0, 1.0]
    low, high = (min(values), max(values)) if values else (0.1 if log else 0.0, 1.0)
    return low, high if high > low else low * 10 if log else low + 1


def _padded(low: float, high: float, log: bool) -> tuple[float, float]:
    """Ends a little further out.

    >>> _padded(0.0, 1.0, log=False)
    (-0.02, 1.02)
    """
    if log:
        more = (high / low) ** MARGIN
        return low / more, high * more
    more = (high - low) * MARGIN
    return low - more, high + more
