"""Two models on the same rows: decisions with a known truth, what is refused, what is left out and named."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import countenance as ct
from countenance.comparing import compare
from countenance.errors import InputError
from countenance.report.comparison import badge_of

GROUPS = ("dark", "light", "medium")


def test_help_for_all(models) -> None:
    found = compare(*models(gained=0.08, lost=0.01), by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert found.decision.startswith("v2 is better overall (+")
    assert "worse for nobody by more than 5 points" in found.decision
    assert found.overall[0].verdict == "better" and {one.verdict for one in found.groups} == {"better"}
    assert not any(gap.verdict == "disparity" for gap in found.gaps)


def test_help_but_a_wider_gap(models) -> None:
    gained = {"dark": 0.01, "light": 0.12, "medium": 0.12}
    right = {"dark": 0.75, "light": 0.9, "medium": 0.9}
    found = compare(
        *models(gained=gained, lost=0.01, right=right), by=["tone"], metrics=["correct"], names=["v1", "v2"]
    )
    assert found.overall[0].verdict == "better"
    gap = found.gap("correct", "tone", "dark")
    assert gap.verdict == "disparity" and gap.moved == "widened" and gap.direction == "worse" and gap.high < 0
    assert "the gap for tone = dark widened" in found.decision


def test_a_gap_that_opens_near_the_top_is_severe(models) -> None:
    """From 95 to 80 % is severe (Cohen's h .47), though the mean difference of rows is −.15 only."""
    lost = {"dark": 0.17, "light": 0.01, "medium": 0.01}
    found = compare(*models(gained=0.0, lost=lost, right=0.95), by=["tone"], metrics=["correct"])
    gap = found.gap("correct", "tone", "dark")
    assert -0.2 < gap.difference < -0.1 and gap.severity == "severe"
    small = compare(
        *models(6000, gained={"dark": 0.05, "light": 0.0, "medium": 0.0}, lost=0.0),
        by=["tone"],
        metrics=["correct"],
        delta=0.01,
    )
    assert small.gap("correct", "tone", "dark").severity == "minor"


def test_help_for_most_and_worse_for_one_group(models) -> None:
    found = compare(
        *models(gained={"dark": 0.0, "light": 0.1, "medium": 0.1}, lost={"dark": 0.12, "light": 0.0, "medium": 0.0}),
        by=["tone"],
        metrics=["correct"],
        names=["v1", "v2"],
    )
    assert found.overall[0].verdict == "better" and found.change("correct", "tone", "dark").verdict == "worse"
    assert "but worse for tone = dark" in found.decision and "nobody" not in found.decision


def test_no_change(models) -> None:
    found = compare(*models(gained=0.01, lost=0.01, seed=4), by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert found.overall[0].verdict == "no difference larger than 0.05"
    assert found.decision.startswith("v2 and v1 do not differ by 5 points or more overall")
    assert {gap.verdict for gap in found.gaps} == {"none larger than 0.05"}


def test_the_same_model_twice(models) -> None:
    old, _ = models()
    found = compare(old, old, by=["tone"], metrics=["correct"], names=["v1", "again"])
    assert found.overall[0].difference == 0 and found.overall[0].verdict == "no difference larger than 0.05"
    assert found.overall[0].low < 0 < found.overall[0].high


def test_too_little_data(models) -> None:
    found = compare(*models(60, gained=0.1, lost=0.05, seed=2), by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert found.overall[0].verdict == "cannot tell" and found.overall[0].clusters_needed > 60
    assert found.decision.startswith("the evidence cannot tell whether v2 is better overall")
    few = compare(*models(12), metrics=["correct"], by=[], names=["v1", "v2"])
    assert "; 12 rows, fewer than 20)" in few.decision or "; 12 images, fewer than 20)" in few.decision
    assert "too small to test" in found.decision
    assert not any(gap.verdict == "disparity" for gap in found.gaps)


def test_nobody_is_cleared_while_a_group_is_too_small(models) -> None:
    old, new = models(gained=0.08, lost=0.01)
    old["tone"] = new["tone"] = ["rare"] * 12 + old["tone"][12:]
    found = compare(old, new, by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert found.overall[0].verdict == "better" and "nobody" not in found.decision
    assert "not ruled out for tone = rare (1 group is too small to test)" in found.decision


def test_rows_in_one_only_are_counted_and_named(models) -> None:
    old, new = models(300)
    new = {name: column[3:] for name, column in new.items()}
    new["sample"] = [*new["sample"][:-1], "extra"]
    found = compare(old, new, by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert found.settings["rows"] == 296
    first, second = found.unpaired
    assert (first["unpaired"], first["keys"]) == (4, ["s0", "s1", "s2", "s299"])
    assert (second["unpaired"], second["keys"]) == (1, ["extra"])


def test_a_group_that_only_one_model_has_is_not_passed_over(models) -> None:
    old, new = models(gained=0.08, lost=0.01)
    new = {
        "sample": [*new["sample"], "x1", "x2"],
        "tone": [*new["tone"], "rare", "rare"],
        "correct": [*new["correct"], 0, 0],
    }
    found = compare(old, new, by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert "worse for nobody who was compared by more than 5 points" in found.decision
    assert found.decisions[-1] == "Not compared, because no row has a partner: tone = rare (2 rows, only in v2)."
    assert found.to_dict()["absent"] == [{"attribute": "tone", "group": "rare", "rows": 2, "model": "v2"}]
    assert badge_of(found)[0] == "unsure"
    kept = compare(old, new, by=["tone"], metrics=["correct"], where=["tone=dark,light"])
    assert kept.absent == []


def test_rows_without_a_partner_of_a_group_that_is_compared_are_no_absent_group(models) -> None:
    old, new = models(300)
    new = {name: column[3:] for name, column in new.items()}
    assert compare(old, new, by=["tone"], metrics=["correct"]).absent == []


def test_a_wrong_attribute_is_named_with_the_file(models, tmp_path) -> None:
    import pandas as pd

    for name, table in zip(("v1.csv", "v2.csv"), models(50), strict=True):
        pd.DataFrame(table).to_csv(tmp_path / name, index=False)
    with pytest.raises(InputError, match=r"v1\.csv: no attribute 'tune'"):
        compare(tmp_path / "v1.csv", tmp_path / "v2.csv", by=["tune"], metrics=["correct"])


def test_rows_pair_by_key_not_by_place(models) -> None:
    old, new = models(400, gained=0.0, lost=0.0)
    turned = {name: column[::-1] for name, column in new.items()}
    assert compare(old, turned, by=["tone"], metrics=["correct"]).overall[0].gained == 0


def test_unpaired_tests_would_not_have_seen_it() -> None:
    rng = np.random.default_rng(0)
    old = (rng.random(2000) < 0.8).astype(int)
    new = old.copy()
    new[np.flatnonzero(old == 0)[:20]] = 1
    rows = {"sample": list(range(2000))}
    found = compare(rows | {"correct": old.tolist()}, rows | {"correct": new.tolist()}, metrics=["correct"])
    table = [[int(old.sum()), int(2000 - old.sum())], [int(new.sum()), int(2000 - new.sum())]]
    assert stats.chi2_contingency(table).pvalue > 0.4 and found.overall[0].p < 1e-5
    assert found.overall[0].p == pytest.approx(stats.binomtest(0, 20).pvalue)


def test_the_gap_is_the_difference_of_differences(models) -> None:
    old, new = models(gained={"dark": 0.02, "light": 0.08, "medium": 0.05}, lost=0.02)
    found = compare(old, new, by=["tone"], metrics=["correct"])
    change = np.array(new["correct"]) - np.array(old["correct"])
    tone = np.array(old["tone"])
    for group in GROUPS:
        inside = tone == group
        gap = found.gap("correct", "tone", group)
        assert gap.difference == pytest.approx(change[inside].mean() - change[~inside].mean())
        assert gap.gap_b - gap.gap_a == pytest.approx(gap.difference)


def test_real_scores_with_a_direction() -> None:
    rng = np.random.default_rng(1)
    rows = {"sample": list(range(500)), "site": ["a", "b"] * 250}
    old = 100 + 10 * rng.normal(size=500)
    new = old - 3 + rng.normal(size=500) + np.where(np.arange(500) % 2, 6, 0)
    made = rows | {"ms": old.tolist()}, rows | {"ms": new.tolist()}
    found = compare(*made, by=["site"], metrics=["ms"], better="ms=lower", delta="ms=1", names=["v1", "v2"])
    assert found.change("ms", "site", "a").verdict == "better" and found.change("ms", "site", "b").verdict == "worse"
    assert found.gap("ms", "site", "b").direction == "worse"
    t = stats.ttest_rel(new, old)
    assert found.overall[0].p == pytest.approx(t.pvalue) and found.overall[0].test == "paired t"
    unsaid = compare(*made, by=["site"], metrics=["ms"]).change("ms", "site", "b")
    assert unsaid.verdict == "higher" and unsaid.direction == "unknown" and not unsaid.not_worse


def test_people_are_the_unit() -> None:
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(100), 10)
    kind = rng.random(100)
    change = np.where(kind < 0.1, 1, np.where(kind < 0.15, -1, 0))[person]
    old = np.where(change > 0, 0, 1)
    rows = {"row": list(range(1000)), "identity": [f"p{i}" for i in person]}
    tables = rows | {"correct": old.tolist()}, rows | {"correct": (old + change).tolist()}
    found = compare(*tables, metrics=["correct"], pair="row")
    alone = compare(*tables, metrics=["correct"], pair="row", cluster=None)
    assert found.overall[0].clusters == 100 and "1,000 rows of 100 people" in found.settings["unit"]
    assert found.overall[0].high - found.overall[0].low > 2 * (alone.overall[0].high - alone.overall[0].low)
    assert alone.overall[0].verdict == "better" and found.overall[0].verdict == "cannot tell"


def test_unknown_values_are_shown_not_tested(models) -> None:
    old, new = models()
    old["tone"] = new["tone"] = [None if i % 9 == 0 else tone for i, tone in enumerate(old["tone"])]
    found = compare(old, new, by=["tone"], metrics=["correct"])
    unknown = found.change("correct", "tone", "(unknown)")
    assert unknown.verdict == "cannot tell" and math.isnan(unknown.p_adjusted)
    assert not any(gap.group == "(unknown)" for gap in found.gaps)


def test_a_row_without_the_metric_on_one_side_is_said(models) -> None:
    old, new = models(200)
    new["correct"] = [None, *new["correct"][1:]]
    found = compare(old, new, by=["tone"], metrics=["correct"], names=["v1", "v2"])
    assert (
        found.overall[0].n == 199
        and "correct: 1 row has a value in v1 and none in v2; counted as missing" in found.notes
    )
    assert found.overall[0].missing == 1 and found.change("correct (missing)").estimate_b == pytest.approx(1 / 200)


def test_columns_of_predictions_make_no_groups(models) -> None:
    old, new = models(300)
    old["said"], new["said"] = ["yes", "no"] * 150, ["no", "yes"] * 150
    found = compare(old, new, metrics=["correct"])
    assert {one.attribute for one in found.groups} == {"tone"}
    named = compare(old, new, by=["said"], metrics=["correct"], names=["v1", "v2"])
    assert "300 rows have another said in v2 than in v1; the latter is used" in named.notes


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda t: t["sample"].__setitem__(1, "s0"), {}, r"rows 1 and 2 have the same key \(sample = 's0'\)"),
        (lambda t: t.pop("sample"), {}, "no column sample says which rows belong together"),
        (lambda t: t.__setitem__("sample", [f"x{i}" for i in range(100)]), {}, "share no row by sample"),
        (lambda t: None, {"metrics": ["corect"]}, "no metric 'corect'; did you mean 'correct'"),
        (lambda t: None, {"by": ["tune"]}, "no column 'tune'|no attribute 'tune'"),
        (lambda t: None, {"pair": ["smaple"]}, "no pair column 'smaple'"),
        (lambda t: None, {"names": ["x", "x"]}, "names two of the runs or tables"),
        (lambda t: None, {"names": ["x"]}, "found 1 for 2"),
        (lambda t: None, {"better": "correct=up"}, "expected higher, lower or none"),
        (lambda t: None, {"delta": "nothing"}, "expected a number above 0"),
        (lambda t: None, {"where": ["tone=blue"]}, "no row has tone = blue"),
        (lambda t: t.__setitem__("correct", [float("inf")] * 100), {}, "infinite"),
        (lambda t: t.__setitem__("correct", [None] * 100), {}, "no row has a value in both"),
    ],
)
def test_wrong_input_is_refused_by_name(models, change, options, words) -> None:
    old, new = models(100)
    new = {name: list(column) for name, column in new.items()}
    change(new)
    with pytest.raises(InputError, match=words):
        compare(old, new, **({"by": ["tone"], "metrics": ["correct"]} | options))


def test_the_json_has_the_keys_of_the_contract(models, tmp_path) -> None:
    found = compare(*models(200), by=["tone"], metrics=["correct"], names=["v1", "v2"])
    content = json.loads(found.to_json(tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == content
    assert {"overall", "groups", "gaps", "decision", "unpaired"} <= set(content)
    keys = {"attribute", "group", "metric", "difference", "low", "high", "p_adjusted", "verdict"}
    assert all(keys <= set(gap) for gap in content["gaps"])
    assert {(gap["attribute"], gap["group"]) for gap in content["gaps"]} == {("tone", group) for group in GROUPS}


def test_both_groups_of_an_attribute_with_two_are_listed(models) -> None:
    old, new = models(gained=0.05)
    old["sex"] = new["sex"] = ["f", "m"] * 750
    found = compare(old, new, by=["sex"], metrics=["correct"])
    f, m = found.gap("correct", "sex", "f"), found.gap("correct", "sex", "m")
    assert (f.difference, f.low, f.high) == (-m.difference, -m.high, -m.low)
    assert f.mirrors == "" and m.mirrors == "f" and f.p_adjusted == m.p_adjusted


def test_the_package_is_the_function(models) -> None:
    old, new = models(200)
    assert ct.compare(old, new, by=["tone"], metrics=["correct"]).overall[0].n == 200
    assert ct.compare(old, new, old, metrics=["correct"], by=["tone"]).models == ["A", "B", "C"]


def test_a_wider_gap_is_no_contrast_to_a_group_that_lost() -> None:
    groups = np.repeat(["a", "c"], 300)
    old = np.tile([1, 1, 1, 1, 0, 1], 100)
    new = np.where((groups == "c") & (np.arange(600) % 7 == 0), 0, old)
    one, two = ({"sample": np.arange(600), "g": groups, "correct": values} for values in (old, new))
    decision = compare(one, two, by=["g"], metrics=["correct"]).decision
    assert "worse for g = c" in decision and ". The gap" in decision and "ut the gap" not in decision


def test_a_column_that_is_both_attribute_and_metric_is_named() -> None:
    """Found by trying it: "no attribute 'ok'; did you mean 'ok'?"."""
    rows = {"sample": list(range(60)), "correct": [1, 0] * 30}
    with pytest.raises(InputError, match="column 'correct' is named both as an attribute and as a metric"):
        compare(rows, rows, by=["correct"], metrics=["correct"])


def test_an_interval_holds_zero_where_the_exact_test_does_not_rule_it_out() -> None:
    """Four of thirty rows gained: Tango's interval alone excludes 0, the exact test does not."""
    old = [0] * 4 + [1] * 26
    rows = {"sample": list(range(30)), "g": ["x", "y"] * 15}
    found = compare(rows | {"correct": old}, rows | {"correct": [1] * 30}, by=[], metrics=["correct"])
    assert found.overall[0].verdict == "cannot tell" and found.overall[0].low == 0 < found.overall[0].high
    assert "cannot tell whether B is better overall (+13.3 points, 0.0 to" in found.decision


def test_an_interval_beside_zero_that_does_not_decide_has_its_p() -> None:
    """Six of thirty rows gained, by two metrics: each alone is shown, both together are not."""
    rows = {"sample": list(range(30)), "g": ["x", "y"] * 15}
    old, new = (dict.fromkeys(("correct", "sure"), scores) for scores in ([0] * 6 + [1] * 24, [1] * 30))
    found = compare(rows | old, rows | new, by=[], metrics=["correct", "sure"])
    assert found.overall[0].verdict == "cannot tell" and found.overall[0].low > 0
    assert "adjusted p 0.063; 30 rows" in found.decision


def test_a_gap_that_grew_by_less_than_what_matters_is_mentioned() -> None:
    """Found by a new user: a gap that surely grew from 8.7 to 12.3 points was "no gap changed by 5 points or more"."""
    random = np.random.default_rng(3)
    tone = np.repeat(random.choice(["light", "dark"], 1200, p=[0.8, 0.2]), 2)
    luck = random.random(2400)
    rows = {"photo": list(range(2400)), "identity": [str(k // 2) for k in range(2400)], "tone": list(tone)}
    old = rows | {"found": (luck < np.where(tone == "dark", 0.8, 0.9)).astype(int)}
    new = rows | {"found": (luck < np.where(tone == "dark", 0.8, 0.93)).astype(int)}
    found = compare(old, new, by=["tone"], metrics=["found"], pair="photo")
    assert "No gap changed by 5 points or more, but the one" in found.decision
    assert "grew by less (from −" in found.decision
    same = compare(old, old, by=["tone"], metrics=["found"], pair="photo")
    assert "grew" not in same.decision
