"""The evidence page: what was measured, on whom, with which uncertainty, and what could not be told.

It is worded as evidence. Whether a system complies with a rule is for people to judge, so the page never says it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.data.vocabulary import in_order
from countenance.report import numbers, render
from countenance.report.names import attribute_label, value_label
from countenance.report.page import context, put
from countenance.report.source import Source
from countenance.run import Run

EVIDENCE = "evidence.html"
NOT_STATED = "not stated by the dataset's card"


@dataclass(frozen=True)
class Row:
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
    better: str
    attribute: str
    rows: list[Row]


@dataclass(frozen=True)
class Attribute:
    """How an attribute was assigned, and how many there are of each value."""

    name: str
    assigned_by: str
    meaning: str
    groups: list[tuple[str, int, int]]


def write_evidence(run: Run, out: Path | str | None = None) -> Path:
    """Write the evidence page of an audited run as one self-contained HTML file and return its path."""
    source = Source.of(run)
    said = context(source, "off")
    text = render.page("evidence.html.j2", **said, people=_people(source), measured=_measured(source))
    return put(run, EVIDENCE, text, out, "off")


def _people(source: Source) -> list[Attribute]:
    """The attributes that were compared, with rows and people (or images) in each group."""
    card = source.run.manifest.plain()["dataset"]["card"].get("attributes", {})
    made = []
    for name in source.names.by:
        here = [e for e in source.audit.groups if e.attribute == name]
        most = {e.group: e for e in sorted(here, key=lambda e: e.n)}  # the metric that most rows have
        order = in_order(name, [e.group for e in here])
        groups = [(value_label(name, group), most[group].n, most[group].clusters) for group in dict.fromkeys(order)]
        told: dict[str, Any] = card.get(name.partition(":")[0], {})
        made.append(
            Attribute(
                attribute_label(name),
                told.get("assigned_by") or NOT_STATED,
                told.get("meaning") or "not stated",
                groups,
            )
        )
    return made


def _measured(source: Source) -> list[Measured]:
    audit = source.audit
    findings = {(f.metric, f.attribute, f.group): f for f in audit.findings if f.versus == "rest" or f.depth == 1}
    deltas = audit.settings.get("delta") or {}
    made = []
    for metric in source.metrics:
        for name in source.names.by:
            rows = []
            for e in source.estimates(metric.name, name):
                f = findings.get((metric.name, name, e.group))
                rows.append(
                    Row(
                        value_label(name, e.group), e.n, e.clusters, numbers.value(e.estimate, e.kind),
                        numbers.span(e.low, e.high, e.kind),
                        numbers.change(f.difference, e.kind) if f else numbers.NOTHING,
                        numbers.change_span(f.diff_low, f.diff_high, e.kind) if f else "",
                        _verdict(f.verdict, f.direction) if f else "not compared",
                    )
                )  # fmt: skip
            delta = deltas.get(metric.name) if isinstance(deltas, dict) else deltas
            shown = "not named" if delta is None else f"{delta:g}"
            made.append(Measured(metric.name, metric.meaning, shown, metric.better, attribute_label(name), rows))
    return made


def _verdict(verdict: str, direction: str) -> str:
    return f"{verdict} ({direction})" if direction and verdict == "disparity" else verdict
