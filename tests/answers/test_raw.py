"""What a model returned, piece by piece: what is read, and what is said of what is wrong."""

import numpy as np
import pytest

from countenance.answers import raw
from countenance.errors import InputError


@pytest.mark.parametrize("box", [[0, 1, 2, 3], (0, 1, 2, 3), np.array([0, 1, 2, 3]), [np.float32(0), 1, 2, 3]])
def test_a_box_in_any_form(box):
    assert raw.box(box, "a.png: boxes") == [0.0, 1.0, 2.0, 3.0]


class Tensor:
    """On another device and with gradients: only a detached copy in memory is an array."""

    ndim = 1

    def __init__(self, values):
        self.values = np.array(values)

    def detach(self):
        return Tensor(self.values)

    cpu = detach

    def numpy(self):
        return self.values

    def tolist(self):
        return self.values.tolist()

    def __iter__(self):
        return iter(self.values)


def test_tensors_are_read_as_arrays():
    assert raw.box(Tensor([0.0, 1, 2, 3]), "a.png") == [0, 1, 2, 3]
    assert raw.array(Tensor([[1, 1], [1, 1]])).tolist() == [[1, 1], [1, 1]]
    assert raw.items(Tensor([1, 2]), "a.png") == [1, 2]


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (raw.box, [0, 1, 2], "3 numbers, expected a box"),
        (raw.box, [[0, 1, 2, 3]], "4 numbers, expected a box"),
        (raw.box, "a", r"'a' is not a box \[x0, y0, x1, y1\]"),
        (raw.box, [0, 1, 2, np.inf], "holds a number that is not finite"),
        (raw.number, [1, 2], "list is not a number"),
        (raw.number, None, "not finite"),
        (raw.mask, np.zeros((2, 2, 1)), r"ndarray of shape \(2, 2, 1\), expected a boolean array of height × width"),
        (raw.mask, [[1], [1, 2]], "list, expected a boolean array"),
        (raw.mask, [["a"]], "expected a boolean array"),
        (raw.mask, [[0, 0.5]], "other values than 0 and 1; apply your threshold"),
        (raw.points, [1, 2], "keypoints: 2 numbers, expected a list of"),
        (raw.points, [[1], [2]], "keypoints: 2×1 numbers, expected"),
        (raw.parts, {"Face": 1}, "returned a dict with Face, expected a list with a dict of parts"),
        (raw.parts, [{"Face": "high"}], "part 'Face': 'high' is not a number"),
        (raw.items, 3, "is int, expected a list"),
        (raw.items, np.float64(3), "is float64 of shape"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(read, value, words):
    with pytest.raises(InputError, match=words) as caught:
        read(value, "a.png: field")
    assert str(caught.value).startswith("a.png: field")


def test_masks_points_parts_and_lists():
    assert raw.mask([[0, 1], [0, 1]], "a").tolist() == [[False, True]] * 2
    assert raw.points([[1, 2, 0.5]], "a") == [[1.0, 2.0, 0.5]]
    assert raw.parts([{1: np.float32(0.5)}, {}], "a") == [{"1": 0.5}, {}]
    assert raw.items(None, "a") == [] and raw.items((1, 2), "a") == [1, 2]


def test_fields_belong_together():
    answer = {"boxes": [1, 2], "scores": np.array([0.5, 0.6])}
    assert raw.fields(answer, ("boxes", "scores"), "a") == [[1, 2], [0.5, 0.6]]
    assert raw.fields({"boxes": None}, ("boxes", "scores"), "a") == [[], []]
    for wrong, words in [
        ({"boxes": [1]}, "a: the model returned a dict with boxes; 'scores' is missing"),
        ({"boxes": [1], "scores": []}, "a: 0 scores for 1 boxes; one for each"),
        ({"scores": []}, "a: the model returned a dict with scores, expected a dict with 'boxes', 'scores'"),
        ({}, "an empty dict"),
        (None, "returned None"),
    ]:
        with pytest.raises(InputError, match=words):
            raw.fields(wrong, ("boxes", "scores"), "a")
    assert raw.first_field({"b": 1, "c": 2}, ("a", "b", "c"), "a") == 1
    with pytest.raises(InputError, match="returned a dict with d, expected a dict with 'a'"):
        raw.first_field({"d": 1}, ("a", "b"), "a")


def test_a_long_answer_is_described_in_short():
    assert (
        raw.described({f"field{i}": i for i in range(99)})
        == "a dict with " + ", ".join(f"field{i}" for i in range(99))[:68]
    )
