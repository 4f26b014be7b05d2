"""The forest plots of an audit: every group of every attribute, and the intersections with the largest disparities."""

from __future__ import annotations

import math

from countenance.auditing import Estimate, Finding
from countenance.auditing.headline import by_weight
from countenance.report import numbers, words
from countenance.report.charts.forest import Forest, ForestBlock, ForestRow, audit_marks, bounds
from countenance.report.charts.scale import Scale
from countenance.report.harms import all_label, harms, metric_words, shown_kind
from countenance.report.metric_words import words_of
from countenance.report.names import attribute_label, value_label
from countenance.report.source import Audited
from countenance.tasks import Metric

LONGEST_NOUN = 8
"""A longer noun stands once in the heading of a block, because it does not fit beside every interval."""
CROSSED = "intersections that differ most"


def forests(source: Audited) -> list[Forest]:
    """A forest plot for each metric with groups: first the metric of the largest harm, then the others in order."""
    lead = next((harm.metric.name for harm in harms(source)), "")
    metrics = sorted(source.metrics, key=lambda metric: metric.name != lead)
    return [forest for metric in metrics if (forest := group_forest(source, metric))]


def group_forest(source: Audited, metric: Metric) -> Forest | None:
    """The groups of each attribute, worst first, then the intersections that stand out; None without any group."""
    singular, many = words.cluster_noun(source.audit.settings)
    unit = many if len(many) > LONGEST_NOUN else ""
    wording = words_of(metric, source.task)
    findings = by_group(source, metric.name)
    blocks = []
    for name in source.names.by:
        rows = [
            _row(e, value_label(name, e.group), findings.get((name, e.group)), source, unit or (singular, many))
            for e in _worst_first(source.estimates(metric.name, name), metric, source)
        ]
        if rows:
            blocks.append(ForestBlock(attribute_label(name), tuple(rows), unit))
    if metric.better is not None:
        blocks.sort(key=lambda block: min(words.RANK.get(row.mark, len(words.RANK)) for row in block.rows))
    crossed = [
        _row(e, source.names.group(e.attribute, e.group), finding, source, unit or (singular, many))
        for e, finding in standing_out(source, metric.name)
    ]
    if crossed:
        blocks.append(ForestBlock(CROSSED, tuple(crossed), unit))
    if not blocks:
        return None
    overall = source.overall.get(metric.name)
    kind = next((shown_kind(e.metric_kind, wording) for e in source.audit.groups if e.metric == metric.name), "mean")
    everybody = _everybody(overall, kind, all_label(source)) if overall else None
    return Forest(
        metric.name,
        f"{wording.noun} (lower is better)" if metric.better == "lower" else wording.noun,
        Scale.around(bounds(row for block in blocks for row in block.rows), kind),
        tuple(blocks),
        overall.estimate if overall else None,
        f"{everybody.label} {everybody.value}" if everybody else "",
        audit_marks(words.counted_nouns(source.audit.settings)[1]),
        metric.better,
        wording.noun,
        wording.meaning or metric.meaning,
        everybody,
    )


def _worst_first(estimates: list[Estimate], metric: Metric, source: Audited) -> list[Estimate]:
    """The groups of an attribute by harm, those without a number last; unsorted without findings or a direction."""
    if metric.better is None or not source.audit.findings:
        return estimates
    sign = -1.0 if metric.better == "lower" else 1.0
    return sorted(estimates, key=lambda e: (not e.n, sign * e.estimate if math.isfinite(e.estimate) else math.inf))


def by_group(source: Audited, metric: str) -> dict[tuple[str, str], Finding]:
    """For each group its most important finding: the worst that it takes part in."""
    best: dict[tuple[str, str], Finding] = {}
    for finding in source.audit.findings:
        if finding.metric != metric or finding.kind != "group":
            continue
        for group in (finding.group, finding.versus):
            key = (finding.attribute, group)
            if key not in best or _rank(finding) < _rank(best[key]):
                best[key] = finding
    return best


def _rank(finding: Finding) -> tuple[int, float]:
    p = finding.p_adjusted if math.isfinite(finding.p_adjusted) else 2.0
    return words.RANK[words.own_mark(finding)], p


def standing_out(source: Audited, metric: str, most: int = 8) -> list[tuple[Estimate, Finding]]:
    """The intersections that differ most, with the finding about each."""
    disparities = [
        f for f in source.audit.findings if f.metric == metric and f.depth > 1 and f.verdict == words.DISPARITY
    ]
    chosen = by_weight(disparities)[:most]
    estimates = {(e.attribute, e.group): e for e in source.audit.groups if e.metric == metric}
    return [(estimates[f.attribute, f.group], f) for f in chosen if (f.attribute, f.group) in estimates]


def _note(finding: Finding, estimate: Estimate, kind: str) -> str:
    """A confirmed gap as people: how many more of 1,000."""
    if kind not in (words.SEVERE, words.MINOR) or estimate.metric_kind != "rate" or finding.effect_name == "ratio":
        return ""
    each = round(1000 * abs(finding.difference)) if math.isfinite(finding.difference) else 0
    return f"{numbers.count(each)} more per 1,000" if each else ""


def _row(
    estimate: Estimate, label: str, finding: Finding | None, source: Audited, unit: str | tuple[str, str]
) -> ForestRow:
    """A group with the finding about it; `unit` is a noun with its plural, or a heading that names what is counted."""
    mark = words.mark_of(finding, estimate.group)
    kind = shown_kind(estimate.metric_kind, metric_words(source, estimate.metric)[1])
    difference, against, note, verdict = math.nan, "", "", "not compared"
    if finding is not None:
        here = finding.group == estimate.group
        difference = finding.difference if here else -finding.difference
        other = finding.versus if here else finding.group
        against = "" if other == "rest" else source.names.group(finding.attribute, other)
        note = _note(finding, estimate, mark)
        verdict = words.finding_label(finding, source.audit.settings, estimate.group, kind)
    return ForestRow(
        label,
        *values_of(estimate, kind),
        numbers.count(estimate.clusters) if isinstance(unit, str) else numbers.plural(estimate.clusters, *unit),
        mark,
        verdict,
        estimate.n,
        estimate.clusters,
        numbers.change(difference, kind),
        against,
        note,
        source.names.colours(estimate.attribute, estimate.group),
        (estimate.metric, estimate.attribute, estimate.group),
    )


def _everybody(estimate: Estimate, kind: str, label: str) -> ForestRow:
    own = estimate.n, estimate.clusters
    return ForestRow(label, *values_of(estimate, kind), numbers.plural(estimate.n, "row"), "", "", *own)


def values_of(estimate: Estimate, kind: str) -> tuple[float, float, float, str, str]:
    """The position of an estimate with its interval, and both as texts of this kind."""
    known = bool(estimate.n)
    value = numbers.value(estimate.estimate, kind) if known else "no rows"
    interval = numbers.span(estimate.low, estimate.high, kind) if known else ""
    return estimate.estimate, estimate.low, estimate.high, value, interval
