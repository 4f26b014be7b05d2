"""Curves for pages: one panel, a line for each group, distinguished by colour and dash."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup

from countenance.report.charts.curves import ChartAxis, CurveChart, GroupLine
from countenance.report.names import shown

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 44


def drawn(chart: CurveChart, key: str, *, wide: bool = False, further: str = "") -> dict[str, Any]:
    """A chart for a page: the picture, its legend, and what its axes show; `further` is added to its description."""
    return {
        "drawing": panel(chart, key, wide=wide, further=further),
        "legend": [(swatch(line), line.label) for line in chart.lines],
        "words": f"{chart.words}.",
    }


def _places(axis: ChartAxis, first: float, last: float) -> Callable[[float], float]:
    """Where the values of an axis lie between two pixels; on a logarithmic axis 0 lies on its edge."""

    def place(value: float) -> float:
        low, high = axis.low, axis.high
        if axis.log:
            value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
        return first + (value - low) / (high - low) * (last - first)

    return place


def panel(chart: CurveChart, key: str, *, wide: bool = False, further: str = "") -> Markup:
    """One panel as SVG; the values are also in the table beside it. `wide` makes it as wide as the page."""
    width = 2 * WIDTH if wide else WIDTH
    px, py = _places(chart.across, LEFT, width - RIGHT), _places(chart.up, HEIGHT - BOTTOM, TOP)
    name, desc = shown(key), shown((chart.description or chart.words) + further)
    out = [
        f'<svg class="curves{" wide" if wide else ""}" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">{shown(chart.title or chart.words)}</title><desc id="{name}-d">{desc}</desc>',
    ]
    for y, label in chart.up.ticks:
        out.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}"/>')
        out.append(f'<text x="{LEFT - 7}" y="{py(y) + 4:.1f}" text-anchor="end">{label}</text>')
    for x, label in chart.across.ticks:
        anchor = "end" if px(x) > width - RIGHT - 12 else "middle"
        out.append(f'<text x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="{anchor}">{label}</text>')
    middle = (LEFT + width - RIGHT) / 2
    out.append(f'<text class="axis" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{shown(chart.axes[0])}</text>')
    for x, label in chart.marked:
        out.append(f'<line class="ref" x1="{px(x):.1f}" x2="{px(x):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        out.append(f'<text x="{px(x) + 4:.1f}" y="{HEIGHT - BOTTOM - 6}">{label}</text>')
    for line in chart.lines:
        edge = [(x, y) for x, y in zip(line.x, line.high, strict=False) if math.isfinite(x) and math.isfinite(y)]
        edge += [(x, y) for x, y in zip(line.x, line.low, strict=False) if math.isfinite(x) and math.isfinite(y)][::-1]
        if edge:
            around = _points((px(x), py(y)) for x, y in edge)
            out.append(f'<polygon class="band {line.colour}" points="{around}"/>')
    for line in sorted(chart.lines, key=lambda line: line.strong):  # thick lines lie above the others
        places = _points((px(x), py(y)) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y))
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        strong = " strong" if line.strong else ""
        if places and " " not in places:  # a line of one point is a dot
            cx, cy = places.split(",")
            out.append(f'<circle class="curve {line.colour}{strong}" cx="{cx}" cy="{cy}" r="3"/>')
        out.append(f'<polyline class="curve {line.colour}{strong}"{dash} points="{places}"/>')
    for x, y, label in chart.points:
        anchor, shift = ("end", -9) if px(x) > width * 0.6 else ("start", 9)
        out.append(f'<circle class="here" cx="{px(x):.1f}" cy="{py(y):.1f}" r="5.5"/>')
        below = 20 if py(y) < TOP + 24 else -9
        place = f'x="{px(x) + shift:.1f}" y="{py(y) + below:.1f}" text-anchor="{anchor}"'
        out.append(f'<text class="axis here-label" {place}>{shown(label)}</text>')
    return Markup("".join([*out, "</svg>"]))  # noqa: S704 - numbers, our classes and escaped text


def _points(places: Iterable[tuple[float, float]]) -> str:
    """Points of a line in SVG's form, without those within a level or vertical stretch.

    >>> _points([(0, 5), (1, 5), (2, 5), (2, 8)])
    '0.0,5.0 2.0,5.0 2.0,8.0'
    """
    points: list[tuple[str, str]] = []
    for x, y in places:
        point = f"{x:.1f}", f"{y:.1f}"
        if len(points) > 1 and any(point[i] == points[-1][i] == points[-2][i] for i in (0, 1)):
            points.pop()
        points.append(point)
    return " ".join(map(",".join, points))


def swatch(line: GroupLine) -> Markup:
    """The line's sample for the legend."""
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    strong = " strong" if line.strong else ""
    return Markup(  # noqa: S704 - our classes
        '<svg class="swatch" width="34" height="10" aria-hidden="true">'
        f'<line class="curve {line.colour}{strong}"{dash} x1="1" x2="33" y1="5" y2="5"/></svg>'
    )
