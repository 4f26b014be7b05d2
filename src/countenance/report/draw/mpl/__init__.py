"""Figures for files (PDF, SVG, PNG), drawn by matplotlib from the same chart values as the page's own figures.

They need the extra `plots`: `pip install 'countenance[plots]'`. Nothing here opens a window or reads a clock.
"""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import write_text
from countenance.report import held_equal
from countenance.report.charts import curve_panels, forests, heat_maps
from countenance.report.charts.curves import CurveChart
from countenance.report.draw.interactive import interactive
from countenance.report.draw.mpl.curves import curve_figure
from countenance.report.draw.mpl.differences import critical_figure, dumbbell_figure, waterfall_figure
from countenance.report.draw.mpl.forest import forest_figures
from countenance.report.draw.mpl.heat_map import heat_figures_of
from countenance.report.draw.mpl.style import ENDINGS, check_installed, save, svg_of
from countenance.report.metric_words import words_of
from countenance.report.results import result_charts, result_grids
from countenance.report.source import ReportSource

__all__ = [
    "CHART_ENDINGS",
    "ENDINGS",
    "all_figures",
    "check_chart",
    "check_installed",
    "critical_figure",
    "curve_figure",
    "curve_figures",
    "dumbbell_figure",
    "forest_figures",
    "heat_figures",
    "save",
    "save_chart",
    "svg_of",
    "waterfall_figure",
]

CHART_ENDINGS = (*ENDINGS, ".html")
"""A chart may also be an interactive page."""


def check_chart(path: Path) -> None:
    """Refuse a file name with another ending, or name the missing extra, before any work is done."""
    if path.suffix.lower() not in CHART_ENDINGS:
        raise InputError(f"{path}: plots are written as {', '.join(CHART_ENDINGS)}; choose one of these endings")
    if path.suffix.lower() in ENDINGS:
        check_installed("a plot as PDF, SVG or PNG")


def save_chart(chart: CurveChart, path: Path, height: float) -> None:
    """Write a chart in the format of the file's ending, whole or not at all; `height` is in inches."""
    check_chart(path)
    if path.suffix.lower() == ".html":
        write_text(path, interactive(chart))
    else:
        save(curve_figure(chart, height), path)


def curve_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """A figure for each attribute of tasks that have a curve, then one for each curve among the results."""
    charts = [(panel.attribute, panel.chart) for panel in curve_panels(source)]
    charts += result_charts(source.results)
    return [(name, curve_figure(replace(chart, title=""))) for name, chart in charts]


def heat_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """A figure for each pair of attributes by each metric, then one for each matrix among the results."""
    maps = [
        (f"{item.title}, {item.rows_name} × {item.columns_name}", item)
        for _, some in heat_maps(source)
        for item in some
    ]
    maps += [(grid.title, grid) for grid in result_grids(source.results)]
    return [(name, figure) for name, item in maps for figure in heat_figures_of(item)]


def all_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """Every figure of a run with a name that is valid for a file."""
    named: list[tuple[str, Any]] = []
    for forest in forests(source):
        named += [(f"groups-{forest.metric}", figure) for figure in forest_figures(forest)]
    named += [(f"curve-{name}", figure) for name, figure in curve_figures(source)]
    named += [(f"heat-{name}", figure) for name, figure in heat_figures(source)]
    held = held_equal.section(source.audit, {m.name: words_of(m, source.task).noun for m in source.metrics})
    named += [(f"held-equal-{fall.title}", waterfall_figure(fall)) for fall in (held.falls if held else ())]
    return [(re.sub(r"[^\w.@-]+", "-", name)[:80], figure) for name, figure in _numbered(named)]


def _numbered(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The figures with unique names: repeated names get a number."""
    counts, seen = Counter(name for name, _ in named), Counter[str]()
    result = []
    for name, figure in named:
        seen[name] += 1
        result.append((f"{name}-{seen[name]}" if counts[name] > 1 else name, figure))
    return result
