"""The question of the mask: both rules, their denominators, their edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.answers import Boxes
from countenance.data import ArrayImage, Sample, Subject
from countenance.tasks import load_task
from countenance.tasks.mask_detection import MASK_DETECTION, MASK_DETECTION_ONE_FACE, best_boxes


def picture(*faces: tuple[list[float] | None, str | None]) -> Sample:
    subjects = tuple(
        Subject(str(i), face_box=None if box is None else np.array(box, float), attributes={"masked": masked})
        for i, (box, masked) in enumerate(faces)
    )
    return Sample("a", ArrayImage(np.zeros((100, 100, 3), np.uint8)), 100, 100, subjects)


def metrics(row: dict) -> tuple:
    return row["m.localised"], row["m.true_positive"], row["m.true_negative"]


def test_both_tasks_are_known_by_name():
    assert load_task("mask_detection") is MASK_DETECTION
    assert load_task("mask_detection_one_face") is MASK_DETECTION_ONE_FACE


def test_an_overlap_of_exactly_one_half_does_not_localise():
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], "no")), Boxes([[0, 0, 10, 5]], labels=["no_mask"]))
    assert metrics(row) == (0.0, None, None)


def test_a_masked_face_counts_in_the_true_positive_rate_alone():
    answer = Boxes([[0, 0, 10, 10], [50, 50, 60, 60]], labels=["mask", "mask"])
    rows = MASK_DETECTION.score(picture(([0, 0, 10, 10], "yes"), ([50, 50, 60, 60], "no")), answer)
    assert [metrics(row) for row in rows] == [(1.0, 1.0, None), (1.0, None, 0.0)]


def test_a_face_that_is_not_localised_leaves_the_denominator():
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], "yes")), Boxes([[80, 80, 90, 90]], labels=["mask"]))
    assert metrics(row) == (0.0, None, None)


def test_a_face_takes_its_best_box_whatever_its_class_says():
    answer = Boxes([[0, 0, 10, 8], [0, 0, 10, 9.5]], [0.99, 0.4], ["no_mask", "mask"])
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], "no")), answer)
    assert metrics(row) == (1.0, None, 0.0)


def test_of_two_boxes_in_the_same_place_the_surer_decides():
    answer = Boxes([[0, 0, 10, 10], [0, 0, 10, 10]], [0.4, 0.9], ["mask", "no_mask"])
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], "no")), answer)
    assert metrics(row) == (1.0, None, 1.0)


def test_one_box_may_serve_two_faces():
    rows = MASK_DETECTION.score(
        picture(([0, 0, 10, 10], "no"), ([0, 0, 10, 9], "no")), Boxes([[0, 0, 10, 9.5]], labels=["no_mask"])
    )
    assert [metrics(row) for row in rows] == [(1.0, None, 1.0)] * 2


def test_a_face_detector_has_a_localisation_rate_only():
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], "no")), Boxes([[0, 0, 10, 10]]))
    assert metrics(row) == (1.0, None, None)


def test_an_unknown_mask_is_in_no_true_rate():
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], None)), Boxes([[0, 0, 10, 10]], labels=["mask"]))
    assert metrics(row) == (1.0, None, None)


def test_one_face_per_image_any_box_localises_and_any_right_label_is_right():
    far = Boxes([[80, 80, 90, 90], [0, 0, 5, 5]], labels=["mask", "no_mask"])
    (row,) = MASK_DETECTION_ONE_FACE.score(picture((None, "no")), far)
    assert metrics(row) == (1.0, None, 1.0)
    (row,) = MASK_DETECTION_ONE_FACE.score(picture((None, "no")), Boxes([[0, 0, 5, 5]], labels=["mask"]))
    assert metrics(row) == (1.0, None, 0.0)
    (row,) = MASK_DETECTION_ONE_FACE.score(picture((None, "no")), Boxes(np.zeros((0, 4)), labels=()))
    assert metrics(row) == (0.0, None, None)


def test_each_rule_asks_only_where_its_truth_is():
    assert MASK_DETECTION.asks(picture(([0, 0, 1, 1], "no"))) and not MASK_DETECTION.asks(picture((None, "no")))
    assert MASK_DETECTION_ONE_FACE.asks(picture((None, "no")))
    assert not MASK_DETECTION_ONE_FACE.asks(picture((None, "no"), (None, "no")))


def test_a_label_that_is_neither_is_a_wrong_answer():
    with pytest.raises(ValueError, match="labelled 'helmet', expected mask or no_mask"):
        MASK_DETECTION.check({"boxes": [[0, 0, 1, 1]], "labels": ["helmet"]}, picture(([0, 0, 1, 1], "no")))


boxes = st.lists(
    st.tuples(*[st.integers(0, 20)] * 2, *[st.integers(1, 20)] * 2).map(
        lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]
    ),
    max_size=6,
)


@given(boxes, boxes, st.randoms(use_true_random=False))
def test_matching_equals_a_plain_loop_and_does_not_depend_on_order(faces, found, random):
    def iou(a, b):
        w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        inter = max(w, 0) * max(h, 0)
        return inter / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter)

    expected = [max((iou(face, box) for box in found), default=0) > 0.5 for face in faces]
    assert [best is not None for best in best_boxes(faces, Boxes(found))] == expected
    random.shuffle(found)
    assert [best is not None for best in best_boxes(faces, Boxes(found))] == expected


def test_an_overlap_just_above_one_half_localises():
    (row,) = MASK_DETECTION.score(picture(([0, 0, 10, 10], "no")), Boxes([[0, 0, 10, 5.1]], labels=["no_mask"]))
    assert metrics(row) == (1.0, None, 1.0)
