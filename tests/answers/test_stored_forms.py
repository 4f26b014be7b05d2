"""The stored form of answers, and what their readers and writers say, number by number."""

import copy
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.answers import Age, Boxes, Embedding, Identifications, Keypoints, LabelMap, Labels, Masks, Parts
from countenance.answers.base import real
from countenance.answers.formats import PredictionRequest, read_predictions
from countenance.answers.formats.base import units_of
from countenance.answers.formats.coco import write_coco_results
from countenance.answers.formats.registry import format_names, load_format
from countenance.answers.store import answers_from_table, answers_table, read_answers
from countenance.answers.targets import in_words, to_finds
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.metrics.readings import Reading

IDS = ["a", "b", "c"]


def read(source, kind=Boxes, ids=IDS, **more):
    return read_predictions(source, PredictionRequest(kind, ImageNames(list(ids)), **more))


def written(tmp_path, rows):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(rows))
    return path


# rows


def test_the_same_labels_are_stored_alike_in_whatever_order_they_come():
    one = Labels({"a": "x", "b": "y"}, {"a": {"p": 0.5, "q": 0.5}, "b": {"y": 1}})
    two = Labels({"b": "y", "a": "x"}, {"b": {"y": 1}, "a": {"q": 0.5, "p": 0.5}})
    assert one.to_row() == two.to_row()
    assert Parts(({"Face": 0.5, "Arm": 1},)).to_row() == Parts(({"Arm": 1, "Face": 0.5},)).to_row()


def test_what_is_not_stored_plays_no_part_in_equality():
    assert Age.of([0.0, 0.5, 0.5]) == Age(1.5) != Age(1.25)
    boxes = Boxes([[0, 0, 4, 4]], landmarks=np.arange(10))
    bare = copy.copy(boxes)
    object.__setattr__(bare, "landmarks", None)
    assert boxes == bare and boxes.landmarks.tolist() == np.arange(10.0).reshape(1, 5, 2).tolist()


def test_masks_of_nobody_have_no_size():
    assert Masks([]).masks.shape == (0, 0, 0) and Masks([]).to_row() == {"size": [0, 0], "counts": [], "scores": []}
    assert Masks.from_row(Masks([]).to_row()).masks.shape == (0, 0, 0)


def test_a_label_map_keeps_every_class():
    classes = np.arange(256, dtype=np.uint8).reshape(8, 32)
    assert np.array_equal(LabelMap.from_row(LabelMap(classes).to_row()).classes, classes)


@pytest.mark.parametrize("keypoints", [1, 5, 17])
def test_keypoints_keep_their_shape(keypoints):
    points = np.random.default_rng(0).random((2, keypoints, 3))
    assert np.array_equal(Keypoints.from_row(Keypoints(points).to_row()).points, points)


@pytest.mark.parametrize("stored", [None, []])
def test_boxes_of_nothing_are_read_as_none(stored):
    assert Boxes.from_row({"boxes": stored, "scores": [], "labels": None}).xyxy.shape == (0, 4)


def test_scores_of_any_shape_are_one_list():
    assert Boxes([[0, 0, 1, 1]] * 2, [[0.5], [0.25]]).scores.tolist() == [0.5, 0.25]
    assert Masks(np.ones((2, 3, 3)), [[0.5], [0.25]]).scores.tolist() == [0.5, 0.25]
    assert Keypoints(np.ones((2, 17, 3)), [[0.5], [0.25]]).scores.tolist() == [0.5, 0.25]
    one = Identifications([[0, 0, 1, 1]] * 2, [[2], [1]], [[1], [1]], [[4], [5]], [[0.5], [0.25]])
    assert [one.scores.tolist(), one.count.tolist(), one.identity.tolist(), one.similarity.tolist()] == [
        [2, 1],
        [1, 1],
        [4, 5],
        [0.5, 0.25],
    ]


def test_numbers_are_real_ones():
    assert real(np.array([1, 2])).tolist() == [1, 2] and real(3).tolist() == 3
    with pytest.raises(ValueError, match="complex numbers, expected real ones"):
        real(np.array([1j]))


@pytest.mark.parametrize(
    "answer",
    [Boxes([[0, 0, 1, 1]], [1], ["\ud800"]), Labels({"\ud800": "x"}), Labels({"x": "\ud800"}), Parts(({"\ud800": 1},))],
)
def test_half_a_letter_is_no_word(answer):
    assert answer.problem(4, 4) == r"the word '\ud800', which is not text"


def test_a_label_that_is_text_is_fine():
    assert Boxes([[0, 0, 1, 1]], [1], ["é"]).problem(4, 4) is None and Labels({"é": "ü"}).problem(4, 4) is None


@pytest.mark.parametrize(
    ("total", "fine"), [(0.9985, False), (0.9991, True), (1, True), (1.0009, True), (1.0015, False)]
)
def test_probabilities_of_years_add_up_to_one_within_a_thousandth(total, fine):
    if fine:
        assert Age.of([0.25, total - 0.25]).years == pytest.approx((total - 0.25) / total)
    else:
        with pytest.raises(ValueError, match="sum 1"):
            Age.of([0.25, total - 0.25])
    assert Age.of([1.0, 0.0]).years == 0  # a probability of zero is fine


# the store


def test_answers_of_several_files_are_read_together(tmp_path):
    for name, sample in (("1", "a"), ("2", "b")):
        pq.write_table(answers_table(Age, [(sample, Age(float(name)))]), tmp_path / f"{name}.parquet")
    assert read_answers(tmp_path) == {"a": Age(1.0), "b": Age(2.0)}
    assert read_answers(tmp_path / "2.parquet") == {"b": Age(2.0)}
    with pytest.raises(InputError, match=r"no\.parquet: holds no saved answers"):
        read_answers(tmp_path / "no.parquet")


def test_a_table_of_other_things_holds_no_answers():
    with pytest.raises(InputError, match="here: does not say what kind of answers it holds"):
        answers_from_table(pa.table({"sample": ["a"]}), "here")
    with pytest.raises(InputError, match="here: not a readable file of answers"):
        answers_from_table(pa.table({"sample": ["a"]}).replace_schema_metadata({"answer": "Age"}), "here")


# what a model finds


@pytest.mark.parametrize(("value", "found"), [(["face", "mask"], ("face", "mask")), (len, ()), (("age",), ("age",))])
def test_what_a_model_finds_is_one_word_or_several(value, found):
    assert to_finds(value, "m") == found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, "model 'm': finds is 7, expected a word"),
        ([], "finds is \\[\\]"),
        (["face", "hat"], "finds 'hat'; there are"),
    ],
)
def test_what_no_model_finds_is_refused(value, message):
    with pytest.raises(InputError, match=message):
        to_finds(value, "m")
    assert in_words(("person_mask", "hat")) == "masks of people and hat"


# results in COCO's form: who is counted


PEOPLE = {1: "person", 2: "face", 3: "car", 4: "dog"}


def of_categories(*numbers, image="a"):
    return [{"image_id": image, "category_id": n, "bbox": [1, 2, 3, 4], "score": 0.5} for n in numbers]


@pytest.mark.parametrize(
    ("numbers", "kept", "note"),
    [
        ([1, 2, 1], 3, None),
        ([1, 3], 1, "1 result is of no person and no face and left out (1 car)"),
        ([3, 1, 4, 4, 2], 2, "3 results are of no person and no face and left out (2 dog, 1 car)"),
        ([3, 4], 2, None),  # a detector of one class may number it as it likes
        ([9, 3], 1, "1 result is of no person and no face and left out (1 car)"),  # 9: not known, may be a person
        ([None, 3], 1, "1 result is of no person and no face and left out (1 car)"),
        ([[7], 3], 1, "1 result is of no person and no face and left out (1 car)"),
    ],
)
def test_results_of_other_things_are_left_out_and_counted(tmp_path, numbers, kept, note):
    path = written(tmp_path, of_categories(*numbers))
    found = read(path, categories=PEOPLE)
    assert len(found.by_id["a"]) == kept
    assert found.notes == (() if note is None else (f"{path}: {note}",))


def test_of_many_other_things_six_are_named(tmp_path):
    path = written(tmp_path, of_categories(1, *(k for k in range(10, 18) for _ in range(k))))
    (note,) = read(path, categories={1: "person"} | {k: f"thing{k}" for k in range(10, 18)}).notes
    assert "108 results are" in note
    assert note.endswith("(17 thing17, 16 thing16, 15 thing15, 14 thing14, 13 thing13, 12 thing12)")
    path = written(tmp_path, of_categories(1, *[10] * 1234))
    assert (
        "1,234 results are of no person and no face and left out (1,234 car)"
        in read(path, categories={1: "person", 10: "car"}).notes[0]
    )


def test_category_numbers_that_say_mask_are_those_of_the_dataset(tmp_path):
    known = {0: "no_mask", 1: "mask"}
    found = read(written(tmp_path, of_categories(0, 1)), categories=known)
    assert found.by_id["a"].labels == ("no_mask", "mask") and dict(found.classes) == known
    with pytest.raises(InputError, match=r"\[1\]: category_id 2, expected 0 = no_mask, 1 = mask"):
        read(written(tmp_path, of_categories(0, 2)), categories=known)
    with pytest.raises(InputError, match=r"\[1\]: category_id None, expected 0 = no_mask, 1 = mask"):
        read(written(tmp_path, of_categories(0, None)), categories=known)
    found = read(written(tmp_path, of_categories(7, 8)), categories=known)  # a detector that does not judge
    assert found.by_id["a"].labels is None and found.classes == {} and found.notes == ()
    found = read(written(tmp_path, of_categories(0, 1)), options={"classes": "0=mask,1=no_mask"}, categories=known)
    assert found.by_id["a"].labels == ("mask", "no_mask")


def test_a_word_says_more_than_a_number(tmp_path):
    rows = of_categories(1, 1)
    rows[0]["category"] = "hat"
    rows[1]["category_id"] = "cap"
    found = read(written(tmp_path, rows), categories={1: "mask"})
    assert found.by_id["a"].labels == ("hat", "cap")


def test_images_with_unlabelled_boxes_are_told(tmp_path):
    rows = [row for name in IDS for row in of_categories(1, image=name)]
    rows[0]["category"] = "mask"
    path = written(tmp_path, rows)
    (note,) = read(path).notes
    assert note == f"{path}: 2 images (b, c, …) with boxes that have no label; all boxes there count as unlabelled"
    rows[1]["category"] = "mask"
    (note,) = read(written(tmp_path, rows)).notes
    assert ": 1 image (c) with boxes that have no label" in note
    rows[2]["category"] = "mask"
    assert read(written(tmp_path, rows)).notes == ()
    ids = [f"i{k}" for k in range(6)]
    rows = [row for name in ids for row in of_categories(1, image=name)]
    rows[0]["category"] = "mask"
    (note,) = read(written(tmp_path, rows), ids=ids).notes
    assert ": 5 images (i1, i2, i3, …) with" in note


def test_results_of_unknown_images_are_told_beside_those_of_known_ones(tmp_path):
    found = read(written(tmp_path, [*of_categories(1), *of_categories(1, image="zz")]))
    assert list(found.by_id) == ["a"] and "1 image that the dataset does not have" in found.notes[0]
    found = read({"image": ["a", "zz"], "x0": [1, 1], "y0": [1, 1], "x1": [2, 2], "y1": [2, 2]})
    assert list(found.by_id) == ["a"] and "1 image that the dataset does not have" in found.notes[0]


@pytest.mark.parametrize(
    ("key", "value"), [("bbox", None), ("bbox", {"0": 1}), ("bbox", [1, 2, 3, "4"]), ("score", None)]
)
def test_results_of_other_types_are_refused(tmp_path, key, value):
    rows = [of_categories(1)[0] | {key: value}]
    with pytest.raises(InputError, match=rf"\[0\]: {key} is .*, expected"):
        read(written(tmp_path, rows))


def test_written_results_name_category_1_and_the_size(tmp_path):
    boxes = Boxes([[10, 20, 13, 27], [1, 2, 3, 5]], [0.5, 0.25], ["mask", "no_mask"])
    write_coco_results(tmp_path / "p.json", [("a", boxes), ("b", Boxes([[0, 0, 1, 1]]))])
    assert json.loads((tmp_path / "p.json").read_text()) == [
        {"image_id": "a", "category_id": 1, "bbox": [10, 20, 3, 7], "score": 0.5, "category": "mask"},
        {"image_id": "a", "category_id": 1, "bbox": [1, 2, 2, 3], "score": 0.25, "category": "no_mask"},
        {"image_id": "b", "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1},
    ]
    points = np.arange(51.0).reshape(1, 17, 3)
    write_coco_results(tmp_path / "p.json", [("a", Keypoints(points, [0.5])), ("b", Masks(np.ones((1, 2, 3)), [1]))])
    one, two = json.loads((tmp_path / "p.json").read_text())
    assert one == {"image_id": "a", "category_id": 1, "score": 0.5, "keypoints": np.arange(51).tolist()}
    assert two["category_id"] == 1 and two["segmentation"]["size"] == [2, 3]
    assert (tmp_path / "p.json").read_text().endswith("]\n")


# formats


@pytest.mark.parametrize("units", [None, "px", "rel"])
def test_boxes_are_in_pixels_unless_the_user_says_otherwise(units):
    wanted = PredictionRequest(Boxes, ImageNames(IDS), units=units)
    assert wanted.reading("xywh") == Reading("xywh", units or "px")
    table = {"image": ["a"], "x0": [0.1], "y0": [0.1], "x1": [0.2], "y1": [0.2]}
    assert read_predictions(table, wanted).reading == Reading("xyxy", units or "px")


def test_the_units_of_boxes_are_guessed_from_boxes_alone():
    assert units_of([Boxes([[0, 0, 0.5, 1]]), Boxes([])]) == "rel"
    assert units_of([Boxes([[0, 0, 50, 10]])]) == "px" and units_of([Boxes([]), Age(0.5)]) == "px"


def test_formats_by_name_and_by_file(tmp_path):
    assert format_names()[0] == "coco" and format_names()[-1] == "table"
    coco, table = load_format("coco"), load_format("table")
    assert (coco.name, table.name) == ("coco", "table")
    for name, fine in (("p.json", True), ("p.JSON", True), ("p.txt", False)):
        (tmp_path / name).write_text("[]")
        assert coco.detects(tmp_path / name) is fine
    (tmp_path / "folder.json").mkdir()
    assert not coco.detects(tmp_path / "folder.json")
    assert table.detects(tmp_path / "p.CSV") and table.detects(tmp_path / "p.parquet")


def test_rows_of_a_parquet_file_are_numbered_from_1(tmp_path):
    table = {"image": ["a", "b"], "x0": ["1", "x"], "y0": ["1"] * 2, "x1": ["2"] * 2, "y1": ["2"] * 2}
    pq.write_table(pa.table(table), tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"p\.parquet row 2: x0 is 'x'"):
        read(tmp_path / "p.parquet")


def test_what_is_half_a_table_is_none():
    class WithDict:
        def to_dict(self, orient):
            return [{"image": "a", "age": 1}]

    class WithColumns:
        columns = ("image", "age")

    for source in (WithDict(), WithColumns()):
        with pytest.raises(InputError, match=f"predictions are a {type(source).__name__}, expected a path"):
            read(source, Age)


def test_columns_of_one_length_are_a_table_and_none_is_too():
    assert read({"image": ["a"], "age": [3]}, Age).by_id == {"a": Age(3.0)}
    with pytest.raises(
        InputError, match="no column that names the image \\(image, sample, file, filename, file_name\\)"
    ):
        read({}, Age)


@pytest.mark.parametrize(
    ("kind", "table", "absent"),
    [
        (Boxes, {"x0": [1], "y0": [1], "x1": [2], "y1": [2]}, "2 of 3 images have no row and count as images without"),
        (Embedding, {"e0": [1]}, "2 of 3 images have no row and count as failures to enrol"),
    ],
)
def test_images_without_a_row_are_counted(kind, table, absent):
    found = read({"image": ["a"], **table}, kind)
    assert absent in found.absent and found.empty() is not None
    whole = read({"image": IDS, **{name: values * 3 for name, values in table.items()}}, kind)
    assert whole.absent is None
    assert read({"image": ["a"], "age": [1]}, Age).empty is None
    assert found.empty().to_row() == ({"vector": None} if kind is Embedding else Boxes([]).to_row())


def test_the_first_column_that_names_images_counts_and_of_two_alike_the_first():
    assert read({"id": ["b"], "image": ["a"], "age": [1]}, Age).by_id == {"a": Age(1.0)}
    assert read({"image": ["a"], "age": [1], "Age": [2]}, Age).by_id == {"a": Age(1.0)}
    assert read({"image": ["a"], "gender": [" f "], "empty": [""]}, Labels).by_id == {"a": Labels({"gender": "f"})}


def test_a_box_without_a_number_is_told_and_one_without_any_is_none():
    table = {
        "image": ["a", "a", "b"],
        "x0": [1, None, None],
        "y0": [2, None, None],
        "x1": [3, "", None],
        "y1": [4, " ", 5],
    }
    with pytest.raises(InputError, match="row 3: x0 is None"):
        read(table)
    table = {name: values[:2] for name, values in table.items()}
    assert read(table | {"label": [None, "mask"]}).by_id["a"].labels is None
    assert read(table | {"label": ["mask", None]}).by_id["a"].labels == ("mask",)
    assert read(table | {"score": [None, 0.1]}).by_id["a"].scores.tolist() == [1]


@pytest.mark.parametrize("header", [["e0", "e1"], ["E_0", "E_1"], ["0", "1"]])
def test_a_vector_in_columns_may_be_missing_as_a_whole_only(header):
    table = {"image": ["a", "b"], header[1]: [2, None], header[0]: [1, None]}
    found = read(table, Embedding).by_id
    assert found["a"].vector.tolist() == [1, 2] and found["b"].vector is None
    table[header[0]] = [1, 1]
    with pytest.raises(InputError, match=f"row 2: {header[1]} is None"):
        read(table, Embedding)


def test_long_headers_are_shown_to_the_ninth_column():
    table = {"image": ["a"], **{f"c{k}": ["x"] for k in range(12)}}
    for kind in (Embedding, Age):
        with pytest.raises(InputError, match=r"it has image, c0, c1, c2, c3, c4, c5, c6, c7$"):
            read(table, kind)
