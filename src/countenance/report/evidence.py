"""The evidence page: what was measured, on whom, with which uncertainty, and what remains unknown.

The page never claims that a system complies with a rule, since that is for people to judge.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.auditing import Estimate, Finding
from countenance.data.vocabulary import in_order
from countenance.report import numbers, render, words
from countenance.report.charts.group_forests import by_group
from countenance.report.gallery import CHOICES
from countenance.report.harms import metric_words, shown_kind
from countenance.report.names import attribute_label, value_label
from countenance.report.page import context, put, write_report
from countenance.report.source import ReportSource
from countenance.run import Run
from countenance.run.file_names import AUDIT, REPORT
from countenance.run.suite import suite_of

EVIDENCE = "evidence.html"
NOT_STATED = "not stated by the dataset's card"


@dataclass(frozen=True)
class EvidenceRow:
    """One group in one measure."""

    group: str
    n: int
    people: int
    value: str
    interval: str
    difference: str
    difference_interval: str
    verdict: str


@dataclass(frozen=True)
class Measured:
    """One measure by one attribute."""

    metric: str
    meaning: str
    delta: str
    better: str | None
    attribute: str
    rows: list[EvidenceRow]


@dataclass(frozen=True)
class EvidenceAttribute:
    """How an attribute was assigned, and how often each value occurs."""

    name: str
    assigned_by: str
    meaning: str
    groups: list[tuple[str, int, int]]


def write_evidence(run: Run, out: Path | str | None = None) -> Path:
    """Write the evidence page of an audited run as one self-contained HTML file and return its path."""
    source = ReportSource.of(run)
    content = context(source, "off")
    text = render.page("evidence.html.j2", **content, people=_people(source), measured=_measured(source))
    return put(run, EVIDENCE, text, out, "off")


def _people(source: ReportSource) -> list[EvidenceAttribute]:
    """The attributes that were compared, with rows and people (or images) in each group."""
    card = source.run.manifest.plain()["dataset"]["card"].get("attributes", {})
    rows = []
    for name in source.names.by:
        here = [e for e in source.audit.groups if e.attribute == name]
        most = {e.group: e for e in sorted(here, key=lambda e: e.n)}  # the metric that most rows have
        order = in_order(name, [e.group for e in here])
        groups = [(value_label(name, group), most[group].n, most[group].clusters) for group in dict.fromkeys(order)]
        about: dict[str, Any] = card.get(name.partition(":")[0], {})
        rows.append(
            EvidenceAttribute(
                attribute_label(name),
                about.get("assigned_by") or NOT_STATED,
                about.get("meaning") or "not stated",
                groups,
            )
        )
    return rows


def _measured(source: ReportSource) -> list[Measured]:
    deltas = source.audit.settings.get("delta") or {}
    tables = []
    for metric in source.metrics:
        findings = by_group(source, metric.name)
        kind = _kind(source, metric.name)
        for name in source.names.by:
            rows = [
                _row(name, e, findings.get((name, e.group)), source.audit.settings, kind)
                for e in source.estimates(metric.name, name)
            ]
            delta = deltas.get(metric.name) if isinstance(deltas, dict) else deltas
            shown = "not named" if delta is None else numbers.points(delta) if kind == "rate" else f"{delta:g}"
            tables.append(Measured(metric.name, metric.meaning, shown, metric.better, attribute_label(name), rows))
    return tables


def _kind(source: ReportSource, metric: str) -> str:
    """How the numbers of a metric are printed."""
    known = next((e.metric_kind for e in source.audit.groups if e.metric == metric), "mean")
    return shown_kind(known, metric_words(source, metric)[1])


def _row(
    attribute: str, estimate: Estimate, finding: Finding | None, settings: Mapping[str, Any], kind: str
) -> EvidenceRow:
    """The row of a group, with the finding in which it is either side.

    Of two groups only the first has its own finding.
    """
    values = (numbers.value(estimate.estimate, kind), numbers.span(estimate.low, estimate.high, kind))
    group = value_label(attribute, estimate.group)
    if finding is None:
        return EvidenceRow(group, estimate.n, estimate.clusters, *values, numbers.NOTHING, "", "not compared")
    here = finding.group == estimate.group
    ends = (finding.diff_low, finding.diff_high) if here else (-finding.diff_high, -finding.diff_low)
    difference = finding.difference if here else -finding.difference
    other = finding.versus if here else finding.group
    change = numbers.change(difference, kind)
    against = change if other == "rest" else f"{change} from {value_label(attribute, other)}"
    verdict = words.finding_label(finding, settings, estimate.group, kind)
    return EvidenceRow(
        group, estimate.n, estimate.clusters, *values, against, numbers.change_span(*ends, kind), verdict
    )


def rewrite_pages(run: Run, journal: Mapping[str, Any]) -> list[str]:
    """Write the files again that a purge removed from a run, and return their names.

    The suite's own files come first, then the pages, with the same gallery as before.
    """
    suite = suite_of(run)
    files = [] if suite is None else suite.files(run, journal["files"])
    pages = [name for name in (REPORT, EVIDENCE) if name in journal["files"] and name not in files]
    if not run.store.storage.has(AUDIT):
        return files
    for name in pages:
        if name == EVIDENCE:
            write_evidence(run)
        else:
            shown = journal["pages"].get(name, {}).get("gallery")
            write_report(run, gallery=shown if shown in CHOICES else "off")
    return [*files, *pages]
