"""From numbers to words: each finding's verdict with its reason, and the audit's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from countenance.audit.codes import rounded_up
from countenance.audit.comparisons import Draft, direction
from countenance.audit.effects import cohen_h
from countenance.audit.finding import Finding
from countenance.audit.power import growth
from countenance.audit.settings import Judged, Settings

UNTESTABLE, DISPARITY, INSUFFICIENT = "untestable", "disparity", "insufficient evidence"
SMALLER = "a real difference, smaller than"
DECIDES = "% interval decides that"
"""In a reason: the interval that is shown reaches δ, the one that decides does not."""
MOST_NAMED = 4


def none_larger(delta: float | None) -> str:
    """The words for a difference shown to be small.

    >>> none_larger(0.1), none_larger(None)
    ('none larger than 0.1', 'none larger than δ')
    """
    return "none larger than δ" if delta is None else f"none larger than {delta:g}"


def plural(n: int, one: str, many: str) -> str:
    """A count with its noun.

    >>> plural(1, "person", "people"), plural(2400, "row", "rows")
    ('1 person', '2,400 rows')
    """
    return f"{n:,} {one if n == 1 else many}"


def decides(alpha: float) -> str:
    """Which interval shows that a difference is small, where the one that is printed is wider.

    >>> decides(0.05)
    'the 90 % interval decides that (two one-sided tests), not the 95 % one shown'
    """
    narrow, wide = 100 * (1 - 2 * alpha), 100 * (1 - alpha)
    return f"the {narrow:g} {DECIDES} (two one-sided tests), not the {wide:g} % one shown"


def concluded(
    draft: Draft, p_adjusted: float, level: float, family: str, size: int, settings: Settings, nouns: tuple[str, str],
    floor: float = 0.0,
) -> Finding:  # fmt: skip
    """One comparison with its verdict: the interval against 0 and ±δ, and the adjusted p.

    `floor` is the smallest p that the adjustment can give; such a p is printed as "< floor".
    """
    values = draft.values | {"family": family, "family_size": size, "note": draft.note, "alarming": draft.alarming}
    values["direction"] = direction(values.get("difference", math.nan), draft.judged.better)
    if draft.untestable:
        blank = {"p": math.nan, "statistic": math.nan, "z": math.nan, "test": ""}
        return Finding(**(values | blank | {"verdict": UNTESTABLE, "reason": _why_untestable(draft)}))
    delta = draft.judged.delta
    values |= {"p_adjusted": p_adjusted, "p_equivalence": draft.p_equivalence, "alarming": False}
    sides = f"{shown(values['estimate'])} against {shown(values['estimate_versus'])}"
    gap = f"difference {shown(values['difference'], sign=True)}"
    told = f"adjusted p {p_words(p_adjusted, floor)}"
    real = not math.isnan(p_adjusted) and p_adjusted < settings.alpha
    mde, seen = draft.detectable(level, settings.power) if math.isfinite(level) else (math.nan, math.nan)
    values |= {"mde": mde, "mde_difference": seen, "mde_alpha": level}
    if draft.smaller and delta is not None:
        why = f"{SMALLER} {delta:g} ({told})" if real else f"any difference is smaller than {delta:g}"
        bounds = (
            "" if math.isnan(values["diff_low"]) else f" [{shown(values['diff_low'])}, {shown(values['diff_high'])}]"
        )
        if max(-values["diff_low"], values["diff_high"]) >= delta:
            why += f"; {decides(settings.alpha)}"
        return Finding(**values, verdict=none_larger(delta), reason=f"{sides}, {gap}{bounds}: {why}")
    if real:
        limit = settings.h0 if values["kind"] == "rate" else settings.r0
        severity = "severe" if draft.severity_effect > limit else "minor"
        reason = f"{sides}: {gap}, {told}"
        if values["effect_name"] != "difference":
            reason += f", {values['effect_name']} {values['effect']:+.2f}"
        return Finding(**values, verdict=DISPARITY, severity=severity, reason=reason)
    needed = Needed(draft, seen, mde, delta)
    values |= {"n_needed": needed.rows, "clusters_needed": needed.units}
    if math.isnan(p_adjusted):
        told = "neither side varies, so there is no test"
    return Finding(**values, verdict=INSUFFICIENT, reason=f"{sides}: {told}; {needed.sentence(settings.power, nouns)}")


class Needed:
    """How many rows and units a group needs so that a difference would be seen; None: that cannot be said."""

    def __init__(self, draft: Draft, seen: float, mde: float, target: float | None) -> None:
        self.draft, self.seen, self.target = draft, seen, target
        self.rows: int | None = None
        self.units: int | None = None
        self.both = False
        ratio = math.nan if target is None else seen / target
        values = draft.values
        if target is not None and values["effect_name"] == "h":
            # on the scale on which the smallest visible effect is worked out
            away = h_of_gap(values["estimate_versus"], target)
            ratio = mde / away if away > 0 else math.nan
        if math.isfinite(ratio):
            times, self.both = growth(draft.share, ratio)
            self.rows = rounded_up(values["n"] * times)
            self.units = rounded_up(values["clusters"] * times)

    def sentence(self, power: float, nouns: tuple[str, str]) -> str:
        """What would be seen with what there is, and what it would take."""
        here = int(self.draft.values["clusters"])
        there = f"with {plural(here, *nouns)} here"
        if math.isfinite(self.seen):
            said = f"{there} a difference of {shown(self.seen)} would be seen {power:.0%} of the time"
        else:
            said = f"{there} no difference, however large, would be seen {power:.0%} of the time"
        if self.target is None:
            return f"{said}; no smallest difference that matters was named for {self.draft.values['metric']} (delta)"
        if self.units is None:
            return said
        if self.units <= here:
            return f"{said}; {self.target:g} would have been seen, but is not ruled out"
        return f"{said}; seeing {self.target:g} takes about {self.more(nouns)}"

    def more(self, nouns: tuple[str, str]) -> str:
        """How many more units it takes, in words."""
        count = (self.units or 0) - int(self.draft.values["clusters"])
        side = " and as large a share more on the other side" if self.both else ""
        return f"{plural(count, f'more {nouns[0]}', f'more {nouns[1]}')} here{side}"


def h_of_gap(rate: float, gap: float) -> float:
    """Cohen's h of a rate that lies a gap away from another, away from the nearer end; NaN: there is none.

    >>> round(h_of_gap(0.95, 0.05), 4)
    0.1925
    """
    moved = rate - gap if rate >= 0.5 else rate + gap
    return abs(cohen_h(moved, rate)) if 0 <= moved <= 1 else math.nan


def _why_untestable(draft: Draft) -> str:
    if not draft.alarming:
        return draft.untestable
    values = draft.values
    if values["kind"] == "rate":
        seen = f"{round(values['estimate'] * values['n']):,} of {values['n']:,}"
    else:
        seen = shown(values["estimate"])
    return f"{draft.untestable}: {seen} against {shown(values['estimate_versus'])}: too few to test, and alarming"


def shown(value: float, *, sign: bool = False) -> str:
    """A number as a sentence has it: three decimals below 10, fewer above.

    >>> shown(0.9312), shown(-0.05, sign=True), shown(212.345)
    ('0.931', '-0.050', '212.3')
    """
    digits = 3 if abs(value) < 9.9995 else 1 if abs(value) < 9999.95 else 0
    return f"{value:+,.{digits}f}" if sign else f"{value:,.{digits}f}"


def p_words(p: float, floor: float) -> str:
    """A p-value; the smallest one that the adjustment can give is printed as a bound.

    >>> p_words(0.031, 0.0005), p_words(0.0005, 0.0005)
    ('0.031', '< 0.0005')
    """
    return f"< {floor:.2g}" if floor and p <= floor * (1 + 1e-9) else f"{p:.2g}"


def overall(
    findings: Sequence[Finding],
    excluded: Sequence[Mapping[str, Any]],
    judged: Mapping[str, Judged],
    named: Sequence[str] | None = None,
) -> tuple[str, str]:
    """The audit's verdict: the worst of its findings, and no all-clear over groups that were never tested.

    `named` are the attributes whose groups must all have been tested.

    >>> overall([], [], {})
    ('untestable', 'nothing could be compared')
    """
    disparities = [f for f in findings if f.verdict == DISPARITY]
    unsure = [f for f in findings if f.verdict == INSUFFICIENT]
    untested = [f for f in findings if f.verdict == UNTESTABLE]
    small = [f for f in findings if f.verdict.startswith("none")]
    tested = len(findings) - len(untested)
    missing = _missing(excluded, named)
    aside = _aside(untested, missing)
    if disparities:
        worst = min(disparities, key=lambda f: (f.severity != "severe", f.direction == "better", f.p_adjusted))
        severe = sum(f.severity == "severe" for f in disparities)
        differ = "differs" if len(disparities) == 1 else "differ"
        return DISPARITY, (
            f"{len(disparities)} of {plural(tested, 'comparison', 'comparisons')} {differ} ({severe} severe); "
            f"strongest: {worst.metric} of {worst.attribute} = {worst.group} against {worst.versus}, "
            f"{worst.reason}{aside}"
        )
    if not tested:
        whys = list(dict.fromkeys(_why_in_full(entry) for entry in excluded))
        more = f" and {len(whys) - MOST_NAMED} more" if len(whys) > MOST_NAMED else ""
        return UNTESTABLE, "nothing could be compared" + (f": {'; '.join(whys[:MOST_NAMED])}{more}" if whys else "")
    if unsure:
        weakest = max(unsure, key=lambda f: f.mde if math.isfinite(f.mde) else -1.0)
        return INSUFFICIENT, (
            f"no disparity shown, but {len(unsure)} of {plural(tested, 'comparison', 'comparisons')} cannot rule out "
            f"a difference that matters; least is known about {weakest.metric} of {weakest.attribute} = "
            f"{weakest.group}, {weakest.reason}{aside}"
        )
    every = "the only comparison rules" if tested == 1 else f"all {tested} comparisons that were tested rule"
    words = f"{every} out a difference of {_deltas(small, judged)}"
    real = [f for f in small if SMALLER in f.reason]
    if real:
        which = "the difference is" if tested == 1 else plural(len(real), "of them is", "of them are")
        words += f"; {which} real, but smaller than that"
    if missing:
        return INSUFFICIENT, f"{_not_tested(missing)}; {words}"
    return none_larger(_common(judged)), words + aside


def _why_in_full(entry: Mapping[str, Any]) -> str:
    """Why a group was not tested, with its attribute: "in no, fewer than 20" is hard to read alone.

    >>> _why_in_full({"attribute": "masked", "group": "no", "why": "3 people in no, fewer than 20"})
    '3 people in masked = no, fewer than 20'
    """
    group = entry["group"]
    return str(entry["why"]).replace(f" in {group},", f" in {entry['attribute']} = {group},", 1)


def _deltas(findings: Sequence[Finding], judged: Mapping[str, Judged]) -> str:
    told = {f.metric: judged[f.metric].delta for f in findings if f.metric in judged}
    values = set(told.values())
    if len(values) == 1:
        return f"{values.pop():g} or more"
    return ", ".join(f"{delta:g} ({metric})" for metric, delta in told.items()) + " or more"


def _common(judged: Mapping[str, Judged]) -> float | None:
    values = {one.delta for one in judged.values()}
    return values.pop() if len(values) == 1 else None


def _missing(excluded: Sequence[Mapping[str, Any]], named: Sequence[str] | None) -> list[Mapping[str, Any]]:
    """Groups of named attributes that were not tested, the alarming first."""
    found = [e for e in excluded if e.get("untested") and (named is None or e["attribute"] in named)]
    return sorted(found, key=lambda e: not e.get("alarming"))


def _not_tested(missing: Sequence[Mapping[str, Any]]) -> str:
    told = list(dict.fromkeys(f"{e['attribute']} = {e['group']} ({e['why']})" for e in missing))
    more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
    word = "1 group was not tested" if len(told) == 1 else f"{len(told)} groups were not tested"
    return f"{word}: {'; '.join(told[:MOST_NAMED])}{more}"


def _aside(untested: Sequence[Finding], missing: Sequence[Mapping[str, Any]]) -> str:
    """What could not be tested, said beside the verdict; an alarming group is named."""
    if not untested:
        return ""
    alarming = [e for e in missing if e.get("alarming")]
    told = f"; {len(untested)} more could not be tested"
    if alarming:
        told += f", among them {alarming[0]['attribute']} = {alarming[0]['group']} ({alarming[0]['why']})"
    return told
