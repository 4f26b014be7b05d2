"""What a wrapper is told and what becomes of its answers, field by field."""

from pathlib import Path

import numpy as np
import pytest

from countenance.answers import Keypoints, LabelMap, Parts
from countenance.data import ArrayImage, Sample, Subject
from countenance.data.vocabulary import KEYPOINTS
from countenance.errors import InputError
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.suites.fhibe.outputs import entry_of
from countenance.suites.fhibe.wrapper import FhibeWrapper, embedding_of, picture_of

from .test_default import Wrapper


def sample(name: str, *boxes: tuple[float, ...]) -> Sample:
    people = tuple(Subject(str(4 + 5 * i), person_box=np.array(box, float)) for i, box in enumerate(boxes))
    return Sample(name, ArrayImage(np.zeros((8, 8, 3), np.uint8)), 8, 8, people)


SAMPLES = [sample("a.png", (1, 2, 4, 6), (0, 0, 1, 1)), sample("b.png", (5, 6, 12, 14))]


def adapted(task: str, **options):
    return FhibeWrapper(Wrapper(None), task, "root", "out", "fhibe_downsampled", **options)


def answer_of(task: str, answer, at: Sample = SAMPLES[0], **options):
    return adapted(task, **options)._answer(answer, at, "a")


def test_only_label_zero_is_a_person_and_nobody_is_null():
    answer = {"bboxes": [[0, 0, 2, 3], [1, 1, 4, 4], [5, 5, 6, 6]], "scores": [0.5, 0.6, 0.7], "labels": [1, 0, -1]}
    boxes = answer_of("person_localization", answer)
    assert entry_of(boxes) == {"detections": [[1, 1, 4, 4]], "scores": [0.6]}
    nobody = answer_of("person_localization", answer | {"labels": [1, 2, 3]})
    assert entry_of(nobody) == {"detections": None, "scores": None}
    with pytest.raises(InputError, match=r"a: labels.*a number \(0: a person\)"):
        answer_of("person_localization", answer | {"labels": ["x", 0, 0]})


@pytest.mark.parametrize(
    ("labels", "good"),
    [
        ([[0, 18], [1, 2]], True),
        ([[0, 19]], False),
        ([[0, -1]], False),
        ([[0.5, 1]], False),
        ([0, 1], False),
        (np.zeros((0, 2)), False),
        ([[3.0, 1.0]], True),
        ([["a"]], False),
        (np.ones((2, 2), bool), False),
    ],
)
def test_a_label_map_holds_the_nineteen_classes(labels, good):
    if good:
        entry = entry_of(answer_of("face_parsing", {"detections": np.array(labels)}))["detections_rle"]
        assert sorted(map(int, entry)) == sorted(np.unique(labels).astype(int))
        return
    with pytest.raises(InputError, match=r"a: detections is .*, expected height × width labels from 0 to 18"):
        answer_of("face_parsing", {"detections": np.array(labels)})


def test_ears_become_skin_where_the_model_says_so():
    model = Wrapper(None)
    ears = {"detections": np.array([[8, 9, 0]])}
    for says, classes in ((True, [1, 1, 0]), (False, [8, 9, 0])):
        model.map_ears_to_skin = says
        actual = FhibeWrapper(model, "face_parsing", "root", "out", "x")._answer(ears, SAMPLES[0], "a")
        assert isinstance(actual, LabelMap) and actual.classes.tolist() == [classes]


def test_embeddings_and_pictures_have_their_fields():
    assert embedding_of({"embeddings": [[1, 2]]}, "a") == [1.0, 2.0] and embedding_of({"embeddings": None}, "a") is None
    with pytest.raises(InputError, match="a: embeddings is empty"):
        embedding_of([], "a")
    assert picture_of({"encodings": "x"}, "a") == "x" and picture_of({"encoding": "y"}, "a") == "y"


def test_rows_are_named_where_each_person_has_an_answer():
    two = Keypoints(np.zeros((2, 17, 2)))
    assert entry_of(two, SAMPLES[0], by_person=True)["rows"] == [4, 9]
    assert "rows" not in entry_of(two, SAMPLES[0]) and "rows" not in entry_of(two, SAMPLES[1], by_person=True)
    assert entry_of(Parts(({"Face": 1.0}, {"Face": 0.5})), SAMPLES[0])["rows"] == [4, 9]
    assert answer_of("body_parts_detection", [{"Face": 1}] * 3).probabilities == ({"Face": 1.0},) * 2
    with pytest.raises(InputError, match="a: 1 answers for 2 people; one for each, in the order of the boxes"):
        answer_of("body_parts_detection", [{"Face": 1}])


def test_a_wrapper_is_told_what_the_original_tells_it():
    paths = ["root/a.png", "root/b.png"]
    by_image = {"root/a.png": [[1, 2, 4, 6], [0, 0, 1, 1]], "root/b.png": [[5, 6, 12, 14]]}

    def keywords(task, **options):
        return adapted(task, **options)._keywords(SAMPLES, paths)

    assert keywords("person_parsing") == {"to_rle": True, "gt_column_name": "person_mask"}
    assert keywords("person_localization") == {"gt_column_name": "person_bbox"}
    assert keywords("face_localization") == {"gt_column_name": "face_bbox"}
    assert keywords("body_parts_detection") == {"gt_column_name": None, "img_filepath_gt_bboxes": by_image}
    message = keywords("keypoint_estimation", custom_keypoints=["Nose", "Left eye"])
    nose, eye = COCO_SIGMAS[KEYPOINTS.index("Nose")], COCO_SIGMAS[KEYPOINTS.index("Left eye")]
    assert message["kpt_oks_sigmas"].tolist() == [nose, eye] and message["img_filepath_gt_bboxes"] == by_image
    assert len(keywords("keypoint_estimation")["kpt_oks_sigmas"]) == 17
    model = Wrapper(None)
    model.save_encoding = model.save_array = lambda *arguments: None
    encoding = FhibeWrapper(model, "face_encoding", "root", "out", "x")._keywords(SAMPLES, paths)
    assert encoding["aligned"] is True and encoding["aligned_filepaths"] == paths
    assert [Path(path).name for path in encoding["encoded_filepaths"]] == ["a.png", "b.png"]
    restoring = FhibeWrapper(model, "face_super_resolution", "root", "out", "x")
    assert restoring._keywords(SAMPLES, paths) == {"aligned": True}


class Aligned:
    """A wrapper that aligns the first picture only."""

    def __init__(self, success=(True, False)):
        self.success, self.told = success, {}

    def align_faces(self, **message):
        self.told = message
        return self.success

    def data_preprocessor(self, img_filepaths, model_name=None, **message):
        self.told |= message
        return [message["success_aligned_img_filepaths"]]

    def __call__(self, batch):
        return [{"embeddings": [1.0, 2.0]} for _ in batch]


def test_faces_that_were_not_aligned_have_no_embedding():
    model = Aligned()
    first, second = FhibeWrapper(model, "face_verification", "root", "out", "x").by_samples(SAMPLES)
    assert first.vector.tolist() == [1.0, 2.0] and second.vector is None
    assert model.told["success_aligned_img_filepaths"] == ["root/data/processed/a.png"]
    message = {name: model.told[name] for name in ("batch_size", "num_workers", "cuda", "aligned")}
    assert message == {"batch_size": 1, "num_workers": 0, "cuda": False, "aligned": True}
    more = FhibeWrapper(Aligned((True, True, False)), "face_verification", "root", "out", "x")
    with pytest.raises(InputError, match="align_faces said 3 times whether it worked, for 2 images"):
        more.by_samples(SAMPLES)
