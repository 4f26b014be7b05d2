"""Forest plots: every group of a metric on one labelled scale, with its interval, its n and the mark of its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from countenance.report import numbers, words
from countenance.report.charts.forests import by_group, standing_out
from countenance.report.figures.scale import Scale
from countenance.report.names import attribute_label, clean
from countenance.report.plots.style import (
    COLOURS,
    GRID,
    LABELS,
    LINE,
    MILLIMETRE,
    SOFT,
    UNMARKED,
    drawing,
    mark,
    shortened,
)
from countenance.report.source import Audited
from countenance.tasks import Metric

WIDTH = 178 * MILLIMETRE
ROW = 4.7 * MILLIMETRE
HEAD = 9 * MILLIMETRE
TITLE = 8 * MILLIMETRE
FOOT = 14 * MILLIMETRE
MOST_ROWS = 44
"""More rows than these are drawn on a further figure with the same scale."""
LONGEST = 38
LONGEST_NOUN = 8


@dataclass(frozen=True)
class PlotRow:
    """A group of a forest plot, or (without an estimate) the heading of an attribute."""

    label: str
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    text: str = ""
    size: str = ""
    kind: str = words.UNTESTED
    noun: str = ""
    """Of a heading: what the numbers on the right count."""

    @property
    def heading(self) -> bool:
        return not self.size


def forest_figures(source: Audited, metric: Metric, *, verdicts: bool = True) -> list[Any]:
    """The forest plot of one metric, on as many figures as it needs, all with the same scale.

    Without `verdicts` every group has the same mark.
    """
    rows = rows_of(source, metric)
    if not verdicts:
        rows = [replace(row, kind=UNMARKED) for row in rows]
    shown = [row for row in rows if not row.heading]
    if not shown:
        return []
    overall = source.overall.get(metric.name)
    kind = next((e.metric_kind for e in source.audit.groups if e.metric == metric.name), "mean")
    scale = Scale.around([bound for row in shown for bound in (row.estimate, row.low, row.high)], kind)
    label = f"{metric.name} (lower is better)" if metric.better == "lower" else metric.name
    everybody = None if overall is None else overall.estimate
    return [forest_of(part, label, scale, overall=everybody, kind=kind) for part in parts_of(rows)]


def rows_of(source: Audited, metric: Metric) -> list[PlotRow]:
    """The rows: each attribute with its groups, then the intersections that stand out."""
    findings = by_group(source, metric.name)
    singular, many = words.cluster_noun(source.audit.settings)
    rows = []
    long = len(many) > LONGEST_NOUN  # said once, in the heading, where it would not fit beside every interval

    def row(label: str, e: Any, finding: Any) -> PlotRow:
        size = numbers.count(e.clusters) if long else numbers.plural(e.clusters, singular, many)
        text = (
            f"{numbers.value(e.estimate, e.metric_kind)}  [{numbers.span(e.low, e.high, e.metric_kind)}]"
            if e.n
            else "no rows"
        )
        return PlotRow(label, e.estimate, e.low, e.high, text, size, words.mark_of(finding, e.group))

    for name in source.names.by:
        estimates = source.estimates(metric.name, name)
        if estimates:
            rows.append(PlotRow(attribute_label(name), noun=many if long else ""))
            rows += [row(source.names.group(name, e.group), e, findings.get((name, e.group))) for e in estimates]
    crossed = standing_out(source, metric.name)
    if crossed:
        rows.append(PlotRow("intersections that differ most", noun=many if long else ""))
        rows += [row(source.names.group(e.attribute, e.group), e, finding) for e, finding in crossed]
    return rows


def parts_of(rows: Sequence[PlotRow]) -> list[list[PlotRow]]:
    """Rows for each figure; an attribute is cut only where it is too long for one."""
    parts: list[list[PlotRow]] = [[]]
    blocks: list[list[PlotRow]] = []
    for row in rows:
        if row.heading or not blocks:
            blocks.append([])
        blocks[-1].append(row)
    for block in blocks:
        if parts[-1] and len(parts[-1]) + len(block) > MOST_ROWS:
            parts.append([])
        while len(parts[-1]) + len(block) > MOST_ROWS:
            room = MOST_ROWS - len(parts[-1])
            parts[-1] += block[:room]
            block = [PlotRow(f"{block[0].label}, continued"), *block[room:]]
            parts.append([])
        parts[-1] += block
    return parts


def forest_of(
    rows: Sequence[PlotRow],
    label: str,
    scale: Scale,
    *,
    overall: float | None = None,
    kind: str = "mean",
    title: str = "",
    note: str = "",
    marked: str = "",
    labels: Mapping[str, str] = LABELS,
) -> Any:
    """Rows on one figure, with a title where there is one; `overall` is marked as everybody's number, or as `marked`.

    `labels` say what the marks mean; without any there is no legend.
    """
    top = HEAD + (TITLE if title else 0)
    height = top + FOOT + ROW * max(1, len(rows))
    with drawing() as Figure:
        figure = Figure(figsize=(WIDTH, height))
        axes = figure.add_axes((0.27, FOOT / height, 0.40, ROW * max(1, len(rows)) / height))
        for text, size, down in ((title, 9.0, 4.5), (note, 6.5, 9.0)):
            figure.text(0.01, 1 - down * MILLIMETRE / height, shortened(clean(text), 110), fontsize=size)
        axes.set_xlim(scale.low, scale.high)
        axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
        axes.set_xticks(scale.ticks, [scale.label(tick) for tick in scale.ticks])
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", color=GRID)
        axes.set_axisbelow(True)
        axes.set_xlabel(clean(label))
        if overall is not None and math.isfinite(overall):
            axes.axvline(overall, color=LINE, linewidth=0.9, linestyle=(0, (4, 2)))
            axes.annotate(
                marked or f"everybody {numbers.value(overall, kind)}",
                (overall, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                color=SOFT,
                fontsize=6.5,
            )
        for place, row in enumerate(rows):
            _row(axes, place, row)
        _legend(figure, {row.kind for row in rows if not row.heading}, labels)
    return figure


def _row(axes: Any, place: int, row: PlotRow) -> None:
    left, right = axes.get_yaxis_transform(), {"va": "center", "transform": axes.get_yaxis_transform()}
    label = shortened(clean(row.label), LONGEST)
    if row.heading:
        axes.text(-0.66, place + 0.08, label, weight="bold", va="center", transform=left)
        axes.text(1.80, place + 0.08, clean(row.noun), ha="right", color=SOFT, fontsize=6.5, **right)
        return
    axes.text(-0.63, place, label, va="center", transform=left, parse_math=False)
    if math.isfinite(row.estimate):
        if math.isfinite(row.low) and math.isfinite(row.high):
            axes.plot([row.low, row.high], [place, place], color=COLOURS[row.kind], linewidth=1.4)
        axes.plot([row.estimate], [place], **mark(row.kind))
    axes.text(1.04, place, row.text, **right)
    axes.text(1.80, place, row.size, ha="right", color=SOFT, **right)


def _legend(figure: Any, kinds: set[str], labels: Mapping[str, str]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **mark(kind)) for kind in labels if kind in kinds]
    names = [labels[kind] for kind in labels if kind in kinds]
    if not handles:
        return
    figure.legend(
        handles,
        names,
        loc="lower left",
        bbox_to_anchor=(0.0, 0.0),
        ncol=6,
        frameon=False,
        fontsize=6.5,
        handletextpad=0.2,
        columnspacing=1.2,
        borderaxespad=0.1,
    )
