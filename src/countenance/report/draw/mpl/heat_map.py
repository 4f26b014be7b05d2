"""Heat maps for files: the page's table of tinted cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from countenance.report.charts.heat_maps import HeatMap, HeatmapCell
from countenance.report.draw.mpl.style import MILLIMETRE, drawing, mark, shortened, shortened_apart
from countenance.report.draw.palette import GRID, INK, SOFT, TINTS
from countenance.report.names import clean
from countenance.report.words import MINOR, SEVERE

WIDTH = 178 * MILLIMETRE
ROW = 8.5 * MILLIMETRE
HEAD, FOOT = 13 * MILLIMETRE, 3 * MILLIMETRE
NAMES = 0.22
"""The share of the width that the names of the rows take."""
LONGEST = 26
MOST_ROWS = 24
"""More rows than these are drawn on a further figure."""
WIDEST = 30 * MILLIMETRE
LETTER = 0.21
"""Millimetres that a letter takes for each point of its size."""
BRIGHT = 6
"""From this tint on the text is white."""


def heat_figures_of(heat_map: HeatMap) -> list[Any]:
    """A heat map on as many figures as its rows need."""
    starts = range(0, max(1, len(heat_map.rows)), MOST_ROWS)
    return [_figure(replace(heat_map, rows=heat_map.rows[start : start + MOST_ROWS])) for start in starts]


def _figure(heat_map: HeatMap) -> Any:
    """A figure of cells, each with its number and count, and the mark of a group that is served worse."""
    columns, rows = max(1, len(heat_map.columns)), len(heat_map.rows)
    height = HEAD + FOOT + ROW * rows
    with drawing() as Figure:
        figure = Figure(figsize=(WIDTH, height))
        across = min((1 - NAMES) * WIDTH, columns * WIDEST) / WIDTH
        wide = across * WIDTH / MILLIMETRE / columns
        size = min(7.5, wide / (6 * LETTER))
        axes = figure.add_axes((NAMES, FOOT / height, across, ROW * rows / height))
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        axes.set_axis_off()
        title = ": ".join(part for part in (heat_map.noun or heat_map.title, heat_map.sides) if part)
        figure.text(0.01, 1 - 4 * MILLIMETRE / height, shortened(clean(title), 110), fontsize=8.5)
        head = min(6.5, size)
        room = max(6, int(wide / (head * LETTER)))
        for place, text in enumerate(shortened_apart([clean(name) for name in heat_map.columns], room)):
            axes.text(place + 0.5, -0.12, text, ha="center", va="bottom", fontsize=head, color=SOFT)
        labels = shortened_apart([clean(label) for label, _ in heat_map.rows], LONGEST)
        for down, (label, (_, cells)) in enumerate(zip(labels, heat_map.rows, strict=True)):
            axes.text(-0.02 * columns, down + 0.5, label, ha="right", va="center")
            for place, cell in enumerate(cells):
                _cell(axes, place, down, cell, size)
    return figure


def _cell(axes: Any, place: int, down: int, cell: HeatmapCell, size: float) -> None:
    from matplotlib.patches import Rectangle

    tint = "white" if cell.step is None else TINTS[cell.step]
    ink = "white" if cell.step is not None and cell.step >= BRIGHT else INK
    axes.add_patch(Rectangle((place, down), 1, 1, facecolor=tint, edgecolor=GRID, linewidth=0.6))
    axes.text(
        place + 0.5,
        down + (0.4 if cell.size else 0.5),
        clean(cell.text),
        ha="center",
        va="center",
        color=ink,
        fontsize=size,
    )
    axes.text(place + 0.5, down + 0.76, cell.size, ha="center", va="center", color=ink, fontsize=0.73 * size)
    if cell.mark in (SEVERE, MINOR):
        look = mark(cell.mark, 3.6)
        axes.plot([place + 0.9], [down + 0.2], **(look | {"markeredgecolor": ink, "markeredgewidth": 0.6}))
