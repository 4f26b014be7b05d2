import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from countenance.answers import Boxes, Embedding, Identifications, Keypoints, LabelMap, Labels, Masks, Parts, Picture
from countenance.answers.store import answers_table, read_answers
from countenance.errors import InputError

RANDOM = np.random.default_rng(0)
EXAMPLES = [
    Boxes([[0, 0, 1, 2], [1, 1, 3, 3]], [0.5, 1], ["mask", "no_mask"]),
    Boxes(np.zeros((0, 4))),
    Identifications([[0, 0, 1, 2], [1, 1, 3, 3]], [7.5, -1], [2, 0], [4, -1], [0.1 + 0.2, -3]),
    Identifications(),
    Labels({"gender": "female"}, {"gender": {"female": 0.75, "male": 0.25}}),
    Labels({"gender": "male"}),
    Masks(RANDOM.random((2, 5, 7)) > 0.5, [0.5, 0.25]),
    Keypoints(RANDOM.random((2, 17, 3)), [1, 0.5]),
    Keypoints(np.zeros((0, 17, 3))),
    Parts(({"Face": 0.5, "Hand": 1.0}, {"Face": 0.0})),
    LabelMap(RANDOM.integers(0, 19, (5, 7)).astype(np.uint8)),
    Embedding(RANDOM.random(8)),
    Embedding(None),
    Picture(RANDOM.integers(0, 255, (4, 6, 3)).astype(np.uint8)),
]


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return a == b


@pytest.mark.parametrize("answer", EXAMPLES, ids=lambda a: type(a).__name__)
def test_stored_and_read_back_an_answer_is_the_same(tmp_path, answer) -> None:
    pq.write_table(answers_table(type(answer), [("s1", answer), ("s2", answer)]), tmp_path / "a.parquet")
    again = read_answers(tmp_path)
    assert list(again) == ["s1", "s2"]
    fields = [name for name in answer.__dataclass_fields__ if name != "landmarks"]
    assert all(same(getattr(answer, name), getattr(again["s1"], name)) for name in fields)


@given(arrays(np.float64, st.tuples(st.integers(0, 4), st.just(4)), elements=st.floats(allow_nan=True)))
def test_boxes_are_sound_or_say_what_is_wrong(values: np.ndarray) -> None:
    boxes = Boxes(values)
    sound = np.isfinite(values).all() and (values[:, 2:] >= values[:, :2]).all()
    assert (boxes.problem(10, 10) is None) == bool(sound)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Boxes([[1, 2, 3]]), "boxes of shape"),
        (lambda: Boxes([[1, 2, 3, 4]], [1, 2]), "2 scores for 1 boxes"),
        (lambda: Boxes([[1, 2, 3, 4]], [1], []), "0 labels for 1 boxes"),
        (lambda: Keypoints(np.zeros((2, 17))), "keypoints of shape"),
        (lambda: Masks(np.zeros(4)), "masks of shape"),
    ],
)
def test_a_wrong_shape_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        (Boxes([[0, 0, 1, 1]], [-0.1]), "a score of -0.1"),
        (Masks(np.zeros((1, 3, 3), bool)), "masks of 3×3, the image is 7×5"),
        (Keypoints(np.full((1, 17, 3), np.inf)), "not finite"),
        (Parts(({"Face": 1.5},)), "'Face' has probability 1.5"),
        (LabelMap(np.zeros((3, 4), np.uint8)), "a label map of 4×3, the image is 7×5; scale it"),
        (Embedding(np.array([1.0, np.nan])), "not a vector of finite numbers"),
        (Picture(np.zeros((3, 3), np.uint8)), "a picture of shape"),
        (Labels({}, {"gender": {"female": 2.0}}), "probability of gender"),
    ],
)
def test_what_is_wrong_with_an_answer_is_one_phrase(answer, phrase: str) -> None:
    assert phrase in answer.problem(7, 5)


def test_a_folder_without_answers_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="holds no saved answers"):
        read_answers(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_answers(tmp_path)


def test_an_answer_of_nothing_is_sound_and_one_of_the_wrong_size_is_not() -> None:
    assert Masks(np.zeros((0, 5, 5), bool)).problem(7, 9) is None
    assert Masks(np.ones((1, 9, 7), bool)).problem(7, 9) is None
    assert Masks(np.ones((1, 7, 9), bool)).problem(7, 9) == "masks of 9×7, the image is 7×9"
    assert Keypoints([]).points.shape == (0, 17, 3)


@pytest.mark.parametrize(
    ("pixels", "sound"),
    [
        (np.zeros((4, 6, 3), np.uint8), True),
        (np.zeros((4, 6), np.uint8), False),
        (np.zeros((4, 6, 4), np.uint8), False),
        (np.zeros((4, 6, 3), np.float64), False),
    ],
)
def test_a_picture_is_8_bit_rgb(pixels: np.ndarray, sound: bool) -> None:
    assert (Picture(pixels).problem(6, 4) is None) == sound
