"""What a wrapper is told and what becomes of its answers, field by field."""

from pathlib import Path

import numpy as np
import pytest

from countenance.answers import Boxes, Keypoints, Masks
from countenance.errors import InputError
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.suites.fhibe.own_models import FORMS, OwnModel, face_boxes, people_boxes
from countenance.suites.fhibe.wrapper import _keywords, _verification_entries, _with_rows
from countenance.suites.fhibe.wrapper_answers import embedding_of, entry_of, picture_of
from countenance.tasks.keypoint_estimation import KEYPOINTS

from .test_rules import table_of


def test_only_label_zero_is_a_person_and_nobody_is_null():
    answer = {"bboxes": [[0, 0, 2, 3], [1, 1, 4, 4], [5, 5, 6, 6]], "scores": [0.5, 0.6, 0.7], "labels": [1, 0, -1]}
    assert entry_of("person_localization", answer, "a") == {"detections": [[1, 1, 4, 4]], "scores": [0.6]}
    assert entry_of("person_localization", answer | {"labels": [1, 2, 3]}, "a") == {"detections": None, "scores": None}
    with pytest.raises(InputError, match=r"a: labels.*a number \(0: a person\)"):
        entry_of("person_localization", answer | {"labels": ["x", 0, 0]}, "a")


def test_boxes_of_our_models_are_people_unless_they_say_otherwise():
    boxes = Boxes([[0, 0, 2, 3]] * 4, [0.1, 0.2, 0.3, 0.4], ["person", "dog", "face", "0"])
    assert people_boxes(boxes)["labels"] == [0, 1, 0, 0] and face_boxes(boxes)["scores"].tolist() == [0.1, 0.3, 0.4]
    assert people_boxes([[0, 0, 2, 3], [1, 1, 2, 2]])["labels"] == [0, 0]
    masks = FORMS["person_parsing"](Masks([np.ones((2, 2), bool)] * 2, [0.5, 0.6]))
    assert masks["labels"] == [0, 0] and len(masks["masks"]) == 2
    points = np.arange(2 * 17 * 3, dtype=float).reshape(2, 17, 3)
    made = FORMS["keypoint_estimation"](Keypoints(points))
    assert np.array_equal(made["keypoints"], points[:, :, [0, 1]]) and np.array_equal(made["scores"], points[:, :, 2])
    model = OwnModel("face_verification", lambda images: images)
    assert model.align_faces(["a", "b"], aligned_img_filepaths=[]) == [True, True] and model.map_ears_to_skin is False


@pytest.mark.parametrize(
    ("labels", "good"),
    [
        ([[0, 18], [1, 2]], True), ([[0, 19]], False), ([[0, -1]], False), ([[0.5, 1]], False), ([0, 1], False),
        (np.zeros((0, 2)), False), ([[3.0, 1.0]], True), ([["a"]], False), (np.ones((2, 2), bool), False),
    ],
)  # fmt: skip
def test_a_label_map_holds_the_nineteen_classes(labels, good):
    if good:
        found = entry_of("face_parsing", {"detections": np.array(labels)}, "a")["detections_rle"]
        assert sorted(map(int, found)) == sorted(np.unique(labels).astype(int))
        return
    with pytest.raises(InputError, match=r"a: detections is .*, expected height × width labels from 0 to 18"):
        entry_of("face_parsing", {"detections": np.array(labels)}, "a")


def test_ears_become_skin_where_the_model_says_so():
    ears = {"detections": np.array([[8, 9, 0]])}
    assert sorted(entry_of("face_parsing", ears, "a", ears=True)["detections_rle"]) == ["0", "1"]
    assert sorted(entry_of("face_parsing", ears, "a")["detections_rle"]) == ["0", "8", "9"]


def test_embeddings_and_pictures_have_their_fields():
    assert embedding_of({"embeddings": [[1, 2]]}, "a") == [1.0, 2.0] and embedding_of({"embeddings": None}, "a") is None
    with pytest.raises(InputError, match="a: embeddings is empty"):
        embedding_of([], "a")
    assert picture_of({"encodings": "x"}, "a") == "x" and picture_of({"encoding": "y"}, "a") == "y"


def test_rows_are_named_where_each_person_has_an_answer():
    two = {"detections": [1, 2]}
    assert _with_rows("keypoint_estimation", two, [4, 9], "a") == two | {"rows": [4, 9]}
    assert _with_rows("keypoint_estimation", two, [4, 9, 11], "a") == two == _with_rows("face_parsing", two, None, "a")
    assert _with_rows("body_parts_detection", two, [4], "a") == two
    with pytest.raises(InputError, match="a: 2 answers for 3 people; one for each, in the order of the boxes"):
        _with_rows("body_parts_detection", two, [4, 9, 11], "a")


def test_a_wrapper_is_told_what_the_original_tells_it():
    boxes = ["[1, 2, 3, 4]", "[5, 6, 7, 8]", "[0, 0, 1, 1]"]
    table = table_of(filepath=["a.png", "b.png", "a.png"], person_bbox=boxes)
    by_image = {"root/a.png": [[1, 2, 4, 6], [0, 0, 1, 1]], "root/b.png": [[5, 6, 12, 14]]}
    here = Path("out")
    assert _keywords("person_parsing", table, here, {}) == {"to_rle": True, "gt_column_name": "person_mask"}
    assert _keywords("person_localization", table, here, {}) == {"gt_column_name": "person_bbox"}
    assert _keywords("face_localization", table, here, {}) == {"gt_column_name": "face_bbox"}
    assert _keywords("body_parts_detection", table, here, {}) == {
        "gt_column_name": None, "img_filepath_gt_bboxes": by_image,
    }  # fmt: skip
    told = _keywords("keypoint_estimation", table, here, {"custom_keypoints": ["Left eye", "Nose"]})
    eye, nose = COCO_SIGMAS[KEYPOINTS.index("Left eye")], COCO_SIGMAS[KEYPOINTS.index("Nose")]
    assert told["kpt_oks_sigmas"].tolist() == [eye, nose] and told["img_filepath_gt_bboxes"] == by_image
    assert len(_keywords("keypoint_estimation", table, here, {})["kpt_oks_sigmas"]) == 17
    encoding = _keywords("face_encoding", table, here, {})
    assert encoding["aligned"] is True and encoding["aligned_filepaths"] == ["root/a.png", "root/b.png"]
    assert [Path(path).name for path in encoding["encoded_filepaths"]] == ["a.png", "b.png"]
    assert _keywords("face_super_resolution", table, here, {}) == {"aligned": True}


class Aligned:
    """A wrapper that aligns the first picture only."""

    def __init__(self, success=(True, False)):
        self.success, self.told = success, {}

    def align_faces(self, **told):
        self.told = told
        return self.success

    def data_preprocessor(self, img_filepaths, model_name=None, **told):
        self.told |= told
        return [told["success_aligned_img_filepaths"]]

    def __call__(self, batch):
        return [{"embeddings": [1.0, 2.0]} for _ in batch]


def test_faces_that_were_not_aligned_have_no_embedding():
    table, model = table_of(filepath=["a.png", "b.png"]), Aligned()
    steps = []
    found = list(_verification_entries(model, table, steps.append))
    assert found == [
        ("root/data/processed/a.png", {"detections": [1.0, 2.0], "img_filepath": "root/a.png"}),
        ("root/data/processed/b.png", {"detections": None, "img_filepath": "root/b.png"}),
    ]
    told = {name: model.told[name] for name in ("batch_size", "num_workers", "cuda", "aligned")}
    assert told == {"batch_size": 1, "num_workers": 0, "cuda": False, "aligned": True}
    with pytest.raises(InputError, match="align_faces said 3 times whether it worked, for 2 images"):
        list(_verification_entries(Aligned((True, True, False)), table, steps.append))
