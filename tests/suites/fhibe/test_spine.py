"""FHIBE's scores are the tasks' scores: its runs hold predictions and results as every run does."""

import tracemalloc

import numpy as np
import pytest

import countenance as ct
from countenance.run.verification import verify
from countenance.suites.fhibe import TASKS, evaluate_task
from countenance.suites.fhibe.demo import baseline
from countenance.suites.fhibe.made_data import ATTRIBUTES
from countenance.tasks import load_task
from countenance.tasks.results import Number

from . import small
from .test_default import Wrapper, evaluate

SHARED = {
    "person_localization": ("average_recall", "best_iou"),
    "face_localization": ("average_recall", "best_iou"),
    "person_parsing": ("AR_MASK", "best_iou"),
    "keypoint_estimation": ("PCK", "AR_OKS"),
    "body_parts_detection": ("AR_DET", "ACC_DET", "AR_DET Face", "ACC_DET Hand"),
    "face_parsing": ("F1", "F1 nose"),
    "face_verification": ("enrolled",),
    "face_encoding": ("PSNR", "SSIM"),
    "face_super_resolution": ("PSNR", "SSIM"),
}
"""Columns that a run of the task on the spine has too."""


def stored(rendered, task, **options):
    face = task.startswith("face_") and task != "face_localization"
    return evaluate_task(
        rendered,
        "fhibe_face_crop_align" if face else "fhibe",
        None,
        baseline(task),
        task,
        attributes=ATTRIBUTES,
        reuse_model_outputs=True,
        results_rootdir=rendered / "results",
        **options,
    )


def column(run, metric):
    rows = run.scores().to_pylist()
    return {(row["sample"], row["subject"]): row[f"m.{metric}"] for row in rows if row["subject"] is not None}


@pytest.mark.parametrize("task", TASKS)
def test_the_task_scores_the_stored_predictions_alike(rendered, tmp_path, task):
    run = stored(rendered, task, out=tmp_path / "fhibe")
    answers = run.answers()
    assert {type(answer) for answer in answers.values()} == {load_task(task).answer}
    assert set(answers) == set(run.scores()["sample"].to_pylist())
    assert verify(run.store).problems == []
    again = ct.evaluate(f"answers:{run.path}", task, run.dataset(), out=tmp_path / "spine")
    for metric in SHARED[task]:
        assert column(run, metric) == pytest.approx(column(again, metric), abs=1e-12, nan_ok=True), metric


@pytest.mark.parametrize("task", [task for task in TASKS if task != "face_encoding"])
def test_any_run_reads_the_file_of_outputs(rendered, tmp_path, task):
    run = stored(rendered, task, out=tmp_path / "fhibe")
    (file,) = (rendered / "results" / task).glob("*/*/model_outputs.json")
    again = ct.evaluate(f"predictions:{file}", task, run.dataset(), out=tmp_path / "spine")
    assert again.manifest.model.description == "saved predictions (fhibe)"
    for metric in SHARED[task]:
        assert column(run, metric) == pytest.approx(column(again, metric), abs=1e-12, nan_ok=True), metric


@pytest.mark.parametrize("task", ["person_localization", "face_localization"])
def test_average_precision_by_group_is_the_tasks_own(rendered, tmp_path, task):
    run = stored(rendered, task, out=tmp_path / "fhibe")
    again = ct.evaluate(f"answers:{run.path}", task, run.dataset(), out=tmp_path / "spine", by=["pronoun", "lighting"])

    def numbers(finished, name):
        actual = [r for r in finished.results() if isinstance(r, Number) and r.name == name]
        return {(r.attribute, r.group): (r.value, r.low, r.high, r.n) for r in actual}

    ours, theirs = numbers(run, "average_precision@0.5"), numbers(again, "average_precision@0.5")
    assert {("pronoun", "0. She/her/hers"), (None, None)} < set(theirs)
    for key, expected in theirs.items():
        assert ours[key] == pytest.approx(expected), key
    assert {attribute for attribute, _ in ours} >= {"pronoun", "age_group", "apparent_skin_color"}


def test_published_thresholds_are_an_option_of_the_task(rendered, tmp_path):
    run = stored(rendered, "person_localization", out=tmp_path / "fhibe", compat="strict")
    task = load_task("person_localization", {"compat": "strict"})
    again = ct.evaluate(f"answers:{run.path}", task, run.dataset(), out=tmp_path / "spine")
    assert column(run, "average_recall") == column(again, "average_recall")
    assert again.manifest.options["compat"] == "strict"


def test_outputs_of_a_wrapper_stream_and_memory_stays_flat(tmp_path):
    """A mask of 256 kB for each of 320 images: held together they would be 80 MB, those of a shard are 16 MB."""
    small.body(tmp_path, people=320, image_height=lambda i: 512, image_width=lambda i: 512)

    def mask(path):
        people = np.zeros((512, 512), bool)
        people[:, : len(path)] = True
        return {"masks": [people], "scores": [0.9], "labels": [0]}

    tracemalloc.start()
    try:
        evaluate(tmp_path, "person_parsing", Wrapper(mask), attributes=["pronoun"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 45e6
