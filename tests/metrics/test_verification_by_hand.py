"""Verification with every pair written out: the same draws of people, the same thresholds, plain loops."""

import math

import numpy as np
import pytest
from scipy.interpolate import interp1d
from sklearn.model_selection import KFold

from countenance.metrics import verification, verification_bands
from countenance.metrics.verification import _threshold, accepted_shares, pair_similarities, validation_rate
from countenance.metrics.verification_bands import roc_bands
from countenance.metrics.verification_strict import draw_pairs, fold_validation_rate, rates_of_pairs, shuffled


def faces(sizes, seed, spread=1.0, length=False):
    random = np.random.default_rng(seed)
    identity = np.repeat(np.arange(len(sizes)), sizes)
    vectors = random.normal(size=(len(sizes), 12))[identity] + spread * random.normal(size=(len(identity), 12))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    mixed = random.permutation(len(identity))
    return (vectors * random.uniform(0.5, 3, (len(vectors), 1)) if length else vectors)[mixed], identity[mixed]


def all_pairs(vectors, identity):
    i, j = np.triu_indices(len(identity), 1)
    return identity[i], identity[j], np.array([float(vectors[a] @ vectors[b]) for a, b in zip(i, j, strict=True)])


SIZES = [4, 3, 3, 1, 2, 5, 2, 2, 1, 3]


@pytest.mark.parametrize("block", [3, 512])
@pytest.mark.parametrize("keep", [1, 7, 50, 10_000])
def test_the_highest_pairs_are_kept_and_all_are_counted(monkeypatch, block, keep):
    monkeypatch.setattr(verification, "BLOCK", block)
    vectors, identity = faces(SIZES, keep, length=True)
    a, b, score = all_pairs(vectors, identity)
    tail = pair_similarities(vectors, identity, keep)
    assert sorted(tail.same) == pytest.approx(sorted(score[a == b]))
    falling = sorted(zip(-score[a != b], *np.sort([a[a != b], b[a != b]], axis=0), strict=True))[:keep]
    assert tail.different == pytest.approx([-one[0] for one in falling])
    assert [tuple(sorted(pair)) for pair in zip(tail.first, tail.second, strict=True)] == [one[1:] for one in falling]
    own = dict(zip(tail.same.round(9), tail.same_identity, strict=True))
    assert own == dict(zip(score[a == b].round(9), a[a == b], strict=True))
    reach = 1.0001 * (vectors**2).sum(axis=1).max()
    np.testing.assert_allclose(tail.edges, np.linspace(-reach, reach, 16385), rtol=1e-12)
    assert len(tail.histogram) == 16384
    assert np.cumsum(tail.histogram)[-1] == (a != b).sum()
    expected = np.histogram(score[a != b], tail.edges)[0]
    assert np.abs(np.cumsum(expected) - np.cumsum(tail.histogram)).max() <= 1  # a score at the edge of two bins


def test_nobody_and_vectors_of_nothing_have_pairs_too():
    nobody = pair_similarities(np.zeros((0, 4)), np.zeros(0, np.int64), 5)
    assert len(nobody.same) == len(nobody.different) == nobody.histogram.sum() == 0
    assert nobody.edges[-1] == 1e-30  # nothing reaches far
    empty = pair_similarities(np.zeros((3, 4)), np.array([0, 0, 1]), 5)
    assert empty.same.tolist() == [0] and empty.different.tolist() == [0, 0] and empty.histogram.sum() == 2


def test_a_rate_of_a_whole_number_of_pairs_allows_that_many():
    ranked, ones = np.arange(100.0)[::-1], np.ones(100)
    assert 0.29 * 100 < 29  # as numbers of the machine are
    assert _threshold(ranked, ones, 100, 0.29) == ranked[29]
    assert _threshold(ranked, ones, 99.98, 0.29) == ranked[28]
    assert _threshold(ranked, 2 * ones, 100, 0.1) == ranked[5]
    assert math.isnan(_threshold(ranked, ones, 1000, 0.1)) and _threshold(ranked, ones, 1000, 0.099) == ranked[99]


def rate_by_hand(vectors, identity, far, folds, seed):
    a, b, score = all_pairs(vectors, identity)
    people = len(set(identity.tolist()))
    fold = np.random.default_rng(seed).permutation(people) % min(folds, people)
    accepted = 0
    for f in range(min(folds, people)):
        train = (fold[a] != f) & (fold[b] != f) & (a != b)
        train = train if train.any() else a != b
        ranked = np.sort(score[train])[::-1]
        allowed = math.floor(far * len(ranked) + 1e-9)
        threshold = ranked[allowed] if allowed < len(ranked) else -np.inf
        accepted += (score[(a == b) & (fold[a] == f)] > threshold).sum()
    return accepted / (a == b).sum()


def interval_by_hand(vectors, identity, far, replicates, seed):
    """Each draw of people: pairs weigh as often as their people are drawn, and the threshold is found again."""
    a, b, score = all_pairs(vectors, identity)
    people, random, values = len(set(identity.tolist())), np.random.default_rng([seed, 1]), []
    order = [k for k in np.argsort(-score, kind="stable") if a[k] != b[k]]
    for _ in range(replicates):
        weight = np.bincount(random.integers(0, people, people), minlength=people)
        total = sum(int(weight[a[k]] * weight[b[k]]) for k in order)
        passed, threshold = 0, score[order[-1]]
        for k in order:
            passed += weight[a[k]] * weight[b[k]]
            if passed > math.floor(far * total + 1e-9):
                threshold = score[k]
                break
        own = [(weight[a[k]], score[k] > threshold) for k in range(len(score)) if a[k] == b[k]]
        if sum(w for w, _ in own) and total:
            values.append(sum(w * hit for w, hit in own) / sum(w for w, _ in own))
    return np.percentile(values, [2.5, 97.5]) if values else (np.nan, np.nan)


@pytest.mark.parametrize(
    ("sizes", "far", "folds", "seed"),
    [
        (SIZES, 0.05, 3, 0),
        (SIZES, 0.2, 10, 1),
        (SIZES, 0.01, 99, 2),
        (SIZES, 0.1, 1, 3),
        ([4, 3], 0.1, 2, 0),
        ([2, 1, 1], 0.5, 10, 5),
        ([3, 2, 2], 0.99, 3, 1),
    ],
)
@pytest.mark.parametrize("cells", [1, 4_000_000])
def test_rate_and_interval_are_those_of_all_pairs(monkeypatch, sizes, far, folds, seed, cells):
    monkeypatch.setattr(verification, "CELLS", cells)
    vectors, identity = faces(sizes, 10 + seed, spread=1.3)
    found = validation_rate(vectors, 7 * identity + 3, far=far, folds=folds, replicates=40, seed=seed)
    a, b, score = all_pairs(vectors, identity)
    assert found.val == pytest.approx(rate_by_hand(vectors, identity, far, folds, seed))
    expected = interval_by_hand(vectors, identity, far, 40, seed)
    assert (found.low, found.high) == pytest.approx(tuple(expected))
    ranked = np.sort(score[a != b])[::-1]
    at = ranked[math.floor(far * len(ranked) + 1e-9)]
    assert found.threshold == pytest.approx(at)
    assert found.far == pytest.approx((score[a != b] > at).mean(), abs=1e-12)
    assert found[6:11] == ((a == b).sum(), (a != b).sum(), len(sizes), sum(sizes), len(ranked) >= 3 / far)
    reach = 1.0001 * (vectors**2).sum(axis=1).max()
    edges = np.linspace(-reach, reach, 16385)[:-1][::-1]
    assert len(found.roc_far) == 16385 and found.roc_far[0] == found.roc_val[0] == 0
    for kept, rates, slack in ((a != b, found.roc_far, 1.5), (a == b, found.roc_val, 1e-9)):
        reached = kept.sum() - np.searchsorted(np.sort(score[kept]), edges, side="left")
        assert np.abs(rates[1:] * kept.sum() - reached).max() < slack


@pytest.mark.parametrize("identity", [np.arange(5), np.zeros(5, int), np.zeros(0, int)])
def test_without_both_kinds_of_pairs_there_is_no_rate(identity):
    found = validation_rate(np.eye(5)[: len(identity)], identity)
    assert np.isnan(found[:6]).all() and found.roc_far.size == found.roc_val.size == 0 and not found.sufficient
    assert found.images == len(identity) and found.identities == len(set(identity.tolist()))
    assert found.different_pairs == (10 if found.identities == 5 else 0)
    assert found.same_pairs == (10 if found.identities == 1 else 0)


@pytest.mark.parametrize(("pairs", "fine"), [(2999, False), (3000, True)])
def test_three_pairs_for_a_rate_of_one_are_enough(pairs, fine):
    assert validation_rate(np.eye(3), np.array([0, 0, 1]), far=3 / 2).sufficient
    assert not validation_rate(np.eye(3), np.array([0, 0, 1]), far=3 / 2.1).sufficient
    assert (pairs >= 3 / 0.001) == fine


@pytest.mark.parametrize("block", [2, 512])
def test_shares_accepted_by_each_picture(monkeypatch, block):
    monkeypatch.setattr(verification, "BLOCK", block)
    vectors, identity = faces([1, 2, 4, 3], 4)
    for threshold in (-2.0, 0.1, 0.4, 2.0):
        genuine, impostor = accepted_shares(vectors, identity, threshold)
        for i in range(len(identity)):
            own = [vectors[i] @ vectors[j] > threshold for j in range(10) if j != i and identity[i] == identity[j]]
            others = [vectors[i] @ vectors[j] > threshold for j in range(10) if identity[i] != identity[j]]
            assert genuine[i] == pytest.approx(np.mean(own)) if own else np.isnan(genuine[i])
            assert impostor[i] == pytest.approx(np.mean(others))
    assert np.isnan(accepted_shares(np.eye(2), np.zeros(2, int), 0)[1]).all()


# bands of a ROC


def bands_by_hand(vectors, identity, points, replicates, seed):
    """A different pair weighs w_a + w_b - 1 in a draw, a same pair w_a; thresholds are the lower edges of bins."""
    a, b, score = all_pairs(vectors, identity)
    same, people = a == b, len(set(identity.tolist()))
    reach = 1.0001 * (vectors**2).sum(axis=1).max()
    level = 1023 - np.floor((score + reach) * 1024 / (2 * reach)).astype(int)

    def curve(weight):
        far, val = (np.zeros(1025) for _ in range(2))
        np.add.at(far, 1 + level[~same], (weight[a] + weight[b] - 1)[~same])
        np.add.at(val, 1 + level[same], weight[a][same])
        far, val = np.cumsum(far), np.cumsum(val)
        return np.maximum.accumulate(np.clip(far / far[-1], 0, 1)), val / val[-1] if val[-1] else None

    def crossing(far, val):
        k = next(k for k in range(1, 1025) if far[k] >= 1 - val[k])
        before, after = far[k - 1] - 1 + val[k - 1], far[k] - 1 + val[k]
        return far[k - 1] + (far[k] - far[k - 1]) * (-before / (after - before))

    random = np.random.default_rng([seed, 2])
    drawn = [np.bincount(random.integers(0, people, people), minlength=people) for _ in range(replicates)]
    made = [one for one in map(curve, drawn) if one[1] is not None]
    grid = np.geomspace(max(1 / (~same).sum(), 1e-6), 1, points)
    low, high = np.percentile([np.interp(grid, *one) for one in made], [2.5, 97.5], axis=0)
    whole = curve(np.ones(people))
    limits = np.percentile([crossing(*one) for one in made], [2.5, 97.5])
    return crossing(*whole), *limits, grid, np.interp(grid, *whole), low, high


@pytest.mark.parametrize("block", [4, 512])
@pytest.mark.parametrize(("sizes", "seed"), [(SIZES, 0), ([2, 1, 1, 1], 3), ([6, 2, 5], 1)])
def test_bands_are_those_of_all_pairs(monkeypatch, sizes, seed, block):
    monkeypatch.setattr(verification_bands, "BLOCK", block)
    vectors, identity = faces(sizes, seed, spread=1.4, length=True)
    found = roc_bands(vectors, 5 * identity, points=9, replicates=60, seed=seed)
    expected = bands_by_hand(vectors, identity, 9, 60, seed)
    for one, two in zip(found, expected, strict=True):
        assert one == pytest.approx(two, abs=1e-6)


def test_one_draw_without_a_same_pair_has_no_interval():
    vectors, identity = faces([2, 1, 1, 1, 1, 1], 0)
    seed = next(s for s in range(50) if 0 not in np.random.default_rng([s, 2]).integers(0, 6, 6))
    found = roc_bands(vectors, identity, points=3, replicates=1, seed=seed)
    assert np.isnan([found.eer_low, found.eer_high, *found.val_low, *found.val_high]).all()
    assert np.isfinite(found.val).all() and found.val_low.shape == found.val_high.shape == (3,)


@pytest.mark.parametrize("identity", [np.arange(4), np.zeros(4, int)])
def test_without_both_kinds_of_pairs_there_is_no_band(identity):
    found = roc_bands(np.eye(4), identity)
    assert np.isnan(found[:3]).all() and all(one.size == 0 for one in found[3:])


# as published


def published(distance, same, target, folds, grid):
    val, far = [], []
    for train, test in KFold(folds).split(distance):
        rate = np.array([((distance[train] < t) & ~same[train]).sum() / max((~same[train]).sum(), 1) for t in grid])
        threshold = 0.0
        if rate.max() >= target and rate.min() <= target and (~same[train]).any():
            rate, first = np.unique(rate, return_index=True)
            grid = grid[first]
            threshold = float(interp1d(rate, grid, kind="slinear")(target)) if len(rate) > 1 else grid[0]
        hit, truth = distance[test] < threshold, same[test]
        val += [(hit & truth).sum() / truth.sum()] if truth.any() else []
        far += [(hit & ~truth).sum() / (~truth).sum()] if not truth.all() else []
    return np.mean(val), np.std(val), np.mean(far)


@pytest.mark.parametrize("folds", [2, 3, 10])
@pytest.mark.parametrize("target", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("n", [10, 57, 200])
def test_folds_as_published(n, target, folds):
    random = np.random.default_rng([n, folds])
    same = random.random(n) < 0.4
    distance = np.where(same, random.normal(-0.5, 0.3, n), random.normal(0, 0.3, n)).clip(-0.999, 0.99)
    grid = np.arange(-1, 1, 0.001)
    found = fold_validation_rate(distance, same, target, folds)
    assert found == pytest.approx(published(distance, same, target, folds, grid), abs=1e-9)
    coarse = np.linspace(-0.8, 0.5, 5)
    given = fold_validation_rate(distance, same, target, folds, coarse)
    assert given == pytest.approx(published(distance, same, target, folds, coarse), abs=1e-9)


def test_a_grid_of_one_threshold_is_that_threshold():
    same, distance = np.array([True, False] * 4), np.array([-0.5, 0.5] * 4)
    assert fold_validation_rate(distance, same, 0.0, 2, np.array([0.2])) == (1.0, 0.0, 0.0)
    assert fold_validation_rate(distance, same, 0.0, 2, np.array([-0.7])) == (0.0, 0.0, 0.0)


def test_the_usual_settings_as_published():
    random = np.random.default_rng(3)
    same = random.random(300) < 0.4
    distance = np.where(same, random.normal(-0.5, 0.3, 300), random.normal(0, 0.3, 300))
    assert fold_validation_rate(distance, same) == fold_validation_rate(distance, same, 0.001, 10)
    names, one = [f"i{k:03d}" for k in range(90)], ["p"] * 90
    assert len(draw_pairs(names, one)[0]) == 3000 == len(draw_pairs([*names[:-1], names[0]], one)[0])
    assert len(draw_pairs(names, names)[1]) == 3000
    assert draw_pairs(names, one)[0] == draw_pairs(names, one, 3000, 7789)[0]
    assert shuffled(20) == shuffled(20, 11) != shuffled(20, 12)
    assert draw_pairs([], []) == ([], [])


def test_names_twice_are_drawn_up_to_the_limit():
    names, people = ["a", "b", "c", "a", "d"], ["x", "x", "y", "z", "y"]
    same, different = draw_pairs(names, people, 2, 5)
    assert len(same) == len(different) == 2
    assert {tuple(sorted((names[i], names[j]))) for i, j in draw_pairs(names, people)[0]} == {("a", "b"), ("c", "d")}
    every = {tuple(sorted((names[i], names[j]))) for i, j in draw_pairs(names, people)[1]}
    assert every == {("a", "a"), ("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")}


@pytest.mark.parametrize("n", [(3, 4), (4, 6), (20, 31)])
def test_rates_of_drawn_pairs(n):
    random = np.random.default_rng(n)
    vectors = random.normal(size=(12, 6))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    same, different = ([tuple(random.permutation(12)[:2].tolist()) for _ in range(k)] for k in n)
    pairs = [*same, *different]
    order = shuffled(len(pairs))
    distance = np.array([-(vectors[i] @ vectors[j]) for i, j in pairs])[order]
    truth = np.array([True] * n[0] + [False] * n[1])[order]
    folds = min(10, sum(n))
    expected = published(distance, truth, 0.001, folds, np.arange(-1, 1, 0.001))
    assert rates_of_pairs(vectors, same, different) == pytest.approx((*expected, folds), abs=1e-9)


def test_a_similarity_at_the_threshold_is_not_accepted():
    embeddings, identity = np.array([[1.0, 0], [1, 0], [0, 1]]), np.array([0, 0, 1])
    at, below = (accepted_shares(embeddings, identity, threshold)[0][0] for threshold in (1.0, 0.999))
    assert (at, below) == (0, 1)
