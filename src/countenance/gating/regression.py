"""The regression rule: a run against a baseline, on the rows that both have."""

from __future__ import annotations

import math

from countenance.auditing.missing_scores import TOLERATED
from countenance.auditing.units import plural, stored_nouns
from countenance.comparing import Change, Comparison
from countenance.comparing.comparison import compare
from countenance.data.vocabulary import UNKNOWN
from countenance.errors import InputError
from countenance.gating import kinds
from countenance.gating.bounds import Lacking, Limits, Measurement
from countenance.gating.evidence import RunEvidence, missing
from countenance.gating.outcome import RuleCheck
from countenance.run.run import Run

NAMES = ("baseline", "this run")


def paired_changes(rule: kinds.RegressionRule, evidence: RunEvidence, baseline: Run) -> list[RuleCheck]:
    """A check for everybody, or for each group; `countenance.comparing` refuses a baseline that is not comparable."""

    def changes(comparison: Comparison) -> list[Change]:
        every = (
            comparison.overall
            if rule.by is None
            else [change for change in comparison.groups if change.group != UNKNOWN]
        )
        return [change for change in every if change.metric == rule.metric]

    first = _compared(rule, evidence, baseline, evidence.alpha)
    pairwise = changes(first)
    shared = (
        changes(_compared(rule, evidence, baseline, evidence.alpha / len(pairwise))) if len(pairwise) > 1 else pairwise
    )
    nouns = stored_nouns(first.settings)
    checks = [_check(rule, evidence, *pair, nouns) for pair in zip(pairwise, shared, strict=True)]
    if checks:
        checks[0] = checks[0].model_copy(update={"reason": f"{checks[0].reason}{_left_out(first)}"})
    for group in first.absent:  # a run that fails on a whole group has not kept its level
        rows = plural(group.rows, "row", "rows")
        about, reason = (
            f"{rule.metric} of {group.attribute} = {group.group}",
            f"only {_the(group.model)} has it ({rows})",
        )
        checks.append(missing(about, reason))
    return checks or [missing(rule.metric, "the run and the baseline share no group")]


def _left_out(comparison: Comparison) -> str:
    """How many rows have no partner, and where."""
    parts = [
        f"{plural(side['unpaired'], 'row', 'rows')} of {_the(side['name'])}"
        for side in comparison.unpaired
        if side["unpaired"]
    ]
    return f"; without a partner: {' and '.join(parts)}" if parts else ""


def _the(name: str) -> str:
    return f"the {name}" if name == NAMES[0] else name


def _compared(rule: kinds.RegressionRule, evidence: RunEvidence, baseline: Run, alpha: float) -> Comparison:
    return compare(
        baseline,
        evidence.run,
        by=[] if rule.by is None else [rule.by],
        metrics=[rule.metric],
        names=NAMES,
        alpha=alpha,
        where=evidence.policy.where,
        delta={rule.metric: max(rule.at_most, 1e-9)},
        adjust="holm",
    )


def _check(
    rule: kinds.RegressionRule, evidence: RunEvidence, change: Change, shared: Change, nouns: tuple[str, str]
) -> RuleCheck:
    about = f"{rule.metric}{f' of {change.attribute} = {change.group}' if change.group else ''}"
    if math.isnan(change.low):
        facts = {
            "n": change.n,
            "units": change.clusters,
            "unit": nouns[1],
            "needed": 20 if change.clusters < 20 else None,
        }
        return missing(about, change.reason).model_copy(update=facts)
    better = evidence.better(rule.metric)
    if better is None:
        raise InputError(
            f"regression: which way {rule.metric} is better is not known; the task of the run does not say it"
        )
    sign = 1.0 if better == "lower" else -1.0  # how much worse the new run is
    worse = sign * change.difference + 0.0
    low, high = sorted((sign * change.low, sign * change.high))
    low_shared, high_shared = sorted((sign * shared.low, sign * shared.high))
    about = f"{about}, worse by"
    least, most = sorted((sign * change.low_wrong, sign * change.high_wrong))
    too_many = change.missing > TOLERATED * (change.n + change.missing) and math.isnan(least)
    lacking = Lacking(change.missing, least, most, too_many)
    measured = Measurement(
        about,
        worse,
        low,
        high,
        low_shared,
        high_shared,
        change.n,
        change.clusters,
        nouns,
        attribute=change.attribute,
        group=change.group,
        missing=lacking,
    )
    return measured.check(Limits(at_most=rule.at_most), evidence.alpha)
