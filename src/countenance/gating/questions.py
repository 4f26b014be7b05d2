"""The questions that a policy's rules ask; a question that another one's answer covers is not computed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from countenance.auditing.computation import Computation
from countenance.auditing.equity import PAIRS
from countenance.auditing.result import Audit
from countenance.gating import kinds

if TYPE_CHECKING:
    from countenance.gating.policy import Policy

RATES = ("FMR", "FNMR", "FMR and FNMR")


@dataclass(frozen=True)
class RuleQuestion:
    """Metrics of everybody or of the groups of an attribute, and whether the groups are compared."""

    by: str | None
    metrics: tuple[str, ...]
    comparison: str = "rest"
    compares: bool = False
    equity: bool = False

    def answers(self, other: RuleQuestion) -> bool:
        """Whether an answer to this question also answers another.

        >>> both = RuleQuestion("sex", ("fmr", "fnmr"), compares=True, equity=True)
        >>> pairs = RuleQuestion("sex", ("fmr",), "pairs", compares=True)
        >>> both.answers(RuleQuestion("sex", ("fmr",))), both.answers(pairs)
        (True, False)
        """
        if self.by != other.by or not set(other.metrics) <= set(self.metrics) or other.equity > self.equity:
            return False
        return not other.compares or (self.compares and self.comparison == other.comparison)


@dataclass(frozen=True)
class AnsweredQuestion:
    """The computation that answers a question, and its audit where groups are compared."""

    work: Computation
    audit: Audit | None = None


def equity_metrics(metric: str | None, known: Sequence[str]) -> list[str] | None:
    """The columns from which an equity measure is computed; None if the run does not have them.

    >>> equity_metrics("recall", ["recall"]), equity_metrics("FMR", ["recall"])
    (['recall'], None)
    """
    if metric is None or metric in RATES:
        return next((list(pair) for pair in PAIRS if set(pair) <= set(known)), None)
    return [metric] if metric in known else None


def questions_of(policy: Policy, known: Sequence[str], *, twins: bool = False) -> list[RuleQuestion]:
    """The questions of a policy about the metrics that rows have, none of which answers another.

    With `twins`, versions of one picture are compared in pairs, and groups that are not compared have other rows.
    """
    every = list(_of_rules(policy, known))
    questions: list[RuleQuestion] = []
    for question in sorted(every, key=lambda q: (-len(q.metrics), not q.equity, not q.compares)):
        if not any(
            other.answers(question) and (question.compares or not (twins and other.compares)) for other in questions
        ):
            questions.append(question)
    return questions


def _of_rules(policy: Policy, known: Sequence[str]) -> Iterator[RuleQuestion]:
    for rule in policy.rules:
        wants = rule.wants
        if isinstance(wants, kinds.EquityRule):
            metrics = equity_metrics(wants.metric, known)
            if metrics is not None:
                yield RuleQuestion(wants.by, tuple(metrics), compares=True, equity=True)
        elif policy.any_time:
            continue
        elif isinstance(wants, kinds.GapRule) and not wants.given and wants.metric in known:
            yield RuleQuestion(wants.by, (wants.metric,), wants.comparison, compares=True)
        elif isinstance(wants, kinds.EstimateRule) and wants.metric in known:
            yield RuleQuestion(wants.by, (wants.metric,))
