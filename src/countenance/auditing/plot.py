"""A forest plot of an audit, for a notebook; the report draws its own."""

from typing import TYPE_CHECKING, Any

from countenance.errors import MissingExtra

if TYPE_CHECKING:
    from countenance.auditing.result import Audit

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
