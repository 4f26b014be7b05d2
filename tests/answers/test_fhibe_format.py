"""FHIBE's model_outputs.json as saved predictions: what is read, what is nothing, what is refused."""

import json

import numpy as np
import pytest

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts
from countenance.answers.formats.base import PredictionRequest
from countenance.answers.formats.fhibe import is_outputs, label_runs_of, points_of
from countenance.answers.formats.registry import read_predictions
from countenance.data.names import ImageNames
from countenance.data.run_lengths import rle_of
from countenance.errors import InputError

IDS = ["a/1.png", "a/2.png", "b/3.png"]
MASK = np.array([[True, False, False], [True, True, False]])
POINTS = [[1.5, 2]] * 17


def read(tmp_path, kind, entries, **options):
    (tmp_path / "model_outputs.json").write_text(json.dumps(entries))
    return read_predictions(tmp_path / "model_outputs.json", PredictionRequest(kind, ImageNames(IDS), **options))


def test_boxes_with_scores_and_images_where_nothing_was_found(tmp_path):
    found = read(
        tmp_path,
        Boxes,
        {
            "/root/a/1.png": {"detections": [[1, 2, 3, 4, 0.5]], "scores": [0.9]},
            "/root/a/2.png": {"detections": None, "scores": None},
            "/root/x.png": {"detections": []},
        },
    )
    assert found.format == "fhibe" and found.reading.form == "xyxy"
    assert found.by_id["a/1.png"].to_row() == {"boxes": [[1, 2, 3, 4]], "scores": [0.9], "labels": None}
    assert len(found.by_id["a/2.png"]) == 0 and set(found.by_id) == {"a/1.png", "a/2.png"}
    assert "1 of 3 images have no answer and count as images where nothing was found" in found.absent
    assert len(found.empty()) == 0 and "names 1 image that the dataset does not have" in found.notes[0]
    whole = read(tmp_path, Boxes, {name: {"detections": [[0, 0, 1, 1]]} for name in IDS}, units="rel")
    assert whole.absent is None and whole.notes == () and whole.reading.units == "rel"
    assert whole.by_id["b/3.png"].scores.tolist() == [1.0]


def test_every_other_kind(tmp_path):
    rle = rle_of(MASK)
    masks = read(tmp_path, Masks, {"a/1.png": {"detections": [rle, rle], "scores": [0.5]}}).by_id["a/1.png"]
    assert masks.masks.tolist() == [MASK.tolist()] * 2 and masks.scores.tolist() == [1, 1]
    people = read(tmp_path, Keypoints, {"a/1.png": {"detections": [POINTS]}, "a/2.png": {"detections": []}}).by_id
    assert people["a/1.png"].points[0, 0].tolist() == [1.5, 2, 1] and people["a/2.png"].points.shape == (0, 17, 3)
    parts = read(
        tmp_path, Parts, {"a/1.png": {"detections": [{"Face": 1, "Hand": 0}]}, "a/2.png": {"detections": None}}
    )
    assert parts.by_id == {"a/1.png": Parts(({"Face": 1, "Hand": 0},))}
    assert parts.absent is None and parts.empty is None  # an image without an answer is a failed one
    labels = {"a/1.png": {"detections_rle": {"0": rle_of(~MASK), "7": rle}}, "a/2.png": {"detections_rle": {}}}
    assert read(tmp_path, LabelMap, labels).by_id["a/1.png"].classes.tolist() == (MASK * 7).tolist()
    vectors = read(tmp_path, Embedding, {"a/1.png": {"detections": [1, 2]}, "a/2.png": {"detections": None}})
    assert vectors.by_id["a/1.png"].vector.tolist() == [1, 2] and vectors.by_id["a/2.png"].vector is None


@pytest.mark.parametrize(
    ("kind", "entry", "words"),
    [
        (Boxes, {"detections": [[1, 2, 3]]}, r"\[1, 2, 3\] is not a box, expected \[x0, y0, x1, y1\]"),
        (Boxes, {"detections": [[1, 2, 3, "4"]]}, "is not a box"),
        (Boxes, {"detections": [[1, 2, 3, 4]], "scores": [1, 1]}, "2 scores for 1 boxes"),
        (Boxes, {"detections": [[1, 2, 3, 4]], "scores": ["a"]}, "scores must be numbers"),
        (Boxes, {"detections": [[1, 2, 3, 4]], "scores": [1e301]}, "scores must be numbers"),
        (Boxes, {"detections": {}}, "detections is dict, expected a list of boxes or null"),
        (Boxes, {"boxes": []}, "expected an object with 'detections', found fields scores, boxes"),
        (Masks, {"detections": [{"size": [2, 2], "counts": "0"}]}, "mask 0: run lengths cover"),
        (Keypoints, {"detections": [POINTS[:3]]}, "a person with 3 keypoints, expected 17"),
        (Keypoints, {"detections": [7]}, "a person with int keypoints, expected 17"),
        (Keypoints, {"detections": [[1] * 17]}, r"keypoints must be \[x, y\] pairs of numbers"),
        (Keypoints, {"detections": [[[1, 1e999]] * 17]}, "a keypoint that is not finite; write -999"),
        (Parts, {"detections": [{"Face": 1.1}]}, "part 'Face' has probability 1.1, expected 0 to 1"),
        (Parts, {"detections": [{"Face": True}]}, "part 'Face' has probability True"),
        (Parts, {"detections": ["Face"]}, "expected a list with the parts of each person"),
        (LabelMap, {"detections_rle": {"skin": {}}}, "label 'skin', expected 0 to 18"),
        (LabelMap, {"detections_rle": {"256": {}}}, "label '256', expected 0 to 18"),
        (LabelMap, {"detections_rle": None}, "detections_rle is NoneType, expected masks by label$"),
        (Embedding, {"detections": []}, "detections is not an embedding"),
        (Embedding, {"detections": [[1], [2]]}, "detections is not an embedding"),
        (Embedding, {"detections": ["a"]}, "detections is not an embedding"),
    ],
)
def test_an_entry_that_is_wrong_is_named_with_its_image(tmp_path, kind, entry, words):
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, kind, {"a/1.png": {"scores": None} | entry})
    assert f"{tmp_path / 'model_outputs.json'}: a/1.png: " in str(caught.value)


def test_a_file_about_other_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="names 1 image that the dataset does not have"):
        read(tmp_path, Boxes, {"x.png": {"detections": []}})


def test_the_file_is_known_by_its_first_entry(tmp_path):
    path = tmp_path / "mine.json"
    for text, known in [
        ('{"a.png": {"detections": [', True),
        ('\ufeff {\n"a\\"b.png" : { "scores": []', True),
        ('{"a.png": {"rows": [1]', True),
        ('{"info": {"year": 1}', False),
        ('[{"image_id": 1}]', False),
        ("{}", False),
        ("", False),
    ]:
        path.write_text(text, encoding="utf-8")
        assert is_outputs(path) is known, text
    path.with_suffix(".txt").write_text('{"a": {"detections": []}}')
    assert not is_outputs(path.with_suffix(".txt")) and not is_outputs(tmp_path / "none.json")


def test_a_picture_without_people_has_no_keypoints():
    assert points_of([], 17, "a").shape == (0, 17, 2)
    assert points_of([[[1, 2, 0.5]] * 3], 3, "a").tolist() == [[[1, 2]] * 3]
    with pytest.raises(InputError, match="a mask of 3×2, the picture is 2×3"):
        label_runs_of({"1": rle_of(MASK)}, "a", (3, 2))
