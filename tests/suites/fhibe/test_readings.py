"""Boxes of a model in another reading, on FHIBE's layout."""

import numpy as np
import pytest

from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.metrics.readings import READINGS, Reading
from countenance.suites.fhibe import evaluate_task

from .small import SIDE, body, outputs, perfect_boxes

CORNERS = Reading("xyxy", "px")


def scored(tmp_path, reading: Reading, task: str = "person_localization", per_image: int = 2):
    rows = body(tmp_path, people=12, per_image=per_image)
    for row in rows:
        path = tmp_path / row["filepath"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(np.zeros((SIDE, SIDE, 3), np.uint8)))
    answers = perfect_boxes(rows, "person_bbox" if task == "person_localization" else "face_bbox")
    for entry in answers.values():
        corners = np.array(entry["detections"], dtype=float)
        entry["detections"] = reading.numbers(corners, np.array([[SIDE, SIDE]], dtype=float)).tolist()
    outputs(tmp_path, task, answers)
    return evaluate_task(
        tmp_path,
        "fhibe",
        None,
        "m",
        task,
        attributes=["pronoun"],
        reuse_model_outputs=True,
        results_rootdir=tmp_path / "results",
    )


def said_of(tmp_path, reading: Reading, *task: str, **options) -> str:
    """The note on a reading, or the refusal of boxes that are none in it."""
    try:
        message = scored(tmp_path, reading, *task, **options).notes[-1]
    except InputError as error:
        message = str(error)
        assert "has x1 < x0 or y1 < y0" in message
    return message


@pytest.mark.parametrize("task", ["person_localization", "face_localization"])
@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_every_other_reading_is_named_with_what_it_would_find(tmp_path, reading, task):
    if reading == CORNERS:
        assert scored(tmp_path, reading, task).notes == []
    else:
        message = said_of(tmp_path, reading, task)
        assert f"read as {reading} ({reading.numbers_are}), the same predictions would localise 12 of 12" in message
        assert message.endswith("write detections as [x0, y0, x1, y1] in pixels")


def test_pictures_of_one_person_are_read_alike(tmp_path):
    message = said_of(tmp_path, Reading("cxcywh", "rel"), per_image=1)
    assert "the same predictions would localise 12 of 12" in message
