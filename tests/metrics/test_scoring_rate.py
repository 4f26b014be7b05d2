"""The scoring rate of Local Law 144, by hand and against a plain count."""

import math
from statistics import median

import numpy as np
import pytest

import countenance as ct
from countenance.metrics.scoring_rate import above_median, scoring_rates


def test_by_hand() -> None:
    # Median 50: of the women 60 and 90 are above it, of the men 70; 50 itself is not above.
    scores = [40, 60, 90, 50, 30, 70, 20]
    found = scoring_rates(scores, ["f", "f", "f", "m", "m", "m", "m"])
    rates = {one.category: (one.rate.value, one.impact_ratio) for one in found.categories}
    assert found.median == 50 and rates["f"] == (pytest.approx(2 / 3), 1.0)
    assert rates["m"] == (0.25, pytest.approx(0.375)) and found.unknown == 0


@pytest.mark.parametrize("seed", range(4))
def test_against_a_plain_count(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 12, 300).astype(float)  # many ties
    groups = random.choice(["a", "b", "c", "rare"], 300, p=[0.5, 0.3, 0.19, 0.01])
    middle = median(scores.tolist())
    found = scoring_rates(scores, groups.tolist())
    large = {}
    for one in found.categories:
        own = scores[groups == one.category]
        assert one.rate.value == pytest.approx(sum(score > middle for score in own) / len(own)) and one.rate.n == len(
            own
        )
        assert one.small == (len(own) < 6)
        if not one.small:
            large[one.category] = one.rate.value
    for one in found.categories:
        expected = math.nan if one.small else one.rate.value / max(large.values())
        assert one.impact_ratio == pytest.approx(expected, nan_ok=True)


def test_unknown_categories_and_missing_scores_are_counted_not_rated() -> None:
    found = scoring_rates([1.0, 2.0, 3.0, math.nan, 5.0], ["a", None, "b", "b", "b"])
    assert found.unknown == 1 and [one.rate.n for one in found.categories] == [1, 2]
    assert scoring_rates([], []).categories == [] and math.isnan(scoring_rates([math.nan], ["a"]).median)
    equal = scoring_rates([3.0, 3.0], ["a", "b"])  # nobody is above the median
    assert all(math.isnan(one.impact_ratio) for one in equal.categories)


def test_several_scores_of_a_person_widen_the_interval() -> None:
    random = np.random.default_rng(0)
    person = random.random(100)
    alone = scoring_rates(person, ["a", "b"] * 50)
    repeated = scoring_rates(np.repeat(person, 9), np.repeat(["a", "b"] * 50, 9).tolist(), np.repeat(np.arange(100), 9))
    for one, many in zip(alone.categories, repeated.categories, strict=True):
        assert many.rate.value == pytest.approx(one.rate.value, abs=0.03)
        assert many.rate.high - many.rate.low == pytest.approx(one.rate.high - one.rate.low, rel=0.1)


def test_the_audit_gives_the_same_ratio() -> None:
    random = np.random.default_rng(1)
    scores, groups = random.random(400), random.choice(["a", "b"], 400)
    scores[groups == "b"] *= 0.8
    rows = [
        {"sample": str(i), "identity": str(i), "attr.group": group, "m.above_median": value}
        for i, (group, value) in enumerate(zip(groups.tolist(), above_median(scores).tolist(), strict=True))
    ]
    import pyarrow as pa

    audit = ct.audit(pa.Table.from_pylist(rows), by=["group"], metrics=["above_median"], equity=True, adjust="holm")
    (ratio,) = [one for one in audit.equity if one.measure == "impact_ratio"]
    found = scoring_rates(scores, groups.tolist())
    assert ratio.value == pytest.approx(min(one.impact_ratio for one in found.categories))
