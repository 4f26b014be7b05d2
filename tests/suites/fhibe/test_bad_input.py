"""Bad input: one clear line that names the place, and nothing foreign is ever run."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.data.image import encode_png
from countenance.data.reading.columns import literal
from countenance.errors import InputError
from countenance.suites.fhibe import evaluate_task

from . import small
from .helpers import people, problems


def run(root: Path, task: str = "person_localization", model: str = "m", **options):
    face = task.startswith("face_") and task != "face_localization"
    dataset = "fhibe_face_crop_align" if face else "fhibe"
    settings = {"reuse_model_outputs": True, "results_rootdir": root / "results"} | options
    return evaluate_task(root, dataset, None, model, task, **settings)


def test_a_missing_column_is_named(tmp_path):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    for row in rows:
        del row["person_bbox"]
    small.write(tmp_path, "fhibe_downsampled", rows)
    with pytest.raises(InputError, match=r"fhibe_downsampled.csv: column 'person_bbox' is missing"):
        run(tmp_path)


@pytest.mark.parametrize(
    "cell",
    ["[1, 2, 3", "__import__('os').system('touch HERE')", "[x for x in ()]", "lambda: 0", "[1, 2, 3, 1 if 1 else 0]"],
)
def test_a_malformed_or_malicious_cell_is_refused_and_not_run(tmp_path, monkeypatch, cell):
    monkeypatch.chdir(tmp_path)
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    rows[2]["person_bbox"] = cell
    small.write(tmp_path, "fhibe_downsampled", rows)
    with pytest.raises(InputError, match=r"row 3: person_bbox: .* is not a plain value"):
        run(tmp_path)
    assert not (tmp_path / "HERE").exists()


def test_a_cell_of_the_wrong_shape_is_refused(tmp_path):
    rows = small.body(tmp_path, person_bbox=lambda i: [1, 2, 3])
    small.outputs(tmp_path, "person_localization", {})
    with pytest.raises(InputError, match=r"row 1: person_bbox: \[1, 2, 3\] is not a box"):
        run(tmp_path)
    assert rows


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../../b.png", "C:\\x.png", ""])
def test_a_path_out_of_the_root_is_refused(tmp_path, name):
    rows = small.body(tmp_path)
    rows[1]["filepath"] = name
    small.write(tmp_path, "fhibe_downsampled", rows)
    with pytest.raises(InputError, match=r"row 2: filepath: .* leads out of"):
        run(tmp_path)


def test_a_mask_path_out_of_the_root_is_refused(tmp_path):
    rows = small.faces(tmp_path)
    rows[0]["CelebA"] = ["../../combined.png"]
    small.write(tmp_path, "fhibe_face_crop_align", rows)
    small.outputs(tmp_path, "face_parsing", {rows[0]["filepath"]: {"detections_rle": {}}})
    with pytest.raises(InputError, match=r"row 1: CelebA: .* leads out of"):
        run(tmp_path, "face_parsing")


def test_a_missing_mask_file_is_named(tmp_path):
    rows = small.faces(tmp_path)
    (tmp_path / rows[0]["CelebA"][1]).unlink()
    small.outputs(tmp_path, "face_parsing", {rows[0]["filepath"]: {"detections_rle": {}}})
    with pytest.raises(InputError, match=r"combined.png: no such mask"):
        run(tmp_path, "face_parsing")


def test_a_mask_of_the_wrong_size_is_refused(tmp_path):
    rows = small.faces(tmp_path)
    (tmp_path / rows[0]["CelebA"][1]).write_bytes(encode_png(np.zeros((10, 12), np.uint8)))
    small.outputs(tmp_path, "face_parsing", {rows[0]["filepath"]: {"detections_rle": {}}})
    with pytest.raises(InputError, match=r"a mask of 12×10, the picture is 64×64"):
        run(tmp_path, "face_parsing")


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ({"size": [10, 10], "counts": "d3"}, "run lengths cover"),
        ({"size": [64, 64], "counts": "04"}, "run lengths cover 4 pixels"),
        ({"size": [64, 64], "counts": "~"}, "character"),
        ({"size": [64, 64]}, "not a run-length mask"),
        ({"size": [64, 64], "counts": 5}, "counts is int"),
        ({"size": "64", "counts": ""}, "not a run-length mask"),
    ],
)
def test_run_lengths_of_the_wrong_size_are_refused(tmp_path, mask, words):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_parsing", {rows[0]["filepath"]: {"detections": [mask], "scores": [1]}})
    with pytest.raises(InputError, match=words):
        run(tmp_path, "person_parsing")


def test_an_image_without_outputs_is_not_found_and_reported(tmp_path):
    rows = small.body(tmp_path)
    entries = small.perfect_boxes(rows)
    lost = rows[3]["filepath"]
    del entries[lost]
    small.outputs(tmp_path, "person_localization", entries)
    finished = run(tmp_path)
    scores = {row["sample"]: row["m.average_recall"] for row in people(finished)}
    assert scores.pop(lost) == 0.0
    assert set(scores.values()) == {1.0}
    printed = "1 of 6 images have no answer and count as images where nothing was found"
    assert any(printed in line for line in problems(finished))


@pytest.mark.parametrize("count", [0, 5, 16, 18])
def test_a_wrong_number_of_keypoints_is_refused(tmp_path, count):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "keypoint_estimation", {rows[0]["filepath"]: {"detections": [[[1, 2]] * count]}})
    with pytest.raises(InputError, match=rf"a person with {count} keypoints, expected 17"):
        run(tmp_path, "keypoint_estimation")


@pytest.mark.parametrize("value", [1.2, -0.1, "high", None, True, float("nan")])
def test_probabilities_outside_0_to_1_are_refused(tmp_path, value):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "body_parts_detection", {rows[0]["filepath"]: {"detections": [{"Face": value}]}})
    with pytest.raises(InputError, match=r"part 'Face' has probability .*, expected 0 to 1"):
        run(tmp_path, "body_parts_detection")


def test_parts_for_another_number_of_people_name_the_image(tmp_path):
    rows = small.body(tmp_path, people=2, per_image=2)
    small.outputs(tmp_path, "body_parts_detection", {rows[0]["filepath"]: {"detections": [{"Face": 1.0}]}})
    with pytest.raises(InputError, match=r"main_0.png: 1 answers for 2 people"):
        run(tmp_path, "body_parts_detection")


def test_embeddings_of_different_lengths_are_refused(tmp_path):
    rows = small.faces(tmp_path)
    entries = {row["filepath"]: {"detections": [1.0] * (4 + (i == 5))} for i, row in enumerate(rows)}
    small.outputs(tmp_path, "face_verification", entries)
    with pytest.raises(InputError, match=r"an embedding of 5 numbers, the first has 4"):
        run(tmp_path, "face_verification")


def test_one_subject_of_two_ages_is_refused(tmp_path):
    rows = small.body(tmp_path, subject_id=lambda i: "s")
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    with pytest.raises(InputError, match=r"subject s is 20 in row 1 and 60 in row 5; one id must be one person"):
        run(tmp_path)


def test_one_year_more_is_noted_not_refused(tmp_path):
    rows = small.body(tmp_path, subject_id=lambda i: "s", age=lambda i: 30 + i % 2)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    assert "subject s is 30 in row 1 and 31 in row 2" in problems(run(tmp_path))[0]


def test_an_age_that_is_no_number_is_refused(tmp_path):
    small.body(tmp_path, age=lambda i: "young")
    with pytest.raises(InputError, match=r"row 1: age: 'young' is not a number"):
        run(tmp_path)


def test_a_missing_age_is_unknown(tmp_path):
    rows = small.body(tmp_path, age=lambda i: "" if i == 0 else 30)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    ages = [row["attr.age_group"] for row in people(run(tmp_path))]
    assert ages == ["(unknown)"] + ["[30, 40)"] * 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "expected one JSON object"),
        ("{", "line 1"),
        ('{"a": {"detections": null},}', "line 1 column"),
        ("", "expected one JSON object"),
        ('{"a" 1}', "colon"),
    ],
)
def test_outputs_that_are_not_json_are_refused(tmp_path, text, words):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows)).write_text(text)
    with pytest.raises(InputError, match=words):
        run(tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        [],
        {"detections": 5},
        {"detections": [[1, 2, 3]]},
        {"detections": [["a", 1, 2, 3]]},
        {"detections": [[0, 0, 1, float("inf")]]},
        {"detections": [[0, 0, 1, 1]], "scores": [0.1, 0.2]},
    ],
)
def test_answers_of_the_wrong_shape_are_refused(tmp_path, entry):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows) | {rows[2]["filepath"]: entry})
    with pytest.raises(InputError, match=r"main_2.png"):
        run(tmp_path)


def test_outputs_that_are_missing_say_what_to_do(tmp_path):
    small.body(tmp_path)
    with pytest.raises(InputError, match=r"model_outputs.json: no such file; run the model first"):
        run(tmp_path)
    with pytest.raises(InputError, match="reuse_model_outputs=True"):
        run(tmp_path, reuse_model_outputs=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attributes": ["gender"]}, "attribute 'gender' is not one of"),
        ({"attributes": []}, "no attributes"),
        ({"metrics": ["AR_IO"]}, "did you mean AR_IOU"),
        ({"metrics": {"AR_IOU": [0.5]}}, "thresholds"),
        ({"metrics": {"AR_IOU": {"thresholds": [1.5]}}}, "numbers from 0 to 1"),
        ({"custom_keypoints": ["Nose"]}, "belongs to keypoint_estimation"),
        ({"custom_keypoint": ["Nose"]}, "did you mean custom_keypoints"),
        ({"use_mini_dataset": True, "mini_dataset_size": 500}, "mini dataset of 500 rows"),
        ({"compat": "loose"}, "neither default nor strict"),
    ],
)
def test_wrong_settings_are_named(tmp_path, change, words):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    with pytest.raises(InputError, match=words):
        run(tmp_path, **change)


@pytest.mark.parametrize(
    ("names", "words"),
    [([], "at least one"), (["Nose", "Tail"], "'Tail' is not one"), (["Left eye", "Nose"], "the order must be Nose")],
)
def test_custom_keypoints_must_be_valid_and_in_order(tmp_path, names, words):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "keypoint_estimation", {rows[0]["filepath"]: {"detections": []}})
    with pytest.raises(InputError, match=words):
        run(tmp_path, "keypoint_estimation", custom_keypoints=names)


def test_wrong_names_of_tasks_datasets_and_models(tmp_path):
    with pytest.raises(InputError, match="did you mean face_parsing"):
        evaluate_task(tmp_path, "fhibe", None, "m", "face_parsin", reuse_model_outputs=True)
    with pytest.raises(InputError, match="dataset 'fhib' is not one"):
        evaluate_task(tmp_path, "fhib", None, "m", "person_parsing", reuse_model_outputs=True)
    with pytest.raises(InputError, match="use fhibe_face_crop_align"):
        evaluate_task(tmp_path, "fhibe", None, "m", "face_parsing", reuse_model_outputs=True)
    small.body(tmp_path)
    with pytest.raises(InputError, match="no slash"):
        evaluate_task(tmp_path, "fhibe", None, "../m", "person_parsing", reuse_model_outputs=True)


def test_a_super_resolution_picture_elsewhere_is_refused(tmp_path):
    root = tmp_path / "root"
    rows = small.faces(root)
    (tmp_path / "secret.png").write_bytes(encode_png(np.zeros((64, 64, 3), np.uint8)))
    entries = {row["filepath"]: {"super_res_filename": str(tmp_path / "secret.png")} for row in rows}
    small.outputs(root, "face_super_resolution", entries)
    with pytest.raises(InputError, match="leads out of the results and the dataset"):
        run(root, "face_super_resolution", metrics=["PSNR"])


values = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_every_literal_that_python_writes_is_read_back(value):
    assert literal(repr(value), "here") == value


def test_changed_outputs_give_changed_scores(tmp_path):
    rows = small.body(tmp_path)
    path = small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    options = {"fhibe_layout": True, "compat": "strict"}

    def mean() -> float:
        finished = run(tmp_path, **options)
        file = finished.path.parent / "intersectional_results_AR_IOU.json"
        return json.loads(file.read_text())["['pronoun']"]["['0. She/her/hers']"]["AR_IOU"]

    assert mean() == 1.0
    outputs = json.loads(path.read_text())
    path.write_text(json.dumps({key: {"detections": None, "scores": None} for key in outputs}))
    assert mean() == 0.0


def test_changed_truth_gives_changed_scores(tmp_path):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    assert {row["m.average_recall"] for row in people(run(tmp_path))} == {1.0}
    small.body(tmp_path, person_bbox=lambda i: [0, 0, 1, 1])
    assert {row["m.average_recall"] for row in people(run(tmp_path))} == {0.0}


def test_a_coordinate_that_is_no_number_is_named(tmp_path):
    rows = small.body(tmp_path)
    rows[1]["keypoints"] = {"0. Nose": ["left", 4, 1]}
    small.write(tmp_path, "fhibe_downsampled", rows)
    small.outputs(tmp_path, "keypoint_estimation", {})
    with pytest.raises(
        InputError, match=r"row 2: keypoints: '0. Nose' is \['left', 4, 1\], expected \[x, y, visible\]"
    ):
        run(tmp_path, "keypoint_estimation")


def test_an_age_that_is_not_a_number_is_unknown(tmp_path):
    rows = small.body(tmp_path, age=lambda i: "nan" if i == 0 else 30)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    assert run(tmp_path).scores()["attr.age_group"].to_pylist()[0] == "(unknown)"


@pytest.mark.parametrize("named", [[[1]], [{}], [None]])
def test_rows_of_another_kind_are_nobodys(tmp_path, named):
    rows = small.body(tmp_path)
    entries = {row["filepath"]: {"detections": [[[1.0, 2.0]] * 17], "rows": named} for row in rows}
    small.outputs(tmp_path, "keypoint_estimation", entries)
    assert run(tmp_path, "keypoint_estimation", compat="strict").scores()["m.PCK"].to_pylist() == [0.0] * 6


def test_a_score_too_large_for_a_float_is_named(tmp_path):
    rows = small.body(tmp_path)
    entries = small.perfect_boxes(rows)
    entries[rows[0]["filepath"]]["scores"] = [10**400]
    small.outputs(tmp_path, "person_localization", entries)
    with pytest.raises(InputError, match=r"main_0.png: scores must be numbers"):
        run(tmp_path)
