"""What models return and FHIBE's files hold, at the limits of what is read."""

import json

import numpy as np
import pytest

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts, raw
from countenance.answers.formats import PredictionRequest, fhibe, read_predictions
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.metrics.masks import compress, mask_runs


def test_values_in_messages_are_cut():
    assert raw.described({"x" * 100: 1}) == "a dict with " + "x" * 68 and raw.described({}) == "an empty dict"
    with pytest.raises(InputError) as caught:
        raw.numbers("y" * 100, "p", "a number")
    assert str(caught.value) == f"p: '{'y' * 59} is not a number"
    assert raw.described(np.zeros(3)) == "ndarray of shape (3,)" and raw.described([1]) == "list"


@pytest.mark.parametrize(("value", "found"), [(None, []), ([1], [1]), ((1, 2), [1, 2]), (np.arange(2), [0, 1])])
def test_items_of_a_list(value, found):
    assert raw.items(value, "p") == found


@pytest.mark.parametrize("value", [3, "ab", np.array(3.0), np.float64(1), {"a": 1}])
def test_what_has_no_items(value):
    with pytest.raises(InputError, match=r"p is .*, expected a list"):
        raw.items(value, "p")


def test_fields_belong_together():
    names = ("boxes", "scores")
    assert raw.fields({"boxes": None}, names, "p") == [[], []]
    assert raw.fields({"boxes": [1, 2], "scores": (3, 4)}, names, "p") == [[1, 2], [3, 4]]
    for answer, message in (
        ({"scores": []}, "expected a dict with 'boxes', 'scores'"),
        ([], "returned list, expected"),
        ({"boxes": [1]}, "'scores' is missing"),
        ({"boxes": [1], "scores": [1, 2]}, "2 scores for 1 boxes; one"),
    ):
        with pytest.raises(InputError, match=message):
            raw.fields(answer, names, "p")
    assert raw.first_field({"b": 2, "a": 1}, ("a", "b"), "p") == 1
    with pytest.raises(InputError, match="expected a dict with 'a'"):
        raw.first_field({"c": 1}, ("a", "b"), "p")


def test_numbers_boxes_and_points():
    assert raw.number([[0.5]], "p") == 0.5 and raw.box((1, 2, 3, 4), "p") == [1, 2, 3, 4]
    assert raw.points([[1, 2], [3, 4]], "p") == [[1, 2], [3, 4]] and raw.points([[1, 2, 9]], "p") == [[1, 2, 9]]
    for function, value, message in (
        (raw.number, [1, 2], "list is not a number"),
        (raw.number, [], "is not a number"),
        (raw.number, float("nan"), "not finite"),
        (raw.box, [1, 2, 3], "3 numbers, expected a box"),
        (raw.box, [[1, 2, 3, 4]], "4 numbers, expected a box"),
        (raw.points, [1, 2], "2 numbers, expected"),
        (raw.points, [[1], [2]], "2×1 numbers"),
        (raw.points, [[[1, 2]]], "1×1×2 numbers"),
    ):
        with pytest.raises(InputError, match=message):
            function(value, "p")


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32])
def test_a_mask_is_of_0_and_1(kind):
    given = np.array([[0, 1], [1, 1]]).astype(kind)
    assert raw.mask(given, "p").tolist() == [[False, True], [True, True]]
    for wrong in (2 * given.astype(np.int64), given - 0.5, given[0], np.array([["a"]]), None):
        with pytest.raises(InputError, match="p: "):
            raw.mask(wrong, "p")


def test_parts_of_each_person():
    assert raw.parts([{"Face": np.float32(0.5), 3: 1}], "p") == [{"Face": 0.5, "3": 1}]
    for wrong in ({"Face": 1}, [1], [{"Face": 1}, 2], None):
        with pytest.raises(InputError, match="expected a list with a dict of parts for each person"):
            raw.parts(wrong, "p")


# FHIBE's files


@pytest.mark.parametrize("score", [1e300, -1e300, 0, 3])
def test_scores_of_any_size_are_read(score):
    assert fhibe.boxes_of([[0, 0, 1, 1]], {"scores": [score]}, "p").scores.tolist() == [score]
    assert fhibe.boxes_of([[0, 0, 1, 1]] * 2, {"scores": []}, "p").scores.tolist() == [1, 1]
    assert fhibe.boxes_of([[0, 0, 1, 1]] * 2, {}, "p").scores.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("boxes", "entry", "message"),
    [
        ([[0, 0, 1, 1]], {"scores": [1.05e300]}, "scores must be numbers"),
        ([[0, 0, 1, 1]], {"scores": [-2e300]}, "scores must be numbers"),
        ([[0, 0, 1, 1]], {"scores": ["1"]}, "scores must be numbers"),
        ([[0, 0, 1, 1]], {"scores": [1, 2]}, "2 scores for 1 boxes"),
        ([[0, 0, 1, 1]], {"scores": 3}, "1 scores for 1"),
        ([[0, 0, 1]], {}, "is not a box"),
        ([[0, 0, 1, "a"]], {}, "is not a box"),
        ([{}], {}, "is not a box"),
    ],
)
def test_boxes_that_are_refused(boxes, entry, message):
    with pytest.raises(InputError, match=message):
        fhibe.boxes_of(boxes, entry, "p")


def rle(mask):
    return {"size": list(mask.shape), "counts": compress(mask_runs(mask))}


def test_masks_and_their_scores():
    mask = np.zeros((3, 4), bool)
    mask[1, 1:] = True
    for scores, found in (([0.5], [0.5]), ([0.5, 0.6], [1]), (None, [1]), ("x", [1])):
        runs, read = fhibe.mask_runs_of([rle(mask)], {"scores": scores}, "p")
        assert read == found and runs[0].tolist() == mask_runs(mask).tolist()


@pytest.mark.parametrize(
    ("value", "fine"), [(0, True), (1, True), (0.5, True), (-0.01, False), (1.01, False), (True, False), ("1", False)]
)
def test_probabilities_of_parts(value, fine):
    if fine:
        assert fhibe.checked_parts({"Face": value}, "p") == {"Face": value}
    else:
        with pytest.raises(InputError, match="expected 0 to 1"):
            fhibe.checked_parts({"Face": value}, "p")


def test_labels_are_bytes():
    mask = np.ones((2, 2), bool)
    assert list(fhibe.label_runs_of({"0": rle(mask), "255": rle(mask)}, "p")) == [0, 255]
    for key in ("256", "-1", "a", "1.0"):
        with pytest.raises(InputError, match=f"label '{key}', expected 0 to 18"):
            fhibe.label_runs_of({key: rle(mask)}, "p")


def test_keypoints_of_people():
    found = fhibe.points_of([[[1, 2, 9]] * 3, [[3, 4, 9]] * 3], 3, "p")
    assert found.tolist() == [[[1, 2]] * 3, [[3, 4]] * 3] and fhibe.points_of([], 3, "p").shape == (0, 3, 2)
    for people, message in (
        ([[[1, 2]] * 2], "a person with 2 keypoints, expected 3"),
        ([7], "a person with int keypoints"),
        ([[[1]] * 3], "must be .x, y. pairs"),
        ([[[1, "a"]] * 3], "must be .x, y. pairs"),
        ([[[1, float("inf")]] * 3], "not finite; write -999"),
    ):
        with pytest.raises(InputError, match=message):
            fhibe.points_of(people, 3, "p")


@pytest.mark.parametrize("value", [[], [[1, 2]], ["a"], [1, float("nan")], [[1], [1, 2]]])
def test_what_is_no_embedding_of_a_file(value):
    with pytest.raises(InputError, match="is not an embedding"):
        fhibe.vector_of(value, "p")
    assert fhibe.vector_of([1, 2], "p").tolist() == [1, 2]


def read(tmp_path, entries, kind, ids=("a", "b", "c")):
    path = tmp_path / "model_outputs.json"
    path.write_text(json.dumps(entries))
    return read_predictions(path, PredictionRequest(kind, ImageNames(list(ids))))


def test_a_file_of_outputs(tmp_path):
    found = read(tmp_path, {"a": {"detections": [[0, 0, 2, 2]]}, "b": {"detections": None}}, Boxes)
    assert [len(one) for one in found.by_id.values()] == [1, 0] and found.format == "fhibe"
    assert found.reading.form == "xyxy" and found.absent.endswith(
        "1 of 3 images have no answer and count as images where nothing was found"
    )
    assert read(tmp_path, {name: {"detections": None} for name in "abc"}, Embedding).absent is None
    found = read(tmp_path, {"a": {"detections": [{"Face": 1}]}, "b": {"detections": None}}, Parts)
    assert list(found.by_id) == ["a"] and found.absent is None and found.empty is None
    found = read(tmp_path, {"a": {"detections": [[[1, 2]] * 17]}, "zz": {"detections": []}}, Keypoints)
    assert found.by_id["a"].points.shape == (1, 17, 3) and "1 image that the dataset does not have" in found.notes[0]
    mask = np.eye(4, dtype=bool)
    found = read(tmp_path, {"a": {"detections": [rle(mask)]}}, Masks)
    assert np.array_equal(found.by_id["a"].masks[0], mask)
    found = read(tmp_path, {"a": {"detections_rle": {"3": rle(mask)}}, "b": {"detections_rle": {}}}, LabelMap)
    assert np.array_equal(found.by_id["a"].classes, 3 * mask) and list(found.by_id) == ["a"]
    with pytest.raises(InputError, match=r"detections_rle is NoneType, expected masks by label$"):
        read(tmp_path, {"a": {"detections_rle": None}}, LabelMap)
    with pytest.raises(InputError, match="detections is str, expected a list of boxes or null"):
        read(tmp_path, {"a": {"detections": "x"}}, Boxes)
    with pytest.raises(InputError, match="holds no predictions"):
        read(tmp_path, {"a": {"detections": None}}, Parts)


def test_files_of_outputs_are_recognised_by_their_first_entry(tmp_path):
    path = tmp_path / "p.json"
    for text, fine in (
        ('{"a": {"detections": []}}', True),
        ('\ufeff {"a\\"": {"rows": 1}}', True),
        ("[]", False),
        ('{"a": {"boxes": []}}', False),
        (" " * 65000 + '{"a": {"scores": 1}}', True),
    ):
        path.write_text(text, encoding="utf-8")
        assert fhibe.is_outputs(path) is fine
    assert not fhibe.is_outputs(tmp_path / "no.json") and not fhibe.is_outputs(tmp_path)
    (tmp_path / "p.txt").write_text('{"a": {"detections": []}}')
    assert not fhibe.is_outputs(tmp_path / "p.txt")
