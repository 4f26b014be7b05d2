"""The forest plot of a page as a file: vector or pixels, drawn by the report's own plots (extra `plots`)."""

from itertools import groupby

from countenance.report import numbers
from countenance.report.charts.forest import Forest, ForestBlock, ForestRow, bounds
from countenance.report.charts.group_forests import values_of
from countenance.report.charts.scale import Scale
from countenance.report.draw.mpl.forest import whole_figure
from countenance.report.draw.mpl.style import content_of
from countenance.report.harms import shown_kind
from countenance.report.metric_words import words_of
from countenance.report.names import attribute_label
from countenance.tasks import Metric
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
    described = next((known for known in opened.metrics if known.name == metric), Metric(metric, "", None))
    kind = shown_kind(estimates[0].metric_kind if estimates else "mean", words_of(described, opened.task))
    blocks = []
    for attribute, groups in groupby(names.ordered(estimates), key=lambda estimate: estimate.attribute):
        rows = [
            ForestRow(names.group(attribute, e.group), *values_of(e, kind), numbers.plural(e.n, "row"), n=e.n)
            for e in groups
        ]
        blocks.append(ForestBlock(attribute_label(attribute), tuple(rows)))
    where = "; ".join(f"{name} = {' or '.join(values)}" for name, values in question.where.items())
    note = f"{100 * (1 - question.alpha):g} % intervals" + (f"; where {where}" if where else "")
    scale = Scale.around(bounds(row for block in blocks for row in block.rows), kind)
    forest = Forest(metric, metric, scale, tuple(blocks), title=f"{metric}: {opened.title}", note=note)
    return content_of(whole_figure(forest.unmarked()), f".{form}")
