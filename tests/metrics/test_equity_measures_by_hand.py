"""The interval of an equity measure and what fairness shows, group by group in plain Python."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from countenance.metrics import equity
from countenance.metrics.equity_measures import (
    BOTH,
    ERRORS,
    SINGLE,
    GroupRates,
    held,
    log_odds,
    noise_of,
    trials,
)
from countenance.metrics.pairs import equity as within_groups
from countenance.metrics.pairs.equity import AcceptedPairs, WithinGroups
from countenance.metrics.pairs.genuine import Genuine
from countenance.metrics.pairs.groups import Groups

MEASURES = [*SINGLE, *ERRORS, *BOTH]
NOBODY = Genuine(np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int32), 0)


def value_by_hand(name, rates):
    errors = [1 - rate for rate in rates]
    half = len(rates) // 2
    fmr, fnmr = rates[:half], rates[half:]

    def gini(values):
        n = len(values)
        spread = sum(abs(a - b) for a in values for b in values)
        return n / (n - 1) * spread / (2 * n * n * (sum(values) / n))

    return {
        "accuracy_std": lambda: np.std(rates),
        "skewed_error_ratio": lambda: max(errors) / min(errors),
        "impact_ratio": lambda: min(rates) / max(rates),
        "max_min_ratio": lambda: max(rates) / min(rates),
        "fairness_discrepancy_rate": lambda: 1 - (max(fmr) - min(fmr)) / 2 - (max(fnmr) - min(fnmr)) / 2,
        "inequity_rate": lambda: math.sqrt(max(fmr) / min(fmr) * max(fnmr) / min(fnmr)),
        "garbe": lambda: (gini(fmr) + gini(fnmr)) / 2,
    }[name]()


def expected_value(measure, rates):
    if measure.name == "max_geomean_ratio":
        values = rates if measure in ERRORS else [1 - rate for rate in rates]
        return max(values) / math.prod(values) ** (1 / len(values))
    return value_by_hand(measure.name, rates)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: f"{one.name}")
@pytest.mark.parametrize("seed", range(3))
def test_measures_over_groups_whatever_the_shape(measure, seed):
    rates = np.random.default_rng(seed).uniform(0.05, 0.6, (2, 3, 6))
    found = measure.of(rates)
    assert found.shape == (2, 3)
    for i, j in itertools.product(range(2), range(3)):
        wanted = expected_value(measure, rates[i, j].tolist())
        assert found[i, j] == pytest.approx(wanted) == pytest.approx(float(measure.of(rates[i, j])))
        checked = np.min(measure.checked(rates[i, j]))
        assert checked == pytest.approx(wanted)
        assert measure.back(float(measure.unfair(measure.of(rates[i, j])))) == pytest.approx(wanted)
    even = np.full(6, 0.25)
    worse = np.array([0.2, 0.25, 0.25, 0.2, 0.25, 0.3])
    assert measure.unfair(measure.of(worse)) > measure.unfair(measure.of(even))
    assert ("0 is even" in measure.meaning) == (measure.of(even) == 0)


def odds(rate, units):
    smooth = (rate * units + 0.5) / (units + 1)
    return math.log(smooth / (1 - smooth))


def made(seed, groups=3, draws=60, parts=1):
    random = np.random.default_rng(seed)
    units = np.tile(random.integers(2, 40, groups).astype(float), parts)
    rates = random.uniform(0.05, 0.5, groups * parts)
    drawn = np.clip(random.normal(rates, 0.06, (draws, groups * parts)), 0, 1)
    fair = np.clip(random.normal(rates.mean(), 0.04, (draws, groups * parts)), 0.01, 0.99)
    return rates, drawn, fair, units


@pytest.mark.parametrize("seed", range(4))
def test_trials_odds_and_noise(seed):
    rates, drawn, _, units = made(seed)
    drawn[3, 1] = np.nan  # nobody of the group was drawn
    rates[2], drawn[:, 2] = 0.0, 0.0  # never an error
    clean = np.where(np.isnan(drawn), rates, drawn)
    worth = [max(n, r * (1 - r) / v) if v > 0 else n for r, v, n in zip(rates, clean.var(axis=0), units, strict=True)]
    assert trials(units, rates, clean) == pytest.approx(worth)
    assert log_odds(rates, units) == pytest.approx([odds(r, n) for r, n in zip(rates, units, strict=True)])
    noise, found = noise_of(rates, drawn, units)
    assert found == pytest.approx(worth)
    random = np.random.default_rng(0).standard_normal(drawn.shape)
    for g, (rate, n) in enumerate(zip(rates, worth, strict=True)):
        few = max(units[g], 3)
        wider = math.sqrt(few / (few - 1)) * stats.t.ppf(0.975, few - 1) / stats.norm.ppf(0.975)
        moves = np.array([(odds(one, n) - odds(rate, n)) * wider for one in clean[:, g]])
        smooth = (rate * n + 0.5) / (n + 1)
        lacking = max(1 / ((n + 1) * smooth * (1 - smooth)) - moves.var(), 0)
        assert noise[:, g] == pytest.approx(moves + math.sqrt(lacking) * random[:, g])


def held_by_hand(measure, rates, units, noise, observed, alpha, parts):
    start = [odds(r, n) for r, n in zip(rates, units, strict=True)]
    size, pooled = len(rates) // parts, []
    for part in range(parts):
        own = range(part * size, part * size + size)
        weight = [1 / max(noise[:, g].var(), 1e-9) for g in own]
        pooled += [sum(start[g] * w for g, w in zip(own, weight, strict=True)) / sum(weight)] * size
    away = [a - b for a, b in zip(start, pooled, strict=True)]

    def rate(x):
        return 1 / (1 + np.exp(-x))

    def shown(factor):
        columns = []
        for g in range(len(rates)):
            middle = pooled[g] + factor * away[g]
            scale = 1.0
            if factor < 1:
                scale = math.sqrt(rate(start[g]) * (1 - rate(start[g])) / (rate(middle) * (1 - rate(middle))))
            columns.append(rate(middle + noise[:, g] * scale))
        return measure.unfair(measure.of(np.array(columns).T))

    def large_enough(factor):
        return np.mean(shown(factor) >= observed - 1e-12) >= alpha / 2

    def small_enough(factor):
        return np.mean(shown(factor) <= observed + 1e-12) >= alpha / 2

    steps = 2**14
    least = 0.0
    if not large_enough(0.0):
        low, high = 0, steps  # the first of so many steps at which it is large enough
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if large_enough(middle / steps) else (middle, high)
        least = high / steps
    outside = 1
    while outside < 64 and small_enough(outside):
        outside *= 2
    most = least
    if small_enough(least):
        low, high = 0, steps
        while high - low > 1:
            middle = (low + high) // 2
            fits = small_enough(least + (outside - least) * middle / steps)
            low, high = (middle, high) if fits else (low, middle)
        most = least + (outside - least) * low / steps

    def true(factor):
        moved = np.array([rate(p + factor * a) for p, a in zip(pooled, away, strict=True)])
        return float(measure.unfair(measure.of(moved)))

    return min(true(least), observed), max(true(most), observed)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.name)
@pytest.mark.parametrize("seed", range(3))
def test_the_interval_holds_what_the_observed_measure_fits(measure, seed):
    parts = 2 if measure in BOTH else 1
    rates, drawn, fair, units = made(seed, parts=parts)
    noise, worth = noise_of(rates, drawn, units)
    observed = float(measure.unfair(measure.of(rates)))
    for narrower in (1.0, 0.02):
        found = held(measure, rates, worth, noise * narrower, observed, 0.1, parts)
        expected = held_by_hand(measure, rates, worth, noise * narrower, observed, 0.1, parts)
        assert found == pytest.approx(expected, abs=1e-9)
    whole = GroupRates(rates, drawn, fair, units, parts, 0.5).measured(measure, 0.1)
    low, high = held_by_hand(measure, rates, worth, noise * 0.5, observed, 0.1, parts)
    assert (whole.low, whole.high) == pytest.approx(tuple(sorted((measure.back(low), measure.back(high)))))
    shown = np.array([expected_value(measure, row) for row in fair.tolist()])
    unfair = np.array([float(measure.unfair(np.array(value))) for value in shown])
    assert whole.value == pytest.approx(expected_value(measure, rates.tolist()))
    assert whole.fair == pytest.approx(shown.mean())
    assert whole.fair_limit == pytest.approx(measure.back(float(np.quantile(unfair, 0.95))))
    assert whole.p == pytest.approx((1 + (unfair >= observed).sum()) / (1 + len(fair)))


@pytest.mark.parametrize("parts", [1, 2])
def test_equal_rates_are_more_even_than_fair_systems_show(parts):
    measure = BOTH[1] if parts == 2 else ERRORS[0]
    rates, units = np.full(3 * parts, 0.2), np.full(3 * parts, 30.0)
    drawn = np.clip(np.random.default_rng(1).normal(0.2, 0.05, (80, 3 * parts)), 0, 1)
    noise, _ = noise_of(rates, drawn, units)
    assert held(measure, rates, units, noise, 0.0, 0.05, parts) == (0, 0)
    assert held(measure, rates, units, 0 * noise, 0.0, 0.05, parts) == (0, 0)
    alike = GroupRates(rates, drawn, np.full((40, 3 * parts), 0.2), units, parts).measured(measure, 0.05)
    assert alike.p == 1  # every fair system shows as much
    none = GroupRates(rates, drawn, np.full((4, 3 * parts), np.nan), units, parts).measured(measure, 0.05)
    assert np.isnan([none.fair, none.fair_limit, none.p]).all() and none.value == 1


# within groups


def pairs_of(seed, people=12, each=3):
    random = np.random.default_rng(seed)
    identity = np.repeat(np.arange(people), each)
    values = [("ab"[int(random.random() < 0.5)],) for _ in identity] if seed % 2 else [("ab"[k % 2],) for k in identity]
    all_pairs = [(i, j) for i, j in itertools.combinations(range(len(identity)), 2)]
    impostors = [pair for pair in all_pairs if identity[pair[0]] != identity[pair[1]] and random.random() < 0.2]
    genuine = np.array([pair for pair in all_pairs if identity[pair[0]] == identity[pair[1]]])
    refused = (random.random(len(genuine)) < 0.3).astype(float)
    first, second = np.array(impostors).T
    kept = Genuine(np.zeros(len(genuine)), genuine[:, 0].astype(np.int32), genuine[:, 1].astype(np.int32), 0)
    return WithinGroups(identity, Groups.of(values, ["a", "b"]), (first, second), kept, refused, seed), values


@pytest.mark.parametrize("seed", range(4))
def test_by_how_much_a_rate_varies_less_than_products_of_weights(seed):
    within, values = pairs_of(seed)
    identity, (first, second) = within.identity, within.accepted
    for g, name in enumerate("ab"):
        member = [name in value for value in values]
        size = [sum(m for m, who in zip(member, identity, strict=True) if who == k) for k in range(12)]
        taken = {}
        for i, j in zip(first, second, strict=True):
            if member[i] and member[j]:
                key = tuple(sorted((int(identity[i]), int(identity[j]))))
                taken[key] = taken.get(key, 0) + 1
        pairs = list(itertools.combinations(range(12), 2))
        rate = sum(taken.values()) / sum(size[a] * size[b] for a, b in pairs)
        error = {(a, b): taken.get((a, b), 0) - rate * size[a] * size[b] for a, b in pairs}
        people = sum(sum(e for pair, e in error.items() if k in pair) ** 2 for k in range(12))
        squares = sum(e * e for e in error.values())
        expected = math.sqrt(max(people - squares, squares) / (people + squares))
        assert within._narrower[g] == pytest.approx(expected)


def test_draws_and_shuffles_are_those_of_the_seed(monkeypatch):
    monkeypatch.setattr(within_groups, "DRAWS", 7)
    monkeypatch.setattr(within_groups, "LEAST_PEOPLE", 3)
    within, _ = pairs_of(2)
    random = np.random.default_rng([2, 11])
    expected = [within.rates(weight=random.multinomial(12, np.full(12, 1 / 12)).astype(float)) for _ in range(7)]
    assert np.array_equal(within._resampled, expected, equal_nan=True)
    random = np.random.default_rng([2, 12])
    cell = within.groups.cell[::3]
    expected = [within.rates(np.repeat(random.permutation(cell), 3)) for _ in range(7)]
    assert np.array_equal(within._fair, expected)
    assert within.people.tolist() == [6, 6] and within.large.tolist() == [0, 1]
    found = {(one.of, one.measure.name): one.measured for one in within.estimates()}
    rates = within.rates()
    whole = GroupRates(rates, within._resampled, within._fair, np.full(4, 6.0), 2, np.append(within._narrower, [1, 1]))
    assert found["FMR and FNMR", "garbe"] == pytest.approx(whole.measured(BOTH[2], 0.05))
    assert found["FNMR", "max_min_ratio"].value == pytest.approx(equity.max_min_ratio(rates[2:]))
    assert set(found) == {("FMR and FNMR", one.name) for one in BOTH} | {
        (of, one.name) for of in ("FMR", "FNMR") for one in ERRORS
    }


def test_small_groups_are_not_compared_and_undefined_measures_say_why(monkeypatch):
    within, _ = pairs_of(0)
    assert within.estimates() == [] and within_groups.LEAST_PEOPLE == 20
    monkeypatch.setattr(within_groups, "DRAWS", 4)
    monkeypatch.setattr(within_groups, "LEAST_PEOPLE", 6)
    right = WithinGroups(within.identity, within.groups, within.accepted, within.genuine, 0 * within.refused)
    found = {(one.of, one.measure.name): one for one in right.estimates()}
    assert "of 0 in 2 of 2 groups" in found["FNMR", "max_min_ratio"].undefined
    assert not found["FMR", "max_min_ratio"].undefined
    alone = WithinGroups(within.identity, within.groups, within.accepted, NOBODY, np.zeros(0))
    assert alone.estimates()[0].undefined == "fairness_discrepancy_rate: a group has no pair to compare"


@pytest.mark.parametrize(("pairs", "draws"), [(0, 1000), (200_000, 1000), (250_000, 800), (10**6, 200), (10**9, 200)])
def test_fewer_draws_of_very_many_pairs(pairs, draws):
    class Many:
        def __len__(self):
            return pairs

    within, _ = pairs_of(0)
    bare = WithinGroups(np.zeros(0, int), within.groups, (Many(), Many()), NOBODY, np.zeros(0))
    assert bare.draws == draws


def test_accepted_pairs_are_kept_up_to_the_limit():
    kept = AcceptedPairs()
    assert kept.complete and [len(side) for side in kept.pairs()] == [0, 0]
    kept.add(np.array([1, 2]), np.array([3, 4]))
    kept.add(np.array([5]), np.array([6]))
    assert [side.tolist() for side in kept.pairs()] == [[1, 2, 5], [3, 4, 6]] and kept.count == 3
    kept.count = within_groups.MOST_PAIRS
    assert kept.complete
    kept.add(np.array([1]), np.array([2]))
    assert not kept.complete and within_groups.MOST_PAIRS == 2**22
