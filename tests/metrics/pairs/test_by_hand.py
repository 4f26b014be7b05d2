"""Intervals over pairs, draws of pairs and bootstraps against loops over people and pairs of people."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.metrics.pairs import naive
from tests.metrics.test_intervals import kurtosis_freedom

from countenance.metrics.pairs import groups as grouping
from countenance.metrics.pairs.blocks import cuts, ends_of, impostor_pairs
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.curves import Curves
from countenance.metrics.pairs.distributions import PairScores, dyadic_mean, impostor_scores
from countenance.metrics.pairs.genuine import _drawn, genuine_pairs
from countenance.metrics.pairs.groups import AcceptedCounts, Groups
from countenance.metrics.pairs.influence import Influence
from countenance.metrics.pairs.matrix import fmr_by_group
from countenance.metrics.pairs.vectors import Vectors


def faces(n, people, seed, spread=1.0):
    random = np.random.default_rng(seed)
    identity = np.sort(np.append(np.arange(people), random.integers(0, people, n - people)))
    return random.normal(size=(people, 8))[identity] + spread * random.normal(size=(n, 8)), identity


def wilson_by_hand(p, size, t):
    centre = (p + t * t / (2 * size)) / (1 + t * t / size)
    half = t / (1 + t * t / size) * math.sqrt(p * (1 - p) / size + t * t / (4 * size * size))
    return max(centre - half, 0), min(centre + half, 1)


class ByHand:
    """One cell of the matrix: impostor pairs of a person in g and one in h, pair by pair."""

    def __init__(self, pairs, identity, group, accepted, g, h):
        self.same = g == h
        self.accepted = self.pairs = 0
        taken, count, dyad, dyad_count = {}, {}, {}, {}
        for i, j, hit in zip(pairs.first, pairs.second, accepted, strict=True):
            a, b = int(identity[i]), int(identity[j])
            if a == b or sorted((group[a], group[b])) != sorted((g, h)):
                continue
            self.pairs += 1
            self.accepted += hit
            for who in (a, b):
                taken[who], count[who] = taken.get(who, 0) + hit, count.get(who, 0) + 1
            key = (min(a, b), max(a, b))
            dyad[key], dyad_count[key] = dyad.get(key, 0) + hit, dyad_count.get(key, 0) + 1
        self.rate = self.accepted / self.pairs
        self.residual = [taken[who] - self.rate * count[who] for who in count]
        self.dyads = sum((dyad[key] - self.rate * dyad_count[key]) ** 2 for key in dyad)
        self.persons = len(dyad)
        sides = []
        for side in [g] if self.same else [g, h]:
            weights = [count[who] for who in count if group[who] == side]
            sides.append(sum(weights) ** 2 / sum(w * w for w in weights))
        self.people = min(sides)
        self.weight = 4 / sides[0] if self.same else sum(1 / side for side in sides)
        used = 2 if self.same else 1
        factor = self.people / (self.people - used) if self.people > used else 1
        self.spread = (factor * sum(r * r for r in self.residual) - 2 * self.dyads) / self.pairs**2
        self.used = used

    def interval(self, alike, within):
        if self.accepted == 0:
            return 0.0, min(1, 3 / self.persons)
        p = self.rate
        pair = self.dyads / self.pairs**2
        pooled = alike * p * p * self.weight + max(pair, within * p / self.pairs)
        variance = max(max(self.spread, 0) + pair, pooled, p * (1 - p) / self.pairs)
        t = stats.t.ppf(0.975, kurtosis_freedom(self.residual, self.people, self.used))
        return wilson_by_hand(p, p * (1 - p) / variance, t)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_intervals_of_the_matrix_are_the_formulas_written_out(seed, rate):
    rows, identity = faces(80, 24, seed)
    group = [int(who) % 3 for who in range(24)]
    compared = Comparisons.of(Vectors.of(rows), identity)
    grouped = Groups.of([("abc"[group[who]],) for who in identity], ["a", "b", "c"])
    counts = AcceptedCounts(identity, [grouped])
    threshold, _ = compared.accepted_at_rate(rate, counts.add)
    pairs = naive.written(rows, identity)
    accepted = pairs.score >= threshold.score
    found = fmr_by_group(counts)
    for diagonal in (True, False):
        cells = {
            (g, h): ByHand(pairs, identity, group, accepted, g, h)
            for g in range(3)
            for h in range(g, 3)
            if (g == h) is diagonal
        }
        used = [cell for cell in cells.values() if cell.people > 2]
        squares = sum(cell.rate**2 for cell in used)
        alike = max(sum(cell.spread / cell.weight for cell in used) / squares, 0) if squares else 0.0
        total = sum(cell.accepted for cell in used)
        within = sum(cell.dyads for cell in used) / total if total else 0.0
        for (g, h), cell in cells.items():
            low, high = cell.interval(alike, within)
            for place in ((g, h), (h, g)):
                assert found.value[place] == pytest.approx(cell.rate)
                assert (found.low[place], found.high[place]) == pytest.approx((low, high), abs=1e-9)
    assert found.people.tolist() == [8, 8, 8]


def parts_by_hand(pairs, identity, threshold):
    """Rates, residuals and dyads of genuine and impostor pairs at a threshold."""
    people = int(identity.max()) + 1
    refused, own, taken, others = (np.zeros(people) for _ in range(4))
    dyad, dyad_count = {}, {}
    for i, j, score, same in zip(*pairs, strict=True):
        a, b = int(identity[i]), int(identity[j])
        if same:
            own[a] += 1
            refused[a] += score < threshold
            continue
        for who in (a, b):
            others[who] += 1
            taken[who] += score >= threshold
        dyad[a, b] = dyad.get((a, b), 0) + (score >= threshold)
        dyad_count[a, b] = dyad_count.get((a, b), 0) + 1
    genuine, impostors = own.sum(), others.sum() / 2
    fnmr, fmr = refused.sum() / genuine, taken.sum() / 2 / impostors
    errors = sum((dyad[key] - fmr * dyad_count[key]) ** 2 for key in dyad) / impostors**2
    mine, both = (refused - own * fnmr) / genuine, (taken - others * fmr) / impostors
    effective = others.sum() ** 2 / (others**2).sum()
    return fnmr, fmr, mine, both, errors, genuine, impostors, effective


def band_by_hand(parts, genuine_weight, impostor_weight, value):
    fnmr, fmr, mine, both, dyads, genuine, impostors, effective = parts
    own = genuine_weight * mine + impostor_weight * both
    dyads = dyads * impostor_weight**2
    people = max(effective, 2.5)
    alone = genuine_weight**2 * fnmr * (1 - fnmr) / genuine + impostor_weight**2 * fmr * (1 - fmr) / impostors
    variance = max(people / (people - 2) * (own**2).sum() - dyads, dyads, alone)
    size = people if value <= 0 or value >= 1 or variance <= 0 else value * (1 - value) / variance
    t = stats.t.ppf(0.975, kurtosis_freedom(own, people, 2))
    return wilson_by_hand(value, size, t)


@pytest.mark.parametrize("seed", range(3))
def test_bands_are_the_formulas_written_out(seed):
    rows, identity = faces(60, 18, seed, spread=1.4)
    compared, pairs = Comparisons.of(Vectors.of(rows), identity), naive.written(rows, identity)
    thresholds = np.array([0.9, 0.6, 0.3, 0.1, -0.2])
    found = Influence.at(compared, thresholds)
    weights = np.array([1.0, 1.0, 0.5, 2.0, 1.0]), np.array([0.0, 3.0, 0.5, 0.1, 1.0])
    band = found.band(*weights, found.fnmr)
    for k, threshold in enumerate(thresholds):
        parts = parts_by_hand(pairs, identity, threshold)
        assert (found.fnmr[k], found.fmr[k]) == pytest.approx(parts[:2])
        assert found.genuine[:, k] == pytest.approx(parts[2]) and found.impostor[:, k] == pytest.approx(parts[3])
        assert found.dyads[k] == pytest.approx(parts[4]) and found.effective == pytest.approx(parts[7])
        expected = band_by_hand(parts, weights[0][k], weights[1][k], found.fnmr[k])
        assert (band.low[k], band.high[k]) == pytest.approx(expected, abs=1e-9)
    half = found.scaled(0.5).band(np.ones(5), np.zeros(5), found.fnmr)
    assert (half.high - half.low)[1:].max() < (found.band(np.ones(5), np.zeros(5), found.fnmr).high - 0)[1:].max()


@pytest.mark.parametrize("seed", range(3))
def test_fnmr_at_a_rate_and_the_equal_error_rate_have_the_interval_of_threshold_and_rate(seed):
    rows, identity = faces(70, 20, seed, spread=1.5)
    compared, pairs = Comparisons.of(Vectors.of(rows), identity), naive.written(rows, identity)
    falling = np.sort(pairs.score[~pairs.same])[::-1]
    genuine = pairs.score[pairs.same]

    def fnmr_at(rate):
        allowed = int(np.floor(rate * len(falling) + 1e-9))
        return (genuine <= falling[allowed]).mean() if allowed < len(falling) else 0.0

    def slope(rate):
        low, high = rate / 2, min(2 * rate, 1)
        return max(fnmr_at(low) - fnmr_at(high), 0) / math.log(high / low)

    curves = Curves(compared, seed)
    for rate in (0.02, 0.1, 0.4):
        threshold = compared.threshold_at(rate).score
        band = curves.fnmr_at(np.array([rate]), np.array([threshold]))
        parts = parts_by_hand(pairs, identity, threshold)
        assert band.value[0] == pytest.approx(parts[0]) == pytest.approx(fnmr_at(rate))
        expected = band_by_hand(parts, 1.0, slope(rate) / rate, parts[0])
        assert (band.low[0], band.high[0]) == pytest.approx(expected, abs=1e-9)
    eer = curves.equal_error()
    assert abs(fnmr_at(eer.value) - eer.value) < 2 / len(genuine) + 2 / len(falling)
    share = 1 / (1 + slope(eer.value) / eer.value)
    at = falling[int(np.floor(eer.value * len(falling) + 1e-9))] + 1e-12
    expected = band_by_hand(parts_by_hand(pairs, identity, at), share, 1 - share, eer.value)
    assert (eer.low, eer.high) == pytest.approx(expected, abs=1e-9)
    assert eer.n == len(genuine) and eer.clusters == 20
    assert len(curves.grid) == 61 and curves.grid[0] == pytest.approx(1 / len(falling)) and curves.grid[-1] == 1
    assert curves.det.value == pytest.approx([fnmr_at(rate) for rate in curves.grid])


@pytest.mark.parametrize("size", [2, 3, 5, 40, 201])
def test_a_drawn_pair_number_is_its_place_among_all_pairs(size):
    class Every:
        def integers(self, low, high, count):
            assert (low, high) == (0, size * (size - 1) // 2)
            return np.arange(high)

    i, j = _drawn(size, 7, Every())
    rows, columns = np.triu_indices(size, 1)
    assert np.array_equal(i, rows) and np.array_equal(j, columns)


def test_many_genuine_pairs_of_one_person_are_drawn_and_of_others_not():
    rows, _ = faces(30, 3, 0)
    ends = np.repeat([20, 24, 30], [20, 4, 6])
    found = genuine_pairs(Vectors.of(rows), ends, most=15)
    people = np.searchsorted([20, 24], found.first, side="right")
    assert found.drawn == 1 and (people == 1).sum() == 6 and (people == 2).sum() == 15
    assert 0 < (people == 0).sum() <= 15 and (found.second < ends[found.first]).all()
    everything = genuine_pairs(Vectors.of(rows), ends, most=190)
    assert everything.drawn == 0 and len(everything.score) == 190 + 6 + 15


def test_drawn_impostor_pairs_are_pairs_of_two_members():
    rows, identity = faces(40, 10, 1)
    compared = Comparisons.of(Vectors.of(rows), identity)
    member = identity % 2 == 0
    pairs = naive.written(rows, identity)
    used = ~pairs.same & member[pairs.first] & member[pairs.second]
    drawn = impostor_scores(compared, member, seed=3, most=50)
    assert drawn.pairs == used.sum() and len(drawn.score) == 50
    assert all(np.isclose(pairs.score[used], score, atol=1e-12).any() for score in drawn.score)
    every = impostor_scores(compared, member, seed=3, most=int(used.sum()))
    assert np.sort(every.score) == pytest.approx(np.sort(pairs.score[used]))
    assert every.mean.value == pytest.approx(pairs.score[used].mean())
    assert every.deviation == pytest.approx(pairs.score[used].std())
    none = impostor_scores(compared, np.zeros(40, bool))
    assert none.pairs == 0 and np.isnan(none.deviation) and np.isnan(none.density(np.arange(3.0))).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_over_pairs_of_people_written_out(seed):
    random = np.random.default_rng(seed)
    pairs = [(a, b) for a, b in itertools.combinations(range(9), 2) for _ in range(int(random.integers(0, 4)))]
    one, two = np.array(pairs).T
    swapped = random.random(len(pairs)) < 0.5
    one, two = np.where(swapped, two, one), np.where(swapped, one, two)
    values = random.normal(one + two, 1.0)
    found = dyadic_mean(values, one, two)
    mean = values.mean()
    residual, weight, dyad = np.zeros(9), np.zeros(9), {}
    for a, b, value in zip(one, two, values, strict=True):
        for who in (a, b):
            residual[who] += value - mean
            weight[who] += 1
        key = (min(a, b), max(a, b))
        dyad[key] = dyad.get(key, 0) + value - mean
    squares = sum(v * v for v in dyad.values())
    people = weight.sum() ** 2 / (weight**2).sum()
    variance = max(people / (people - 2) * (residual**2).sum() - squares, squares) / len(values) ** 2
    half = stats.t.ppf(0.975, kurtosis_freedom(residual, people, 2)) * math.sqrt(variance)
    assert tuple(found) == pytest.approx((mean, mean - half, mean + half, len(values), 9))
    two_people = dyadic_mean(np.array([1.0, 2.0]), np.array([0, 0]), np.array([1, 1]))
    assert two_people.value == 1.5 and np.isnan(two_people.low) and two_people.clusters == 2


def test_counting_by_sorting_is_counting_in_full(monkeypatch):
    random = np.random.default_rng(0)
    one, two = random.integers(3, 40, 300), random.integers(5, 60, 300)
    full = grouping._distinct(one, two)
    monkeypatch.setattr(grouping, "FEW", 0)
    for a, b in zip(full, grouping._distinct(one, two), strict=True):
        assert np.array_equal(a, b)
    pairs = sorted(set(zip(one.tolist(), two.tolist(), strict=True)))
    assert list(zip(full[0].tolist(), full[1].tolist(), strict=True)) == pairs
    assert full[2].sum() == 300


@pytest.mark.parametrize("sizes", [[1, 1], [3, 1, 5], [7], [2, 2, 2, 9, 1]])
@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_blocks_hold_every_row_once_and_whole_people_where_they_can(sizes, size):
    identity = np.repeat(np.arange(len(sizes)), sizes)
    ends = ends_of(identity)
    found = list(cuts(ends, 0, size))
    assert [row for a, b in found for row in range(a, b)] == list(range(len(identity)))
    for a, b in found:
        assert b - a <= size
        split = b < len(identity) and identity[b - 1] == identity[b]
        assert not split or (identity[a:b] == identity[a]).all()
    assert impostor_pairs(np.array(sizes)) == sum(a * b for a, b in itertools.combinations(sizes, 2))


def test_the_density_of_no_scores_is_unknown_in_every_bin():
    empty = PairScores(np.zeros(0), None, math.nan, 0)
    assert np.isnan(empty.density(np.linspace(0, 1, 5))).tolist() == [True] * 4
