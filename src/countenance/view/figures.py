"""The forest plot of a page as a file: vector or pixels, drawn as the report's own figures are."""

from countenance.report import numbers
from countenance.report.figures.scale import Scale
from countenance.report.names import attribute_label
from countenance.report.plots.forest import Row, forest
from countenance.report.plots.style import UNMARKED, bytes_of
from countenance.tasks import Metric
from countenance.view.opened import OpenRun
from countenance.view.question import Question

FIGURES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


def forest_figure(opened: OpenRun, asked: Question, form: str, metric: str) -> bytes:
    """Every group's number by one metric with its interval, as the content of a file."""
    found = [one for one in opened.estimates(asked) if one.metric == metric and one.depth == 1 and one.n]
    names = opened.names(found)
    kind = found[0].kind if found else "mean"
    rows: list[Row] = []
    attribute = None
    for one in found:
        if one.attribute != attribute:
            attribute = one.attribute
            rows.append(Row(attribute_label(attribute)))
        text = f"{numbers.value(one.estimate, kind)}  [{numbers.span(one.low, one.high, kind)}]"
        label = names.group(one.attribute, one.group)
        rows.append(Row(label, one.estimate, one.low, one.high, text, numbers.plural(one.n, "row"), UNMARKED))
    scale = Scale.around([bound for e in found for bound in (e.estimate, e.low, e.high)], kind)
    where = "; ".join(f"{name} = {' or '.join(values)}" for name, values in asked.where.items())
    interval = f"{100 * (1 - asked.alpha):g} % intervals" + (f"; where {where}" if where else "")
    figure = forest(rows, Metric(metric, ""), scale, None, kind, title=f"{opened.title}: {interval}")
    return bytes_of(figure, f".{form}")
