"""COCO categories: people, faces, and what is left out; COCO's own layout on disk."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from countenance.cli.app import run as run_command
from countenance.data import load_dataset
from countenance.data.adapters.coco import write_coco
from countenance.data.categories import kind_of, parse_categories
from countenance.errors import InputError
from countenance.run import Run, evaluate

COCO_NAMES = ("person", "bicycle", "car", "motorcycle", "bus", "dog", "face mask", "handbag")


def coco(root: Path, categories: dict[int, str], annotations: list[tuple[int, list[float]]], **more) -> Path:
    """A COCO file in the published layout: annotations/instances_val2017.json and val2017/."""
    (root / "annotations").mkdir(parents=True)
    (root / "val2017").mkdir()
    Image.fromarray(np.full((60, 80, 3), 90, np.uint8)).save(root / "val2017" / "000000000139.jpg")
    content = {
        "info": {"description": "COCO 2017 Dataset"},
        "licenses": [{"id": 1, "name": "Attribution"}],
        "images": [{"id": 139, "file_name": "000000000139.jpg", "width": 80, "height": 60, "license": 1}],
        "annotations": [
            {
                "id": i + 1,
                "image_id": 139,
                "category_id": category,
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": 0,
                "segmentation": [[1, 1, 5, 1, 5, 5]],
            }
            for i, (category, box) in enumerate(annotations)
        ],
        "categories": [{"supercategory": "x", "id": key, "name": name} for key, name in categories.items()],
    }
    content.update(more)
    path = root / "annotations" / "instances_val2017.json"
    path.write_text(json.dumps(content))
    return path


BOX = [10, 20, 30, 25]
CARS = {3: "car", 18: "dog"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("person", "person"),
        ("Person", "person"),
        ("pedestrian", "person"),
        ("woman", "person"),
        ("face", "face"),
        ("Human face", "face"),
        ("human_head", "face"),
        ("head", "face"),
        ("car", None),
        ("face mask", None),
        ("personal computer", None),
        ("", None),
    ],
)
def test_a_category_is_chosen_by_its_name(name, kind):
    assert kind_of(name) == kind


def test_people_are_read_and_the_rest_is_counted_and_named(tmp_path):
    names = dict(enumerate(COCO_NAMES, 1))
    path = coco(tmp_path, names, [(1, BOX), (3, BOX), (3, BOX), (6, BOX)])
    dataset = load_dataset(path)
    (sample,) = dataset
    assert [subject.person_box.tolist() for subject in sample.subjects] == [[10, 20, 40, 45]]
    assert sample.load().shape == (60, 80, 3)  # found in val2017/
    assert dataset.notes == (
        "instances_val2017.json: 3 annotations are of no person and no face and left out (2 car, 1 dog); "
        "categories= says which categories are people or faces, such as face=1,person=18",
    )
    assert len(load_dataset(tmp_path)) == 1  # the folder that the archives were unpacked into


def test_a_file_of_cars_is_no_dataset_of_people(tmp_path, capsys):
    path = coco(tmp_path, CARS, [(3, BOX)] * 5 + [(18, BOX)])
    assert run_command(["data", "check", str(path)]) == 2
    shown = capsys.readouterr()
    assert "none of its 6 annotations is of a person or a face (they are of car, dog)" in shown.err
    assert "people, no problem found" not in shown.out


def test_results_may_name_images_by_their_number(tmp_path):
    path = coco(tmp_path, {1: "person"}, [(1, BOX)])
    results = tmp_path / "results.json"
    results.write_text(json.dumps([{"image_id": 139, "category_id": 1, "bbox": BOX, "score": 0.9}]))
    run = evaluate(f"predictions:{results}", "person_localization", path, out=tmp_path / "run")
    assert run.results()[0].value == 1.0 and run.notes == []


def test_the_user_chooses_by_number_and_by_name(tmp_path):
    path = coco(tmp_path, {1: "visage", 18: "runner", 3: "person"}, [(1, BOX), (18, BOX), (3, BOX)])
    dataset = load_dataset(path, categories="face=1,person=runner")
    boxes = [(s.face_box is not None, s.person_box is not None) for s in dataset[0].subjects]
    assert boxes == [(True, False), (False, True)]
    assert "1 annotation is of no person and no face and left out (1 person)" in dataset.notes[0]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("face", "expected person=ID or face=ID"),
        ("dog=3", "expected person=ID or face=ID"),
        ("face=7", "names '7', which is not a category there; there are 3 car, 18 dog"),
        ("face=cat", r"names 'cat' \(did you mean car"),
        ("face=3,person=3", "both a person and a face"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(tmp_path, chosen, message):
    with pytest.raises(InputError, match=message):
        load_dataset(coco(tmp_path, CARS, [(3, BOX)]), categories=chosen)


def test_a_file_that_names_no_categories_must_be_told(tmp_path):
    path = coco(tmp_path, {}, [(1, BOX)])
    with pytest.raises(InputError, match=r'category_id 1 is not among the categories; .*categories="person=1"'):
        load_dataset(path)
    assert load_dataset(path, categories="face=1")[0].subjects[0].face_box is not None


def test_a_crowd_is_nobody(tmp_path):
    path = coco(tmp_path, {1: "person"}, [(1, BOX), (1, BOX)])
    content = json.loads(path.read_text())
    content["annotations"][1] |= {"iscrowd": 1, "segmentation": {"size": [60, 80], "counts": [4800]}}
    path.write_text(json.dumps(content))
    dataset = load_dataset(path)
    (person,), (_, region) = dataset[0].people, dataset[0].subjects
    assert not person.ignored and region.ignored and region.mask is None
    assert region.person_box is not None and "1 region (iscrowd, ignore) is not counted" in dataset.notes[0]
    assert dataset.attribute_names() == []
    write_coco(dataset, tmp_path / "copy")
    assert [subject.ignored for subject in load_dataset(tmp_path / "copy")[0].subjects] == [False, True]


def test_the_pixels_of_a_face_are_not_the_mask_of_a_person(tmp_path):
    (face,) = load_dataset(coco(tmp_path, {1: "face"}, [(1, BOX)]))[0].subjects
    assert face.mask is None and face.face_box.tolist() == [10, 20, 40, 45]


def test_masked_and_unmasked_faces_are_faces_and_a_mask_alone_is_an_object(tmp_path):
    both = load_dataset(coco(tmp_path / "a", {1: "with_mask", 2: "without_mask"}, [(1, BOX), (2, BOX)]))
    assert [dict(s.attributes)["masked"] for s in both[0].subjects] == ["yes", "no"]
    assert all(s.face_box is not None for s in both[0].subjects)
    with pytest.raises(InputError, match="none of its 1 annotations"):
        load_dataset(coco(tmp_path / "b", {1: "mask"}, [(1, BOX)]))


def test_a_choice_for_a_dataset_that_is_no_coco_file_is_refused():
    with pytest.raises(InputError, match="categories= is for COCO files"):
        load_dataset("people:portraits", categories="face=1")


def test_several_files_are_not_guessed_among(tmp_path):
    path = coco(tmp_path, {1: "person"}, [(1, BOX)])
    path.with_name("person_keypoints_val2017.json").write_text(path.read_text())
    with pytest.raises(
        InputError, match=r"holds 2 COCO files \(annotations/instances_val2017.json, annotations/person"
    ):
        load_dataset(tmp_path)


def test_a_run_remembers_its_categories(tmp_path, capsys):
    path = coco(tmp_path, {1: "visage", 3: "car"}, [(1, BOX), (3, BOX)])
    (tmp_path / "annotations" / "attributes.csv").write_text("annotation_id,gender\n1,female\n2,male\n")
    command = ["run", "face_localization", "--model", "haar", "--data", path, "--out", tmp_path / "run", "--quiet"]
    assert run_command([str(part) for part in command]) == 2
    assert "none of its 2 annotations" in capsys.readouterr().err
    assert run_command([str(part) for part in [*command, "--categories", "face=1"]]) == 0
    assert "1 annotation is of no person and no face and left out (1 car)" in capsys.readouterr().err
    run = Run(tmp_path / "run")
    assert run.manifest["dataset"]["categories"] == "face=1"
    assert run.dataset().truth_fingerprint() == run.manifest["dataset"]["fingerprint"]
    assert "1 annotation is of no person" in (run.path / "report.html").read_text()
    assert len(evaluate("haar", "face_localization", path, categories="face=1").scores()) == 2


@pytest.mark.parametrize("command", ["show", "check"])
def test_the_data_commands_take_the_choice(tmp_path, capsys, command):
    path = coco(tmp_path, CARS, [(3, BOX), (18, BOX)])
    assert run_command(["data", command, str(path), "--categories", "person=3"]) == 0
    assert "(1 dog)" in capsys.readouterr().err


@given(st.text(max_size=30))
def test_any_choice_is_read_or_refused_in_words(text):
    try:
        assert all(kind in ("person", "face") for kind, _ in parse_categories(text))
    except InputError as error:
        assert "categories=" in str(error)
