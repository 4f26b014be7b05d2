"""Equity measures of an audit: values by the pure functions, intervals that cover, and what a fair system shows."""

import json

import numpy as np
import pytest

from countenance.auditing import audit
from countenance.metrics import equity


def table(rng, rates, people=100, rows=1, spread=0.0):
    """Rows of people in groups; a person's own rate varies by `spread` around the group's."""
    group = np.repeat([f"g{i}" for i in range(len(rates))], people)
    own = np.clip(np.repeat(rates, people) + rng.normal(0, spread, len(group)), 0, 1)
    identity = np.arange(len(group))
    return {
        "identity": np.repeat(identity, rows),
        "g": np.repeat(group, rows),
        "ok": (rng.random(len(group) * rows) < np.repeat(own, rows)).astype(int),
    }


def of(found, measure, metric=None):
    return next(one for one in found.equity if one.measure == measure and metric in (None, one.metric))


def test_values_are_those_of_the_pure_functions():
    rows = table(np.random.default_rng(0), [0.9, 0.8, 0.7], rows=3)
    found = audit(rows, ["g"], ["ok"], equity=True, adjust="holm")
    rates = [e.estimate for e in found.groups if e.attribute == "g"]
    assert of(found, "accuracy_std").value == pytest.approx(equity.accuracy_std(rates), abs=1e-12)
    assert of(found, "skewed_error_ratio").value == pytest.approx(equity.skewed_error_ratio(rates), abs=1e-12)
    wrong = 1 - np.array(rates)
    assert of(found, "max_geomean_ratio").value == pytest.approx(equity.max_geomean_ratio(wrong), abs=1e-12)
    impact = of(found, "impact_ratio")
    assert list(impact.groups.values()) == pytest.approx(equity.impact_ratio(rates), abs=1e-12)
    assert impact.value == pytest.approx(min(impact.groups.values()), abs=1e-12)
    for one in found.equity:
        assert one.low <= one.value <= one.high


def test_a_metric_where_lower_is_better_is_turned():
    rows = table(np.random.default_rng(1), [0.9, 0.8])
    other = rows | {"missed": 1 - rows["ok"]}
    one = audit(rows, ["g"], ["ok"], equity=True)
    two = audit(other, ["g"], ["missed"], better={"missed": "lower"}, equity=True)
    for a, b in zip(one.equity, two.equity, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-12)
        assert (a.low, a.high, a.fair) == pytest.approx((b.low, b.high, b.fair), rel=0.06)  # other draws


def test_false_match_rates_and_false_non_match_rates_are_measured_together():
    rng = np.random.default_rng(2)
    rows = table(rng, [0.9, 0.8])
    rows = {"g": rows["g"], "identity": rows["identity"], "genuine_accepted": rows["ok"].astype(float)}
    rows["impostor_accepted"] = rng.choice([0, 0.01, 0.02], len(rows["g"]))
    found = audit(rows, ["g"], ["genuine_accepted", "impostor_accepted"], equity=True, adjust="holm")
    names = {(one.metric, one.measure) for one in found.equity}
    assert ("FMR and FNMR", "garbe") in names and ("FMR", "max_min_ratio") in names and len(names) == 7
    means = {e.metric + e.group: e.estimate for e in found.groups if e.attribute == "g"}
    fmr = [means["impostor_acceptedg0"], means["impostor_acceptedg1"]]
    fnmr = [1 - means["genuine_acceptedg0"], 1 - means["genuine_acceptedg1"]]
    for name in ("garbe", "inequity_rate", "fairness_discrepancy_rate"):
        assert of(found, name).value == pytest.approx(getattr(equity, name)(fmr, fnmr, 0.5), abs=1e-12)


def test_what_is_undefined_is_named_and_small_groups_are_left_out():
    rows = {"g": ["a"] * 50 + ["b"] * 50 + ["c"] * 5, "ok": [1] * 50 + [1] * 40 + [0] * 10 + [0] * 5}
    found = audit(rows, ["g"], ["ok"], equity=True)
    ratio = of(found, "skewed_error_ratio")
    assert "accuracy 1" in ratio.undefined and np.isnan(ratio.value) and ratio.left_out == ["c"]
    assert of(found, "accuracy_std").value == pytest.approx(0.1)


def test_what_a_fair_system_shows_equals_the_mean_over_shuffled_labels():
    rng = np.random.default_rng(3)
    rows = table(rng, [0.9, 0.85, 0.8, 0.9], people=60)
    found = of(audit(rows, ["g"], ["ok"], equity=True), "accuracy_std")
    values = []
    for _ in range(2000):
        label = rng.permutation(rows["g"])
        values.append(np.std([rows["ok"][label == name].mean() for name in np.unique(label)]))
    assert found.fair == pytest.approx(np.mean(values), rel=0.05)
    assert found.fair_limit == pytest.approx(np.quantile(values, 0.95), rel=0.08)


@pytest.mark.parametrize(
    ("rates", "people", "rows"),
    [
        pytest.param([0.9] * 4, 80, 1, marks=pytest.mark.slow),
        pytest.param([0.9, 0.88, 0.92], 100, 3, marks=pytest.mark.slow),
        ([0.95, 0.85, 0.75], 80, 1),
        ([0.8, 0.9], 60, 4),
    ],
    ids=["fair", "nearly fair", "unfair", "clustered"],
)
def test_intervals_cover_the_true_measure(rates, people, rows):
    rng = np.random.default_rng(4)
    hits, tables = {"accuracy_std": 0, "skewed_error_ratio": 0, "impact_ratio": 0}, 60
    truth = {
        "accuracy_std": np.std(rates),
        "skewed_error_ratio": equity.skewed_error_ratio(rates),
        "impact_ratio": min(equity.impact_ratio(rates)),
    }
    for _ in range(tables):
        spread = 0.05 if rows > 1 else 0.0
        found = audit(table(rng, rates, people, rows, spread), ["g"], ["ok"], equity=True, adjust="holm")
        for name in hits:
            one = of(found, name)
            hits[name] += bool(one.undefined) or one.low - 1e-9 <= truth[name] <= one.high + 1e-9
    assert min(hits.values()) >= tables * (0.93 - 2 * np.sqrt(0.05 * 0.95 / tables))


def test_small_rates_of_many_comparisons_are_not_taken_for_single_trials() -> None:
    """A person's FMR is a share of hundreds of comparisons: fair systems must show intervals that hold 1."""
    held = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        person = np.repeat(np.arange(100), 2)
        own = 0.01 * np.exp(0.5 * random.standard_normal(100) - 0.125)
        rows = {
            "g": [f"g{one % 4}" for one in person],
            "identity": [str(one) for one in person],
            "impostor_accepted": random.binomial(600, own[person]) / 600,
            "genuine_accepted": random.binomial(3, 0.8, 200) / 3,
        }
        found = audit(rows, by=["g"], metrics=["impostor_accepted", "genuine_accepted"], adjust="holm", equity=True)
        ratio = next(one for one in found.equity if (one.metric, one.measure) == ("FMR", "max_min_ratio"))
        held.append(ratio.low < 1.02)
        assert ratio.high > 1.15  # 25 people a group cannot show that rates are so much alike
    assert sum(held) >= 10


def test_the_measures_are_in_the_json_and_come_back_from_parquet(tmp_path):
    rows = {"g": ["a"] * 50 + ["b"] * 50 + ["c"] * 5, "ok": [1] * 50 + [1] * 40 + [0] * 10 + [0] * 5}
    found = audit(rows, ["g"], ["ok"], equity=True)
    written = json.loads(found.to_json())["equity"]
    assert [one["measure"] for one in written] == [one.measure for one in found.equity]
    spread = next(one for one in written if one["measure"] == "accuracy_std")
    expected = of(found, "accuracy_std")
    for name in ("value", "low", "high", "fair", "fair_limit", "p"):
        assert spread[name] == getattr(expected, name)
    assert spread["low"] < spread["value"] < spread["high"] and 0 < spread["fair"] < spread["fair_limit"]
    undefined = next(one for one in written if one["measure"] == "skewed_error_ratio")
    assert undefined["value"] is None and "accuracy 1" in undefined["undefined"]
    assert "equity" not in json.loads(audit(rows, ["g"], ["ok"]).to_json())
    again = type(found).read(found.write(tmp_path / "findings.parquet"))
    assert again.to_json(groups=True) == found.to_json(groups=True) and len(again.equity) == len(found.equity) > 0
