"""Names of the original that people's scripts import, and results that the original wrote without a run of ours."""

import json
import re
import zlib
from importlib import import_module

import numpy as np
import pytest

import countenance.suites.fhibe.original  # noqa: F401 - makes fhibe_eval_api importable
from countenance.cli.app import run as command
from countenance.data.adapters.fhibe.places import offered
from countenance.data.adapters.fhibe.words import ATTRIBUTES
from countenance.errors import InputError
from countenance.suites.fhibe import evaluate_task
from countenance.suites.fhibe.original.published import BiasReport

from . import small
from .helpers import pdf_text


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "evaluate.constants",
            ["FHIBE_ATTRIBUTE_LIST", "FHIBE_FACE_ATTRIBUTE_LIST", "TASK_DICT", "VALID_DATASET_NAMES"],
        ),
        ("evaluate.constants", ["FITZPATRICK_TYPE_DICT", "FITZPATRICK_RGB_DICT", "DEFAULT_RANDOM_STATE"]),
        ("metrics.constants", ["TASK_METRIC_LOOKUP_DICT", "METRIC_THRESHOLDS_DEFAULTS"]),
        ("metrics.face_parsing.utils", ["CELEBA_MASK_LABELS"]),
        ("datasets.fhibe", ["FHIBE_COMMON_KEYPOINTS"]),
        ("datasets.utils", ["fix_location_country"]),
        ("common.metrics", ["bbox_intersection_over_union_score", "f1_score", "peak_signal_to_noise_ratio_score"]),
        ("common.loggers", ["setup_logging"]),
        ("common.utils", ["check_list_lengths", "read_json_file", "get_project_root"]),
        ("reporting.utils", ["process_pair", "find_significant_pairs"]),
    ],
)
def test_the_names_are_there(module, names):
    actual = import_module(f"fhibe_eval_api.{module}")
    for name in names:
        assert getattr(actual, name) is not None


def test_constants_have_the_published_values():
    constants = import_module("fhibe_eval_api.evaluate.constants")
    assert list(ATTRIBUTES) == constants.FHIBE_ATTRIBUTE_LIST and len(constants.FHIBE_FACE_ATTRIBUTE_LIST) == 30
    assert constants.FITZPATRICK_TYPE_DICT[(102, 78, 65)] == "VI" and constants.FITZPATRICK_RGB_DICT["I"] == (
        198,
        180,
        157,
    )
    assert constants.DEFAULT_RANDOM_STATE == 42 and len(constants.MULTI_SELECTION_ATTRIBUTES) == 17
    metrics = import_module("fhibe_eval_api.metrics.constants")
    np.testing.assert_array_equal(metrics.METRIC_THRESHOLDS_DEFAULTS["AR_IOU"], np.arange(0.5, 1, 0.05))


def test_metrics_by_their_published_names():
    metrics = import_module("fhibe_eval_api.common.metrics")
    assert metrics.bbox_intersection_over_union_score((0, 0, 2, 2), (0, 0, 2, 1)) == 0.5
    assert metrics.best_iou_scores_for_gt_boxes([], [(0, 0, 1, 1)]) == [0.0]
    item, two = np.array([[1, 1]]), np.array([[1, 0]])
    assert metrics.segmentation_intersection_over_union_score(item, two) == 0.5
    assert metrics.best_iou_scores_for_gt_masks([item, two], [two]) == [1.0]
    assert metrics.f1_score(item, two) == pytest.approx(2 / 3)
    assert metrics.percentage_correct_keypoints_score([[0, 0]], [[0, 1]], (0, 0, 3, 4), [0.1, 0.3], [True]) == [
        0.0,
        1.0,
    ]
    assert metrics.object_keypoint_similarity([[0, 0]], [[0, 0, 2]], 100.0, [0.1]) == 1.0


@pytest.fixture
def results(tmp_path):
    """A results folder as the original leaves it: outputs and published files, no run of ours."""
    import shutil

    rows = small.body(tmp_path, people=60)
    entries = small.perfect_boxes(rows)
    for row in rows[::2]:
        x, y, w, h = row["person_bbox"]
        entries[row["filepath"]]["detections"] = [[x, y, x + w, y + h * 0.6]]
    small.outputs(tmp_path, "person_localization", entries)
    run = evaluate_task(
        tmp_path,
        "fhibe",
        None,
        "m",
        "person_localization",
        attributes=["pronoun", "age"],
        reuse_model_outputs=True,
        results_rootdir=tmp_path / "results",
        compat="strict",
        fhibe_layout=True,
    )
    shutil.rmtree(run.path)
    return tmp_path


def test_results_of_the_original_can_be_reported(results):
    report = BiasReport(
        "m", "person_localization", str(results), "v1", str(results / "results"), "fhibe", downsampled=True
    )
    assert report.get_available_metrics() == ["AR_IOU"] and report.validate_metric("ar_iou") == "AR_IOU"
    with pytest.raises(ValueError, match="not a valid metric"):
        report.validate_metric("PCK")
    assert report.get_metric_thresholds("AR_IOU").startswith("0.50, 0.55")
    assert report.valid_tasks == ["person_localization"] and report.dataset_base == "fhibe"
    grouped = json.loads((report.results_dir / "intersectional_results_AR_IOU.json").read_text())
    scores = report.get_attr_scores(grouped, "AR_IOU", "pronoun", True)
    assert {row["pronoun"] for row in scores} == {"She/her/hers", "He/him/his"} and len(scores) == 60
    (worst, *_), *_ = [row[1:] for row in report.calculate_disparity(grouped, ["pronoun"], "AR_IOU")]
    assert worst == "['1. He/him/his']"
    path = report.generate_pdf_report(attributes=["pronoun"])
    second = path.parent / "bias_report" / "bias_report.pdf"
    assert second.read_bytes() == path.read_bytes()
    text = pdf_text(path)
    for words in (
        "Pairs of groups, as published",
        "with fewer than 20 scores are in no pair",
        "Worst group",
        "He/him/his",
        "0.700",
        "the longer side 2,048",
    ):
        assert words in text
    assert "1. He/him/his" not in text.split("Pairs of groups")[1].split("What the attributes mean")[0]


def test_a_report_may_name_an_attribute_that_the_results_lack(results):
    """The original writes no results of an attribute without a value, and its scripts name it all the same."""
    place = (str(results), "v1", str(results / "results"), "fhibe")
    with pytest.raises(InputError, match="'ancestri'"):
        BiasReport("m", "person_localization", *place, downsampled=True).generate_pdf_report(["ancestri"])
    report = BiasReport("m", "person_localization", *place, downsampled=True)
    path = report.generate_pdf_report(attributes=["pronoun", "ancestry"])
    assert "Africa" in pdf_text(path) and (path.parent / "bias_report" / "bias_report.pdf").is_file()


def test_a_mini_dataset_has_a_row_for_each_image_with_outputs(results):
    """Groups of face verification hold only people with pairs, fewer than the rows that were drawn."""
    report = BiasReport(
        "m", "person_localization", str(results), "v1", str(results / "results"), "fhibe", downsampled=True
    )
    path = report.results_dir / "intersectional_results_AR_IOU.json"
    assert report._drawn() == 60
    path.write_text(json.dumps({"['pronoun']": {"['a']": {"Class_Size": 8}}}))
    assert report._drawn() == 60


def filled_squares(path):
    """The colours of the squares that a PDF draws in its lines of text, in their order."""
    colours = []
    for stream in re.findall(rb"stream\n(.*?)\nendstream", path.read_bytes(), re.DOTALL):
        try:
            content = zlib.decompress(stream)
        except zlib.error:
            continue
        squares = re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\n[\d. ]+ 8\.50 -8\.50 re B", content)
        colours += [tuple(round(255 * float(part)) for part in colour) for colour in squares]
    return colours


def test_tones_have_names_and_swatches_and_a_mirror_is_said(tmp_path):
    rows = small.body(
        tmp_path,
        people=120,
        apparent_skin_color=lambda i: ("0. [102, 78, 65]", "5. [198, 180, 157]", "3. [175, 148, 120]")[i % 3],
    )
    entries = small.perfect_boxes(rows)
    for row in rows[::3]:
        entries[row["filepath"]]["detections"] = [[0, 0, 3, 3]]
    small.outputs(tmp_path, "person_localization", entries)
    run = evaluate_task(
        tmp_path,
        "fhibe",
        None,
        "m",
        "person_localization",
        attributes=["apparent_skin_color"],
        reuse_model_outputs=True,
        results_rootdir=tmp_path / "results",
    )
    page = run.report(tmp_path / "page.html", depth=1, pdf=True).read_text()
    text, drawn = pdf_text(tmp_path / "page.pdf"), filled_squares(tmp_path / "page.pdf")
    assert "In this run: VI dark; III intermediate; I very light." in text.split("What the attributes mean")[1]
    assert drawn == [(102, 78, 65), (175, 148, 120), (198, 180, 157), (189, 163, 137), (164, 131, 103), (136, 105, 81)]
    assert 'fill="rgb(102,78,65)"' in page and "VI dark" in page and "I very light" in page
    assert page.index("VI dark", page.index("In this run")) < page.index("I very light", page.index("In this run"))
    assert ">AP@0.5<" in page  # the published name of average_precision@0.5
    section = page[page.index("Disparities by size") : page.index("Pairs of groups")]
    assert "it mirrors VI dark" in section
    numbered = r"\b\d+\. ?(\[\d+, |She/|He/)"
    said = re.sub(r"<dt>Verdict of the audit</dt><dd>.*?</dd>|<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(numbered, re.sub(r"<[^>]*>", " ", said))  # the audit's own sentence names values exactly
    meanings = page[page.index("What the attributes mean") :]
    offered = re.sub(r"<[^>]*>\s*", "", meanings)
    assert "Also offered: II light; IV tan; V brown." in offered  # three of the six are in this run


def test_every_attribute_that_is_chosen_from_a_list_has_its_options(capsys):
    free = {"nationality", "location_country"}
    assert {name for name in ATTRIBUTES if not offered(name)} == free
    assert offered("pronoun")[0] == "She/her/hers" and len(offered("scene")) == 16
    assert not any(option[:1].isdigit() and ". " in option for name in ATTRIBUTES for option in offered(name))
    assert command(["fhibe", "attributes", "--options"]) == 0
    assert "Fog; Haze; Snow/hail; Rain; Humid; Cloud; Clear" in capsys.readouterr().out
