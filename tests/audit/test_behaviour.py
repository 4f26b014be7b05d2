"""What an audit says of ordinary and of awkward tables."""

import json
import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from countenance.auditing import Audit, audit, paired_tables, plan, plan_for
from countenance.errors import InputError


def coins(n, p=0.8, seed=0):
    return (np.random.default_rng(seed).random(n) < p).astype(int)


def three(n=300, **more):
    return {
        "tone": ["a", "b", "c"] * (n // 3),
        "age": ["young"] * (n // 2) + ["old"] * (n - n // 2),
        "ok": coins(n),
        **more,
    }


CONTRACT = [
    "metric",
    "attribute",
    "group",
    "versus",
    "comparison",
    "n",
    "clusters",
    "n_versus",
    "estimate",
    "low",
    "high",
    "estimate_versus",
    "difference",
    "diff_low",
    "diff_high",
    "test",
    "statistic",
    "p",
    "p_adjusted",
    "effect",
    "effect_name",
    "mde",
    "verdict",
    "severity",
    "reason",
]


def test_a_two_valued_attribute_is_one_comparison():
    found = audit(three(), ["age"], ["ok"])
    assert [(f.group, f.versus) for f in found.findings] == [("old", "young")]


def test_three_groups_against_the_rest_and_their_intersections():
    found = audit(three(), ["tone", "age"], ["ok"])
    assert [f.attribute for f in found.findings] == ["tone"] * 3 + ["age"] + ["tone × age"] * 6
    assert found.findings[4].group == "a × old"
    assert {f.versus for f in found.findings} == {"rest", "young"}
    assert len(audit(three(), ["tone", "age"], ["ok"], depth=1).findings) == 4


def test_findings_have_the_columns_of_the_contract(tmp_path):
    found = audit(three(), ["tone"], ["ok"])
    found.write(tmp_path / "findings.parquet")
    assert pq.read_table(tmp_path / "findings.parquet").column_names[: len(CONTRACT)] == CONTRACT
    back = Audit.read(tmp_path / "findings.parquet")
    assert back.to_json(groups=True) == found.to_json(groups=True)
    assert list(found.to_pandas().columns[: len(CONTRACT)]) == CONTRACT
    content = json.loads(found.to_json(tmp_path / "out.json"))
    first = ["verdict", "reason", "findings", "excluded", "settings"]
    assert list(content) == [*first, "overall", "missing", "ordered", "widest"]
    assert json.loads((tmp_path / "out.json").read_text()) == content


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas", "mapping"])
def test_every_kind_of_table_gives_the_same_findings(tmp_path, kind):
    import pandas as pd

    rows = three(missing=[None, 1.0, 0.0] * 100)
    frame = pd.DataFrame(rows)
    table = {"arrow": pa.table(rows), "pandas": frame, "mapping": rows}.get(kind)
    if kind == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
        table = tmp_path / "t.csv"
    elif kind == "parquet":
        pq.write_table(pa.table(rows), tmp_path / "t.parquet")
        table = str(tmp_path / "t.parquet")
    found = audit(table, ["tone", "age"], ["ok", "missing"])
    assert found.to_json() == audit(pa.table(rows), ["tone", "age"], ["ok", "missing"]).to_json()


def test_our_prefixes_may_be_left_out():
    rows = {"attr.tone": three()["tone"], "m.ok": coins(300), "sample": list(range(300)), "identity": [None] * 300}
    found = audit(rows, ["tone"], ["ok"])
    assert (found.findings[0].attribute, found.findings[0].metric) == ("tone", "ok")
    assert found.settings["cluster"] == "auto" and found.settings["unit"].startswith(
        "row: each of the 300 rows has another sample"
    )


def test_text_in_a_csv_stays_as_written(tmp_path):
    lines = ["code,ok"] + [f"{code},{i % 2}" for code in ("01", "1", "NA") for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert [f.group for f in audit(tmp_path / "t.csv", ["code"], ["ok"]).findings] == ["01", "1", "NA"]


def test_membership_is_equality_never_a_substring():
    rows = {"region": [["1. Asia"], ["11. Asia"], ["1. Asia", "3. Europe"], ["3. Europe"]] * 50, "ok": coins(200)}
    found = audit(rows, ["region"], ["ok"])
    assert {f.group: (f.n, f.n_versus) for f in found.findings} == {
        "1. Asia": (100, 100),
        "11. Asia": (50, 150),
        "3. Europe": (100, 100),
    }


def test_a_row_is_in_each_of_its_groups_and_in_their_intersections():
    rows = {"race": [["x", "y"], ["x"], ["y"], []] * 50, "sex": ["f", "m"] * 100, "ok": coins(200)}
    found = audit(rows, ["race", "sex"], ["ok"])
    cells = {f.group: f.n for f in found.findings if f.depth == 2}
    assert cells == {"x × f": 50, "x × m": 50, "y × f": 100}
    assert [(f.n, f.versus) for f in found.findings if f.group == "(unknown)"] == [(50, "rest")]
    clustered = audit(rows | {"identity": np.arange(200) // 2}, ["race", "sex"], ["ok"])
    assert {f.group: f.n for f in clustered.findings if f.depth == 2} == cells


def test_unknown_values_are_compared_with_everybody_else_where_they_are_many():
    rows = {"tone": ["a", "b", None, ""] * 50, "ok": coins(200)}
    found = audit(rows, ["tone"], ["ok"])
    assert [(f.group, f.versus, f.n_versus) for f in found.findings] == [("a", "b", 50), ("(unknown)", "rest", 100)]
    assert not found.excluded and "(unknown)" in [e.group for e in found.groups]
    few = audit({"tone": ["a", "b"] * 90 + [None] * 19, "ok": coins(199)}, ["tone"], ["ok"])
    assert [(f.group, f.versus) for f in few.findings] == [("a", "b")]
    [left] = few.excluded
    assert (left["group"], left["n"], left["untested"]) == ("(unknown)", 19, False)
    assert "whose tone is not recorded" in left["why"]


def test_small_groups_are_untestable_and_listed_with_their_n():
    rows = {"g": ["big"] * 100 + ["other"] * 100 + ["tiny"] * 5, "ok": coins(205)}
    found = audit(rows, ["g"], ["ok"])
    tiny = found.findings[2]
    assert tiny.verdict == "untestable" and tiny.reason.startswith("5 rows in tiny, fewer than 20: too few to clear")
    assert tiny.small_group and 0 < tiny.p <= tiny.p_adjusted and not np.isnan(tiny.low)
    assert [(e["group"], e["n"]) for e in found.excluded] == [("tiny", 5)]
    assert found.findings[0].family_size == 3
    rows["g"][-1] = "big"
    four = audit(rows, ["g"], ["ok"]).findings[2]
    assert (four.verdict, four.reason, four.small_group) == ("untestable", "4 rows in tiny, fewer than 20", False)
    assert np.isnan(four.p) and np.isnan(four.p_adjusted)
    pair = audit({"g": ["a"] * 50 + ["b"] * 5, "ok": coins(55)}, ["g"], ["ok"])
    assert [(e["group"], e["n"]) for e in pair.excluded] == [("b", 5)]


def test_min_n_counts_clusters():
    rows = {"g": ["a"] * 100 + ["b"] * 100, "ok": coins(200), "identity": np.arange(200) // 10}
    assert audit(rows, ["g"], ["ok"]).verdict == "untestable"
    assert audit(rows, ["g"], ["ok"], cluster=None).verdict != "untestable"
    assert audit(rows, ["g"], ["ok"], min_n=10).findings[0].clusters == 10


def test_sides_that_do_not_vary_have_no_p_and_their_interval_decides():
    found = audit({"g": ["a"] * 50 + ["b"] * 50, "ok": [1] * 100}, ["g"], ["ok"])
    assert found.verdict == "insufficient evidence" and "neither side varies" in found.findings[0].reason
    assert math.isnan(found.findings[0].p) and found.findings[0].diff_high > 0.05
    found = audit({"g": ["a"] * 500 + ["b"] * 500, "ok": [1] * 1000}, ["g"], ["ok"])
    assert found.verdict == "none larger than 0.05" and math.isnan(found.findings[0].p)
    found = audit({"g": ["a"] * 50 + ["b"] * 50, "x": [0.3] * 50 + [0.7] * 50}, ["g"], ["x"])
    assert found.verdict == "insufficient evidence" and math.isnan(found.findings[0].p)


def test_a_group_always_wrong_is_a_severe_disparity():
    found = audit({"g": ["a"] * 50 + ["b"] * 50, "ok": [0] * 50 + [1] * 50}, ["g"], ["ok"])
    assert (found.verdict, found.findings[0].severity) == ("disparity", "severe")


def test_large_equal_groups_show_that_nothing_matters():
    found = audit({"g": ["a", "b"] * 5000, "ok": [1, 1, 1, 1, 0, 0, 1, 1, 1, 1] * 1000}, ["g"], ["ok"])
    assert found.verdict == "none larger than 0.05"
    assert (
        audit({"g": ["a", "b"] * 30, "ok": [1, 1, 1, 1, 0, 0] * 10}, ["g"], ["ok"]).verdict == "insufficient evidence"
    )


def test_a_metric_has_its_own_denominator():
    rows = three(tp=[1.0, None, 0.0] * 100, masked=[True, False, True] * 100)
    by_null = audit(rows, ["age"], ["tp"]).findings[0]
    assert (by_null.n, by_null.n_versus, by_null.estimate) == (100, 100, 0.5)
    rows["tp"] = [1.0, 1.0, 0.0] * 100
    assert audit(rows, ["age"], ["tp"], denominators={"tp": "masked"}).findings[0].n == 100


def test_no_units_is_said_in_words():
    found = audit(three(none=[None] * 300), ["age"], ["none"])
    assert found.verdict == "untestable" and "no units" in found.reason
    assert np.isnan(found.findings[0].estimate) and found.groups[0].note == "no units"
    assert '"estimate": null' in found.to_json()


def test_zero_rows():
    found = audit({"g": pa.array([], pa.string()), "ok": pa.array([], pa.int64())}, ["g"], ["ok"])
    assert (found.verdict, found.reason, found.findings) == ("untestable", "the table has no rows", [])


def test_one_group_has_nothing_to_be_compared_with():
    found = audit({"g": ["a"] * 50, "h": ["x", "y"] * 25, "ok": coins(50)}, ["g", "h"], ["ok"])
    assert [f.attribute for f in found.findings] == ["h"]
    assert "one group only" in found.excluded[0]["why"] and found.excluded[0]["n"] == 50
    assert audit({"g": ["a"] * 50, "ok": coins(50)}, ["g"], ["ok"]).verdict == "untestable"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": ["tonne"]}, "no attribute 'tonne'; did you mean 'tone'"),
        ({"metrics": ["okk"]}, "no metric 'okk'; did you mean 'ok'"),
        ({"metrics": ["many"]}, "found the text 'v0' in row 1, expected numbers"),
        ({"by": ["ok"]}, "both as an attribute and as a metric"),
        ({"by": []}, "nothing named"),
        ({"by": ["number"]}, "300 different numbers"),
        ({"by": ["many"]}, "300 different values, more than max_groups=100"),
        ({"cluster": "person"}, "no cluster column 'person'"),
        ({"comparison": "best"}, "expected one of rest, pairs"),
        ({"comparison": "paired"}, "needs pair"),
        ({"comparison": "reference", "reference": "z"}, "reference 'z' is not a group of 'tone'"),
        ({"alpha": 2}, "alpha 2"),
        ({"adjust": "none"}, "expected minp, holm or bh"),
        ({"families": "colour"}, "families: 'colour'"),
        ({"denominators": {"other": "ok"}}, "not one of the metrics"),
        ({"metrics": ["infinite"]}, "infinite in row 1"),
    ],
)
def test_wrong_input_is_one_clear_line(change, words):
    rows = three(number=np.arange(300) / 7, many=[f"v{i}" for i in range(300)], infinite=[float("inf"), 0.0, 1.0] * 100)
    with pytest.raises(InputError, match=words.replace("(", r"\(")) as caught:
        audit(rows, **({"by": ["tone"], "metrics": ["ok"], "max_groups": 100} | change))
    assert "\n" not in str(caught.value)


def test_wrong_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        audit(tmp_path / "no.csv", ["g"], ["ok"])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="empty file"):
        audit(tmp_path / "empty.csv", ["g"], ["ok"])
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(InputError, match="not a readable Parquet"):
        audit(tmp_path / "bad.parquet", ["g"], ["ok"])
    (tmp_path / "twice.csv").write_text("g,ok,ok\na,1,0\n")
    with pytest.raises(InputError, match="2 columns are named 'ok'"):
        audit(tmp_path / "twice.csv", ["g"], ["ok"])
    (tmp_path / "ragged.csv").write_text("g,ok\na,1\nb\n")
    with pytest.raises(InputError, match="ragged"):
        audit(tmp_path / "ragged.csv", ["g"], ["ok"])
    with pytest.raises(InputError, match="found int"):
        audit(3, ["g"], ["ok"])
    with pytest.raises(InputError, match="differ in length"):
        audit({"g": ["a"], "ok": [1, 0]}, ["g"], ["ok"])


def test_hostile_names_are_only_names(tmp_path):
    column, metric = 'a"; DROP TABLE scores; --', "m'é\n"
    groups = ['O\'Neil, "x"', "); DELETE", "日本", "a × b"]
    found = audit({column: groups * 40, metric: coins(160)}, [column], [metric])
    assert sorted(f.group for f in found.findings) == sorted(groups)
    assert found.findings[0].attribute == column


def test_booleans_and_few_numbers_are_groups():
    found = audit(
        {"glasses": [True, False] * 50, "tone": list(range(1, 11)) * 10, "ok": coins(100)},
        ["glasses", "tone"],
        ["ok"],
        depth=1,
        min_n=5,
    )
    assert [f.group for f in found.findings if f.kind == "group"] == ["False", *map(str, range(1, 11))]
    splits = [(f.group, f.versus) for f in found.findings if f.kind == "split"]
    assert splits == [(f"1–{k}", f"{k + 1}–10") for k in range(2, 9)]


def test_families_may_be_smaller():
    rows = three(ok2=coins(300, 0.5, 2))
    whole = audit(rows, ["tone", "age"], ["ok", "ok2"])
    apart = audit(rows, ["tone", "age"], ["ok", "ok2"], families="metric")
    named = audit(rows, ["tone", "age"], ["ok", "ok2"], families={"safety": ["ok"]})
    assert {f.family_size for f in whole.findings} == {20}
    assert {(f.family, f.family_size) for f in apart.findings} == {("ok", 10), ("ok2", 10)}
    assert {f.family for f in named.findings} == {"safety", "all others"}


def test_by_group_difference_and_ratio():
    found = audit({"g": ["a"] * 50 + ["b"] * 50, "ok": [1] * 40 + [0] * 10 + [1] * 20 + [0] * 30}, ["g"], ["ok"])
    assert found.by_group == {"ok": {"g": {"a": 0.8, "b": 0.4}}}
    assert found.difference == {"ok": {"g": pytest.approx(0.4)}} and found.ratio == {"ok": {"g": pytest.approx(0.5)}}
    assert [one.estimate for one in found.overall] == [0.6]


def test_extremes_are_of_known_groups_that_have_rows():
    rows = {"g": ["a"] * 50 + ["b"] * 50 + [""] * 50, "ok": [1] * 40 + [0] * 10 + [None] * 50 + [0] * 50}
    found = audit(rows, ["g"], ["ok"], adjust="holm")
    assert found.by_group["ok"]["g"]["(unknown)"] == 0 and found.difference["ok"]["g"] == 0
    assert found.ratio["ok"]["g"] == 1


def test_paired_rows_need_partners_and_say_who_has_none():
    rows = {"twin": [*range(50), *range(40)], "tone": ["dark"] * 50 + ["light"] * 40, "ok": coins(90)}
    found = audit(rows, ["tone"], ["ok"], comparison="paired", pair="twin")
    assert found.findings[0].n == 40 and found.excluded[0]["n"] == 10
    rows["twin"][1] = 0
    with pytest.raises(InputError, match="rows 1 and 2 have the same pair"):
        audit(rows, ["tone"], ["ok"], comparison="paired", pair="twin")


def test_paired_clusters_swap_together():
    one, two = np.ones(100, int), np.r_[np.zeros(30, int), np.ones(70, int)]
    rows = {"twin": [*range(100)] * 2, "tone": ["d"] * 100 + ["l"] * 100, "ok": np.r_[one, two]}
    alone = audit(rows, ["tone"], ["ok"], comparison="paired", pair="twin").findings[0]
    rows["identity"] = [*(i // 5 for i in range(100))] * 2
    together = audit(rows, ["tone"], ["ok"], comparison="paired", pair="twin").findings[0]
    assert together.clusters == 20 and together.p == pytest.approx(2 * 0.5**6) and alone.p == pytest.approx(2 * 0.5**30)
    assert together.diff_high - together.diff_low > alone.diff_high - alone.diff_low


def test_two_models_on_the_same_rows():
    rng = np.random.default_rng(0)
    sample = [f"s{i}" for i in range(200)]
    x = rng.normal(0.5, 0.2, 200)
    both = paired_tables(
        {"sample": sample, "m.iou": x},
        {"sample": sample, "m.iou": x + rng.normal(0.03, 0.05, 200)},
        ["sample"],
        names=("v1", "v2"),
    )
    [f] = audit(both, ["model"], ["iou"], comparison="paired", pair=["sample"]).findings
    assert f.test == "paired t" and f.verdict == "disparity" and f.difference < 0
    assert f.diff_low < f.difference < f.diff_high < 0


def test_the_spread_of_a_fair_model_is_mostly_chance():
    rng = np.random.default_rng(1)
    rows = {"label": [f"c{i}" for i in np.repeat(np.arange(10), 300)], "ok": (rng.random(3000) < 0.29).astype(int)}
    [f] = audit(rows, ["label"], ["ok"], comparison="spread").findings
    sigma = np.sqrt(0.29 * 0.71 / 300)
    assert f.null_mean == pytest.approx(3.078 * sigma, rel=0.02)  # the mean range of ten normal values
    assert f.excess == pytest.approx(f.effect - f.null_mean) and f.p > 0.05 and f.verdict == "insufficient evidence"
    rows["ok"] = np.where(np.repeat(np.arange(10), 300) == 3, 0, rows["ok"])
    assert audit(rows, ["label"], ["ok"], comparison="spread").verdict == "disparity"
    clustered = audit(rows | {"identity": np.arange(3000) // 3}, ["label"], ["ok"], comparison="spread").findings[0]
    assert clustered.p < 0.05 and clustered.null_mean > f.null_mean * 0.9


def test_the_best_group_pays_for_being_chosen():
    rows = three()
    asked = {"comparison": "reference", "adjust": "holm", "better": {"ok": "higher"}}
    best = audit(rows, ["tone"], ["ok"], reference="best", **asked).findings
    assert len(best) == 2 and all(f.estimate_versus >= f.estimate for f in best)
    named = audit(rows, ["tone"], ["ok"], reference=best[0].versus, **asked).findings
    assert [f.p for f in best] == [f.p for f in named]
    assert all(b.p_adjusted >= n.p_adjusted for b, n in zip(best, named, strict=True))


def test_clusters_widen_intervals():
    rng = np.random.default_rng(1)
    identity = np.repeat(np.arange(200), 10)
    ok = (rng.random(2000) < rng.beta(2, 0.5, 200)[identity]).astype(int)
    rows = {"g": np.where(identity % 2, "a", "b"), "identity": identity, "ok": ok}
    clustered, plain = audit(rows, ["g"], ["ok"]).findings[0], audit(rows, ["g"], ["ok"], cluster=None).findings[0]
    assert clustered.deff > 2 and clustered.high - clustered.low > 1.3 * (plain.high - plain.low)
    assert clustered.p > plain.p and clustered.mde > plain.mde
    one = np.flatnonzero(identity % 2)
    sums = np.bincount(identity[one], ok[one])[1::2]
    p = ok[one].mean()
    variance = 100 / 99 * ((sums - 10 * p) ** 2).sum() / 1000**2
    assert clustered.deff == pytest.approx(variance / (p * (1 - p) / 1000))


def test_plan():
    answer = plan(metric="rate", rate=0.95, effect="h=.2", groups=9, deff=4)
    assert (answer.n_per_group, answer.comparisons) == (1470, 9)
    assert plan(effect="diff=.05", rate=0.95).n_per_group == pytest.approx(435, abs=60)
    assert plan(metric="mean", effect="d=.5").n_per_group == 78
    for wrong in (
        {"effect": "x=.2"},
        {"effect": "h=0"},
        {"rate": 1.5},
        {"groups": 1},
        {"deff": 0.5},
        {"effect": "d=.2"},
        {"effect": "diff=.99"},
        {"metric": "colour"},
        {"power": 1.0},
    ):
        with pytest.raises(InputError, match="plan: "):
            plan(**wrong)


def test_plan_for_a_table():
    answer = plan_for(three(3000), ["tone", "age"], "ok", effect="h=.2")
    assert len(answer) == 10 and answer[0]["sees"] and answer[0]["mde"] < 0.2
    assert not plan_for(three(90), ["tone"], "ok", effect="diff=.01")[0]["sees"]


def test_importing_the_room_is_light():
    code = (
        "import sys, countenance.auditing; "
        "print([m for m in ('scipy', 'statsmodels', 'pandas', 'duckdb', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_few_large_clusters_are_no_evidence_by_fishers_test():
    """One person with 236 of a group's 296 rows decides its rate: effective counts are not known well enough."""
    rng = np.random.default_rng(5)
    people = [("a", 236, 0.4), *(("a", 2, 0.8) for _ in range(30)), *(("b", 4, 0.95) for _ in range(40))]
    rows = [(g, i, float(rng.random() < p)) for i, (g, n, p) in enumerate(people) for _ in range(n)]
    g, identity, ok = (list(column) for column in zip(*rows, strict=True))
    table = {"g": g, "identity": identity, "ok": ok}
    (found,) = audit(table, ["g"], ["ok"], adjust="holm").findings
    assert found.test.startswith("Fisher") and found.df < 3
    assert found.p >= 2 * stats.t.sf(abs(found.z), found.df) - 1e-12


def test_a_setting_that_does_not_exist_is_refused_by_name():
    with pytest.raises(InputError, match=r"no setting 'alhpa' .did you mean alpha.*; there are adjust, alpha"):
        audit({"g": ["a", "b"] * 20, "ok": [0, 1] * 20}, ["g"], ["ok"], alhpa=0.1)
