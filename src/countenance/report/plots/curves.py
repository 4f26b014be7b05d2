"""Curves: by group, as the page shows them, and the curves among a run's results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from countenance.report.charts.curves import curve_lines
from countenance.report.names import attribute_label, clean
from countenance.report.plots.style import DASHES, MILLIMETRE, PLAIN, RAMP, drawing
from countenance.report.source import Source
from countenance.tasks import Curve

WIDTH, HEIGHT = 178 * MILLIMETRE, 74 * MILLIMETRE


def curve_figures(source: Source) -> list[tuple[str, Any]]:
    """A figure for each audited attribute, for tasks that have a curve."""
    made = []
    for name, lines, axes in curve_lines(source):
        drawn: list[tuple[Any, ...]] = [
            (f"{line.label} (n = {line.n:,})", line.x, line.y, _colour(line.colour), [], []) for line in lines
        ]
        made.append((attribute_label(name), _figure(drawn, axes)))
    return made


def result_figures(source: Source) -> list[tuple[str, Any]]:
    """A figure for each curve among the results, with its bands."""
    made = []
    for result in source.results:
        if isinstance(result, Curve) and any(line.x for line in result.lines):
            drawn = [
                (line.label, line.x, line.y, PLAIN[i % len(PLAIN)], line.low, line.high)
                for i, line in enumerate(result.lines)
            ]
            figure = _figure(drawn, (result.x.label, result.y.label), (result.x.log, result.y.log))
            by = f", by {attribute_label(result.attribute)}" if result.attribute else ""
            made.append((f"{result.name}{by}", figure))
    return made


def _colour(name: str) -> str:
    """The colour of a class of the style sheet."""
    return (RAMP if name.startswith("s") else PLAIN)[int(name[1:])]


def _figure(lines: Sequence[tuple[Any, ...]], names: tuple[str, str], log: tuple[bool, bool] = (False, False)) -> Any:
    with drawing() as Figure:
        figure = Figure(figsize=(WIDTH, HEIGHT))
        axes = figure.add_axes((0.08, 0.16, 0.55, 0.78))
        for i, (label, x, y, colour, low, high) in enumerate(lines):
            axes.plot(x, y, color=colour, linewidth=1.3, linestyle=DASHES[i % len(DASHES)], label=clean(label) or None)
            if len(low) == len(x) == len(high):
                axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_xlabel(clean(names[0]))
        axes.set_ylabel(clean(names[1]))
        if log[0]:
            axes.set_xscale("log")
        if log[1]:
            axes.set_yscale("log")
        else:
            top = max([1.0, *(y for line in lines for y in line[2] if math.isfinite(y))])
            axes.set_ylim(0, top * 1.02)
        axes.margins(x=0.01)
        axes.grid(True)
        if any(label for label, *_ in lines):
            axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.02), frameon=False, fontsize=7, handlelength=4)
    return figure
