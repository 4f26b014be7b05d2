"""The adapters: conventions checked, damage repaired, hostile files refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject, load_dataset
from countenance.data.adapters.fairface import AGES, repaired_age
from countenance.data.adapters.mask_fairness import ReadingOptions, compared_by, load_mask_data, source_of
from countenance.data.reading.box_readings import YOLO, checked_corners
from countenance.data.reading.label_files import read_voc, read_yolo
from countenance.errors import InputError
from countenance.metrics.readings import READINGS, Reading
from countenance.suites.mask_fairness.made_data import FORMATS, make_data

HEADER = "index,filename,x,y,dx,dy,mask,skincolor,sex\n"


def fairface(root: Path, *rows: str) -> Path:
    (root / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + "\n".join(rows) + "\n")
    return root


def test_fairface_mends_what_a_spreadsheet_broke_and_says_so_once(pictures):
    root = fairface(
        pictures([f"val/{i}.jpg" for i in range(1, 6)]),
        "val/1.jpg,03-Sep,Male,White,TRUE",
        "val/2.jpg,9-Mar,Female,Black,FALSE",
        "val/3.jpg,Oct-19,Male,Indian,TRUE",
        "val/4.jpg,19-Oct,Male,White,TRUE",
        "val/5.jpg,more than 70,Male,White,TRUE",
    )
    data = load_mask_data("fairface", root)
    ages = [sample.subjects[0].attributes["age_group"] for sample in data.dataset]
    assert ages == ["3-9", "3-9", "10-19", "10-19", "more than 70"]
    assert len(data.dataset.notes) == 1 and "4 ages" in data.dataset.notes[0]
    assert data.task == "mask_detection_one_face" and data.attributes == ("age_group", "gender", "race")
    assert {sample.subjects[0].attributes["masked"] for sample in data.dataset} == {"no"}


@given(st.sampled_from(AGES), st.booleans(), st.booleans())
def test_every_age_group_survives_a_spreadsheet(age, turned, padded):
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    low, _, high = age.partition("-")
    if high and 1 <= int(low) <= 12:
        other = high.zfill(2) if padded else high
        damaged = f"{other}-{months[int(low) - 1]}" if turned else f"{months[int(low) - 1]}-{other}"
    else:
        damaged = age
    assert repaired_age(damaged, "row 2") == age


def test_an_age_that_cannot_be_mended_is_refused_with_its_row(pictures):
    root = fairface(pictures(["val/1.jpg"]), "val/1.jpg,11-Dec,Male,White,TRUE")
    with pytest.raises(InputError, match=r"line 2: age '11-Dec' is not one of 0-2"):
        load_mask_data("fairface", root)


def test_missing_photographs_are_refused_or_counted(pictures):
    root = fairface(pictures(["val/1.jpg"]), "val/1.jpg,20-29,Male,White,T", "val/2.jpg,20-29,Male,White,T")
    with pytest.raises(InputError, match=r"line 3: val/2.jpg not there; only_present=True assesses the 1 that are"):
        load_mask_data("fairface", root)
    present = load_mask_data("fairface", root, ReadingOptions(only_present=True)).dataset
    assert len(present) == 1 and "1 of 2 pictures are not there" in present.notes[0]


def test_a_name_that_leads_out_of_the_folder_is_refused(pictures):
    root = fairface(pictures(["val/1.jpg"]), "../../etc/passwd,20-29,Male,White,T")
    with pytest.raises(InputError, match="leads out of its folder"):
        load_mask_data("fairface", root)


def annotated(root: Path, *rows: str) -> Path:
    (root / "annotations.csv").write_text(HEADER + "\n".join(rows) + "\n")
    return root


def test_annotated_bafmd_reads_centres_by_default(pictures):
    root = annotated(pictures(["a.jpg"]), "0,a.jpg,0.5,0.5,0.2,0.4,1,dark,female", "1,a.jpg,0.1,0.2,0.2,0.2,0,,male")
    (sample,) = load_mask_data("bafmd", root).dataset
    first, second = sample.subjects
    assert first.face_box.tolist() == [40, 15, 60, 35]
    assert dict(first.attributes) == {"masked": "yes", "skincolor": "dark", "sex": "female"}
    assert second.attributes["skincolor"] is None and second.attributes["masked"] == "no"


def test_annotated_bafmd_reads_topleft_pixels_when_told(pictures):
    root = annotated(pictures(["images/a.jpg"]), "0,a.jpg,40,15,20,20,1,dark,female")
    data = load_mask_data("bafmd", root, ReadingOptions(reading=Reading("xywh", "px")))
    assert data.dataset[0].subjects[0].face_box.tolist() == [40, 15, 60, 35]


def test_a_wrong_reading_is_refused_and_every_one_that_fits_is_named(pictures):
    rows = [f"{i},a.jpg,0.{70 + i},0.6,0.2,0.4,1,dark,female" for i in range(10)]  # corners, near the right edge
    root = annotated(pictures(["a.jpg"]), *[f"{i},a.jpg,0.02,0.1,0.3,0.4,1,dark,female" for i in range(10)], *rows)
    with pytest.raises(InputError, match='this reading fits: truth_boxes="xywh", truth_units="rel"'):
        load_mask_data("bafmd", root)
    both = 'these readings fit: truth_boxes="xywh", truth_units="px" .* or truth_boxes="cxcywh", truth_units="px"'
    with pytest.raises(InputError, match=both):
        load_mask_data("bafmd", annotated(root, "0,a.jpg,50,25,20,20,1,dark,female"))
    told = 'no number is above 1; these readings fit: truth_boxes="xywh", truth_units="rel" .* or truth_boxes="cxcywh"'
    with pytest.raises(InputError, match=told):
        load_mask_data(
            "bafmd", annotated(root, "0,a.jpg,0.5,0.5,0.2,0.2,1,a,b"), ReadingOptions(Reading("cxcywh", "px"))
        )


@given(st.sampled_from(READINGS), st.integers(0, 2**32 - 1))
def test_the_true_reading_is_never_refused(reading, seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(200, 2000, (50, 2)).astype(float)
    size = random.uniform(0.05, 0.5, (50, 2))
    first = random.uniform(0, 1, (50, 2)) * (1 - size)
    corners = np.hstack([first, first + size]) * np.tile(sizes, 2)
    found = checked_corners(reading.numbers(corners, sizes), sizes, reading, "x.csv")
    assert np.allclose(found, corners)


def test_five_percent_outside_is_allowed_and_more_is_not():
    inside, outside = [0.5, 0.5, 0.2, 0.2], [0.95, 0.5, 0.2, 0.2]
    sizes = np.full((20, 2), 100.0)
    checked_corners(np.array([inside] * 19 + [outside]), sizes, YOLO, "x.csv")
    with pytest.raises(InputError, match="10 % of 20 boxes"):
        checked_corners(np.array([inside] * 18 + [outside] * 2), sizes, YOLO, "x.csv")


def test_raw_bafmd_in_yolo_and_voc(pictures):
    root = pictures(["a.jpg", "b.jpg", "c.jpg"])
    (root / "a.txt").write_text("1 0.5 0.5 0.2 0.4\n0 0.1 0.2 0.1 0.2\n")
    (root / "labels").mkdir()
    (root / "labels" / "b.txt").write_text("")
    a, b = dataset = load_mask_data("bafmd-yolo", root).dataset
    assert a.subjects[0].face_box.tolist() == [40, 15, 60, 35] and a.subjects[0].attributes["masked"] == "yes"
    assert a.subjects[1].attributes["masked"] == "no" and b.subjects == ()
    assert "1 picture has no .txt file and is left out" in dataset.notes[0]
    box = "<bndbox><xmin>40</xmin><ymin>15</ymin><xmax>60</xmax><ymax>35</ymax></bndbox>"
    (root / "c.xml").write_text(f"<annotation><object><name>without_mask</name>{box}</object></annotation>")
    (c,) = load_mask_data("bafmd-voc", root).dataset
    assert c.subjects[0].face_box.tolist() == [40, 15, 60, 35] and c.subjects[0].attributes["masked"] == "no"


@pytest.mark.parametrize(
    "text, message",
    [
        ('<!DOCTYPE a [<!ENTITY x "boom">]><annotation/>', "document type or entities"),
        ("<annotation><object></annotation>", "not XML"),
        ("<annotation><object><name>mask</name></object></annotation>", "object 1: no bndbox"),
        ("<annotation><object><name>mask</name><bndbox><xmin>a</xmin></bndbox></object></annotation>", "xmin is 'a'"),
    ],
)
def test_a_hostile_or_broken_voc_file_is_refused(tmp_path, text, message):
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_voc(path, 100, 50)


@given(st.text(max_size=80))
def test_any_text_as_a_yolo_file_is_read_or_refused_in_words(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("yolo") / "a.txt"
    path.write_bytes(text.encode("utf-8", "replace"))
    try:
        assert all(box.shape == (4,) for box, *_ in read_yolo(path, 100, 50))
    except InputError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("form", FORMATS)
def test_what_make_data_writes_is_read_back_the_same(people, tmp_path, form):
    out = tmp_path / "out"
    assert make_data(people, out, form) == 20
    data = load_mask_data("bafmd", out) if form == "bafmd" else load_mask_data("folder", out)
    assert len(data.dataset) == 10
    for before, after in zip(people, data.dataset, strict=True):
        for one, two in zip(before.subjects, after.subjects, strict=True):
            assert np.allclose(one.face_box, two.face_box)
            assert dict(one.attributes) == {k: v for k, v in two.attributes.items() if v is not None}


def test_an_attribute_row_of_an_unknown_picture_is_refused(people, tmp_path):
    make_data(people, tmp_path / "out", "voc")
    with (tmp_path / "out" / "attributes.csv").open("a") as stream:
        stream.write("images/nobody.png,0,x,y\n")
    with pytest.raises(InputError, match=r"line 22: file 'images/nobody.png' is not in the dataset of 10 images"):
        load_mask_data("folder", tmp_path / "out")


def test_a_split_that_is_not_there_is_told(people):
    assert people.split(None) is people
    with pytest.raises(InputError, match="has no split 'test'; it has no splits"):
        people.split("test")


def with_values(**values: list) -> Dataset:
    """A picture with a face for each value of the attributes."""
    n = max(map(len, values.values()))
    faces = tuple(Subject(str(i), attributes={name: given[i] for name, given in values.items()}) for i in range(n))
    return Dataset(DatasetCard(name="x"), [Sample("a", ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4, faces)])


def test_what_is_compared_where_nothing_is_named():
    """The usual attributes where there are some; else those with 2 to 20 known values, no numbers and no masks."""
    many = [f"v{i}" for i in range(21)]
    common = {"masked": ["yes"] * 21, "ward": ["n", "s", None] * 7}
    assert compared_by(with_values(**common, sex=["f"] * 21, skincolor=["dark"] * 21)) == ("skincolor", "sex")
    assert compared_by(with_values(**common, one=["a", None, "a"] * 7, many=many)) == ("ward",)
    assert compared_by(with_values(**common, twenty=[*many[:20], None], age=[1.0, 2.0, 3.0] * 7)) == ("ward", "twenty")
    assert compared_by(with_values(masked=["yes", "no"])) == ()


def test_a_source_names_what_was_asked_and_is_read_again(pictures):
    root = annotated(pictures(["a.jpg"]), "0,a.jpg,40,15,20,20,1,dark,female")
    asked = ReadingOptions(Reading("xywh", "px"), {0: "mask"}, root / "annotations.csv", True, None)
    source = source_of("bafmd", root, asked)
    assert source is not None
    options = "name=bafmd&form=xywh&units=px&attributes=annotations.csv&classes=0=mask&only_present=yes"
    assert source == f"mask_fairness:{root}?{options}"
    assert load_dataset(source)[0].subjects[0].face_box.tolist() == [40, 15, 60, 35]
    assert source_of("bafmd", root, ReadingOptions(attributes=root.parent / "elsewhere.csv")) is None
    assert source_of("people", None, asked) is None
    for wrong in ("form=corner", "units=inches"):
        with pytest.raises(InputError, match=r"expected one of (xyxy, xywh, cxcywh, xxyy, yxyx|px, rel)"):
            load_dataset(f"mask_fairness:{root}?name=bafmd&{wrong}")
    with pytest.raises(InputError, match=r"expected mask_fairness:FOLDER\?name=bafmd"):
        load_dataset(f"mask_fairness:{root}?split=test")
