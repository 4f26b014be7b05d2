"""A critical-difference picture: models on an axis, and bars over models that are not shown to differ."""

from markupsafe import Markup

from countenance.report.charts.forest import TiedForest
from countenance.report.charts.scale import Scale
from countenance.report.names import shown

WIDTH, LEFT, RIGHT, LINE, BAR = 720, 40, 40, 26, 12


def critical(chart: TiedForest, key: str) -> Markup:
    """Models, each with its interval; a bar joins models of which no pair is shown to differ."""
    scale, rows, ties = chart.forest.scale, chart.forest.rows, chart.ties
    top = 26 + BAR * len(ties)
    height = top + LINE * len(rows) + 30
    out = [
        f'<svg class="curves critical" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{key}">',
        f'<title id="{key}">Critical differences: {shown(chart.words)}</title>',
    ]
    for tick, label in scale.labelled:
        x = _x(scale, tick)
        out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{height - 24}"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{shown(label)}</text>')
    for i, tie in enumerate(ties):
        ends = [_x(scale, rows[place].estimate) for place in tie]
        y = 24 + BAR * i
        out.append(f'<line class="tie" x1="{min(ends) - 4:.1f}" x2="{max(ends) + 4:.1f}" y1="{y}" y2="{y}"/>')
    for i, row in enumerate(rows):
        y = top + LINE * i + 14
        low, high, at = (_x(scale, value) for value in (row.low, row.high, row.estimate))
        right = at > WIDTH * 0.55
        anchor, at_text = ("end", min(low, at) - 8) if right else ("start", max(high, at) + 8)
        out += [
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="20" y2="{y}"/>',
            f'<line class="interval none" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
            f'<circle class="mark none" cx="{at:.1f}" cy="{y}" r="4.6"/>',
            f'<text class="axis" x="{at_text:.1f}" y="{y + 4}" text-anchor="{anchor}">'
            f"{shown(f'{row.label} {row.value}')}</text>",
        ]
    return Markup("".join([*out, "</svg>"]))  # noqa: S704 - numbers and escaped labels


def _x(scale: Scale, value: float) -> float:
    """The position of a value, in the picture's pixels."""
    return LEFT + scale.at(value) / 100 * (WIDTH - LEFT - RIGHT)
