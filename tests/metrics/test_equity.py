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
FAIR = {
    "fairness_discrepancy_rate": 1.0,
    "inequity_rate": 1.0,
    "garbe": 0.0,
    "gini": 0.0,
    "max_min_ratio": 1.0,
    "max_geomean_ratio": 1.0,
    "accuracy_std": 0.0,
    "skewed_error_ratio": 1.0,
}


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


def test_the_interval_of_a_measure_holds_the_spreads_that_would_show_it() -> None:
    from countenance.metrics.equity_measures import SINGLE, held, log_odds

    random = np.random.default_rng(8)
    rates, units = np.array([0.95, 0.9, 0.8]), np.array([80.0, 100.0, 60.0])
    smooth = (rates * units + 0.5) / (units + 1)
    odds = np.log(smooth / (1 - smooth))
    assert log_odds(rates, units) == pytest.approx(odds)
    noise = random.normal(0, [0.3, 0.25, 0.3], (1000, 3))
    observed = float(rates.std())
    low, high = held(SINGLE[0], rates, units, noise, observed, 0.05, 1)
    weights = 1 / noise.var(axis=0)
    pooled = (odds * weights).sum() / weights.sum()

    def rate(values: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-values))

    fits = []
    for factor in np.linspace(0, 6, 601):
        moved = pooled + factor * (odds - pooled)
        wide = np.sqrt(rate(odds) * (1 - rate(odds)) / (rate(moved) * (1 - rate(moved)))) if factor < 1 else 1.0
        seen = rate(moved + noise * wide).std(axis=1)
        if (seen >= observed).mean() >= 0.025 and (seen <= observed).mean() >= 0.025:
            fits.append(rate(moved).std())
    assert low == pytest.approx(min(fits), abs=2e-3) and high == pytest.approx(max(fits), abs=2e-3)


def test_the_noise_of_rates_is_at_least_that_of_their_trials() -> None:
    from scipy import stats

    from countenance.metrics.equity_measures import noise_of, trials

    random = np.random.default_rng(9)
    rates, units = np.array([0.2, 0.5]), np.array([30.0, 12.0])
    drawn = np.column_stack([random.normal(0.2, 0.02, 800), random.uniform(0, 1, 800)])
    worth = trials(units, rates, drawn)
    assert worth[0] == pytest.approx(0.2 * 0.8 / drawn[:, 0].var()) and worth[1] == 12
    noise, same = noise_of(rates, drawn, units)
    assert same == pytest.approx(worth)
    wider = np.sqrt(12 / 11) * stats.t.ppf(0.975, 11) / stats.norm.ppf(0.975)
    odds = [np.log((p * 12 + 0.5) / 13 / (1 - (p * 12 + 0.5) / 13)) for p in (drawn[:, 1], 0.5)]
    plain = (odds[0] - odds[1]) * wider
    assert plain.var() > 1 / (13 * 0.25)  # varies enough by itself: nothing is added
    assert noise[:, 1] == pytest.approx(plain)
    smooth = (0.2 * worth[0] + 0.5) / (worth[0] + 1)
    assert noise[:, 0].var() == pytest.approx(1 / ((worth[0] + 1) * smooth * (1 - smooth)), rel=0.25)


def test_measures_of_many_rates_at_once_are_those_of_the_pure_functions() -> None:
    from countenance.metrics.equity_measures import BOTH, ERRORS, SINGLE

    random = np.random.default_rng(10)
    joined = random.uniform(0.05, 0.9, (5, 6))
    for measure in BOTH:
        expected = [float(measure.checked(row)) for row in joined]
        assert measure.of(joined) == pytest.approx(expected)
        pure = getattr(equity, measure.name)
        assert expected == pytest.approx([pure(row[:3], row[3:], 0.5) for row in joined])
    for measure in (*ERRORS, *SINGLE):
        expected = [np.min(measure.checked(row)) for row in joined]
        assert measure.of(joined) == pytest.approx(expected), measure.name
    for measure in (*BOTH, *ERRORS, *SINGLE):
        values = measure.of(joined)
        assert [measure.back(float(v)) for v in measure.unfair(values)] == pytest.approx(values.tolist())
