"""The section on gaps with conditions held equal: waterfalls, the table, and the strata behind each number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from countenance.auditing import Audit
from countenance.auditing.given_finding import PART_OF_GAP, GivenFinding, not_recorded_words
from countenance.report import numbers
from countenance.report.charts import waterfall
from countenance.report.names import value_label
from countenance.report.notes import condition_label

MOST_FIGURES = 6


@dataclass(frozen=True)
class Fall(waterfall.Waterfall):
    """A waterfall with its verdict and the strata behind it."""

    verdict: str
    reason: str
    conditions: list[str]
    strata: list[Any]
    kind: str


@dataclass(frozen=True)
class HeldEqual:
    """The content of the section."""

    conditions: list[str]
    falls: list[Fall]
    rows: list[GivenFinding]
    part_of_gap: str
    left_out: str
    """How many rows have no recorded condition, in words; empty where all have."""


def section(audit: Audit, nouns: Mapping[str, str]) -> HeldEqual | None:
    """What an audit says with conditions held equal, metrics by their nouns; None if no conditions were named."""
    findings: list[GivenFinding] = audit.given
    if not findings:
        return None
    known = [f for f in findings if numbers.is_number(f.raw) and numbers.is_number(f.held_equal)]
    drawn = sorted(known, key=lambda f: -abs(f.raw))[:MOST_FIGURES]
    names = findings[0].given
    noted = PART_OF_GAP if any(f.note == PART_OF_GAP for f in findings) else ""
    falls = [_fall(f, nouns.get(f.metric, f.metric)) for f in drawn]
    return HeldEqual([condition_label(name) for name in names], falls, findings, noted, not_recorded_words(findings))


def _fall(finding: GivenFinding, noun: str) -> Fall:
    parts = [(name, part.part, part.part_low, part.part_high) for name, part in finding.explained.items()]
    held = (finding.held_equal, finding.low, finding.high)
    bars = waterfall.steps((finding.raw, finding.raw_low, finding.raw_high), parts, held)
    kind = finding.metric_kind
    group = value_label(finding.attribute, finding.group)
    versus = "everyone else" if finding.versus == "rest" else value_label(finding.attribute, finding.versus)
    return Fall(
        f"{noun[:1].upper()}{noun[1:]}: {group} against {versus}",
        waterfall.scale_of(bars, kind),
        [
            waterfall.LabelledStep(
                condition_label(part.name) if part.kind == "part" else part.name,
                part,
                numbers.change(part.size, kind),
                numbers.change_span(part.low, part.high, kind),
            )
            for part in bars
        ],
        finding.verdict,
        finding.reason,
        list(finding.given),
        list(finding.strata),
        kind,
    )
