"""Readings of boxes: back and forth, which fit, and what the others would find."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.metrics.reading_trials import (
    MOST_TRIED,
    FileBoxes,
    Scene,
    count_found,
    file_note,
    overlapping_half,
    reading_note,
    sampled,
    try_readings,
)
from countenance.metrics.readings import CORNERS, FORMS, READINGS, Reading, fitting, guessed_units


def pictures(seed: int, n: int = 40):
    """True corners of faces in pictures of different sizes, as real faces are: smaller than the picture."""
    random = np.random.default_rng(seed)
    sizes = random.integers(200, 1600, (n, 2)).astype(float)
    side = random.uniform(0.08, 0.4, (n, 2))
    first = random.uniform(0, 1, (n, 2)) * (1 - side)
    return np.hstack([first, first + side]) * np.tile(sizes, 2), sizes


def naive_corners(form: str, units: str, box, size):
    """The slow reading: one box at a time, as a person would write it down."""
    a, b, c, d = box
    if form == "xyxy":
        found = [a, b, c, d]
    elif form == "xywh":
        found = [a, b, a + c, b + d]
    elif form == "cxcywh":
        found = [a - c / 2, b - d / 2, a + c / 2, b + d / 2]
    elif form == "xxyy":
        found = [a, c, b, d]
    else:
        found = [b, a, d, c]
    if units == "rel":
        found = [found[0] * size[0], found[1] * size[1], found[2] * size[0], found[3] * size[1]]
    return found


@given(st.sampled_from(READINGS), st.lists(st.floats(-2, 2000), min_size=4, max_size=4), st.integers(0, 2**32 - 1))
def test_a_reading_is_what_a_person_would_write_down(reading, box, seed):
    size = np.random.default_rng(seed).integers(1, 2000, 2).astype(float)
    found = reading.corners(np.array([box]), size[None])
    assert np.allclose(found, [naive_corners(reading.form, reading.units, box, size)])


@given(st.sampled_from(READINGS), st.integers(0, 2**32 - 1))
def test_numbers_and_corners_undo_each_other_and_the_true_reading_fits(reading, seed):
    corners, sizes = pictures(seed)
    numbers = reading.numbers(corners, sizes)
    assert np.allclose(reading.corners(numbers, sizes), corners)
    assert guessed_units(numbers) == reading.units
    assert reading in fitting(numbers, sizes)


def scenes(given_as: Reading, seed: int = 3, n: int = 40) -> list[Scene]:
    corners, sizes = pictures(seed, n)
    numbers = given_as.numbers(corners, sizes)
    return [Scene(c[None], x[None], *s) for c, x, s in zip(corners, numbers, sizes, strict=True)]


@pytest.mark.parametrize("true", [reading for reading in READINGS if reading != CORNERS], ids=str)
def test_the_true_reading_is_named_first_with_what_it_would_find(true):
    trials = try_readings(scenes(true))
    assert trials.better[0].predicted == true and trials.better[0].localised == 40
    note = reading_note(trials, lambda trial: f"use {trial.predicted}")
    assert f"read as {true} ({true.numbers_are}), the same predictions would localise 40 of 40: use {true}" in note
    assert FORMS[true.form] in note


def test_a_right_reading_says_nothing_however_poor_the_detector_is():
    right = scenes(CORNERS)
    assert try_readings(right).better == () and reading_note(try_readings(right), str) is None
    poor = [Scene(s.truth, s.truth * 0.6 if i % 3 else s.predicted, s.width, s.height) for i, s in enumerate(right)]
    trials = try_readings(poor)
    assert 0.05 < trials.used.share < 0.5 and trials.better == () and reading_note(trials, str) is None


def test_boxes_of_other_pictures_fit_no_reading():
    mixed = scenes(CORNERS)
    strange = [Scene(s.truth, np.array([[0.0, 0.0, 3.0, 3.0]]), s.width, s.height) for s in mixed if s.truth.min() > 10]
    note = reading_note(try_readings(strange), str)
    assert note.startswith(f"0 of {len(strange)} faces were localised, and no other reading")
    assert "do the boxes belong to these pictures?" in note


def test_a_wrong_reading_of_the_truth_is_named_as_well():
    corners, sizes = pictures(5)
    centre, topleft = Reading("cxcywh", "rel"), Reading("xywh", "rel")
    numbers = centre.numbers(corners, sizes)
    there = [Scene(n[None], c[None], *s) for n, c, s in zip(numbers, corners, sizes, strict=True)]
    trials = try_readings(there, CORNERS, topleft, truths=[r for r in READINGS if r.units == "rel"])
    assert trials.used.share < 0.05
    assert trials.better[0].truth == centre and trials.better[0].predicted == CORNERS
    assert "with the dataset's boxes read as cxcywh, rel" in reading_note(trials, lambda trial: "use it")


def test_both_readings_wrong_are_tried_together_where_neither_alone_helps():
    corners, sizes = pictures(6)
    truth, predicted = Reading("cxcywh", "rel"), Reading("xxyy", "px")
    there = [
        Scene(truth.numbers(c[None], s[None]), predicted.numbers(c[None], s[None]), *s)
        for c, s in zip(corners, sizes, strict=True)
    ]
    trials = try_readings(there, CORNERS, Reading("xywh", "rel"), truths=[r for r in READINGS if r.units == "rel"])
    assert (trials.better[0].predicted, trials.better[0].truth) == (predicted, truth)


def test_one_box_far_away_does_not_turn_shares_into_pixels():
    numbers = np.vstack([np.full((39, 4), 0.4), [[3, 0.2, 0.1, 0.1]]])
    assert guessed_units(numbers) == "rel"


def test_many_faces_are_tried_on_a_sample_and_the_sentence_says_so():
    many = scenes(Reading("cxcywh", "rel"), n=4 * MOST_TRIED)
    drawn = sampled(many)
    assert len(drawn) == MOST_TRIED
    note = reading_note(try_readings(drawn), lambda trial: "use it", total=len(many))
    assert note.startswith(f"0 of {MOST_TRIED} faces (a sample of {4 * MOST_TRIED:,}) were localised")


def test_boxes_turned_round_overlap_nothing():
    scene = Scene(np.array([[0, 0, 10, 10.0]]), np.array([[10, 10, 0, 0.0]]), 20, 20)
    assert count_found([scene], CORNERS, CORNERS, overlapping_half).localised == 0


def listed(true: Reading, n: int = 60):
    corners, sizes = pictures(9, n)
    image = np.arange(n)
    return FileBoxes(corners, image, CORNERS), FileBoxes(true.numbers(corners, sizes), image, CORNERS), sizes


def test_the_boxes_of_a_file_need_sizes_only_when_they_are_normalised():
    truth, predicted, sizes = listed(Reading("cxcywh", "px"))
    assert "read as cxcywh, px" in file_note(truth, predicted, size=lambda image: 1 / 0, remedy="do it")
    truth, predicted, sizes = listed(Reading("xywh", "rel"))
    told = file_note(truth, predicted, size=lambda image: tuple(sizes[image]), remedy="do it")
    assert "read as xywh, rel" in told and "60 of 60" in told
    assert "above 1.5: do it" in file_note(truth, predicted, size=lambda image: None, remedy="do it")


def test_images_without_a_prediction_do_not_count_against_the_reading():
    truth, predicted, _ = listed(CORNERS)
    few = FileBoxes(predicted.boxes[:2], predicted.image[:2], CORNERS)
    assert file_note(truth, few, size=lambda image: None, remedy="") is None
