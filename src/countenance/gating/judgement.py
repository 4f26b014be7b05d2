"""`gate`: may this run pass?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import countenance
from countenance.errors import InputError
from countenance.gating.evidence import RunEvidence
from countenance.gating.kinds import RuleNames
from countenance.gating.outcome import FAIL, PASS, Gate, RuleCheck, RuleOutcome
from countenance.gating.policy import Policy, Rule, read_policy
from countenance.gating.rules import DECIDE
from countenance.report.metric_words import words_of
from countenance.run.auditing import metrics_of
from countenance.run.ledger import note_of
from countenance.run.licences import of_manifest
from countenance.run.run import Run


def gate(
    run: Run | Path | str, policy: Any, *, baseline: Run | Path | str | None = None, any_time: bool = False
) -> Gate:
    """Check a `run` against a `policy` (a YAML file or a dict); returns a `Gate`, which says the rules that it passes.

    Each rule is decided by intervals: it passes when the interval lies within the limit, fails when the interval lies
    beyond it, and otherwise the evidence is insufficient, and the policy says what happens. `baseline` is the run that
    rules of the kind `regression` compare with, on the same rows. With `any_time` (or `any_time: true` in the policy)
    the intervals stay valid when the gate is repeated while data grows. The result is true if the run passes.
    A wrong policy, an unfinished run and a run that cannot be compared are an `InputError`.

    >>> import countenance as ct
    >>> nothing = lambda images: [ct.Boxes([]) for image in images]
    >>> run = ct.evaluate(nothing, "face_localization", "people:portraits", limit=30)
    >>> rule = {"estimate": {"metric": "recall@0.5", "at_least": 0.9}, "insufficient": "fail"}
    >>> outcome = gate(run, {"rules": [rule]})
    >>> bool(outcome), outcome.summary
    (False, '1 of 1 rule failed: recall@0.5 at least 0.9')
    """
    rules = read_policy(policy)
    rules = rules.at_every_look() if any_time else rules
    judged = run if isinstance(run, Run) else Run(run)
    judged.require_complete()
    before = baseline if isinstance(baseline, Run) or baseline is None else Run(baseline)
    if before is not None and not any(rule.kind == "regression" for rule in rules.rules):
        raise InputError(
            "a baseline is given, but the policy has no rule of the kind regression; add one or leave it out"
        )
    evidence = RunEvidence(judged, rules, before)
    outcomes = [] if rules.licences is None else [licences(rules, judged)]
    nouns = metric_nouns(judged)
    outcomes += [_decided(rule, evidence, RuleNames(nouns, spoken=True)) for rule in rules.rules]
    return Gate(
        passed=all(outcome.outcome != FAIL for outcome in outcomes),
        run=judged.place,
        model=judged.model_label,
        dataset=judged.dataset_name,
        baseline=None if before is None else before.place,
        alpha=rules.alpha,
        any_time=rules.any_time,
        rules=outcomes,
        metric_nouns=nouns,
        licences=of_manifest(judged.manifest),
        countenance=countenance.__version__,
        finished=judged.manifest.finished,
        notes=_notes(evidence),
    )


def metric_nouns(run: Run) -> dict[str, str]:
    """The names of a run's metrics on pages."""
    task = run.task()
    return {metric.name: words_of(metric, task).noun for metric in metrics_of(run)}


def _decided(rule: Rule, evidence: RunEvidence, names: RuleNames) -> RuleOutcome:
    """A rule with its checks; a rule without a name has its words as title."""
    checks = DECIDE[rule.kind](rule.wants, evidence)
    metric = getattr(rule.wants, "metric", None)
    if isinstance(metric, str):
        checks = [check if check.metric else check.model_copy(update={"metric": metric}) for check in checks]
    outcome = RuleOutcome.of(rule.name, rule.kind, rule.insufficient, checks)
    title = rule.wants.words(names) if rule.name == rule.wants.words() else rule.name
    return outcome.model_copy(update={"title": title})


def _notes(evidence: RunEvidence) -> list[str]:
    """Notes on the runs: what limits their numbers, how often the gate was run, how they were judged."""
    run, baseline = evidence.run, evidence.baseline
    notes = [*run.cautions, *(baseline.cautions if baseline else ()), *evidence.column_notes, note_of(run)]
    if evidence.policy.any_time:
        notes.append("intervals hold at every look (betting), with each person counted once, in the order of the rows")
    return [note for note in dict.fromkeys(notes) if note]


def licences(policy: Policy, run: Run) -> RuleOutcome:
    """Whether the licences of data and model are allowed; `not stated` only if the policy lists it."""
    assert policy.licences is not None
    allowed, checks = policy.licences.allowed, []
    for what, licence in of_manifest(run.manifest).items():
        why = allowed.refused(licence)
        reason = f"{licence}{'' if why is None else f' ({why})'}; allowed: {', '.join(allowed.names)}"
        checks.append(RuleCheck(about=what, evidence=PASS if why is None else FAIL, reason=reason))
    return RuleOutcome.of("licences", "licences", "fail", checks)
