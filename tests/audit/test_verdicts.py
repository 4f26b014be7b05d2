"""What an attack on the audit found, and what it says since: each test is one reproduction."""

import math

import numpy as np
import pytest

from countenance.auditing import audit, estimates
from countenance.auditing.effects import RateGap, rank_biserial
from countenance.auditing.headline import headline


def rates(**groups):
    """A table of independent 0/1 rows from {group: (right, all)}."""
    g = np.repeat(list(groups), [n for _, n in groups.values()])
    return {"g": g, "ok": np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in groups.values()])}


def test_a_small_group_that_shows_none_of_the_rare_values_is_no_disparity():
    rows = {"g": ["a"] * 20 + ["b"] * 2000, "s": [0] * 20 + [0] * 1900 + [0.2] * 100}
    found = audit(rows, ["g"], ["s"])
    assert found.verdict != "disparity" and found.findings[0].p > 0.2
    [f] = audit(rows, ["g"], ["s"], adjust="holm").findings
    assert f.diff_low < f.difference < f.diff_high and f.diff_high > 0


def test_none_larger_is_not_said_beside_an_interval_that_reaches_further():
    found = audit(rates(a=(59, 60), b=(1000, 1000)), ["g"], ["ok"])
    assert found.verdict == "insufficient evidence" and found.findings[0].diff_low < -0.05


@pytest.mark.parametrize(("n1", "n2"), [(20, 400), (60, 1000), (100, 2000), (200, 200)])
@pytest.mark.parametrize("delta", [0.05, 0.1])
def test_a_difference_of_delta_is_called_smaller_in_at_most_six_percent_of_tables(n1, n2, delta):
    from scipy import stats

    one, two = np.arange(n1 + 1.0), np.arange(n2 + 1.0)
    gap = RateGap(np.repeat(one / n1, n2 + 1), float(n1), np.tile(two / n2, n1 + 1), float(n2))
    low, high = gap.decisive(0.05)
    said = ((low > -delta) & (high < delta)).reshape(n1 + 1, n2 + 1)
    for rate in (0.001, 0.01, 0.06, 0.3, 0.5, 0.89, 0.94, 0.97, 0.99, 0.999, 1.0):
        for other in (rate - delta, rate + delta):
            if 0 <= other <= 1:
                chance = stats.binom.pmf(one, n1, other) @ said @ stats.binom.pmf(two, n2, rate)
                assert chance <= 0.06, (rate, other)


def test_one_value_that_always_fails_is_found_among_more_than_a_hundred_spreads():
    rng = np.random.default_rng(0)
    rows = {f"a{i}": rng.choice(list("xyz"), 600) for i in range(14)}
    rows["ok"] = np.where(rows["a3"] == "x", 0, 1)
    found = audit(rows, [f"a{i}" for i in range(14)], ["ok"], comparison="spread")
    assert found.verdict == "disparity" and found.settings["permutations"] >= 105 / 0.05
    assert {f.attribute for f in found.findings if f.verdict == "disparity"} >= {"a3"}


def test_the_interval_of_a_spread_holds_zero_unless_the_test_says_otherwise():
    rng = np.random.default_rng(1)
    rows = {"g": np.repeat([f"c{i}" for i in range(10)], 300), "ok": (rng.random(3000) < 0.29).astype(int)}
    [f] = audit(rows, ["g"], ["ok"], comparison="spread").findings
    assert f.p > 0.05 and f.diff_low == 0 and f.diff_high > f.difference > 0
    rows["ok"] = np.where(rows["g"] == "c3", 0, rows["ok"])
    [f] = audit(rows, ["g"], ["ok"], comparison="spread").findings
    assert f.verdict == "disparity" and 0 < f.diff_low < f.difference < f.diff_high


def test_the_best_group_is_one_that_can_be_tested():
    rows = rates(a=(475, 500), b=(300, 500), tiny=(3, 3))
    found = audit(rows, ["g"], ["ok"], comparison="reference", reference="best", better={"ok": "higher"})
    assert found.verdict == "disparity" and {f.versus for f in found.findings} == {"a"}
    lower = audit(rows, ["g"], ["ok"], comparison="reference", reference="best", better={"ok": "lower"})
    assert {f.versus for f in lower.findings} == {"b"}


def test_nobody_is_cleared_while_a_group_was_not_tested():
    found = audit(rates(a=(1940, 2000), b=(1941, 2000), c=(18, 18)), ["g"], ["ok"])
    assert found.verdict == "insufficient evidence" and "g = c (18 rows in c, fewer than 20" in found.reason
    assert found.excluded[0]["group"] == "c" and headline(found).startswith("Cannot tell: g = c was not tested")


def test_one_comparison_of_many_that_could_be_tested_clears_nobody():
    rng = np.random.default_rng(2)
    groups = [f"t{i}" for i in range(30)]
    rows = {"tone": np.r_[np.repeat(groups, 5), np.repeat("t30", 4000)], "ok": (rng.random(4150) < 0.97).astype(int)}
    rows["sex"] = np.tile(["f", "m"], 2075)
    found = audit(rows, ["tone", "sex"], ["ok"], depth=1)
    assert sum(f.verdict == "untestable" and f.kind == "group" for f in found.findings) == 30
    assert found.verdict == "insufficient evidence" and "30 groups were not tested" in found.reason


def test_intersections_too_small_to_test_stand_beside_a_clear_verdict():
    rng = np.random.default_rng(3)
    n = 6000
    rows = {"a": np.tile(["x", "y"], n // 2), "b": np.where(np.arange(n) < n - 30, "u", "v")}
    rows["ok"] = (rng.random(n) < 0.99).astype(int)
    found = audit(rows, ["a", "b"], ["ok"], delta=0.2)
    assert found.verdict == "none larger than 0.2" and "2 more could not be tested" in found.reason
    assert "2 intersections were too small to test" in headline(found)


def test_a_few_very_large_clusters_are_worth_few():
    sizes = np.array([400, 300] + [3] * 38)
    identity = np.repeat(np.arange(40), sizes)
    rows = {"g": np.where(identity % 2, "a", "b"), "identity": identity, "v": np.random.default_rng(0).normal(size=814)}
    [f] = audit(rows, ["g"], ["v"], adjust="holm").findings
    assert f.clusters == 20 and f.statistic == "rank" and f.df > 30  # people count alike
    [f] = audit(rows | {"ok": (rows["v"] > -1) * 1}, ["g"], ["ok"], adjust="holm").findings
    assert f.clusters == 20 and f.df < 3
    assert any("worth about 1 of equal size" in note for note in audit(rows, ["g"], ["v"]).notes)


def test_people_and_pictures_that_cross_are_both_accounted_for():
    rng = np.random.default_rng(4)
    image = np.repeat(np.arange(60), 10)
    person = np.concatenate([rng.choice(150, 10, replace=False) for _ in range(60)])
    x = rng.normal(size=60)[image] + rng.normal(size=600)
    rows = {"g": np.where(image % 2, "a", "b"), "identity": person, "sample": image, "ok": (x < 1).astype(int)}
    both, alone = audit(rows, ["g"], ["ok"]), audit(rows, ["g"], ["ok"], cluster="identity")
    assert both.settings["ways"] == ["identity", "sample"] and "crossed" in both.settings["unit"]
    assert both.findings[0].p > alone.findings[0].p and both.findings[0].clusters == 30
    assert both.settings["adjust"] == "holm" and "cross" in both.settings["adjust_why"]
    assert alone.settings["adjust"] == "holm" and "attribute of images" in alone.settings["adjust_why"]
    nested = audit(rows | {"identity": np.arange(600)}, ["g"], ["ok"])
    assert nested.settings["ways"] == ["sample"]


def test_the_same_people_on_both_sides_are_compared_with_themselves():
    rng = np.random.default_rng(5)
    skill = rng.beta(3, 1, 40)
    identity = np.repeat(np.arange(40), 10)
    worn = np.tile([True] * 5 + [False] * 5, 40)
    ok = (rng.random(400) < skill[identity] * np.where(worn, 0.85, 1)).astype(int)
    rows = {"masked": np.where(worn, "yes", "no"), "identity": identity, "ok": ok}
    [within] = audit(rows, ["masked"], ["ok"], adjust="holm").findings
    [apart] = audit(rows | {"identity": identity + 40 * worn}, ["masked"], ["ok"], adjust="holm").findings
    assert within.se < 0.8 * apart.se and within.p < apart.p


def test_the_interval_of_h_near_one_is_made_of_arcsines():
    [f] = audit(rates(a=(200, 200), b=(1990, 2000)), ["g"], ["ok"]).findings
    assert f.effect_low < 0 < f.effect_high and f.effect_high - f.effect < f.effect - f.effect_low


def test_perfect_sides_are_judged_by_their_interval():
    found = audit(rates(a=(10_000, 10_000), b=(10_000, 10_000)), ["g"], ["ok"])
    assert found.verdict == "none larger than 0.05" and math.isnan(found.findings[0].p)
    assert audit(rates(a=(10_000, 10_000), b=(9_999, 10_000)), ["g"], ["ok"]).verdict == "none larger than 0.05"


def test_pairs_that_never_disagree_are_judged_by_their_interval():
    rows = {"twin": [*range(300)] * 2, "c": ["x"] * 300 + ["y"] * 300, "ok": [1, 0, 1] * 200}
    found = audit(rows, ["c"], ["ok"], comparison="paired", pair="twin")
    assert found.verdict == "none larger than 0.05" and found.findings[0].p == 1


def test_a_real_difference_that_is_smaller_than_delta_is_no_disparity():
    rows = rates(a=(49_000, 50_000), b=(48_700, 50_000))
    found = audit(rows, ["g"], ["ok"], delta=0.2)
    [f] = found.findings
    assert found.verdict == f.verdict == "none larger than 0.2" and f.p_adjusted < 0.05
    assert "a real difference, smaller than 0.2" in f.reason and "real" in found.reason
    assert audit(rows, ["g"], ["ok"], delta=0.001).verdict == "disparity"


LATENCY = {
    "g": ["a"] * 400 + ["b"] * 400,
    "ms": np.r_[np.random.default_rng(6).normal(100, 10, 400), np.random.default_rng(7).normal(106, 10, 400)],
    "ok": [1] * 390 + [0] * 10 + [1] * 392 + [0] * 8,
}


def test_a_metric_has_its_own_delta_and_direction():
    [f] = audit(LATENCY, ["g"], ["ms"]).findings
    assert f.verdict == "disparity" and f.direction == "unknown"
    [f] = audit(LATENCY, ["g"], ["ms"], better={"ms": "lower"}).findings
    assert f.verdict == "disparity" and f.direction == "better"
    found = audit(LATENCY, ["g"], ["ms", "ok"], delta={"ms": 20}, better="ms=lower")
    assert found.verdict == "none larger than δ" and found.settings["delta"] == {"ms": 20.0, "ok": 0.05}
    assert [f.verdict for f in found.findings] == ["none larger than 20", "none larger than 0.05"]
    assert found.settings["better"] == {"ms": "lower", "ok": None}
    assert audit(LATENCY, ["g"], ["ms"], delta="ms=2").verdict == "disparity"


def test_without_its_delta_a_metric_is_never_called_equal():
    rng = np.random.default_rng(8)
    rows = {"g": ["a", "b"] * 5000, "ms": rng.normal(100, 1, 10_000)}
    found = audit(rows, ["g"], ["ms"])
    assert found.verdict == "insufficient evidence" and found.settings["delta"] == {"ms": None}
    assert "delta" in headline(found)
    assert audit(rows, ["g"], ["ms"], delta={"ms": 1}).verdict == "none larger than 1"
    assert audit(rows, ["g"], ["ms"], delta=1).verdict == "insufficient evidence"  # a plain number is for rates


def test_a_favoured_group_is_not_called_failed():
    rows = rates(a=(950, 1000), b=(952, 1000), c=(955, 1000), d=(300, 300))
    found = audit(rows, ["g"], ["ok"], delta=0.02, better="ok=higher")
    [f] = [f for f in found.findings if f.verdict == "disparity"]
    assert (f.group, f.direction) == ("d", "better")
    assert headline(found).startswith("g = d does better than everyone else")


def test_what_was_taken_as_independent_is_said():
    rows = rates(a=(50, 60), b=(50, 60))
    assert (
        "no column that says whose a row is (identity, person_id, sample …) was found"
        in audit(rows, ["g"], ["ok"]).settings["unit"]
    )
    assert "as asked" in audit(rows, ["g"], ["ok"], cluster=None).settings["unit"]
    found = audit(rows | {"identity": np.arange(120) // 2}, ["g"], ["ok"])
    assert found.settings["unit"] == "person (column identity): 120 rows of 60 people"


def test_without_names_every_attribute_that_can_be_is_compared():
    n = 600
    rng = np.random.default_rng(9)
    rows = {
        "race": rng.choice([f"r{i}" for i in range(7)], n),
        "age_range": rng.choice(["20s", "30s", "40s"], n),
        "gender": rng.choice(["f", "m"], n),
        "masked": rng.random(n) < 0.5,
        "file": [f"{i}.jpg" for i in range(n)],
        "split": rng.choice(["train", "test"], n),
        "camera": ["x"] * n,
        "age": rng.integers(0, 90, n),
        "identity": np.arange(n) // 2,
        "ok": (rng.random(n) < 0.9).astype(int),
    }
    found = audit(rows, metrics=["ok"])
    assert found.settings["by"] == ["race", "age_range", "gender", "masked"] and found.settings["depth"] == 1
    why = {entry["attribute"]: entry["why"] for entry in found.settings["not_compared"]}
    assert set(why) == {"file", "split", "camera", "age"}
    assert "too many values (600" in why["file"] and why["camera"] == "no variation" and "age:quantiles4" in why["age"]
    named = audit(rows, ["gender"], ["ok"])
    assert {"attribute": "race", "why": "not named"} in named.settings["not_compared"]


def test_numbers_are_cut_into_bins_by_name():
    n = 900
    rng = np.random.default_rng(10)
    rows = {"age": rng.integers(0, 90, n), "sex": rng.choice(["f", "m"], n), "ok": (rng.random(n) < 0.9).astype(int)}
    found = audit(rows, ["age:18,40,65", "sex"], ["ok"], depth=1)
    assert [f.group for f in found.findings if f.kind == "group"] == ["<18", "18–39", "40–64", "65+", "f"]
    assert [(f.group, f.versus) for f in found.findings if f.kind == "split"] == [("<18 to 18–39", "40–64 to 65+")]
    assert found.settings["by"] == ["age:18,40,65", "sex"] and found.settings["bins"] == {"age": [18, 40, 65]}
    quarters = audit(rows, ["age:quantiles4"], ["ok"])
    assert all(abs(e.n - n / 4) < 30 for e in quarters.groups) and len(quarters.groups) == 4
    both = audit(rows, ["age:40", "age:65"], ["ok"], depth=1)
    assert [f.attribute for f in both.findings] == ["age:40", "age:65"]
    crossed = audit(rows, ["age:40*sex"], ["ok"])
    assert {f.attribute for f in crossed.findings} == {"age × sex"} and len(crossed.findings) == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": ["sex:18"]}, "cannot be cut into bins"),
        ({"by": ["age:40,18"]}, "the cut points must rise"),
        ({"by": ["age:old"]}, "expected cut points"),
        ({"by": ["age:quantiles1"]}, "expected quantiles2"),
        ({"by": ["sex*sex"]}, "names one attribute twice"),
        ({"by": ["sex*age:old"]}, "expected cut points"),
        ({"by": ["sex"], "where": "sex"}, "expected ATTRIBUTE=VALUE"),
        ({"by": ["sex"], "where": {"sex": ["x"]}}, "no row has sex = x; there are f, m"),
        ({"by": ["sex"], "delta": {"other": 1}}, "'other' is not one of the metrics"),
        ({"by": ["sex"], "delta": -1}, "expected a number above 0"),
        ({"by": ["sex"], "better": {"ok": "up"}}, "expected higher, lower or none"),
        ({"by": ["sex"], "cluster": ["sex", "age", "third"]}, "at most two"),
    ],
)
def test_wrong_choices_are_one_clear_line(change, words):
    from countenance.errors import InputError

    rng = np.random.default_rng(0)
    rows = {"age": rng.integers(0, 90, 200), "sex": rng.choice(["f", "m"], 200), "ok": rng.integers(0, 2, 200)}
    rows["third"] = rng.integers(0, 30, 200)
    with pytest.raises(InputError, match=words) as caught:
        audit(rows, **({"metrics": ["ok"]} | change))
    assert "\n" not in str(caught.value)


def test_where_keeps_rows_and_is_stored():
    rows = rates(a=(90, 100), b=(80, 100), c=(10, 100))
    found = audit(rows, ["g"], ["ok"], where={"g": ["a", "b"]})
    assert found.settings["where"] == {"g": ["a", "b"]} and found.settings["rows"] == 200
    assert [(f.group, f.versus) for f in found.findings] == [("a", "b")]
    assert audit(rows, ["g"], ["ok"], where="g=a,b").to_json() == found.to_json()


def test_estimates_alone_are_those_of_the_audit():
    rng = np.random.default_rng(11)
    rows = {
        "g": rng.choice(list("abc"), 300),
        "h": rng.choice(["x", None], 300),
        "identity": np.arange(300) // 3,
        "ok": rng.integers(0, 2, 300),
        "v": rng.lognormal(size=300),
    }
    alone, whole = estimates(rows, ["g", "h"], ["ok", "v"]), audit(rows, ["g", "h"], ["ok", "v"]).groups
    assert len(alone) == len(whole)
    for one, two in zip(alone, whole, strict=True):
        assert (one.metric, one.attribute, one.group, one.n) == (two.metric, two.attribute, two.group, two.n)
        for name in ("clusters", "estimate", "low", "high", "deff"):
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("unknown", [False, True])
def test_one_ranking_serves_every_comparison_with_the_rest(unknown):
    rng = np.random.default_rng(12)
    g = rng.choice(["a", "b", "c", *([None] if unknown else [])], 400)
    v = np.round(rng.normal(size=400), 1)
    v[rng.random(400) < 0.1] = np.nan
    for f in audit({"g": g, "v": v}, ["g"], ["v"], adjust="holm").findings[:3]:
        here, known = g == f.group, np.array([x is not None for x in g]) & ~np.isnan(v)
        ranks = np.unique(np.nan_to_num(v), return_inverse=True)[1]
        assert f.effect == pytest.approx(rank_biserial(ranks[here & known], ranks[~here & known]).r)
        assert f.effect_low < f.effect < f.effect_high


def test_the_order_of_rows_changes_no_permutation():
    rng = np.random.default_rng(13)
    identity = np.arange(600) // 4
    rows = {
        "g": rng.choice(list("abc"), 600),
        "h": rng.choice(["f", "m"], 150)[identity],
        "identity": [f"p{i}" for i in identity],
        "ok": rng.integers(0, 2, 600),
        "v": rng.normal(size=600),
    }
    rows = {name: np.asarray(column) for name, column in rows.items()}
    order = rng.permutation(600)
    one = audit(rows, ["g", "h"], ["ok", "v"])
    two = audit({name: column[order] for name, column in rows.items()}, ["g", "h"], ["ok", "v"])
    assert one.settings["adjust"] == "minp"
    assert [f.p_adjusted for f in one.findings] == [f.p_adjusted for f in two.findings]
    other = audit(rows, ["g", "h"], ["ok", "v"], seed=1)
    assert [f.p_adjusted for f in one.findings] != [f.p_adjusted for f in other.findings]
    assert [f.p for f in one.findings] == pytest.approx([f.p for f in other.findings], abs=0.06)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"comparison": "pairs"}, "not for pairs"),
        ({"comparison": "spread"}, "not for spread"),
        ({"comparison": "reference", "reference": "best", "better": {"ok": "higher"}}, "chosen by looking"),
        ({"cluster": "few", "min_n": 5}, "too few to shuffle"),
    ],
)
def test_holm_takes_the_place_of_minp_and_says_so(settings, why):
    rng = np.random.default_rng(14)
    rows = {"g": rng.choice(list("abc"), 300), "few": np.arange(300) % 15, "ok": rng.integers(0, 2, 300)}
    found = audit(rows, ["g"], ["ok"], **settings)
    assert found.settings["adjust"] == "holm" and why in found.settings["adjust_why"]
    assert audit(rows, ["g"], ["ok"], comparison="reference", reference="a").settings["adjust"] == "minp"


def test_too_much_to_shuffle_is_left_to_holm(monkeypatch):
    from countenance.auditing import minp

    rng = np.random.default_rng(15)
    rows = {"g": rng.choice(list("abc"), 300), "ok": rng.integers(0, 2, 300), "identity": np.arange(300) // 3}
    for name, why in (
        ("MOST_ROW_STEPS", "rows with labels"),
        ("MOST_CLUSTER_STEPS", "units"),
        ("MOST_VALUES", "compar"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(minp, name, 100)
            found = audit(rows, ["g"], ["ok"])
            assert found.settings["adjust"] == "holm" and f"too many {why}" in found.settings["adjust_why"]


def test_minp_finds_more_than_holm_where_comparisons_have_much_in_common():
    rng = np.random.default_rng(16)
    people = np.repeat(np.arange(300), 3)
    rows = {f"m{i}": None for i in range(6)}
    base = rng.normal(size=900)
    group = rng.choice(list("abcdefgh"), 300)[people]
    for name in rows:
        rows[name] = base + 0.1 * rng.normal(size=900) - 0.24 * (group == "c")
    rows |= {"g": group, "identity": people}
    few, many = (
        sum(f.p_adjusted < 0.05 for f in audit(rows, ["g"], list(rows)[:6], adjust=adjust).findings)
        for adjust in ("holm", "minp")
    )
    assert many > few


def test_families_share_their_permutations():
    rng = np.random.default_rng(17)
    rows = {"g": rng.choice(list("abc"), 300), "ok": rng.integers(0, 2, 300), "v": rng.normal(size=300)}
    apart = audit(rows, ["g"], ["ok", "v"], families="metric")
    alone = audit(rows, ["g"], ["ok"])
    ours = [f.p_adjusted for f in apart.findings if f.metric == "ok"]
    assert apart.settings["adjust"] == "minp" and ours == pytest.approx(
        [f.p_adjusted for f in alone.findings], abs=0.05
    )
    assert all(f.p_adjusted >= f.p for f in apart.findings)


def test_permutations_report_their_progress():
    seen = []
    rows = rates(a=(50, 60), b=(50, 60), c=(52, 60))
    audit(rows, ["g"], ["ok"], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] >= 2000 and [d for d, _ in seen] == sorted(d for d, _ in seen)


def test_what_is_missing_is_said_in_people_and_is_how_many_more():
    rng = np.random.default_rng(18)
    identity = np.repeat(np.arange(200), 4)
    rows = {"g": np.where(identity < 30, "a", "b"), "identity": identity, "ok": (rng.random(800) < 0.9).astype(int)}
    [f] = audit(rows, ["g"], ["ok"]).findings
    assert f.verdict == "insufficient evidence" and f.clusters_needed > f.clusters == 30
    assert f"with 30 people here a difference of {f.mde_difference:.3f} would be seen 80% of the time" in f.reason
    assert f"about {f.clusters_needed - 30:,} more people here" in f.reason


def test_a_favoured_group_is_named_as_the_one_that_differs():
    rows = rates(a=(800, 1000), b=(795, 1000), c=(980, 1000), d=(800, 1000))
    found = audit(rows, ["g"], ["ok"], better="ok=higher")
    assert headline(found).startswith("g = c does better than everyone else: ok is 0.980 against 0.798; 3 more")


def test_one_failed_group_among_equals_comes_first():
    rows = rates(a=(950, 1000), b=(955, 1000), c=(700, 1000), d=(950, 1000))
    found = audit(rows, ["g"], ["ok"], better="ok=higher")
    assert headline(found).startswith("g = c does worse than everyone else")


def test_intervals_of_a_score_between_0_and_1_stay_there():
    rows = {"g": ["a"] * 20 + ["b"] * 2000, "s": [0] * 20 + [0] * 1900 + [0.2] * 100}
    found = audit(rows, ["g"], ["s"])
    [a] = [e for e in found.groups if e.group == "a"]
    assert a.estimate == 0 and a.low == 0 < a.high and math.copysign(1, a.estimate) == 1
    assert found.findings[0].low == 0


def test_a_grouping_within_people_with_nothing_to_test_stops_nobody():
    rng = np.random.default_rng(0)
    identity = np.repeat(np.arange(40), 4)
    rows = {
        "identity": identity,
        "g": np.where(identity % 2, "a", "b"),
        "w": rng.choice([f"v{i}" for i in range(30)], len(identity)),  # varies within people; every group is small
        "ok": rng.integers(0, 2, len(identity)),
    }
    found = audit(rows, ["g", "w"], ["ok"], depth=1)
    assert found.settings["adjust"] == "minp" and {f.verdict for f in found.findings if f.attribute == "w"} == {
        "untestable"
    }


def test_the_strongest_difference_is_a_severe_one_also_when_it_favours_a_group() -> None:
    rates = {"a": 400, "b": 405, "c": 400, "d": 480}
    rows = {
        "g": [g for g in rates for _ in range(500)],
        "ok": [int(i < k) for k in rates.values() for i in range(500)],
    }
    found = audit(rows, ["g"], ["ok"])
    assert [f.group for f in found.findings if f.severity == "severe"] == ["d"]
    assert "strongest: ok of g = d" in found.reason


def test_the_headline_names_the_smallest_differences_of_the_metrics_that_are_unsure() -> None:
    rows = {"g": ["a", "b"] * 60, "ok": [1, 1, 1, 1, 0, 0] * 20, "sure": [1, 1] * 60}
    found = audit(rows, ["g"], ["ok", "sure"], delta={"ok": 0.01, "sure": 0.2})
    assert "cannot rule out one of 0.01 or more" in headline(found)


def test_what_cannot_be_tested_is_named_with_its_attribute() -> None:
    found = audit({"masked": ["no"] * 5 + ["yes"] * 5, "ok": [1, 0] * 5}, ["masked"], ["ok"])
    assert found.verdict == "untestable" and "5 rows in masked = no, fewer than 20" in found.reason


def test_one_word_says_which_way_every_metric_is_better() -> None:
    noise = np.random.default_rng(0).random(400)
    table = {"g": ["a", "b"] * 200, "score": np.tile([0.1, 0.7], 200) + noise / 5, "cost": np.tile([1, 2], 200) + noise}
    settings = {"by": ["g"], "metrics": ["score", "cost"], "adjust": "holm"}
    for better, ways in (("lower", ("better", "better")), ("lower,score=higher", ("worse", "better"))):
        findings = audit(table, better=better, **settings).findings
        assert {(one.metric, one.direction) for one in findings if one.group == "a"} == {
            ("score", ways[0]),
            ("cost", ways[1]),
        }
