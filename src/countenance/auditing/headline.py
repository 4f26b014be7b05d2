"""The verdict as one plain sentence, for readers who read nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from countenance.auditing.directions import LOWER
from countenance.auditing.finding import Estimate, Finding
from countenance.auditing.groups import SPLIT
from countenance.auditing.ordering import PERSON
from countenance.auditing.result import Audit
from countenance.auditing.table import UNKNOWN
from countenance.auditing.units import plural
from countenance.auditing.verdict import (
    DECIDES,
    DISPARITY,
    INSUFFICIENT,
    RARELY,
    SMALLER,
    UNTESTABLE,
    ratio_words,
    shown,
    widest_words,
)

REST = "rest"
PEOPLE_WHOSE = "people whose"
NOTHING_TESTED = "Nothing could be tested"
STANDS_OUT = 1.5
"""A group that does better is named first if it is further from the others than the worst group by this factor."""
VERBS = {"worse": "does worse than", "better": "does better than", "unknown": "differs from"}
VERBS_OF_MANY = {"worse": "do worse than", "better": "do better than", "unknown": "differ from"}


def headline(audit: Audit) -> str:
    """What the audit found, in one sentence; a high overall failure rate comes first.

    >>> from countenance.auditing import audit
    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
    >>> headline(audit(rows, by=["sex"], metrics=["found"], poor=0.5))
    'sex = f does worse than sex = m: found is 0.500 against 0.950.'
    """
    audit = audit.without_given()
    return f"{_poor(audit)}{where_words(audit.settings)}{_finding_words(audit)}"


def _finding_words(audit: Audit) -> str:
    if audit.verdict == DISPARITY:
        return _disparity(audit)
    if audit.verdict == UNTESTABLE:
        opening = "No difference is shown, and nobody can be cleared" if few_were_tested(audit) else NOTHING_TESTED
        return f"{opening}: {audit.reason.removeprefix('nothing could be compared: ')}."
    if audit.verdict == INSUFFICIENT:
        return _insufficient(audit)
    others = "everybody else together" if any(f.versus == REST for f in audit.findings) else "the others"
    words = f"No group differs from {others} by {delta_words(audit.settings)} or more"
    words += which_interval(audit)
    real = [f for f in audit.findings if SMALLER in f.reason]
    if real:
        most = max(real, key=lambda f: abs(f.difference))
        smaller = (
            f"{_metric(most)} of {side_words(most)} is {shown(most.estimate)} against {shown(most.estimate_versus)}"
        )
        words += f"; {smaller}: a real difference, but a smaller one"
    if audit.widest:
        words += f"; {widest_words(max(audit.widest, key=lambda pair: pair.difference))}"
    return f"{words}{_crossed(audit)}."


def few_were_tested(audit: Audit) -> bool:
    """Whether a group too small for a verdict was still tested by permutation.

    >>> few_were_tested(Audit(verdict=UNTESTABLE, reason="", findings=[], excluded=[], settings={}))
    False
    """
    return any(f.verdict == UNTESTABLE and math.isfinite(f.p_adjusted) for f in audit.findings)


def where_words(settings: Mapping[str, Any]) -> str:
    """Which rows an audit is about, as the beginning of a sentence; empty where it is about all.

    >>> where_words({"where": {"light": ["dim", "side"]}}), where_words({})
    ('Where light = dim or side: ', '')
    """
    where = settings.get("where") or {}
    conditions = " and ".join(f"{name} = {' or '.join(values)}" for name, values in where.items())
    return f"Where {conditions}: " if conditions else ""


def failing(audit: Audit) -> Estimate | None:
    """The metric with the highest overall failure rate above `poor`; None if there is none above it."""
    better = audit.settings.get("better") or {}
    rates = [e for e in audit.overall if e.metric_kind == "rate" and e.n and better.get(e.metric)]
    poor = [e for e in rates if failure_share(e, better) > float(audit.settings.get("poor", 0.2))]
    return max(poor, key=lambda e: failure_share(e, better)) if poor else None


def failure_share(estimate: Estimate, better: Mapping[str, str | None]) -> float:
    """How often a rate fails, whether it counts successes or failures."""
    return estimate.estimate if better.get(estimate.metric) == LOWER else 1 - estimate.estimate


def _poor(audit: Audit) -> str:
    worst = failing(audit)
    if worst is None:
        return ""
    share = failure_share(worst, audit.settings.get("better") or {})
    return f"Everybody is served badly: {100 * share:.0f} % of {worst.counted} fail by {worst.metric}. "


def which_interval(audit: Audit) -> str:
    """Which intervals decide, if a displayed interval reaches δ; empty otherwise."""
    if not any(DECIDES in f.reason for f in audit.findings):
        return ""
    return f" ({100 * (1 - 2 * float(audit.settings.get('alpha', 0.05))):g} % intervals decide that)"


def served_worse(finding: Finding) -> bool:
    """Whether somebody is shown to be served worse than somebody else, not only a group better than everyone else."""
    return finding.direction == "worse" or (finding.direction == "better" and finding.versus != REST)


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Disparities in order: worse, different, better; groups before intersections; then severe ones, those of people,
    and large ones first."""

    def key(f: Finding) -> tuple[int, int, bool, bool, float]:
        size = abs(f.effect) if math.isfinite(f.effect) else 0.0
        favoured = f.direction == "better" and f.versus == REST
        place = 2 if favoured else 1 if f.direction == "unknown" else 0
        return place, f.depth, f.severity != "severe", f.role != PERSON, -size

    return sorted((f for f in findings if f.verdict == DISPARITY), key=key)


def leading(findings: Sequence[Finding]) -> Finding:
    """The disparity to name first: of the groups of the weightiest attribute, the one that stands out most.

    One group at .99 and three at .90 is one that does better, not three that do worse.
    """
    first = by_weight(findings)[0]
    beside = [
        f
        for f in findings
        if f.verdict == DISPARITY
        and (f.metric, f.attribute, f.kind) == (first.metric, first.attribute, first.kind)
        and f.versus == REST == first.versus
    ]
    size = {id(f): abs(f.difference) if f.statistic == "mean" else abs(f.effect) for f in beside}
    alike = [
        f for f in beside if f.statistic == first.statistic and size[id(f)] > STANDS_OUT * size.get(id(first), 0.0)
    ]
    return max(alike, key=lambda f: size[id(f)]) if alike else first


def _disparity(audit: Audit) -> str:
    ordered = by_weight(audit.findings)
    first = leading(ordered)
    words = _comparison(first, audit.settings)
    others = len(ordered) - 1
    if others:
        words += f"; {plural(others, 'more comparison differs', 'more comparisons differ')}"
    if first.direction == "better" and not any(served_worse(f) for f in ordered):
        words += f"; {nobody_worse(audit)}"
    return f"{words}."


def nobody_worse(audit: Audit, verb: str = "do") -> str:
    """The words beside groups that do better than everyone else.

    They say how far apart two groups are, if that is beyond δ, else that nobody is shown to do worse.

    >>> nobody_worse(Audit(verdict=DISPARITY, reason="", findings=[], excluded=[], settings={}))
    'nobody is shown to do worse'
    """
    beyond = [pair for pair in audit.widest if pair.beyond]
    if beyond:
        return widest_words(max(beyond, key=lambda pair: pair.difference))
    real = any(SMALLER in f.reason and f.direction == "worse" for f in audit.findings)
    return f"nobody is shown to {verb} worse" + (f" by {delta_words(audit.settings)} or more" if real else "")


def _comparison(first: Finding, settings: Mapping[str, Any]) -> str:
    """One disparity in words."""
    group, versus = side_words(first), versus_words(first)
    estimate, other = first.estimate, first.estimate_versus
    way = first.direction
    if first.kind == "twins":
        return _twin_words(first)
    if way == "better" and first.versus != REST:
        group, versus, estimate, other, way = versus, group, other, estimate, "worse"
    verbs = VERBS_OF_MANY if group.startswith(PEOPLE_WHOSE) else VERBS
    words = f"{group} {verbs[way]} {versus}: "
    if first.statistic == "rank":
        lower = (first.effect < 0) == (group == side_words(first))
        words += (
            f"the typical value of {first.metric} is {'lower' if lower else 'higher'} (mean {shown(estimate)} against "
        )
        words += f"{shown(other)})"
    else:
        words += f"{_metric(first)} is {shown(estimate)} against {shown(other)}"
        if first.failure_ratio and RARELY in first.reason:
            words += ratio_words(first.failure_ratio, versus if way == "better" else "")
    if first.kind == "missing":
        return words
    if settings.get("better", {}).get(first.metric) == LOWER:
        words += ", and lower is better"
    elif way == "unknown":
        words += " (which way is better was not said: the setting better says it)"
    return words


def _twin_words(f: Finding) -> str:
    if f.lost is None or f.metric_kind != "rate":
        return (
            f"{f.attribute} = {f.group} against the same pictures without the change: {f.metric} is "
            f"{shown(f.estimate)} against {shown(f.estimate_versus)}"
        )
    change = f"{f.attribute} = {f.group}" if f.versus == "base" else f"{f.attribute}, {f.group} against {f.versus},"
    whom = "people" if f.bases == f.clusters else f"bases of {plural(f.clusters, 'person', 'people')}"
    return f"{change} alone loses {f.metric} for {f.lost} of {f.bases} {whom} and gains it for {f.gained}"


def _metric(finding: Finding) -> str:
    return f"the share of missing {finding.metric}" if finding.kind == "missing" else finding.metric


def _insufficient(audit: Audit) -> str:
    untested = [e for e in audit.excluded if e.get("untested") and _is_named(e, audit.settings)]
    unsure = [f for f in audit.findings if f.verdict == INSUFFICIENT and f.kind != SPLIT]
    tested = sum(f.verdict != UNTESTABLE for f in audit.findings)
    if not unsure and untested:
        first = untested[0]
        groups = list(dict.fromkeys((e["attribute"], e["group"]) for e in untested))
        more = f" and {plural(len(groups) - 1, 'other group', 'other groups')}" if len(groups) > 1 else ""
        was = "was" if len(groups) == 1 else "were"
        rest = f"what was tested does not differ by {delta_words(audit.settings)} or more"
        return f"Cannot tell: {first['attribute']} = {first['group']}{more} {was} not tested ({first['why']}); {rest}."
    without = [name for name, delta in deltas_of(audit.settings).items() if delta is None]
    if without and all(f.metric in without for f in unsure):
        return (
            f"No difference is shown; what size of difference matters in {without[0]} was not said "
            "(the setting delta says it), so none can be ruled out."
        )
    cannot = f"{len(unsure)} of {plural(tested, 'comparison', 'comparisons')}" if tested > 1 else "the only comparison"
    if not unsure:
        return f"Cannot tell: {audit.reason}."
    deltas = deltas_of(audit.settings)
    of_these = {"delta": {name: delta for name, delta in deltas.items() if any(f.metric == name for f in unsure)}}
    size = delta_words(of_these if of_these["delta"] else audit.settings)
    return f"No difference is shown, but {cannot} cannot rule out one of {size} or more: too little data."


def _crossed(audit: Audit) -> str:
    small = [f for f in audit.findings if f.verdict == UNTESTABLE]
    if not small:
        return ""
    return f"; {plural(len(small), 'intersection was', 'intersections were')} too small to test"


def _is_named(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    named = settings.get("named")
    return named is None or entry["attribute"] in named


def side_words(finding: Finding) -> str:
    """A group with its attribute; people without a recorded value are named by what is not recorded.

    >>> side_words(Finding(metric="ok", attribute="sex", group="(unknown)", versus="rest", comparison="rest", n=1,
    ...     clusters=1, n_versus=1, estimate=1, low=0, high=1, estimate_versus=1))
    'people whose sex is not recorded'
    """
    if finding.group == UNKNOWN:
        return f"{PEOPLE_WHOSE} {finding.attribute} is not recorded"
    return f"{finding.attribute} = {finding.group}"


def versus_words(finding: Finding) -> str:
    """The other side of a comparison."""
    if finding.bases is not None and finding.versus == "base":
        return "the same pictures without the change"
    return "everyone else" if finding.versus == REST else f"{finding.attribute} = {finding.versus}"


def deltas_of(settings: Mapping[str, Any]) -> dict[str, float | None]:
    """Each metric's smallest difference that matters, also from settings that hold one number for all.

    >>> deltas_of({"delta": 0.05, "metrics": ["ok"]}), deltas_of({"delta": {"ok": 0.01}})
    ({'ok': 0.05}, {'ok': 0.01})
    """
    delta = settings.get("delta", 0.05)
    if isinstance(delta, Mapping):
        return {str(name): None if value is None else float(value) for name, value in delta.items()}
    return dict.fromkeys([str(name) for name in settings.get("metrics", [])] or [""], float(delta))


def delta_words(settings: Mapping[str, Any]) -> str:
    """The smallest differences that matter, in words; one shared by more than two metrics is given without names.

    >>> delta_words({"delta": {"ok": 0.05}}), delta_words({"delta": {"ok": 0.05, "ms": 5.0, "dB": None}})
    ('0.05', '0.05 (ok), 5 (ms)')
    >>> delta_words({"delta": {"ok": 0.05, "hit": 0.05, "found": 0.05, "ms": 5.0}})
    '0.05, 5 (ms)'
    """
    metrics: dict[float, list[str]] = {}
    for name, delta in deltas_of(settings).items():
        if delta is not None:
            metrics.setdefault(delta, []).append(name)
    if len(metrics) == 1 and sum(map(len, metrics.values())) == len(deltas_of(settings)):
        return f"{next(iter(metrics)):g}"
    words = [f"{delta:g}" if len(names) > 2 else f"{delta:g} ({', '.join(names)})" for delta, names in metrics.items()]
    return ", ".join(words) or "any size"
