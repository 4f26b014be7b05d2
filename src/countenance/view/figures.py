"""The forest plot of a page as a file: vector or pixels, drawn by the report's own plots (extra `plots`)."""

from itertools import groupby

from countenance.report import numbers
from countenance.report.figures.scale import Scale
from countenance.report.names import attribute_label
from countenance.report.plots.forest import PlotRow, forest_of
from countenance.report.plots.style import UNMARKED, content_of
from countenance.view.open_run import OpenRun
from countenance.view.question import Question

FIGURES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


def forest_figure(opened: OpenRun, question: Question, form: str, metric: str) -> bytes:
    """Every group's number by one metric with its interval, as the content of a file."""
    estimates = [
        estimate
        for estimate in opened.estimates(question)
        if estimate.metric == metric and estimate.depth == 1 and estimate.n
    ]
    names = opened.names(estimates)
    estimates = names.ordered(estimates)
    kind = estimates[0].metric_kind if estimates else "mean"
    rows: list[PlotRow] = []
    for attribute, groups in groupby(estimates, key=lambda estimate: estimate.attribute):
        rows.append(PlotRow(attribute_label(attribute)))
        for estimate in groups:
            text = f"{numbers.value(estimate.estimate, kind)}  [{numbers.span(estimate.low, estimate.high, kind)}]"
            label, size = names.group(attribute, estimate.group), numbers.plural(estimate.n, "row")
            rows.append(PlotRow(label, estimate.estimate, estimate.low, estimate.high, text, size, UNMARKED))
    where = "; ".join(f"{name} = {' or '.join(values)}" for name, values in question.where.items())
    note = f"{100 * (1 - question.alpha):g} % intervals" + (f"; where {where}" if where else "")
    scale = Scale.around([bound for e in estimates for bound in (e.estimate, e.low, e.high)], kind)
    return content_of(forest_of(rows, metric, scale, title=f"{metric}: {opened.title}", note=note), f".{form}")
