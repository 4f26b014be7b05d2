"""Predictions made elsewhere: every format that the assessed algorithms write."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.answers.formats.mask_forms import detects
from countenance.data import Dataset
from countenance.data.adapters.mask_fairness import MaskData
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.suites.mask_fairness.saved_predictions import predictions_of


@pytest.fixture
def data(people):
    return MaskData(people)


def read(tmp_path, data, text, name="x.csv", **options):
    path = tmp_path / name
    path.write_text(text)
    return predictions_of(path, data, **options)


def corners(found, sample):
    """The boxes of a picture of the dataset in pixels."""
    return found.by_id[sample].read_as(found.reading, 80, 60).xyxy.tolist()


def test_named_boxes_in_pixels(tmp_path, data):
    rows = ["p00,/x/p00.png,mask,0.9,5,5,20,30", "p00,/x,nomask,0.8,40,10,30,40"]
    text = "\n".join(["image_name,image_path,class,confidence,x,y,w,h", *rows]) + "\n"
    found = read(tmp_path, data, text)
    boxes = found.by_id["p00"]
    assert corners(found, "p00") == [[5, 5, 25, 35], [40, 10, 70, 50]]
    assert boxes.labels == ("mask", "no_mask") and boxes.scores.tolist() == [0.9, 0.8]


def test_named_boxes_normalised_as_the_published_script_writes_them(tmp_path, data):
    text = "image_name,image_path,class,confidence,x,y,w,h\np00,/x/p00.png,mask,0.9,0.0625,0.25,0.25,0.5\n"
    assert corners(read(tmp_path, data, text), "p00") == [[5, 15, 25, 45]]


def test_corners_without_a_header_and_three_classes(tmp_path, data):
    text = "p00,1,0.9,5,5,25,35\np00,2,0.8,5,5,25,35\np01.png,3,0.7,40,10,70,50\n"
    model = read(tmp_path, data, text)
    assert model.by_id["p00"].labels == ("mask", "mask") and model.by_id["p01"].labels == ("no_mask",)
    assert corners(model, "p01") == [[40, 10, 70, 50]]


def test_the_headed_file_of_the_normalising_script_has_corners_in_w_and_h(tmp_path, data):
    text = "image_id,class,confidence,x,y,w,h\np00,1,0.9,0.25,0.25,0.5,0.5\n"
    assert corners(read(tmp_path, data, text), "p00") == [[20, 15, 40, 30]]


def test_sizes_in_w_and_h_are_not_the_normalising_script_s(tmp_path):
    """The same header with class numbers: only corners, which never lie left of or above the first, make the form."""
    head = "image_id,class,confidence,x,y,w,h\n"
    for row, fits in (
        ("1,0.9,5,5,20,30", True),
        ("1,0.9,5,5,5,5", True),
        ("1,0.9,9,5,8,30", False),
        ("1,0.9,5,9,20,8", False),
        ("mask,0.9,5,5,20,30", False),
    ):
        path = tmp_path / "x.csv"
        path.write_text(f"{head}p00,{row}\n")
        assert detects(path) is fits, row


def test_boxes_without_confidence_are_centres_when_normalised_and_corners_in_pixels(tmp_path, data):
    assert corners(read(tmp_path, data, "a/p00.png,tensor(0.),0.5,0.5,0.25,0.5\n"), "p00") == [[30, 15, 50, 45]]
    pixels = read(tmp_path, data, "a/p00.png,1,30,15,20,30\n")
    assert corners(pixels, "p00") == [[30, 15, 50, 45]] and pixels.by_id["p00"].labels == ("mask",)
    told = read(tmp_path, data, "p00.png,1,40,30,20,30\n", box_format="cxcywh")
    assert corners(told, "p00") == [[30, 15, 50, 45]]


def test_coco_results_by_number_and_by_name(tmp_path, people):
    categories = {1: "mask", 2: "no_mask", 5: "hat"}
    data = MaskData(Dataset(people.card, people.samples, {"7": "p03"}, categories=categories))
    rows = [
        {"image_id": 7, "category_id": 1, "bbox": [5, 5, 20, 30], "score": 0.9},
        {"image_id": "p04", "category_id": "without_mask", "bbox": [5, 5, 20, 30], "score": 0.5},
    ]
    model = read(tmp_path, data, json.dumps(rows), "x.json")
    assert corners(model, "p03") == [[5, 5, 25, 35]] and model.by_id["p04"].labels == ("without_mask",)
    with pytest.raises(InputError, match="category_id 9"):
        read(tmp_path, data, json.dumps([*rows, {**rows[0], "category_id": 9}]), "x.json")
    left = read(tmp_path, data, json.dumps([*rows, {**rows[0], "category_id": 5}]), "x.json")
    assert "1 result is of no person and no face and left out (1 hat)" in left.notes[0] and len(left.by_id["p03"]) == 1
    other = read(tmp_path, data, json.dumps([{**rows[0], "category_id": 9}]), "x.json")  # a detector of one class
    assert other.by_id["p03"].labels is None


def test_stored_answers_are_taken_as_they_are(tmp_path, data):
    class Detector:
        name = "constant"

        def __call__(self, images):
            return [{"boxes": [[5, 5, 25, 35]], "labels": ["mask"]} for _ in images]

    run = evaluate(Detector(), "mask_detection", data.dataset, out=tmp_path / "run")
    again = evaluate(predictions_of(run.path, data), "mask_detection", data.dataset, out=tmp_path / "again")
    assert again.scores().column("m.localised").to_pylist() == run.scores().column("m.localised").to_pylist()


def test_a_picture_without_a_row_got_no_box(tmp_path, data):
    said = []
    model = read(tmp_path, data, "p00,1,0.9,5,5,25,35\nstranger,1,0.9,5,5,25,35\n", say=said.append)
    assert len(model.empty()) == 0 and said[0] == "x.csv: 1 box, read as xyxy, px (x0, y0, x1, y1 in pixels)"
    assert "names 1 image that the dataset does not have (stranger)" in model.notes[0] and "9 of 10" in model.absent
    run = evaluate(model, "mask_detection", data.dataset, out=tmp_path / "run")
    assert sum(run.scores().column("m.localised").to_pylist()) == 1 and run.manifest["failed"] == 0


@pytest.mark.parametrize(
    "text, message",
    [
        ("p00,4,0.9,5,5,25,35\n", r"line 1: class 4, expected 1 = mask"),
        ("p00,1,0.9,5,5,25\np00,1,0.9,5,5,25,1,1\n", r"line 2: 8 fields, expected 6"),
        ("p00,1,nan,5,5,25,35\n", "confidence is 'nan'"),
        ("p00,1,0.9,25,5,5,35\n", "negative width"),
        ("nobody,1,0.9,5,5,25,35\n", "names 1 image that the dataset does not have"),
        ("a,b\n", "no column that names the image"),
        ("", "empty"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path, data, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, data, text)


FORMS = {
    "1": "image_name,image_path,class,confidence,x,y,w,h\n"
    "p00,/x/p00.png,mask,90,5,5,20,30\np01,/x,nomask,80,40,10,30,40\n",
    "2": "p00,2,0.9,5,5,25,35\np01.png,3,0.8,40,10,70,50\n",
    "2 with a header": "image_id,class,confidence,x,y,x2,y2\r\np00,1,0.9,5,5,25,35\r\np01,3,0.8,40,10,70,50\r\n",
    "2 normalised": "image_id,class,confidence,x,y,w,h\n"
    "p00,1,.9,.0625,.0833333,.3125,.5833333\np01,3,.8,.5,.1666667,.875,.8333333\n",
    "3": "\ufefffaces/p00.png,tensor(1.),5,5,20,30\n\nfaces/p01.png,0,40,10,30,40\n",
    "3 normalised": '"p00.png",1,0.1875,0.3333333,0.25,0.5\n"p01.png",0,0.6875,0.5,0.375,0.6666667\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_task_of_boxes_reads_every_form(tmp_path, people, form):
    path = tmp_path / "theirs.csv"
    path.write_text(FORMS[form])
    run = evaluate(f"predictions:{path}", "mask_detection", people, out=tmp_path / "run")
    rows = run.scores().to_pylist()
    assert [row["m.localised"] for row in rows[:4]] == [1, 0, 0, 1] and sum(row["m.localised"] for row in rows) == 2
    assert rows[0]["m.true_positive"] == 1 and rows[3]["m.true_negative"] == 1 and run.manifest["failed"] == 0
    assert "8 of 10 images have no row" in " ".join(run.notes) and len(run.notes) == 1
    faces = evaluate(str(path), "face_localization", people, out=tmp_path / "faces")
    assert sum(value or 0 for value in faces.scores()["m.recall@0.5"].to_pylist()) == 2


@pytest.mark.parametrize("form", [form for form in FORMS if FORMS[form].startswith("image")])
def test_the_columns_of_a_data_frame_are_read_as_the_file_is(tmp_path, people, form):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "theirs.csv"
    path.write_text(FORMS[form])
    frame = pandas.read_csv(path)
    found = [evaluate(model, "mask_detection", people, out=tmp_path / str(i)) for i, model in enumerate((path, frame))]
    one, two = (run.scores().to_pylist() for run in found)
    assert one == two and sum(row["m.localised"] for row in two) == 2


def test_other_class_numbers_start_a_new_run(tmp_path, people):
    path = tmp_path / "theirs.csv"
    path.write_text(FORMS["3"])
    for classes, right in (("0=no_mask,1=mask", 1), ("0=mask,1=no_mask", 0)):
        run = evaluate(path, "mask_detection", people, out=tmp_path / "run", settings={"classes": classes})
        assert run.scores()["m.true_positive"].to_pylist()[0] == right
    (tmp_path / "classes.txt").write_text("with_mask\nwithout_mask\n")
    run = evaluate(path, "mask_detection", people, out=tmp_path / "beside")
    assert run.scores()["m.true_positive"].to_pylist()[0] == 0
    with pytest.raises(InputError, match="expected numbers with mask or no_mask"):
        evaluate(path, "mask_detection", people, out=tmp_path / "wrong", settings={"classes": "0=hat"})


def test_a_plain_table_with_sizes_is_not_taken_for_a_form(tmp_path, people):
    path = tmp_path / "mine.csv"
    path.write_text("image_id,class,confidence,x,y,w,h\np00,mask,0.9,5,5,20,30\np01,no_mask,0.8,40,10,30,40\n")
    run = evaluate(path, "mask_detection", people, out=tmp_path / "run")
    assert sum(run.scores()["m.localised"].to_pylist()) == 2


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet='p0123456789,.\n"-masknomask ', max_size=120))
def test_any_text_is_read_or_refused_in_words(tmp_path_factory, text):
    from countenance.data import ArrayImage, Dataset, DatasetCard, Sample

    sample = Sample("p0", ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4)
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(text)
    try:
        predictions_of(path, MaskData(Dataset(DatasetCard(name="x"), [sample])))
    except InputError as error:
        assert str(path) in str(error)
