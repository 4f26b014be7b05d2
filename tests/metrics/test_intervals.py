"""Intervals of rates and means over people, against scipy and against the formulas written out as loops."""

import math

import numpy as np
import pytest
from scipy import stats

from countenance.metrics.intervals import (
    IntervalEstimate,
    clustered_mean,
    clustered_rate,
    correlation,
    freedom,
    macro_mean,
    student,
    wilson,
)


def test_two_people_are_the_fewest_with_an_interval() -> None:
    values, cells = np.array([1.0, 2.0, 3.0, 5.0]), np.array([0, 0, 1, 1])
    two = macro_mean(values, cells, np.array([0, 1, 0, 1]))
    assert two.value == pytest.approx(2.75) and two.low < 2.75 < two.high
    one = macro_mean(values, cells, np.zeros(4, dtype=np.int64))
    assert one.value == pytest.approx(2.75) and math.isnan(one.low) and math.isnan(one.high)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("df", [1, 2, 4.5, 30, 1000, np.inf])
def test_student_is_that_of_scipy(df, level):
    expected = stats.norm.ppf(1 - (1 - level) / 2) if np.isinf(df) else stats.t.ppf(1 - (1 - level) / 2, df)
    assert float(student(df, level)) == pytest.approx(expected, rel=1e-9)
    assert float(student(0.2, level)) == pytest.approx(stats.t.ppf(1 - (1 - level) / 2, 1), rel=1e-9)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (3, 10), (1, 400), (77, 200)])
def test_wilson_is_that_of_scipy(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.95, "wilson")
    low, high = wilson(hits / n, n, stats.norm.ppf(0.975))
    assert float(low) == pytest.approx(expected.low, abs=1e-12) and float(high) == pytest.approx(expected.high)
    assert low <= hits / n <= high
    assert np.isnan(wilson(np.nan, 0, 2.0)).all()


def kurtosis_freedom(residuals, effective, used=1):
    """At most the effective clusters less the parameters; fewer where the variance is itself uncertain."""
    count = len(residuals)
    second = sum(r**2 for r in residuals) / count
    fourth = sum(r**4 for r in residuals) / count
    own = math.inf if second == 0 else 2 * count / max(fourth / second**2 - 1, 1e-9)
    return min(max(effective - used, 1), max(own, 3))


def by_hand(errors, trials, icc=0.0, level=0.95):
    """Wilson's interval on the effective size, clusters written out."""
    kept = [(k, n) for k, n in zip(errors, trials, strict=True) if n > 0]
    total, clusters = sum(n for _, n in kept), len(kept)
    p = sum(k for k, _ in kept) / total
    squares = sum(n * n for _, n in kept)
    residuals = [k - p * n for k, n in kept]
    alone = p * (1 - p) / total
    implied = alone * (1 + (squares / total - 1) * icc)
    variance = max(clusters / (clusters - 1) * sum(r * r for r in residuals) / total**2, alone, implied)
    effective = total**2 / squares
    size = p * (1 - p) / variance if variance > 0 else effective
    t = stats.t.ppf(1 - (1 - level) / 2, kurtosis_freedom(residuals, effective))
    centre = (p + t * t / (2 * size)) / (1 + t * t / size)
    half = t / (1 + t * t / size) * math.sqrt(p * (1 - p) / size + t * t / (4 * size * size))
    return p, max(centre - half, 0), min(centre + half, 1), total, clusters


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("icc", [0.0, 0.3, 1.0])
def test_a_clustered_rate_is_the_formula_written_out(seed, icc):
    random = np.random.default_rng(seed)
    trials = random.integers(0, 6, 15 + seed).astype(float)
    errors = np.array([random.binomial(int(n), random.beta(0.5, 2)) for n in trials], dtype=float)
    level = 0.9 if seed % 2 else 0.95
    found = clustered_rate(errors, trials, level, icc)
    assert tuple(found) == pytest.approx(by_hand(errors, trials, icc, level), abs=1e-10)


@pytest.mark.parametrize("hits", [0, 3])
def test_no_error_and_nothing_but_errors_leave_one_trial_a_cluster(hits):
    trials = np.array([3.0, 3, 3, 3, 3, 0])
    found = clustered_rate(trials * hits / 3, trials)
    t = stats.t.ppf(0.975, 4)
    edge = t * t / (5 + t * t)
    assert found == pytest.approx((0, 0, edge, 15, 5) if hits == 0 else (1, 1 - edge, 1, 15, 5))


@pytest.mark.parametrize("estimate", [clustered_rate, clustered_mean])
def test_one_cluster_has_no_interval_and_none_has_nothing(estimate):
    one = estimate(np.array([2.0, 0.0]), np.array([4.0, 0.0]))
    assert (one.value, one.n, one.clusters) == (0.5, 4, 1) and np.isnan([one.low, one.high]).all()
    none = estimate(np.zeros(2), np.zeros(2))
    assert np.isnan(none.value) and none.n == 0 and none.clusters == 0
    two = estimate(np.array([1.0, 2.0]), np.array([4.0, 4.0]))
    assert two.value == 0.375 and two.low < 0.375 < two.high


@pytest.mark.parametrize("seed", range(6))
def test_a_clustered_mean_is_the_formula_written_out(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 5, 14).astype(float)
    sums = counts * random.normal(3, 2, 14)
    found = clustered_mean(sums, counts, 0.9)
    kept = [(y, n) for y, n in zip(sums, counts, strict=True) if n > 0]
    total = sum(n for _, n in kept)
    mean = sum(y for y, _ in kept) / total
    residuals = [y - mean * n for y, n in kept]
    variance = len(kept) / (len(kept) - 1) * sum(r * r for r in residuals) / total**2
    df = kurtosis_freedom(residuals, total**2 / sum(n * n for _, n in kept))
    half = stats.t.ppf(0.95, df) * math.sqrt(variance)
    assert tuple(found) == pytest.approx((mean, mean - half, mean + half, total, len(kept)))


def test_one_value_a_person_is_the_plain_t_interval():
    values = np.random.default_rng(1).uniform(0, 1, 40)  # a flat distribution costs no degrees of freedom
    found = clustered_mean(values, np.ones(40))
    expected = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_a_macro_mean_is_the_formula_written_out(seed):
    random = np.random.default_rng(seed)
    cells, person = random.choice([3, 5, 9], 40), random.integers(0, 12, 40)
    values = random.normal(cells, 2)
    names, people = sorted(set(cells.tolist())), sorted(set(person.tolist()))
    means = {c: np.mean([v for v, k in zip(values, cells, strict=True) if k == c]) for c in names}
    sizes = {c: sum(1 for k in cells if k == c) for c in names}
    residual, share = dict.fromkeys(people, 0.0), dict.fromkeys(people, 0.0)
    for value, c, who in zip(values, cells.tolist(), person.tolist(), strict=True):
        residual[who] += (value - means[c]) / sizes[c] / len(names)
        share[who] += 1 / sizes[c] / len(names)
    variance = len(people) / (len(people) - 1) * sum(r * r for r in residual.values())
    effective = 1 / sum(s * s for s in share.values())
    df = kurtosis_freedom(list(residual.values()), effective, len(names))
    mean, half = np.mean(list(means.values())), stats.t.ppf(0.975, df) * math.sqrt(variance)
    found = macro_mean(values, cells, person)
    assert tuple(found) == pytest.approx((mean, mean - half, mean + half, 40, len(people)))


def test_a_macro_mean_of_nothing_is_nothing():
    assert macro_mean(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)).n == 0


@pytest.mark.parametrize("residuals", [[1, -1, 1, -1], [9, -1, 1, -1, 0.5], [0, 0, 0], [1, 2, 3, -6] * 9])
@pytest.mark.parametrize("effective", [1.0, 4.0, 100.0])
@pytest.mark.parametrize("used", [1, 2])
def test_degrees_of_freedom(residuals, effective, used):
    found = freedom(np.array([residuals], dtype=float), effective, used)
    assert found.shape == (1,) and float(found[0]) == pytest.approx(kurtosis_freedom(residuals, effective, used))


@pytest.mark.parametrize("seed", range(5))
def test_correlation_within_clusters_written_out(seed):
    random = np.random.default_rng(seed)
    groups = []
    excess = room = 0.0
    for _ in range(3):
        trials = random.integers(1, 6, 10).astype(float)
        errors = np.array([random.binomial(int(n), random.beta(0.4, 1)) for n in trials], dtype=float)
        groups.append((errors, trials))
        p = errors.sum() / trials.sum()
        for k, n in zip(errors, trials, strict=True):
            excess += (k - p * n) ** 2 - n * p * (1 - p)
            room += p * (1 - p) * (n * n - n)
    groups.append((np.zeros(2), np.zeros(2)))
    assert correlation(groups) == pytest.approx(min(1, max(0, excess / room)))
    assert 0 < correlation(groups) < 1


def test_correlation_at_its_ends():
    assert correlation([(np.array([1.0, 1.0, 1.0, 1.0]), np.full(4, 2.0))]) == 0  # less alike than by chance
    assert correlation([(np.array([1.0, 0.0]), np.ones(2))]) == 0  # one trial each: nothing to be alike
    assert correlation([]) == 0 and correlation([(np.array([0.0, 3.0]), np.full(2, 3.0))]) == 1


def test_an_estimate_is_read_by_name():
    assert IntervalEstimate(1, 2, 3, 4, 5)._asdict() == {"value": 1, "low": 2, "high": 3, "n": 4, "clusters": 5}


def test_wilson_stays_between_0_and_1_and_holds_the_rate():
    size, t = np.meshgrid(np.arange(1.0, 300.0), np.linspace(0.5, 9, 30))
    low, high = wilson(np.ones_like(size), size, t)
    assert (high == 1).all() and (low < 1).all()
    low, high = wilson(np.zeros_like(size), size, t)
    assert (low == 0).all() and (high > 0).all()
