"""Visibility of keypoints: what is worn hides the face, and both tables agree."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from countenance_people.labels import CODE
from countenance_people.truth import COCO, DEPTH, DEPTH_33, hidden_under

POINTS = [8.0, 8.0, 2.0, 24.0, 8.0, 2.0]


def labels(name: str) -> np.ndarray:
    """A map whose left half shows one thing, the right half skin."""
    label = np.full((16, 32), CODE["skin"], np.uint8)
    label[:, :16] = CODE[name]
    return label


@pytest.mark.parametrize(
    ("worn", "number", "dark", "seen"),
    [
        ("face_mask", 0, False, 1.0),
        ("face_mask", 9, False, 1.0),
        ("face_mask", 7, False, 2.0),  # the loop of a mask crosses an ear
        ("eye_g", 2, True, 1.0),
        ("eye_g", 2, False, 2.0),  # the frame of clear glasses
        ("hair", 8, False, 1.0),
        ("hat", 8, False, 1.0),
        ("beard", 9, False, 2.0),
        ("cloth", 11, False, 2.0),
    ],
)
def test_what_is_worn_hides_the_points_of_the_face_under_it(worn: str, number: int, dark: bool, seen: float) -> None:
    flat = hidden_under(POINTS, (number, number), labels(worn), dark)
    assert flat == [8.0, 8.0, seen, 24.0, 8.0, 2.0]


def test_a_point_outside_or_hidden_stays_so() -> None:
    flat = [0.0, 0.0, 0.0, 8.0, 8.0, 1.0]
    assert hidden_under(flat, (0, 0), labels("face_mask"), False) == flat


def test_a_few_hairs_across_an_eye_do_not_hide_it() -> None:
    label = labels("skin")
    label[8, 6:11] = CODE["hair"]
    assert hidden_under(POINTS, (2, 5), label, False) == POINTS


def test_a_point_of_both_tables_may_lie_equally_deep() -> None:
    assert len(COCO) == 17 and (DEPTH_33[list(COCO)] == DEPTH).all()
