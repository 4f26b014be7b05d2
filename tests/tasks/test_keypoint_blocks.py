"""Keypoints of many images at once give what each image gives alone, by loops over people and predictions."""

import itertools

import numpy as np
import pytest
from tests.tasks.test_rows_by_hand import similarity

from countenance.tasks.keypoint_estimation import (
    KeypointBlock,
    KeypointOptions,
    _by_order,
    _by_similarity,
    _copied,
    _rank_in_image,
    best_similarity,
    correct_shares,
    similarities,
)


def block(seed, people, predicted):
    """People and predictions of some images; the people come in any order, some see nothing."""
    random = np.random.default_rng(seed)
    image = random.permutation(np.repeat(np.arange(len(people)), people))
    n = len(image)
    truth = np.concatenate([random.uniform(0, 40, (n, 17, 2)), random.choice([0, 2, 2], (n, 17, 1))], axis=2)
    truth[random.random(n) < 0.15, :, 2] = 0
    counts = np.array(predicted)
    points = random.uniform(0, 40, (counts.sum(), 17, 2))
    for k, where in enumerate(np.repeat(np.arange(len(counts)), counts)):  # most predictions are near somebody
        here = np.flatnonzero(image == where)
        if len(here) and random.random() < 0.8:
            points[k] = truth[random.choice(here), :, :2] + random.normal(0, 3, (17, 2))
    areas, diagonals = random.uniform(200, 900, n), random.uniform(8, 20, n)
    return KeypointBlock(truth, areas, diagonals, image, points, counts)


CASES = [
    ([1, 2, 3, 0, 1], [1, 2, 1, 2, 0]),
    ([3, 1, 2], [4, 3, 2]),
    ([1, 1], [0, 0]),
    ([2, 2, 2, 2], [1, 3, 0, 2]),
    ([0, 4], [2, 3]),
    ([1, 5, 1, 1], [2, 1, 1, 1]),
]


def by_image(one):
    starts = np.cumsum(one.counts) - one.counts
    return [
        (np.flatnonzero(one.image == k), range(starts[k], starts[k] + one.counts[k])) for k in range(len(one.counts))
    ]


def alike(one):
    """The similarity of every person with every prediction of their image."""
    return {
        (i, k): similarity(one.truth[i], one.points[k], one.areas[i])
        for people, found in by_image(one)
        for i in people
        for k in found
    }


def placed(one, i, k):
    """For each threshold the share of a person's visible keypoints that a prediction places."""
    seen = one.truth[i, :, 2] == 2
    if not seen.any():
        return np.full(9, np.nan)
    if k is None:
        return np.zeros(9)
    far = np.hypot(*(one.points[k] - one.truth[i, :, :2]).T)[seen]
    return np.array([np.mean(far <= level * one.diagonals[i]) for level in np.arange(1, 10) / 10])


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strict", [False, True])
def test_best_similarities_of_many_images(case, seed, strict):
    one, options = block(seed, *case), KeypointOptions(compat="strict" if strict else "default")
    pairs, expected = similarities(one, options), alike(one)
    found = {(int(i), int(k)): value for i, k, value in zip(*pairs, strict=True)}
    assert found.keys() == expected.keys()
    assert list(found.values()) == pytest.approx([expected[key] for key in found], nan_ok=True)
    best = best_similarity(one, pairs, options)
    for i in range(len(one.image)):
        own = [value for (who, _), value in expected.items() if who == i]
        if not (one.truth[i, :, 2] == 2).any():
            assert np.isnan(best[i])
        else:
            assert best[i] == pytest.approx(max(own) if own else np.nan if strict else 0.0, nan_ok=True)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_placed_keypoints_of_many_images(case, seed):
    one, options = block(seed, *case), KeypointOptions()
    expected = alike(one)
    shares = correct_shares(one, similarities(one, options), options)
    for people, found in by_image(one):
        sighted = [i for i in people if (one.truth[i, :, 2] == 2).any()]
        choices = itertools.permutations([*found, *[None] * len(sighted)], len(sighted))
        best = max(
            choices, key=lambda some: sum(expected[i, k] for i, k in zip(sighted, some, strict=True) if k is not None)
        )
        for i, k in zip(sighted, best, strict=True):
            assert shares[i] == pytest.approx(placed(one, i, k))
        for i in set(people) - set(sighted):
            assert np.isnan(shares[i]).all()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_placed_keypoints_as_published(case, seed):
    one, options = block(seed, *case), KeypointOptions(compat="strict", thresholds={"PCK": np.arange(1, 10) / 10})
    shares = correct_shares(one, similarities(one, options), options)
    for people, found in by_image(one):
        for place, i in enumerate(people):
            other, k = i, found[place] if place < len(found) else None
            if len(found) == 1:
                other, k = people[0], found[0]
            assert shares[i] == pytest.approx(placed(one, other, k), nan_ok=True)


@pytest.mark.parametrize("image", [[], [0], [2, 0, 2, 1, 0, 2], [5, 5, 5]])
def test_places_among_the_rows_of_an_image(image):
    assert _rank_in_image(np.array(image, dtype=np.int64)).tolist() == [image[:k].count(i) for k, i in enumerate(image)]


def test_pairs_by_order_and_copies():
    image, counts = np.array([1, 0, 1, 1, 3]), np.array([2, 2, 4, 1])
    assert _by_order(image, counts).tolist() == [2, 0, 3, -1, 8]
    assert _copied(image, np.array([1, 1, 0, 1])).tolist() == [[2, 0], [3, 0]]
    assert _copied(image, np.array([1, 2, 0, 1])).tolist() == []


def test_of_equal_predictions_the_first_is_taken_and_a_blind_person_still_has_one():
    image, counts = np.array([0, 1]), np.array([3, 2])
    pairs = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 4]), np.array([0.2, 0.7, 0.7, np.nan, np.nan])
    assert _by_similarity(image, counts, pairs).tolist() == [1, 3]
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    assert _by_similarity(image, np.array([0, 0]), nothing).tolist() == [-1, -1]


def test_a_prediction_far_away_is_none_of_no_similarity():
    truth = np.full((1, 17, 3), 2.0)
    one = KeypointBlock(truth, np.array([1.0]), np.array([9.0]), np.array([0]), np.full((1, 17, 2), 1e6), np.array([1]))
    for compat in ("default", "strict"):
        options = KeypointOptions(compat=compat)
        assert best_similarity(one, similarities(one, options), options).tolist() == [0]


def test_hidden_keypoints_count_for_nobody():
    """1 is hidden, 2 visible; in blocks whatever is above 0 counts for similarity and only 2 for places."""
    truth = np.zeros((1, 17, 3))
    truth[0, 0] = 5, 5, 1
    one = KeypointBlock(
        truth, np.array([100.0]), np.array([10.0]), np.array([0]), np.full((1, 17, 2), 5.0), np.array([1])
    )
    pairs = similarities(one, KeypointOptions())
    assert best_similarity(one, pairs, KeypointOptions()).tolist() == [1]
    assert np.isnan(correct_shares(one, pairs, KeypointOptions())).all()


def test_a_prediction_without_a_similarity_comes_last():
    pairs = np.array([0, 0]), np.array([0, 1]), np.array([np.nan, 0.2])
    assert _by_similarity(np.array([0]), np.array([2]), pairs).tolist() == [1]
