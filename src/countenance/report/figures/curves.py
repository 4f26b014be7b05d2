"""Curves by group: one panel per attribute, a line per group, colour and dash both telling them apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from countenance.report import numbers
from countenance.report.figures.scale import Scale
from countenance.report.names import shown

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 44
COLOURS = 10
DASHES = ("", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True)
class GroupLine:
    """A group's curve. `colour` is a class of the style sheet (`s0`… along an order, `c0`… otherwise)."""

    label: str
    n: int
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dash: str = ""
    strong: bool = False
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """The band around the line, where there is one."""
    thresholds: Sequence[float] = ()
    """The threshold behind each point, for interactive figures."""
    group: str = field(default="", kw_only=True)
    """The group as the audit names it, where the line is one of a group."""


Limits = tuple[float, float] | None
"""Both ends of an axis; None: as far as the lines go."""


@dataclass(frozen=True)
class Chart:
    """Lines over one pair of axes, from which pages (`panel`) and files (`report.plots`) are drawn alike."""

    axes: tuple[str, str]
    lines: Sequence[GroupLine]
    log: tuple[bool, bool] = (False, False)
    marks: Sequence[float] = ()
    """Positions on the horizontal axis that have a meaning."""
    limits: tuple[Limits, Limits] = (None, None)
    title: str = ""


@dataclass(frozen=True)
class Axes:
    """The range of a panel and where values lie in it; a logarithmic axis begins at the smallest value above 0."""

    x0: float
    x1: float
    y0: float
    y1: float
    log: tuple[bool, bool] = (False, False)
    width: int = WIDTH

    @classmethod
    def around(
        cls,
        lines: Sequence[GroupLine],
        lowest: float,
        log: tuple[bool, bool],
        width: int = WIDTH,
        limits: tuple[Limits, Limits] = (None, None),
    ) -> "Axes":
        """The range of all lines, or `limits`: 0 to 1 at least upwards, unless it is logarithmic."""
        xs = [x for line in lines for x in line.x if math.isfinite(x) and (x > 0 or not log[0])]
        ys = [y for line in lines for y in line.y if math.isfinite(y) and (y > 0 or not log[1])]
        x0, x1 = (min(xs), max(xs)) if xs else (0.1 if log[0] else 0.0, 1.0)
        y0, y1 = (min(ys or [0.1]), max([1.0, *ys])) if log[1] else (min([lowest, *ys]), max([1.0, *ys]))
        if log[0]:
            x0 = 10.0 ** math.floor(math.log10(x0) + 1e-9)
        if log[1]:
            y0 = 10.0 ** math.floor(math.log10(y0) + 1e-9)
        (x0, x1), (y0, y1) = limits[0] or (x0, x1), limits[1] or (y0, y1)
        return cls(x0, x1 if x1 > x0 else x0 + 1, y0, y1 if y1 > y0 else y0 + 1, log, width)

    def px(self, x: float) -> float:
        """Pixels from the left."""
        return LEFT + _share(x, self.x0, self.x1, self.log[0]) * (self.width - LEFT - RIGHT)

    def py(self, y: float) -> float:
        """Pixels from the top."""
        return TOP + (1 - _share(y, self.y0, self.y1, self.log[1])) * (HEIGHT - TOP - BOTTOM)


def _share(value: float, low: float, high: float, log: bool) -> float:
    if log:  # what is 0, or below the range, lies on its edge
        value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
    return (value - low) / (high - low)


def colours(count: int, ordered: bool) -> list[tuple[str, str]]:
    """Classes and dashes for so many lines: along the colour ramp when the groups have an order.

    >>> colours(3, True)
    [('s0', ''), ('s4', '7 3'), ('s9', '2 3')]
    >>> colours(2, False)
    [('c0', ''), ('c1', '7 3')]
    """
    ramp = ordered or count > 8
    places = [int(i * (COLOURS - 1) / max(1, count - 1)) for i in range(count)] if ramp else list(range(count))
    return [(f"{'s' if ramp else 'c'}{place % COLOURS}", DASHES[i % len(DASHES)]) for i, place in enumerate(places)]


def styled(lines: Sequence[GroupLine]) -> list[GroupLine]:
    """Lines without an order, each with its own colour and dash.

    >>> [(line.colour, line.dash) for line in styled([GroupLine(name, 0, [], [], "") for name in "ab"])]
    [('c0', ''), ('c1', '7 3')]
    """
    dashes = [DASHES[(i + i // COLOURS) % len(DASHES)] for i in range(len(lines))]
    return [replace(line, colour=f"c{i % COLOURS}", dash=dashes[i]) for i, line in enumerate(lines)]


def x_limits(values: Sequence[Sequence[float]], *, log: bool, least: float | None = None) -> tuple[float, float]:
    """Left and right end of the horizontal axis; never an empty range, and no zero on a logarithmic one.

    A logarithmic axis begins at `least`, or at the smallest value above 0.

    >>> x_limits([[0.0, 0.5, 20.0]], log=True), x_limits([[0.0]], log=False)
    ((0.5, 20.0), (0.0, 1.0))
    """
    positive = [float(x) for some in values for x in some if x > 0]
    largest = max(positive, default=0.0)
    if not log:
        return 0.0, largest or 1.0
    smallest = min([1.0, *positive]) if least is None else least
    return smallest, largest if largest > smallest else smallest * 10


def drawn(chart: Chart, key: str, *, lowest: float = 0.0, wide: bool = False, further: str = "") -> dict[str, Any]:
    """A chart for a page: the picture, its legend, and what its axes show; `further` is added to its description."""
    across, up = chart.axes
    axes = f"{up} (up) against {across} (across)"
    picture = panel(
        chart.lines,
        chart.axes,
        chart.title or axes,
        axes + further,
        key,
        lowest=lowest,
        log=chart.log,
        marks=chart.marks,
        limits=chart.limits,
        wide=wide,
    )
    return {"drawing": picture, "legend": [(swatch(line), line.label) for line in chart.lines], "told": f"{axes}."}


def panel(
    lines: Sequence[GroupLine],
    axes: tuple[str, str],
    title: str,
    desc: str,
    key: str,
    *,
    lowest: float = 0.0,
    log: tuple[bool, bool] = (False, False),
    marks: Sequence[float] = (),
    limits: tuple[Limits, Limits] = (None, None),
    wide: bool = False,
    points: Sequence[tuple[float, float, str]] = (),
) -> Markup:
    """One panel as SVG; the values are also in the table beside it. The y axis begins at `lowest`.

    `log` says which axes are logarithmic, `marks` are positions on the horizontal axis that have a meaning. `wide`
    makes the panel as wide as the page. `points` are places with a label, such as the threshold in use.
    """
    width = 2 * WIDTH if wide else WIDTH
    frame = Axes.around(lines, lowest, log, width, limits)
    px, py = frame.px, frame.py
    out = [
        f'<svg class="curves{" wide" if wide else ""}" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-labelledby="{shown(key)}-t {shown(key)}-d">',
        f'<title id="{shown(key)}-t">{shown(title)}</title><desc id="{shown(key)}-d">{shown(desc)}</desc>',
    ]
    for y in _ticks(frame.y0, frame.y1, log=log[1]):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}"/>')
        out.append(f'<text x="{LEFT - 7}" y="{py(y) + 4:.1f}" text-anchor="end">{numbers.tick(y)}</text>')
    for x in _ticks(frame.x0, frame.x1, log=log[0]):
        anchor = "end" if px(x) > width - RIGHT - 12 else "middle"
        out.append(f'<text x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="{anchor}">{numbers.tick(x)}</text>')
    middle = (LEFT + width - RIGHT) / 2
    out.append(f'<text class="axis" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{shown(axes[0])}</text>')
    for x in (x for x in marks if frame.x0 <= x <= frame.x1):
        out.append(f'<line class="ref" x1="{px(x):.1f}" x2="{px(x):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        out.append(f'<text x="{px(x) + 4:.1f}" y="{HEIGHT - BOTTOM - 6}">{numbers.tick(x)}</text>')
    for line in lines:
        edge = [(x, y) for x, y in zip(line.x, line.high, strict=False) if math.isfinite(x) and math.isfinite(y)]
        edge += [(x, y) for x, y in zip(line.x, line.low, strict=False) if math.isfinite(x) and math.isfinite(y)][::-1]
        if edge:
            around = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in edge)
            out.append(f'<polygon class="band {line.colour}" points="{around}"/>')
    for line in sorted(lines, key=lambda line: line.strong):
        places = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y))
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        strong = " strong" if line.strong else ""
        if places and " " not in places:  # a line of one point is a dot
            cx, cy = places.split(",")
            out.append(f'<circle class="curve {line.colour}{strong}" cx="{cx}" cy="{cy}" r="3"/>')
        out.append(f'<polyline class="curve {line.colour}{strong}"{dash} points="{places}"/>')
    for x, y, label in points:
        anchor, shift = ("end", -9) if px(x) > width * 0.6 else ("start", 9)
        out.append(f'<circle class="here" cx="{px(x):.1f}" cy="{py(y):.1f}" r="5.5"/>')
        below = 20 if py(y) < TOP + 24 else -9
        place = f'x="{px(x) + shift:.1f}" y="{py(y) + below:.1f}" text-anchor="{anchor}"'
        out.append(f'<text class="axis here-label" {place}>{shown(label)}</text>')
    return Markup("".join([*out, "</svg>"]))  # noqa: S704 - numbers, our classes and escaped text


def _ticks(low: float, high: float, *, log: bool = False) -> list[float]:
    """Round numbers within a range; powers of ten on a logarithmic axis.

    >>> _ticks(0.0, 0.3), _ticks(0.0, 1.0), _ticks(0.01, 1.0, log=True)
    ([0.0, 0.1, 0.2, 0.3], [0.0, 0.25, 0.5, 0.75, 1.0], [0.01, 0.1, 1.0])
    """
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]
    if (low, high) == (0.0, 1.0):
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    around = Scale.around([low, high], least=0.0, steps=4).ticks
    return [tick for tick in around if low - 1e-9 <= tick <= high + 1e-9]


def swatch(line: GroupLine) -> Markup:
    """The line's sample for the legend."""
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    strong = " strong" if line.strong else ""
    return Markup(  # noqa: S704 - our classes
        '<svg class="swatch" width="34" height="10" aria-hidden="true" focusable="false">'
        f'<line class="curve {line.colour}{strong}"{dash} x1="1" x2="33" y1="5" y2="5"/></svg>'
    )
