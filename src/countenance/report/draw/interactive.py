"""The same curves as an interactive page, drawn by plotly (extra `interactive`)."""

from countenance.errors import MissingExtra
from countenance.report.charts.curves import CurveChart
from countenance.report.draw.palette import LINE, colour_of
from countenance.report.names import shown


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
