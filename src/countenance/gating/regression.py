"""The regression rule: a run against a baseline, on the rows that both have."""

from __future__ import annotations

import math

from countenance.auditing.missing import TOLERATED
from countenance.auditing.units import plural, stored_nouns
from countenance.comparing import Change, Comparison
from countenance.comparing.compare import compare
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

    def changes(found: Comparison) -> list[Change]:
        every = found.overall if rule.by is None else [one for one in found.groups if one.group != UNKNOWN]
        return [one for one in every if one.metric == rule.metric]

    first = _compared(rule, evidence, baseline, evidence.alpha)
    one = changes(first)
    shared = changes(_compared(rule, evidence, baseline, evidence.alpha / len(one))) if len(one) > 1 else one
    nouns = stored_nouns(first.settings)
    made = [_check(rule, evidence, *pair, nouns) for pair in zip(one, shared, strict=True)]
    if made:
        made[0] = made[0].model_copy(update={"reason": f"{made[0].reason}{_left_out(first)}"})
    for group in first.absent:  # a run that fails on a whole group has not kept its level
        rows = plural(group.rows, "row", "rows")
        about, reason = (
            f"{rule.metric} of {group.attribute} = {group.group}",
            f"only {_the(group.model)} has it ({rows})",
        )
        made.append(missing(about, reason))
    return made or [missing(rule.metric, "the run and the baseline share no group")]


def _left_out(found: Comparison) -> str:
    """How many rows have no partner, and where."""
    parts = [
        f"{plural(one['unpaired'], 'row', 'rows')} of {_the(one['name'])}" for one in found.unpaired if one["unpaired"]
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
    rule: kinds.RegressionRule, evidence: RunEvidence, one: Change, shared: Change, nouns: tuple[str, str]
) -> RuleCheck:
    about = f"{rule.metric}{f' of {one.attribute} = {one.group}' if one.group else ''}"
    if math.isnan(one.low):
        facts = {"n": one.n, "units": one.clusters, "unit": nouns[1], "needed": 20 if one.clusters < 20 else None}
        return missing(about, one.reason).model_copy(update=facts)
    better = evidence.better(rule.metric)
    if better is None:
        raise InputError(
            f"regression: which way {rule.metric} is better is not known; the task of the run does not say it"
        )
    sign = 1.0 if better == "lower" else -1.0  # how much worse the new run is
    worse = sign * one.difference + 0.0
    low, high = sorted((sign * one.low, sign * one.high))
    low_shared, high_shared = sorted((sign * shared.low, sign * shared.high))
    about = f"{about}, worse by"
    least, most = sorted((sign * one.low_wrong, sign * one.high_wrong))
    too_many = one.missing > TOLERATED * (one.n + one.missing) and math.isnan(least)
    lacking = Lacking(one.missing, least, most, too_many)
    measured = Measurement(
        about,
        worse,
        low,
        high,
        low_shared,
        high_shared,
        one.n,
        one.clusters,
        nouns,
        attribute=one.attribute,
        group=one.group,
        missing=lacking,
    )
    return measured.check(Limits(at_most=rule.at_most), evidence.alpha)
