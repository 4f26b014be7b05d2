"""Gaps with conditions held equal: against a slow reference, by hand, and on worlds of known truth."""

import itertools
import json
import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import countenance as ct
from countenance.auditing import Audit, audit
from countenance.auditing.attributes import Choice
from countenance.auditing.held_equal_covariates import covariate
from countenance.auditing.held_equal_propensity import logistic
from countenance.auditing.held_equal_shuffle import step_down
from countenance.auditing.held_equal_warning import cramers_v
from countenance.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
why = pytest.importorskip("why")


def slow_gap(rows, group, given):
    """Σ w (mean₁ − mean₀) over strata with both sides, w ∝ n₁ n₀ / n, row by row."""
    strata: dict[tuple, list[tuple[bool, float]]] = {}
    for i, y in enumerate(rows["y"]):
        key = tuple(rows[name][i] for name in given)
        if None not in key:
            strata.setdefault(key, []).append((rows["group"][i] == group, float(y)))
    total = weighted = 0.0
    for members in strata.values():
        one, other = [y for inside, y in members if inside], [y for inside, y in members if not inside]
        if one and other:
            weight = len(one) * len(other) / len(members)
            total, weighted = total + weight, weighted + weight * (np.mean(one) - np.mean(other))
    return weighted / total


def simpson():
    """Dark is worse with both cameras, and better in all: it has the better camera more often."""
    rows = {"tone": [], "camera": [], "person_id": [], "correct": []}
    cells = (
        ("dark", "good", 300, 0.90),
        ("light", "good", 60, 0.97),
        ("dark", "bad", 60, 0.50),
        ("light", "bad", 300, 0.65),
    )
    for tone, camera, people, rate in cells:
        for person in range(people):
            for k in range(2):
                rows["tone"].append(tone)
                rows["camera"].append(camera)
                rows["person_id"].append(f"{tone}{camera}{person}")
                rows["correct"].append(float((person * 2 + k) % (2 * people) < rate * 2 * people))
    return rows


def test_the_estimate_is_that_of_the_slow_reference():
    rows = why.tones(np.random.default_rng(3), 400, 6)
    found = audit(rows, ["group"], ["y"], given=["light", "size"], adjust="holm").given
    assert len(found) == 10
    for f in found:
        assert f.held_equal == pytest.approx(slow_gap(rows, f.group, ("light", "size")), abs=1e-12)
        inside = np.array(rows["group"]) == f.group
        assert f.raw == pytest.approx(rows["y"][inside].mean() - rows["y"][~inside].mean())
        assert f.kind == "given" and f.low < f.held_equal < f.high and f.p <= f.p_adjusted <= 1


def test_missing_conditions_are_left_out_and_said():
    rows = why.missing(np.random.default_rng(3))
    f = audit(rows, ["group"], ["y"], given=["light"], adjust="holm").given[0]
    assert f.held_equal == pytest.approx(slow_gap(rows, f.group, ("light",)), abs=1e-12)
    assert f.unknown_conditions == sum(name is None for name in rows["light"]) and "left out" in f.reason


def test_the_parts_of_a_raw_gap_add_up_and_follow_shapley():
    rows = why.interactions(np.random.default_rng(5))
    found = audit(rows, ["group"], ["y"], given=["light", "camera"], adjust="holm").given
    for f in found:
        gaps = {
            names: slow_gap(rows, f.group, names)
            for r in range(3)
            for names in itertools.combinations(("light", "camera"), r)
        }
        parts = {
            "light": (gaps[()] - gaps["light",] + gaps["camera",] - gaps["light", "camera"]) / 2,
            "camera": (gaps[()] - gaps["camera",] + gaps["light",] - gaps["light", "camera"]) / 2,
        }
        for name, part in parts.items():
            assert f.explained[name].part == pytest.approx(part, abs=1e-12)
            assert f.explained[name].share == pytest.approx(part / f.raw, abs=1e-9)
        assert f.composition == pytest.approx(f.raw - f.held_equal, abs=1e-12)


def test_numbers_are_held_equal_within_their_bins_too():
    """A number that decides everything leaves nothing for the group, although groups differ within bins."""
    r = np.random.default_rng(2)
    g = r.integers(0, 2, 4000)
    size = r.normal(g, 1.0)
    rows = {"group": why.labels(g, "g"), "size": size, "y": 3 * size}
    f = audit(rows, ["group"], ["y"], given=["size"], adjust="holm").given[0]
    assert abs(f.raw) > 2.5 and abs(f.held_equal) < 1e-6


def test_conditions_that_can_be_read_only_once_are_held_equal_too():
    usual = audit(simpson(), ["tone"], ["correct"], given=["camera"], adjust="holm").given
    once = audit(simpson(), ["tone"], ["correct"], given=iter(["camera"]), adjust="holm").given
    assert [f.held_equal for f in once] == [f.held_equal for f in usual] and usual


def test_simpson_is_turned_round():
    found = audit(simpson(), ["tone"], ["correct"], given=["camera"])
    raw = next(f for f in found.findings if f.kind == "group")
    f = found.given[0]
    assert raw.verdict == "disparity" and f.raw > 0 > f.held_equal and f.high < 0
    assert f.verdict == "gap hidden by camera" and f.direction == "worse"
    assert found.verdict == audit(simpson(), ["tone"], ["correct"]).verdict  # beside the raw ones, never instead


def test_a_gap_that_is_the_light_is_explained_by_it_and_one_that_is_not_remains():
    explained = audit(why.two_groups(np.random.default_rng(1), 500, 6), ["group"], ["y"], given=["light"]).given[0]
    assert explained.verdict.startswith("gap explained by light (") and explained.explained_low > 0.5
    assert explained.explained["light"].low < explained.explained["light"].share < explained.explained["light"].high
    remains = audit(why.two_groups(np.random.default_rng(1), 500, 6, effect=0.15), ["group"], ["y"], given="light")
    assert remains.given[0].verdict == "gap remains"


def test_without_overlap_nothing_is_said():
    rows = {"group": ["a"] * 200 + ["b"] * 200, "light": ["dim"] * 200 + ["bright"] * 200, "y": [1.0, 0.0] * 200}
    f = audit(rows, ["group"], ["y"], given=["light"]).given[0]
    assert f.verdict == "untestable (no overlap)" and f.overlap == 0 and math.isnan(f.p_adjusted)


def test_with_too_few_to_compare_only_the_raw_gap_is_known():
    """Three rows of each side share a light: their difference is a number, and no estimate."""
    lights = ["dim"] * 197 + ["bright"] * 200 + ["dim"] * 3
    rows = {"group": ["a"] * 200 + ["b"] * 200, "light": lights, "y": [1.0, 0.0] * 200}
    result = audit(rows, ["group"], ["y"], given=["light"], adjust="holm")
    (f,) = result.given
    assert f.verdict == "untestable (no overlap)" and f.effective_people < 15 and f.raw == 0 and f.overlap > 0
    stored = json.loads(result.to_json())["findings"][-1]
    blank = ("held_equal", "difference", "low", "high", "diff_low", "diff_high", "se", "df", "p", "p_adjusted")
    blank += ("composition", "composition_low", "composition_high", "explained_share", "explained_low")
    assert [name for name in blank if stored[name] is not None] == []
    assert set(stored["explained"]) == {"light"} and set(stored["explained"]["light"].values()) == {None}
    assert Audit.from_dict(json.loads(result.to_json())).given[0].verdict == f.verdict


def test_what_is_measured_on_the_face_is_labelled_and_never_suggested():
    rows = why.two_groups(np.random.default_rng(1), 300, 4)
    rows["img.face.brightness"] = [100 - 40 * (g == "g1") + 3 * (i % 7) for i, g in enumerate(rows["group"])]
    rows["img.brightness"] = [100 - 40 * (name != "l0") + 3 * (i % 7) for i, name in enumerate(rows["light"])]
    plain = audit(rows, ["group"], ["y"], adjust="holm")
    (note,) = [note for note in plain.notes if "given=" in note]
    assert "img.brightness" in note and "img.face" not in note and 'by="group", given="light,img.brightness"' in note
    f = audit(rows, ["group"], ["y"], given=["img.face.brightness"], adjust="holm").given[0]
    assert f.note == "may be part of the gap itself" and f.reason.endswith(f.note)


def test_no_warning_where_nothing_goes_together():
    r = np.random.default_rng(4)
    rows = why.two_groups(r, 300, 4, overlap=0.0)
    assert not [note for note in audit(rows, ["group"], ["y"], adjust="holm").notes if "given=" in note]
    assert cramers_v(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), 2, 2) == 0


def test_an_audit_with_given_findings_is_read_back_as_it_was(tmp_path):
    found = ct.audit(simpson(), by="tone", metrics="correct", given=["camera"])
    assert json.loads(found.to_json())["findings"][-1]["explained"]["camera"].keys() >= {"share", "low", "high"}
    for again in (Audit.from_dict(json.loads(found.to_json())), Audit.read(found.write(tmp_path / "f.parquet"))):
        assert again.given[0].model_dump() == found.given[0].model_dump()
    plain = found.without_given()
    assert not any(f.kind == "given" for f in plain.findings) and plain.given == found.given
    assert found.settings["given"] == ["camera"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"given": ["a", "b", "c", "d", "e", "f", "g"]}, "at most 6"),
        ({"given": ["tone*camera"]}, "single conditions"),
        ({"given": ["camra"]}, "did you mean 'camera'"),
        ({"given": ["camera"], "comparison": "pairs"}, "not for 'pairs'"),
        ({"given": [3]}, "expected names of columns"),
        ({"given": ["correct"]}, "^given: 'correct' is a metric"),
        ({"given": ["tone"]}, "^given: tone, and by names only tone"),
        ({"given": ["number:quantiles0"]}, "^given: 'number:quantiles0', expected quantiles2 to quantiles4"),
        ({"given": ["number:quantilesX"]}, "^given: 'number:quantilesX', expected cut points"),
        ({"given": ["number:3,2"]}, "^given: 'number:3,2', the cut points must rise"),
        ({"given": ["number:quantiles9"]}, "^given: 'number:quantiles9', expected quantiles2 to quantiles4"),
        ({"given": ["person_id"]}, "^given: 'person_id' says whose a row is"),
        ({"given": ""}, "^given '', expected names of columns"),
        ({"given": " , "}, "^given ' , ', expected names of columns"),
    ],
)
def test_wrong_conditions_are_refused_by_name_before_any_permutation(options, words):
    rows = simpson() | {name: ["x", "y"] * 720 for name in "abcdefg"} | {"number": list(range(1440))}
    steps: list[tuple[int, int]] = []
    with pytest.raises(InputError, match=words):
        audit(rows, ["tone"], ["correct"], progress=lambda *step: steps.append(step), **options)
    assert not steps


def test_a_metric_of_a_run_is_no_condition_either():
    rows = {"attr.tone": ["a", "b"] * 50, "m.found": [1, 0] * 50, "m.iou": [0.5, 0.2] * 50}
    with pytest.raises(InputError, match=r"^given: 'm\.iou' is a metric"):
        audit(rows, ["tone"], ["found"], given=["m.iou"])


def test_an_attribute_that_is_a_condition_is_left_out_with_a_note():
    rows = simpson()
    result = audit(rows, ["tone", "camera", "tone*camera"], ["correct"], given=["camera"], adjust="holm")
    assert {f.attribute for f in result.given} == {"tone"}
    notes = [note for note in result.notes if "not compared with conditions equal" in note]
    assert notes == [
        "camera is not compared with conditions equal: it is one of the conditions",
        "tone × camera is not compared with conditions equal: a part of it is one of the conditions",
    ]
    with pytest.raises(InputError, match=r"^given: camera, and by names only camera, tone × camera"):
        audit(rows, ["camera", "tone*camera"], ["correct"], given=["camera"], adjust="holm")


def test_infinite_numbers_are_not_recorded_and_a_constant_holds_nothing_equal():
    rows = simpson()
    rows["size"] = [math.inf if i % 5 == 0 else float(i % 90) for i in range(len(rows["tone"]))]
    found = audit(rows, ["tone"], ["correct"], given=["size"], adjust="holm")
    lost = sum(math.isinf(size) for size in rows["size"])
    assert found.given[0].unknown_conditions == lost and math.isfinite(found.given[0].held_equal)
    rows["camera"] = ["front"] * len(rows["tone"])
    found = audit(rows, ["tone"], ["correct"], given=["camera"], adjust="holm")
    assert "camera has one value wherever it is recorded: holding it equal changes nothing" in found.notes
    assert found.given[0].held_equal == pytest.approx(found.given[0].raw)


def test_bins_of_few_people_are_merged():
    values = pa.array([1.0] * 50 + [2.0, 3, 4, 5, 6, 7, 8, 9])
    one = covariate(Choice("x", "x", cuts=(1.5, 8.5)), values, np.arange(58), 10)
    assert one.levels == ["<1.5", "1.5+"] and np.bincount(one.codes).tolist() == [50, 8]


def test_the_propensity_is_that_of_a_logistic_regression():
    statsmodels = pytest.importorskip("statsmodels.api")
    r = np.random.default_rng(0)
    x = np.column_stack([np.ones(300), r.normal(size=(300, 2))])
    inside = (r.random(300) < why.sigmoid(x @ [0.2, 1.0, -0.5])).astype(float)
    expected = statsmodels.Logit(inside, x).fit(disp=0).predict(x)
    assert logistic(inside, x, np.zeros(3)) == pytest.approx(expected, abs=1e-6)


def test_thin_strata_fall_back_to_a_propensity():
    r = np.random.default_rng(6)
    g = (np.arange(240) < 60).astype(int)
    rows = {"group": why.labels(g, "g"), "y": (r.random(240) < 0.7).astype(float)}
    rows |= {f"x{k}": r.normal(0.3 * g, 1) for k in range(6)}
    f = audit(rows, ["group"], ["y"], given=[f"x{k}" for k in range(6)], adjust="holm").given[0]
    assert f.method == "propensity" and f.effective_people >= 15 and f.low < f.held_equal < f.high


def test_step_down_adjusts_as_permuted_minima_do():
    r = np.random.default_rng(0)
    observed, null = np.array([4.0, 1.0, 0.2]), np.abs(r.normal(size=(499, 3)))
    p, adjusted = step_down(observed, null)
    pooled = np.vstack([observed, null])
    ranks = np.array([[(pooled[:, j] >= pooled[i, j]).mean() for j in range(3)] for i in range(500)])
    assert p == pytest.approx(ranks[0]) and adjusted[0] == pytest.approx((ranks.min(1) <= ranks[0, 0]).mean())
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "name", ["ten tones, 200 people × 10", slow("a number with a bent effect"), slow("the label changes within people")]
)
def test_fair_worlds_are_not_called(name):
    """Twenty-five tables of a world that is fair given its conditions: at most four alarms (more: p < .002)."""
    world = next(one for one in why.WORLDS if one.name == name)
    tally = why.look(world, 25, seed=5)
    assert tally.alarms <= 4 and tally.covered / tally.intervals >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("world", why.WORLDS, ids=lambda one: one.name)
def test_worlds_are_calibrated(world):
    tally = why.look(world, 200, seed=11)
    if not world.gap:
        assert tally.alarms / tally.tables <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / tally.tables)
    assert tally.covered / tally.intervals >= 0.93


def test_a_million_rows_take_less_than_ten_seconds_of_a_processor():
    import time

    r, n = np.random.default_rng(0), 200_000
    rows = {
        "group": np.array(list("abcde"))[r.integers(0, 5, n)],
        "y": (r.random(n) < 0.8).astype(float),
        "light": np.array(list("wxyz"))[r.integers(0, 4, n)],
        "camera": np.array(list("pq"))[r.integers(0, 2, n)],
        "size": r.normal(size=n),
        "turn": r.normal(size=n),
    }
    start = time.process_time()
    found = audit(pa.table(rows), ["group"], ["y"], given=["light", "camera", "size", "turn"], cluster=None).given
    assert time.process_time() - start < 5 and found[0].test == "normal limit"
