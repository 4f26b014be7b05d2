"""Curves by group: one panel per attribute, a line per group, colour and dash both telling them apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from countenance.report.figures.scale import Scale
from countenance.report.names import shown

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 44
COLOURS = 10
DASHES = ("", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True)
class Line:
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
    """The ends of a band around the curve, one for each x; empty: none."""


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


def panel(
    lines: Sequence[Line],
    axes: tuple[str, str],
    title: str,
    desc: str,
    key: str,
    *,
    lowest: float = 0.0,
    wide: bool = False,
) -> Markup:
    """One panel as SVG; the values are also in the table beside it. The y axis begins at `lowest`.

    `wide` makes it as wide as the page.
    """
    width = 2 * WIDTH if wide else WIDTH
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in line.y if math.isfinite(y)]
    x0, x1 = (min(xs), max(xs)) if xs else (0.0, 1.0)
    y0, y1 = min([lowest, *ys]), max([1.0, *ys])
    x1 = x1 if x1 > x0 else x0 + 1

    def px(x: float) -> float:
        return LEFT + (x - x0) / (x1 - x0) * (width - LEFT - RIGHT)

    def py(y: float) -> float:
        return TOP + (y1 - y) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)

    out = [
        f'<svg class="curves{" wide" if wide else ""}" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-labelledby="{shown(key)}-t {shown(key)}-d">',
        f'<title id="{shown(key)}-t">{shown(title)}</title><desc id="{shown(key)}-d">{shown(desc)}</desc>',
    ]
    for y in _ticks(y0, y1):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}"/>')
        out.append(f'<text x="{LEFT - 7}" y="{py(y) + 4:.1f}" text-anchor="end">{y:.3g}</text>')
    for x in _ticks(x0, x1):
        anchor = "end" if px(x) > width - RIGHT - 12 else "middle"
        out.append(f'<text x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="{anchor}">{x:.3g}</text>')
    middle = (LEFT + width - RIGHT) / 2
    out.append(f'<text class="axis" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{shown(axes[0])}</text>')
    for line in lines:
        if line.low and line.high:
            there = [*zip(line.x, line.high, strict=True), *list(zip(line.x, line.low, strict=True))[::-1]]
            edge = " ".join(f"{px(x):.1f},{py(min(max(y, y0), y1)):.1f}" for x, y in there if math.isfinite(y))
            out.append(f'<polygon class="band {line.colour}" points="{edge}"/>')
    for line in sorted(lines, key=lambda line: line.strong):
        points = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y))
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        strong = " strong" if line.strong else ""
        if points and " " not in points:  # a line of one point is a dot
            across, down = points.split(",")
            out.append(f'<circle class="curve {line.colour}{strong}" cx="{across}" cy="{down}" r="3"/>')
        out.append(f'<polyline class="curve {line.colour}{strong}"{dash} points="{points}"/>')
    return Markup("".join([*out, "</svg>"]))  # noqa: S704 - numbers, our classes and escaped text


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within a range.

    >>> _ticks(0.0, 0.3), _ticks(0.0, 1.0)
    ([0.0, 0.1, 0.2, 0.3], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    if (low, high) == (0.0, 1.0):
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    around = Scale.around([low, high], least=0.0, wanted=4).ticks
    return [tick for tick in around if low - 1e-9 <= tick <= high + 1e-9]


def swatch(line: Line) -> Markup:
    """The line's sample for the legend."""
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    strong = " strong" if line.strong else ""
    return Markup(  # noqa: S704 - our classes
        '<svg class="swatch" width="34" height="10" aria-hidden="true" focusable="false">'
        f'<line class="curve {line.colour}{strong}"{dash} x1="1" x2="33" y1="5" y2="5"/></svg>'
    )
