"""A critical-difference picture: models on an axis, and bars over those that the evidence cannot tell apart."""

from collections.abc import Sequence

from markupsafe import Markup

from countenance.comparing import Change, Standing
from countenance.comparing.result import CANNOT_TELL
from countenance.report import numbers
from countenance.report.figures.scale import Scale
from countenance.report.names import shown

WIDTH, LEFT, RIGHT, LINE, BAR = 720, 40, 40, 26, 12


def picture(standings: Sequence[Standing], pairs: Sequence[Change], better: str | None, key: str) -> Markup:
    """Models best first, each with its interval; a bar joins models that no pair is shown to differ among."""
    kind = "rate" if pairs and pairs[0].scale else "mean"
    scale = Scale.around(
        [v for standing in standings for v in (standing.estimate, standing.low, standing.high)], kind, least=0.02
    )
    bars = cliques([standing.model for standing in standings], pairs)
    top = 26 + BAR * len(bars)
    height = top + LINE * len(standings) + 30
    place = {standing.model: x(scale, standing.estimate) for standing in standings}
    title = "; ".join(f"{', '.join(names)} cannot be told apart" for names in bars) or "all models differ"
    out = [
        f'<svg class="curves critical" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{key}">',
        f'<title id="{key}">Critical differences: {shown(title)}</title>',
    ]
    for tick in scale.ticks:
        out.append(
            f'<line class="grid" x1="{x(scale, tick):.1f}" x2="{x(scale, tick):.1f}" y1="18" y2="{height - 24}"/>'
        )
        out.append(
            f'<text x="{x(scale, tick):.1f}" y="{height - 8}" text-anchor="middle">{shown(scale.label(tick))}</text>'
        )
    for i, names in enumerate(bars):
        ends = [place[name] for name in names]
        y = 24 + BAR * i
        out.append(f'<line class="tie" x1="{min(ends) - 4:.1f}" x2="{max(ends) + 4:.1f}" y1="{y}" y2="{y}"/>')
    for i, standing in enumerate(standings):
        y = top + LINE * i + 14
        low, high, at = (x(scale, value) for value in (standing.low, standing.high, standing.estimate))
        label = (
            f"{standing.rank}{'=' if standing.tied else ''} {standing.model} {numbers.value(standing.estimate, kind)}"
        )
        right = at > WIDTH * 0.55
        anchor, at_text = ("end", min(low, at) - 8) if right else ("start", max(high, at) + 8)
        out += [
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="20" y2="{y}"/>',
            f'<line class="interval none" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
            f'<circle class="mark none" cx="{at:.1f}" cy="{y}" r="4.6"/>',
            f'<text class="axis" x="{at_text:.1f}" y="{y + 4}" text-anchor="{anchor}">{shown(label)}</text>',
        ]
    return Markup("".join([*out, "</svg>"]))  # noqa: S704 - numbers and escaped labels


def x(scale: Scale, value: float) -> float:
    """Where a value lies, in the picture's pixels."""
    return LEFT + scale.at(value) / 100 * (WIDTH - LEFT - RIGHT)


def cliques(models: Sequence[str], pairs: Sequence[Change]) -> list[list[str]]:
    """Largest runs of models, in their order, among which no two are shown to differ; runs of one are left out.

    >>> def pair(a, b, verdict):
    ...     return Change(metric="ok", a=a, b=b, n=9, clusters=9, estimate_a=0, estimate_b=0, verdict=verdict)
    >>> told = [pair("a", "b", "cannot tell"), pair("b", "c", "cannot tell"), pair("a", "c", "better")]
    >>> cliques(["c", "b", "a"], told)
    [['c', 'b'], ['b', 'a']]
    """
    apart = {
        frozenset((pair.a, pair.b))
        for pair in pairs
        if pair.verdict != CANNOT_TELL and not pair.verdict.startswith("no ")
    }
    groups: list[list[str]] = []
    for start in range(len(models)):
        end = start + 1
        while end < len(models) and all(frozenset((models[end], model)) not in apart for model in models[start:end]):
            end += 1
        names = list(models[start:end])
        if len(names) > 1 and not any(set(names) <= set(other) for other in groups):
            groups.append(names)
    return groups
