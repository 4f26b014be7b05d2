"""The sentences of an audit, from findings written by hand, and the small decisions before them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.auditing.audit import _left_out
from countenance.auditing.comparisons import Draft, direction, disjoint, referred, which, why_untestable
from countenance.auditing.finding import Estimate, Finding
from countenance.auditing.groups import Grouping
from countenance.auditing.headline import by_weight, deltas_of, headline, served_worse, which_interval
from countenance.auditing.result import Audit
from countenance.auditing.settings import AuditSettings, Judged
from countenance.auditing.sums import Cross, GroupSums, Side, simple
from countenance.auditing.verdict import (
    Needed,
    VerdictQuestion,
    concluded,
    decides,
    h_of_gap,
    none_larger,
    overall,
    p_words,
    shown,
)
from countenance.errors import InputError
from countenance.report.draw.interactive import forest
from countenance.testing import DiscDetector, small_dataset


def finding(group: str = "a", verdict: str = "disparity", **given: Any) -> Finding:
    usual = {
        "metric": "ok",
        "attribute": "g",
        "group": group,
        "versus": "rest",
        "comparison": "rest",
        "n": 40,
        "clusters": 40,
        "n_versus": 90,
        "estimate": 0.8,
        "low": 0.7,
        "high": 0.9,
        "estimate_versus": 0.9,
        "difference": -0.1,
        "effect": -0.3,
        "direction": "worse",
        "severity": "minor",
        "p_adjusted": 0.01,
        "reason": f"why {group}",
    }
    return Finding(**usual | {"verdict": verdict} | given)


def found(*findings: Finding, verdict: str = "disparity", excluded: Any = (), **settings: Any) -> Audit:
    told = {"delta": {"ok": 0.05}, "metrics": ["ok"]} | settings
    return Audit(verdict=verdict, reason="the reason", findings=list(findings), excluded=list(excluded), settings=told)


def left_out(group: str = "z", **given: Any) -> dict[str, Any]:
    return {"attribute": "g", "group": group, "why": "3 people", "untested": True} | given


# headlines


def test_the_headline_of_a_disparity() -> None:
    assert headline(found(finding())) == "g = a does worse than everyone else: ok is 0.800 against 0.900."
    two = headline(found(finding(), finding("b", effect=-0.2), finding("c", effect=-0.1)))
    assert two.endswith("0.900; 2 more comparisons differ.") and two.startswith("g = a")
    one = headline(found(finding(), finding("b", effect=-0.9)))
    assert one.startswith("g = b") and one.endswith("; 1 more comparison differs.")
    swapped = finding(versus="b", direction="better", estimate=0.9, estimate_versus=0.8)
    assert headline(found(swapped)) == "g = b does worse than g = a: ok is 0.800 against 0.900."
    lower = headline(found(finding(), better={"ok": "lower"}))
    assert lower.endswith("0.900, and lower is better.")
    unknown = headline(found(finding(direction="unknown")))
    assert (
        "differs from everyone else" in unknown
        and "(which way is better was not said: the setting better says it)" in unknown
    )
    favoured = headline(found(finding(direction="better", estimate=0.9, estimate_versus=0.8)))
    assert favoured.startswith("g = a does better than everyone else") and favoured.endswith(
        "; nobody is shown to do worse."
    )
    typical = headline(found(finding(statistic="rank", direction="worse", effect=-0.4)))
    assert "the typical value of ok is lower (mean 0.800 against 0.900)" in typical
    where = headline(found(finding(), where={"light": ["dim", "side"]}))
    assert where.startswith("Where light = dim or side: g = a does worse")
    missing = headline(found(finding(kind="missing")))
    assert missing == "g = a does worse than everyone else: the share of missing ok is 0.800 against 0.900."
    nobody = headline(found(finding("(unknown)")))
    assert nobody.startswith("people whose g is not recorded do worse than everyone else")


def test_where_the_whole_fails_often_that_comes_first() -> None:
    whole = Estimate(
        metric="ok",
        metric_kind="rate",
        attribute="",
        group="everyone",
        n=400,
        clusters=100,
        estimate=0.7,
        low=0.6,
        high=0.8,
        deff=1.0,
        counted="400 pictures of 100 people",
    )
    told = found(finding(), better={"ok": "higher"}).model_copy(update={"overall": [whole]})
    assert headline(told).startswith(
        "Everybody is served badly: 30 % of 400 pictures of 100 people fail by ok. g = a does worse"
    )
    lower = found(finding(), better={"ok": "lower"}).model_copy(update={"overall": [whole]})
    assert headline(lower).startswith("Everybody is served badly: 70 %")
    for fine in ({"poor": 0.31, "better": {"ok": "higher"}}, {"better": {"ok": None}}):
        quiet = found(finding(), **fine).model_copy(update={"overall": [whole]})
        assert headline(quiet).startswith("g = a")


def test_the_favoured_group_is_named_where_two_are_a_little_below() -> None:
    far = finding("top", direction="better", difference=0.3, effect=0.8, severity="severe")
    below = [finding(name, difference=-0.1, effect=-0.2) for name in "ab"]
    assert headline(found(*below, far)).startswith("g = top does better")
    near = finding("top", direction="better", difference=0.15, effect=0.8)
    assert headline(found(*below, near)).startswith("g = a does worse")  # exactly half as far again is not enough
    other = finding("top", direction="better", difference=0.3, effect=0.8, attribute="h")
    assert headline(found(*below, other)).startswith("g = a does worse")


def test_disparities_come_in_the_order_of_their_weight() -> None:
    ordered = by_weight(
        [
            finding("better", direction="better", effect=2.0),
            finding("deep", depth=2, effect=-3.0, severity="severe"),
            finding("minor", effect=-0.9),
            finding("severe", severity="severe", effect=-0.5),
            finding("nan", effect=math.nan),
            finding("larger", severity="severe", effect=0.6),
            finding("no", verdict="untestable"),
        ]
    )
    assert [f.group for f in ordered] == ["larger", "severe", "minor", "nan", "deep", "better"]
    assert served_worse(finding()) and served_worse(finding(direction="better", versus="b"))
    assert not served_worse(finding(direction="better")) and not served_worse(finding(direction="unknown"))


def test_headlines_without_a_disparity() -> None:
    none = found(verdict="none larger than 0.05")
    assert headline(none) == "No group differs from the others by 0.05 or more."
    small = finding(
        verdict="none larger than 0.05", reason="x: a real difference, smaller than 0.05 (p)", difference=-0.02
    )
    less = small.model_copy(update={"group": "b", "difference": 0.01})
    told = headline(
        found(less, small, finding("c", "untestable"), finding("d", "untestable"), verdict="none larger than 0.05")
    )
    assert told == (
        "No group differs from everybody else together by 0.05 or more; ok of g = a is 0.800 against 0.900: a real "
        "difference, but a smaller one; 2 intersections were too small to test."
    )
    decided = finding(verdict="none", reason=f"any: {decides(0.05)}")
    assert which_interval(found(decided, alpha=0.05)) == " (90 % intervals decide that)"
    assert which_interval(found(decided, alpha=0.1)) == " (80 % intervals decide that)" and which_interval(none) == ""
    nothing = found(verdict="untestable").model_copy(update={"reason": "nothing could be compared: few"})
    assert headline(nothing) == "Nothing could be tested: few."


def test_headlines_that_cannot_tell() -> None:
    unsure = finding(verdict="insufficient evidence")
    fine = finding("b", "none larger than 0.05")
    only = headline(found(unsure, verdict="insufficient evidence"))
    assert (
        only == "No difference is shown, but the only comparison cannot rule out one of 0.05 or more: too little data."
    )
    two = headline(found(unsure, fine, finding("c", "untestable"), verdict="insufficient evidence"))
    assert "but 1 of 2 comparisons cannot rule out" in two
    missing = [left_out(), left_out(), left_out("y"), left_out("x")]
    told = headline(found(fine, verdict="insufficient evidence", excluded=missing))
    assert told == (
        "Cannot tell: g = z and 2 other groups were not tested (3 people); what was tested does not differ by 0.05 or "
        "more."
    )
    assert "g = z was not tested" in headline(found(fine, verdict="insufficient evidence", excluded=missing[:1]))
    assert "g = z and 1 other group were not tested" in headline(
        found(fine, verdict="insufficient evidence", excluded=missing[1:3])
    )
    assert headline(found(fine, verdict="insufficient evidence")) == "Cannot tell: the reason."
    without = headline(found(unsure, verdict="insufficient evidence", delta={"ok": None}))
    assert (
        "what size of difference matters in ok was not said (the setting delta says it), so none can be ruled out"
        in without
    )
    both = headline(found(unsure, verdict="insufficient evidence", delta={"ok": 0.1, "ms": 3.0}))
    assert "one of 0.1 or more" in both
    assert deltas_of({"delta": 0.2}) == {"": 0.2} and deltas_of({}) == {"": 0.05}


# verdicts


def test_numbers_in_sentences() -> None:
    assert [shown(x) for x in (9.9994, 9.9995, 9999.94, 9999.95, -9.9994)] == [
        "9.999",
        "10.0",
        "9,999.9",
        "10,000",
        "-9.999",
    ]
    assert shown(0.05, sign=True) == "+0.050" and none_larger(0.25) == "none larger than 0.25"
    assert (
        p_words(0.000502, 0.0005) == "0.0005" and p_words(0.0005, 0.0005) == "< 0.0005" and p_words(0.2, 0.0) == "0.2"
    )
    assert decides(0.01) == "the 98 % interval decides that (two one-sided tests), not the 99 % one shown"
    assert h_of_gap(0.5, 0.1) == pytest.approx(abs(2 * math.asin(math.sqrt(0.4)) - 2 * math.asin(math.sqrt(0.5))))
    assert h_of_gap(0.3, 0.7) > 0 and math.isnan(h_of_gap(0.3, 0.71)) and math.isnan(h_of_gap(0.6, 0.61))
    assert h_of_gap(0.6, 0.6) > 0


def draft(**given: Any) -> Draft:
    values = {
        "metric": "ok",
        "attribute": "g",
        "group": "a",
        "versus": "rest",
        "comparison": "rest",
        "n": 40,
        "clusters": 20,
        "n_versus": 90,
        "clusters_versus": 60,
        "estimate": 0.8,
        "low": 0.7,
        "high": 0.9,
        "estimate_versus": 0.9,
        "difference": -0.1,
        "diff_low": -0.2,
        "diff_high": 0.01,
        "effect": -0.3,
        "effect_name": "h",
        "metric_kind": "rate",
        "kind": "group",
        "direction": "worse",
        "low_equivalence": -0.04,
        "high_equivalence": 0.0,
    }
    fields = {"judged": Judged(0.05, "higher"), "sizes": (40.0, 90.0), "unit": 0.1, "severity_effect": 0.3}
    return Draft(values | given.pop("values", {}), **fields | given)


def conclude(one: Draft, p: float, level: float = 0.05, floor: float = 0.0) -> Finding:
    return concluded(one, p, level, ("all", 3), VerdictQuestion(AuditSettings(), ("person", "people"), floor))


SIDES = "0.800 in 40 pictures of 20 people against 0.900 in 90 pictures of 60 people"


def test_a_disparity_is_severe_above_h0() -> None:
    said = conclude(draft(), 0.04)
    assert (said.verdict, said.severity, said.direction) == ("disparity", "severe", "worse")
    gap = "difference -0.100 [-0.200, 0.010]"
    assert said.reason == f"{SIDES}: {gap}, adjusted p 0.04, Cohen's h -0.30" and said.family_size == 3
    assert conclude(draft(severity_effect=0.2), 0.04).severity == "minor"  # exactly h0
    assert conclude(draft(), 0.05).verdict == "insufficient evidence"  # exactly alpha
    paired = conclude(draft(values={"effect_name": "difference"}), 0.04)
    assert paired.reason == f"{SIDES}: {gap}, adjusted p 0.04"
    assert "adjusted p < 0.0005" in conclude(draft(), 0.0005, floor=0.0005).reason


def test_what_is_shown_to_be_small() -> None:
    small = conclude(draft(smaller=True, values={"diff_low": -0.04, "diff_high": 0.01}), 0.5)
    assert small.reason == f"{SIDES}, difference -0.100 [-0.040, 0.010]: any difference is smaller than 0.05"
    assert small.verdict == "none larger than 0.05"
    decisive = {"low_equivalence": -0.045, "high_equivalence": 0.005}
    edge = conclude(draft(smaller=True, values={"diff_low": -0.05, "diff_high": 0.01} | decisive), 0.5)
    assert edge.reason.endswith(
        "; the 90 % interval decides that (two one-sided tests), not the 95 % one shown: [-0.045, 0.005]"
    )
    real = conclude(draft(smaller=True, values={"diff_low": -0.04, "diff_high": 0.01}), 0.01)
    assert (
        "a real difference, smaller than 0.05 (adjusted p 0.01)" in real.reason
        and real.verdict == "none larger than 0.05"
    )
    bare = conclude(draft(smaller=True, values={"diff_low": math.nan, "diff_high": math.nan}), 0.5)
    assert "difference -0.100: any" in bare.reason


def test_what_cannot_be_tested_says_why() -> None:
    few = conclude(draft(untestable="3 people in a, fewer than 20"), math.nan)
    assert (few.verdict, few.reason) == ("untestable", "3 people in a, fewer than 20") and math.isnan(few.p)
    small = draft(untestable="9 people in a, fewer than 20", small=True)
    assert conclude(small, 0.05).verdict == "untestable" and "too few to clear" in conclude(small, 0.05).reason
    shown_to_differ = conclude(draft(untestable="9 people in a, fewer than 20", small=True), 0.04)
    assert shown_to_differ.verdict == "disparity" and shown_to_differ.p_adjusted == 0.04
    assert shown_to_differ.reason.startswith("9 people in a, fewer than 20, tested by permutation: 0.800 in")


def test_rare_failures_and_ranks_are_not_excused_by_delta() -> None:
    assert conclude(draft(smaller=True), 0.01).verdict == "none larger than 0.05"
    rare = conclude(draft(smaller=True, rare=True), 0.01)
    assert rare.verdict == "disparity" and "smaller than 0.05, but failures are rare" in rare.reason
    assert conclude(draft(smaller=True, rare=True), 0.06).verdict == "none larger than 0.05"
    ranks = conclude(draft(smaller=True, ranks_decided=True, severity_effect=0.21), 0.01)
    assert (ranks.verdict, ranks.severity) == ("disparity", "severe") and "typical value is lower" in ranks.reason


def test_how_many_more_it_takes() -> None:
    one = draft(share=0.5)
    need = Needed(one, 0.2, 0.4, None)
    assert need.sentence(0.8, ("person", "people")).endswith(
        "no smallest difference that matters was named for ok (delta)"
    )
    mean = draft(share=0.9, se=0.05, values={"effect_name": "rank-biserial"})
    need = Needed(mean, 0.2, math.nan, 0.1)
    assert (need.rows, need.units, need.both) == (240, 120, False)
    assert need.sentence(0.8, ("person", "people")) == (
        "with 20 people here a difference of 0.200 would be seen 80% of the time; seeing 0.1 takes about 100 more "
        "people here"
    )
    again = Needed(draft(share=0.5, values={"effect_name": "rank-biserial"}), 0.2, math.nan, 0.1)
    assert (again.rows, again.units, again.both) == (160, 80, True)
    assert again.sentence(0.8, ("row", "rows")).endswith(
        "60 more rows here and as large a share more on the other side"
    )
    enough = Needed(mean, 0.1, math.nan, 0.1)
    assert enough.units == 20 and enough.sentence(0.8, ("person", "people")).endswith(
        "; 0.1 would have been seen, but is not ruled out"
    )
    single = Needed(draft(share=0.9, values={"effect_name": "x", "clusters": 1, "n": 1}), 0.11, math.nan, 0.1)
    assert single.units == 2 and "with 1 person here" in single.sentence(0.8, ("person", "people"))
    assert single.more(("person", "people")) == "1 more person here"
    never = Needed(mean, math.nan, math.nan, 0.1)
    assert (
        never.sentence(0.9, ("row", "rows"))
        == "with 20 rows here no difference, however large, would be seen 90% of the time"
    )
    rate = Needed(draft(share=1.0), 0.2, 2 * h_of_gap(0.9, 0.05), 0.05)
    assert rate.units == 80 and Needed(draft(), 0.2, 0.4, 0.95).units is None


def test_the_verdict_of_many_findings() -> None:
    judged = {"ok": Judged(0.05, None), "ms": Judged(5.0, None)}
    fine, other = finding(verdict="none larger than 0.05"), finding("b", "none larger than 5", metric="ms")
    said = overall([fine, other], [], judged)
    assert said == (
        "none larger than δ",
        "all 2 comparisons that were tested rule out a difference of 0.05 (ok), 5 (ms) or more from everybody else "
        "together",
    )
    assert overall([fine], [], {"ok": judged["ok"]}) == (
        "none larger than 0.05",
        "the only comparison rules out a difference of 0.05 or more from everybody else together",
    )
    real = finding(verdict="none larger than 0.05", reason="a real difference, smaller than 0.05")
    assert overall([real], [], judged)[1].endswith("; the difference is real, but smaller than that")
    assert overall([real, fine], [], judged)[1].endswith("; 1 of them is real, but smaller than that")
    assert overall([real, real, fine], [], judged)[1].endswith("; 2 of them are real, but smaller than that")
    small = finding("z", "untestable")
    missing = [left_out(name) for name in "vwxyzq"]
    verdict, reason = overall([fine, small], missing, judged)
    assert verdict == "insufficient evidence" and reason.startswith("6 groups were not tested: g = v (3 people); g = w")
    assert "g = y (3 people) and 2 more; the only comparison" in reason
    assert overall([fine, small], missing[:1], judged)[1].startswith("1 group was not tested: g = v (3 people); ")
    assert overall([fine, small], missing, judged, named=["h"])[1].endswith("; 1 more could not be tested")
    weak = [
        finding("a", "insufficient evidence", mde=0.2),
        finding("b", "insufficient evidence", mde=0.3),
        finding("c", "insufficient evidence", mde=math.inf),
    ]
    verdict, reason = overall([*weak, fine], [], judged)
    assert (
        verdict == "insufficient evidence"
        and "but 3 of 4 comparisons cannot rule out" in reason
        and "g = b against rest, why b" in reason
    )
    verdict, reason = overall([finding(p_adjusted=0.001), finding("b", severity="severe"), small], missing, judged)
    assert reason.startswith("2 of 2 comparisons differ (1 severe); strongest: ok of g = b against rest, why b")
    assert reason.endswith("; 1 more could not be tested")
    split = finding("a–b", "insufficient evidence", kind="split")
    assert overall([fine, split], [], judged)[0] == "none larger than δ"  # splits clear nobody, and stop nobody
    assert overall([fine, finding("a–b", kind="split")], [], judged)[0] == "disparity"
    assert overall([finding()], [], judged)[1].startswith("1 of 1 comparison differs (0 severe)")
    whys = [left_out(why=f"{k} people in z, fewer than 20") for k in range(6)]
    verdict, reason = overall([small], whys, judged)
    assert (
        verdict == "untestable"
        and "0 people in g = z, fewer than 20; 1 people" in reason
        and reason.endswith(" and 2 more")
    )


def test_the_side_that_is_too_small_is_left_out() -> None:
    def told(clusters: int, other: int, versus: str = "b") -> tuple[Any, ...]:
        one = finding(versus=versus, verdict="untestable", clusters=clusters, clusters_versus=other, n_versus=90)
        entry = _left_out(one, 20)
        return entry["group"], entry["n"], entry["clusters"], entry["why"], entry["untested"]

    assert told(20, 19) == ("b", 90, 19, "why a", True) and told(19, 19)[0] == "a" and told(20, 20)[0] == "a"
    assert told(20, 19, "rest") == ("a", 40, 20, "why a", True)


def test_what_a_finding_does_not_say_is_not_made_up() -> None:
    bare = Finding(
        metric="m",
        attribute="g",
        group="a",
        versus="b",
        comparison="pairs",
        n=1,
        clusters=1,
        n_versus=1,
        estimate=0.5,
        low=0.1,
        high=0.9,
        estimate_versus=0.4,
    )
    given = {"n", "clusters", "n_versus", "estimate", "low", "high", "estimate_versus"}
    numbers = {
        name: value for name, value in bare.model_dump().items() if isinstance(value, float) and name not in given
    }
    assert len(numbers) == 26 and all(math.isnan(value) for value in numbers.values())
    assert (bare.depth, bare.clusters_versus, bare.family_size, bare.small_group) == (1, 0, 0, False)
    assert (bare.n_needed, bare.clusters_needed, bare.severity) == (None, None, None)
    assert (bare.kind, bare.metric_kind, bare.direction, bare.failure_ratio) == ("group", "rate", "unknown", None)
    assert (bare.lost, bare.gained, bare.bases) == (None, None, None)


def test_a_run_is_audited_by_its_own_audit_also_by_its_path(tmp_path: Path) -> None:
    run = ct.evaluate(DiscDetector(), "face_localization", small_dataset(30, 16), out=tmp_path / "run")
    found = ct.audit(run, by=["gender"], alpha=0.01, adjust="holm")
    assert found.settings["alpha"] == 0.01 and (tmp_path / "run" / "audit.json").is_file()
    assert ct.audit(str(tmp_path / "run"), by="gender", alpha=0.01, adjust="holm").findings == found.findings


# which comparisons


def sums(*groups: list[float], whole: float | None = None) -> GroupSums:
    cells = Side(
        *(
            np.array([getattr(simple(np.array(g)), name) for g in groups])
            for name in ("n", "total", "clusters", "nn", "yn", "yy", "squares")
        )
    )
    everyone = simple(np.concatenate(groups))
    everyone = everyone if whole is None else Side(whole, *[0.0] * 6)
    return GroupSums(cells, cells, Cross(), everyone, lambda g, h: Cross())


def grouping(*cells: str) -> Grouping:
    return Grouping((0,), "g", list(cells), np.arange(len(cells)))


def test_two_groups_are_one_comparison_and_more_are_each_against_the_rest() -> None:
    two, three = sums([1.0, 0.0], [1.0]), sums([1.0], [0.0], [1.0, 1.0])
    judged = Judged(0.05, "higher")
    assert list(which(two, grouping("a", "b"), AuditSettings(), judged)) == [(0, 1, 1.0)]
    assert list(which(sums([1.0], [1.0], whole=1.0), grouping("a", "b"), AuditSettings(), judged)) == [(0, -1, 1.0)]
    assert list(which(three, grouping(*"abc"), AuditSettings(), judged)) == [(0, -1, 1.0), (1, -1, 1.0), (2, -1, 1.0)]
    pairs = which(three, grouping(*"abc"), AuditSettings(comparison="pairs"), judged)
    assert list(pairs) == [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)]
    named = which(three, grouping(*"abc"), AuditSettings(comparison="reference", reference="b"), judged)
    assert list(named) == [(0, 1, 1.0), (2, 1, 1.0)]
    assert disjoint(two) and not disjoint(sums([1.0], [1.0], whole=1.0))


def test_the_reference_is_named_largest_or_best() -> None:
    cells = sums([1.0] * 30, [0.0] * 40, [0.5] * 25, [9.0]).cells
    where = grouping(*"abcd")

    def chosen(reference: Any, better: str | None = "higher", least: int = 20) -> tuple[int, float]:
        return referred(cells, where, AuditSettings(reference=reference, min_n=least), Judged(None, better))

    assert chosen(None) == chosen("largest") == (1, 1.0) and chosen("c") == (2, 1.0) and chosen({"g": "a"}) == (0, 1.0)
    assert chosen("best") == (0, 1.5) and chosen("best", "lower") == (1, 1.5)  # three are large enough
    assert chosen("best", least=35) == (1, 1.0) and chosen("best", least=99) == (3, 2.0)
    with pytest.raises(InputError, match="reference: none given for 'g'"):
        chosen({"h": "a"})
    with pytest.raises(InputError, match="reference 'x' is not a group of 'g'; the groups are 'a', 'b', 'c', 'd'"):
        chosen("x")


def test_why_a_comparison_cannot_be_tested() -> None:
    def side(n: int, units: int) -> Side:
        return Side(n, 0.0, units, 1.0, 0.0, 0.0, 0.0)

    def why(one: Side, two: Side) -> str:
        return why_untestable(one, two, [("a", "b")], 20, ("person", "people"))[0]

    assert why(side(30, 20), side(30, 20)) == "" and why(side(30, 19), side(30, 18)) == "19 people in a, fewer than 20"
    assert (
        why(side(30, 20), side(30, 19)) == "19 people in b, fewer than 20"
        and why(side(0, 0), side(5, 5)) == "no units in a"
    )
    assert why(side(30, 20), side(0, 0)) == "no units in b"
    assert why(side(0, 0), side(0, 0)) == "no units: no row has a value of the metric"


def test_directions() -> None:
    assert [direction(d, way) for d, way in ((0.1, "higher"), (0.1, "lower"), (-0.1, "lower"), (0.0, "higher"))] == [
        "better",
        "worse",
        "better",
        "unknown",
    ]
    assert direction(math.nan, "higher") == "unknown" and direction(0.1, None) == "unknown"


def test_the_smallest_effect_that_can_be_seen() -> None:
    rate = draft(unit=0.2)
    effect, seen = rate.detectable(0.05, 0.8)
    assert seen == pytest.approx(abs(math.sin(math.asin(math.sqrt(0.9)) - effect / 2) ** 2 - 0.9))
    blind = draft(unit=0.2, sizes=(2.0, 3.0)).detectable(0.05, 0.8)
    assert blind[0] == pytest.approx(0.2 * 2.801585, abs=1e-5) and math.isnan(blind[1])
    ranked = draft(unit=0.2, se=3.0, values={"effect_name": "rank-biserial"})
    assert ranked.detectable(0.05, 0.8) == pytest.approx((0.560317, 8.404756), abs=1e-5)
    wide = draft(unit=0.9, se=3.0, values={"effect_name": "rank-biserial"})
    assert wide.detectable(0.05, 0.8)[0] == 1.0
    by_sd = draft(se=3.0, sd=10.0, values={"effect_name": "rank-biserial"}, unit=math.nan).detectable(0.05, 0.8)
    assert by_sd == pytest.approx((2 * 0.7238 - 1, 8.404756), abs=1e-3)
    assert math.isnan(
        draft(se=3.0, sd=0.0, unit=math.nan, values={"effect_name": "rank-biserial"}).detectable(0.05, 0.8)[0]
    )
    spread = draft(unit=0.5, critical=3.0, values={"effect_name": "spread"}).detectable(0.05, 0.8)
    assert spread == pytest.approx((0.5 * 3.841621, 0.5 * 3.841621), abs=1e-5)
    assert Draft({}, Judged(None, None)).share == 0.5 and Draft({}, Judged(None, None)).weight == 1.0


def test_a_forest_plot_shows_estimates_with_their_intervals() -> None:
    pytest.importorskip("plotly")
    figure = forest(found(finding(), finding("b", "untestable"), finding("deep", depth=2), finding("m", metric="ms")))
    assert [trace.name for trace in figure.data] == ["untestable", "disparity"]
    trace = figure.data[1]
    assert trace.x == (0.8,) and trace.y == ("g = a (n = 40)",) and trace.marker.color == "#a61e1e"
    assert trace.error_x.array[0] == pytest.approx(0.1) and trace.error_x.arrayminus[0] == pytest.approx(0.1)
    assert trace.error_x.symmetric is False
    assert len(forest(found(finding(), finding("deep", depth=2)), "ok", 2).data[0].x) == 2
    assert forest(found(finding("m", metric="ms"))).layout.title.text == "ms: disparity" and not forest(found()).data


def test_rows_that_do_not_say_whose_they_are_are_not_called_people():
    person = [f"p{i % 40}" for i in range(200)] + [None] * 300
    rows = {
        "identity": person,
        "sample": [f"s{i}" for i in range(200)] + [f"t{i % 100}" for i in range(300)],
        "g": ["a", "b"] * 250,
        "ok": [1, 1, 0, 1] * 125,
    }
    settings = ct.audit(rows, ["g"], ["ok"]).settings
    assert settings["unit"] == (
        "person (column identity): 500 rows of 40 people and 300 rows of nobody named (taken as 100 images)"
    )
    assert settings["nouns"] == ["person or unnamed image", "people or unnamed images"]
    rows["sample"] = [f"s{i}" for i in range(200)] + [f"s{i % 100}" if i < 120 else f"t{i}" for i in range(300)]
    assert ct.audit(rows, ["g"], ["ok"]).settings["unit"] == (
        "person (column identity): 500 rows of 40 people and 300 rows of nobody named "
        "(120 counted with the only person of their image, the others taken as 180 images)"
    )
    del rows["sample"]
    assert ct.audit(rows, ["g"], ["ok"]).settings["unit"] == (
        "person (column identity): 500 rows of 40 people and 300 rows of nobody named (taken as 300 rows)"
    )
