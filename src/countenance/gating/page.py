"""A gate's outcome as a notebook shows it."""

from __future__ import annotations

from countenance.gating.outcome import FAIL, PASS, WARN, Gate
from countenance.gating.output import check_line, tally
from countenance.report import words
from countenance.report.fragments import fragment

KINDS = {FAIL: words.SEVERE, WARN: words.UNSURE, PASS: words.NONE}
LABELS = {FAIL: "failed", WARN: "undecided", PASS: "passed"}


def gate_html(gate: Gate) -> str:
    """The outcome in one box: failed rules first with the worst group, then the undecided; passed rules are counted.

    >>> from countenance.gating.outcome import RuleCheck, RuleOutcome
    >>> check = RuleCheck(about="ok", evidence="fail", reason="0.5; wanted at least 0.9")
    >>> rule = RuleOutcome.of("ok at least 0.9", "estimate", "fail", [check])
    >>> "may not ship" in gate_html(Gate(passed=False, run="r", model="m", dataset="d", alpha=0.05, rules=[rule]))
    True
    """
    rows = [
        (KINDS[rule.outcome], LABELS[rule.outcome], rule.name, check_line(rule.worst) if rule.worst else "")
        for rule in [*gate.failed, *gate.warnings]
    ]
    passed = sum(rule.outcome == PASS for rule in gate.rules)
    mark = words.SEVERE if gate.failed else words.UNSURE if gate.warnings else words.NONE
    return fragment("gate.html.j2", tables=True, gate=gate, mark=mark, rows=rows, passed=passed, tally=tally(gate))
