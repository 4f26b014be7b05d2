"""A gate's outcome for people and machines: lines for a terminal, JUnit XML, Markdown."""

from __future__ import annotations

import math
import os
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from countenance.auditing.verdict import shown
from countenance.files import write_text
from countenance.gating.outcome import FAIL, INSUFFICIENT, PASS, WARN, Gate, RuleCheck, RuleOutcome
from countenance.gating.sample_sizes import needed_words
from countenance.report import words
from countenance.report.cards.tables import cell
from countenance.report.fragments import fragment
from countenance.report.groups import sides
from countenance.run.licences import in_words

MOST_LINES = 10
MOST_CHECKS, MOST_PASSED = 8, 3
MARKS = {PASS: "pass", FAIL: "FAIL", WARN: "warn", INSUFFICIENT: "unsure"}
SIGNS = {PASS: "✅", FAIL: "❌", WARN: "⚠️"}
_BAD = {code: "�" for code in [*range(0x20), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF] if code not in (9, 10, 13)}


def lines(gate: Gate, most: int = MOST_LINES, width: int | None = None) -> list[str]:
    """The outcome for a terminal: failed rules first, one line each with the worst group; passed rules are counted.

    No more than `most` lines, each no longer than `width` where that is known.
    """
    head = [
        f"gate     {'passed' if gate.passed else 'FAILED'}: {tally(gate)}",
        f"run      {gate.model} on {gate.dataset}",
    ]
    if gate.baseline:
        head.append(f"baseline {gate.baseline}")
    head += [f"note     {note}" for note in gate.notes[: max(0, most - len(head) - 3)]]
    open_rules = [*gate.failed, *gate.warnings]
    passed = [rule for rule in gate.rules if rule.outcome == PASS]
    last = [f"pass     {_counted(len(passed), 'rule')}"] if passed else []
    room = max(1, most - len(head) - len(last))
    shown = open_rules if len(open_rules) <= room else open_rules[: room - 1]
    body = [f"{MARKS[rule.outcome]:8} {rule_line(rule)}" for rule in shown]
    if len(shown) < len(open_rules):
        body.append(
            f"         and {len(open_rules) - len(shown)} more that did not pass; the JSON and the Markdown have all"
        )
    return [cut(line, width) for line in [*head, *body, *last]][:most]


def cut(line: str, width: int | None) -> str:
    """A line that fits a width.

    >>> cut("a long line", 7), cut("short", 7)
    ('a long…', 'short')
    """
    return line if width is None or len(line) <= width else line[: width - 1].rstrip() + "…"


def tally(gate: Gate) -> str:
    """How many rules failed, could not be decided and passed."""
    passed = sum(rule.outcome == PASS for rule in gate.rules)
    parts = [(len(gate.failed), "failed"), (len(gate.warnings), "undecided (a warning)"), (passed, "passed")]
    counts = ", ".join(f"{count} {word}" for count, word in parts if count)
    return f"of {_counted(len(gate.rules), 'rule')}, {counts}" if gate.rules else "no rules"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def rule_line(rule: RuleOutcome) -> str:
    """A rule that did not pass, with the group that decides it, its number and the interval that decided."""
    worst = rule.worst
    if worst is None:
        return f"{rule.name}: nothing to check"
    more = sum(check.evidence == rule.evidence for check in rule.checks) - 1
    also = f" (and {_counted(more, 'more group') if worst.group else f'{more} more'})" if more else ""
    return f"{rule.name}: {check_line(worst)}{also}"


def check_line(check: RuleCheck) -> str:
    """One check in few words: who, the number, the interval that decides, and what would decide it."""
    who, versus = sides(check.attribute, check.group, check.versus) if check.group else ("", "")
    if math.isnan(check.value):
        return f"{who or check.about}: {check.reason}"
    number = f"{shown(check.value)} [{shown(check.low)}, {shown(check.high)}]" if math.isfinite(check.low) else ""
    if not number:
        return f"{who or check.about}: {check.reason.partition(';')[0]}"
    if versus:
        number += f" against {versus}"
    if check.interval_words:
        number += f", {check.interval_words}"
    if check.evidence == INSUFFICIENT and check.units:
        if check.needed is not None:
            number += f"; needs {needed_words(check.needed, check.unit)} (has {check.units:,})"
        elif check.left_open:
            number += f"; {check.left_open}"
    return f"{who} {number}" if who else number


def worst_first(rule: RuleOutcome) -> list[RuleCheck]:
    """The checks to show: those that failed, then those that are undecided; of a rule that passes, a few."""
    open_ones = [check for check in rule.ordered if check.evidence != PASS]
    return open_ones[:MOST_CHECKS] or sorted(rule.checks, key=_room)[:MOST_PASSED]


def _room(check: RuleCheck) -> float:
    """A sort key for passed checks: the lowest numbers first, checks without a number last."""
    return check.low if math.isfinite(check.low) else check.value if math.isfinite(check.value) else math.inf


def _rule_words(rule: RuleOutcome) -> str:
    name = rule.title or rule.name
    if rule.evidence != INSUFFICIENT:
        return name
    meaning = {FAIL: "a failure", WARN: "a warning", PASS: "a pass"}[rule.outcome]
    return f"{name}: not enough evidence, which the policy makes {meaning}"


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
            message = _quoted("insufficient evidence, which the policy makes a failure")
            cases.append(
                _open(rule, f"{rule.name}: evidence") + f">\n      <failure message={message}/>\n    </testcase>"
            )
            counts["failures"] += 1
    counts["tests"] = len(cases)
    numbers = " ".join(f'{name}="{value}"' for name, value in counts.items())
    facts = {
        "run": gate.run,
        "model": gate.model,
        "dataset": gate.dataset,
        "baseline": gate.baseline or "",
        "alpha": f"{gate.alpha:g}",
        "summary": gate.summary,
        "licences": in_words(gate.licences),
        "countenance": gate.countenance,
        "notes": "; ".join(gate.notes),
    }
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
    takes = f"; needs {needed_words(check.needed, check.unit)}, there are {check.units:,}" if check.needed else ""
    message = f"insufficient evidence: {check.reason}{takes}"
    return f"{start}>\n      <skipped message={_quoted(message)}/>\n    </testcase>"


def _quoted(text: str) -> str:
    return quoteattr(text.translate(_BAD).encode("utf-8", "replace").decode())


def _text(text: str) -> str:
    return escape(text.translate(_BAD).encode("utf-8", "replace").decode())


def markdown(gate: Gate) -> str:
    """The outcome as Markdown, for a job summary or a pull request: what did not pass first, every check in a folded
    part."""
    sign, word = (SIGNS[PASS], "passed") if gate.passed else (SIGNS[FAIL], "failed")
    text_lines = [f"## {sign} Gate {word}: {cell(gate.model)} on {cell(gate.dataset)}", ""]
    text_lines += [f"{cell(tally(gate)[:1].upper() + tally(gate)[1:])}.", ""]
    open_rules = [*gate.failed, *gate.warnings]
    if open_rules:
        text_lines += ["| | rule | worst group, number and the interval that decides |", "|---|---|---|"]
        for rule in open_rules:
            worst = check_line(rule.worst) if rule.worst else "nothing to check"
            text_lines.append(f"| {SIGNS[rule.outcome]} | {cell(rule.title or rule.name)} | {cell(worst)} |")
        text_lines.append("")
    text_lines += [line for note in gate.notes for line in (f"> {cell(note)}", "")]
    text_lines += ["<details><summary>Every rule and check</summary>", ""]
    text_lines += ["| | rule | number and the interval that decides | people, images or rows |", "|---|---|---|---:|"]
    for rule in sorted(gate.rules, key=lambda rule: (FAIL, WARN, PASS).index(rule.outcome)):
        text_lines.append(f"| {SIGNS[rule.outcome]} | **{cell(_rule_words(rule))}** | | |")
        text_lines += _check_lines(rule, gate)
    baseline = f" Baseline: `{cell(gate.baseline)}`." if gate.baseline else ""
    licences = f"Licences: {cell(in_words(gate.licences))}. Made by countenance {gate.countenance}."
    text_lines += ["", "</details>", "", f"Each rule is one test at level {gate.alpha:g}.{baseline} {licences}"]
    return "\n".join(text_lines) + "\n"


def _check_lines(rule: RuleOutcome, gate: Gate) -> list[str]:
    """The checks of a rule as rows of the table."""
    shown, rows = worst_first(rule), []
    for check in shown:
        size = f"{check.units:,} {check.unit}" if check.units else ""
        if check.needed:
            size += f" (needs {needed_words(check.needed, check.unit)})"
        sign = {PASS: SIGNS[PASS], FAIL: SIGNS[FAIL], INSUFFICIENT: "❔"}[check.evidence]
        rows.append(f"| {sign} | {cell(check_subject(check, gate))} | {cell(check.reason)} | {cell(size)} |")
    return rows + ([f"| | and {len(rule.checks) - len(shown)} more | | |"] if len(shown) < len(rule.checks) else [])


def check_subject(check: RuleCheck, gate: Gate) -> str:
    """The subject of a check in words: the metric and the group, with the side that it is compared with."""
    metric = gate.metric_nouns.get(check.metric, check.metric)
    if not check.group:
        return metric if check.about == check.metric else check.about
    who, versus = sides(check.attribute, check.group, check.versus)
    about = f"{who} against {versus}" if versus else who
    return f"{metric}: {about}" if metric else about


def write_summary(gate: Gate, path: Path | None) -> None:
    """Write the Markdown to a file, and append it to GitHub's job summary where there is one."""
    text = markdown(gate)
    if path is not None:
        write_text(path, text)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.write(text)


def gate_html(gate: Gate) -> str:
    """The outcome in one box of a notebook: failed rules first with the worst group, then the undecided.

    Passed rules are counted.

    >>> from countenance.gating.outcome import RuleCheck, RuleOutcome
    >>> check = RuleCheck(about="ok", evidence="fail", reason="0.5; wanted at least 0.9")
    >>> rule = RuleOutcome.of("ok at least 0.9", "estimate", "fail", [check])
    >>> "may not ship" in gate_html(Gate(passed=False, run="r", model="m", dataset="d", alpha=0.05, rules=[rule]))
    True
    """
    marks = {FAIL: (words.SEVERE, "failed"), WARN: (words.UNSURE, "undecided")}
    rows = [
        (*marks[rule.outcome], rule.title or rule.name, rule.name, check_line(rule.worst) if rule.worst else "")
        for rule in [*gate.failed, *gate.warnings]
    ]
    passed = sum(rule.outcome == PASS for rule in gate.rules)
    mark = words.SEVERE if gate.failed else words.UNSURE if gate.warnings else words.NONE
    return fragment("gate.html.j2", tables=True, gate=gate, mark=mark, rows=rows, passed=passed, tally=tally(gate))
