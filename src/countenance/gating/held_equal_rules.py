"""Rules with `given`: gaps between rows in which conditions are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from countenance.auditing.attributes import split_names
from countenance.auditing.given_finding import EXPLAINED, HIDDEN, NO_OVERLAP, REMAINS, GivenFinding
from countenance.auditing.headline import side_words, versus_words
from countenance.auditing.held_equal_fit import HeldGap
from countenance.auditing.units import nouns as unit_nouns
from countenance.auditing.verdict import INSUFFICIENT as UNSURE
from countenance.errors import InputError
from countenance.gating.bounds import Limits, Measurement
from countenance.gating.evidence import missing
from countenance.gating.outcome import FAIL, INSUFFICIENT, PASS, RuleCheck

if TYPE_CHECKING:
    from countenance.gating import kinds
    from countenance.gating.evidence import RunEvidence


def _findings(
    evidence: RunEvidence, by: list[str] | None, metrics: list[str] | None, conditions: Any
) -> tuple[list[GivenFinding], tuple[str, str]]:
    names = split_names(conditions) if isinstance(conditions, str) else list(conditions)
    audit = evidence.audit(by, metrics, depth=1, adjust="holm", given=names)
    if not audit.given:
        raise InputError(f"{evidence.run.place}: nothing is left to compare with {', '.join(names)} held equal")
    return audit.given, unit_nouns(audit.settings.get("ways", []))


def _about(f: GivenFinding) -> str:
    return f"{f.metric}, {side_words(f)} against {versus_words(f)}, {', '.join(f.given)} held equal"


def gap(rule: kinds.GapRule, evidence: RunEvidence) -> list[RuleCheck]:
    """Each gap held equal against the largest that is allowed; without overlap there is no evidence."""
    findings, nouns = _findings(evidence, [rule.by], [rule.metric], rule.given)
    level = evidence.alpha / max(len(findings), 1)
    limits, checks = Limits(-rule.at_most, rule.at_most), []
    for f in findings:
        if f.verdict == NO_OVERLAP:
            checks.append(missing(_about(f), f.reason))
            continue
        shared = HeldGap(f.held_equal, f.se, f.df, f.effective_people).interval(level)
        measured = Measurement(_about(f), f.held_equal, f.low, f.high, *shared, f.n, f.clusters, nouns)
        checks.append(measured.check(limits, evidence.alpha, f"a gap of at most {rule.at_most:g} held equal"))
    return checks


def verdict(
    rule: kinds.VerdictRule, evidence: RunEvidence, by: list[str] | None, metrics: list[str] | None
) -> list[RuleCheck]:
    """A gap that remains, or that conditions hid, fails; one that they explain passes."""
    checks = []
    findings, nouns = _findings(evidence, by, metrics, rule.given)
    for f in findings:
        failed = f.verdict == REMAINS or f.verdict.startswith(HIDDEN)
        unsure = f.verdict in (UNSURE, NO_OVERLAP)
        reason = f"{f.verdict}: {f.reason}" if failed or f.verdict.startswith(EXPLAINED) else f.reason
        checks.append(
            RuleCheck(
                about=_about(f),
                evidence=FAIL if failed else INSUFFICIENT if unsure else PASS,
                reason=reason,
                value=f.held_equal,
                low=f.low,
                high=f.high,
                n=f.n,
                units=f.clusters,
                unit=nouns[1],
            )
        )
    return checks
