"""Made data: rendered people in FHIBE's layout, all nine tasks from them, reports, and the command line."""

import json
import re

import numpy as np
import pytest

from countenance import Run
from countenance.data import Dataset
from countenance.data.layout import face_crop
from countenance.errors import InputError
from countenance.report.source import ReportSource
from countenance.suites.fhibe import TASKS, demo, evaluate_task
from countenance.suites.fhibe.demo import baseline
from countenance.suites.fhibe.made_data import ATTRIBUTES, BODY, FACE, make_data

from .helpers import call, pdf_text, people
from .people import CARD, SIZE, body, portrait


@pytest.mark.parametrize("task", TASKS)
def test_every_task_runs_from_made_data_to_its_report(rendered, task):
    dataset = "fhibe" if task in TASKS[:5] else "fhibe_face_crop_align"
    run = evaluate_task(
        rendered,
        dataset,
        None,
        baseline(task),
        task,
        attributes=ATTRIBUTES,
        reuse_model_outputs=True,
        results_rootdir=rendered / "results",
    )
    assert run.manifest.dataset.notes == []
    page = run.report(gallery="off").read_text()
    stored = json.loads((run.path / "audit.json").read_text())["settings"]
    assert set(stored["better"]) >= set(stored["metrics"]) and None not in stored["better"].values()
    assert "FHIBE: the task and its metrics" in page
    assert "Disparities by size" in page
    assert "tiny people as fhibe" in page
    assert "<img" not in page  # nobody's face
    assert Run(run.path).manifest.about["gallery"] == "off"
    for column in run.scores().column_names:
        if column.startswith("m."):
            values = [v for v in run.scores().column(column).to_pylist() if v is not None]
            assert values or column.startswith("m.AR_DET ")  # a part that nobody shows has no recall
            assert np.isfinite(values).all()


def test_the_demo_is_worse_for_dark_skin_as_its_card_says(rendered):
    run = evaluate_task(
        rendered,
        "fhibe",
        None,
        "demo",
        "person_localization",
        attributes=ATTRIBUTES,
        reuse_model_outputs=True,
        results_rootdir=rendered / "results",
    )
    rows = people(run)
    dark = [r["m.average_recall"] for r in rows if r["attr.apparent_skin_color"][:2] in ("0.", "1.")]
    light = [r["m.average_recall"] for r in rows if r["attr.apparent_skin_color"][:2] not in ("0.", "1.")]
    assert np.mean(dark) < np.mean(light) - 0.1


def test_a_picture_is_shown_only_when_asked_for(rendered):
    run = evaluate_task(
        rendered,
        "fhibe",
        None,
        "demo",
        "person_localization",
        attributes=ATTRIBUTES,
        reuse_model_outputs=True,
        results_rootdir=rendered / "results",
    )
    for gallery in ("blurred", "full"):
        page = run.report(gallery=gallery).read_text()
        assert "data:image" in page
        assert Run(run.path).manifest.about["gallery"] == gallery
    with pytest.raises(InputError, match="expected one of auto, off, blurred, full"):
        run.report(gallery="some")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["keypoint_estimation", "face_verification", "body_parts_detection"])
def test_the_pdf_says_what_the_page_says(rendered, tmp_path, task):
    dataset = "fhibe_face_crop_align" if task == "face_verification" else "fhibe"
    run = evaluate_task(
        rendered,
        dataset,
        None,
        "demo",
        task,
        attributes=ATTRIBUTES,
        reuse_model_outputs=True,
        results_rootdir=rendered / "results",
    )
    page = run.report(tmp_path / "page.html", pdf=True)
    text = pdf_text(page.with_suffix(".pdf"))
    for words in ("FHIBE: the task", "Consent ", "Disparities by size", "apparent skin color", "Everyone", " n "):
        assert words in text
    if task == "face_verification":
        assert "Validation rate of each group" in text
        assert "EER" in text
    if task == "keypoint_estimation":
        assert "0.10, 0.20" in text


def test_the_crop_stays_inside(rendered):
    for box in ([0, 0, 90, 90], [80, 80, 96, 96], [10, 40, 30, 60]):
        x0, y0, x1, y1 = face_crop(np.array(box, float), SIZE, SIZE)
        assert 0 <= x0 < x1 <= SIZE
        assert 0 <= y0 < y1 <= SIZE
        assert abs((x1 - x0) - (y1 - y0)) <= 1


def test_evaluate_and_report_on_the_command_line(rendered, tmp_path):
    code, text = call("evaluate", "--data", rendered, "--task", "keypoint_estimation", "--quiet", "--fhibe-layout")
    assert code == 0
    assert "PCK" in text
    run = rendered / "results" / "keypoint_estimation" / BODY / "demo" / "run"
    assert (run.parent / "intersectional_results_PCK.json").exists()
    code, text = call("report", run, "--out", tmp_path / "page.html", "--attributes", "pronoun", "--depth", 1)
    assert code == 0
    assert (tmp_path / "page.html").exists()
    assert json.loads((run / "audit.json").read_text())["settings"]["by"] == ["pronoun"]


def test_strict_numbers_and_exit_codes_from_the_command(vector, capsys):
    from countenance.cli.app import run as command

    root = vector("person_localization")
    arguments = [
        "fhibe",
        "evaluate",
        "--data",
        str(root),
        "--task",
        "person_localization",
        "--model-name",
        "synth_model",
        "--results",
        str(root / "results-in"),
        "--compat",
        "strict",
        "--fhibe-layout",
        "--depth",
        "1",
        "--no-report",
        "--quiet",
    ]
    assert command(arguments) == 0
    assert "0.7485   66 rows" in capsys.readouterr().out
    file = next((root / "results-in").rglob("intersectional_results_AR_IOU.json"))
    expected = json.loads((root / "expected" / "intersectional_results_AR_IOU.json").read_text())
    actual = json.loads(file.read_text())
    assert actual == {key: expected[key] for key in list(expected)[:4]}
    arguments[arguments.index("synth_model")] = "absent"
    assert command(arguments) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ")
    assert len(text.strip().splitlines()) == 1


def test_attributes_lists_31_with_their_meaning():
    _, text = call("attributes")
    assert len(text.strip().splitlines()) == 31
    assert re.search(r"ancestry\s+several", text)
    _, text = call("attributes", "--task", "face_parsing")
    assert len(text.strip().splitlines()) == 30


def test_the_command_line_names_what_is_wrong(rendered, tmp_path):
    with pytest.raises(InputError, match="exists already"):
        call("make-data", "--out", rendered)
    with pytest.raises(InputError, match="name one task"):
        call("evaluate", "--data", rendered, "--task", "all", "--model", "haar")
    with pytest.raises(InputError, match="no run here"):
        call("report", tmp_path)


def test_the_report_knows_which_way_fhibes_metrics_are_better(rendered):
    run = evaluate_task(
        rendered,
        "fhibe_face_crop_align",
        None,
        baseline("face_verification"),
        "face_verification",
        attributes=ATTRIBUTES,
        reuse_model_outputs=True,
        results_rootdir=rendered / "results",
    )
    run.audit(run.manifest.about["attributes"], depth=2)
    source = ReportSource.of(run)
    assert source.better["FMR"] == "lower"
    assert all(metric.meaning for metric in source.metrics)


def test_make_data_in_one_command(tmp_path, monkeypatch):
    sets = {
        "people:bodies": Dataset(CARD, [body(i) for i in range(8)]),
        "people:portraits": Dataset(CARD, [portrait(i) for i in range(9)]),
    }
    monkeypatch.setattr("countenance.data.load_dataset", lambda name: sets[name])
    monkeypatch.setattr(demo, "dlib_installed", lambda: False)
    code, text = call("make-data", "--out", tmp_path / "out", "--side", 64, "--quiet", "--reports")
    assert code == 0
    assert text.count("report.html") == 9
    assert text.count("outputs of") == 9


def test_the_truth_of_the_shipped_people_survives(tmp_path):
    from countenance.data import load_dataset
    from countenance.data.layout import whole_people
    from countenance.metrics.masks import iou, mask_runs, run_lengths
    from countenance.suites.fhibe import read_dataset

    bodies, portraits = load_dataset("people:bodies")[:6], whole_people(load_dataset("people:portraits"), 8)
    make_data(tmp_path / "d", bodies, portraits)
    rendered = read_dataset(tmp_path / "d", BODY, "keypoint_estimation", ("pronoun", "age"))
    assert len(rendered) == len(bodies)
    for before, after in zip(bodies, rendered, strict=True):
        assert (after.width, after.height) == (before.width, before.height)
        assert np.array_equal(after.load(), before.load())
        for item, other in zip(before.subjects, after.subjects, strict=True):
            assert item.mask is not None
            assert other.mask is not None
            drawn = run_lengths(other.mask.counts)
            assert iou(mask_runs(item.mask.decode()), drawn) > 0.97  # holes (a crooked arm) are filled by an outline
            visible = item.keypoints[:, 2] == 2
            assert np.array_equal(other.keypoints[:, 2] == 2, visible)
            assert np.allclose(other.keypoints[visible, :2], item.keypoints[visible, :2])
    faces = read_dataset(tmp_path / "d", FACE, "face_parsing", ("pronoun", "age"))
    assert {s.subjects[0].identity for s in faces} == {s.subjects[0].identity for s in portraits}
    assert all({"skin", "hair"} & set(s.subjects[0].face_parts) for s in faces)
    parts = read_dataset(tmp_path / "d", BODY, "body_parts_detection", ("pronoun", "age"))
    for before, after in zip(bodies, parts, strict=True):
        for item, other in zip(before.subjects, after.subjects, strict=True):
            assert ("Hand" in other.body_parts) == bool({"Left hand", "Right hand"} & set(item.body_parts))
            assert ("Left shoe" in other.body_parts) == ("Left foot" in item.body_parts)
