"""What is drawn onto training pictures, point by point: masks, straps, folds, light, and what is no mask."""

import numpy as np
import pytest

pytest.importorskip("cv2")

from scripted import Noted, Scripted

from countenance.suites.mask_fairness.train import augmented_pictures as augment
from countenance.suites.mask_fairness.train.augmented_pictures import (
    TrainingPicture,
    _cloth,
    augmented,
    draw_distraction,
    draw_mask,
)

FACE = np.array([100.0, 80, 300, 340])
LANDMARKS = np.array([[150.0, 160], [250, 160], [210, 220], [160, 260], [240, 260]])
"""Eyes 100 apart, eyes and mouth 100 apart, the nose 10 beside the middle line and 5 below where it would be."""


@pytest.fixture
def noted(monkeypatch):
    made = Noted()
    monkeypatch.setattr(augment, "opencv", lambda what: made)
    return made


def grey(value: int) -> np.ndarray:
    return np.full((400, 400, 3), value, np.uint8)


def masked(pixels, chances):
    """A mask drawn by these chances: of a usual cloth, of folds, of straps; all else in the middle of its range."""
    random = Scripted(chances)
    draw_mask(pixels, FACE, LANDMARKS, random)
    assert not random.chances
    return random


def test_a_mask_has_ten_corners_between_the_nose_and_the_chin(noted):
    """At half of every range: top .45 down, .925 of the eyes wide, chin .585 below the mouth."""
    random = masked(grey(130), [0.7, 1.0, 1.0])
    (polygon,) = noted.calls["fillPoly"]
    (points,), colour, line, shift = polygon[0], *polygon[1:3], polygon[3]
    expected = [
        (116.75, 213),
        (177.05, 207.4),
        (208, 203),
        (232.55, 207.4),
        (283.25, 213),
        (272.15, 260),
        (233.3, 318.5),
        (200, 324.5),
        (166.7, 318.5),
        (127.85, 260),
    ]
    assert points.tolist() == [[round(8 * x), round(8 * y)] for x, y in expected]
    assert (colour, line, shift) == (255, 16, {"shift": 3})
    assert random.asked == [(0.28, 0.62), (0.8, 1.05), (0.42, 0.75), (0, 0.12), (10, 250, 3), (0.7, 1.15)]
    edges, light = noted.calls["GaussianBlur"]
    assert edges == [(0, 0), 0.7] and light == [(0, 0), 25.0]


@pytest.mark.parametrize(("level", "share"), [(130, 1.0), (39, 0.65), (10, 0.675 * (1 / 13 + 0.35)), (240, 1.0)])
def test_the_cloth_is_lit_like_the_face(level, share):
    """A colour in the middle of 10 to 250, times .925 and the light; outside of the mask nothing changes."""
    pixels = grey(level)
    masked(pixels, [0.7, 1.0, 1.0])
    assert pixels[240:300, 190:210].ravel().tolist() == [int(130 * 0.925 * share)] * (60 * 20 * 3)
    for outside in (pixels[:200], pixels[330:], pixels[:, :110]):
        assert np.abs(outside.astype(int) - level).max() <= 1


def test_a_brighter_side_of_the_face_makes_a_brighter_side_of_the_cloth():
    pixels = grey(60)
    pixels[:, 200:] = 180
    before = pixels.astype(float)
    masked(pixels, [0.7, 1.0, 1.0])
    left, right = pixels[260, 135, 0] / 120.25, pixels[260, 265, 0] / 120.25
    level = before[210:320, 130:270].mean()  # nearly as much of the mask is on each side
    assert left == pytest.approx((0.35 + 0.65 * 60 / level) * 1.0, abs=0.04)
    assert right == pytest.approx((0.35 + 0.65 * 180 / level) * 1.0, abs=0.04)


def test_folds_are_waves_down_the_cloth():
    """A wave is .3 of the 100 pixels from eyes to mouth; it begins at 3 (half of 6) and moves the light by .08."""
    pixels = grey(130)
    random = masked(pixels, [0.7, 0.59, 1.0])
    rows = np.arange(230, 300)
    expected = 130 * 0.925 * (1 + 0.08 * np.sin(rows / 30 * 2 * np.pi + 3))
    assert pixels[rows, 200, 1] == pytest.approx(expected, abs=1.01)
    assert random.asked[-2:] == [(0.2, 0.4), (0, 6)]


def test_straps_lead_from_the_upper_corners_outwards_and_up(noted):
    random = masked(grey(130), [0.7, 1.0, 0.59])
    assert random.asked[-2:] == [(0.0, 0.35)] * 2
    end = round(213 - 17.5 + 1e-9)
    how = [(int(120.25 * 0.95),) * 3, 1, 16]
    assert noted.calls["line"] == [[(117, 213), (92, end), *how], [(283, 213), (308, end), *how]]


def test_small_faces_have_folds_of_two_pixels_and_a_light_of_one(noted):
    landmarks = LANDMARKS / 50
    pixels = np.full((20, 20, 3), 130, np.uint8)
    draw_mask(pixels, FACE / 50, landmarks, Scripted([0.7, 0.5, 1.0]))
    assert noted.calls["GaussianBlur"][1] == [(0, 0), 1.0]
    away = np.full((8, 8, 3), 130, np.uint8)
    draw_mask(away, FACE, LANDMARKS, Scripted([0.7, 1.0, 1.0]))
    assert (away == 130).all(), "a mask beyond the picture leaves it as it is"


def test_usual_cloths_have_their_seven_colours_and_others_any():
    found = [_cloth(Scripted([0.649], choices=[k])).tolist() for k in range(7)]
    usual = [
        [235, 240, 245],
        [150, 195, 225],
        [90, 150, 200],
        [30, 30, 34],
        [60, 62, 70],
        [120, 180, 160],
        [225, 170, 190],
    ]
    assert found == [[min(255, value + 12) for value in colour] for colour in usual]
    random = Scripted([0.65], share=0.25)
    assert _cloth(random).tolist() == [70, 70, 70] and random.asked == [(10, 250, 3)]
    drawn = Scripted([0.0], choices=[0])
    _cloth(drawn)
    assert drawn.asked == [(7,), (0, 12, 3)]


def distraction(noted, place, further=()):
    """The ellipse of a distraction at one of the four places."""
    random = Scripted([0.7], 0.5, [further[0] if further else 0, further[1] if further else 0, place])
    pixels = grey(30)
    draw_distraction(pixels, FACE, LANDMARKS, random)
    assert (pixels != 30).any()
    return noted.calls["ellipse"][-1], random.asked


def test_what_is_no_mask_lies_on_forehead_eye_cheek_or_neck(noted):
    forehead, asked = distraction(noted, 0)
    size, angle, rest = (52, 22), 0.0, [0, 360, (130, 130, 130), -1, 16]
    assert forehead == [(200, 101), size, angle, *rest]  # 80 + .08 × 260
    assert asked == [(2,), (4,), (0.12, 0.4), (0.05, 0.12), (10, 250, 3), (-20, 20)]
    assert [distraction(noted, 1, (eye, 0))[0][0] for eye in (0, 1)] == [(150, 160), (250, 160)]
    assert [distraction(noted, 2, (0, side))[0][0] for side in (0, 1)] == [(116, 236), (284, 236)]  # .08, .92; .6 × 260
    assert distraction(noted, 3)[0][0] == (200, 397)  # 340 + .22 × 260
    tiny = Scripted([0.7], 0.5, [0, 0, 0])
    draw_distraction(grey(30), np.array([5.0, 5, 6, 7]), LANDMARKS, tiny)
    assert noted.calls["ellipse"][-1][1] == (1, 1)


@pytest.mark.parametrize(
    ("chances", "known", "drawn", "worn"),
    [
        ([0.5, 0.4, 0.25], 0.0, [], 0.0),
        ([0.499, 0.399], 0.0, ["before", "mask"], 1.0),
        ([0.5, 0.4, 0.249], 0.0, ["distraction"], 0.0),
        ([0.5], 1.0, [], 1.0),
        ([0.5], -1.0, [], -1.0),
    ],
)
def test_a_picture_is_varied_by_chance(monkeypatch, chances, known, drawn, worn):
    """Half get another background, .4 of the bare faces a mask, a quarter of the rest something that is none."""
    said = []
    monkeypatch.setattr(augment, "set_before", lambda pixels, people, scene, random: said.append("before") or pixels)
    monkeypatch.setattr(augment, "draw_mask", lambda *given: said.append("mask"))
    monkeypatch.setattr(augment, "draw_distraction", lambda *given: said.append("distraction"))
    monkeypatch.setattr(augment, "random_window", lambda pixels, boxes, random, side, scenes: (pixels, boxes, [0, 1]))
    monkeypatch.setattr(augment, "recolour", lambda pixels, random: pixels + np.uint8(1))
    unknown = np.full((5, 2), np.nan)
    picture = TrainingPicture(
        grey(7),
        np.stack([FACE, FACE]),
        np.array([0.0, known]),
        np.stack([unknown, LANDMARKS]),
        np.ones((400, 400), bool),
    )

    random = Scripted(chances, choices=[0])
    pixels, boxes, found = augmented(picture, [grey(3)], random)
    assert (said, found.tolist(), random.chances) == (drawn, [0.0, worn], [])
    assert (pixels == 8).all() and boxes.shape == (2, 4) and picture.masked.tolist() == [0.0, known]
    plain = TrainingPicture(grey(7), picture.boxes, picture.masked, picture.landmarks)
    for one, scenes in ((plain, [grey(3)]), (picture, [])):
        augmented(one, scenes, Scripted([1.0, 1.0]))  # nobody is set before a scene, so no chance is taken for it
