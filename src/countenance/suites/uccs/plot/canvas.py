"""A plot laid out as lines, areas and words on a page of 504 × 324 points, the challenge's 7 × 4.5 inches."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from countenance.suites.uccs.plot.axes import Axes, Series, ticks_between

WIDTH, HEIGHT = 504.0, 324.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 16.0, 12.0, 54.0
GRID = "#b8b8b8"
Point = tuple[float, float]

# Widths of Times Roman from the space to the tilde, in thousandths of the size.
TIMES = (
    *(250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278),
    *(500,) * 10,
    *(278, 278, 564, 564, 564, 444, 921),
    *(722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889),
    *(722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611),
    *(333, 278, 333, 469, 500, 333),
    *(444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778),
    *(500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444),
    *(480, 200, 480, 541),
)


@dataclass(frozen=True)
class Line:
    """A line through points, from the top left corner of the page."""

    points: tuple[Point, ...]
    colour: str
    width: float
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Area:
    """A filled area; `opacity` 1 covers what is below."""

    points: tuple[Point, ...]
    colour: str
    opacity: float


@dataclass(frozen=True)
class Words:
    """A line of words: `anchor` 0 begins at the point, .5 is centred on it, 1 ends there; `turned`: upwards."""

    at: Point
    text: str
    size: float
    anchor: float = 0.0
    turned: bool = False


Mark = Line | Area | Words


def text_width(text: str, size: float) -> float:
    """How wide a text is in Times.

    >>> text_width("10", 18)
    18.0
    """
    return sum(TIMES[ord(c) - 32] if 32 <= ord(c) < 127 else 600 for c in text) * size / 1000


def laid_out(axes: Axes) -> list[Mark]:
    """Every mark of a plot, from the back to the front."""
    top = TOP + (20 if axes.title else 0)
    box = (LEFT, top, WIDTH - RIGHT, HEIGHT - BOTTOM)
    (x0, x1), (y0, y1) = axes.x_limits, axes.y_limits

    def px(x: float) -> float:
        if axes.log:
            share = (math.log(x) - math.log(x0)) / (math.log(x1) - math.log(x0)) if x > 0 else -1.0
        else:
            share = (x - x0) / (x1 - x0)
        return box[0] + share * (box[2] - box[0])

    def py(y: float) -> float:
        return box[3] - (y - y0) / (y1 - y0) * (box[3] - box[1])

    marks: list[Mark] = []
    if axes.title:
        marks.append(Words(((box[0] + box[2]) / 2, TOP + 12), axes.title, 16, 0.5))
    size = 15.0
    for place, word in ticks_between(x0, x1, log=axes.log):
        marks.append(Line(((px(place), box[1]), (px(place), box[3])), GRID, 0.6))
        marks.append(Words((px(place), box[3] + 17), word, size, 0.5))
    for place, word in ticks_between(y0, y1, log=False):
        marks.append(Line(((box[0], py(place)), (box[2], py(place))), GRID, 0.6))
        marks.append(Words((box[0] - 6, py(place) + 5), word, size, 1.0))
    for one in axes.series:
        marks += _band(one, px, py, box)
    for one in (*([axes.chance] if axes.chance else []), *axes.series):
        points = [(px(x), py(y)) for x, y in zip(one.x.tolist(), one.y.tolist(), strict=True) if math.isfinite(y)]
        if len(points) == 1:  # a single point would be invisible
            points = [(max(box[0], points[0][0] - 4), points[0][1]), (max(box[0], points[0][0]) + 4, points[0][1])]
        width = axes.width if one is not axes.chance else 1.5
        marks += [Line(tuple(part), one.colour, width, one.dash) for part in clipped(points, box)]
    frame = ((box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3]), (box[0], box[1]))
    marks.append(Line(frame, "#000000", 1.0))
    marks.append(Words(((box[0] + box[2]) / 2, HEIGHT - 12), axes.x_label, 18, 0.5))
    marks.append(Words((18, (box[1] + box[3]) / 2), axes.y_label, 18, 0.5, turned=True))
    return marks + _legend(axes, box)


def _band(one: Series, px, py, box) -> list[Mark]:  # type: ignore[no-untyped-def]
    if one.low is None or one.high is None or len(one.x) < 2:
        return []
    upper = [(px(x), py(y)) for x, y in zip(one.x.tolist(), one.high.tolist(), strict=True)]
    lower = [(px(x), py(y)) for x, y in zip(one.x.tolist(), one.low.tolist(), strict=True)]
    inside = [(min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])) for x, y in (*upper, *lower[::-1])]
    return [Area(tuple(inside), one.colour, 0.2)]


def _legend(axes: Axes, box: tuple[float, float, float, float]) -> list[Mark]:
    size = 14.0 if len(axes.series) <= 6 else 11.0
    step = size + 5
    room = (box[2] - box[0]) * 0.6
    labels = [_shortened(one.label, size, room) for one in axes.series]
    width = max(text_width(label, size) for label in labels) + 46
    height = step * len(labels) + 8
    if axes.legend == "upper left":
        x, y = box[0] + 6, box[1] + 6
    else:
        x, y = box[2] - 6 - width, box[3] - 6 - height
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    marks: list[Mark] = [Area(corners, "#ffffff", 0.85), Line((*corners, corners[0]), "#cccccc", 0.8)]
    for k, (one, label) in enumerate(zip(axes.series, labels, strict=True)):
        middle = y + 4 + step * (k + 0.5)
        marks.append(Line(((x + 6, middle), (x + 34, middle)), one.colour, axes.width, one.dash))
        marks.append(Words((x + 40, middle + size * 0.32), label, size))
    return marks


def _shortened(label: str, size: float, room: float) -> str:
    """A label that fits: the middle of a long one gives way, because names differ at their ends."""
    shown = label
    while text_width(shown, size) > room and len(label) > 5:
        cut = len(label) // 2
        label = label[: cut - 1] + label[cut + 1 :]
        shown = label[: len(label) // 2] + "..." + label[len(label) // 2 :]
    return shown


def clipped(points: Sequence[Point], box: tuple[float, float, float, float]) -> list[list[Point]]:
    """The parts of a line that lie in a box.

    >>> clipped([(-1.0, 0.5), (0.5, 0.5), (0.5, 3.0)], (0, 0, 1, 1))
    [[(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)]]
    """
    parts: list[list[Point]] = []
    for a, b in itertools.pairwise(points):
        cut = _clip(a, b, box)
        if cut is None:
            continue
        if parts and parts[-1][-1] == cut[0]:
            parts[-1].append(cut[1])
        else:
            parts.append(list(cut))
    return parts


def _clip(a: Point, b: Point, box: tuple[float, float, float, float]) -> tuple[Point, Point] | None:
    begin, end = 0.0, 1.0
    for k, low, high in ((0, box[0], box[2]), (1, box[1], box[3])):
        step = b[k] - a[k]
        for edge, sign in ((low, -1), (high, 1)):
            out = sign * (a[k] - edge)
            move = sign * step
            if move == 0 and out > 0:
                return None
            if move != 0:
                share = -out / move
                begin, end = (max(begin, share), end) if move < 0 else (begin, min(end, share))
    if begin > end:
        return None

    def at(share: float) -> Point:
        return (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]))

    return (a if begin == 0 else at(begin)), (b if end == 1 else at(end))
