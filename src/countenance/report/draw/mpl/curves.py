"""Curves for files: by group, those among a run's results, and those of a suite."""

from __future__ import annotations

from typing import Any

import numpy as np

from countenance.report.charts.curves import CurveChart, GroupLine
from countenance.report.draw.mpl.style import MILLIMETRE, drawing, shortened
from countenance.report.draw.palette import COLOURS, LINE, SOFT, colour_of
from countenance.report.names import clean
from countenance.report.words import SEVERE

WIDTH, HEIGHT = 178 * MILLIMETRE, 74 * MILLIMETRE
MARGIN = 0.02
"""The share of an axis that is left free at both ends, so that a curve on the axis is visible."""
LONGEST = 40


def curve_figure(chart: CurveChart, height: float = HEIGHT) -> Any:
    """A chart as a figure; the legend is beside the axes, where it covers no curve."""
    from matplotlib.ticker import NullLocator

    with drawing() as Figure:
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        for axis, value in ((axes.xaxis, chart.across), (axes.yaxis, chart.up)):
            if value.log:
                axis._set_axes_scale("log")
            axis.set_minor_locator(NullLocator())
            axis.set_ticks([tick for tick, _ in value.ticks], labels=[label for _, label in value.ticks])
            axis._set_lim(*_padded(value.low, value.high, value.log), auto=False)
            axis.set_label_text(clean(value.label))
        for index, line in enumerate(chart.lines):
            _draw(axes, line, index, chart)
        for x, label in chart.marked:
            axes.axvline(x, color=LINE, linewidth=0.9, linestyle=(0, (4, 2)))
            place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            axes.annotate(label, (x, 1), xytext=(0, 2), ha="center", color=SOFT, fontsize=6.5, **place)
        for x, y, label in chart.points:
            axes.plot([x], [y], marker="o", markersize=5.5, color=COLOURS[SEVERE], markeredgecolor="white", zorder=5)
            look = {"color": COLOURS[SEVERE], "weight": "bold", "fontsize": 6.5, "textcoords": "offset points"}
            axes.annotate(clean(label), (x, y), xytext=(5, -9), **look)
        axes.set_title(shortened(clean(chart.title), 90), fontsize=8.5, loc="left")
        axes.grid(True)
        if any(line.label for line in chart.lines):
            figure.legend(loc="outside right upper", frameon=False, fontsize=7, handlelength=4)
    return figure


def _draw(axes: Any, line: GroupLine, index: int, chart: CurveChart) -> None:
    x, y, low, high = (np.asarray(values, dtype=np.float64) for values in (line.x, line.y, line.low, line.high))
    if chart.across.log:
        x = np.maximum(x, chart.across.low)  # zeros lie on the edge, as on the page
    if chart.up.log:
        y, low, high = (np.maximum(values, chart.up.low) for values in (y, low, high))
    colour, known = colour_of(line.colour), np.isfinite(x) & np.isfinite(y)
    if len(low) == len(x) == len(high):
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, gid=f"band-{index}")
    size = f" ({line.size})" if line.size else ""
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
        label=shortened(clean(line.label), LONGEST) + size or None,
    )


def _padded(low: float, high: float, log: bool) -> tuple[float, float]:
    """Axis ends with a margin.

    >>> _padded(0.0, 1.0, log=False)
    (-0.02, 1.02)
    """
    if log:
        more = (high / low) ** MARGIN
        return low / more, high * more
    more = (high - low) * MARGIN
    return low - more, high + more
