"""Validation rate, ROC and equal error rate, against all pairs made one by one and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from countenance.metrics import verification
from countenance.metrics.pairs.roc import equal_error_rate, roc
from countenance.metrics.verification import pair_similarities, validation_rate
from countenance.metrics.verification_strict import draw_pairs, fold_validation_rate, shuffled


def faces(n: int, people: int, seed: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    identity = np.arange(n) % people
    vectors = generator.normal(size=(people, 24))[identity] + spread * generator.normal(size=(n, 24))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), identity


def all_pairs(vectors: np.ndarray, identity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.triu_indices(len(identity), 1)
    return (vectors[i] * vectors[j]).sum(axis=1), identity[i] == identity[j]


@given(st.integers(2, 60), st.integers(0, 10_000))
def test_the_roc_equals_scikit_learn(n, seed):
    generator = np.random.default_rng(seed)
    scores, same = generator.integers(0, 12, n) / 4, generator.random(n) < 0.5
    same[0], same[1] = True, False
    far, val, threshold = roc(scores, same)
    expected = roc_curve(same, scores, drop_intermediate=False)
    assert np.allclose(far, expected[0])
    assert np.allclose(val, expected[1])
    assert np.array_equal(threshold, expected[2])


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 80), st.integers(2, 9), st.integers(0, 100))
def test_blocks_see_every_pair(n, people, seed):
    vectors, identity = faces(n, people, seed)
    scores, same = all_pairs(vectors, identity)
    old, verification.BLOCK = verification.BLOCK, 16
    try:
        tail = pair_similarities(vectors, identity, 10_000)
    finally:
        verification.BLOCK = old
    assert np.allclose(np.sort(tail.same), np.sort(scores[same]), atol=1e-12)
    assert np.allclose(tail.different, np.sort(scores[~same])[::-1], atol=1e-12)
    assert tail.histogram.sum() == (~same).sum()


def test_the_threshold_is_the_largest_that_keeps_the_rate():
    vectors, identity = faces(300, 40, 1)
    scores, same = all_pairs(vectors, identity)
    found = validation_rate(vectors, identity, far=0.01, replicates=50)
    assert (scores[~same] > found.threshold).mean() <= 0.01
    lower = scores[~same][scores[~same] < found.threshold].max()
    assert (scores[~same] > lower).mean() > 0.01 or np.isclose((scores[~same] > lower).mean(), 0.01)
    assert found.far == pytest.approx((scores[~same] > found.threshold).mean())
    assert found.same_pairs == same.sum()
    assert found.different_pairs == (~same).sum()


def test_the_rate_is_that_of_identity_folds_done_by_hand():
    vectors, identity = faces(200, 25, 5)
    found = validation_rate(vectors, identity, far=0.02, folds=5, replicates=20)
    fold = np.random.default_rng(0).permutation(25) % 5
    i, j = np.triu_indices(200, 1)
    scores, same = all_pairs(vectors, identity)
    accepted = 0
    for f in range(5):
        train = (fold[identity[i]] != f) & (fold[identity[j]] != f) & ~same
        ranked = np.sort(scores[train])[::-1]
        threshold = ranked[int(0.02 * len(ranked) + 1e-9)]
        accepted += int((scores[same & (fold[identity[i]] == f)] > threshold).sum())
    assert found.val == pytest.approx(accepted / same.sum(), abs=1e-12)


def test_the_equal_error_rate_agrees_with_all_pairs():
    vectors, identity = faces(300, 40, 2, spread=1.4)
    scores, same = all_pairs(vectors, identity)
    far, val, _ = roc(scores, same)
    assert validation_rate(vectors, identity, replicates=10).eer == pytest.approx(equal_error_rate(far, val), abs=2e-3)


def test_few_negatives_are_said_to_be_too_few():
    vectors, identity = faces(40, 10, 3)
    assert not validation_rate(vectors, identity, replicates=10).sufficient
    assert validation_rate(vectors, identity, far=0.01, replicates=10).sufficient


def test_the_interval_covers_the_rate_and_narrows():
    small, large = (validation_rate(*faces(n, n // 4, 7, 1.2), far=0.01, replicates=300) for n in (80, 800))
    for found in (small, large):
        assert found.low <= found.val <= found.high
    assert large.high - large.low < small.high - small.low


def test_the_interval_of_few_people_holds_the_rate():
    """Two people of three look alike: a fold without them accepts a pair that the threshold of a replicate refuses."""
    draw, people = np.random.default_rng(76), np.repeat(np.arange(3), 2)
    vectors = draw.normal(size=(6, 3)) + 0.7 * draw.normal(size=(3, 3))[people]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[0] = vectors[2] + 0.01 * draw.normal(size=3)
    vectors[0] /= np.linalg.norm(vectors[0])
    rate = validation_rate(vectors, people, replicates=400)
    assert rate.low == 0 and rate.val == rate.high == pytest.approx(1 / 3)


def test_no_pair_is_no_number():
    found = validation_rate(np.eye(3), np.array([0, 1, 2]))
    assert np.isnan(found.val)
    assert found.same_pairs == 0


@settings(max_examples=30)
@given(st.integers(2, 25), st.integers(1, 6), st.integers(1, 12))
def test_pairs_are_drawn_as_from_the_written_out_lists(n, people, limit):
    import random

    names = [f"s{i % people}/i{i * 7 % 101}_{i}" for i in range(n)]
    who = [f"s{i % people}" for i in range(n)]
    row = {name: i for i, name in enumerate(names)}
    pairs = {tuple(sorted((a, b))) for a in names for b in names if a != b}
    same = sorted(p for p in pairs if who[row[p[0]]] == who[row[p[1]]])
    different = sorted(p for p in pairs if who[row[p[0]]] != who[row[p[1]]])
    generator = random.Random(7789)
    expected = [generator.sample(found, min(limit, len(found))) for found in (same, different)]
    drawn = draw_pairs(names, who, limit)
    assert [[(names[i], names[j]) for i, j in found] for found in drawn] == expected


def test_names_that_stand_twice_are_drawn_from_the_lists():
    assert draw_pairs(["a", "a", "b"], ["x", "x", "y"]) == ([(1, 1)], [(1, 2)])


def test_the_published_folds_are_contiguous_and_narrow_the_grid():
    generator = np.random.default_rng(0)
    same = generator.random(400) < 0.3
    distance = np.where(same, generator.normal(-0.6, 0.1, 400), generator.normal(0, 0.2, 400))
    whole = fold_validation_rate(distance, same)
    alone = [fold_validation_rate(np.roll(distance, -40 * k), np.roll(same, -40 * k), folds=10)[0] for k in range(1, 3)]
    assert whole[0] == pytest.approx(fold_validation_rate(distance.copy(), same.copy())[0])
    assert any(abs(value - whole[0]) > 1e-9 for value in alone)  # the order of folds matters: the grid narrows
    assert len(shuffled(6)) == 6


def test_bands_hold_the_roc_and_agree_with_resampling_pairs_by_hand():
    from countenance.metrics.verification_bands import roc_bands

    vectors, identity = faces(160, 40, 11, spread=1.5)
    bands = roc_bands(vectors, identity, replicates=400)
    scores, same = all_pairs(vectors, identity)
    far, val, _ = roc(scores, same)
    assert bands.eer == pytest.approx(equal_error_rate(far, val), abs=0.01)
    assert bands.eer_low < bands.eer < bands.eer_high
    assert ((bands.val_low <= bands.val + 1e-9) & (bands.val <= bands.val_high + 1e-9)).all()
    i, j = np.triu_indices(len(identity), 1)
    generator = np.random.default_rng(0)
    errors = []
    order = np.argsort(-scores)
    for _ in range(300):
        w = np.bincount(generator.integers(0, 40, 40), minlength=40)
        weight = np.where(same, w[identity[i]], w[identity[i]] * w[identity[j]])[order]
        hit = same[order]
        v, f = np.cumsum(weight * hit), np.cumsum(weight * ~hit)
        errors.append(equal_error_rate(np.append(0, f / f[-1]), np.append(0, v / v[-1])))
    low, high = np.percentile(errors, [2.5, 97.5])
    assert bands.eer_low == pytest.approx(low, abs=0.02)
    assert bands.eer_high == pytest.approx(high, abs=0.02)


def test_no_pair_has_no_band():
    from countenance.metrics.verification_bands import roc_bands

    assert np.isnan(roc_bands(np.eye(3), np.array([0, 1, 2])).eer)


def test_a_rate_of_one_accepts_everybody():
    vectors, identity = faces(12, 4, 3)
    found = validation_rate(vectors, identity, far=1.0, replicates=5)
    assert found.val == 1 and found.sufficient and found.same_pairs == 12
