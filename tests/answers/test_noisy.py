"""Noise of a known strength: none leaves the truth, more of it is farther away, and a seed gives the same again."""

import numpy as np
import pytest

from countenance.answers.noise import (
    noisy_boxes,
    noisy_embedding,
    noisy_keypoints,
    noisy_label_map,
    noisy_masks,
    noisy_parts,
)

BOX = np.array([10.0, 20, 50, 100])
FACTORS = (0.5, 1.0, 2.0)


def draw(seed=0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_boxes_move_with_the_noise_and_some_are_missed():
    spread, missed = [], []
    for factor in FACTORS:
        found = noisy_boxes([BOX] * 4000, [factor] * 4000, draw(1))
        real = found.xyxy[found.scores >= 0.6]
        spread.append(real[:4000].std(axis=0).mean())
        missed.append(4000 - len(real))
        assert (real[:, 2:] >= real[:, :2] + 1).all()
        assert ((found.scores >= 0.3) & (found.scores <= 1)).all()
    assert np.allclose(spread, 0.03 * 60 * np.array(FACTORS), rtol=0.05)  # the mean side is 60
    assert np.allclose(missed, 0.03 * 4000 * np.array(FACTORS), rtol=0.25)


def test_one_picture_in_five_has_a_box_of_nobody():
    random = draw(2)
    found = [noisy_boxes([], [], random) for _ in range(2000)]
    assert np.isclose(np.mean([len(one) for one in found]), 0.2, atol=0.03)
    boxes = np.concatenate([one.xyxy for one in found if len(one)])
    assert np.allclose(boxes[:, 2:] - boxes[:, :2], 30) and boxes[:, :2].min() >= 0 and boxes[:, :2].max() <= 40
    scores = np.concatenate([one.scores for one in found])
    assert scores.min() >= 0.3 and scores.max() <= 0.8


def test_a_box_never_turns_inside_out():
    found = noisy_boxes([np.array([10.0, 10, 11, 11])] * 500, [30.0] * 500, draw())
    assert (found.xyxy[:, 2:] - found.xyxy[:, :2] >= 0.99).all()


def test_masks_grow_or_shrink():
    pytest.importorskip("cv2")
    mask = np.zeros((100, 50), bool)
    mask[30:70, 10:40] = True
    sizes = [noisy_masks([mask], [1.0], draw(seed)).masks.sum() for seed in range(60)]
    assert min(sizes) < mask.sum() < max(sizes)
    assert 0.3 < np.mean([size < mask.sum() for size in sizes]) < 0.7
    strong = [noisy_masks([mask], [4.0], draw(seed)).masks.sum() for seed in range(60)]
    assert np.std(strong) > 1.5 * np.std(sizes)
    assert noisy_masks([mask] * 2, [1.0] * 2, draw()).scores.tolist() == [0.9, 0.9]


def test_keypoints_move_by_a_share_of_the_scale():
    points = np.zeros((17, 3))
    for factor in FACTORS:
        found = noisy_keypoints([(points, 50.0)] * 300, [factor] * 300, draw())
        assert np.isclose(found.points[:, :, :2].std(), 0.12 * 50 * factor, rtol=0.05)
        assert (found.points[:, :, 2] == 0.9).all()


def test_parts_that_are_there_are_probable():
    names = ("Face", "Hand")
    means = []
    for factor in FACTORS:
        found = noisy_parts([{"Face"}] * 2000, [factor] * 2000, draw(), names).probabilities
        assert list(found[0]) == ["Face", "Hand"]
        means.append(np.mean([one["Face"] for one in found]))
        assert np.isclose(np.mean([one["Hand"] for one in found]), 1 - means[-1], atol=0.02)
    assert np.allclose(means, [(8 / f) / (8 / f + 2) for f in FACTORS], atol=0.02)


def test_a_label_map_is_moved_and_a_vector_turned():
    truth = np.zeros((200, 200), np.uint8)
    truth[80:120, 90:100] = 3
    moved = noisy_label_map(truth, 1.0, draw(5)).classes
    assert (moved == 3).sum() == 400 and not np.array_equal(moved, truth)
    assert np.array_equal(noisy_label_map(truth, 0.0, draw(5)).classes, truth)
    shifts = [np.argwhere(noisy_label_map(truth, 1.0, draw(seed)).classes == 3).mean(axis=0) for seed in range(300)]
    assert np.allclose(np.std(shifts, axis=0), 0.012 * 200, rtol=0.15)
    centre = draw(1).normal(size=64)
    cosines = [
        [noisy_embedding(centre, f, draw(seed)).vector @ centre / np.linalg.norm(centre) for seed in range(50)]
        for f in FACTORS
    ]
    assert np.all(np.diff(np.mean(cosines, axis=1)) < -0.05)
    assert np.isclose(np.mean(cosines[1]), 1 / np.sqrt(1 + 0.7**2), atol=0.05)
    assert np.isclose(np.linalg.norm(noisy_embedding(centre, 1.0, draw()).vector), 1, atol=1e-4)


def test_a_seed_gives_the_same_predictions_for_ever():
    """Demos are written from these: their files are compared byte for byte."""
    boxes = noisy_boxes([BOX, BOX + 1], [1.0, 2.0], draw(8))  # the third shows nobody
    assert boxes.xyxy.tolist() == [
        [7.59, 17.55, 49.37, 95.84],
        [14.22, 24.44, 56.01, 103.76],
        [7.75, 32.55, 37.75, 62.55],
    ]
    assert boxes.scores.tolist() == [0.756, 0.703, 0.511]
    points = noisy_keypoints([(np.ones((2, 3)), 50.0)], [1.0], draw()).points
    assert points.tolist() == [[[1.75, 0.21, 0.9], [4.84, 1.63, 0.9]]]
    parts = noisy_parts([{"Face"}, {"Hand"}], [1.0, 2.0], draw(), ("Face", "Hand")).probabilities
    assert parts == ({"Face": 0.753, "Hand": 0.388}, {"Face": 0.284, "Hand": 0.598})
    truth = np.zeros((100, 100), np.uint8)
    truth[50, 50] = 1
    assert [np.argwhere(noisy_label_map(truth, 2.0, draw(s)).classes).tolist() for s in (1, 2)] == [
        [[52, 51]],
        [[49, 50]],
    ]
    vector = noisy_embedding(np.arange(4.0), 1.0, draw()).vector
    assert vector.tolist() == [0.021818, 0.224981, 0.606947, 0.761921]


def test_a_seed_gives_the_same_masks_for_ever():
    pytest.importorskip("cv2")
    mask = np.zeros((100, 50), bool)
    mask[30:70, 10:40] = True
    assert [int(noisy_masks([mask], [2.0], draw(seed)).masks.sum()) for seed in range(4)] == [1064, 1344, 1064, 600]
