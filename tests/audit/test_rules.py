"""The rules of the statistics' third edition, each through the public function: what was wrong once, and is not now."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance import auditing
from countenance.auditing import Audit, Finding, plan
from countenance.auditing.headline import headline
from countenance.errors import InputError


def people(sizes: dict[str, tuple[int, int, float]], seed: int = 0, icc: float = 0.2) -> dict[str, Any]:
    """Rows of people by group: {group: (people, pictures each, rate)}."""
    rng = np.random.default_rng(seed)
    group, person, right = [], [], []
    for name, (count, each, rate) in sizes.items():
        both = 1 / icc - 1
        own = rng.beta(rate * both, (1 - rate) * both, count) if 0 < rate < 1 else np.full(count, rate)
        for k in range(count):
            group += [name] * each
            person += [f"{name}{k}"] * each
            right += (rng.random(each) < own[k]).astype(int).tolist()
    return {"identity": person, "g": group, "correct": right}


def rates(**groups: tuple[int, int]) -> dict[str, Any]:
    """Independent 0/1 rows from {group: (right, all)}."""
    g = np.repeat(list(groups), [n for _, n in groups.values()])
    return {"g": g, "correct": np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in groups.values()])}


def of_group(audit: Audit, group: str, **fields: Any) -> Finding:
    """The only finding of a group that has these fields."""
    [one] = [f for f in audit.findings if f.group == group and all(getattr(f, k) == v for k, v in fields.items())]
    return one


# 1: one further person at the far end


def further_limits(means: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The limits of people's means with one further person at 0, and at 1, written out."""
    from scipy import stats

    ends = []
    for end, sign in ((0.0, -1), (1.0, 1)):
        every = np.append(means, end)
        half = stats.t.ppf(0.5 + level / 2, len(every) - 1) * every.std(ddof=1) / math.sqrt(len(every))
        ends.append(min(1.0, max(0.0, every.mean() + sign * half)))
    return ends[0], ends[1]


def test_people_who_are_all_right_are_not_as_many_trials_as_pictures() -> None:
    rows = people({"a": (25, 8, 1.0), "b": (300, 8, 0.96)})
    found = ct.audit(rows, ["g"], ["correct"])
    [a] = [e for e in found.groups if e.group == "a"]
    assert a.low == pytest.approx(0.025 ** (1 / 25)) and a.high == 1
    assert a.low < further_limits(np.ones(25))[0] < 0.9 and a.counted == "200 pictures of 25 people"
    assert found.verdict != "none larger than 0.05" and "200 pictures of 25 people" in found.findings[0].reason


@pytest.mark.parametrize("metric", ["rate", "score"])
@pytest.mark.parametrize("within", [False, True], ids=["of people", "within people"])
def test_no_limit_is_tighter_than_that_of_peoples_means_with_one_further_person(metric: str, within: bool) -> None:
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(60), rng.integers(2, 9, 60))
    skill = rng.beta(8, 1, 60)[person]
    value = (
        (rng.random(len(person)) < skill) * 1.0
        if metric == "rate"
        else np.round(skill * rng.beta(9, 1, len(person)), 3)
    )
    label = rng.choice(["a", "b"], len(person)) if within else np.where(person % 3 == 0, "a", "b")
    found = ct.audit({"identity": person, "g": label, "m": value}, ["g"], ["m"], adjust="holm")
    for estimate in found.groups:
        here = label == estimate.group
        own = [value[here & (person == p)].mean() for p in np.unique(person[here])]
        low, high = further_limits(np.array(own))
        assert estimate.low <= low + 1e-9 and estimate.high >= high - 1e-9
    [f] = found.findings
    assert f.low_equivalence < f.difference < f.high_equivalence


def test_people_who_are_right_or_wrong_in_all_pictures_are_counted_as_trials() -> None:
    """Clopper and Pearson's limits over people, by the beta distribution; t with one further person is narrower."""
    from scipy import stats

    from countenance.auditing.far_ends import SHARE, FarEnds
    from countenance.auditing.sums import clustered

    for wrong in range(6):
        expected = stats.beta.ppf(0.025, 60 - wrong, wrong + 1)
        value = np.repeat(np.r_[np.zeros(wrong), np.ones(60 - wrong)], 8)
        rows = {"identity": np.repeat(np.arange(360), 8), "g": np.repeat(["a", "b"], [480, 2400])}
        found = ct.audit(rows | {"correct": np.r_[value, np.ones(2400)]}, ["g"], ["correct"], adjust="holm")
        [a] = [e for e in found.groups if e.group == "a"]
        low, _ = FarEnds(clustered(value, np.repeat(np.arange(60), 8)), SHARE, of_trials=True).limits(0.05)
        assert float(low) == pytest.approx(expected) and expected < further_limits(value[::8])[0]
        assert a.low <= expected + 1e-9


@pytest.mark.parametrize("people", [25, 53, 58, 60, 72, 100, 200])
def test_a_gap_that_matters_is_cleared_or_passed_no_more_often_than_the_level(people: int) -> None:
    """One person in twenty always fails: the chance of each number of such people, times what the audit makes of it."""
    from scipy import stats

    cleared = passed = 0.0
    group = np.repeat(["a", "b"], [people * 4, 1200])
    for wrong in range(people // 12 + 1):
        value = np.r_[np.repeat(np.r_[np.zeros(wrong), np.ones(people - wrong)], 4), np.ones(1200)]
        rows = {"identity": np.repeat(np.arange(people + 300), 4), "g": group, "correct": value}
        [f] = ct.audit(rows, ["g"], ["correct"], adjust="holm").findings
        chance = stats.binom.pmf(wrong, people, 0.05)
        cleared += chance * f.verdict.startswith("none")
        passed += chance * (f.diff_low >= -0.05)
    assert cleared <= 0.05 and passed <= 0.025


def test_one_row_a_person_keeps_the_intervals_that_are_made_for_it() -> None:
    from statsmodels.stats.proportion import proportion_confint

    [f] = ct.audit(rates(a=(120, 150), b=(400, 545)), ["g"], ["correct"]).findings
    assert (f.low, f.high) == pytest.approx(proportion_confint(120, 150, method="wilson"))
    assert f.counted == "150 rows"


def test_a_hundred_perfect_people_are_cleared_and_twenty_five_are_not() -> None:
    for count, clear in ((25, False), (100, True)):
        found = ct.audit(people({"a": (count, 8, 1.0), "b": (300, 8, 1.0)}), ["g"], ["correct"])
        assert found.verdict.startswith("none") == clear


def test_compare_and_the_loss_of_people_nobody_has_seen() -> None:
    rows = people({"a": (25, 8, 1.0), "b": (300, 8, 1.0)})
    rows["sample"] = list(range(len(rows["g"])))
    same = ct.compare(rows, rows, by=["g"], metrics=["correct"], names=["v1", "v2"])
    assert not same.change("correct", "g", "a").not_worse and same.change("correct", "g", "b").not_worse
    assert "a loss of 5 points or more is not ruled out for g = a" in same.decision.lower()


def test_equity_counts_people_not_their_pictures() -> None:
    many = people({"a": (40, 20, 1.0), "b": (40, 20, 0.97)}, icc=0.5)
    once = {name: [values[k] for k in range(0, len(values), 20)] for name, values in many.items()}
    wide, narrow = (
        next(
            e
            for e in ct.audit(rows, ["g"], ["correct"], equity=True, adjust="holm").equity
            if e.measure == "impact_ratio"
        )
        for rows in (many, once)
    )
    assert wide.high - wide.low > 0.5 * (narrow.high - narrow.low), "pictures of one person add little"


# 3: missing scores


def silent(share: float = 0.24, n: int = 1500, **more: Any) -> dict[str, Any]:
    """A model that is always right, and gives no answer for a share of group a."""
    rng = np.random.default_rng(1)
    group = np.where(np.arange(n) % 3 == 0, "a", "b")
    score = [None if g == "a" and rng.random() < share else 1.0 for g in group]
    return {"g": group, "correct": score, **more}


def test_who_is_not_answered_for_is_not_cleared() -> None:
    found = ct.audit(silent(), ["g"], ["correct"])
    assert found.verdict == "disparity"
    missing = of_group(found, "a", kind="missing")
    assert missing.verdict == "disparity" and missing.direction == "worse" and missing.metric == "correct"
    assert missing.estimate == pytest.approx(0.24, abs=0.03) and missing.estimate_versus == 0
    shares = {one.group: (one.missing, one.n) for one in found.missing}
    assert shares["b"] == (0, 1000) and shares["a"][1] == 500 and shares["a"][0] == round(missing.estimate * 500)
    assert json.loads(found.to_json())["missing"][0]["metric"] == "correct"


def test_an_all_clear_holds_with_the_missing_as_wrong_on_both_sides() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], 3000)
    score = np.where(rng.random(6000) < 0.06, np.nan, 1.0)  # missing alike in both: one interval holds, the other too
    alike = ct.audit({"g": group, "correct": score}, ["g"], ["correct"], delta=0.1)
    assert alike.verdict == "none larger than 0.1"
    f = of_group(alike, "a", kind="group")
    assert f.low_equivalence < f.diff_low or f.high_equivalence > f.diff_high
    uneven = np.where((group == "a") & (rng.random(6000) < 0.08), np.nan, 1.0)
    assert ct.audit({"g": group, "correct": uneven}, ["g"], ["correct"], delta=0.09).verdict != "none larger than 0.09"


def test_rows_outside_the_denominator_are_not_missing() -> None:
    rng = np.random.default_rng(3)
    masked = rng.random(2000) < 0.5
    rows = {"g": rng.choice(["a", "b"], 2000), "masked": masked, "tp": np.where(masked, 1.0, np.nan)}
    found = ct.audit(rows, ["g"], ["tp"], denominators={"tp": "masked"})
    assert not found.missing and found.verdict == "none larger than 0.05"
    assert ct.audit(rows, ["g"], ["tp"]).missing, "where nothing says so, a row without a score is missing"


def test_a_metric_without_ends_is_not_cleared_while_scores_are_missing() -> None:
    rng = np.random.default_rng(4)
    rows = {"g": np.repeat(["a", "b"], 2000), "ms": rng.normal(100, 5, 4000)}
    assert ct.audit(rows, ["g"], ["ms"], delta={"ms": 5}).verdict == "none larger than 5"
    for share, clear in ((0.005, True), (0.03, False)):
        lacking = rows | {"ms": np.where(rng.random(4000) < share, np.nan, rows["ms"])}
        found = ct.audit(lacking, ["g"], ["ms"], delta={"ms": 5})
        own = of_group(found, "a", kind="group")
        assert (own.verdict == "none larger than 5") == clear
        assert clear or "1 % of a side has no score" in own.reason


def test_a_model_that_stops_answering_is_not_worse_for_nobody() -> None:
    rows = {"sample": list(range(1500)), **silent(0.0)}
    quiet = rows | {"correct": silent(0.25)["correct"]}
    found = ct.compare(rows, quiet, by=["g"], metrics=["correct"], names=["v1", "v2"])
    assert "worse for nobody" not in found.decision and not found.change("correct", "g", "a").not_worse
    assert found.change("correct (missing)", "g", "a").verdict == "worse"
    assert found.change("correct", "g", "b").not_worse


# 4: unknown labels


def test_people_of_whom_nothing_is_recorded_are_compared() -> None:
    rng = np.random.default_rng(5)
    gender = rng.choice(["f", "m", None], 3000, p=[0.35, 0.35, 0.3])
    right = rng.random(3000) < np.where(gender == None, 0.6, 0.95)  # noqa: E711
    found = ct.audit({"gender": gender, "correct": right * 1}, ["gender"], ["correct"])
    unknown = of_group(found, "(unknown)")
    assert found.verdict == "disparity" and unknown.verdict == "disparity" and unknown.versus == "rest"
    assert unknown.n_versus == sum(g is not None for g in gender)
    assert headline(found).startswith("people whose gender is not recorded do worse than everyone else")
    known = of_group(found, "f")
    assert known.versus == "m" and known.n + known.n_versus == unknown.n_versus, "the rest of others has no unknown"
    for asked in ({"comparison": "reference", "reference": "m"}, {"comparison": "pairs"}):
        again = of_group(
            ct.audit({"gender": gender, "correct": right * 1}, ["gender"], ["correct"], **asked), "(unknown)"
        )
        assert again.verdict == "disparity" and again.versus == "rest", "whatever groups are compared with"
    crossed = ct.audit({"gender": gender, "h": ["x", "y"] * 1500, "correct": right * 1}, ["gender", "h"], ["correct"])
    assert not any("(unknown)" in f.group for f in crossed.findings if f.depth == 2)


# 5 and 6: two groups apart, rare failures


def test_two_groups_that_are_further_apart_than_each_is_from_the_rest() -> None:
    n = 20_000
    five = rates(a=(9320, n), b=(10_000, n), c=(10_000, n), d=(10_000, n), e=(10_680, n))
    found = ct.audit(five, ["g"], ["correct"])
    [widest] = found.widest
    assert (widest.group, widest.versus, widest.pairs) == ("e", "a", 10) and widest.low > 0.05 and widest.beyond
    [pair] = [f for f in found.findings if f.verdict == "disparity"]
    assert found.verdict == "disparity" and {pair.group, pair.versus} == {"a", "e"}
    assert all(f.verdict == "none larger than 0.05" for f in found.findings if f.versus == "rest")
    famous = rates(a=(9000, 10_000), b=(9360, 10_000), c=(9360, 10_000), d=(9360, 10_000), e=(9690, 10_000))
    assert ct.audit(famous, ["g"], ["correct"]).verdict == "disparity"
    near = ct.audit(rates(a=(940, 1000), b=(950, 1000), c=(955, 1000)), ["g"], ["correct"], delta=0.1)
    assert near.verdict == "none larger than 0.1" and not near.widest[0].beyond
    assert "from everybody else together" in near.reason and "simultaneous over 3 pairs" in near.reason
    assert "the largest difference between two groups of g is 0.015" in headline(near)
    assert not ct.audit(rates(a=(940, 1000), b=(950, 1000)), ["g"], ["correct"]).widest


def test_rare_failures_are_not_excused_by_points() -> None:
    found = ct.audit(rates(a=(3992, 4000), b=(3824, 4000)), ["g"], ["correct"])
    [f] = found.findings
    assert f.verdict == "disparity" and f.severity == "severe" and abs(f.difference) < 0.05
    assert f.failure_ratio is not None and f.failure_ratio.value == pytest.approx(22.0)
    assert f.failure_ratio.low > 2 and "22 times as many failures" in f.reason and "failures are rare" in f.reason
    assert re.search(r"0.956 against 0.998, 22 times as many failures \[\d+, \d+\.\d\]", headline(found))
    perfect = ct.audit(rates(a=(2000, 2000), b=(1912, 2000)), ["g"], ["correct"]).findings[0].failure_ratio
    assert perfect is not None and perfect.value is None and perfect.high is None and perfect.low > 2
    often = ct.audit(rates(a=(7900, 10_000), b=(7700, 10_000)), ["g"], ["correct"])
    assert often.verdict == "none larger than 0.05" and "a real difference" in often.findings[0].reason
    unsaid = ct.audit(rates(a=(3992, 4000), b=(3824, 4000)), ["g"], ["correct"], better={"correct": None})
    assert unsaid.verdict == "disparity" and unsaid.findings[0].failure_ratio is None


# 7: direction


@pytest.mark.parametrize("name", ["wer", "error", "missed", "false_positive", "FalseNegativeRate", "latency_ms"])
def test_a_metric_that_is_better_when_lower_is_known_by_its_name(name: str) -> None:
    rng = np.random.default_rng(6)
    rows = {"accent": ["Scottish"] * 200 + ["US"] * 200, name: np.r_[rng.beta(6, 14, 200), rng.beta(2, 18, 200)]}
    found = ct.audit(rows, ["accent"], [name])
    assert found.findings[0].direction == "worse"
    assert headline(found).startswith("accent = Scottish does worse than accent = US")
    assert any(f"{name}: lower is better" in note for note in found.notes), "what was inferred is said"


def test_where_the_direction_is_not_known_nobody_is_called_worse() -> None:
    rows = rates(a=(500, 1000), b=(900, 1000))
    rows["ok"] = rows.pop("correct")
    found = ct.audit(rows, ["g"], ["ok"])
    assert found.findings[0].direction == "unknown" and "g = a differs from g = b" in headline(found)
    assert ct.audit(rows, ["g"], ["ok"], better={"ok": "higher"}).findings[0].direction == "worse"
    with pytest.raises(InputError, match="not known which way a metric is better"):
        ct.audit(rows, ["g"], ["ok"], comparison="reference", reference="best")
    both = {"g": rows["g"], "error_found": rows["ok"]}
    assert ct.audit(both, ["g"], ["error_found"]).findings[0].direction == "unknown"


def test_who_is_known_to_do_worse_is_said_before_who_only_differs() -> None:
    rows = rates(a=(1700, 2000), b=(1900, 2000))
    rows["quality"] = np.repeat([1, 0, 1, 0], [200, 1800, 1800, 200])
    found = ct.audit(rows, ["g"], ["quality", "correct"])
    assert [f.direction for f in found.findings] == ["unknown", "worse"]
    assert headline(found).startswith("g = a does worse than g = b: correct is 0.850 against 0.950")


def test_a_task_must_say_which_way_its_metrics_are_better() -> None:
    with pytest.raises(TypeError, match="better"):
        ct.Metric("score", "a score")  # type: ignore[call-arg]
    assert ct.Metric("score", "a score", None).better is None


# 8: whose rows


@pytest.mark.parametrize(
    "name", ["person_id", "Person ID", "speaker", "patient", "participant", "user_id", "subject_id"]
)
def test_a_column_of_people_is_recognised(name: str) -> None:
    rows = people({"a": (40, 5, 0.8), "b": (40, 5, 0.8)})
    rows[name] = rows.pop("identity")
    found = ct.audit(rows, ["g"], ["correct"])
    assert found.settings["ways"] == [name] and found.findings[0].clusters == 40
    assert ct.audit(rows, ["g"], ["correct"], cluster=None).settings["ways"] == []


def test_what_only_looks_like_a_column_of_people_is_none() -> None:
    rows = rates(a=(80, 100), b=(85, 100))
    for name, values in {"subject": [0, 1] * 100, "person": ["yes", "no"] * 100}.items():
        assert ct.audit(rows | {name: values}, ["g"], ["correct"]).settings["ways"] == []


def test_a_column_whose_rows_are_alike_is_taken_and_said() -> None:
    rows = people({"a": (60, 6, 0.8), "b": (60, 6, 0.8)}, icc=0.4)
    rows["nr"] = rows.pop("identity")
    found = ct.audit(rows, ["g"], ["correct"])
    assert found.settings["ways"] == ["nr"] and "rows that share a value of nr are alike" in found.settings["unit"]
    assert ct.audit(rows, ["g"], ["correct"], cluster=None).settings["ways"] == []
    rng = np.random.default_rng(7)
    noise = rates(a=(160, 200), b=(165, 200)) | {"batch": rng.integers(0, 60, 400)}
    assert ct.audit(noise, ["g"], ["correct"]).settings["ways"] == []
    few = people({"a": (9, 30, 0.8), "b": (9, 30, 0.8)}, icc=0.5)
    few["nr"] = few.pop("identity")
    assert ct.audit(few, ["g"], ["correct"]).settings["ways"] == [], "fewer than 20 values say nothing"


# 9 and 15: two statistics, the permutation's p


def test_the_typical_value_is_compared_beside_the_mean() -> None:
    rng = np.random.default_rng(8)
    late = rng.normal(1.25, 0.2, 60) * np.where(np.arange(60) == 3, 50, 1)
    usual = rng.normal(1, 0.2, 400) * np.where(np.arange(400) % 100 == 3, 50, 1)
    rows = {"g": ["a"] * 60 + ["b"] * 400, "seconds": np.r_[late, usual]}
    for comparison in ({}, {"comparison": "pairs"}, {"comparison": "reference", "reference": "b"}):
        found = ct.audit(rows, ["g"], ["seconds"], delta={"seconds": 100}, adjust="holm", **comparison)
        [f] = found.findings
        assert (f.verdict, f.statistic, f.direction) == ("disparity", "rank", "worse") and f.p_rank < 1e-6 < f.p_mean
        assert f.p == pytest.approx(2 * f.p_rank) and f.effect_low > 0.2 and f.diff_low < f.difference < f.diff_high
        assert "the typical value of seconds is higher" in headline(found)
    shuffled = ct.audit(rows, ["g"], ["seconds"])
    assert shuffled.findings[0].statistic == "rank" and shuffled.findings[0].p < 0.002


def test_the_p_that_is_printed_is_the_permutations() -> None:
    rng = np.random.default_rng(9)
    rows = {"g": ["a"] * 30 + ["b"] * 300, "v": rng.lognormal(0, 1.5, 330) * np.repeat([1.6, 1.0], [30, 300])}
    found = ct.audit(rows, ["g"], ["v"], seed=3)
    [f] = found.findings
    draws = found.settings["permutations"] + 1
    assert f.p * draws == pytest.approx(round(f.p * draws)) and f.p == f.p_adjusted, "a count of permutations"


# 10: small groups


def test_few_people_are_tested_by_permutation() -> None:
    found = ct.audit(rates(a=(0, 19), b=(500, 500)), ["g"], ["correct"])
    [f] = found.findings
    assert (
        found.verdict == "disparity" and f.small_group and f.severity == "severe" and "alarming" not in found.to_json()
    )
    mixed = ct.audit(people({"a": (9, 4, 0.2), "b": (150, 4, 0.9), "c": (150, 4, 0.9)}), ["g"], ["correct"])
    small = of_group(mixed, "a")
    assert small.small_group and small.verdict == "disparity" and small.family_size == 3
    assert small.test == "permutation of people's means" and small.p_adjusted < 0.05
    for adjust in ("minp", "holm"):
        fine = of_group(
            ct.audit(
                people({"a": (9, 4, 0.9), "b": (150, 4, 0.9), "c": (99, 4, 0.9)}), ["g"], ["correct"], adjust=adjust
            ),
            "a",
        )
        assert fine.verdict == "untestable" and fine.p > 0.05 and "too few to clear" in fine.reason
        four = of_group(
            ct.audit(
                people({"a": (4, 9, 0.0), "b": (150, 4, 0.9), "c": (99, 4, 0.9)}), ["g"], ["correct"], adjust=adjust
            ),
            "a",
        )
        assert four.verdict == "untestable" and math.isnan(four.p), "under five people there is never a verdict"


def test_the_permutation_of_few_people_is_counted_out() -> None:
    """Six people against eight: all 3,003 arrangements, written out."""
    import itertools

    means = np.array([0.1, 0.4, 0.2, 0.3, 0.5, 0.2, 0.6, 0.4, 0.7, 0.9, 0.5, 0.8, 0.6, 0.3])
    rows = {"g": ["a"] * 6 + ["b"] * 8, "v": 10 * means}
    [f] = ct.audit(rows, ["g"], ["v"], adjust="holm").findings
    apart = abs(means[:6].mean() - means[6:].mean())
    every = [
        abs(means[list(one)].mean() - np.delete(means, list(one)).mean())
        for one in itertools.combinations(range(14), 6)
    ]
    assert f.p == pytest.approx(np.mean(np.array(every) >= apart - 1e-12)) and f.small_group


# 13: the headline


def test_the_headline_leads_with_the_group_that_stands_out() -> None:
    found = ct.audit(rates(a=(990, 1000), b=(900, 1000), c=(900, 1000), d=(900, 1000)), ["g"], ["correct"])
    assert headline(found).startswith("g = a does better than everyone else")
    where = rates(a=(500, 1000), b=(900, 1000)) | {"light": ["dim", "bright"] * 1000}
    poor = headline(ct.audit(where, ["g"], ["correct"], where="light=dim"))
    assert poor.startswith("Everybody is served badly: 30 % of 1,000 rows fail by correct. Where light = dim: g = a")
    assert headline(ct.audit(where, ["g"], ["correct"], poor=0.5)).startswith("g = a does worse")


# 14: one number, one interval


def test_a_number_has_one_interval_wherever_it_stands() -> None:
    rng = np.random.default_rng(10)
    rows = people({"a": (30, 4, 0.7), "b": (60, 4, 0.9), "c": (45, 4, 0.85)})
    rows["h"] = rng.choice(["x", "y"], len(rows["g"])).tolist()
    rows["v"] = rng.lognormal(size=len(rows["g"])).tolist()
    for asked in ({}, {"comparison": "pairs"}, {"comparison": "reference"}, {"comparison": "spread"}):
        found = ct.audit(rows, ["g", "h"], ["correct", "v"], **asked)
        known = {(e.metric, e.attribute, e.group): (e.estimate, e.low, e.high) for e in found.groups}
        sides = [((f.metric, f.attribute, f.group), (f.estimate, f.low, f.high)) for f in found.findings]
        sides += [
            ((f.metric, f.attribute, f.versus), (f.estimate_versus, f.low_versus, f.high_versus))
            for f in found.findings
        ]
        compared = [(key, numbers) for key, numbers in sides if key in known]
        assert len(compared) > 5
        for key, numbers in compared:
            assert numbers == pytest.approx(known[key], rel=1e-12)


def test_the_interval_that_decides_is_stored_and_named() -> None:
    [f] = ct.audit(rates(a=(1170, 1250), b=(1150, 1250)), ["g"], ["correct"], delta=0.035).findings
    assert f.verdict == "none larger than 0.035" and f.diff_high > 0.035 > f.high_equivalence
    assert f"the 90 % interval decides that (two one-sided tests), not the 95 % one shown: [" in f.reason  # noqa: F541


# 16: ordered attributes


def tones(rng: np.random.Generator, worse: float) -> dict[str, Any]:
    person = np.repeat(np.arange(150), 4)
    tone = np.arange(150) % 10 + 1
    right = rng.random(600) < np.where(tone > 6, 0.92 - worse, 0.92)[person]
    return {"identity": person, "skin_tone": [f"monk_{t}" for t in tone[person]], "correct": right * 1}


def test_an_ordered_attribute_is_also_split() -> None:
    found = ct.audit(tones(np.random.default_rng(11), 0.3), ["skin_tone"], ["correct"])
    splits = [f for f in found.findings if f.kind == "split"]
    assert [f.group for f in splits] == [f"monk_1–monk_{k}" for k in range(2, 9)] and found.verdict == "disparity"
    assert any(f.verdict == "disparity" for f in splits)
    [most] = found.ordered
    assert (most.attribute, most.metric, most.splits) == ("skin_tone", "correct", 9) and most.split.startswith(
        "monk_1–"
    )
    assert most.low < most.difference < most.high and most.difference > 0.15 and most.p_adjusted < 0.05
    own = next(f for f in splits if f.group == most.split)
    assert most.low < own.diff_low and most.high > own.diff_high, "simultaneous over nine splits"
    assert json.loads(found.to_json())["ordered"][0]["split"] == most.split


def test_what_is_ordered_by_itself_and_what_is_named() -> None:
    rng = np.random.default_rng(12)
    rows = {
        "age": rng.integers(0, 90, 800),
        "size": rng.choice(["small", "medium", "large", "huge"], 800),
        "light": rng.choice(["dim", "side", "back", "lamp"], 800),
        "correct": rng.integers(0, 2, 800),
    }
    found = ct.audit(rows, ["age:18,40,65", "size", "light"], ["correct"], depth=1)
    assert {f.attribute for f in found.findings if f.kind == "split"} == {"age"}
    order = ["small", "medium", "large", "huge"]
    named = ct.audit(rows, ["size", "light"], ["correct"], depth=1, ordered={"size": order})
    assert [(f.group, f.versus) for f in named.findings if f.kind == "split"] == [("small–medium", "large–huge")]
    with pytest.raises(InputError, match="expected a list of different values"):
        ct.audit(rows, ["size"], ["correct"], ordered={"size": ["small", "small"]})
    empty = ct.audit(rows | {"age": np.where(rows["age"] < 40, rows["age"], 70)}, ["age:18,30,40,65"], ["correct"])
    assert {f.group for f in empty.findings if f.kind == "split"} == {"<18 to 18–29"}, "a level that nobody has"


def test_splits_never_clear_what_groups_do_not() -> None:
    found = ct.audit(tones(np.random.default_rng(13), 0.0), ["skin_tone"], ["correct"], delta=0.4)
    assert {f.verdict for f in found.findings if f.kind == "split"} == {"none larger than 0.4"}
    assert found.verdict in ("insufficient evidence", "untestable") and "not tested" in found.reason


# 17: twins


def twins(lost: tuple[str, ...] = (), bases: int = 40, seed: int = 14) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ("sample", "base", "change", "skin_tone", "gender", "found")}
    for b in range(bases):
        for value in ("base", "monk_1", "monk_6", "monk_10"):
            rows["sample"].append(f"b{b}" if value == "base" else f"b{b}-{value}")
            rows["base"].append(f"b{b}")
            rows["change"].append("none" if value == "base" else "skin_tone")
            rows["skin_tone"].append("monk_4" if value == "base" else value)
            rows["gender"].append("f" if b % 2 else "m")
            rows["found"].append(int(rng.random() < (0.4 if value in lost else 0.95)))
    return rows


PAIRED = {"paired_by": {"base": "base", "change": "change"}}


def test_twins_are_compared_with_their_base() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    rows = twins(lost=("monk_10",))
    found = ct.audit(rows, metrics=["found"], **PAIRED)
    pairs = {f.group: f for f in found.findings if f.kind == "twins"}
    assert list(pairs) == ["monk_1", "monk_6", "monk_10", "last version"]
    assert {f.versus for f in pairs.values()} == {"base", "first version"} and pairs["monk_10"].verdict == "disparity"
    right = {(b, v): r for b, v, r in zip(rows["base"], rows["skin_tone"], rows["found"], strict=True)}
    every = [(right[f"b{b}", "monk_4"], right[f"b{b}", "monk_10"]) for b in range(40)]
    lost, gained = sum(a > b for a, b in every), sum(a < b for a, b in every)
    one = pairs["monk_10"]
    assert (one.lost, one.gained, one.bases, one.direction) == (lost, gained, 40, "worse")
    table = [[0, lost], [gained, 0]]
    assert one.p == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert not any(f.attribute == "change" for f in found.findings), "never a change against everybody else"
    assert {f.attribute for f in found.findings if f.kind == "group"} == {"gender"}
    assert any("of 40 bases skin_tone alone decides" in note for note in found.notes)
    assert "skin_tone = monk_10 alone loses found for" in headline(found)


def test_values_with_too_few_twins_are_compared_together() -> None:
    rows: dict[str, list[Any]] = {name: [] for name in ("sample", "base", "change", "hair", "found")}
    for b in range(40):
        for value in ("base", f"style{b % 8}"):
            rows["sample"].append(f"b{b}" if value == "base" else f"b{b}-{value}")
            rows["base"].append(f"b{b}")
            rows["change"].append("none" if value == "base" else "hair")
            rows["hair"].append("short" if value == "base" else value)
            rows["found"].append(int(value == "base" or b % 2))
    (pair,) = (f for f in ct.audit(rows, metrics=["found"], **PAIRED).findings if f.kind == "twins")
    assert (pair.group, pair.versus, pair.bases, pair.lost, pair.gained) == ("changed", "base", 40, 20, 0)
    assert pair.verdict == "disparity"
    each = ct.audit(rows, metrics=["found"], min_n=5, **PAIRED).findings
    assert {f.group for f in each if f.kind == "twins"} == {f"style{k}" for k in range(8)}


def test_twins_that_differ_by_chance_show_nothing() -> None:
    hits = sum(ct.audit(twins(seed=s), ["change"], ["found"], **PAIRED).verdict == "disparity" for s in range(40))
    assert hits <= 4


def test_other_comparisons_of_twins_are_as_they_are_named() -> None:
    rows = twins(lost=("monk_10",))
    asked = {"where": {"skin_tone": ["monk_4", "monk_10"]}, "comparison": "paired", "pair": "base"}
    [f] = ct.audit(rows, ["skin_tone"], ["found"], **asked, **PAIRED).findings
    assert f.comparison == "paired" and f.kind == "group"
    mixed = {name: values + values[:1] * 200 for name, values in twins().items()}
    mixed["base"][160:], mixed["sample"][160:] = [None] * 200, [f"x{k}" for k in range(200)]
    found = ct.audit(mixed, ["gender", "skin_tone"], ["found"], **PAIRED)
    whole = next(e for e in found.overall if e.metric == "found")
    assert whole.n == 240, "by groups: bases and pictures that are no twins"


# 19: plans


def test_a_plan_never_asks_for_fewer_people_than_an_audit_does() -> None:
    answer = plan(metric="mean", effect="d=1.2", groups=3)
    assert answer.n_per_group == answer.units_per_group == 20 and answer.reason.startswith("20 people in each of 3")
    many = plan(rate=0.9, effect="diff=.1", rows_per_unit=50)
    assert many.units_per_group == 20 and many.n_per_group == 1000
    assert many.reason.startswith("20 people with 1,000 rows in each")


# 20: who and when


def test_a_finding_is_of_a_person_or_of_a_condition() -> None:
    rng = np.random.default_rng(15)
    rows = {name: rng.choice(["x", "y"], 400) for name in ("skin_tone", "light", "badge")}
    found = ct.audit(
        rows | {"correct": rng.integers(0, 2, 400)},
        ["skin_tone", "light", "badge"],
        ["correct"],
        roles={"badge": "person"},
    )
    roles = {f.attribute: f.role for f in found.findings}
    assert roles["skin_tone"] == roles["badge"] == roles["skin_tone × light"] == "person"
    assert roles["light"] == "condition"
    with pytest.raises(InputError, match="expected person or condition"):
        ct.audit(rows | {"correct": rng.integers(0, 2, 400)}, ["light"], ["correct"], roles={"light": "weather"})


# numbers of groups that rows do not give


def test_numbers_of_groups_are_compared_as_ratios() -> None:
    from countenance.auditing.computed_groups import ComputedGroups

    rows = people({"a": (80, 3, 0.95), "b": (80, 3, 0.95), "c": (80, 3, 0.95)})
    values, errors = (0.001, 0.0011, 0.008), (0.2, 0.2, 0.2)
    limits = [tuple(v * math.exp(sign * 1.96 * e) for v, e in zip(values, errors, strict=True)) for sign in (-1, 1)]
    one = ComputedGroups("FMR", "g", ("a", "b", "c"), values, errors, *limits, (9000,) * 3, (80,) * 3, (9e3,) * 3)
    for adjust in ("minp", "holm"):
        found = auditing.audit(rows, ["g"], ["correct"], computed=[one], adjust=adjust)
        worst = of_group(found, "c", metric="FMR")
        other = (values[0] + values[1]) / 2
        assert worst.effect == pytest.approx(values[2] / other) and worst.direction == "worse"
        assert worst.verdict == "disparity" and worst.severity == "severe" and worst.family_size == 6
        assert worst.failure_ratio.low > 2 and (worst.low, worst.high) == (limits[0][2], limits[1][2])
        assert found.settings["metrics"] == ["correct", "FMR"] and found.settings["delta"]["FMR"] == 2
    same = ComputedGroups(
        "FMR", "g", ("a", "b", "c"), (0.001,) * 3, (0.1,) * 3, *limits, (9000,) * 3, (80,) * 3, (9e3,) * 3
    )
    small = of_group(auditing.audit(rows, ["g"], ["correct"], computed=[same]), "c", metric="FMR")
    assert small.verdict == "none larger than 2 times"
    none = ComputedGroups(
        "FMR",
        "g",
        ("a", "b", "c"),
        (0.0, 0.001, 0.001),
        (math.nan, 0.1, 0.1),
        *limits,
        (9000,) * 3,
        (80,) * 3,
        (9e3,) * 3,
    )
    silent_group = of_group(auditing.audit(rows, ["g"], ["correct"], computed=[none]), "a", metric="FMR")
    assert silent_group.verdict == "insufficient evidence" and math.isnan(silent_group.p), "no match: interval only"


def test_an_audit_is_written_and_read_back(tmp_path: Path) -> None:
    found = ct.audit(
        tones(np.random.default_rng(16), 0.3) | {"wide": [None, *range(599)]}, ["skin_tone"], ["correct", "wide"]
    )
    found.write(tmp_path / "findings.parquet")
    back = Audit.read(tmp_path / "findings.parquet")
    assert back.to_dict(groups=True) == found.to_dict(groups=True) and back.ordered == found.ordered and back.missing
    assert back.findings[0].failure_ratio == found.findings[0].failure_ratio
