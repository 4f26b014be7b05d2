"""Equity measures against formulas written down once more, and the properties that each must have."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.metrics import equity

rate = st.floats(1e-6, 1, allow_nan=False)
rates = st.lists(rate, min_size=2, max_size=8)
alphas = st.floats(0, 1)
PAIRED = ("fairness_discrepancy_rate", "inequity_rate", "garbe")
SINGLE = ("gini", "max_min_ratio", "max_geomean_ratio", "accuracy_std")
FAIR = {"fairness_discrepancy_rate": 1.0, "inequity_rate": 1.0, "garbe": 0.0, "gini": 0.0, "max_min_ratio": 1.0,
        "max_geomean_ratio": 1.0, "accuracy_std": 0.0, "skewed_error_ratio": 1.0}  # fmt: skip


def slow_gini(x: list[float]) -> float:
    n = len(x)
    total = 0.0
    for a in x:
        for b in x:
            total += abs(a - b)
    return n / (n - 1) * total / (2 * n * n * (sum(x) / n))


def slow(name: str, fmr: list[float], fnmr: list[float], alpha: float) -> float:
    if name == "fairness_discrepancy_rate":
        gaps = [max(abs(a - b) for a, b in itertools.combinations(x, 2)) for x in (fmr, fnmr)]
        return 1 - (alpha * gaps[0] + (1 - alpha) * gaps[1])
    if name == "inequity_rate":
        return (max(fmr) / min(fmr)) ** alpha * (max(fnmr) / min(fnmr)) ** (1 - alpha)
    return alpha * slow_gini(fmr) + (1 - alpha) * slow_gini(fnmr)


@pytest.mark.parametrize("name", PAIRED)
@given(fmr=rates, fnmr=rates, alpha=alphas)
def test_the_formulas_of_the_literature(name: str, fmr: list[float], fnmr: list[float], alpha: float) -> None:
    found = getattr(equity, name)(fmr, fnmr, alpha)
    assert found == pytest.approx(slow(name, fmr, fnmr, alpha), rel=1e-12, abs=1e-12)


@given(x=rates)
def test_the_formulas_of_one_rate(x: list[float]) -> None:
    assert equity.gini(x) == pytest.approx(slow_gini(x), rel=1e-12, abs=1e-12)
    assert equity.max_min_ratio(x) == max(x) / min(x)
    assert equity.max_geomean_ratio(x) == pytest.approx(max(x) / math.prod(x) ** (1 / len(x)), rel=1e-9)
    assert equity.accuracy_std(x) == pytest.approx(float(np.sqrt(np.mean((np.array(x) - np.mean(x)) ** 2))), abs=1e-15)
    assert equity.impact_ratio(x) == pytest.approx([v / max(x) for v in x], rel=1e-12)
    if max(x) < 1:
        assert equity.skewed_error_ratio(x) == pytest.approx((1 - min(x)) / (1 - max(x)), rel=1e-12)


@given(x=rates, y=rates, alpha=alphas, order=st.randoms())
def test_the_order_of_the_groups_does_not_matter(x: list[float], y: list[float], alpha: float, order: object) -> None:
    turned = sorted(x, key=lambda _: order.random())  # type: ignore[attr-defined]
    for name in PAIRED:
        function = getattr(equity, name)
        assert function(x, y, alpha) == pytest.approx(function(turned, y, alpha), rel=1e-9)
    for name in SINGLE:
        assert getattr(equity, name)(x) == pytest.approx(getattr(equity, name)(turned), rel=1e-9, abs=1e-12)


@given(value=st.floats(0.01, 0.99), n=st.integers(2, 6), alpha=alphas)
def test_equal_rates_are_perfectly_fair(value: float, n: int, alpha: float) -> None:
    for name in PAIRED:
        assert getattr(equity, name)([value] * n, [value / 2] * n, alpha) == pytest.approx(FAIR[name], abs=1e-12)
    for name in (*SINGLE, "skewed_error_ratio"):
        assert getattr(equity, name)([value] * n) == pytest.approx(FAIR[name], abs=1e-12)


def test_a_weight_of_zero_leaves_its_rate_out() -> None:
    assert equity.inequity_rate([0, 0.1], [0.1, 0.2], alpha=0) == 2.0
    assert equity.garbe([0.1, 0.3], [0, 0], alpha=1) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equity.inequity_rate([0, 0.1], [0.1, 0.2]), "inequity_rate: FMR of 0 in 1 of 2 groups"),
        (lambda: equity.inequity_rate([0.1, 0.1], [0.0, 0.0]), "inequity_rate: FNMR of 0 in 2 of 2 groups"),
        (lambda: equity.garbe([0, 0], [0.1, 0.2]), "garbe: FMR of 0 in all 2 groups"),
        (lambda: equity.gini([0, 0]), "gini: rates of 0 in all 2 groups"),
        (lambda: equity.max_min_ratio([0, 1]), "max_min_ratio: a rate of 0"),
        (lambda: equity.max_geomean_ratio([0, 1]), "max_geomean_ratio: a rate of 0"),
        (lambda: equity.skewed_error_ratio([1, 0.5]), "skewed_error_ratio: a group with accuracy 1"),
        (lambda: equity.impact_ratio([0, 0]), "impact_ratio: rates of 0"),
        (lambda: equity.garbe([0.1], [0.1]), "expected one number for each of two or more groups"),
        (lambda: equity.garbe([[0.1, 0.2]], [0.1, 0.2]), "of shape"),
        (lambda: equity.garbe([0.1, math.nan], [0.1, 0.2]), "not a finite number"),
        (lambda: equity.fairness_discrepancy_rate([0.1, 1.2], [0.1, 0.2]), "outside 0 to 1"),
        (lambda: equity.fairness_discrepancy_rate([0.1, 0.2], [0.1, 0.2], 1.5), "alpha is 1.5"),
    ],
)
def test_what_is_undefined_is_refused_by_name(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(equity.Undefined, match=message):
        call()


def test_rates_of_zero_and_one_are_rates() -> None:
    assert equity.fairness_discrepancy_rate([0, 1], [0, 0.5]) == pytest.approx(1 - 0.75)
    assert equity.fairness_discrepancy_rate([0, 1], [0, 0.5], alpha=1) == 0
    assert equity.fairness_discrepancy_rate([0, 1], [0, 0.5], alpha=0) == 0.5
    assert equity.gini([0, 3]) == 1 and equity.max_min_ratio([2, 6]) == 3  # any positive number, not only rates
    assert equity.accuracy_std([0, 1]) == 0.5 and equity.impact_ratio([0, 1]).tolist() == [0, 1]
    for wrong in ([-0.01, 0.5], [0.5, 1.01]):
        with pytest.raises(equity.Undefined, match="outside 0 to 1"):
            equity.accuracy_std(wrong)
    for alpha in (-0.01, 1.01):
        with pytest.raises(equity.Undefined, match="alpha is"):
            equity.garbe([0.1, 0.2], [0.1, 0.2], alpha)


def test_fewer_than_two_in_a_hundred_people_are_few() -> None:
    assert equity.small_categories([98, 2, 0]).tolist() == [False, False, True]
    assert equity.small_categories([981, 19]).tolist() == [False, True]
    assert equity.small_categories([90, 10], 0.2).tolist() == [False, True]
    assert equity.SMALL_SHARE == 0.02 and equity.FOUR_FIFTHS == 0.8
