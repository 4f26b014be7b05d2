"""Dumbbells, waterfalls and critical differences for files: the same rows, numbers and axes as on pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from countenance.report.charts.dumbbells import Dumbbell, Dumbbells
from countenance.report.charts.forest import TiedForest
from countenance.report.charts.scale import Scale
from countenance.report.charts.waterfall import LabelledStep, Waterfall
from countenance.report.draw.mpl.forest import FOOT, HEAD, LONGEST, ROW, WIDTH, frame_rows
from countenance.report.draw.mpl.style import MILLIMETRE, drawing, mark, shortened
from countenance.report.draw.palette import COLOURS, INK, LINE, SOFT
from countenance.report.names import clean
from countenance.report.words import NONE, SEVERE, UNSURE

STEPS = {"raw": COLOURS[SEVERE], "part": LINE, "held": COLOURS[UNSURE]}


def dumbbell_figure(chart: Dumbbells, models: tuple[str, str], axis: str = "") -> Any:
    """Everyone and the groups that lose most: ○ in the old model, ● in the new one."""
    rows: Sequence[Dumbbell] = [chart.everyone, *chart.shown]
    with drawing() as Figure:
        figure, axes = _framed(Figure, chart.scale, len(rows), f"{models[0]} ○ → ● {models[1]}", axis or chart.metric)
        for place, row in enumerate(rows):
            _texts(axes, place, (row.who, f"{row.old} → {row.new}", row.difference))
            if all(math.isfinite(end) for end in row.ends):
                colour = COLOURS[row.mark]
                axes.plot(row.ends, [place, place], color=colour, linewidth=1.4, zorder=2)
                for end, fill in zip(row.ends, ("white", colour), strict=True):
                    axes.plot([end], [place], marker="o", markersize=5, color=colour, markerfacecolor=fill, zorder=3)
    return figure


def waterfall_figure(chart: Waterfall) -> Any:
    """From a raw gap to what remains of it: a bar for each step, with the interval of its size."""
    with drawing() as Figure:
        figure, axes = _framed(Figure, chart.scale, len(chart.steps), chart.title, "difference")
        axes.axvline(0, color=LINE, linewidth=0.9)
        for place, row in enumerate(chart.steps):
            _texts(axes, place, (row.name, row.size, f"[{row.interval}]"))
            _step(axes, place, row)
    return figure


def _step(axes: Any, place: int, row: LabelledStep) -> None:
    step = row.step
    if not math.isfinite(step.end):
        return
    axes.barh([place], [step.size], left=[step.start], height=0.5, color=STEPS[step.kind], zorder=2)
    if math.isfinite(step.low) and math.isfinite(step.high):
        ends = [step.start + step.low, step.start + step.high]
        axes.plot(ends, [place, place], color=INK, linewidth=1.0, zorder=3)


def critical_figure(chart: TiedForest) -> Any:
    """Models with their intervals; a bar above joins models of which no pair is shown to differ."""
    rows = chart.forest.rows
    with drawing() as Figure:
        ties = len(chart.ties)
        figure, axes = _framed(Figure, chart.forest.scale, len(rows) + ties, "Critical differences", chart.forest.axis)
        for place, tie in enumerate(chart.ties):
            ends = [rows[i].estimate for i in tie]
            axes.plot([min(ends), max(ends)], [place, place], color=INK, linewidth=2.6, solid_capstyle="butt")
        for place, row in enumerate(rows, ties):
            _texts(axes, place, (row.label, row.text, row.size))
            axes.plot([row.low, row.high], [place, place], color=COLOURS[NONE], linewidth=1.4)
            axes.plot([row.estimate], [place], **mark(NONE))
    return figure


def _framed(make: Any, scale: Scale, lines: int, title: str, axis: str) -> tuple[Any, Any]:
    """A figure with one axis for some rows, with a title above and the axis label below."""
    height = HEAD + FOOT + ROW * lines
    figure = make(figsize=(WIDTH, height))
    axes = figure.add_axes((0.27, FOOT / height, 0.40, ROW * lines / height))
    figure.text(0.01, 1 - 4.5 * MILLIMETRE / height, shortened(clean(title), 110), fontsize=9.0)
    frame_rows(axes, scale, lines, axis)
    return figure, axes


def _texts(axes: Any, place: int, texts: tuple[str, str, str]) -> None:
    """A row's name on the left, its numbers on the right."""
    middle = {"va": "center", "transform": axes.get_yaxis_transform(), "parse_math": False}
    name, value, rest = (clean(text) for text in texts)
    axes.text(-0.63, place, shortened(name, LONGEST), **middle)
    axes.text(1.04, place, value, **middle)
    axes.text(1.80, place, rest, ha="right", color=SOFT, **middle)
