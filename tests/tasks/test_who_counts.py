"""Whose truth is known: who has a row, and what a shard without answers leaves."""

import itertools
from types import SimpleNamespace

import numpy as np

from countenance.data import Rle, Sample, Subject
from countenance.tasks import attributes, keypoint_estimation


def test_people_with_keypoints_a_mask_and_a_face_box_have_keypoint_rows() -> None:
    parts = {"keypoints": np.zeros((17, 3)), "mask": Rle(2, 2, "04"), "face_box": np.array([0.0, 0, 1, 1])}
    people = []
    for there in itertools.product((False, True), repeat=3):
        own = {name: part for (name, part), use in zip(parts.items(), there, strict=True) if use}
        people.append(Subject(" ".join(own), **own))  # type: ignore[arg-type]
    sample = Sample("s", None, 2, 2, tuple(people))  # type: ignore[arg-type]
    assert [one.id for one in keypoint_estimation.known(sample)] == ["keypoints mask face_box"]
    assert keypoint_estimation.asks(sample)
    assert not keypoint_estimation.asks(Sample("s", None, 2, 2, tuple(people[:-1])))  # type: ignore[arg-type]


def test_a_shard_without_answers_has_a_state_of_nothing() -> None:
    state = attributes.partial(SimpleNamespace(answered=lambda: iter(())))  # type: ignore[arg-type]
    assert {name: (len(one), one.dtype.kind) for name, one in state.items()} == {
        "sample": (0, "U"), "name": (0, "U"), "truth": (0, "U"), "said": (0, "U"), "stated": (0, "f"),
    }  # fmt: skip
