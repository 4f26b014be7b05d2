"""The two rules of open-set detection and recognition, worked out by hand on three images."""

from dataclasses import replace

import numpy as np
import pytest

from countenance.metrics.curves import MISSED, ListedIdentities
from countenance.metrics.curves.open_set import RULES, OpenSet, dir_v2, froc_v2, froc_v3, oroc_v3
from countenance.metrics.curves.threshold_choice import choose_threshold


def labels(*rows):
    """The identities of each detection, as pairs of subject and score."""
    count = np.array([len(row) for row in rows], np.int64)
    pairs = [pair for row in rows for pair in row]
    identity, score = np.array([who for who, _ in pairs], np.int64), np.array([s for _, s in pairs], np.float64)
    return ListedIdentities(np.cumsum(count) - count, count, identity, score)


def square(x, side=10.0):
    return [float(x), 0.0, side, side]


@pytest.fixture
def crowd():
    """Image 0: subjects 1 and 2 and an unknown; image 1: subject 3 (in the gallery) and subject 4; image 2: nobody."""
    return OpenSet(
        face_box=np.array([square(0), square(20), square(40), square(0), square(20)]),
        face_image=np.array([0, 0, 0, 1, 1]),
        subject=np.array([1, 2, -1, 3, 4]),
        excluded=np.array([False, False, False, True, False]),
        present=np.array([True, True, False]),
        box=np.array([square(0), square(20), square(40), square(60), square(0), square(20), square(0)]),
        image=np.array([0, 0, 0, 0, 1, 1, -1]),
        score=np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.99]),
        labels=labels(
            [(1, 0.9), (2, 0.1)],
            [(1, 0.7), (2, 0.6)],
            [(4, 0.5), (1, 0.2)],
            [(2, 0.3), (4, 0.25)],
            [(3, 0.8), (1, 0.1)],
            [(4, 0.4), (1, 0.4)],
            [(1, 0.9), (2, 0.1)],
        ),
    )


def test_faces_are_found_and_what_lies_elsewhere_is_a_false_alarm(crowd):
    found = froc_v2(crowd)
    assert (found.kind, found.total) == ("FROC", 5)
    assert found.units.tolist() == [0.9, 0.8, 0.7, 0.5, 0.4] and found.unit_face.tolist() == [0, 1, 2, 3, 4]
    assert (found.negatives.tolist(), found.negative_row.tolist()) == ([0.6], [3])


def test_version_3_leaves_the_gallery_s_faces_out_and_forgives_their_detections(crowd):
    found = froc_v3(crowd)
    assert found.total == 4 and found.unit_face.tolist() == [0, 1, 2, 4]
    assert found.units.tolist() == [0.9, 0.8, 0.7, 0.4]
    assert (found.negatives.tolist(), found.negative_row.tolist()) == ([0.6], [3])


def test_an_image_without_detections_may_be_left_out_with_its_faces(crowd):
    fewer = replace(crowd, present=np.array([True, False, False]))
    assert froc_v2(fewer).unit_face.tolist() == froc_v3(fewer).unit_face.tolist() == [0, 1, 2]
    assert dir_v2(fewer).unit_face.tolist() == oroc_v3(fewer).unit_face.tolist() == [0, 1]


@pytest.mark.parametrize(("rule", "side", "found"), [(froc_v3, 8.0, True), (froc_v3, 7.0, False), (froc_v2, 5.0, True)])
def test_each_version_has_its_own_overlap(crowd, rule, side, found):
    box = crowd.box.copy()
    box[0] = square(0, side)  # 64 % and 49 % of the face; a quarter of it is all of it in version 2
    made = rule(replace(crowd, box=box))
    assert (made.units[0] == 0.9) is np.bool_(found)
    assert (0.9 in made.negatives) is (not found)


def test_the_overlap_that_counts_is_a_setting(crowd):
    box = crowd.box.copy()
    box[0] = square(0, 7.0)
    assert froc_v3(replace(crowd, box=box, overlap=0.49)).units[0] == 0.9


def test_open_set_recognition_of_version_3(crowd):
    found = oroc_v3(crowd)
    assert (found.kind, found.total) == ("O-ROC", 3), (
        "two known faces of image 0, and one of image 1 beside the gallery's"
    )
    assert found.unit_face.tolist() == [0, 1, 4]
    # Subject 2 scores less than subject 1 on their own face; subject 4 as much as subject 1, who comes first.
    assert found.units.tolist() == [0.9, MISSED, MISSED]
    assert found.negative_row.tolist() == [2, 3], "the unknown face, and what is no face; not the excluded one"
    assert found.negatives.tolist() == [0.5, 0.3]
    assert found.stranger.tolist() == [MISSED, MISSED, 0.5, MISSED, MISSED]
    assert oroc_v3(replace(crowd, rank=2)).units.tolist() == [0.9, 0.6, 0.4]


def test_a_face_without_its_own_identity_is_missed_and_one_without_any_list_too(crowd):
    one = [(4, 0.5)]
    fewer = replace(crowd, labels=labels([(2, 0.1)], [], one, one, one, one, one))
    found = oroc_v3(fewer)
    assert found.units.tolist() == [MISSED, MISSED, 0.5]
    assert oroc_v3(replace(fewer, rank=9)).units.tolist() == [MISSED, MISSED, 0.5]


def test_an_excluded_unknown_face_still_takes_one_off_the_total(crowd):
    """The published rule subtracts every excluded face; a gallery holds known people only, so it is their number."""
    other = replace(crowd, excluded=np.array([False, False, True, False, False]))
    assert oroc_v3(other).total == 3 and oroc_v3(other).negative_row.tolist() == [3]
    first = replace(other, subject=np.array([-1, 2, 5, 3, 4]), excluded=np.array([True, False, False, False, False]))
    assert oroc_v3(first).negative_row.tolist() == [3]


def test_open_set_identification_of_version_2(crowd):
    found = dir_v2(crowd)
    assert (found.kind, found.total) == ("DIR", 4)
    assert found.unit_face.tolist() == [0, 1, 3, 4]
    assert found.units[0] == 0.9 and found.units[1] == MISSED and found.units[2] == 0.8
    assert 0.3 in found.negatives.tolist() and found.stranger[2] == 0.5


def test_every_version_has_a_rule_for_detection_and_recognition(crowd):
    rules = {(2, False): froc_v2, (2, True): dir_v2, (3, False): froc_v3, (3, True): oroc_v3}
    assert rules == RULES
    assert [rule(crowd).kind for rule in RULES.values()] == ["FROC", "DIR", "FROC", "O-ROC"]


def test_a_choice_counts_what_passes_here_and_moves_with_the_images():
    random = np.random.default_rng(0)
    negatives, image = random.random(400), np.repeat(np.arange(100), 4)
    made = choose_threshold(negatives, image, 100, 100, rounds=200, seed=1)
    assert made.threshold == np.sort(negatives)[-100] and made.false_alarms == 100
    assert made.threshold_low < made.threshold < made.threshold_high
    assert made.threshold_high - made.threshold_low < 0.2
    assert 0.5 < made.elsewhere_low < 1 < made.elsewhere_high < 2 and made.stable
    assert made == choose_threshold(negatives, image, 100, 100, rounds=200, seed=1)
    assert not choose_threshold(negatives, image, 100, 1, rounds=200).stable


def test_all_false_alarms_in_one_image_move_the_threshold_most():
    """Many drawings lack the image or have it twice, and half of the halves choose a threshold without it."""
    negatives = np.linspace(0.5, 1, 20)
    together = choose_threshold(negatives, np.zeros(20, np.int64), 20, 10, rounds=200)
    apart = choose_threshold(negatives, np.arange(20), 20, 10, rounds=200)
    assert together.threshold == apart.threshold == negatives[10]
    assert together.threshold_high > apart.threshold_high and together.elsewhere_high == 20 / (10 * 0.5)
    assert together.elsewhere_low == 0.0 and not together.stable


def test_an_unknown_face_may_have_the_first_detection():
    one = OpenSet(
        face_box=np.array([square(0)]),
        face_image=np.array([0]),
        subject=np.array([-1]),
        excluded=np.array([False]),
        present=np.array([True]),
        box=np.array([square(0)]),
        image=np.array([0]),
        score=np.array([0.9]),
        labels=labels([(4, 0.5)]),
    )
    found = oroc_v3(one)
    assert found.stranger.tolist() == [0.5] and found.negatives.tolist() == [0.5] and found.total == 0
