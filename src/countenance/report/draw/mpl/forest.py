"""Forest plots for files: rows on one labelled axis, with intervals, sizes and the marks of their verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from countenance.report.charts.forest import Forest, ForestBlock, ForestRow
from countenance.report.charts.scale import Scale
from countenance.report.draw.mpl.style import MILLIMETRE, drawing, mark, shortened
from countenance.report.draw.palette import COLOURS, GRID, LINE, SOFT
from countenance.report.names import clean

WIDTH = 178 * MILLIMETRE
ROW = 4.7 * MILLIMETRE
HEAD = 9 * MILLIMETRE
TITLE = 8 * MILLIMETRE
FOOT = 14 * MILLIMETRE
MOST_ROWS = 44
"""More lines than these are drawn on a further figure with the same scale."""
LONGEST = 42
LEFT, ACROSS = 0.32, 0.35
"""Where the axis begins and how wide it is, as shares of the figure."""
SWATCH = 0.42
"""Side of the square of a skin tone, as a share of a row."""
MOST_SWATCHES = 3
"""A group of more tones than these has the squares of the first and the last."""


def forest_figures(forest: Forest) -> list[Any]:
    """A forest plot on as many figures as it needs, all with the same scale."""
    return [whole_figure(replace(forest, blocks=tuple(part))) for part in parts_of(forest.blocks)]


def parts_of(blocks: Sequence[ForestBlock]) -> list[list[ForestBlock]]:
    """The blocks of each figure; a block is cut only where it is too long for one."""
    parts: list[list[ForestBlock]] = [[]]
    room = MOST_ROWS
    for block in blocks:
        continued = f"{block.label}, continued" if block.label else ""
        if parts[-1] and _lines(block) > room:
            parts.append([])
            room = MOST_ROWS
        while _lines(block) > room:
            cut = room - bool(block.label)
            parts[-1].append(replace(block, rows=block.rows[:cut]))
            block = replace(block, label=continued, rows=block.rows[cut:])
            parts.append([])
            room = MOST_ROWS
        parts[-1].append(block)
        room -= _lines(block)
    return [part for part in parts if part]


def _lines(block: ForestBlock) -> int:
    return len(block.rows) + bool(block.label)


def frame_rows(axes: Any, scale: Scale, lines: int, label: str) -> None:
    """An axis for rows below each other: its scale and ticks across, no frame on the left."""
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(lines - 0.5, -0.5)
    axes.set_xticks(scale.ticks, [label for _, label in scale.labelled])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)
    axes.set_xlabel(clean(label))


def whole_figure(forest: Forest) -> Any:
    """A forest plot on one figure, however long it is."""
    lines = max(1, sum(map(_lines, forest.blocks)))
    top = HEAD + (TITLE if forest.title else 0)
    height = top + FOOT + ROW * lines
    scale = forest.scale
    with drawing() as Figure:
        figure = Figure(figsize=(WIDTH, height))
        axes = figure.add_axes((LEFT, FOOT / height, ACROSS, ROW * lines / height))
        for text, size, down in ((forest.title, 9.0, 4.5), (forest.note, 6.5, 9.0)):
            figure.text(0.01, 1 - down * MILLIMETRE / height, shortened(clean(text), 110), fontsize=size)
        frame_rows(axes, scale, lines, forest.axis)
        if forest.reference is not None and math.isfinite(forest.reference):
            axes.axvline(forest.reference, color=LINE, linewidth=0.9, linestyle=(0, (4, 2)))
            axes.annotate(
                forest.reference_label,
                (forest.reference, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                color=SOFT,
                fontsize=6.5,
            )
        place = 0
        for block in forest.blocks:
            if block.label:
                _heading(axes, place, block)
                place += 1
            for row in block.rows:
                _row(axes, place, row)
                place += 1
        _legend(figure, forest)
    return figure


def _at(share: float) -> float:
    """A position across the figure, in the axis's own shares.

    >>> _at(LEFT), round(_at(LEFT + ACROSS), 9)
    (0.0, 1.0)
    """
    return (share - LEFT) / ACROSS


def _heading(axes: Any, place: int, block: ForestBlock) -> None:
    across = axes.get_yaxis_transform()
    label = shortened(clean(block.label), LONGEST)
    axes.text(_at(0.006), place + 0.08, label, weight="bold", va="center", transform=across)
    unit = clean(block.unit)
    axes.text(_at(0.99), place + 0.08, unit, ha="right", va="center", color=SOFT, fontsize=6.5, transform=across)


def _row(axes: Any, place: int, row: ForestRow) -> None:
    from matplotlib.patches import Rectangle

    middle = {"va": "center", "transform": axes.get_yaxis_transform()}
    shown = row.colours if len(row.colours) <= MOST_SWATCHES else (row.colours[0], row.colours[-1])
    for k, colour in enumerate(shown):
        corner = _at(0.018 + 0.014 * k), place - SWATCH / 2
        across = SWATCH * ROW / (ACROSS * WIDTH)
        look: dict[str, Any] = {"facecolor": colour, "edgecolor": LINE, "linewidth": 0.4, "clip_on": False}
        axes.add_patch(Rectangle(corner, across, SWATCH, transform=axes.get_yaxis_transform(), **look))
    label = shortened(clean(row.label), LONGEST)
    axes.text(_at(0.018 + 0.014 * len(shown)), place, label, parse_math=False, **middle)
    if math.isfinite(row.estimate):
        if math.isfinite(row.low) and math.isfinite(row.high):
            axes.plot([row.low, row.high], [place, place], color=COLOURS[row.mark], linewidth=1.4)
        axes.plot([row.estimate], [place], **mark(row.mark))
    axes.text(_at(0.686), place, row.text, **middle)
    axes.text(_at(0.99), place, row.size, ha="right", color=SOFT, **middle)


def _legend(figure: Any, forest: Forest) -> None:
    from matplotlib.lines import Line2D

    seen = {row.mark for row in forest.rows}
    shown = [(Line2D([], [], **mark(kind)), label) for kind, label in forest.marks if kind in seen]
    if not shown:
        return
    handles, labels = zip(*shown, strict=True)
    figure.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 0.0),
        ncol=6,
        frameon=False,
        fontsize=6.5,
        handletextpad=0.2,
        columnspacing=1.2,
        borderaxespad=0.1,
    )
