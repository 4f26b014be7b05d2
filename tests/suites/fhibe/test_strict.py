"""Strict mode gives the original's numbers: every file of every vector."""

import json
import math

import numpy as np
import pytest

from countenance.suites.fhibe.disparity import calculate_disparity, process_pair

from .helpers import assert_same, read, strict

VECTORS = [
    "body_parts_detection",
    "body_parts_detection__undocumented_parts",
    "face_encoding",
    "face_localization",
    "face_parsing",
    "face_super_resolution",
    "face_verification",
    "keypoint_estimation",
    "keypoint_estimation__custom_keypoints",
    "person_localization",
    "person_parsing",
]
NOT_FILES = {"expected.json", "disparity.json", "mini_20.json", "pairs_overall_head.json"}


@pytest.mark.parametrize("name", VECTORS)
def test_every_published_file_is_reproduced(vector, name):
    root = vector(name)
    run = strict(root)
    files = [p for p in (root / "expected").glob("*.json") if p.name not in NOT_FILES and ".HEAD" not in p.name]
    assert files
    for path in files:
        assert_same(read(run, path.name), json.loads(path.read_text()), path.name)


@pytest.mark.parametrize("name", VECTORS)
def test_overall_numbers_are_reproduced(vector, name):
    root = vector(name)
    expected = json.loads((root / "expected" / "expected.json").read_text())
    run = strict(root, attributes=["scene"])
    for metric, about in expected["metrics"].items():
        actual = read(run, f"intersectional_results_{metric}.json")["['scene']"]["['12. Indoor: Home or hotel']"]
        overall = about["overall"]
        if "value" not in overall:  # body parts
            for part, entry in overall.items():
                assert actual[part][metric] == pytest.approx(entry["value"], abs=1e-9)
                assert actual[part]["Class_Size"] == entry["class_size"]
        else:
            assert actual[metric] == pytest.approx(overall["value"], abs=1e-9)
            assert actual["Class_Size"] == overall["class_size"]
            if "scores" in overall:
                assert_same(actual["scores"], overall["scores"])


def test_val_is_also_kept_unrounded(vector):
    root = vector("face_verification")
    run = strict(root)
    table = json.loads((root / "expected" / "expected.json").read_text())["metrics"]["VAL"]["table"]
    full = read(run, "detailed_results_VAL.json")
    for attributes, values, _, _, more in table:
        actual = full[str(attributes)][str(values)]
        assert actual["VAL"] == pytest.approx(more["VAL_unrounded"], abs=1e-9)
        assert actual["VAL_Error"] == pytest.approx(more["VAL_Error_unrounded"], abs=1e-9)
        assert actual["FAR"] == pytest.approx(more["FAR_mean"], abs=1e-9)
        assert actual["folds"] == more["nrof_folds"]


def test_summaries_of_thresholds(vector):
    root = vector("person_localization")
    run = strict(root)
    expected = json.loads((root / "expected" / "expected.json").read_text())["metrics"]["AR_IOU"]["threshold_summary"]
    detailed = read(run, "detailed_results_iou_threshold.json")
    assert {key: value["summary"] for key, value in detailed.items()} == expected


def test_nationality_gets_its_continents(vector):
    root = vector("person_localization")
    run = strict(root, attributes=["nationality", "pronoun"])
    expected = json.loads((root / "expected/extra_nationality/intersectional_results_AR_IOU.json").read_text())
    assert_same(read(run, "intersectional_results_AR_IOU.json"), expected)


def test_custom_thresholds_in_lower_case(vector):
    root = vector("person_localization")
    levels = [0.3, 0.5, 0.75, 0.9]
    run = strict(root, attributes=["age", "pronoun"], metrics={"ar_iou": {"thresholds": levels}})
    folder = root / "expected" / "custom_thresholds_0.3_0.5_0.75_0.9"
    expected = json.loads((folder / "intersectional_results_AR_IOU.json").read_text())
    assert_same(read(run, "intersectional_results_AR_IOU.json"), expected)


def test_the_mini_dataset_is_the_published_draw(vector):
    root = vector("person_localization")
    run = strict(root, use_mini_dataset=True, mini_dataset_size=20, attributes=["pronoun", "age"])
    assert run.path.parent.parts[-4] == "mini"
    expected = json.loads((root / "expected" / "mini_20.json").read_text())
    assert_same(read(run, "gt_bbox_iou_scores.json"), expected["gt_bbox_iou_scores"])
    assert_same(read(run, "intersectional_results_AR_IOU.json"), expected["intersectional_results_AR_IOU"])


def test_the_mini_dataset_takes_its_own_outputs_first(vector):
    root = vector("person_localization")
    where = "person_localization/fhibe_downsampled/synth_model"
    whole = json.loads((root / "results-in" / where / "model_outputs.json").read_text())
    own = root / "results-in" / "mini" / where
    own.mkdir(parents=True)
    empty = {key: {"detections": None, "scores": None} for key in whole}
    (own / "model_outputs.json").write_text(json.dumps(empty))
    run = strict(root, use_mini_dataset=True, mini_dataset_size=20)
    assert set(read(run, "gt_bbox_iou_scores.json")) == {0.0}


def test_disparities_as_published(vector):
    root = vector("person_localization")
    expected = json.loads((root / "expected" / "disparity.json").read_text())["AR_IOU"]
    results = json.loads((root / "expected" / "intersectional_results_AR_IOU.json").read_text())
    attributes = ["pronoun", "age", "ancestry", "apparent_skin_color"]
    words = {"True": True, "False": False, "None": None}
    for key, rows in expected["calculate_disparity"].items():
        settings = {
            name: words[value] if value in words else int(value)
            for name, value in (part.split("=") for part in key.split(","))
        }
        assert_same(calculate_disparity(results, attributes, **settings), rows)
    for key, rows in expected["process_pair_all_pairs_class_size_ge_2"].items():
        attribute, statistic = key.split("|")
        data = {
            name: entry["scores"] for name, entry in results[f"['{attribute}']"].items() if entry["Class_Size"] >= 2
        }
        names = list(data)
        actual = [process_pair(a, b, data, statistic) for i, a in enumerate(names) for b in names[i + 1 :]]
        for item, other in zip(actual, rows, strict=True):
            assert item[:4] == other[:4]
            for a, b in zip(item[4:], other[4:], strict=True):
                assert (math.isnan(a) and b is None) or a == pytest.approx(b, rel=1e-9, abs=1e-9)


def test_a_face_that_was_not_aligned_is_never_accepted_and_counts(vector):
    root = vector("face_verification")
    path = next((root / "results-in").rglob("model_outputs.json"))
    outputs = json.loads(path.read_text())
    group = "['12. Indoor: Home or hotel']"
    before = read(strict(root, attributes=["scene"]), "intersectional_results_VAL.json")["['scene']"][group]
    lost = list(outputs)[:10]
    path.write_text(json.dumps(outputs | {name: {"detections": None} for name in lost}))
    after = read(strict(root, attributes=["scene"]), "intersectional_results_VAL.json")["['scene']"][group]
    assert after["Class_Size"] == before["Class_Size"]
    assert after["Same / Different Pairs"] == before["Same / Different Pairs"]
    assert after["VAL"] < before["VAL"]


def test_outputs_may_name_images_that_the_dataset_lacks(vector):
    root = vector("person_localization")
    path = next((root / "results-in").rglob("model_outputs.json"))
    before = read(strict(root), "gt_bbox_iou_scores.json")
    outputs = json.loads(path.read_text())
    outputs["/elsewhere/unknown/image.png"] = {"detections": [[0, 0, 1, 1]], "scores": [1.0]}
    path.write_text(json.dumps(outputs))
    assert read(strict(root), "gt_bbox_iou_scores.json") == before


def test_the_result_does_not_depend_on_where_the_dataset_lies(vector, tmp_path):
    root = vector("person_localization")
    before = read(strict(root), "intersectional_results_AR_IOU.json")
    moved = root.rename(tmp_path / "moved elsewhere")
    assert read(strict(moved), "intersectional_results_AR_IOU.json") == before


def test_one_prediction_for_two_people_is_copied(vector):
    root = vector("keypoint_estimation")
    path = next((root / "results-in").rglob("model_outputs.json"))
    outputs = json.loads(path.read_text())
    two = next(key for key, value in outputs.items() if len(value["detections"]) == 2)
    outputs[two]["detections"] = outputs[two]["detections"][:1]
    path.write_text(json.dumps(outputs))
    rows = read(strict(root, metrics=["PCK"]), "pck_scores_threshold.json")["results"].values()
    values = [row["mean_percentage_correct_keypoints"] for row in rows if row["filepath"] == two]
    assert len(values) == 2
    assert values[0] == values[1]


def test_no_keypoints_answered_is_nan_and_a_miss(vector):
    root = vector("keypoint_estimation")
    path = next((root / "results-in").rglob("model_outputs.json"))
    outputs = json.loads(path.read_text())
    first = next(iter(outputs))
    outputs[first]["detections"] = []
    path.write_text(json.dumps(outputs))
    run = strict(root, metrics=["AR_OKS"])
    assert np.isnan(read(run, "oks_scores.json")[0])
    assert read(run, "results_oks_threshold.json")["0.50"]["0"] == 0


def test_thresholds_that_print_alike_are_one(vector):
    root = vector("person_localization")
    run = strict(root, metrics={"AR_IOU": {"thresholds": [0.501, 0.504]}})
    assert list(read(run, "results_iou_threshold.json")) == ["0.50"]


def test_without_parts_in_the_first_row_nothing_is_scored(vector):
    root = vector("body_parts_detection")
    path = next((root / "results-in").rglob("model_outputs.json"))
    outputs = json.loads(path.read_text())
    outputs[next(iter(outputs))]["detections"] = None
    path.write_text(json.dumps(outputs))
    results = read(strict(root, metrics=["AR_DET"]), "intersectional_results_AR_DET.json")["['pronoun']"]
    assert results == {"['0. She/her/hers']": {}, "['1. He/him/his']": {}, "['2. They/them/their']": {}}
