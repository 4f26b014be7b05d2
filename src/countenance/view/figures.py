"""The forest plot of a page as a file: vector or pixels, drawn by the package's own canvas."""

import math

from countenance.report import numbers
from countenance.report.figures.scale import Scale
from countenance.report.names import attribute_label
from countenance.suites.uccs.plot import save
from countenance.suites.uccs.plot.canvas import Area, Line, Mark, Words, text_width
from countenance.view.opened import OpenRun
from countenance.view.question import Question

FIGURES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
WIDTH, ROW, HEAD, FOOT, LABELS, NUMBERS = 560.0, 17.0, 54.0, 34.0, 190.0, 120.0
INK, SOFT, GRID = "#1c1c1a", "#5a594f", "#dedcd3"


def forest_figure(opened: OpenRun, asked: Question, form: str, metric: str) -> bytes:
    """Every group's number by one metric with its interval, as the content of a file."""
    found = [one for one in opened.estimates(asked) if one.metric == metric and one.depth == 1 and one.n]
    names = opened.names(found)
    kind = found[0].kind if found else "mean"
    scale = Scale.around([bound for e in found for bound in (e.estimate, e.low, e.high)], kind)
    blocks = len({one.attribute for one in found})
    size = (WIDTH, HEAD + ROW * (len(found) + blocks) + FOOT)

    def x(value: float) -> float:
        return LABELS + (WIDTH - LABELS - NUMBERS) * scale.at(value) / 100

    marks: list[Mark] = [Words((12, 20), _short(f"{metric}: {opened.title}", 13, WIDTH - 24), 13)]
    interval = f"{100 * (1 - asked.alpha):g} % intervals; n rows"
    where = "; ".join(f"{name} = {' or '.join(values)}" for name, values in asked.where.items())
    marks.append(Words((12, 36), _short(interval + (f"; where {where}" if where else ""), 9, WIDTH - 24), 9))
    bottom = size[1] - FOOT
    for tick in scale.ticks:
        marks.append(Line(((x(tick), HEAD - 6), (x(tick), bottom)), GRID, 0.6))
        marks.append(Words((x(tick), bottom + 13), scale.label(tick), 9, 0.5))
    y, attribute = HEAD, ""
    for one in found:
        if one.attribute != attribute:
            attribute = one.attribute
            marks.append(Words((12, y + 10), _short(attribute_label(attribute), 10, LABELS - 24), 10))
            y += ROW
        middle = y + 6
        label = names.group(one.attribute, one.group)
        marks.append(Words((24, y + 9), _short(label, 9, LABELS - 36), 9))
        if math.isfinite(one.low) and math.isfinite(one.high):
            marks.append(Line(((x(one.low), middle), (x(one.high), middle)), SOFT, 1.4))
        if math.isfinite(one.estimate):
            at = x(one.estimate)
            marks.append(Area(((at - 3, middle), (at, middle - 3), (at + 3, middle), (at, middle + 3)), INK, 1.0))
        text = f"{numbers.value(one.estimate, kind)} ({numbers.span(one.low, one.high, kind)}), {one.n:,}"
        marks.append(Words((WIDTH - 8, y + 9), _plain(text), 8, 1.0))
        y += ROW
    draw = {"svg": save.svg, "png": save.png, "pdf": save.pdf}[form]
    return draw(marks, size)


def _plain(text: str) -> str:
    """Without the thin spaces and the minus that a PDF's own font lacks."""
    return text.replace(numbers.THIN, " ").replace(numbers.MINUS, "-")


def _short(text: str, size: float, width: float) -> str:
    text = _plain(text)
    while len(text) > 4 and text_width(text, size) > width:
        text = text[:-2].rstrip() + "…"
    return text
