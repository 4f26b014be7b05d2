"""Noisy predictions with draws that the test decides: how strong each change is, and how often it happens."""

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

BOX = np.array([10.0, 20, 30, 60])  # sides of 20 and 40, 30 on average


class Draw:
    """A generator that says what it is asked, and answers as it is told."""

    def __init__(self, *chances, deviations=1.0):
        self.chances, self.deviations, self.asked = list(chances), deviations, []

    def random(self):
        return self.chances.pop(0)

    def normal(self, mean=0, scale=1.0, size=None):
        self.asked.append(("normal", mean, scale, size))
        return mean + scale * self.deviations * (1 if size is None else np.ones(size))

    def uniform(self, low, high, size=None):
        self.asked.append(("uniform", low, high, size))
        return (low + high) / 2 if size is None else np.full(size, (low + high) / 2)

    def beta(self, a, b):
        self.asked.append(("beta", a, b))
        return 0.75


@pytest.mark.parametrize(("chance", "missed"), [(0.0599, True), (0.06, False)])
def test_people_are_missed_three_times_in_a_hundred_and_more_with_noise(chance, missed):
    draw = Draw(chance, 0.2)
    found = noisy_boxes([BOX], [2.0], draw)
    assert len(found) == (0 if missed else 1) and found.xyxy.shape == (1 - missed, 4)
    if not missed:
        assert draw.asked == [("normal", 0, pytest.approx(1.8), 4), ("uniform", 0.6, 1, None)]
        assert found.xyxy.tolist() == [[11.8, 21.8, 31.8, 61.8]] and found.scores.tolist() == [0.8]


@pytest.mark.parametrize(("chance", "alarm"), [(0.1999, True), (0.2, False)])
def test_one_picture_in_five_has_a_false_alarm(chance, alarm):
    draw = Draw(chance)
    found = noisy_boxes([], [], draw)
    assert len(found) == alarm
    if alarm:
        assert found.xyxy.tolist() == [[20, 20, 50, 50]] and found.scores.tolist() == [0.55]
        assert draw.asked == [("uniform", 0, 40, 2), ("uniform", 0.3, 0.8, None)]


def test_numbers_are_rounded_and_a_box_keeps_a_pixel():
    class Turned(Draw):
        def normal(self, mean, scale, size):
            return np.array([0.123456, 0, -100.0, -100.0])

        def uniform(self, low, high, size=None):
            return 0.65432 if size is None else np.array([1.23456, 2.34567])

    found = noisy_boxes([BOX], [1.0], Turned(1.0, 0.0))
    assert found.xyxy.tolist() == [[10.12, 20, 11.12, 21], [1.23, 2.35, 31.23, 32.35]]
    assert found.scores.tolist() == [0.654, 0.654]


@pytest.mark.parametrize(("chance", "larger"), [(0.4999, False), (0.5, True)])
@pytest.mark.parametrize(("deviations", "radius"), [(0.0, 1), (1.0, 1), (2.0, 2), (-3.0, 4)])
def test_masks_grow_or_shrink(chance, larger, deviations, radius):
    pytest.importorskip("cv2")
    mask = np.zeros((50, 100), bool)
    mask[20:35, 40:70] = True
    draw = Draw(chance, deviations=deviations)
    found = noisy_masks([mask], [1.0], draw)
    assert draw.asked == [("normal", 0, pytest.approx(1.2), None)] and found.scores.tolist() == [0.9]
    by = radius if larger else -radius
    expected = np.zeros_like(mask)
    expected[20 - by : 35 + by, 40 - by : 70 + by] = True
    assert np.array_equal(found.masks[0], expected)


def test_keypoints_move_by_a_share_of_the_scale():
    draw = Draw(deviations=0.333)
    found = noisy_keypoints([(np.zeros((17, 3)), 10.0)], [2.0], draw)
    assert draw.asked == [("normal", 0, pytest.approx(2.4), (17, 2))]
    assert (found.points[0, :, :2] == 0.8).all() and (found.points[0, :, 2] == 0.9).all()
    assert (noisy_keypoints([(np.zeros((17, 3)), 1.0)], [1.0], Draw(), 0.5).points[0, :, 2] == 0.5).all()


def test_parts_are_surer_with_less_noise():
    draw = Draw()
    found = noisy_parts([{"Face"}], [4.0], draw, ["Face", "Hand"])
    assert draw.asked == [("beta", 2, 2)] * 2 and found.probabilities == ({"Face": 0.75, "Hand": 0.25},)
    real = noisy_parts([{"Face"}], [1.0], np.random.default_rng(0), ["Face"]).probabilities[0]["Face"]
    assert real == round(real, 3) != round(real, 2)


def test_a_label_map_is_moved_by_whole_pixels():
    class Two(Draw):
        def normal(self, mean, scale, size):
            self.asked.append((mean, pytest.approx(scale), size))
            return np.array([1.6, -3.4])

    truth, draw = np.arange(50, dtype=np.uint8).reshape(10, 5), Two()
    found = noisy_label_map(truth, 2.0, draw)
    assert draw.asked == [(0, pytest.approx(0.24), 2)]
    assert all(found.classes[y, x] == truth[(y + 3) % 10, (x - 2) % 5] for y in range(10) for x in range(5))


def test_an_embedding_is_near_the_centre():
    draw = Draw()
    found = noisy_embedding(np.array([3.0, 0, 0, 0]), 2.0, draw).vector
    vector = np.array([4.4, 1.4, 1.4, 1.4])
    assert found == pytest.approx(vector / np.linalg.norm(vector), abs=5e-7) and draw.asked == [("normal", 0, 1, 4)]
    assert (found == found.round(6)).all() and (found != found.round(5)).any()
