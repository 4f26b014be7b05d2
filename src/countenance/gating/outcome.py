"""The result of a gate: the checks of every rule, the outcome of the rules, and whether the run passes."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict

from countenance.auditing.conversion import plain
from countenance.auditing.finding import NAN

PASS, FAIL, INSUFFICIENT, WARN = "pass", "fail", "insufficient", "warn"
ORDER = (FAIL, INSUFFICIENT, PASS)


class RuleCheck(BaseModel):
    """One number compared with its limit. `evidence` is pass, fail or insufficient, whatever the policy makes of it."""

    model_config = ConfigDict(frozen=True)
    about: str
    """What the number is: the metric and the group."""
    metric: str = ""
    attribute: str = ""
    group: str = ""
    versus: str = ""
    """The group that the number is about and the side it is compared with; empty for everybody and without a
    comparison."""
    direction: str = ""
    """Of a comparison: whether the group does worse or better."""
    evidence: str
    reason: str
    """The number, its interval and the limit, in words."""
    value: float = NAN
    low: float = NAN
    high: float = NAN
    """The interval that decides: at the level shared by all checks where one fails, with every missing score as wrong
    where something is missing."""
    interval_words: str = ""
    """Why it is not the group's own interval: the level shared by all groups, or missing scores as wrong."""
    beyond: float = NAN
    """How far the number is beyond its limit; negative if it is within."""
    n: int = 0
    units: int = 0
    unit: str = "rows"
    needed: int | None = None
    """With insufficient evidence: how many units it takes to decide, if the number is as it looks now."""
    left_open: str = ""
    """Why no number of units is named: the number lies on its limit, or missing scores decide."""


class RuleOutcome(BaseModel):
    """A rule of the policy with its checks; `outcome` is pass, fail or warn."""

    model_config = ConfigDict(frozen=True)
    name: str
    title: str = ""
    """The rule as a page says it: metrics and attributes in words."""
    kind: str
    insufficient: str
    """What the policy says about insufficient evidence."""
    evidence: str
    outcome: str
    checks: list[RuleCheck]

    @classmethod
    def of(cls, name: str, kind: str, insufficient: str, checks: list[RuleCheck]) -> RuleOutcome:
        """The outcome that follows from the checks: the worst of them.

        >>> check = RuleCheck(about="ok", evidence="insufficient", reason="few rows")
        >>> RuleOutcome.of("r", "estimate", "warn", [check]).outcome
        'warn'
        """
        seen = [check.evidence for check in checks]
        evidence = FAIL if FAIL in seen else INSUFFICIENT if INSUFFICIENT in seen or not seen else PASS
        outcome = insufficient if evidence == INSUFFICIENT else evidence
        return cls(name=name, kind=kind, insufficient=insufficient, evidence=evidence, outcome=outcome, checks=checks)

    @property
    def worst(self) -> RuleCheck | None:
        """The check to name: among those that failed, else those undecided, the one furthest beyond its limit."""
        return next(iter(self.ordered), None)

    @property
    def ordered(self) -> list[RuleCheck]:
        """The checks that failed, the undecided, the passed; each furthest beyond its limit first.

        A group that does worse comes before one that does better than the others.
        """

        def key(check: RuleCheck) -> tuple[int, bool, float]:
            return ORDER.index(check.evidence), check.direction == "better", -_distance(check)

        return sorted(self.checks, key=key)


def _distance(check: RuleCheck) -> float:
    return check.beyond if math.isfinite(check.beyond) else -math.inf


class Gate(BaseModel):
    """The outcome of a gate.

    `passed` corresponds to the exit code, `to_dict()` to what `--json` writes.

    >>> outcome = Gate(passed=True, run="r", model="m", dataset="d", alpha=0.05, rules=[])
    >>> bool(outcome), outcome.to_dict()["passed"]
    (True, True)
    """

    model_config = ConfigDict(frozen=True)
    passed: bool
    run: str
    model: str
    dataset: str
    baseline: str | None = None
    alpha: float
    any_time: bool = False
    """Whether intervals hold at every look."""
    rules: list[RuleOutcome]
    metric_nouns: dict[str, str] = {}
    """What pages call the metrics."""
    licences: dict[str, str] = {}
    """The licences of what made the run."""
    countenance: str = ""
    finished: str | None = None
    """When the run that was judged was finished."""
    notes: list[str] = []
    """Notes, such as that files were not compared with their hashes."""

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        """The outcome in five lines at most."""
        from countenance.gating.output import lines

        return "\n".join(lines(self, most=5, width=100))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The outcome as a notebook shows it."""
        from countenance.gating.output import gate_html

        return gate_html(self)

    @property
    def failed(self) -> list[RuleOutcome]:
        """The rules that the run does not pass."""
        return [rule for rule in self.rules if rule.outcome == FAIL]

    @property
    def warnings(self) -> list[RuleOutcome]:
        """The rules that could not be decided and that the policy lets through with a warning."""
        return [rule for rule in self.rules if rule.outcome == WARN]

    @property
    def summary(self) -> str:
        """The outcome as one sentence."""
        many = f"{len(self.rules)} rule{'' if len(self.rules) == 1 else 's'}"
        if self.failed:
            names = "; ".join(_named(rule) for rule in self.failed)
            return f"{len(self.failed)} of {many} failed: {names}"
        unsure = f", {len(self.warnings)} with a warning (insufficient evidence)" if self.warnings else ""
        return f"passed {many}{unsure}"

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values (NaN and infinities as None)."""
        content: dict[str, Any] = plain(self.model_dump())
        return {"passed": self.passed, "summary": self.summary, **content}


def _named(rule: RuleOutcome) -> str:
    return f"{rule.name} (insufficient evidence)" if rule.evidence == INSUFFICIENT else rule.name
