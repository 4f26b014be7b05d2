"""Whose truth is known: who has a row, and what a shard without answers leaves."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.data import Rle, Sample, Subject
from countenance.errors import InputError
from countenance.tasks import attributes, face_parsing, keypoint_estimation, load_task
from countenance.tasks.age_results import Ages
from countenance.tasks.states import Spool
from countenance.tasks.validation_rate import Pictures


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
        "sample": (0, "U"),
        "name": (0, "U"),
        "truth": (0, "U"),
        "said": (0, "U"),
        "stated": (0, "f"),
    }


def test_the_published_rate_is_rounded_to_two_places() -> None:
    random = np.random.default_rng(2)
    people = np.append(np.repeat([f"p{k:02d}" for k in range(12)], 4), "alone")
    vectors = np.repeat(random.normal(size=(13, 8)), [4] * 12 + [1], axis=0) + 0.8 * random.normal(size=(49, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = Pictures(vectors, people).published(np.arange(49), [f"k{k:02d}" for k in range(49)])
    assert found is not None
    exact = found["_unrounded"]
    for name in ("VAL", "VAL_Error"):
        assert found[name] == round(exact[name], 2) != round(exact[name], 3)
    assert (found["Class_Size"], found["Identities"], exact["folds"]) == (48, 12, 10)  # who is alone has no pair
    assert found["Same / Different Pairs"] == f"{12 * 6}/{48 * 47 // 2 - 72}"
    assert Pictures(vectors, people).published(np.arange(4), ["a", "b", "c", "d"]) is None
    two = Pictures(vectors, people).published(np.arange(8), [f"k{k}" for k in range(8)])
    assert two is not None and two["Identities"] == 2


def test_a_spool_names_its_arrays() -> None:
    with Spool() as spool:
        assert list(spool) == [] and len(spool) == 0 and "n" not in spool
        spool.add({"n": np.array([1]), "m": np.array([2.0, 3.0])})
        assert list(spool) == ["n", "m"] and len(spool) == 2 and spool.count == 1
        assert spool["m"].tolist() == [2, 3]


def test_labels_that_no_part_of_a_face_has_are_refused() -> None:
    assert face_parsing.to_label_map(np.array([[0, 18]])).classes.tolist() == [[0, 18]]
    for wrong in ([[0, 19]], [[-1, 0]], [[19, 3], [0, 0]]):
        with pytest.raises(ValueError, match="18"):
            face_parsing.to_label_map(np.array(wrong))


def test_somebody_estimated_at_just_the_challenge_age_passes() -> None:
    truth = np.array([16.0, 17.0, 30.0, 40.0, 50.0, 60.0])
    estimated = np.array([25.0, 24.0, 25.0, 24.0, 25.0, 26.0])
    sex = np.array([""] * 6)
    ages = Ages(np.arange(6), truth, estimated - truth, np.arange(6), sex, False, 18.0, 25.0, 0)
    everybody = np.ones(6, bool)
    assert ages.passed(everybody).value == pytest.approx(4 / 6) and ages.refused(everybody).value == pytest.approx(
        2 / 6
    )
    assert ages.minor.tolist() == [True, True, False, False, False, False]
    assert ages.passed(everybody, 26.0).value == pytest.approx(1 / 6)


def test_a_task_that_cannot_be_made_again_has_no_options_to_set() -> None:
    task = replace(load_task("keypoint_estimation"), make=None)
    with pytest.raises(InputError, match=r"'keypoint_estimation' has no options; it was given strict"):
        task.configured({"strict": True})
    assert task.configured({}) is task
