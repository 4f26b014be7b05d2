"""The regression rule: a run against a baseline, on the rows that both have."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from countenance.auditing.levels import at_level
from countenance.auditing.missing_scores import TOLERATED
from countenance.auditing.units import plural
from countenance.comparing.changes import by_group, overall
from countenance.comparing.comparison import ComparisonQuestion
from countenance.comparing.entries import entries_of
from countenance.comparing.result import Absent, Change
from countenance.comparing.sides import Sides
from countenance.data.vocabulary import UNKNOWN
from countenance.errors import InputError
from countenance.gating import kinds
from countenance.gating.bounds import Lacking, Limits, Measurement
from countenance.gating.evidence import RunEvidence, missing
from countenance.gating.outcome import RuleCheck
from countenance.run.run import Run

NAMES = ("baseline", "this run")


@dataclass(frozen=True)
class PairedRuns:
    """A run beside its baseline, on the rows that both have, for all rules about a metric by an attribute."""

    question: ComparisonQuestion
    sides: Sides
    grouped: bool

    @classmethod
    def of(cls, metric: str, by: str | None, evidence: RunEvidence, baseline: Run) -> PairedRuns:
        """Pair the rows; `countenance.comparing` refuses a baseline that is not comparable."""
        question = ComparisonQuestion.of(
            entries_of([baseline, evidence.run], NAMES),
            [] if by is None else [by],
            [metric],
            alpha=evidence.alpha,
            where=evidence.policy.where,
            adjust="holm",
        )
        question.one_sided(0, 1)  # raises if no row has a score in both runs
        return cls(question, *question.sides(0, 1))

    def changes(self, metric: str, by: str | None, alpha: float) -> list[Change]:
        """How the metric changed, for everybody or for each known group, with intervals at a level."""
        sides = replace(self.sides, work=at_level(self.sides.work, alpha))
        every = overall(sides) if by is None else by_group(sides) if self.grouped else []
        return [change for change in every if change.metric == metric and change.group != UNKNOWN]

    def absent(self) -> list[Absent]:
        """The groups that only one of the two has."""
        return self.question.absent(self.sides) if self.grouped else []

    def left_out(self) -> str:
        """How many rows have no partner, and in which entry."""
        parts = [
            f"{plural(side['unpaired'], 'row', 'rows')} of {_the(side['name'])}"
            for side in self.question.paired.unpaired
            if side["unpaired"]
        ]
        return f"; without a partner: {' and '.join(parts)}" if parts else ""


def paired_changes(rule: kinds.RegressionRule, evidence: RunEvidence, baseline: Run) -> list[RuleCheck]:
    """A check for everybody, or for each group; `countenance.comparing` refuses a baseline that is not comparable."""
    paired = PairedRuns.of(rule.metric, rule.by, evidence, baseline)
    alone = paired.changes(rule.metric, rule.by, evidence.alpha)
    shared = paired.changes(rule.metric, rule.by, evidence.alpha / len(alone)) if len(alone) > 1 else alone
    nouns = paired.sides.work.nouns
    checks = [_check(rule, evidence, *pair, nouns) for pair in zip(alone, shared, strict=True)]
    if checks:
        checks[0] = checks[0].model_copy(update={"reason": f"{checks[0].reason}{paired.left_out()}"})
    for group in paired.absent():  # a group that only one of the runs has is a failure
        about = f"{rule.metric} of {group.attribute} = {group.group}"
        rows = plural(group.rows, "row", "rows")
        checks.append(missing(about, f"only {_the(group.model)} has it ({rows})"))
    return checks or [missing(rule.metric, "the run and the baseline share no group")]


def _the(name: str) -> str:
    return f"the {name}" if name == NAMES[0] else name


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
