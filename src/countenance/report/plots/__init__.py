"""Figures for files (PDF, SVG, PNG), drawn by matplotlib from the same numbers as the page's own figures.

They need the extra `plots`: `pip install 'countenance[plots]'`. Nothing here opens a window or reads a clock.
"""

import re
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import write_text
from countenance.report.figures.curves import Chart
from countenance.report.plots.curves import curve_figure, curve_figures, result_figures
from countenance.report.plots.forest import forest_figures
from countenance.report.plots.interactive import interactive
from countenance.report.plots.style import ENDINGS, check_installed, save, svg_of
from countenance.report.source import ReportSource

__all__ = [
    "CHART_ENDINGS",
    "ENDINGS",
    "all_figures",
    "check_chart",
    "check_installed",
    "curve_figure",
    "curve_figures",
    "forest_figures",
    "result_figures",
    "save",
    "save_chart",
    "svg_of",
]

CHART_ENDINGS = (*ENDINGS, ".html")
"""A chart may also be an interactive page."""


def check_chart(path: Path) -> None:
    """Refuse a chart's file of another ending, and say which extra is missing, before any work is done."""
    if path.suffix.lower() not in CHART_ENDINGS:
        raise InputError(f"{path}: plots are written as {', '.join(CHART_ENDINGS)}; choose one of these endings")
    if path.suffix.lower() in ENDINGS:
        check_installed("a plot as PDF, SVG or PNG")


def save_chart(chart: Chart, path: Path, height: float) -> None:
    """Write a chart in the format of the file's ending, whole or not at all; `height` is in inches."""
    check_chart(path)
    if path.suffix.lower() == ".html":
        write_text(path, interactive(chart))
    else:
        save(curve_figure(chart, height), path)


def all_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """Every figure of a run with a name that a file can have."""
    named: list[tuple[str, Any]] = []
    for metric in source.metrics:
        figures = forest_figures(source, metric)
        for number, figure in enumerate(figures, 1):
            named.append((f"groups-{metric.name}{f'-{number}' if len(figures) > 1 else ''}", figure))
    named += [(f"curve-{name}", figure) for name, figure in [*curve_figures(source), *result_figures(source)]]
    return [(re.sub(r"[^\w.@-]+", "-", name)[:80], figure) for name, figure in named]
