"""The figures, the table and the classes that prepare tables, under the original's names."""

import inspect
import json
from importlib import import_module

import numpy as np
import pytest

import countenance.suites.fhibe.original  # noqa: F401 - makes fhibe_eval_api importable
from countenance.data.image import decode
from countenance.metrics.masks import area, run_lengths
from countenance.suites.fhibe import evaluate_task
from countenance.suites.fhibe.original.published import BiasReport

from . import small

PUBLISHED = [
    "calculate_disparity",
    "generate_pdf_report",
    "get_attr_scores",
    "get_available_metrics",
    "get_metric_thresholds",
    "make_disparity_table",
    "plot_iou_vs_threshold",
    "plot_metric_by_intersectional_group",
    "plot_oks_vs_threshold",
    "plot_pck_vs_threshold",
    "validate_metric",
]
TONES = ("0. [102, 78, 65]", "5. [198, 180, 157]")


def test_the_eleven_public_methods():
    methods = [name for name, _ in inspect.getmembers(BiasReport, inspect.isfunction) if not name.startswith("_")]
    assert methods == PUBLISHED


def report(root, task, entries):
    small.outputs(root, task, entries)
    evaluate_task(
        root,
        "fhibe",
        None,
        "m",
        task,
        attributes=["pronoun", "apparent_skin_color"],
        reuse_model_outputs=True,
        results_rootdir=root / "results",
        compat="strict",
        fhibe_layout=True,
    )
    return BiasReport(
        "m", task, str(root), results_base_dir=str(root / "results"), dataset_name="fhibe", downsampled=True
    )


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    """Sixty people; the boxes of every second one, who has the darkest tone, end too early."""
    root = tmp_path_factory.mktemp("boxes")
    rows = small.body(root, people=60, apparent_skin_color=lambda i: TONES[i % 2])
    entries = small.perfect_boxes(rows)
    for row in rows[::2]:
        x, y, w, h = row["person_bbox"]
        entries[row["filepath"]]["detections"] = [[x, y, x + w, y + h * 0.6]]
    return report(root, "person_localization", entries)


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    root = tmp_path_factory.mktemp("points")
    rows = small.body(root, people=6)
    entries = {row["filepath"]: {"detections": [[point[:2] for point in row["keypoints"].values()]]} for row in rows}
    return report(root, "keypoint_estimation", entries)


def test_iou_by_threshold(boxes, tmp_path):
    out = tmp_path / "iou.png"
    (line,) = boxes.plot_iou_vs_threshold(savefig=True, fig_savename=str(out)).axes[0].lines
    assert line.get_xdata()[0] == 0.5 and list(line.get_ydata()[:2]) == [1.0, 1.0] and line.get_ydata()[-1] == 0.5
    assert decode(out.read_bytes()).shape[2] == 3
    with pytest.raises(RuntimeError, match="OKS cannot be plotted for task: person_localization"):
        boxes.plot_oks_vs_threshold()
    with pytest.raises(RuntimeError, match="PCK"):
        boxes.plot_pck_vs_threshold()


def test_keypoints_by_threshold(points):
    for draw in (points.plot_oks_vs_threshold, points.plot_pck_vs_threshold):
        (line,) = draw().axes[0].lines
        assert set(np.round(line.get_ydata(), 9)) == {1.0}
    with pytest.raises(RuntimeError, match="IoU cannot be plotted for task: keypoint_estimation"):
        points.plot_iou_vs_threshold()


def test_bars_of_groups(boxes, tmp_path):
    out = tmp_path / "bars.svg"
    figure = boxes.plot_metric_by_intersectional_group(
        "ar_iou",
        "apparent_skin_color",
        show_medians=True,
        show_significance=True,
        savefig=True,
        fig_savename=str(out),
    )
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["VI dark (30)", "I very light (30)"]
    heights = [bar.get_height() for bar in axes.patches]
    grouped = json.loads((boxes.results_dir / "intersectional_results_AR_IOU.json").read_text())
    entries = grouped["['apparent_skin_color']"]
    np.testing.assert_allclose(heights, [entries[str([tone])]["AR_IOU"] for tone in TONES])
    np.testing.assert_allclose(axes.patches[0].get_facecolor()[:3], np.array([102, 78, 65]) / 255)
    assert [text.get_text() for text in axes.texts] == ["***"] and out.stat().st_size > 1000


def test_the_table_of_disparities(boxes):
    grouped = json.loads((boxes.results_dir / "intersectional_results_AR_IOU.json").read_text())
    table = boxes.make_disparity_table(grouped, ["pronoun", "apparent_skin_color"], "AR_IOU", True)
    head, *rows = table
    assert head[0] == "Attribute" and len(rows) == 2 and {len(row) for row in table} == {8}
    tones = next(row for row in rows if row[0] == "apparent skin color")
    assert tones[1:6] == ["VI dark", "0.20/0.20 (30)", "I very light", "1.00/1.00 (30)", "0.80 / 0.80"]
    assert tones[6] == "< 0.001"
    for entry in grouped["['pronoun']"].values():
        entry["scores"] = [0.5] * 30
    assert boxes.make_disparity_table(grouped, ["pronoun"], "AR_IOU", True) is None


def test_parts_of_a_body_are_bars_of_their_own(boxes, monkeypatch):
    monkeypatch.setattr(boxes, "task_name", "body_parts_detection")
    monkeypatch.setattr(type(boxes), "evaluated_body_parts", ["Face", "Hand"])
    entry = {"Face": {"AR_DET": 0.9, "scores": [1.0, 0.8]}, "Hand": {"AR_DET": 0.2, "scores": [0.1, 0.3]}}
    results = {"['pronoun']": {"['0. She/her/hers']": entry, "['1. He/him/his']": entry}}
    figure = boxes.plot_metric_by_intersectional_group("AR_DET", "pronoun", results)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["Face", "Hand"]
    assert len(figure.axes[0].patches) == 4


@pytest.fixture
def frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    small.body(tmp_path, people=4, per_image=2, location_country="USA")
    return pandas.read_csv(tmp_path / "data" / "processed" / "fhibe_downsampled" / "fhibe_downsampled.csv")


def test_the_table_is_prepared_for_people(frame):
    prepared = import_module("fhibe_eval_api.datasets.fhibe").FHIBEPublicEval(frame)
    assert prepared.intersectional_column_names == ("pronoun", "age", "apparent_skin_color", "ancestry")
    table, pictures, column = prepared.prepare_person_localization()
    assert column == "person_bbox" and list(table[column])[:2] == [[4, 10, 19, 50], [24, 10, 39, 50]]
    assert pictures == list(dict.fromkeys(frame["filepath"])) and len(pictures) == 2
    assert list(table["age"])[:2] == ["[18, 30)", "[30, 40)"]
    assert set(table["location_country"]) == {"United States of America"}
    assert isinstance(frame["person_bbox"][0], str)  # the table that was given stays as it was
    table, _, column = prepared.prepare_face_localization()
    assert list(table["face_area"]) == ["2"] * 4 and table[column].iloc[0] == [4, 10, 19, 30]


def test_the_table_is_prepared_for_keypoints_masks_and_parts(frame):
    module = import_module("fhibe_eval_api.datasets.fhibe")
    prepared = module.FHIBEPublicEval(frame, ["age"], age_buckets=False)
    table, _, boxes, column, face, sigmas = prepared.prepare_keypoint_estimation()
    assert (column, face, len(sigmas), table["age"].iloc[0]) == ("keypoints_coco_fmt", "face_bbox", 17, 20)
    assert table[column].iloc[0].shape == (17, 3) and table[column].iloc[0][0].tolist() == [4.0, 12.0, 2.0]
    assert [len(some) for some in boxes.values()] == [2, 2] and sigmas[0] == pytest.approx(0.026)
    masks, _, column = prepared.prepare_person_parsing(to_rle=True)
    mask = masks[column].iloc[0]
    assert mask["size"] == [64, 64] and area(run_lengths(mask["counts"])) == 16 * 41 == table["area"].iloc[0]
    arrays, _, column = prepared.prepare_person_parsing(to_rle=False)
    assert arrays[column].iloc[0].sum() == 16 * 41
    parts, _, boxes, none = prepared.prepare_body_parts_detection()
    assert none is None and parts["visible_body_parts"].iloc[0] == ["Face", "Face skin"]
    assert next(iter(boxes.values()))[0] == [4, 10, 15, 40]
    *_, sigmas = prepared.prepare_keypoint_estimation(
        custom_keypoints=["Nose", "Left ankle"], precomputed_areas=[1] * 4
    )
    np.testing.assert_allclose(sigmas, [0.026, 0.089])
    for wrong in ([], ["Left eye", "Nose"], ["Tail"]):
        with pytest.raises(ValueError, match="custom_keypoints"):
            module.validate_custom_keypoints(wrong)


def test_the_table_is_prepared_for_faces(tmp_path):
    pandas = pytest.importorskip("pandas")
    small.faces(tmp_path, people=2, each=2)
    frame = pandas.read_csv(tmp_path / "data" / "processed" / "fhibe_face_crop_align" / "fhibe_face_crop_align.csv")
    frame["multiple_subjects"] = [True, False, False, False]
    prepare = import_module("fhibe_eval_api.datasets.fhibe_face").FHIBEFacePublicEval
    prepared = prepare(frame, True, str(tmp_path), "processed")
    table, pictures, masks, changed = prepared.prepare_face_parsing()
    assert len(table) == len(pictures) == 4 and changed == {"l_ear": "skin", "r_ear": "skin"}
    assert all(path.startswith(str(tmp_path)) and path.endswith("combined.png") for path in masks)
    table, pictures = prepared.prepare_face_verification()
    assert list(table["person"]) == ["s1", "s1"] and "aligned_filepath" not in table
    loose = prepare(frame, False, "data/raw", "data/processed")
    for table, pictures in (loose.prepare_face_encoding(), loose.prepare_face_super_resolution()):
        assert table["aligned_filepath"].iloc[0] == pictures[0].replace("data/raw", "data/processed")
