"""The regression rule: a run against a baseline, on the rows that both have."""

from __future__ import annotations

import math

from countenance.audit.units import nouns as unit_nouns
from countenance.compare import Change, Comparison
from countenance.compare.compare import compare
from countenance.gating import kinds
from countenance.gating.bounds import Limits, Measured
from countenance.gating.evidence import Evidence, missing
from countenance.gating.outcome import Check
from countenance.run.run import Run

NAMES = ("baseline", "this run")


def paired_changes(rule: kinds.Regression, evidence: Evidence, baseline: Run) -> list[Check]:
    """A check for everybody, or for each group; `countenance.compare` refuses a baseline that is not comparable."""

    def compared(alpha: float) -> list[Change]:
        found = _compared(rule, evidence, baseline, alpha)
        return found.overall if rule.by is None else found.groups

    first = _compared(rule, evidence, baseline, evidence.alpha)
    one = first.overall if rule.by is None else first.groups
    shared = compared(evidence.alpha / len(one)) if len(one) > 1 else one
    nouns = unit_nouns(first.settings["ways"])
    made = [_check(rule, evidence, *pair, nouns) for pair in zip(one, shared, strict=True)]
    return made or [missing(rule.metric, "the run and the baseline share no group")]


def _compared(rule: kinds.Regression, evidence: Evidence, baseline: Run, alpha: float) -> Comparison:
    return compare(
        baseline, evidence.run, by=[] if rule.by is None else [rule.by], metrics=[rule.metric], names=NAMES,
        alpha=alpha, where=evidence.policy.where, delta={rule.metric: max(rule.at_most, 1e-9)}, adjust="holm",
    )  # fmt: skip


def _check(rule: kinds.Regression, evidence: Evidence, one: Change, shared: Change, nouns: tuple[str, str]) -> Check:
    about = f"{rule.metric}{f' of {one.attribute} = {one.group}' if one.group else ''}"
    if math.isnan(one.low):
        facts = {"n": one.n, "units": one.clusters, "unit": nouns[1], "needed": 20 if one.clusters < 20 else None}
        return missing(about, one.reason).model_copy(update=facts)
    sign = 1.0 if evidence.better(rule.metric) == "lower" else -1.0  # how much worse the new run is
    low, high = sorted((sign * one.low, sign * one.high))
    low_shared, high_shared = sorted((sign * shared.low, sign * shared.high))
    measured = Measured(
        f"{about}, worse by", sign * one.difference, low, high, low_shared, high_shared, one.n, one.clusters, nouns
    )
    return measured.check(Limits(at_most=rule.at_most), evidence.alpha)
