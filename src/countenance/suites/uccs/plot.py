"""The challenge's plots: their curves, axes and words. Files are drawn by `report.draw.mpl`, pages by `drawn`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from countenance.report.charts.curves import CurveChart, GroupLine, styled, x_limits
from countenance.report.names import phrase, value_label
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.operating import group_curves

HEIGHT = 4.5
"""Inches, as in the challenge; the width is that of all figures, 7."""
GREY = "c7"
UP = {
    ("FROC", False): "Detection Rate",
    ("FROC", True): "Number of Detections",
    ("DIR", False): "Detection & Identification Rate",
    ("DIR", True): "Detected and Identified",
    ("O-ROC", False): "TPIR Per Face",
    ("O-ROC", True): "TPI",
}
ACROSS = {
    ("FROC", 2): "False Accepts",
    ("DIR", 2): "False Identifications",
    ("FROC", 3): "False Detection Per Image",
    ("O-ROC", 3): "FPI Per Image",
}


def chart_of(evaluations: Sequence[UccsEvaluation], *, band: bool) -> CurveChart:
    """The challenge's plot of several evaluations of one kind."""
    first = evaluations[0]
    log = first.settings.log
    numbers, version, kind, rank = first.settings.numbers, first.version, first.kind, first.settings.rank
    lines = styled([_line(evaluation, band) for evaluation in evaluations])
    top = float(max(1, first.total)) if numbers else 1.0
    limits = x_limits(
        [evaluation.curve.x.tolist() for evaluation in evaluations], log=log, least=1.0 if version == 2 else None
    )
    if version == 2:
        lines.append(_chance(evaluations[-1], limits))
    title = f"Rank {rank} {kind} curve" if kind == "O-ROC" or (kind == "DIR" and rank > 1) else ""
    return CurveChart((ACROSS[kind, version], UP[kind, numbers]), lines, (log, False), (), (limits, (0.0, top)), title)


def group_charts(evaluation: UccsEvaluation, by: Sequence[str]) -> dict[str, CurveChart]:
    """A plot by group for each attribute that has groups large enough; the curve of all comes first."""
    by_attribute: dict[str, list[GroupLine]] = {}
    for group in group_curves(evaluation, by):
        name, curve = phrase(group.attribute, group.group), group.curve
        label = f"{name or value_label(group.attribute, group.group)} ({group.n})"
        by_attribute.setdefault(group.attribute, []).append(
            GroupLine(label, 0, curve.x.tolist(), curve.y.tolist(), GREY, thresholds=curve.thresholds.tolist())
        )
    whole = chart_of([evaluation], band=False)
    first, *chance = whole.lines
    everybody = replace(first, label=f"all ({evaluation.total})")
    return {
        name: replace(whole, lines=[*styled([everybody, *lines]), *chance], title=evaluation.label)
        for name, lines in by_attribute.items()
    }


def _line(evaluation: UccsEvaluation, band: bool) -> GroupLine:
    curve = evaluation.curve
    low, high = (
        (evaluation.band.low.tolist(), evaluation.band.high.tolist())
        if band and evaluation.band is not None
        else ((), ())
    )
    thresholds = curve.thresholds.tolist()
    return GroupLine(evaluation.label, 0, curve.x.tolist(), curve.y.tolist(), GREY, "", False, low, high, thresholds)


def _chance(evaluation: UccsEvaluation, limits: tuple[float, float]) -> GroupLine:
    """The dotted line where false alarms equal found faces, up to all of them."""
    total = max(1, evaluation.total)
    end = max(limits[0], min(limits[1], float(total)))
    x = np.geomspace(limits[0], end, 60) if limits[0] > 0 else np.array([limits[0], end])
    y = x if evaluation.settings.numbers else x / total
    return GroupLine("as many false alarms as faces", 0, x.tolist(), y.tolist(), GREY, "1.5 3")
