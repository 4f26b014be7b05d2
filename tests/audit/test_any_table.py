"""Legal tables of which an audit once broke, or printed an impossible number: constant, empty, single, very large."""

import math

import numpy as np
import pytest

import countenance as ct
from countenance.errors import InputError
from countenance.report.charts.scale import Scale


def test_a_metric_that_is_always_0_or_missing_has_equity_measures_beside_others() -> None:
    rng = np.random.default_rng(55)
    never = np.where(rng.random(240) < 0.3, np.nan, 0.0)
    rows = {"g": ["a", "b", "c"] * 80, "never": never, "ok": (rng.random(240) < 0.8) * 1.0}
    measures = ct.audit(rows, by="g", metrics=["never", "ok"], cluster=None, equity=True).equity
    spread = {m.metric: m for m in measures if m.measure == "accuracy_std"}
    assert spread["never"].value == 0 and spread["never"].fair == 0
    assert 0 < spread["ok"].fair < spread["ok"].fair_limit


@pytest.mark.parametrize("comparison", ["spread", "rest", "pairs"])
def test_a_constant_metric_is_compared_by_what_varies_within_people_and_between_them(comparison: str) -> None:
    rng = np.random.default_rng(598)
    person = np.repeat(np.arange(60), 4)
    rows = {
        "identity": person,
        "gender": np.where(person % 2, "f", "m"),
        "light": rng.choice(["dim", "day"], 240),
        "perfect": np.ones(240),
        "ok": (rng.random(240) < 0.8) * 1.0,
    }
    audit = ct.audit(rows, by=["gender", "light"], metrics=["perfect", "ok"], comparison=comparison)
    assert {f.metric for f in audit.findings} == {"perfect", "ok"}
    assert all(f.difference == 0 for f in audit.findings if f.metric == "perfect")


def test_conditions_that_no_scored_row_has_cannot_be_held_equal_and_a_note_says_so() -> None:
    rng = np.random.default_rng(129)
    rows = {
        "gender": ["f", "m"] * 100,
        "light": [None] * 200,
        "size": rng.normal(50, 9, 200),
        "ok": (rng.random(200) < 0.8) * 1.0,
    }
    audit = ct.audit(rows, by="gender", metrics="ok", given=["light", "size:quantiles2"])
    assert not audit.given
    assert any("gender is not compared with light, size held equal" in note for note in audit.notes)
    assert ct.audit(rows, by="gender", metrics="ok", given="size:quantiles2").given


@pytest.mark.parametrize("largest", [1.7976931348623157e308, -1e200, math.inf])
def test_a_number_that_stands_for_no_score_is_refused(largest: float) -> None:
    with pytest.raises(InputError, match=r"'ms': .* in row 3, expected numbers between .*leave the value empty"):
        ct.audit({"g": ["a", "b"] * 50, "ms": [1.0, 2.0, largest, *[3.0] * 97]}, by="g", metrics="ms")


def test_large_numbers_are_compared_like_small_ones() -> None:
    rng = np.random.default_rng(23)
    values = rng.lognormal(0, 1, 200)
    group = ["a", "b"] * 100
    small, large = (
        ct.audit({"g": group, "ms": values * factor}, by="g", metrics="ms").findings for factor in (1, 2.0**150)
    )
    assert large[0].p_mean == pytest.approx(small[0].p_mean) and large[0].effect == pytest.approx(small[0].effect)
    assert large[0].p == pytest.approx(small[0].p, abs=0.08)  # other permutations
    assert large[0].diff_low == pytest.approx(small[0].diff_low * 2.0**150)


def test_the_axis_of_one_large_number_has_ticks_around_it() -> None:
    scale = Scale.around([-2.4e40])
    assert scale.low < -2.4e40 < scale.high and len(scale.ticks) > 1


def test_one_person_alone_has_no_interval_of_an_unbounded_mean() -> None:
    audit = ct.audit({"g": ["a"], "ms": [3.0], "ok": [1]}, by="g", metrics=["ms", "ok"])
    by_metric = {e.metric: e for e in audit.groups}
    assert by_metric["ms"].estimate == 3 and math.isnan(by_metric["ms"].low) and math.isnan(by_metric["ms"].high)
    assert 0 <= by_metric["ok"].low < by_metric["ok"].high == 1
    assert audit.verdict == "untestable"


def test_a_difference_of_scores_between_0_and_1_is_never_more_than_1() -> None:
    rng = np.random.default_rng(8)
    rows = {"g": ["a"] + ["b"] * 2 + ["c"] * 97, "iou": rng.beta(8, 2, 100)}
    for finding in ct.audit(rows, by="g", metrics="iou").findings:
        assert -1 <= finding.diff_low <= finding.difference <= finding.diff_high <= 1


def test_what_a_metric_without_a_difference_that_matters_lacks_is_judged_by_that_of_rates() -> None:
    """The metric itself cannot be tested, four of six people having a score; how much is missing can."""
    ms = np.r_[np.nan, np.nan, np.full(4, 100.0), np.tile([np.nan, 100.0, 90.0], 32)]
    rows = {"identity": np.arange(102), "g": ["few"] * 6 + ["most"] * 96, "ms": ms}
    audit = ct.audit(rows, by="g", metrics="ms", min_n=5, delta=0.99, better="lower")
    verdicts = {f.kind: f.verdict for f in audit.findings}
    assert verdicts == {"group": "untestable", "missing": "none larger than 0.99"}
    assert audit.verdict == "insufficient evidence"
    assert "(4 rows in few, fewer than 5)" in audit.reason
    assert audit.reason.endswith("the only comparison rules out a difference of 0.99 or more")


def test_under_five_people_never_get_a_verdict_and_one_person_is_called_so() -> None:
    person = np.repeat(np.arange(204), 2)
    rows = {"identity": person, "g": np.select([person < 1, person < 4], ["one", "few"], "most"), "ok": person >= 4}
    audit = ct.audit(rows, by="g", metrics="ok", min_n=1, better="higher")
    reasons = {f.group: (f.verdict, f.reason) for f in audit.findings}
    assert reasons["one"] == ("untestable", "1 person in one, fewer than 5")
    assert reasons["few"] == ("untestable", "3 people in few, fewer than 5")
    assert reasons["most"][0] == "untestable"
    assert audit.verdict == "untestable"


KINDS = ("rate", "perfect", "zero", "iou", "lognormal", "percent", "constant", "ordinal", "empty")


def random_table(rng: np.random.Generator) -> tuple[dict[str, object], list[str], list[str]]:
    """Few or many people of very unequal sizes; groups of one person, of nobody known, lists, bins; odd metrics."""
    people = int(rng.choice([1, 2, 5, 19, 25, 60]))
    sizes = np.minimum(1 + rng.pareto(0.7, people).astype(int), 60)
    person = np.repeat(np.arange(people), sizes)
    n = len(person)
    table: dict[str, object] = {"identity": person} if rng.random() < 0.7 else {}
    known = rng.random(n) >= rng.choice([0.0, 0.3, 1.0])
    table["gender"] = np.where(known, rng.choice(["f", "m"], people)[person], None)
    table["age_group"] = rng.choice(["0-9", "10-19", "40-49", "90+"], people)[person]
    table["few"] = np.where(person < 2, "few", "most")
    table["size"] = rng.normal(50, 9, n)
    lists = np.empty(n, dtype=object)
    lists[:] = [list(rng.choice(["x", "y"], int(rng.integers(0, 3)), replace=False)) for _ in range(n)]
    table["lists"] = lists
    metrics = []
    for kind in rng.choice(KINDS, 2, replace=False):
        values = {
            "rate": (rng.random(n) < 0.8) * 1.0,
            "perfect": np.ones(n),
            "zero": np.zeros(n),
            "iou": np.where(rng.random(n) < 0.1, 0, rng.beta(8, 2, n)),
            "lognormal": rng.lognormal(0, 1.5, n),
            "percent": 100.0 * (rng.random(n) < 0.9),
            "constant": np.full(n, 3.7),
            "ordinal": rng.integers(1, 4, n) * 1.0,
            "empty": np.full(n, np.nan),
        }[kind]
        table[kind] = np.where(rng.random(n) < rng.choice([0.0, 0.3]), np.nan, values)
        metrics.append(str(kind))
    by = list(rng.choice(["gender", "age_group", "few", "size:quantiles3", "lists"], 2, replace=False))
    return table, by, metrics


@pytest.mark.parametrize("seed", range(24))
def test_any_legal_table_is_audited(seed: int) -> None:
    """No crash; p, intervals and verdicts are possible ones; groups and findings have the same intervals."""
    rng = np.random.default_rng([27, seed])
    table, by, metrics = random_table(rng)
    asked = {"comparison": str(rng.choice(["rest", "rest", "pairs", "spread"])), "better": "higher"}
    asked["adjust"] = str(rng.choice(["minp", "holm", "bh"]))
    audit = ct.audit(table, by=by, metrics=metrics, equity=seed % 4 == 0, **asked)
    own = {(e.metric, e.attribute, e.group): e for e in audit.groups}
    assert audit.to_json(groups=True) and repr(audit) and audit._repr_html_()
    for f in audit.findings:
        assert math.isnan(f.p_adjusted) or 0 < f.p_adjusted <= 1
        assert not math.isfinite(f.low) or f.low - 1e-9 <= f.estimate <= f.high + 1e-9
        assert f.verdict != "disparity" or min(f.clusters, f.clusters_versus or f.clusters) >= 5
        assert not f.verdict.startswith("none") or min(f.clusters, f.clusters_versus or f.clusters) >= 20
        same = own.get((f.metric, f.attribute, f.group)) if f.kind == "group" else None
        if same is not None:
            np.testing.assert_equal((f.n, f.estimate, f.low, f.high), (same.n, same.estimate, same.low, same.high))
