"""Converts numbers to words: each finding's verdict with its reason, and the audit's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countenance.auditing.codes import rounded_up
from countenance.auditing.comparisons import Draft
from countenance.auditing.directions import LOWER
from countenance.auditing.effects import cohen_h, effect_label
from countenance.auditing.finding import Finding, Widest
from countenance.auditing.groups import SPLIT
from countenance.auditing.power import growth
from countenance.auditing.ratio import RARE, Ratio
from countenance.auditing.settings import FEWEST, AuditSettings, Judged
from countenance.auditing.units import plural, too_few

UNTESTABLE, DISPARITY, INSUFFICIENT = "untestable", "disparity", "insufficient evidence"
SMALLER = "a real difference, smaller than"
DECIDES = "% interval decides that"
RARELY = "failures are rare"
"""Part of a reason: the interval that is shown reaches δ, but the deciding one does not."""
MOST_NAMED = 4


def none_larger(delta: float | None) -> str:
    """The words for a difference shown to be small.

    >>> none_larger(0.1), none_larger(None)
    ('none larger than 0.1', 'none larger than δ')
    """
    return "none larger than δ" if delta is None else f"none larger than {delta:g}"


def decides(alpha: float) -> str:
    """Which interval shows that a difference is small, where the printed interval is wider.

    >>> decides(0.05)
    'the 90 % interval decides that (two one-sided tests), not the 95 % one shown'
    """
    narrow, wide = 100 * (1 - 2 * alpha), 100 * (1 - alpha)
    return f"the {narrow:g} {DECIDES} (two one-sided tests), not the {wide:g} % one shown"


@dataclass(frozen=True)
class VerdictQuestion:
    """What every conclusion of an audit needs besides the comparison: settings, what units are called, the smallest p.

    `floor` is the smallest p that the adjustment can give; such a p is printed as "< floor". `row` is the noun for one
    of several rows of a unit.
    """

    settings: AuditSettings
    nouns: tuple[str, str]
    floor: float = 0.0
    row: str = "picture"

    def counted(self, n: int, units: int) -> str:
        """The counts in words: rows where each person has one, else pictures (or rows) of this many people.

        >>> VerdictQuestion(AuditSettings(), ("person", "people")).counted(200, 25)
        '200 pictures of 25 people'
        >>> VerdictQuestion(AuditSettings(), ("person", "people")).counted(25, 25)
        '25 rows'
        """
        if n == units:
            return plural(n, "row", "rows")
        return f"{plural(n, self.row, f'{self.row}s')} of {plural(units, *self.nouns)}"


def concluded(
    draft: Draft, p_adjusted: float, level: float, family: tuple[str, int], question: VerdictQuestion
) -> Finding:
    """One comparison with its verdict: the interval against 0 and ±δ, and the adjusted p; `family`: name and size."""
    values = draft.values
    values |= {"family": family[0], "family_size": family[1], "note": draft.note}
    values.setdefault("counted", question.counted(values["n"], values["clusters"]))
    values.setdefault("counted_versus", question.counted(values["n_versus"], values["clusters_versus"]))
    if draft.tests and len(draft.tests) > 1:
        values |= {f"p_{name}": test.p for name, test in draft.tests.items() if name in ("mean", "rank")}
    real = p_adjusted < question.settings.alpha
    if not draft.untestable and (real or draft.smaller):
        draft.untestable = _few_people(values, question)
    if draft.untestable:
        return _of_few(draft, p_adjusted, question)
    mde, seen = draft.detectable(level, question.settings.power) if math.isfinite(level) else (math.nan, math.nan)
    values |= {
        "p_adjusted": p_adjusted,
        "p_equivalence": draft.p_equivalence,
        "mde": mde,
        "mde_difference": seen,
        "mde_alpha": level,
    }
    overruled = real and (draft.ranks_decided or draft.rare)
    if draft.smaller and draft.judged.delta is not None and not overruled:
        verdict = none_larger(draft.judged.delta) + (" times" if values["effect_name"] == "ratio" else "")
        return Finding(**values, verdict=verdict, reason=_small_words(draft, real, question))
    if real:
        return _disparity(draft, question)
    needed = Needed(draft, seen, mde, draft.judged.delta)
    values |= {"n_needed": needed.rows, "clusters_needed": needed.units}
    visible = needed.sentence(question.settings.power, question.nouns)
    reason = f"{_sides(values)}: {_p_words(p_adjusted, question, values['effect_name'])}; {visible}"
    return Finding(**values, verdict=INSUFFICIENT, reason=reason + (f"; {draft.unclear}" if draft.unclear else ""))


def _few_people(values: Mapping[str, Any], question: VerdictQuestion) -> str:
    """Why a comparison of two groups cannot reach a verdict although `min_n` alone would allow it."""
    if values["comparison"] not in ("rest", "pairs", "reference"):
        return ""
    sides = ((values["group"], values["clusters"]), (values["versus"], values["clusters_versus"]))
    few = [(name, units) for name, units in sides if units < FEWEST]
    return too_few(few[0][1], question.nouns, FEWEST, few[0][0]) if few else ""


def _sides(values: Mapping[str, Any]) -> str:
    """Both numbers with their counts; for missing scores, it says that these are shares of missing scores."""
    what = "missing scores " if values["kind"] == "missing" else ""
    first = f"{shown(values['estimate'])} in {values['counted']}"
    return f"{what}{first} against {shown(values['estimate_versus'])} in {values['counted_versus']}"


def _p_words(p_adjusted: float, question: VerdictQuestion, effect: str = "") -> str:
    if math.isnan(p_adjusted):
        return "there is no test" if effect == "ratio" else "neither side varies, so there is no test"
    return f"adjusted p {p_words(p_adjusted, question.floor)}"


def _gap_words(values: Mapping[str, Any]) -> str:
    if math.isnan(values.get("diff_low", math.nan)):
        return f"difference {shown(values['difference'], sign=True)}"
    low, high = shown(values["diff_low"]), shown(values["diff_high"])
    return f"difference {shown(values['difference'], sign=True)} [{low}, {high}]"


def _ratio_words(draft: Draft) -> str:
    """The ratio of failures beside the points, where one side fails rarely."""
    values, ratio = draft.values, draft.values.get("failure_ratio")
    if ratio is None or ratio.low is None or values["kind"] == "missing":
        return ""
    rates = values["estimate"], values["estimate_versus"]
    failing, other = (rate if draft.judged.better == LOWER else 1 - rate for rate in rates)
    if min(failing, other) >= RARE:
        return ""
    others = "the rest" if values["versus"] == "rest" else values["versus"]
    return ratio_words(ratio, others if other > failing else "")


def ratio_words(ratio: Ratio, whose: str = "") -> str:
    """A ratio of failures with its interval; `whose` names the failing side if it is not the first.

    >>> ratio_words(Ratio(22.0, 9.877, 48.64)), ratio_words(Ratio(None, 3.2, None))
    (', 22 times as many failures [9.9, 48.6]', ', at least 3.2 times as many failures')
    >>> ratio_words(Ratio(1040.0, 131.7, None))
    ', 1,040 times as many failures [132, any]'
    >>> ratio_words(Ratio(2.35, 2.1, 2.62), "the rest")
    ', 2.35 times as many failures for the rest [2.1, 2.62]'
    """
    failures = f"times as many failures for {whose}" if whose else "times as many failures"
    if ratio.value is None:
        return f", at least {times(ratio.low, 2)} {failures}" if ratio.low is not None else ""
    low = "0" if ratio.low is None else times(ratio.low, 2)
    high = "any" if ratio.high is None else times(ratio.high, 3)
    return f", {times(ratio.value, 3)} {failures} [{low}, {high}]"


def times(ratio: float, digits: int) -> str:
    """A ratio with this many digits, a large one as a whole number.

    >>> times(3.2461, 2), times(131.7, 2)
    ('3.2', '132')
    """
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.{digits}g}"


def _small_words(draft: Draft, real: bool, question: VerdictQuestion) -> str:
    values, delta = draft.values, draft.judged.delta or 0.0
    conclusion = (
        f"{SMALLER} {delta:g} ({_p_words(values['p_adjusted'], question)})"
        if real
        else (f"any difference is smaller than {delta:g}")
    )
    if max(-values.get("diff_low", 0.0), values.get("diff_high", 0.0)) >= delta:
        conclusion += f"; {decides(question.settings.alpha)}: [{shown(values['low_equivalence'])}, "
        conclusion += f"{shown(values['high_equivalence'])}]"
    return f"{_sides(values)}, {_gap_words(values)}{_ratio_words(draft)}: {conclusion}"


def _disparity(draft: Draft, question: VerdictQuestion) -> Finding:
    values, settings = draft.values, question.settings
    by_rate = values["metric_kind"] == "rate" and not draft.ranks_decided
    limit = settings.h0 if by_rate else settings.r0
    if values["effect_name"] == "ratio":
        limit = math.log(draft.judged.delta or 2.0)
    severity = "severe" if draft.severity_effect > limit else "minor"
    reason = f"{_sides(values)}: {_gap_words(values)}{_ratio_words(draft)}"
    if draft.ranks_decided:
        way = "lower" if values["effect"] < 0 else "higher"
        reason += f"; the typical value is {way} (by ranks)"
    reason += f", {_p_words(values['p_adjusted'], question)}"
    if values["effect_name"] == "ratio":
        limits = shown(values["effect_low"]), shown(values["effect_high"])
        reason += f", ratio {shown(values['effect'])} [{limits[0]}, {limits[1]}]"
    elif values["effect_name"] != "difference":
        reason += f", {effect_label(values['effect_name'])} {values['effect']:+.2f}"
    if draft.smaller and draft.rare:
        reason += f"; smaller than {draft.judged.delta:g}, but {RARELY}"
    return Finding(**values, verdict=DISPARITY, severity=severity, reason=reason)


def _of_few(draft: Draft, p_adjusted: float, question: VerdictQuestion) -> Finding:
    """The verdict on fewer people than an all-clear needs: a disparity where a permutation test shows one."""
    values = draft.values
    if not draft.small or math.isnan(p_adjusted):
        blank = {"p": math.nan, "p_mean": math.nan, "p_rank": math.nan, "test": "", "test_statistic": math.nan}
        return Finding(**(values | blank | {"z": math.nan}), verdict=UNTESTABLE, reason=draft.untestable)
    values["p_adjusted"] = p_adjusted
    if p_adjusted < question.settings.alpha:
        finding = _disparity(draft, question)
        return finding.model_copy(update={"reason": f"{draft.untestable}, tested by permutation: {finding.reason}"})
    shuffled = f"by permutation of {question.nouns[1]}, {_p_words(p_adjusted, question)}"
    reason = f"{draft.untestable}: too few to clear; {shuffled}"
    return Finding(**values, verdict=UNTESTABLE, reason=f"{reason}; {_sides(values)}")


class Needed:
    """How many rows and units a group needs so that a difference would be seen; None if this cannot be computed."""

    def __init__(self, draft: Draft, seen: float, mde: float, target: float | None) -> None:
        self.draft, self.seen, self.mde, self.target = draft, seen, mde, target
        self.rows: int | None = None
        self.units: int | None = None
        self.both = False
        ratio = math.nan if target is None else seen / target
        if target is not None and draft.tail > 0:
            # the tail correction shrinks with the difference
            ratio *= math.sqrt((draft.se**2 + draft.tail * target) / (draft.se**2 + draft.tail * seen))
        values = draft.values
        if target is not None and values["effect_name"] == "h":
            # the smallest visible effect is computed on h's scale
            away = h_of_gap(values["estimate_versus"], target)
            ratio = mde / away if away > 0 else math.nan
        if math.isfinite(ratio):
            times, self.both = growth(draft.share, ratio)
            self.rows = rounded_up(values["n"] * times)
            self.units = rounded_up(values["clusters"] * times)

    def sentence(self, power: float, nouns: tuple[str, str]) -> str:
        """A sentence: what the present sizes can show, and what size the difference needs."""
        here = int(self.draft.values["clusters"])
        there = f"with {plural(here, *nouns)} here"
        if self.draft.values["effect_name"] == "ratio":
            if not math.isfinite(self.mde):
                return f"{there} there is no ratio: nothing was counted on one side"
            return f"{there} a ratio of {self.mde:.2g} would be seen {power:.0%} of the time"
        ranked = self.draft.values["effect_name"] == "rank-biserial"
        if self.draft.unit == 0 or (ranked and not self.draft.se > 0):
            visible = f"{there} it is not known which difference would be seen"
        elif math.isfinite(self.seen):
            ranks = f", or a rank-biserial correlation of {self.mde:.2f}," if self._of_ranks else ""
            visible = f"{there} a difference of {shown(self.seen)}{ranks} would be seen {power:.0%} of the time"
        else:
            visible = f"{there} no difference, however large, would be seen {power:.0%} of the time"
        if self.target is None:
            return f"{visible}; no smallest difference that matters was named for {self.draft.values['metric']} (delta)"
        if self.units is None:
            return visible
        if self.units <= here:
            return f"{visible}; {self.target:g} would have been seen, but is not ruled out"
        return f"{visible}; seeing {self.target:g} takes about {self.more(nouns)}"

    @property
    def _of_ranks(self) -> bool:
        """Whether the typical value is tested too: its detectable effect is then given as well."""
        return self.draft.values["effect_name"] == "rank-biserial" and math.isfinite(self.mde)

    def more(self, nouns: tuple[str, str]) -> str:
        """How many more units are needed, in words."""
        count = (self.units or 0) - int(self.draft.values["clusters"])
        side = " and as large a share more on the other side" if self.both else ""
        return f"{plural(count, f'more {nouns[0]}', f'more {nouns[1]}')} here{side}"


def h_of_gap(rate: float, gap: float) -> float:
    """Cohen's h between a rate and one that is a gap further from its nearer end (0 or 1); NaN if no such rate exists.

    >>> round(h_of_gap(0.95, 0.05), 4)
    0.1925
    """
    moved = rate - gap if rate >= 0.5 else rate + gap
    return abs(cohen_h(moved, rate)) if 0 <= moved <= 1 else math.nan


def shown(value: float, *, sign: bool = False) -> str:
    """A number as sentences print it: three decimals below 10, fewer above, two digits where it is very small.

    >>> shown(0.9312), shown(-0.05, sign=True), shown(212.345), shown(0.00123)
    ('0.931', '-0.050', '212.3', '0.0012')
    """
    if 0 < abs(value) < 0.0095:
        return f"{value:+.2g}" if sign else f"{value:.2g}"
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
    widest: Sequence[Widest] = (),
) -> tuple[str, str]:
    """The audit's verdict: the worst of its findings, and no all-clear over groups that were never tested.

    `named` are the attributes whose groups must all have been tested. Splits of an ordered attribute may show a
    disparity, but never clear a group.

    >>> overall([], [], {})
    ('untestable', 'nothing could be compared')
    """
    disparities = [f for f in findings if f.verdict == DISPARITY]
    unsure = [f for f in findings if f.verdict == INSUFFICIENT and f.kind != SPLIT]
    untested = [f for f in findings if f.verdict == UNTESTABLE]
    small = [f for f in findings if f.verdict.startswith("none")]
    tested = len(findings) - len(untested)
    left = [e for e in excluded if e.get("untested") and (named is None or e["attribute"] in named)]
    aside = f"; {len(untested)} more could not be tested" if untested else ""
    if disparities:
        worst = min(disparities, key=lambda f: (f.severity != "severe", f.direction == "better", f.p_adjusted))
        severe = sum(f.severity == "severe" for f in disparities)
        differ = "differs" if len(disparities) == 1 else "differ"
        return DISPARITY, (
            f"{len(disparities)} of {plural(tested, 'comparison', 'comparisons')} {differ} ({severe} severe); "
            f"strongest: {about(worst)}, {worst.reason}{aside}"
        )
    if not tested:
        whys = list(dict.fromkeys(_why_in_full(entry) for entry in excluded))
        more = f" and {len(whys) - MOST_NAMED} more" if len(whys) > MOST_NAMED else ""
        return UNTESTABLE, "nothing could be compared" + (f": {'; '.join(whys[:MOST_NAMED])}{more}" if whys else "")
    if unsure:
        weakest = max(unsure, key=lambda f: f.mde if math.isfinite(f.mde) else -1.0)
        return INSUFFICIENT, (
            f"no disparity shown, but {len(unsure)} of {plural(tested, 'comparison', 'comparisons')} cannot rule out "
            f"a difference that matters; least is known about {about(weakest)}, {weakest.reason}{aside}"
        )
    every = "the only comparison rules" if tested == 1 else f"all {tested} comparisons that were tested rule"
    words = f"{every} out a difference of {_deltas(small)}{_together(findings)}"
    real = [f for f in small if SMALLER in f.reason]
    if real:
        which = "the difference is" if tested == 1 else plural(len(real), "of them is", "of them are")
        words += f"; {which} real, but smaller than that"
    words += "".join(f"; {widest_words(pair)}" for pair in widest)
    if left:
        return INSUFFICIENT, f"{_not_tested(left)}; {words}"
    return none_larger(_common(judged)), words + aside


def about(finding: Finding) -> str:
    """The subject of a finding: its metric, or missing scores, and the groups that it compares.

    >>> about(Finding(metric="ok", attribute="sex", group="f", versus="rest", comparison="rest", n=1, clusters=1,
    ...     n_versus=1, estimate=1, low=0, high=1, estimate_versus=1))
    'ok of sex = f against rest'
    """
    what = f"missing scores of {finding.metric}" if finding.kind == "missing" else finding.metric
    return f"{what} of {finding.attribute} = {finding.group} against {finding.versus}"


def _together(findings: Sequence[Finding]) -> str:
    """The phrase that a group was compared with all others at once, where it was."""
    return " from everybody else together" if any(f.versus == "rest" for f in findings) else ""


def widest_words(widest: Widest) -> str:
    """The largest difference between two groups, as a sentence."""
    pairs = f"simultaneous over {plural(widest.pairs, 'pair', 'pairs')}"
    return (
        f"the largest difference between two groups of {widest.attribute} is {shown(widest.difference)} in "
        f"{widest.metric} ({widest.group} {shown(widest.estimate)}, {widest.versus} {shown(widest.estimate_versus)}; "
        f"{shown(widest.low)} to {shown(widest.high)}, {pairs})"
    )


def _why_in_full(entry: Mapping[str, Any]) -> str:
    """Why a group was not tested, with its attribute: "in no, fewer than 20" is hard to read alone.

    >>> _why_in_full({"attribute": "masked", "group": "no", "why": "3 people in no, fewer than 20"})
    '3 people in masked = no, fewer than 20'
    """
    group = entry["group"]
    return str(entry["why"]).replace(f" in {group},", f" in {entry['attribute']} = {group},", 1)


def _deltas(small: Sequence[Finding]) -> str:
    """The differences that findings without a disparity rule out, in the words of these findings."""
    deltas = {f.measure: f.verdict.removeprefix(none_larger(None)[:-1]) for f in small}
    if len(set(deltas.values())) == 1:
        return f"{next(iter(deltas.values()))} or more"
    return ", ".join(f"{delta} ({metric})" for metric, delta in deltas.items()) + " or more"


def _common(judged: Mapping[str, Judged]) -> float | None:
    values = {judgement.delta for judgement in judged.values()}
    return values.pop() if len(values) == 1 else None


def _not_tested(left: Sequence[Mapping[str, Any]]) -> str:
    groups = list(dict.fromkeys(f"{e['attribute']} = {e['group']} ({e['why']})" for e in left))
    more = f" and {len(groups) - MOST_NAMED} more" if len(groups) > MOST_NAMED else ""
    word = "1 group was not tested" if len(groups) == 1 else f"{len(groups)} groups were not tested"
    return f"{word}: {'; '.join(groups[:MOST_NAMED])}{more}"
