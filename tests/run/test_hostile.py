"""Hostile models: nothing lost, nothing stale, one clear sentence. Most are slow checks: each starts processes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run import hostile

import countenance as ct
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.run.shard import own_copy
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset, write_small_dataset

TASK = "face_localization"
HARMLESS = (
    "closes_stdout",
    "replaces_stdout",
    "closes_descriptors",
    "handles_signals",
    "changes_locale",
    "forks",
    "threads_that_never_end",
    "prints_megabytes",
    "writes_on_images",
    "generator",
    "changes_directory",
    "warnings_are_errors",
    "hooks",
    "changes_numpy",
    "changes_builtins",
    "million_boxes",
)
"""Every image is answered, and the good ones as by a good model."""
FAILED = {
    "closes_every_descriptor": "the worker process ended with code 1",
    "raises_system_exit": "SystemExit: 0",
    "raises_keyboard_interrupt": "KeyboardInterrupt",
    "raises_base_exception": "Odd",
    "exits_with_zero": "the worker process ended with code 0",
    "aborts": "the worker process was killed by signal 6",
    "recurses": "RecursionError: maximum recursion depth exceeded",
    "allocates": "MemoryError: Unable to allocate 2.00 PiB",
    "nothing": "None, expected boxes",
    "infinite": "a box with a number that is not finite",
    "whole_numbers": "int too large to convert to float",
    "objects": "not 'object'",
    "complex_numbers": "complex numbers, expected real ones",
    "words": "could not convert string to float",
    "labels": r"the word '\x1b[2J\x07\ud800', which is not text",
    "too_deep": "expected N × 4",
    "cyclic": "",
    "lying_length": "",
}
"""The images that set the model off fail for this reason; all others are answered as by a good model."""
QUICK = ("shared_between_calls", "changes_json", "closes_descriptors")


@pytest.fixture(scope="module")
def discs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_dataset(tmp_path_factory.mktemp("hostile") / "set", n=12, size=16)


def run(model: str, data: Path, tmp_path: Path) -> tuple[Any, set[str], int]:
    """The run, the images that set the model off, and how many of the others are answered as by a good model."""
    found = evaluate(f"hostile:{model}", TASK, data, out=tmp_path / "run", batch=4, time_limit=60)
    samples = {sample.id: sample for sample in small_dataset(12, 16)}
    images = {name: sample.load() for name, sample in samples.items()}
    off = {name for name, image in images.items() if hostile._first(image)}
    answers = {name.removesuffix(".png"): answer for name, answer in found.answers().items()}
    good = DiscDetector()
    same = sum(
        np.array_equal(answer.xyxy, good([images[name]])[0].xyxy) for name, answer in answers.items() if name not in off
    )
    return found, off, same


def check(model: str, data: Path, tmp_path: Path) -> None:
    found, off, same = run(model, data, tmp_path)
    assert len(off) == 2 and same == 10
    reasons = [row["reason"] for row in found.failures().to_pylist()]
    if model in FAILED:
        assert len(reasons) == 2 and all(FAILED[model] in reason for reason in reasons)
    else:
        assert not reasons and len(found.answers()) == 12


@pytest.mark.parametrize("model", QUICK)
def test_a_model_that_attacks_its_process_loses_nothing(model: str, discs: Path, tmp_path: Path) -> None:
    check(model, discs, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in (*HARMLESS, *FAILED) if name not in QUICK])
def test_every_other_hostile_model_loses_only_what_it_refuses(model: str, discs: Path, tmp_path: Path) -> None:
    check(model, discs, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "sentence"),
    [("generator_that_raises", "RuntimeError: in the middle"), ("lowers_the_recursion_limit", "ended with code 1")],
)
def test_a_model_that_never_answers_is_one_sentence(model: str, sentence: str, discs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        run(model, discs, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_prediction_is_kept_whatever_the_model_does_with_its_array() -> None:
    shared = np.array([[0.0, 0.0, 4.0, 4.0]])
    raw = [shared, {"boxes": shared, "scores": [shared[0]]}, (shared, [shared]), ct.Boxes(shared), ct.Embedding(shared)]
    ours = [own_copy(one) for one in raw]
    shared[:] = 9
    assert ours[0].max() == ours[1]["boxes"].max() == ours[1]["scores"][0].max() == ours[2][0].max() == 4
    assert ours[2][1][0].max() == ours[3].xyxy.max() == ours[4].vector.max() == 4
    assert isinstance(ours[3], ct.Boxes) and isinstance(ours[2], tuple)


@pytest.mark.parametrize(
    ("task", "raw", "reason"),
    [
        (TASK, np.array([[0, 0, 1j, 1]]), "complex numbers"),
        (TASK, {"boxes": np.array([[0, 0, 1j, 1]])}, "complex numbers"),
        (TASK, {"boxes": [[0, 0, 1, 1]], "scores": np.array([1j])}, "complex numbers"),
        ("face_verification", np.array([1j, 2]), "complex numbers"),
        ("age_estimation", np.array([1j]), "complex numbers"),
        (TASK, {"boxes": [[0, 0, 1, 1]], "labels": ["a\ud800"]}, r"the word 'a\\ud800', which is not text"),
        ("attributes", {"gender": "\ud800"}, "which is not text"),
        ("body_parts_detection", [{"\ud800": 0.5}], "which is not text"),
    ],
)
def test_numbers_that_are_not_real_and_words_that_are_no_text_are_refused(task: str, raw: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_task(task).check(raw, small_dataset(1, 16).samples[0])
