"""Where an answer's limits lie: the last value that is fine, and the first that is not."""

import numpy as np
import pytest

from countenance.answers import Boxes, Embedding, Identifications, Keypoints, LabelMap, Labels, Masks, Parts
from countenance.answers.formats import PredictionRequest, read_predictions
from countenance.data.names import ImageNames
from countenance.errors import InputError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("share", [0, 0.0, 0.5, 1, 1.0])
@pytest.mark.parametrize("make", [lambda p: Labels({}, {"g": {"a": p}}), lambda p: Parts(({"Face": 0.5}, {"Hand": p}))])
def test_a_probability_is_fine_from_0_to_1(make, share):
    assert make(share).problem(3, 3) is None


@pytest.mark.parametrize("share", [-1e-9, 1 + 1e-9, NAN, INF, -INF])
@pytest.mark.parametrize("make", [lambda p: Labels({}, {"g": {"a": p}}), lambda p: Parts(({"Face": 0.5}, {"Hand": p}))])
def test_any_other_probability_is_told(make, share):
    assert "0 to 1" in make(share).problem(3, 3)


@pytest.mark.parametrize(
    ("scores", "shown"),
    [([0, 1], None), ([0.5, -0.5], "-0.5"), ([0.5, 1.5], "1.5"), ([1.5, -0.5], "1.5"), ([-2, 3], "-2")],
)
def test_the_first_wrong_score_is_named(scores, shown):
    problem = Boxes([[0, 0, 1, 1]] * 2, scores).problem(9, 9)
    assert problem == (None if shown is None else f"a score of {shown}, expected 0 to 1")


@pytest.mark.parametrize(
    ("box", "fine"),
    [([1, 1, 1, 1], True), ([1, 1, 0.9, 2], False), ([1, 1, 2, 0.9], False), ([2, 2, 1, 1], False)],
)
def test_a_box_may_be_empty_and_not_turned(box, fine):
    problem = Boxes([[0, 0, 5, 5], box]).problem(9, 9)
    assert (problem is None) == fine
    assert fine or problem.startswith(f"box [{', '.join(f'{v:g}' for v in box)}] has x1 < x0 or y1 < y0")


def test_a_turned_box_that_fits_in_another_reading_is_told_so():
    assert "fit the picture as" in Boxes([[50, 40, 20, 10]]).problem(100, 80)
    assert "fit the picture" not in Boxes([[500, 40, 200, 10]]).problem(100, 80)


@pytest.mark.parametrize(
    ("vector", "fine"),
    [(None, True), ([1.0], True), ([1.0, -2.0], True), ([[1.0, 2.0]], False), ([1.0, NAN], False), ([INF], False)],
)
def test_an_embedding_is_one_list_of_finite_numbers(vector, fine):
    problem = Embedding(None if vector is None else np.array(vector)).problem(3, 3)
    assert problem == (None if fine else "an embedding that is not a vector of finite numbers")


@pytest.mark.parametrize(("shape", "fine"), [((5, 7), True), ((7, 5), False), ((5, 8), False), ((5, 7, 1), False)])
def test_a_label_map_has_the_size_of_the_image(shape, fine):
    assert (LabelMap(np.zeros(shape, np.uint8)).problem(7, 5) is None) == fine


@pytest.mark.parametrize(
    ("where", "what"), [("xywh", "box"), ("scores", "score"), ("similarity", "similarity")], ids=lambda v: v
)
@pytest.mark.parametrize("value", [NAN, INF])
def test_every_number_of_an_identification_is_finite(where, what, value):
    good = {"xywh": [[1.0, 2, 3, 4]], "scores": [0.5], "count": [1], "identity": [7], "similarity": [0.25]}
    assert Identifications(**good).problem(9, 9) is None
    bad = {**good, where: [[1, 2, 3, value]] if where == "xywh" else [value]}
    assert what in Identifications(**bad).problem(9, 9)


def test_corners_of_identifications():
    one = Identifications([[1, 2, 30, 40], [5, 6, 7, 8]], [1, 2])
    assert one.xyxy.tolist() == [[1, 2, 31, 42], [5, 6, 12, 14]]
    assert one.count.tolist() == [0, 0] and len(one) == 2
    assert len(Boxes([[1, 2, 3, 4]] * 3)) == 3


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([[1, 2, 3, 4]], []), "0 scores and 1 counts for 1 boxes"),
        (([[1, 2, 3, 4]], [1], [1, 1], [1, 2], [1, 2]), "1 scores and 2 counts for 1 boxes"),
        (([[1, 2, 3, 4]], [1], [2], [1], [1, 2]), "1 identities and 2 similarities, expected 2"),
        (([[1, 2, 3, 4]], [1], [2], [1, 2], [1]), "2 identities and 1 similarities, expected 2"),
    ],
)
def test_identifications_that_do_not_add_up_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        Identifications(*parts)


@pytest.mark.parametrize(("values", "shape"), [([], (0, 4)), ([1, 2, 3, 4], (1, 4)), ([[1, 2, 3, 4]] * 2, (2, 4))])
def test_one_box_may_come_without_its_list(values, shape):
    assert Boxes(values).xyxy.shape == shape and (Boxes(values).scores == 1).all()


@pytest.mark.parametrize("values", [[1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8], [[[1, 2, 3, 4]]], [[1, 2, 3, 4, 5]]])
def test_other_shapes_are_no_boxes(values):
    with pytest.raises(ValueError, match="expected N × 4"):
        Boxes(values)


def test_landmarks_are_five_points_for_each_box():
    points = np.arange(20.0)
    assert Boxes([[0, 0, 9, 9]] * 2, landmarks=points).landmarks.tolist() == points.reshape(2, 5, 2).tolist()
    for n in (18, 22):
        with pytest.raises(ValueError, match="reshape"):
            Boxes([[0, 0, 9, 9]] * 2, landmarks=np.arange(n))


def test_coco_rows_become_boxes():
    rows = [{"bbox": [10, 20, 30, 40], "score": 0.25, "category_id": 2}, {"bbox": [1, 2, 3, 4], "category_id": 1}]
    boxes = Boxes.from_coco(rows, {1: "face", 2: "mask"})
    assert boxes.xyxy.tolist() == [[10, 20, 40, 60], [1, 2, 4, 6]]
    assert boxes.scores.tolist() == [0.25, 1] and boxes.labels == ("mask", "face")


@pytest.mark.parametrize("shape", [(5, 7), (1, 5, 7), (3, 5, 7)])
def test_masks_count_and_keep_their_size(shape):
    masks = Masks(np.ones(shape, bool))
    assert masks.masks.shape == (1, *shape)[-3:] and masks.scores.tolist() == [1.0] * len(masks.masks)
    assert masks.problem(7, 5) is None
    assert Masks(np.ones(shape, bool), [0.5] * 9).problem(7, 5) == f"9 scores for {len(masks.masks)} masks"


def test_masks_of_four_dimensions_are_refused():
    with pytest.raises(ValueError, match="expected N × height × width"):
        Masks(np.ones((1, 2, 3, 4), bool))


def test_keypoints_without_confidence_have_confidence_1():
    found = Keypoints(np.arange(68.0).reshape(2, 17, 2))
    assert found.points.shape == (2, 17, 3) and (found.points[:, :, 2] == 1).all()
    assert found.points[1, 3].tolist() == [40, 41, 1] and found.scores.tolist() == [1, 1]
    assert found.problem(1, 1) is None
    for shape in ((17, 2), (17, 3), (1, 17, 4), (1, 2, 17, 2)):
        with pytest.raises(ValueError, match="keypoints of shape"):
            Keypoints(np.ones(shape))


@pytest.mark.parametrize("text", ["\ufeff \n[]", "[]", "[ \n ]"])
def test_an_empty_list_is_a_coco_file_without_a_box(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    assert read_predictions(path, PredictionRequest(Boxes, ImageNames(["1"]))).by_id == {}


@pytest.mark.parametrize("text", ['{"image_id": 1}', '[{"image": 1}]', "[1]", "", "]"])
def test_what_is_no_coco_file_is_named(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"p\.json"):
        read_predictions(path, PredictionRequest(Boxes, ImageNames(["1"])))


@pytest.mark.parametrize(
    ("vector", "expected"), [(None, None), (NAN, None), ([1.0], [1.0]), ("[1 2]", [1, 2]), ("1,2", [1, 2])]
)
def test_the_forms_of_a_vector(vector, expected):
    table = {"image": ["1"], "vector": [vector]}
    found = read_predictions(table, PredictionRequest(Embedding, ImageNames(["1"]))).by_id["1"].vector
    assert (None if found is None else found.tolist()) == expected


def test_a_vector_that_is_a_number_is_no_missing_one():
    with pytest.raises(InputError, match=r"row 1: vector is 0\.5, expected a list of numbers"):
        read_predictions({"image": ["1"], "vector": [0.5]}, PredictionRequest(Embedding, ImageNames(["1"])))
