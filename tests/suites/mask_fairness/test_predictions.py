"""Predictions made elsewhere: every format that the assessed algorithms write."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.errors import InputError
from countenance.run import evaluate
from countenance.suites.mask_fairness.datasets import MaskData
from countenance.suites.mask_fairness.predictions import read_predictions


@pytest.fixture
def data(people):
    return MaskData(people)


def read(tmp_path, data, text, name="x.csv", **options):
    path = tmp_path / name
    path.write_text(text)
    return read_predictions(path, data, **options)


def test_named_boxes_in_pixels(tmp_path, data):
    rows = ["p00,/x/p00.png,mask,0.9,5,5,20,30", "p00,/x,nomask,0.8,40,10,30,40"]
    text = "\n".join(["image_name,image_path,class,confidence,x,y,w,h", *rows]) + "\n"
    boxes = read(tmp_path, data, text).by_id("p00")
    assert boxes.xyxy.tolist() == [[5, 5, 25, 35], [40, 10, 70, 50]]
    assert boxes.labels == ("mask", "no_mask") and boxes.scores.tolist() == [0.9, 0.8]


def test_named_boxes_normalised_as_the_published_script_writes_them(tmp_path, data):
    text = "image_name,image_path,class,confidence,x,y,w,h\np00,/x/p00.png,mask,0.9,0.0625,0.25,0.25,0.5\n"
    assert read(tmp_path, data, text).by_id("p00").xyxy.tolist() == [[5, 15, 25, 45]]


def test_corners_without_a_header_and_three_classes(tmp_path, data):
    text = "p00,1,0.9,5,5,25,35\np00,2,0.8,5,5,25,35\np01.png,3,0.7,40,10,70,50\n"
    model = read(tmp_path, data, text)
    assert model.by_id("p00").labels == ("mask", "mask") and model.by_id("p01").labels == ("no_mask",)
    assert model.by_id("p01").xyxy.tolist() == [[40, 10, 70, 50]]


def test_the_headed_file_of_the_normalising_script_has_corners_in_w_and_h(tmp_path, data):
    text = "image_id,class,confidence,x,y,w,h\np00,1,0.9,0.25,0.25,0.5,0.5\n"
    assert read(tmp_path, data, text).by_id("p00").xyxy.tolist() == [[20, 15, 40, 30]]


def test_boxes_without_confidence_are_centres_when_normalised_and_corners_in_pixels(tmp_path, data):
    assert read(tmp_path, data, "a/p00.png,tensor(0.),0.5,0.5,0.25,0.5\n").by_id("p00").xyxy.tolist() == [
        [30, 15, 50, 45]
    ]
    pixels = read(tmp_path, data, "a/p00.png,1,30,15,20,30\n")
    assert pixels.by_id("p00").xyxy.tolist() == [[30, 15, 50, 45]] and pixels.by_id("p00").labels == ("mask",)
    told = read(tmp_path, data, "p00.png,1,40,30,20,30\n", box_format="centre")
    assert told.by_id("p00").xyxy.tolist() == [[30, 15, 50, 45]]


def test_coco_results_by_number_and_by_name(tmp_path, people):
    data = MaskData(people, image_ids={"7": "p03"}, classes={1: "mask", 2: "no_mask"})
    rows = [
        {"image_id": 7, "category_id": 1, "bbox": [5, 5, 20, 30], "score": 0.9},
        {"image_id": "p04", "category_id": "without_mask", "bbox": [5, 5, 20, 30], "score": 0.5},
    ]
    model = read(tmp_path, data, json.dumps(rows), "x.json")
    assert model.by_id("p03").xyxy.tolist() == [[5, 5, 25, 35]] and model.by_id("p04").labels == ("no_mask",)
    with pytest.raises(InputError, match="category_id 9"):
        read(tmp_path, data, json.dumps([{**rows[0], "category_id": 9}]), "x.json")


def test_stored_answers_are_taken_as_they_are(tmp_path, data):
    class Detector:
        name = "constant"

        def __call__(self, images):
            return [{"boxes": [[5, 5, 25, 35]], "labels": ["mask"]} for _ in images]

    run = evaluate(Detector(), "mask_detection", data.dataset, out=tmp_path / "run")
    again = evaluate(read_predictions(run.path, data), "mask_detection", data.dataset, out=tmp_path / "again")
    assert again.scores().column("m.localised").to_pylist() == run.scores().column("m.localised").to_pylist()


def test_a_picture_without_a_row_got_no_box(tmp_path, data):
    said = []
    model = read(tmp_path, data, "p00,1,0.9,5,5,25,35\nstranger,1,0.9,5,5,25,35\n", say=said.append)
    assert len(model.by_id("p09")) == 0
    assert any("1 box is of a picture" in line for line in said) and any("9 of 10" in line for line in said)
    run = evaluate(model, "mask_detection", data.dataset, out=tmp_path / "run")
    assert sum(run.scores().column("m.localised").to_pylist()) == 1 and run.manifest["failed"] == 0


@pytest.mark.parametrize("text, message", [
    ("p00,4,0.9,5,5,25,35\n", r"line 1: class 4, expected 1 = mask"),
    ("p00,1,0.9,5,5,25\np00,1,0.9,5,5,25,1,1\n", r"line 2: 8 fields, expected 6"),
    ("p00,1,nan,5,5,25,35\n", "confidence is 'nan'"),
    ("p00,1,0.9,25,5,5,35\n", "negative width"),
    ("nobody,1,0.9,5,5,25,35\n", "names no picture of the dataset"),
    ("a,b\n", "line 1: 2 fields"),
    ("", "empty"),
])  # fmt: skip
def test_a_wrong_file_is_refused_with_its_place(tmp_path, data, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, data, text)


@settings(max_examples=60)
@given(st.text(alphabet='p0123456789,.\n"-masknomask ', max_size=120))
def test_any_text_is_read_or_refused_in_words(tmp_path_factory, text):
    from countenance.data import ArrayImage, Dataset, DatasetCard, Sample

    sample = Sample("p0", ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4)
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(text)
    try:
        read_predictions(path, MaskData(Dataset(DatasetCard(name="x"), [sample])))
    except InputError as error:
        assert str(path) in str(error)
