"""The verdict as one plain sentence, for somebody who reads nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from countenance.audit.finding import Audit, Finding
from countenance.audit.verdict import DECIDES, DISPARITY, INSUFFICIENT, SMALLER, UNTESTABLE, plural, shown

REST = "rest"


def headline(found: Audit) -> str:
    """What the audit found, in one sentence.

    >>> from countenance.audit import audit
    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
    >>> headline(audit(rows, by=["sex"], metrics=["found"]))
    'sex = f does worse than sex = m: found is 0.500 against 0.950.'
    """
    if found.verdict == DISPARITY:
        return _disparity(found)
    if found.verdict == UNTESTABLE:
        return f"Nothing could be tested: {found.reason.removeprefix('nothing could be compared: ')}."
    if found.verdict == INSUFFICIENT:
        return _insufficient(found)
    words = f"No group differs from the others by {delta_words(found.settings)} or more"
    words += which_interval(found)
    real = [f for f in found.findings if SMALLER in f.reason]
    if real:
        most = max(real, key=lambda f: abs(f.difference))
        smaller = f"{most.metric} of {side_words(most)} is {shown(most.estimate)} against {shown(most.estimate_versus)}"
        words += f"; {smaller}: a real difference, but a smaller one"
    return f"{words}{_crossed(found)}."


def which_interval(found: Audit) -> str:
    """Which intervals decide, where one that is shown reaches δ; empty where none does."""
    if not any(DECIDES in f.reason for f in found.findings):
        return ""
    return f" ({100 * (1 - 2 * float(found.settings.get('alpha', 0.05))):g} % intervals decide that)"


def served_worse(finding: Finding) -> bool:
    """Whether somebody is shown to be served worse than somebody else, not only a group better than everyone else."""
    return finding.direction == "worse" or (finding.direction == "better" and finding.versus != REST)


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Disparities: who does worse before who does better, groups before intersections, large effects first."""

    def key(f: Finding) -> tuple[bool, int, bool, float]:
        size = abs(f.effect) if math.isfinite(f.effect) else 0.0
        return f.direction == "better" and f.versus == REST, f.depth, f.severity != "severe", -size

    return sorted((f for f in findings if f.verdict == DISPARITY), key=key)


def _disparity(found: Audit) -> str:
    ordered = by_weight(found.findings)
    first = _favoured(ordered) or ordered[0]
    group, versus = side_words(first), versus_words(first)
    one, two = first.estimate, first.estimate_versus
    way = first.direction
    if way == "better" and first.versus != REST:
        group, versus, one, two, way = versus, group, two, one, "worse"
    verb = {"worse": "does worse than", "better": "does better than", "": "differs from"}[way]
    words = f"{group} {verb} {versus}: {first.metric} is {shown(one)} against {shown(two)}"
    if found.settings.get("better", {}).get(first.metric) == "lower":
        words += ", and lower is better"
    elif not way:
        words += f" (which way is better was not said: better, or --better {first.metric}=lower)"
    others = len(ordered) - 1
    if others:
        words += f"; {plural(others, 'more comparison differs', 'more comparisons differ')}"
    if way == "better" and not any(served_worse(f) for f in ordered):
        words += "; nobody is shown to do worse"
    return f"{words}{_alarm(found)}."


def _favoured(ordered: Sequence[Finding]) -> Finding | None:
    """The group that all others look worse beside: far above the rest, while the others are a little below it."""
    first = ordered[0]
    better = [f for f in ordered if f.direction == "better" and f.versus == REST and f.metric == first.metric]
    better = [f for f in better if f.attribute == first.attribute and abs(f.difference) > 2 * abs(first.difference)]
    below = [f for f in ordered if f.direction == "worse" and f.attribute == first.attribute]
    return max(better, key=lambda f: abs(f.difference)) if better and len(below) > 1 else None


def _insufficient(found: Audit) -> str:
    missing = [e for e in found.excluded if e.get("untested") and _is_named(e, found.settings)]
    unsure = [f for f in found.findings if f.verdict == INSUFFICIENT]
    tested = sum(f.verdict != UNTESTABLE for f in found.findings)
    if not unsure and missing:
        first = missing[0]
        told = list(dict.fromkeys((e["attribute"], e["group"]) for e in missing))
        more = f" and {plural(len(told) - 1, 'other group', 'other groups')}" if len(told) > 1 else ""
        was = "was" if len(told) == 1 else "were"
        rest = f"what was tested does not differ by {delta_words(found.settings)} or more"
        return f"Cannot tell: {first['attribute']} = {first['group']}{more} {was} not tested ({first['why']}); {rest}."
    without = [name for name, delta in deltas_of(found.settings).items() if delta is None]
    if without and all(f.metric in without for f in unsure):
        return (
            f"No difference is shown; what size of difference matters in {without[0]} was not said "
            f"(delta, or --delta {without[0]}=5), so none can be ruled out{_alarm(found)}."
        )
    cannot = f"{len(unsure)} of {plural(tested, 'comparison', 'comparisons')}" if tested > 1 else "the only comparison"
    if not unsure:
        return f"Cannot tell: {found.reason}."
    deltas = deltas_of(found.settings)
    of_these = {"delta": {name: delta for name, delta in deltas.items() if any(f.metric == name for f in unsure)}}
    size = delta_words(of_these if of_these["delta"] else found.settings)
    return (
        f"No difference is shown, but {cannot} cannot rule out one of {size} or more: too little data{_alarm(found)}."
    )


def _alarm(found: Audit) -> str:
    """The first group that is too small to test and alarming."""
    for entry in found.excluded:
        if entry.get("alarming") and _is_named(entry, found.settings):
            return f". Not tested, and alarming: {entry['attribute']} = {entry['group']} ({entry['why']})"
    return ""


def _crossed(found: Audit) -> str:
    small = [f for f in found.findings if f.verdict == UNTESTABLE]
    if not small:
        return ""
    return f"; {plural(len(small), 'intersection was', 'intersections were')} too small to test"


def _is_named(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    named = settings.get("named")
    return named is None or entry["attribute"] in named


def side_words(finding: Finding) -> str:
    """A group with its attribute."""
    return f"{finding.attribute} = {finding.group}"


def versus_words(finding: Finding) -> str:
    """The other side of a comparison."""
    return "everyone else" if finding.versus == REST else f"{finding.attribute} = {finding.versus}"


def deltas_of(settings: Mapping[str, Any]) -> dict[str, float | None]:
    """Each metric's smallest difference that matters, also from settings that hold one number for all.

    >>> deltas_of({"delta": 0.05, "metrics": ["ok"]}), deltas_of({"delta": {"ok": 0.01}})
    ({'ok': 0.05}, {'ok': 0.01})
    """
    delta = settings.get("delta", 0.05)
    if isinstance(delta, Mapping):
        return {str(name): None if value is None else float(value) for name, value in delta.items()}
    return dict.fromkeys([str(name) for name in settings.get("metrics", [])] or [""], float(delta))


def delta_words(settings: Mapping[str, Any]) -> str:
    """The smallest differences that matter, in words.

    >>> delta_words({"delta": {"ok": 0.05}}), delta_words({"delta": {"ok": 0.05, "ms": 5.0, "dB": None}})
    ('0.05', '0.05 (ok), 5 (ms)')
    """
    known = {name: delta for name, delta in deltas_of(settings).items() if delta is not None}
    values = set(known.values())
    if len(values) == 1 and len(known) == len(deltas_of(settings)):
        return f"{values.pop():g}"
    return ", ".join(f"{delta:g} ({name})" for name, delta in known.items()) or "any size"
