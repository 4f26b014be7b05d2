"""The handle: every group's gap with its interval, and a movable mark for the smallest gap that matters.

The mark separates gaps that are ruled out from those that are shown or unknown. The rows hold the data that the script
needs to move it; without the script it stays at the audit's δ.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from markupsafe import Markup

from countenance.auditing import Finding
from countenance.auditing.effects import cohen_h
from countenance.auditing.groups import SPLIT
from countenance.auditing.headline import deltas_of
from countenance.auditing.power import growth
from countenance.report import numbers, words
from countenance.report.charts.scale import Scale
from countenance.report.harms import TWINS, harms, metric_words, shown_kind, sides
from countenance.report.names import REST
from countenance.report.source import Audited
from countenance.tasks import Metric

MOST = 1000
WIDEST_RATE = 0.6
"""How far the axis of a rate goes, unless a confirmed gap reaches further."""
FEW = 2
"""The rank of a comparison with too few people: drawn last."""
LOOKS_WORSE = "looks worse; chance is not ruled out"
ON_THE_LIMIT = "almost on the limit; more data will hardly settle it"
SHOWN, GOOD, UNKNOWN, OUT, UNTESTED = "harm", "better", "unknown", "out", "untested"


@dataclass(frozen=True)
class HandleRow:
    """One comparison from the losing side: a gap above 0 is a disadvantage of the group that is named."""

    label: str
    swatch: Markup
    gap: str
    left: float
    width: float
    at: float
    state: str
    decides: str
    data: Markup
    """JSON for the script: the δ from which the gap is ruled out, whether it is confirmed, what would be seen."""
    key: tuple[str, str, str]


@dataclass(frozen=True)
class Handle:
    """The chart of one metric."""

    metric: str
    noun: str
    unit: str
    """The unit of δ: "points" for a rate, empty for a mean."""
    scale: float
    delta: float
    least: float
    most: float
    step: float
    mark: float
    zero: float
    ticks: list[tuple[float, str]]
    rows: list[HandleRow]
    counts: list[tuple[str, str, int]]
    left: int


def handles(source: Audited) -> list[Handle]:
    """A handle for each metric that has a δ and a direction."""
    deltas = deltas_of(source.audit.settings)
    ranges = [harm.finding for harm in harms(source) if harm.finding.kind == SPLIT]  # as on the first screen
    charts = []
    for metric in source.metrics:
        delta = deltas.get(metric.name)
        if delta is None or metric.better is None:
            continue
        findings = [f for f in source.audit.findings if f.metric == metric.name and _drawn(f)]
        findings += [f for f in ranges if f.metric == metric.name and _has_ends(f)]
        if findings:
            charts.append(_handle(source, metric, float(delta), findings))
    return charts


def _drawn(f: Finding) -> bool:
    return _has_ends(f) and f.kind in ("group", TWINS)


def _has_ends(f: Finding) -> bool:
    return all(math.isfinite(end) for end in (f.difference, f.diff_low, f.diff_high)) and f.effect_name != "ratio"


def _handle(source: Audited, metric: Metric, delta: float, findings: list[Finding]) -> Handle:
    kind = shown_kind(findings[0].metric_kind, metric_words(source, metric.name)[1])
    rate = kind == "rate"
    rows = sorted((_Gap.of(f, metric) for f in findings), key=lambda gap: (gap.rank, -gap.value))
    tested = [gap for gap in rows if gap.rank < FEW] or rows
    low = min(0.0, *(gap.low for gap in tested))
    high = max(delta * 2, *(gap.high for gap in tested))
    confirmed = max((gap.high for gap in tested if gap.rank == 0), default=0.0)
    high = min(high, max(WIDEST_RATE, confirmed)) if rate else high
    low = max(low, -high / 4)
    axis = Scale.around([low, high], "points" if rate else "mean", least=2 * delta)
    scale = 100.0 if rate else 1.0
    drawn = [_row(gap, metric, axis, delta, source) for gap in rows[:MOST]]
    labels = state_words(source)
    tally = {state: sum(row.state == state for row in drawn) for state in labels}
    return Handle(
        metric.name,
        metric_words(source, metric.name)[1].noun,
        "points" if rate else "",
        scale,
        delta,
        axis.low,
        axis.high,
        0.005 if rate else delta / 10,
        axis.at(delta),
        axis.at(0.0),
        [(axis.at(tick), axis.label(tick)) for tick in axis.ticks],
        drawn,
        [(state, labels[state], n) for state, n in tally.items()],
        max(0, len(rows) - MOST),
    )


@dataclass(frozen=True)
class _Gap:
    """A finding as a disadvantage of one of its sides."""

    finding: Finding
    turned: bool
    value: float
    low: float
    high: float
    rank: int

    @classmethod
    def of(cls, f: Finding, metric: Metric) -> _Gap:
        sign = 1.0 if metric.better == "lower" else -1.0
        value = sign * f.difference
        # Of a disparity the statistic that decided says who loses: ranks and means may differ in opposite ways.
        better = f.direction == words.BETTER if f.verdict == words.DISPARITY else value < 0
        turned = better and f.versus != REST and f.kind != TWINS
        sign = -sign if turned else sign
        low, high = sorted((sign * f.diff_low, sign * f.diff_high))
        value = -value if turned else value
        loses = f.verdict == words.DISPARITY and (turned or not better)
        rank = FEW if f.verdict == words.UNTESTABLE else int(not loses)
        return cls(f, turned, value, low, high, rank)


def _row(gap: _Gap, metric: Metric, axis: Scale, delta: float, source: Audited) -> HandleRow:
    f = gap.finding
    kind = "rate" if axis.kind == "points" else "mean"
    first, second = sides(f, metric, source)
    side = second if gap.turned else first
    state = state_of(f, loses=gap.rank == 0)
    better = state == GOOD if f.verdict == words.DISPARITY else gap.value <= 0
    left, right = axis.at(gap.low), axis.at(gap.high)
    reach = limit(f)
    if f.verdict == words.DISPARITY and reach < delta:
        reach = math.inf  # by ranks, or because failures are rare: no δ clears it
    data = {
        "out": None if math.isinf(reach) else round(reach, 5),
        "real": f.verdict == words.DISPARITY or _is_real(f, source),
        "few": f.verdict == words.UNTESTABLE,
        "gap": _plain(gap.value),
        "seen": _plain(f.mde_difference),
        "mde": _plain(f.mde),
        "rate": _plain(f.estimate_versus),
        "share": _share(f),
        "n": f.clusters,
    }
    data |= {name: True for name, true in (("h", f.effect_name == "h"), ("better", better)) if true}
    key = (f.metric, f.attribute, side.group)
    return HandleRow(
        side.label,
        source.names.swatch(f.attribute, side.group),
        numbers.change(gap.value, kind),
        left,
        round(max(right - left, 0.4), 2),
        axis.at(gap.value),
        state,
        decides(f, state, source, gap.value),
        Markup(json.dumps(data, separators=(",", ":"))),  # noqa: S704 - numbers, true and false
        key,
    )


def _plain(value: float) -> float | None:
    return round(value, 5) if math.isfinite(value) else None


def _share(f: Finding) -> float:
    """The group's own share of the variance of a difference, by its size."""
    total = f.n + f.n_versus
    return round(f.n_versus / total, 4) if total else 1.0


def _is_real(f: Finding, source: Audited) -> bool:
    alpha = float(source.audit.settings.get("alpha", 0.05))
    return math.isfinite(f.p_adjusted) and f.p_adjusted < alpha


def limit(f: Finding) -> float:
    """The δ from which a finding is ruled out: the smallest whose range −δ to δ contains its equivalence interval."""
    ends = [abs(end) for end in (f.low_equivalence, f.high_equivalence)]
    return max(ends) if all(math.isfinite(end) for end in ends) else math.inf


def state_of(f: Finding, *, loses: bool) -> str:
    """The state in which a comparison is at the audit's δ; `loses` says whether the drawn side is shown to lose."""
    if f.verdict == words.DISPARITY:
        return SHOWN if loses else GOOD
    if f.verdict == words.UNTESTABLE:
        return UNTESTED
    return OUT if f.verdict.startswith("none") else UNKNOWN


def decides(f: Finding, state: str, source: Audited, gap: float = 0.0) -> str:
    """The words beside a comparison's interval: its state, or how many more people would decide it if that is known.

    A `gap` larger than the one that matters is decided by as many people as would show the gap itself.
    """
    delta = deltas_of(source.audit.settings).get(f.metric) or 0.0
    if state != UNKNOWN or f.clusters_needed is None:
        return state_words(source)[state]
    larger = gap > delta
    needed = math.ceil(f.clusters * _times(f, gap)) if larger else f.clusters_needed
    more = needed - f.clusters
    if more <= 0:
        near = ON_THE_LIMIT if gap > delta / 2 else state_words(source)[state]
        return LOOKS_WORSE if larger else near
    noun, nouns = words.counted_nouns(source.audit.settings)
    if more > words.MOST_TO_COLLECT:
        return f"more {nouns} than a study can collect"
    return numbers.plural(more, f"more {noun}", f"more {nouns}")


def _times(f: Finding, gap: float) -> float:
    """How many times as large a group must be so that a gap would be seen, given that the one that matters can be."""
    ratio = f.mde_difference / gap
    if f.effect_name == "h":
        moved = f.estimate_versus + (-gap if f.estimate_versus >= 0.5 else gap)
        ratio = f.mde / abs(cohen_h(f.estimate_versus, min(max(moved, 0.0), 1.0)))
    return growth(_share(f), ratio)[0] if math.isfinite(ratio) else 1.0


def state_words(source: Audited) -> dict[str, str]:
    """The words for the states of comparisons, in the order of their counts."""
    return {
        SHOWN: "served worse",
        GOOD: "served better",
        UNKNOWN: words.not_enough(words.counted_nouns(source.audit.settings)[1]),
        OUT: "no gap of that size",
        UNTESTED: "too few to test",
    }
