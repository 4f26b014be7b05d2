"""Wrong answers of a wrapper are named with their image, at the first of them, and are never a raw exception."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countenance.data import ArrayImage, Sample, Subject
from countenance.data.adapters.fhibe.words import TASKS
from countenance.errors import InputError
from countenance.suites.fhibe.outputs import entry_of
from countenance.suites.fhibe.wrapper import FhibeWrapper, embedding_of, picture_of

from . import small
from .test_default import Wrapper, evaluate, scores

BOX = [4.0, 10.0, 19.0, 50.0]
MASK = np.ones((64, 64), bool)
POINTS = [[1.0, 2.0]] * 17


@pytest.mark.parametrize(
    ("task", "answer", "words"),
    [
        ("person_localization", {"bboxes": [BOX], "scores": [0.9]}, "a dict with bboxes, scores; 'labels' is missing"),
        ("person_localization", {"bboxes": [BOX], "labels": [0]}, "'scores' is missing"),
        ("person_localization", {"boxes": [BOX]}, "returned a dict with boxes, expected a dict with 'bboxes'"),
        ("person_localization", {}, "returned an empty dict, expected a dict with 'bboxes', 'scores', 'labels'"),
        ("person_localization", [BOX], "returned list, expected a dict"),
        ("person_localization", None, "returned None, expected a dict"),
        ("person_localization", {"bboxes": BOX, "scores": [1] * 4, "labels": [0] * 4}, "1 numbers, expected a box"),
        ("person_localization", {"bboxes": [BOX], "scores": [1, 1], "labels": [0]}, "2 scores for 1 bboxes"),
        ("person_localization", {"bboxes": [BOX], "scores": 0.9, "labels": [0]}, "scores is float, expected a list"),
        ("person_localization", {"bboxes": [BOX], "scores": [0.9], "labels": ["person"]}, r"labels: 'person' is not"),
        ("person_localization", {"bboxes": [[0, 0, 1, np.nan]], "scores": [1], "labels": [0]}, "not finite"),
        ("person_localization", {"bboxes": np.float64(1), "scores": [1], "labels": [0]}, "bboxes is float64"),
        ("person_parsing", {"masks": [MASK], "scores": [0.9]}, "'labels' is missing"),
        ("person_parsing", {"masks": [MASK * 0.4], "scores": [1], "labels": [0]}, "other values than 0 and 1"),
        ("person_parsing", {"masks": [MASK[None]], "scores": [1], "labels": [0]}, r"shape \(1, 64, 64\), expected"),
        ("person_parsing", {"masks": [[[1], [1, 0]]], "scores": [1], "labels": [0]}, "list, expected a boolean array"),
        ("person_parsing", {"masks": [MASK[:9]], "scores": [1], "labels": [0]}, "masks of 64×9, the image is 64×64"),
        ("face_localization", {"detections": [BOX]}, "'scores' is missing"),
        ("face_localization", {"detections": ["a"], "scores": [1]}, r"'a' is not a box \[x0, y0, x1, y1\]"),
        ("keypoint_estimation", {"points": [POINTS]}, "expected a dict with 'keypoints'"),
        ("keypoint_estimation", {"keypoints": POINTS}, "2 numbers, expected a list of"),
        ("keypoint_estimation", {"keypoints": [POINTS[:3]]}, "a person with 3 keypoints, expected 17"),
        ("keypoint_estimation", {"keypoints": [POINTS], "scores": [object()]}, "scores: <object .* is not a list of"),
        ("body_parts_detection", {"Face": 0.9}, "a dict with Face, expected a list with a dict of parts"),
        ("body_parts_detection", [{"Face": "high"}], "part 'Face': 'high' is not a number"),
        ("body_parts_detection", [{"Face": [0.1, 0.2]}], "part 'Face': list is not a number"),
        ("body_parts_detection", [{"Face": 2.0}], "part 'Face' has probability 2.0, expected 0 to 1"),
    ],
)
def test_a_wrong_answer_is_named_with_its_image(tmp_path, task, answer, words):
    small.body(tmp_path)
    with pytest.raises(InputError, match=words) as caught:
        evaluate(tmp_path, task, Wrapper(lambda path: answer))
    assert "data/raw/0/main_0.png" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"labels": np.zeros((64, 64), np.uint8)}, "expected a dict with 'detections'"),
        ({"detections": np.zeros((19, 64, 64))}, r"float64 of shape \(19, 64, 64\), expected height × width labels"),
        ({"detections": np.full((64, 64), 0.5)}, "float64 of shape"),
        ({"detections": np.full((64, 64), 19)}, "labels from 0 to 18"),
        ({"detections": np.full((64, 64), -1)}, "labels from 0 to 18"),
        ({"detections": [[1], [1, 2]]}, "expected height × width labels"),
        (None, "returned None"),
    ],
)
def test_a_wrong_label_map_is_named(tmp_path, answer, words):
    small.faces(tmp_path)
    with pytest.raises(InputError, match=words):
        evaluate(tmp_path, "face_parsing", Wrapper(lambda path: answer))


def test_arrays_and_tensors_are_read_as_lists(tmp_path):
    torch = pytest.importorskip("torch")
    small.body(tmp_path)
    for box in (np.array([BOX]), torch.tensor([BOX], requires_grad=True), (tuple(BOX),)):
        for label in (np.array([0]), torch.tensor([0])):
            answer = {"bboxes": box, "scores": np.array([0.9], np.float32), "labels": label}
            finished = evaluate(tmp_path, "person_localization", Wrapper(lambda path, answer=answer: answer))
            assert scores(finished, "AR_IOU") == [1.0] * 6
    masks = {"masks": torch.zeros(1, 64, 64), "scores": torch.tensor([0.9]), "labels": torch.tensor([0])}
    assert scores(evaluate(tmp_path, "person_parsing", Wrapper(lambda path: masks)), "AR_MASK") == [0.0] * 6
    points = {"keypoints": np.array([POINTS]), "scores": np.ones((1, 17, 1))}
    evaluate(tmp_path, "keypoint_estimation", Wrapper(lambda path: points))
    parts = evaluate(tmp_path, "body_parts_detection", Wrapper(lambda path: [{"Face": torch.tensor(0.99)}]))
    assert scores(parts, "AR_DET Face") == [1.0] * 6


@pytest.mark.parametrize("nobody", [None, [], np.zeros((0, 4))])
def test_nobody_found_is_an_answer(tmp_path, nobody):
    small.body(tmp_path)
    finished = evaluate(tmp_path, "person_localization", Wrapper(lambda path: {"bboxes": nobody}))
    assert scores(finished, "AR_IOU") == [0.0] * 6
    assert not [line for line in finished.notes if "no box was predicted" not in line]


class Faulty(Wrapper):
    """Goes wrong in one of many ways."""

    map_ears_to_skin = False

    def __init__(self, loader=None, call=None):
        super().__init__(None)
        self.loader, self.call = loader, call

    def data_preprocessor(self, img_filepaths, **kwargs):
        return super().data_preprocessor(img_filepaths, **kwargs) if self.loader is None else self.loader(img_filepaths)

    def __call__(self, batch):
        return self.call(batch)


def actual(path):
    return {"bboxes": [BOX], "scores": [1.0], "labels": [0]}


def broken(images):
    raise OSError("cannot identify image\nfile")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Faulty(call=lambda batch: actual("")), "returned a dict with bboxes, scores, labels for a batch"),
        (Faulty(call=lambda batch: None), "returned None for a batch"),
        (Faulty(call=lambda batch: 7), "returned int for a batch"),
        (Faulty(call=lambda batch: batch[9]), "main_0.png: the model raised IndexError: list index out of range"),
        (Faulty(call=lambda batch: [actual(p) for p in batch] * 2), "more than 1 times for 1 images"),
        (Faulty(loader=lambda paths: None), r"data_preprocessor\(\) returned None, expected batches"),
        (Faulty(loader=broken), "the model raised OSError: cannot identify image"),
        (Faulty(loader=lambda paths: (1 / 0 for _ in paths)), "the model raised ZeroDivisionError"),
    ],
)
def test_a_wrapper_that_goes_wrong_is_named(tmp_path, model, words):
    small.body(tmp_path)
    with pytest.raises(InputError, match=words) as caught:
        evaluate(tmp_path, "person_localization", model)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("model_outputs.json"))  # half of the outputs are none


def test_one_wrong_answer_is_a_failure_of_its_image(tmp_path):
    small.body(tmp_path)

    def call(batch):
        return [{"bboxes": [BOX], "scores": [1.0]} if "main_2" in path else actual(path) for path in batch]

    finished = evaluate(tmp_path, "person_localization", Faulty(call=call))
    (failed,) = finished.failures().to_pylist()
    assert failed["sample"].endswith("main_2.png") and "'labels' is missing" in failed["reason"]
    assert len(scores(finished, "AR_IOU")) == 5
    stored = json.loads((finished.path.parent / "model_outputs.json").read_text())
    assert len(stored) == 5


@pytest.mark.parametrize(
    ("task", "method"),
    [("face_encoding", "save_encoding"), ("face_super_resolution", "save_array"), ("face_verification", "align_faces")],
)
def test_a_missing_method_is_told_before_the_model_runs(tmp_path, task, method):
    small.faces(tmp_path)
    with pytest.raises(InputError, match=rf"needs a method {method}\(\)"):
        evaluate(tmp_path, task, Faulty(call=lambda batch: pytest.fail("the model ran")))
    model = Faulty(call=lambda batch: [{"encoding": 0} for _ in batch])
    setattr(model, method, lambda *args, **kwargs: None)
    words = "wrote no picture at" if method != "align_faces" else "raised TypeError"
    with pytest.raises(InputError, match=words):
        evaluate(tmp_path, task, model)


def test_a_face_parser_says_what_becomes_of_ears_before_it_runs(tmp_path):
    small.faces(tmp_path)

    class Parser:
        def data_preprocessor(self, img_filepaths, **kwargs):
            pytest.fail("the model ran")

    with pytest.raises(InputError, match="map_ears_to_skin"):
        evaluate(tmp_path, "face_parsing", Parser())


@pytest.mark.parametrize("answer", [{"vector": [1]}, [], "text", [[1, 2], [3]], [1.0, np.nan]])
def test_a_wrong_embedding_is_named(tmp_path, answer):
    small.faces(tmp_path)
    model = Faulty(loader=lambda paths: [paths], call=lambda batch: [answer for _ in batch])
    model.align_faces = lambda img_filepaths, **kwargs: [True] * len(img_filepaths)
    with pytest.raises(InputError, match=r"data/processed/.*0_0.png"):
        evaluate(tmp_path, "face_verification", model)


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({"AR_IOU": {"thresholds": 0.5}}, r"thresholds 0.5, expected a list of numbers such as \[0.5\]"),
        ({"AR_IOU": {"thresholds": np.float64(0.5)}}, "expected a list of numbers"),
        ({"AR_IOU": {"thresholds": "0.5"}}, "expected a list of numbers"),
        ({"AR_IOU": {"thresholds": [[0.5], [0.6, 0.7]]}}, "expected a list of numbers"),
        ({"AR_IOU": {"thresholds": {"low": 0.5}}}, "expected a list of numbers"),
        ({"AR_IOU": {"thresholds": [0.5, float("nan")]}}, "expected numbers from 0 to 1"),
        ({"AR_IOU": 0.5}, "expected {'thresholds'"),
        (0.5, "metrics is 0.5, expected names"),
    ],
)
def test_thresholds_that_are_no_list_are_named(tmp_path, metrics, words):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    with pytest.raises(InputError, match=words):
        evaluate(tmp_path, "person_localization", None, metrics=metrics, reuse_model_outputs=True)


def test_thresholds_may_be_an_array(tmp_path):
    small.body(tmp_path)
    levels = np.arange(0.5, 1, 0.05)
    finished = evaluate(
        tmp_path, "person_localization", Wrapper(actual), metrics={"AR_IOU": {"thresholds": levels}}, compat="strict"
    )
    assert finished.manifest.about["thresholds"]["AR_IOU"] == levels.tolist()


def test_a_model_of_ours_that_goes_wrong_is_named_too(tmp_path):
    rows = small.faces(tmp_path)
    with pytest.raises(InputError, match=r"0_0.png: KeyError: 'labels'$"):  # no setting that evaluate_task lacks
        evaluate(tmp_path, "face_parsing", lambda images: {}["labels"])
    with pytest.raises(InputError, match=r"0_0.png: an array of shape \(\) and type int"):
        evaluate(tmp_path, "face_parsing", lambda images: [3 for _ in images])
    assert rows


SAMPLE = Sample("a.png", ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4, (Subject("1"),))
FIELDS = ("bboxes", "masks", "detections", "keypoints", "scores", "labels", "embeddings", "encoding", "Face")
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=2)
    | st.sampled_from([np.zeros((2, 2)), np.array(3), np.ones((1, 4)), np.array([None]), 1j, object()]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(TASKS), anything)
def test_whatever_a_model_answers_is_stored_or_refused(task, answer):
    try:
        if task in ("face_encoding", "face_super_resolution"):
            picture_of(answer, "a.png")  # in any form: the model's own method saves it
            return
        if task == "face_verification":
            json.dumps(embedding_of(answer, "a.png"), allow_nan=False)
            return
        rendered = FhibeWrapper(Wrapper(None), task, "", "", "")._answer(answer, SAMPLE, "a.png")
    except InputError as error:
        assert str(error).startswith("a.png: ")
        assert "\n" not in str(error)
    else:
        json.dumps(entry_of(rendered, SAMPLE), allow_nan=False)


def test_a_model_that_was_stopped_goes_on_where_it_stopped(tmp_path):
    small.body(tmp_path, people=96)
    seen: list[str] = []
    good = {"bboxes": [BOX], "scores": [0.9], "labels": [0]}

    def until(last):
        def answer(path):
            seen.append(path)
            if len(seen) > last:
                raise KeyboardInterrupt
            return good

        return Wrapper(answer)

    with pytest.raises(KeyboardInterrupt):
        evaluate(tmp_path, "person_localization", until(80))
    assert not list(tmp_path.rglob("model_outputs.json"))
    seen.clear()
    finished = evaluate(tmp_path, "person_localization", until(1000))
    assert 32 <= len(seen) < 64  # the shard that was stopped, and a few others to see that it is the same model
    assert scores(finished, "AR_IOU") == [1.0] * 96
    assert len(json.loads((finished.path.parent / "model_outputs.json").read_text())) == 96


def test_another_model_does_not_go_on_with_the_first_ones_answers(tmp_path):
    small.body(tmp_path, people=12)
    count = iter(range(100))

    def stops(path):
        if next(count) > 7:
            raise KeyboardInterrupt
        return {"bboxes": [BOX], "scores": [0.9], "labels": [0]}

    with pytest.raises(KeyboardInterrupt):
        evaluate(tmp_path, "person_localization", Wrapper(stops))
    far = {"bboxes": [[60, 60, 63, 63]], "scores": [0.9], "labels": [0]}
    finished = evaluate(tmp_path, "person_localization", Wrapper(lambda path: far))
    assert scores(finished, "AR_IOU") == [0.0] * 12
