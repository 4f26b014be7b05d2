"""The forest plot of a page as a file: vector or pixels, drawn by the report's own plots (extra `plots`)."""

from itertools import groupby

from countenance.report import numbers
from countenance.report.figures.scale import Scale
from countenance.report.names import attribute_label
from countenance.report.plots.forest import PlotRow, forest_of
from countenance.report.plots.style import UNMARKED, content_of
from countenance.view.opened import OpenRun
from countenance.view.question import Question

FIGURES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


def forest_figure(opened: OpenRun, asked: Question, form: str, metric: str) -> bytes:
    """Every group's number by one metric with its interval, as the content of a file."""
    found = [one for one in opened.estimates(asked) if one.metric == metric and one.depth == 1 and one.n]
    names = opened.names(found)
    found = names.ordered(found)
    kind = found[0].metric_kind if found else "mean"
    rows: list[PlotRow] = []
    for attribute, groups in groupby(found, key=lambda one: one.attribute):
        rows.append(PlotRow(attribute_label(attribute)))
        for one in groups:
            text = f"{numbers.value(one.estimate, kind)}  [{numbers.span(one.low, one.high, kind)}]"
            label, size = names.group(attribute, one.group), numbers.plural(one.n, "row")
            rows.append(PlotRow(label, one.estimate, one.low, one.high, text, size, UNMARKED))
    where = "; ".join(f"{name} = {' or '.join(values)}" for name, values in asked.where.items())
    note = f"{100 * (1 - asked.alpha):g} % intervals" + (f"; where {where}" if where else "")
    scale = Scale.around([bound for e in found for bound in (e.estimate, e.low, e.high)], kind)
    return content_of(forest_of(rows, metric, scale, title=f"{metric}: {opened.title}", note=note), f".{form}")
