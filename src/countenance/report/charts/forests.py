"""Forest plots: every group of every attribute, and the intersections that stand out."""

import itertools
import math
from dataclasses import dataclass

from markupsafe import Markup

from countenance.auditing import Estimate, Finding
from countenance.auditing.headline import by_weight
from countenance.report import numbers, words
from countenance.report.figures import forest
from countenance.report.figures.scale import Scale
from countenance.report.metric_words import words_of
from countenance.report.names import attribute_label, value_label
from countenance.report.source import Audited
from countenance.tasks import Metric


@dataclass(frozen=True)
class ForestRow:
    """A group in a forest plot."""

    label: str
    swatch: Markup
    n: int
    clusters: int
    plot: Markup
    estimate: str
    interval: str
    difference: str
    against: str
    mark: str
    verdict: str
    note: str
    key: tuple[str, str, str]
    """Metric, attribute and group, as the audit names them."""


@dataclass(frozen=True)
class Forest:
    """The forest plot of one metric."""

    metric: Metric
    noun: str
    meaning: str
    key: str
    axis: Markup
    empty: Markup
    overall: str
    blocks: list[tuple[str, list[ForestRow]]]


def forests(source: Audited) -> list[Forest]:
    """A forest plot per metric: the groups of each attribute, then the intersections that stand out most."""
    charts = []
    for index, metric in enumerate(source.metrics):
        groups = {name: source.estimates(metric.name, name) for name in source.names.by}
        crossed = standing_out(source, metric.name)
        shown = [*itertools.chain(*groups.values()), *(estimate for estimate, _ in crossed)]
        overall = source.overall.get(metric.name)
        if not shown:
            continue
        kind = shown[0].metric_kind
        bounds = [bound for e in shown for bound in (e.estimate, e.low, e.high)]
        scale = Scale.around(bounds, kind)
        reference = overall.estimate if overall else None
        findings = by_group(source, metric.name)
        blocks = []
        for name, estimates in groups.items():
            rows = [
                _forest_row(e, value_label(name, e.group), findings.get((name, e.group)), scale, reference, source)
                for e in _worst_first(estimates, metric, source)
            ]
            if rows:
                blocks.append((attribute_label(name), rows))
        if metric.better is not None:
            blocks.sort(key=lambda block: min(words.RANK.get(row.mark, len(words.RANK)) for row in block[1]))
        if crossed:
            blocks.append(
                (
                    "intersections that differ most",
                    [
                        _forest_row(e, source.names.group(e.attribute, e.group), f, scale, reference, source)
                        for e, f in crossed
                    ],
                )
            )
        text = numbers.value(reference, kind)
        empty = forest.row(scale, math.nan, math.nan, math.nan, words.UNTESTED, reference)
        wording = words_of(metric, source.task)
        axis = forest.axis(scale)
        meaning = wording.meaning or metric.meaning
        charts.append(Forest(metric, wording.noun, meaning, f"forest-{index}", axis, empty, text, blocks))
    return charts


def _worst_first(estimates: list[Estimate], metric: Metric, source: Audited) -> list[Estimate]:
    """The groups of an attribute by harm, those without a number last; before any test, in their own order."""
    if metric.better is None or not source.audit.findings:
        return estimates
    sign = -1.0 if metric.better == "lower" else 1.0
    return sorted(estimates, key=lambda e: (not e.n, sign * e.estimate if math.isfinite(e.estimate) else math.inf))


def by_group(source: Audited, metric: str) -> dict[tuple[str, str], Finding]:
    """For each group the finding that says most about it: the worst it takes part in."""
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
    return words.RANK[words.mark(finding.verdict, finding.severity)], p


def standing_out(source: Audited, metric: str, most: int = 8) -> list[tuple[Estimate, Finding]]:
    """The intersections that differ most, with the finding about each."""
    disparities = [
        f for f in source.audit.findings if f.metric == metric and f.depth > 1 and f.verdict == words.DISPARITY
    ]
    chosen = by_weight(disparities)[:most]
    estimates = {(e.attribute, e.group): e for e in source.audit.groups if e.metric == metric}
    return [(estimates[f.attribute, f.group], f) for f in chosen if (f.attribute, f.group) in estimates]


def _note(finding: Finding, estimate: Estimate, kind: str) -> str:
    """How much a confirmed gap means for people: so many more per 1,000."""
    if kind not in (words.SEVERE, words.MINOR) or estimate.metric_kind != "rate" or finding.effect_name == "ratio":
        return ""
    each = round(1000 * abs(finding.difference)) if math.isfinite(finding.difference) else 0
    return f"{numbers.count(each)} more per 1,000" if each else ""


def _forest_row(
    estimate: Estimate, label: str, finding: Finding | None, scale: Scale, reference: float | None, source: Audited
) -> ForestRow:
    kind = words.mark_of(finding, estimate.group)
    verdict = "not compared" if finding is None else words.finding_label(finding, estimate.group)
    difference, against, note = math.nan, "", ""
    if finding is not None:
        here = finding.group == estimate.group
        difference = finding.difference if here else -finding.difference
        other = finding.versus if here else finding.group
        against = "" if other == "rest" else source.names.group(finding.attribute, other)
        note = _note(finding, estimate, kind)
    return ForestRow(
        label,
        source.names.swatch(estimate.attribute, estimate.group),
        estimate.n,
        estimate.clusters,
        forest.row(scale, estimate.estimate, estimate.low, estimate.high, kind, reference),
        numbers.value(estimate.estimate, estimate.metric_kind) if estimate.n else "no units",
        numbers.span(estimate.low, estimate.high, estimate.metric_kind) if estimate.n else "",
        numbers.change(difference, estimate.metric_kind),
        against,
        kind,
        verdict,
        note,
        (estimate.metric, estimate.attribute, estimate.group),
    )
