"""The challenge's plots: their curves, axes and words. Files are drawn by `report.plots`, pages by `panel`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.files import write_text
from countenance.report.figures.curves import Chart, GroupLine, colours, panel, swatch
from countenance.report.names import phrase, value_label
from countenance.report.plots import ENDINGS, check_installed, curve_figure, save
from countenance.report.plots.interactive import interactive
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.lines import Floats
from countenance.suites.uccs.operating import group_curves

FORMATS = (*ENDINGS, ".html")
HEIGHT = 4.5
"""Inches, as in the challenge; the width is that of all figures, 7."""
GREY = "c7"
UP = {
    ("FROC", False): "Detection Rate", ("FROC", True): "Number of Detections",
    ("DIR", False): "Detection & Identification Rate", ("DIR", True): "Detected and Identified",
    ("O-ROC", False): "TPIR Per Face", ("O-ROC", True): "TPI",
}  # fmt: skip
ACROSS = {
    ("FROC", 2): "False Accepts", ("DIR", 2): "False Identifications",
    ("FROC", 3): "False Detection Per Image", ("O-ROC", 3): "FPI Per Image",
}  # fmt: skip


def check_format(path: Path) -> None:
    """Refuse a plot file of another ending, and say which extra is missing, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: plots are written as {', '.join(FORMATS)}; choose one of these endings")
    if path.suffix.lower() in ENDINGS:
        check_installed("a plot as PDF, SVG or PNG")


def save_plot(chart: Chart, path: Path) -> None:
    """Write a plot in the format of the file's ending, whole or not at all."""
    check_format(path)
    if path.suffix.lower() == ".html":
        write_text(path, interactive(chart))
    else:
        save(curve_figure(chart, HEIGHT), path)


def drawn(chart: Chart, key: str) -> dict[str, Any]:
    """A plot for a page: the picture, its legend, and what its axes show."""
    across, up = chart.axes
    told = f"{up} (up) against {across} (across)"
    picture = panel(
        chart.lines, chart.axes, chart.title or told, told, key, log=chart.log, marks=chart.marks, limits=chart.limits
    )
    return {"drawing": picture, "legend": [(swatch(line), line.label) for line in chart.lines], "told": f"{told}."}


def chart_of(evaluations: Sequence[UccsEvaluation], *, band: bool) -> Chart:
    """The challenge's plot of several evaluations of one kind."""
    first = evaluations[0]
    log = first.settings.log
    numbers, version, kind, rank = first.settings.numbers, first.version, first.kind, first.settings.rank
    lines = styled([_line(one, band) for one in evaluations])
    top = float(max(1, first.total)) if numbers else 1.0
    limits = x_limits([one.curve.x for one in evaluations], log=log, from_one=version == 2)
    if version == 2:
        lines.append(_chance(evaluations[-1], limits))
    title = f"Rank {rank} {kind} curve" if kind == "O-ROC" or (kind == "DIR" and rank > 1) else ""
    return Chart((ACROSS[kind, version], UP[kind, numbers]), lines, (log, False), (), (limits, (0.0, top)), title)


def group_charts(evaluation: UccsEvaluation, by: Sequence[str]) -> dict[str, Chart]:
    """A plot by group for each attribute that has groups large enough; the curve of all comes first."""
    found: dict[str, list[GroupLine]] = {}
    for one in group_curves(evaluation, by):
        name, curve = phrase(one.attribute, one.group), one.curve
        label = f"{name or value_label(one.attribute, one.group)} ({one.n})"
        found.setdefault(one.attribute, []).append(
            GroupLine(label, 0, curve.x.tolist(), curve.y.tolist(), GREY, thresholds=curve.thresholds.tolist())
        )
    whole = chart_of([evaluation], band=False)
    first, *chance = whole.lines
    everybody = replace(first, label=f"all ({evaluation.total})")
    return {
        name: replace(whole, lines=[*styled([everybody, *lines]), *chance], title=evaluation.label)
        for name, lines in found.items()
    }


def styled(lines: Sequence[GroupLine]) -> list[GroupLine]:
    """The curves in different colours and dashes."""
    looks = colours(len(lines), ordered=False)
    return [replace(line, colour=colour, dash=dash) for line, (colour, dash) in zip(lines, looks, strict=True)]


def _line(one: UccsEvaluation, band: bool) -> GroupLine:
    curve = one.curve
    low, high = (one.band.low.tolist(), one.band.high.tolist()) if band and one.band is not None else ((), ())
    thresholds = curve.thresholds.tolist()
    return GroupLine(one.label, 0, curve.x.tolist(), curve.y.tolist(), GREY, "", False, low, high, thresholds)


def _chance(one: UccsEvaluation, limits: tuple[float, float]) -> GroupLine:
    """The dotted line on which there are as many false alarms as found faces, up to all of them."""
    total = max(1, one.total)
    end = max(limits[0], min(limits[1], float(total)))
    x = np.geomspace(limits[0], end, 60) if limits[0] > 0 else np.array([limits[0], end])
    y = x if one.settings.numbers else x / total
    return GroupLine("as many false alarms as faces", 0, x.tolist(), y.tolist(), GREY, "1.5 3")


def x_limits(values: Sequence[Floats], *, log: bool, from_one: bool) -> tuple[float, float]:
    """Left and right end of the horizontal axis; never an empty range, and no zero on a logarithmic one.

    >>> x_limits([np.array([0.0, 0.5, 20.0])], log=True, from_one=False)
    (0.5, 20.0)
    """
    xs = np.concatenate([np.asarray(one) for one in values])
    largest = float(xs.max(initial=0.0))
    if not log:
        return 0.0, largest if largest > 0 else 1.0
    positive = xs[xs > 0]
    smallest = 1.0 if from_one else float(positive.min(initial=1.0))
    return smallest, largest if largest > smallest else smallest * 10
