"""Sentences: who is failed, by how much, how sure."""

import math
from pathlib import Path

import pytest

import countenance as ct
from countenance.auditing import Audit, Finding, audit
from countenance.auditing.headline import by_weight, headline
from countenance.report import words
from countenance.report.draw.palette import COLOURS
from countenance.report.draw.svg import marks as svg
from countenance.report.first_screen import first_screen
from countenance.report.names import Names, clean
from countenance.report.people_words import value_words
from countenance.report.sentences import sentence
from countenance.report.source import AuditSource


def finding(**changes: object) -> Finding:
    values: dict[str, object] = {
        "metric": "recall@0.5",
        "attribute": "skin_tone",
        "group": "monk_10",
        "versus": "rest",
        "comparison": "rest",
        "n": 120,
        "clusters": 40,
        "n_versus": 1080,
        "clusters_versus": 360,
        "estimate": 0.504,
        "low": 0.416,
        "high": 0.592,
        "estimate_versus": 0.898,
        "low_versus": 0.87,
        "high_versus": 0.92,
        "difference": -0.394,
        "diff_low": -0.489,
        "diff_high": -0.298,
        "p": 1e-13,
        "p_adjusted": 1e-12,
        "effect": -0.91,
        "effect_name": "h",
        "verdict": "disparity",
        "severity": "severe",
        "family_size": 78,
        "direction": "worse",
    }
    return Finding(**(values | changes))  # type: ignore[arg-type]


def test_a_size_of_one_is_a_point(tmp_path: Path) -> None:
    assert words.verdict_label("none larger than 0.01") == "no gap of 1 point or more"
    assert words.gap_words({"delta": {"ok": 0.01}, "metrics": ["ok"]}) == "1 point"
    rows = {"g": ["a", "b"] * 60, "correct": [0, 1, 1] * 40}
    page = Path(ct.audit(rows, ["g"], ["correct"], delta=0.01).report(tmp_path / "page.html"))
    assert ">1 point</output>" in page.read_text(encoding="utf-8")


NAMES = Names(["skin_tone", "gender"], {"skin_tone": ["monk_9", "monk_10"], "gender": ["female", "male"]}, 2)


def test_a_disparity_names_who_is_failed_and_by_how_much() -> None:
    said = words.statement(finding(), NAMES)
    assert said.who == "Monk 10 (darkest)"
    assert said.text == (
        "recall@0.5 is 50.4\u202f% (41.6–59.2\u202f%), against 89.8\u202f% for everyone else: "
        "39.4 points lower (interval 29.8 to 48.9)."
    )


def test_of_two_values_the_one_served_worse_is_named_first() -> None:
    one = finding(
        direction="better",
        attribute="gender",
        group="female",
        versus="male",
        estimate=0.9,
        estimate_versus=0.7,
        difference=0.2,
        low_versus=0.6,
        high_versus=0.8,
        diff_low=0.1,
        diff_high=0.3,
    )
    said = words.statement(one, NAMES)
    assert said.who == "Male"
    assert "against 90.0\u202f% for female: 20.0 points lower (interval 10.0 to 30.0)" in said.text


def test_a_metric_that_is_better_when_lower_turns_the_sides() -> None:
    alarms = finding(metric="false_positives", metric_kind="mean", difference=0.4, diff_low=0.3, diff_high=0.5)
    assert "higher, which is worse" in words.statement(alarms, NAMES).text
    unsaid = words.statement(alarms.model_copy(update={"direction": "unknown"}), NAMES).text
    assert "higher (interval" in unsaid and "which is" not in unsaid


def test_a_group_that_is_served_better_than_the_rest_is_said_to_be() -> None:
    favoured = finding(difference=0.1, diff_low=0.05, diff_high=0.15, direction="better")
    assert "higher, which is better" in words.statement(favoured, NAMES).text


def test_an_interval_that_crosses_zero_keeps_its_signs() -> None:
    open_end = finding(difference=-0.01, diff_low=-0.04, diff_high=0.02)
    assert "(interval −4.0 to +2.0)" in words.statement(open_end, NAMES).text


def test_a_whole_group_speaks_for_its_intersections() -> None:
    crossed = finding(attribute="skin_tone × gender", group="monk_10 × female", depth=2)
    other = finding(attribute="skin_tone × gender", group="monk_9 × male", depth=2)
    same = finding(metric="average_recall", effect=-0.3)
    assert words.strongest([crossed, other, same, finding()], NAMES) == [finding(), other]


def test_an_intersection_that_is_failed_far_more_is_told_beside_its_group() -> None:
    crossed = finding(attribute="skin_tone × gender", group="monk_10 × female", depth=2, effect=-1.9)
    assert words.strongest([crossed, finding()], NAMES) == [finding(), crossed]


def test_the_favoured_side_does_not_look_like_the_failed_one() -> None:
    failed = finding(difference=-0.3)
    assert words.mark_of(failed, failed.group) == "severe"
    assert words.mark_of(failed, failed.versus) == "favoured"
    assert words.mark_of(finding(direction="better"), failed.group) == "favoured"
    unsaid = finding(direction="unknown")
    assert words.mark_of(unsaid, unsaid.group) == words.mark_of(unsaid, unsaid.versus) == "differs"
    assert words.mark_of(finding(verdict="insufficient evidence"), "x") == "unsure"
    assert words.mark_of(None, "x") == "untested"


def test_the_favoured_are_not_the_news_while_somebody_is_failed() -> None:
    favoured = finding(group="monk_9", difference=0.3, effect=1.5, direction="better")
    assert words.strongest([favoured, finding()], NAMES) == [finding()]
    assert words.strongest([favoured], NAMES) == [favoured]


def test_the_other_side_of_two_values_speaks_for_its_intersections_too() -> None:
    turned = finding(attribute="gender", group="female", versus="male", difference=0.2, effect=2.0, direction="better")
    crossed = finding(attribute="skin_tone × gender", group="monk_9 × male", depth=2)
    assert words.strongest([crossed, turned], NAMES) == [turned]
    assert words.failed_side(turned) == "male"


def test_a_value_that_says_nothing_alone_is_put_into_words() -> None:
    assert NAMES.who("masked", "yes") == "masked" and NAMES.who("masked", "no") == "unmasked"
    crossed = Names(["age_group", "masked"], {"age_group": ["61_100"], "masked": ["no", "yes"]}, 2)
    assert crossed.group("age_group × masked", "61_100 × yes") == "over 60 × masked"


def test_failed_groups_come_before_favoured_ones() -> None:
    favoured = finding(group="monk_9", difference=0.3, effect=1.5, direction="better")
    assert by_weight([favoured, finding()]) == [finding(), favoured]


@pytest.mark.parametrize(
    ("p", "said"),
    [(1e-9, "less than once in 1,000 audits"), (0.004, "about once in 250 audits"), (0.05, "about once in 20 audits")],
)
def test_how_sure_is_said_as_how_often(p: float, said: str) -> None:
    sentence = words.how_sure(finding(p_adjusted=p), {"adjust": "holm"})
    assert said in sentence and "(all 78 comparisons counted)" in sentence


def test_a_false_discovery_rate_is_not_sold_as_a_false_alarm_rate() -> None:
    assert "Benjamini–Hochberg" in words.how_sure(finding(), {"adjust": "bh"})


def with_verdict(verdict: str, findings: list[Finding]) -> Audit:
    settings = {"delta": 0.05, "metrics": ["recall@0.5"], "better": {"recall@0.5": "higher"}, "ways": ["identity"]}
    return Audit(verdict=verdict, reason="", findings=findings, excluded=[], settings=settings)


def sentence_of(found: Audit, **how: bool) -> str:
    return sentence(AuditSource(found, None), "MTCNN", **how)


def test_every_verdict_has_its_sentence() -> None:
    assert sentence_of(with_verdict("disparity", [finding()])) == (
        "MTCNN fails 60 of 120 pictures of 40 people with skin tone Monk 10 (darkest), and 110 of 1,080 pictures of "
        "others."
    )
    assert "which way is better was not said" in sentence_of(with_verdict("disparity", [finding(direction="unknown")]))
    favoured = with_verdict("disparity", [finding(direction="better")])
    assert sentence_of(favoured).endswith("nobody is shown to be served worse.")
    assert sentence_of(with_verdict("insufficient evidence", [])).startswith("No gap is shown, but 0 of 0")
    assert "5 points or more" in sentence_of(with_verdict("none larger than 0.05", []))
    assert sentence_of(with_verdict("untestable", [])) == "Nothing could be tested."
    spoilt = sentence_of(with_verdict("insufficient evidence", []), too_many_failed=True)
    assert spoilt == "Too many images have no prediction to rely on this run."


def test_the_tally_counts_every_comparison_once() -> None:
    rows = {"g": ["a"] * 300 + ["b"] * 300 + ["c"] * 5, "ok": [1, 0] * 150 + [1] * 290 + [0] * 10 + [1] * 5}
    found = audit(rows, by=["g"], metrics=["ok"])
    counted = words.tally(found)
    assert sum(part.n for part in counted) == len(found.findings)
    assert {part.mark for part in counted} >= {"differs", "untested"}, "which way is better was not said"


def test_without_a_disparity_the_largest_gap_and_the_least_known_are_told() -> None:
    rows = {"g": ["a"] * 60 + ["b"] * 600, "ok": [1] * 50 + [0] * 10 + [1] * 540 + [0] * 60}
    found = audit(rows, by=["g"], metrics=["ok"])
    assert found.verdict == "insufficient evidence"
    gap, least = words.in_short(found, Names.of(found), {"ok": "doors opened"})
    assert gap.who == "Largest gap seen" and gap.text.startswith("g a; doors opened is 83.3\u202f%")
    of_shares = words.in_short(found, Names.of(found), {"ok": "doors opened"}, {"ok": "mean"})
    assert of_shares[0].text.startswith("g a; doors opened is 0.833"), "how sizes are printed is the page's"
    assert "(doors opened, n = 60)" in least.text and "rows" in least.text
    assert words.summary(found) == (
        "The only comparison that could be tested shows no difference, and cannot exclude one of 5 points or more."
    )


def test_a_fair_model_is_said_to_exclude_a_difference() -> None:
    rows = {"g": ["a", "b"] * 20_000, "ok": [1, 1, 1, 1, 0, 0] * 6_666 + [1] * 4}
    found = audit(rows, by=["g"], metrics=["ok"])
    assert found.verdict == "none larger than 0.05"
    assert "excludes a difference of 5 points or more" in words.summary(found)


def test_what_a_group_would_need_is_said() -> None:
    assert words.more_needed(finding(clusters=100, clusters_needed=911), {"ways": ["identity"]}) == "811 more people"
    assert words.more_needed(finding(clusters=10, clusters_needed=11), {"ways": []}) == "1 more row"
    assert words.more_needed(finding(clusters=1000, clusters_needed=911), {}) == "enough"
    few = finding(verdict="untestable", severity=None, clusters=12, clusters_versus=90)
    assert words.what_is_missing(few, {"min_n": 20, "ways": ["identity"]}) == "at least 20 people"
    other = finding(verdict="untestable", severity=None, clusters=90, clusters_versus=12)
    assert "on the other side, there are 12" in words.what_is_missing(other, {"min_n": 20, "cluster": "sample"})


def test_a_difference_that_is_not_there_is_not_invented() -> None:
    said = words.statement(finding(difference=math.nan, verdict="untestable"), NAMES)
    assert "points" not in said.text


def test_values_that_hold_the_sign_of_an_intersection_are_told_apart() -> None:
    names = Names(["a", "b"], {"a": ["x", "x × y"], "b": ["z", "y × z"]}, 2)
    assert names.parts("a × b", "x × y × z") in ([("a", "x"), ("b", "y × z")], [("a", "x × y"), ("b", "z")])
    assert names.parts("a × b", "x × z") == [("a", "x"), ("b", "z")]
    assert names.parts("a × b", "never seen") == [("a × b", "never seen")]


def test_characters_that_act_are_shown_as_such() -> None:
    assert clean("a\u202eb\x00\x1b[31m") == "a�b��[31m"
    assert clean("\ud800") == "�"
    assert clean("نام\u200cها") == "نام\u200cها"
    assert len(clean("x" * 10_000)) < 2100


def test_the_largest_gap_that_could_not_be_confirmed_is_said() -> None:
    small, large = (finding(verdict="insufficient evidence", group=g, effect=e) for g, e in (("a", -0.1), ("b", -0.6)))
    favoured = finding(verdict="insufficient evidence", group="c", effect=0.9, difference=0.2, direction="better")
    sure = finding(effect=-0.9)
    assert words.unconfirmed([small, sure, favoured, large], most=1) == [large]


def test_one_comparison_that_cannot_be_tested_is_named_with_its_attribute() -> None:
    found = audit({"masked": ["no"] * 4 + ["yes"] * 5, "ok": [1, 0, 1] * 3}, ["masked"], ["ok"])
    assert words.summary(found) == "The only comparison could not be tested: 4 rows in masked = no, fewer than 20."


def test_a_shown_interval_that_reaches_delta_is_told_apart_from_the_one_that_decides() -> None:
    """Found by a reader: "−4.8 to −0.2 points" beside "none larger than 0.0475"."""
    rows = {"sex": ["f"] * 1200 + ["m"] * 1200, "found": [1] * 1080 + [0] * 120 + [1] * 1110 + [0] * 90}
    found = audit(rows, by=["sex"], metrics=["found"], adjust="holm", delta=0.0475)
    assert found.findings[0].diff_low < -0.0475 and found.verdict == "none larger than 0.0475"
    assert "the 90 % interval decides that (two one-sided tests), not the 95 % one shown" in found.findings[0].reason
    assert "(90 % intervals decide that)" in sentence_of(found) and "(90 %" in headline(found)
    assert words.summary(found).startswith("The only comparison that could be tested excludes")
    wider = audit(rows, by=["sex"], metrics=["found"], adjust="holm", delta=0.1)
    assert "decide" not in wider.findings[0].reason + sentence_of(wider) + headline(wider)


def test_values_of_the_people_read_as_words_about_people() -> None:
    shown = {
        ("hair", "ponytail"): "with a ponytail",
        ("hair", "braids"): "with braids",
        ("expression", "broad_smile"): "smiling broadly",
        ("expression", "anger"): "showing anger",
        ("camera", "small"): "in small pictures",
        ("age", "[18, 30)"): "18–29",
        ("age", "[40, 50) to [60, +]"): "40 and over",
    }
    assert {key: value_words(*key).label for key in shown} == shown
    assert value_words("pronoun", "0. She/her/hers").alone


def test_what_could_not_be_decided_names_what_the_rows_are() -> None:
    """Rows of recordings or questions are no people; each row of another person is one."""
    rows = {"camera": ["a"] * 30 + ["b"] * 30 + ["c"] * 5, "found": [1, 1, 1, 1, 0, 1] * 10 + [1] * 5}
    of_cameras = audit(rows, by=["camera"], metrics=["found"])
    of_people = audit(rows | {"identity": [f"p{i}" for i in range(65)]}, by=["camera"], metrics=["found"])
    for result, many in ((of_cameras, "rows"), (of_people, "people")):
        labels = {words.finding_label(f, result.settings) for f in result.findings}
        assert labels == {f"not enough {many} to tell", f"too few {many} to test"}
        assert labels <= {part.label for part in words.tally(result)}
        assert f"not enough {many} to tell" in sentence(AuditSource.of(result), "The model")
        assert f"with not enough {many} to tell" in result._repr_html_()


def test_a_gap_of_unknown_direction_has_a_neutral_mark() -> None:
    """The red diamond means worse; without a better direction no side is."""
    rows = {"camera": ["a"] * 200 + ["b"] * 200, "shade": [0.1, 0.2] * 100 + [0.8, 0.9] * 100}
    result = audit(rows, by=["camera"], metrics=["shade"], delta=0.05)
    assert result.verdict == words.DISPARITY
    first = first_screen(AuditSource.of(result), "The model")
    marks = {
        first.mark,
        *(line.mark for line in first.when),
        *(row.mark for row in first.forest.rows if row.label != "all rows"),
    }
    assert marks == {words.DIFFERS} == {part.mark for part in words.tally(result)}
    assert svg.SHAPES[words.DIFFERS] not in {shape for mark, shape in svg.SHAPES.items() if mark != words.DIFFERS}
    assert COLOURS[words.DIFFERS] not in {COLOURS[words.SEVERE], COLOURS[words.MINOR]}
