"""Figures drawn by plotly (extra `interactive`): curves as an interactive page, an audit as a forest for a notebook."""

from typing import TYPE_CHECKING, Any

from countenance.errors import MissingExtra
from countenance.report.charts.curves import CurveChart
from countenance.report.draw.palette import LINE, colour_of
from countenance.report.names import shown

if TYPE_CHECKING:
    from countenance.auditing.result import Audit


def interactive(chart: CurveChart) -> str:
    """A page that needs no network; points show their threshold where the lines have them."""
    try:
        import plotly.graph_objects as go
    except ModuleNotFoundError:
        raise MissingExtra("an interactive page", "interactive") from None

    figure = go.Figure()
    across, up = (str(shown(label)) for label in chart.axes)
    for line in chart.lines:
        colour, x = colour_of(line.colour), list(line.x)
        if len(line.low):
            figure.add_scatter(
                x=[*x, *x[::-1]],
                y=[*line.high, *list(line.low)[::-1]],
                mode="lines",
                showlegend=False,
                hoverinfo="skip",
                fill="toself",
                opacity=0.2,
                line={"width": 0},
                fillcolor=colour,
            )
        threshold = "<br>threshold %{customdata:.6g}" if len(line.thresholds) else ""
        figure.add_scatter(
            x=x,
            y=list(line.y),
            name=str(shown(line.label)),
            customdata=list(line.thresholds) or None,
            mode="lines+markers" if len(x) < 200 else "lines",
            line={"color": colour, "dash": ",".join(f"{part}px" for part in line.dash.split()) or "solid", "width": 3},
            hovertemplate=f"{across} %{{x:.6g}}<br>{up} %{{y:.4f}}{threshold}",
        )
    for place, label in chart.marked:
        figure.add_vline(x=place, line={"color": LINE, "dash": "dash"}, annotation_text=label)
    figure.update_layout(
        template="plotly_white",
        title=str(shown(chart.title)) or None,
        xaxis={"title": across, "type": "log" if chart.log[0] else "linear"},
        yaxis={"title": up, "type": "log" if chart.log[1] else "linear"},
    )
    if chart.limits[1] is not None and not chart.log[1]:
        low, high = chart.limits[1]
        figure.update_yaxes(range=[low - 0.02 * (high - low), high + 0.02 * (high - low)])
    return str(figure.to_html(include_plotlyjs=True, full_html=True))


COLOURS = {"disparity": "#a61e1e", "insufficient evidence": "#42526e", "untestable": "#8a8a80"}
NO_DIFFERENCE = "#0f6b4a"


def forest(audit: "Audit", metric: str | None = None, depth: int = 1) -> Any:
    """A plotly figure: each finding's estimate with its interval, coloured by verdict.

    >>> from countenance.auditing import audit
    >>> rows = {"sex": ["f"] * 150 + ["m"] * 545, "found": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    >>> len(forest(audit(rows, ["sex"], ["found"])).data)
    1
    """
    try:
        import plotly.graph_objects as go
    except ModuleNotFoundError:
        raise MissingExtra("an interactive figure", "interactive") from None

    name = metric or (audit.findings[0].metric if audit.findings else "")
    shown = [f for f in audit.findings if f.metric == name and f.depth <= depth][::-1]
    verdicts = list(dict.fromkeys(f.verdict for f in shown))
    figure = go.Figure()
    for verdict in verdicts:
        rows = [f for f in shown if f.verdict == verdict]
        figure.add_scatter(
            x=[f.estimate for f in rows],
            y=[f"{f.attribute} = {f.group} (n = {f.n})" for f in rows],
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [f.high - f.estimate for f in rows],
                "arrayminus": [f.estimate - f.low for f in rows],
            },
            mode="markers",
            name=verdict,
            marker={"color": COLOURS.get(verdict, NO_DIFFERENCE), "size": 9},
            text=[f.reason for f in rows],
            hovertemplate="%{y}: %{x:.3f}<br>%{text}<extra></extra>",
        )
    figure.update_layout(title=f"{name}: {audit.verdict}", xaxis_title=name, template="plotly_white")
    return figure
