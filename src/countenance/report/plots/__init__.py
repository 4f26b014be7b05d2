"""Figures for files (PDF, SVG, PNG), drawn by matplotlib from the same numbers as the page's own figures.

They need the extra `plots`: `pip install 'countenance[plots]'`. Nothing here opens a window or reads a clock.
"""

import re
from typing import Any

from countenance.report.plots.curves import curve_figure, curve_figures, result_figures
from countenance.report.plots.forest import forest_figures
from countenance.report.plots.style import ENDINGS, check_installed, save, svg_of
from countenance.report.source import ReportSource

__all__ = [
    "ENDINGS", "all_figures", "check_installed", "curve_figure", "curve_figures", "forest_figures", "result_figures",
    "save", "svg_of",
]  # fmt: skip


def all_figures(source: ReportSource) -> list[tuple[str, Any]]:
    """Every figure of a run with a name that a file can have."""
    made: list[tuple[str, Any]] = []
    for metric in source.metrics:
        figures = forest_figures(source, metric)
        for number, figure in enumerate(figures, 1):
            made.append((f"groups-{metric.name}{f'-{number}' if len(figures) > 1 else ''}", figure))
    made += [(f"curve-{name}", figure) for name, figure in [*curve_figures(source), *result_figures(source)]]
    return [(re.sub(r"[^\w.@-]+", "-", name)[:80], figure) for name, figure in made]
