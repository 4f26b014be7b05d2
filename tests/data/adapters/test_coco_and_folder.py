import csv
import json
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.data import Dataset, DatasetCard, Rle, Sample, Subject, load_dataset
from countenance.data.adapters.coco import read_coco, write_coco
from countenance.data.adapters.folder import read_folder, write_folder
from countenance.data.image import ArrayImage
from countenance.data.reading.cells import rle, rles
from countenance.data.sample import truth
from countenance.data.truth_problems import check
from countenance.errors import InputError
from countenance.testing import small_dataset, write_small_dataset


def rich_dataset() -> Dataset:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 255, (12, 10, 3)).astype(np.uint8)
    mask = Rle.encode(random.random((12, 10)) > 0.5)
    subject = Subject(
        "s1",
        identity="id, with comma",
        person_box=np.array([0.1, 0.2, 9.3, 11.7]),
        face_box=np.array([1 / 3, 2 / 3, 5.1, 6.2]),
        keypoints=random.random((17, 3)),
        landmarks=random.random((5, 2)),
        mask=mask,
        face_parts={"nose": mask},
        body_parts=("Face", "Torso"),
        attributes={"age": 31.25, "skin_tone": "monk_3", "ancestry": ("Asia", "Africa"), "hair": None},
    )
    empty = Sample("b", ArrayImage(pixels), 10, 12, (), {"background": "plain"})
    return Dataset(DatasetCard(name="rich"), [Sample("a", ArrayImage(pixels), 10, 12, (subject,)), empty])


@pytest.mark.parametrize("form", ["coco", "folder"])
def test_an_export_read_back_has_the_same_truth(tmp_path, form: str) -> None:
    dataset = rich_dataset()
    (write_coco if form == "coco" else write_folder)(dataset, tmp_path / "set")
    again = load_dataset(tmp_path / "set")
    for before, after in zip(dataset, again, strict=True):
        expected, found = truth(before), truth(after)
        for person in expected["subjects"]:
            person["attributes"] = {k: v for k, v in person["attributes"].items() if v is not None}
        for person in found["subjects"]:
            person["attributes"] = {k: v for k, v in person["attributes"].items() if v is not None}
        assert found == expected
        assert np.array_equal(before.load(), after.load())


def test_a_tar_of_a_dataset_is_a_dataset(tmp_path) -> None:
    write_small_dataset(tmp_path / "set", n=4)
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "set", "set")
    assert len(load_dataset(tmp_path / "set.tar.gz")) == 4


def plain_coco(tmp_path: Path, **changes: object) -> Path:
    (tmp_path / "a.png").write_bytes(b"never opened: its size is given")
    content = {
        "images": [{"id": 1, "file_name": "a.png", "width": 20, "height": 10}],
        "annotations": [{"id": 7, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], **changes}],
        "categories": [{"id": 1, "name": "person"}],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    return tmp_path / "annotations.json"


def test_plain_coco_with_polygons_and_an_attributes_csv(tmp_path) -> None:
    path = plain_coco(tmp_path, segmentation=[[0, 0, 4, 0, 4, 4, 0, 4]], keypoints=[1, 2, 2] * 17)
    (tmp_path / "attributes.csv").write_text("annotation_id,skin_tone,age\n7,monk_4,40\n")
    (subject,) = read_coco(path)[0].subjects
    assert subject.person_box is not None and subject.person_box.tolist() == [1, 2, 4, 6]
    assert subject.mask is not None and subject.mask.decode().sum() == 16
    assert subject.attributes == {"skin_tone": "monk_4", "age": 40.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bbox": [1, 2, 3]}, r"annotations\[0\]: bbox: 3 numbers, expected 4"),
        ({"bbox": [1, 2, 3, "x"]}, r"bbox: .* is not a list of numbers"),
        ({"keypoints": [1, 2]}, r"keypoints: 2 numbers, expected 51"),
        ({"segmentation": {"size": [9, 9], "counts": "04"}}, r"segmentation of size \[9, 9\]"),
        ({"segmentation": {"size": [10, 20], "counts": "04"}}, r"run lengths cover 4 pixels"),
        ({"segmentation": {"size": [10, 20], "counts": [1, 2]}}, r"run lengths cover 3 pixels"),
        ({"segmentation": [[1, 2, 3]]}, r"not a list of polygons"),
        ({"image_id": 9}, r"image_id 9 is not among the images"),
    ],
)
def test_malformed_coco_names_the_place(tmp_path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_coco(plain_coco(tmp_path, **changes))


def test_coco_that_is_no_coco(tmp_path) -> None:
    path = tmp_path / "annotations.json"
    path.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        read_coco(path)
    path.write_text('{"imges": []}')
    with pytest.raises(InputError, match=r"no list '.*' of objects"):
        read_coco(path)


def folder_with(tmp_path: Path, text: str | bytes) -> Path:
    content = text.encode() if isinstance(text, str) else text
    (tmp_path / "labels.csv").write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,skin_tne\na.png,x\n", r"line 1: unknown column 'skin_tne' \(did you mean skin_tone"),
        ("name,skin_tone\n", r"line 1: no column 'file'"),
        ("file,width,height\n../../etc/passwd,1,1\n", r"line 2: '\.\./\.\./etc/passwd' leads out"),
        ('file,width,height,face_box\na.png,9,9,"[1,2]"\n', r"line 2: face_box: 2 numbers"),
        ("file,width,height,face_box\na.png,9,9,oops\n", r"line 2: face_box is 'oops', expected JSON"),
        ("file,width,height,age\na.png,9,9,old\n", r"line 2: age is 'old', expected a number"),
        ("file,width,height\na.png,9\n", r"line 2: 2 fields, expected 3"),
        ("file,file\n", r"column 'file' occurs twice"),
        ("", r"the file is empty"),
        (b"file,width,height\n\xff\xfe.png,9,9\n", r"line 2: not UTF-8"),
    ],
)
def test_a_malformed_table_names_the_line(tmp_path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_folder(folder_with(tmp_path, text))


def test_own_attributes_are_written_with_a_prefix_or_declared(tmp_path) -> None:
    folder_with(tmp_path, "file,width,height,attr.ward,shoe\na.png,9,9,north,42\n")
    (sample,) = read_folder(tmp_path, attributes=["shoe"])
    assert sample.subjects[0].attributes == {"ward": "north", "shoe": "42"}


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text_is_a_table_or_is_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("csv")
    try:
        read_folder(folder_with(folder, ("file,width,height\n" + text).encode("utf-8", "replace")))
    except InputError as error:
        assert "labels.csv" in str(error)


@given(st.text(max_size=40), st.integers(1, 20), st.integers(1, 20))
def test_any_run_lengths_fit_the_picture_or_are_refused(counts: str, width: int, height: int) -> None:
    try:
        found = rle(counts, width, height, "x")
    except InputError:
        return
    assert found.decode().shape == (height, width)


MASK_TEXTS = st.sampled_from(["04", "13", "0112", "", "0", "P", "é", "05", b"04", 4, None])


@given(st.dictionaries(st.sampled_from(["nose", "hair", "lips"]), MASK_TEXTS))
@settings(max_examples=100)
def test_masks_read_together_are_those_read_one_by_one(masks: dict[str, object]) -> None:
    try:
        expected = {name: rle(counts, 2, 2, f"row 2: face_parts {name}") for name, counts in masks.items()}
    except InputError as error:
        with pytest.raises(InputError, match=f"^{re.escape(str(error))}$"):
            rles(masks, 2, 2, "row 2: face_parts")
    else:
        assert rles(masks, 2, 2, "row 2: face_parts") == expected


def test_check_finds_every_kind_of_problem(tmp_path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=8)
    with (folder / "labels.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    rows[0]["face_box"] = "[-9, 0, 5, 5]"
    rows[1]["face_box"] = "[9, 9, 5, 5]"
    rows[2]["attr.skin_tone"] = "monk_11"
    rows[3]["sample"] = rows[4]["sample"]
    rows[5]["width"] = "65"
    (folder / rows[6]["file"]).unlink()
    (folder / rows[7]["file"]).write_bytes(b"")
    with (folder / "labels.csv").open("w") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    kinds = {problem.kind for problem in check(load_dataset(folder))}
    assert kinds == {
        "box outside the image",
        "empty box",
        "unknown attribute value",
        "duplicate id",
        "wrong size",
        "missing image",
        "unreadable image",
    }


def test_a_clean_dataset_has_no_problem_and_a_stable_fingerprint() -> None:
    dataset = small_dataset(6)
    assert check(dataset) == []
    assert dataset.fingerprint() == small_dataset(6).fingerprint()
    assert dataset.fingerprint() != small_dataset(6, seed=1).fingerprint()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"segmentation": [[float("nan"), 1, 2, 3, 4, 5]]}, "not a list of polygons"),
        ({"segmentation": [[1e8, 1, -1e8, 3, 4, 1e8]]}, "numbers near the picture"),
        ({"bbox": [10**400, 2, 3, 4]}, "is not a list of numbers"),
        ({"body_parts": 3}, "body_parts: expected a list of names"),
        ({"attributes": 5}, "attributes: expected names with values"),
        ({"image_id": {"a": 1}}, "expected a number or text"),
    ],
)
def test_hostile_coco_is_refused_at_once(tmp_path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_coco(plain_coco(tmp_path, **changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("annotation_id,skin_tone\n7,monk_1\n7,monk_2\n", "line 3: annotation_id '7' has a row already"),
        ("annotation_id,skin_tone\nabc,monk_1\n", "line 2: annotation_id 'abc' is not in the dataset"),
        ("annotation_id,skin_tne\n7,monk_1\n", "unknown column 'skin_tne'"),
    ],
)
def test_an_attributes_table_that_does_not_fit_is_refused(tmp_path, text: str, message: str) -> None:
    path = plain_coco(tmp_path)
    (tmp_path / "attributes.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_coco(path)


def test_two_samples_with_one_name_are_not_exported_over_each_other(tmp_path) -> None:
    pixels = np.zeros((4, 4, 3), np.uint8)
    twice = Dataset(
        DatasetCard(name="twice"), [Sample("a", ArrayImage(pixels), 4, 4), Sample("a.png", ArrayImage(pixels), 4, 4)]
    )
    with pytest.raises(InputError, match="already another sample's picture"):
        write_folder(twice, tmp_path / "out")


def test_every_missing_picture_is_a_problem_of_its_own(tmp_path) -> None:
    folder_with(tmp_path, "file,subject\nx.png,0\ny.png,0\n")
    assert [problem.kind for problem in check(load_dataset(tmp_path))] == ["missing image", "missing image"]


@pytest.mark.parametrize(
    "text",
    [
        "annotation_id,skin_tone\n7,monk_4\n",
        "annotation_id,skin_tone\n7.0,monk_4\n",  # a spreadsheet's or a DataFrame's number
        "image_id,skin_tone\n1,monk_4\n",
        "file_name,skin_tone\na.png,monk_4\n",
        "file,skin_tone\nC:\\old\\a.png,monk_4\n",
        "filename,skin_tone\n/elsewhere/images/a.png,monk_4\n",
        "image,face,skin_tone\na,0,monk_4\n",
        "\ufeffskin_tone,file_name,annotation_id\r\nmonk_4,a.png,7\r\n",
    ],
)
def test_attributes_are_keyed_by_annotation_image_or_file(tmp_path, text: str) -> None:
    path = plain_coco(tmp_path)
    (tmp_path / "attributes.csv").write_bytes(text.encode())
    assert read_coco(path)[0].subjects[0].attributes == {"skin_tone": "monk_4"}


def test_ids_that_mean_two_are_refused(tmp_path) -> None:
    path = plain_coco(tmp_path)
    content = json.loads(path.read_text())
    for key, message in (
        ("images", r"images\[1\]: id 1 occurs twice"),
        ("categories", "category id 1 occurs twice"),
        ("annotations", r"annotation id 7 occurs twice, and attributes\.csv is keyed by annotation_id"),
    ):
        path.write_text(json.dumps({**content, key: content[key] * 2}))
        (tmp_path / "attributes.csv").write_text("annotation_id,skin_tone\n7,monk_4\n")
        with pytest.raises(InputError, match=message):
            read_coco(path)
    (tmp_path / "attributes.csv").unlink()
    assert len(read_coco(path)[0].subjects) == 2  # nobody needs the ids


def test_coco_of_another_machine(tmp_path) -> None:
    path = plain_coco(tmp_path)
    for name in ("/home/she/set/a.png", "C:\\set\\a.png"):
        content = json.loads(path.read_text())
        content["images"][0]["file_name"] = name
        path.write_text(json.dumps(content))
        assert read_coco(path)[0].id == "a.png"
    content["images"][0]["file_name"] = "/etc/passwd"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="leads out of its folder"):
        read_coco(path)
    with pytest.raises(InputError, match="negative side, expected x, y, width, height"):
        read_coco(plain_coco(tmp_path, bbox=[5, 5, -1, 2]))


def test_a_missing_first_picture_does_not_hide_the_folder_of_the_others(tmp_path) -> None:
    from PIL import Image

    (tmp_path / "images").mkdir()
    Image.new("RGB", (20, 10)).save(tmp_path / "images" / "b.png")
    images = [{"id": 1, "file_name": "gone.png"}, {"id": 2, "file_name": "b.png"}]
    content = {"images": images, "annotations": [], "categories": []}
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    gone, there = load_dataset(tmp_path)
    assert (gone.width, there.width) == (0, 20) and there.load().shape == (10, 20, 3)


def test_the_current_folder_has_its_name(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "streets").mkdir()
    plain_coco(tmp_path / "streets")
    monkeypatch.chdir(tmp_path / "streets")
    assert load_dataset("coco:annotations.json").card.name == load_dataset("coco:.").card.name == "streets"
    write_small_dataset(tmp_path / "people", n=2)
    (tmp_path / "people" / "card.json").unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path / "people")
    assert load_dataset(".").card.name == "people"
