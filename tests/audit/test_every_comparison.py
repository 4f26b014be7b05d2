"""The third edition's rules hold whichever comparison is asked for: missing scores, perfect people, one interval."""

from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.auditing import Audit
from countenance.auditing.computed_groups import ComputedGroups
from countenance.auditing.headline import headline

COMPARISONS: dict[str, dict[str, Any]] = {
    "rest": {},
    "pairs": {"comparison": "pairs"},
    "reference": {"comparison": "reference", "reference": "b"},
    "spread": {"comparison": "spread"},
}
TWINS = {"paired_by": {"base": "base", "change": "change"}}


def one_kind(audit: Audit, kind: str) -> list[str]:
    return [f.verdict for f in audit.findings if f.kind == kind]


@pytest.mark.parametrize("asked", COMPARISONS.values(), ids=COMPARISONS)
@pytest.mark.parametrize("people", [25, 100])
def test_perfect_people_are_cleared_by_their_number_not_by_their_pictures(asked: dict[str, Any], people: int) -> None:
    person = np.repeat(np.arange(people + 600), 8)
    group = np.where(person < people, "a", np.where(person < people + 300, "b", "c"))
    audit = ct.audit({"identity": person, "g": group, "correct": np.ones(len(person))}, ["g"], ["correct"], **asked)
    assert audit.verdict.startswith("none") == (people == 100)


@pytest.mark.parametrize("asked", COMPARISONS.values(), ids=COMPARISONS)
def test_a_metric_without_ends_that_lacks_scores_is_not_cleared(asked: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b", "c"], 1000)
    lacking = (group == "a") & (rng.random(3000) < 0.03)
    rows = {"g": group, "ms": np.where(lacking, np.nan, rng.normal(100, 1, 3000))}
    audit = ct.audit(rows, ["g"], ["ms"], delta={"ms": 5}, **asked)
    assert any("1 % of a side has no score" in f.reason for f in audit.findings) and not audit.verdict.startswith(
        "none"
    )


def conditions(lacking: float, metric: str) -> dict[str, Any]:
    """600 pictures under two conditions, alike but for scores that are missing under the second."""
    rng = np.random.default_rng(2)
    score = np.ones(1200) if metric == "correct" else rng.normal(100, 1, 1200)
    score[600:][rng.random(600) < lacking] = np.nan
    return {"version": np.repeat(["v1", "v2"], 600), "picture": np.tile(np.arange(600), 2), metric: score}


@pytest.mark.parametrize("metric", ["correct", "ms"])
@pytest.mark.parametrize("lacking", [0.0, 0.06])
def test_paired_rows_that_have_no_score_clear_nobody(metric: str, lacking: float) -> None:
    asked = {"comparison": "paired", "pair": "picture", "delta": {"": 0.07, "ms": 5} if metric == "ms" else 0.07}
    audit = ct.audit(conditions(lacking, metric), ["version"], [metric], **asked)
    [verdict] = one_kind(audit, "group")
    assert verdict.startswith("none") == (not lacking)
    assert one_kind(audit, "missing") == (["disparity"] if lacking else [])
    assert [m.group for m in audit.missing if m.missing] == (["v2"] if lacking else [])
    if lacking and metric == "correct":
        [f] = [f for f in audit.findings if f.kind == "group"]
        assert f.high_equivalence > 0.07 > f.diff_high, "the interval that decides counts missing scores as wrong"


def twins(lacking: float, metric: str = "correct", each: int = 1) -> dict[str, Any]:
    """400 bases with a masked version each; a person has `each` bases, all right or all wrong with the mask."""
    rng = np.random.default_rng(3)
    score = np.ones(800) if metric == "correct" else rng.normal(100, 1, 800)
    score[1::2][rng.random(400) < lacking] = np.nan
    base = np.repeat(np.arange(400), 2)
    return {
        "sample": np.arange(800),
        "identity": base // each,
        "base": base,
        "change": ["none", "mask"] * 400,
        "mask": ["none", "blue"] * 400,
        metric: score,
    }


@pytest.mark.parametrize("metric", ["correct", "ms"])
def test_twins_that_get_no_answer_are_lost(metric: str) -> None:
    asked = {"delta": {"ms": 5}} if metric == "ms" else {}
    clear = ct.audit(twins(0.0, metric), ["change"], [metric], **asked, **TWINS)
    assert clear.verdict.startswith("none")
    audit = ct.audit(twins(0.24, metric), ["change"], [metric], **asked, **TWINS)
    [missing] = [f for f in audit.findings if f.kind == "missing"]
    assert (missing.attribute, missing.group, missing.versus, missing.bases) == ("mask", "blue", "base", 400)
    assert missing.verdict == "disparity" and missing.direction == "worse" and missing.gained == 0
    assert one_kind(audit, "twins") == ["insufficient evidence"]
    assert [(m.attribute, m.group, m.missing) for m in audit.missing] == [("mask", "blue", missing.lost)]
    assert "mask = blue does worse than the same pictures without the change" in headline(audit)


def test_bases_of_one_person_are_not_as_many_people() -> None:
    rows = twins(0.0, each=20)  # 20 people with 20 bases each
    rows["correct"] = np.where((rows["identity"] % 5 == 0) & (np.array(rows["change"]) == "mask"), 0.0, 1.0)
    [f] = ct.audit(rows, ["change"], ["correct"], **TWINS).findings
    assert (f.clusters, f.bases, f.lost) == (20, 400, 80) and f.p == pytest.approx(2 * 0.5**4)
    [alone] = ct.audit(rows, ["change"], ["correct"], cluster=None, **TWINS).findings
    assert alone.p < 1e-20, "rows as asked"


def test_a_number_that_was_changed_is_higher_or_lower_not_a_group_for_every_value() -> None:
    rng = np.random.default_rng(4)
    young = rng.uniform(20, 30, 60)
    age = np.ravel(np.column_stack([young, np.r_[young[:30] + 50, young[30:] - 15]]))
    right = np.ones(120)
    right[1:60:2] = rng.random(30) < 0.4
    rows = {
        "sample": np.arange(120),
        "base": np.repeat(np.arange(60), 2),
        "change": ["none", "age"] * 60,
        "age": age,
        "correct": right,
    }
    audit = ct.audit(rows, ["change"], ["correct"], **TWINS)
    found = {(f.group, f.versus): f for f in audit.findings}
    assert set(found) == {("higher", "base"), ("lower", "base"), ("last version", "first version")}
    assert found["higher", "base"].verdict == "disparity" and found["lower", "base"].lost == 0
    few = dict(rows, age=np.tile([1, 2], 60))
    repeated = {f.group: f for f in ct.audit(few, ["change"], ["correct"], **TWINS).findings}
    assert set(repeated) == {"2", "last version"}
    assert repeated["2"].p_adjusted == repeated["last version"].p_adjusted == repeated["2"].p, "one test, counted once"


def test_a_change_that_cannot_be_shown_does_not_weaken_one_that_can() -> None:
    """Eight of 40 people are lost by one change; 20 further changes lose at most four, who cannot be significant."""
    names = ["tone", *(f"other{i}" for i in range(20))]
    lost = dict(zip(names, [8, *(i % 5 for i in range(20))], strict=True))
    rows: dict[str, list[Any]] = {"sample": [], "base": [], "change": [], "correct": []}
    for person in range(40):
        for change in ("none", *names):
            rows["sample"].append(f"{person}/{change}")
            rows["base"].append(person)
            rows["change"].append(change)
            rows["correct"].append(int(person >= lost.get(change, 0)))
    found = {f.attribute: f for f in ct.audit(rows, ["change"], ["correct"], **TWINS).findings}
    assert len(found) == 21 and found["tone"].p_adjusted == found["tone"].p == pytest.approx(2 / 2**8)
    assert found["tone"].verdict == "disparity"


@pytest.mark.parametrize("metric", ["correct", "iou"])
@pytest.mark.parametrize("asked", COMPARISONS.values(), ids=COMPARISONS)
@pytest.mark.parametrize("groups", [2, 4])
def test_a_group_has_the_same_interval_in_groups_and_in_findings(
    metric: str, asked: dict[str, Any], groups: int
) -> None:
    rng = np.random.default_rng(groups)
    person = np.repeat(np.arange(200), rng.integers(1, 7, 200))
    group = np.array(list("abcd"))[rng.integers(0, groups, 200)][person]
    score = (rng.random(len(person)) < 0.9) * 1.0 if metric == "correct" else rng.beta(8, 2, len(person)).round(3)
    score[rng.random(len(person)) < 0.03] = np.nan
    audit = ct.audit({"identity": person, "g": group, metric: score}, ["g"], [metric], **asked)
    numbers = {("group", e.group): (e.n, e.estimate, e.low, e.high) for e in audit.groups}
    numbers |= {("missing", m.group): (m.n, m.share, m.low, m.high) for m in audit.missing}
    assert audit.findings
    for f in audit.findings:
        assert (f.n, f.estimate, f.low, f.high) == numbers[f.kind, f.group]
        if f.versus != "rest":
            assert (f.n_versus, f.estimate_versus, f.low_versus, f.high_versus) == numbers[f.kind, f.versus]
        assert np.isfinite([f.low_equivalence, f.high_equivalence]).all(), "what decides is stored"


def test_what_a_task_did_not_compute_for_a_group_is_named_and_clears_nobody() -> None:
    person = np.repeat(np.arange(400), 5)
    rows = {
        "identity": person,
        "ward": np.where(person < 200, "north", "south"),
        "light": np.tile(["dim", "bright"], 1000),
        "accepted": np.ones(2000),
    }
    fmr = ComputedGroups(
        "FMR",
        "ward",
        ("north", "south"),
        (0.001, 0.001),
        (0.1, 0.1),
        (0.0008, 0.0008),
        (0.0012, 0.0012),
        (10_000, 10_000),
        (200, 200),
        (1e4, 1e4),
    )
    by_ward = ct.auditing.audit(rows, ["ward"], ["accepted"], computed=[fmr])
    assert by_ward.verdict.startswith("none") and not by_ward.excluded
    for asked in ({"by": ["ward", "light"], "depth": 1}, {"by": ["ward"], "where": "light=dim"}):
        audit = ct.auditing.audit(rows, metrics=["accepted"], computed=[fmr], **asked)
        left = {(e["attribute"], e["group"]) for e in audit.excluded if e["metric"] == "FMR" and e["untested"]}
        assert left == (
            {("light", "dim"), ("light", "bright")}
            if "light" in asked["by"]
            else {("ward", "north"), ("ward", "south")}
        )
        assert audit.verdict == "insufficient evidence" and "FMR is" in audit.reason
