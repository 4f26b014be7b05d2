"""The betting bound: against a slow reference that follows the definition, and how often it is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.metrics.any_time import (
    any_time_difference,
    any_time_lower_bound,
    any_time_upper_bound,
    cluster_means,
    log_capital,
    stakes_of,
)
from countenance.metrics.intervals import wilson


def slow_bound(values: list[float], alpha: float, grid: int = 2000) -> float:
    """The bound by definition: the first m on a grid at which the capital never reached 1 / alpha."""
    for k in range(grid + 1):
        m = k / grid
        capital, largest, total, squares, n = 1.0, 1.0, 0.0, 0.0, 0
        for x in values:
            variance = (0.25 + squares) / (n + 1)
            stake = math.sqrt(2 * math.log(1 / alpha) / (variance * (n + 1) * math.log(n + 2)))
            stake = stake if m == 0 else min(stake, 0.5 / m)
            capital *= 1 + stake * (x - m)
            largest = max(largest, capital)
            n, total = n + 1, total + x
            squares += (x - (0.5 + total) / (n + 1)) ** 2
        if largest < 1 / alpha:
            return m
    return 1.0


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.sampled_from([0.01, 0.025, 0.2]))
def test_the_bound_is_that_of_the_definition(values: list[float], alpha: float) -> None:
    assert any_time_lower_bound(values, alpha) == pytest.approx(slow_bound(values, alpha), abs=1 / 2000 + 1e-9)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), max_size=60))
def test_later_looks_never_take_a_bound_back(values: list[float]) -> None:
    bounds = [any_time_lower_bound(values[:n]) for n in range(0, len(values) + 1, 7)]
    assert bounds == sorted(bounds) and 0 <= bounds[0] <= any_time_upper_bound(values) <= 1
    assert any_time_upper_bound(values) == pytest.approx(1 - any_time_lower_bound([1 - x for x in values]))


def at_the_limit(trials: int, seed: int, mean: float = 0.9, looks: int = 50, people: int = 20) -> tuple[float, float]:
    """The shares of trials in which a model exactly at its limit passes at some look: fixed, betting."""
    random, places = np.random.default_rng(seed), np.arange(1, looks + 1) * people
    fixed = betting = 0
    for _ in range(trials):
        values = (random.random(looks * people) < mean).astype(float)
        betting += bool(log_capital(values, stakes_of(values, 0.025), mean).max() >= math.log(40))
        fixed += bool((wilson(np.cumsum(values)[places - 1] / places, places, 1.96)[0] >= mean).any())
    return fixed / trials, betting / trials


def test_a_model_at_its_limit_hardly_ever_passes_in_fifty_looks() -> None:
    fixed, betting = at_the_limit(600, 1)
    assert betting <= 0.04 and fixed > 0.08  # 2.5 % are allowed; looks that count themselves alone let 13 % through


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.99])
def test_the_level_is_kept_whatever_the_limit(mean: float) -> None:
    assert at_the_limit(6000, 2, mean)[1] <= 0.025 + 2 * math.sqrt(0.025 / 6000)


def test_people_not_rows_are_the_units() -> None:
    """Five equal rows a person: rows taken for independent pass far too often, people's means do not."""
    random, wrong, right = np.random.default_rng(3), 0, 0
    for _ in range(300):
        person = (random.random(400) < 0.8).astype(float)
        rows, names = np.repeat(person, 5), np.repeat(np.arange(400), 5)
        wrong += bool(log_capital(rows, stakes_of(rows, 0.025), 0.8).max() >= math.log(40))
        means = cluster_means(rows, names)
        assert np.array_equal(means, person)
        right += bool(log_capital(means, stakes_of(means, 0.025), 0.8).max() >= math.log(40))
    assert right / 300 <= 0.04 < 0.1 < wrong / 300


def test_a_better_model_passes_in_the_end() -> None:
    values = (np.random.default_rng(0).random(2000) < 0.95).astype(float)
    assert any_time_lower_bound(values[:100]) < 0.9 < any_time_lower_bound(values)


def test_bounds_of_a_difference() -> None:
    random = np.random.default_rng(0)
    one, other = ((random.random(1000) < rate).astype(float) for rate in (0.95, 0.7))
    low, high = any_time_difference(one, other)
    assert 0.1 < low < 0.25 < high < 0.4
    assert any_time_difference(other, one) == pytest.approx((-high, -low))
    assert any_time_difference([], one)[0] < 0 < any_time_difference(one, [])[1]


def test_what_is_no_share_is_refused() -> None:
    for values in ([1.2], [-0.1], [math.nan]):
        with pytest.raises(ValueError, match="outside 0 to 1"):
            any_time_lower_bound(values)
    with pytest.raises(ValueError, match="alpha is 0"):
        any_time_lower_bound([0.5], 0.0)
