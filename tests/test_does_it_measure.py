"""The rule that compares people with photographs, its intervals, and the operations that change pictures."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import agreement
import measured_faces as faces
import picture_changes as changes


def gap(low: float, high: float) -> agreement.Gap:
    return agreement.Gap((low + high) / 2, low, high, 100)


@pytest.mark.parametrize(
    ("photographs", "people", "word"),
    [
        ((-0.25, -0.15), (-0.24, -0.14), "agree"),
        ((-0.25, -0.15), (-0.12, -0.06), "same way, weaker"),
        ((-0.25, -0.15), (-0.45, -0.35), "same way, stronger"),
        ((0.15, 0.25), (0.06, 0.12), "same way, weaker"),
        ((-0.25, -0.15), (0.06, 0.12), "opposite"),
        ((-0.03, 0.02), (-0.01, 0.04), "neither shows a gap"),
        ((0.01, 0.04), (-0.04, -0.01), "neither shows a gap"),  # both real, both too small to matter
        ((-0.25, -0.15), (-0.03, 0.03), "gap only in photographs"),
        ((-0.25, -0.15), (-0.09, 0.07), "gap only in photographs"),
        ((-0.03, 0.03), (-0.25, -0.15), "gap only in people"),
        ((-0.20, 0.10), (-0.25, -0.15), "cannot tell"),
        ((-0.20, 0.10), (-0.10, 0.20), "cannot tell"),
    ],
)
def test_the_word_for_a_pair_of_gaps(photographs, people, word):
    assert agreement.verdict(gap(*photographs), gap(*people), 0.05) == word
    assert word in agreement.VERDICTS


def test_the_sides_change_places_with_the_sets():
    weak, strong = gap(0.06, 0.12), gap(0.15, 0.25)
    assert agreement.verdict(strong, weak, 0.05) == "same way, weaker"
    assert agreement.verdict(weak, strong, 0.05) == "same way, stronger"


def test_shares_without_any_failure_still_have_an_interval():
    all_right = np.ones(40)
    apart = agreement.between(all_right, all_right, share=True)
    together = agreement.paired(np.zeros(40), share=True)
    for result in (apart, together):
        assert result.estimate == 0 and result.low < 0 < result.high and result.n == 40
    assert agreement.paired(np.zeros(40), share=False)[:3] == (0, 0, 0)


def test_intervals_cover_the_true_difference_as_often_as_they_claim():
    random = np.random.default_rng(5)
    hits = 0
    for _ in range(1000):
        result = agreement.between(*((random.random(60) < p).astype(float) for p in (0.7, 0.9)), share=True)
        hits += result.low <= -0.2 <= result.high
    assert 0.93 <= hits / 1000 <= 0.98


def test_a_person_counts_once_and_missing_values_do_not():
    means = agreement.by_person(np.array([1.0, 0.0, 1.0, np.nan, np.nan]), ["a", "a", "b", "b", "c"])
    assert means.tolist() == [0.5, 1.0]


@pytest.fixture
def picture():
    pixels = np.random.default_rng(1).integers(90, 200, (128, 128, 3)).astype(np.uint8)
    points = np.array([[48.0, 52], [80, 52], [64, 70], [52, 86], [76, 86]])
    box = np.array([34.0, 24, 94, 108])
    return changes.Picture("a", pixels, np.array([22.0, 22, 106, 106]), box, points)


def test_a_mask_covers_the_mouth_and_not_the_eyes(picture):
    mask = changes.masked(picture)
    assert mask is not None and np.array_equal(mask.pixels, changes.masked(picture).pixels), "the same every time"
    moved = np.abs(mask.pixels.astype(int) - picture.pixels).max(axis=2) > 0
    assert moved[80:90, 56:72].mean() > 0.9 and not moved[:50].any()
    assert changes.masked(picture._replace(points=None)) is None


def test_darkening_takes_four_stops_of_light(picture):
    dark = changes.darkened(picture)
    light = [((p.pixels / 255 + 0.055) / 1.055) ** 2.4 for p in (picture, dark)]
    assert light[0].mean() / light[1].mean() == pytest.approx(16, rel=0.1)
    assert dark.pixels.max() < picture.pixels.min()


def test_shrinking_moves_square_box_and_points_along(picture):
    small = changes.shrunk(picture)
    assert small.pixels.shape == picture.pixels.shape
    assert small.square[2] - small.square[0] == pytest.approx(changes.SCALE * 84, rel=0.02)
    for before, after in ((picture.points, small.points), (picture.box.reshape(2, 2), small.box.reshape(2, 2))):
        assert np.allclose(after - 64, (before - 64) * changes.SCALE, atol=1)
    assert len(np.unique(small.pixels[:30].reshape(-1, 3), axis=0)) == 1, "plain around it"


def test_blur_and_compression_keep_the_light_and_lose_detail(picture):
    blurred, compressed = changes.blurred(picture), changes.compressed(picture)
    for changed in (blurred, compressed):
        assert changed.pixels.mean() == pytest.approx(picture.pixels.mean(), abs=2)
    assert blurred.pixels[10:-10, 10:-10].std() < picture.pixels.std() / 3
    assert compressed.pixels.std() < picture.pixels.std()


def test_a_face_is_found_only_where_it_is():
    square = np.array([64.0, 64, 192, 192])
    assert faces.is_found(np.array([[70.0, 70, 180, 190]]), square)
    assert not faces.is_found(np.zeros((0, 4)), square)
    assert not faces.is_found(np.array([[0.0, 0, 100, 110]]), square), "beside it"
    assert not faces.is_found(np.array([[118.0, 118, 138, 138]]), square), "much too small"


def test_ages_are_judged_by_group():
    assert [faces.age_group(age) for age in (2.9, 3, 9.9, 19, 59.9, 60, 88)] == [
        "0-2",
        "3-9",
        "3-9",
        "10-19",
        "50-59",
        "60-69",
        "more than 70",
    ]
    assert [faces.age_error(age, "20-29") for age in (15.0, 25.0, 29.5, 36.0)] == [5, 0, 0, 6]
    assert faces.age_error(60.0, "more than 70") == 10


def test_a_square_in_the_frame_of_fairface():
    face = np.full((224, 224, 3), 40, np.uint8)
    pixels, square = faces.framed(face)
    assert pixels.shape == (256, 256, 3) and square.tolist() == [64, 64, 192, 192]
    bright = np.zeros((100, 100, 3), np.uint8)
    bright[40:60, 40:60] = 255
    cut = faces.cut(bright, np.array([30.0, 30, 70, 70]), 80)
    assert cut[40, 40].tolist() == [255] * 3 and cut[5, 5].tolist() == [0] * 3
