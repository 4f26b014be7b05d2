"""The checks of the truth find what they are meant to find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pycocotools")

from pycocotools import mask as coco

from countenance.data.people import checks

SIZE = 32


def counts(mask: np.ndarray) -> str:
    return str(coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode())


def block(x0: int, y0: int, x1: int, y1: int) -> np.ndarray:
    mask = np.zeros((SIZE, SIZE), bool)
    mask[y0:y1, x0:x1] = True
    return mask


def subject(**changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "sample": "portraits/a",
        "subject": "a",
        "mask": counts(block(8, 8, 24, 32)),
        "person_box": [8, 8, 24, 32],
        "face_box": [10, 9, 22, 22],
        "face_size": 13,
        "keypoints": [15.0, 15.0, 2.0] * 17,
        "face_parts": [{"label": "nose", "counts": counts(block(14, 14, 17, 18))}],
        "mask_colour": "none",
        "glasses": "none",
    }
    return {**row, **changes}


def test_true_truth_has_no_problems() -> None:
    assert checks.subject_problems(subject(), SIZE, SIZE) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"keypoints": [2.0, 2.0, 2.0] * 17}, "keypoint 0"),
        ({"person_box": [8, 8, 25, 32]}, "person_box"),
        ({"face_box": [18, 9, 22, 22]}, "nose reaches out"),
        ({"face_box": [10, 9, 22, 40], "face_size": 31}, "leaves the image"),
        ({"face_size": 12}, "face_size"),
        ({"face_parts": [{"label": "hair", "counts": counts(block(0, 0, 10, 10))}]}, "leaves the person's mask"),
        ({"face_parts": [{"label": "face_mask", "counts": counts(block(12, 14, 18, 18))}]}, "without a mask"),
    ],
)
def test_a_broken_truth_is_named(changes: dict[str, Any], words: str) -> None:
    problems = checks.subject_problems(subject(**changes), SIZE, SIZE)
    assert problems and words in problems[0]


def covered(label: str, **changes: Any) -> dict[str, Any]:
    """A person whose whole face one thing covers, with every point of the face in its middle."""
    face = {"label": label, "counts": counts(block(10, 9, 22, 22))}
    return subject(face_parts=[face], glasses="none", mask_colour="blue", **changes)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (covered("face_mask"), "keypoints 0 at 15.0,15.0 is seen under what is worn"),
        (covered("hat", keypoints=[15.0, 15.0, 1.0] * 3 + [15.0, 15.0, 2.0] * 14), "keypoints 3"),
        (covered("eye_g", keypoints=[15.0, 15.0, 2.0] * 17) | {"glasses": "sunglasses"}, "keypoints 1"),
        (
            subject(keypoints_33=[15.0, 15.0, 2.0] * 23 + [15.0, 15.0, 1.0] * 10),
            "keypoints_33 23 is not COCO's point 11",
        ),
        (subject(body_part_pixels=[100, 1]), "body parts have 101 pixels, the mask has 384"),
    ],
)
def test_a_point_seen_through_what_is_worn_and_tables_that_disagree_are_named(row: dict[str, Any], words: str) -> None:
    assert any(words in problem for problem in checks.subject_problems(row, SIZE, SIZE))


def test_clear_glasses_hide_no_eye() -> None:
    assert checks.subject_problems(covered("eye_g") | {"glasses": "clear"}, SIZE, SIZE) == []


def test_a_hidden_keypoint_may_lie_anywhere() -> None:
    assert checks.subject_problems(subject(keypoints=[2.0, 2.0, 1.0] * 17), SIZE, SIZE) == []


def twin_tables(change: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    common = {"part": "twins", "width": SIZE, "height": SIZE}
    samples = [
        {**common, "sample": "twins/base", "base": None, "change": None},
        {**common, "sample": "twins/other", "base": "twins/base", "change": change},
    ]
    return samples, [subject(sample="twins/base"), subject(sample="twins/other")]


def test_a_twin_may_change_only_where_its_change_reaches() -> None:
    samples, subjects = twin_tables("skin_tone")
    pictures = {"twins/base": np.zeros((SIZE, SIZE, 3)), "twins/other": np.zeros((SIZE, SIZE, 3))}
    pictures["twins/other"][12:30, 10:20] = 90
    assert checks.twin_problems(samples, subjects, pictures.__getitem__) == []
    pictures["twins/other"][:4] = 90
    assert "outside the region of skin_tone" in checks.twin_problems(samples, subjects, pictures.__getitem__)[0]


def test_correlated_attributes_are_named() -> None:
    worst, pair = checks.correlation({"smile": ["yes", "no"] * 8, "light": ["dim", "bright"] * 8})
    assert worst == pytest.approx(1)
    assert "smile" in pair and "light" in pair


def test_one_person_twice_in_a_picture_is_a_problem() -> None:
    samples = [
        {"sample": "portraits/a", "part": "portraits", "width": SIZE, "height": SIZE, "light": "dim", "base": None}
    ]
    row = subject(skin_tone="monk_1", gender="male", age_group="0_17", smile="no", glasses="none")
    other = {**row, "gender": "female", "smile": "yes"}
    problems = checks.check_people(samples, [row, other])
    assert any("appears twice" in problem for problem in problems)
