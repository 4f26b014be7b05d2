"""A gate's outcome for people and machines: lines for a terminal, JUnit XML, Markdown."""

from __future__ import annotations

import math
import os
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from countenance.files import write_text
from countenance.gating.outcome import FAIL, INSUFFICIENT, PASS, WARN, Gate, RuleCheck, RuleOutcome
from countenance.report.cards.tables import cell
from countenance.run.licences import in_words

MOST_CHECKS, MOST_PASSED = 8, 3
MARKS = {PASS: "pass", FAIL: "FAIL", WARN: "warn", INSUFFICIENT: "unsure"}
SIGNS = {PASS: "✅", FAIL: "❌", WARN: "⚠️"}
_BAD = {code: "�" for code in [*range(0x20), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF] if code not in (9, 10, 13)}


def lines(gate: Gate) -> list[str]:
    """The outcome as a table for a terminal: each rule with its checks, the undecided and failed ones first."""
    made = [f"gate     {'passed' if gate.passed else 'FAILED'}: {gate.summary}"]
    made.append(f"run      {gate.model} on {gate.dataset} ({gate.run})")
    if gate.baseline:
        made.append(f"baseline {gate.baseline}")
    made += [f"note     {note}" for note in gate.notes]
    made += [f"licences {in_words(gate.licences)}", ""]
    for rule in gate.rules:
        made.append(f"{MARKS[rule.outcome]:5} {_rule_words(rule)}")
        shown = worst_first(rule)
        made += [f"      {MARKS[check.evidence]:6}  {check.about}: {check.reason}{_takes(check)}" for check in shown]
        if len(shown) < len(rule.checks):
            made.append(f"              and {len(rule.checks) - len(shown)} more (--json has all)")
    return made


def worst_first(rule: RuleOutcome) -> list[RuleCheck]:
    """The checks to show: those that failed, then those that are undecided; of a rule that passes, a few."""
    ordered = sorted(rule.checks, key=lambda check: (FAIL, INSUFFICIENT, PASS).index(check.evidence))
    open_ones = [check for check in ordered if check.evidence != PASS]
    return open_ones[:MOST_CHECKS] or sorted(ordered, key=_room)[:MOST_PASSED]


def _room(check: RuleCheck) -> float:
    """The passed checks with the lowest numbers first; those without a number last."""
    return check.low if math.isfinite(check.low) else check.value if math.isfinite(check.value) else math.inf


def _takes(check: RuleCheck) -> str:
    """How many units it takes, where the reason does not say it."""
    if check.evidence != INSUFFICIENT or check.needed is None or "takes about" in check.reason:
        return ""
    return f"; it takes about {check.needed:,} {check.unit}"


def _rule_words(rule: RuleOutcome) -> str:
    if rule.evidence != INSUFFICIENT:
        return rule.name
    made = {FAIL: "a failure", WARN: "a warning", PASS: "a pass"}[rule.outcome]
    return f"{rule.name}: insufficient evidence, which the policy makes {made}"


def junit(gate: Gate) -> str:
    """JUnit XML: a test case for every check.

    Insufficient evidence is a skipped test, with the number of people (images, rows) it would take. Where the policy
    makes it a failure, one more test case of the rule says so, so that the report and the exit code agree.
    """
    cases = []
    counts = {"tests": 0, "failures": 0, "skipped": 0}
    for rule in gate.rules:
        for check in rule.checks:
            cases.append(_case(rule, f"{rule.name}: {check.about}", check))
            counts["failures"] += check.evidence == FAIL
            counts["skipped"] += check.evidence == INSUFFICIENT
        if rule.evidence == INSUFFICIENT and rule.outcome == FAIL:
            said = "insufficient evidence, which the policy makes a failure"
            cases.append(
                _open(rule, f"{rule.name}: evidence") + f">\n      <failure message={_quoted(said)}/>\n    </testcase>"
            )
            counts["failures"] += 1
    counts["tests"] = len(cases)
    numbers = " ".join(f'{name}="{value}"' for name, value in counts.items())
    facts = {
        "run": gate.run, "model": gate.model, "dataset": gate.dataset, "baseline": gate.baseline or "",
        "alpha": f"{gate.alpha:g}", "summary": gate.summary, "licences": in_words(gate.licences),
        "countenance": gate.countenance, "notes": "; ".join(gate.notes),
    }  # fmt: skip
    properties = [f"      <property name={_quoted(name)} value={_quoted(value)}/>" for name, value in facts.items()]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="countenance gate" {numbers}>',
            f'  <testsuite name={_quoted(f"{gate.model} on {gate.dataset}")} {numbers} errors="0" time="0">',
            "    <properties>",
            *properties,
            "    </properties>",
            *(f"    {case}" for case in cases),
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _open(rule: RuleOutcome, name: str) -> str:
    return f'<testcase classname="countenance.gate.{rule.kind}" name={_quoted(name)} time="0"'


def _case(rule: RuleOutcome, name: str, check: RuleCheck) -> str:
    start = _open(rule, name)
    if check.evidence == PASS:
        return f"{start}>\n      <system-out>{_text(check.reason)}</system-out>\n    </testcase>"
    if check.evidence == FAIL:
        return f'{start}>\n      <failure type="{rule.kind}" message={_quoted(check.reason)}/>\n    </testcase>'
    takes = f"; needs about {check.needed:,} {check.unit}, there are {check.units:,}" if check.needed else ""
    said = f"insufficient evidence: {check.reason}{takes}"
    return f"{start}>\n      <skipped message={_quoted(said)}/>\n    </testcase>"


def _quoted(text: str) -> str:
    return quoteattr(text.translate(_BAD).encode("utf-8", "replace").decode())


def _text(text: str) -> str:
    return escape(text.translate(_BAD).encode("utf-8", "replace").decode())


def markdown(gate: Gate) -> str:
    """The outcome as Markdown, for a job summary or a pull request."""
    sign, word = (SIGNS[PASS], "passed") if gate.passed else (SIGNS[FAIL], "failed")
    made = [
        f"## {sign} Gate {word}: {cell(gate.model)} on {cell(gate.dataset)}",
        "",
        f"{cell(gate.summary[:1].upper() + gate.summary[1:])}.",
        "",
    ]
    made += [line for note in gate.notes for line in (f"> {cell(note)}", "")]
    made += ["| | rule | number and interval | people, images or rows |", "|---|---|---|---:|"]
    for rule in gate.rules:
        made.append(f"| {SIGNS[rule.outcome]} | **{cell(_rule_words(rule))}** | | |")
        shown = worst_first(rule)
        for check in shown:
            size = f"{check.units:,} {check.unit}" if check.units else ""
            if check.needed:
                size += f" (needs about {check.needed:,})"
            sign = {PASS: SIGNS[PASS], FAIL: SIGNS[FAIL], INSUFFICIENT: "❔"}[check.evidence]
            made.append(f"| {sign} | {cell(check.about)} | {cell(check.reason)} | {cell(size)} |")
        if len(shown) < len(rule.checks):
            made.append(f"| | and {len(rule.checks) - len(shown)} more | | |")
    baseline = f" Baseline: `{cell(gate.baseline)}`." if gate.baseline else ""
    made += [
        "",
        f"Each rule is one test at level {gate.alpha:g}.{baseline} Licences: {cell(in_words(gate.licences))}. ",
    ]
    made[-1] += f"Made by countenance {gate.countenance}."
    return "\n".join(made) + "\n"


def write_summary(gate: Gate, path: Path | None) -> None:
    """Write the Markdown to a file, and append it to GitHub's job summary where there is one."""
    text = markdown(gate)
    if path is not None:
        write_text(path, text)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.write(text)
