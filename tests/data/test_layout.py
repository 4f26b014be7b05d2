"""Folders in others' layouts: the faces that they list, cut pictures, tables, cards and boxes for detectors."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from countenance.data import ArrayImage, Dataset, Sample, Subject
from countenance.data.card import DatasetCard
from countenance.data.image import decode
from countenance.data.layout import FolderWriter, face_crop, listed_faces, whole_people
from countenance.data.reading.box_files import write_boxes

CARD = DatasetCard(name="made", licence="CC0")


def sample(name, *subjects, **attributes) -> Sample:
    return Sample(name, ArrayImage(np.zeros((20, 40, 3), np.uint8)), 40, 20, subjects, attributes)


def person(number, box=(4.0, 2, 14, 12), **attributes) -> Subject:
    return Subject(str(number), f"p{number}", face_box=None if box is None else np.array(box), attributes=attributes)


def test_faces_with_a_box_are_listed_with_their_picture():
    files = []

    def file(one):
        files.append(one.id)
        return f"{one.id}.png"

    pictures = [
        sample("a", person(0), person(1, None), person(2, (0, 0, 40, 20), light="own", tags=("x", "y")), light="dim"),
        sample("b", person(3, None)),
    ]
    first, second = listed_faces(pictures, file)
    assert files == ["a"]
    assert [(face.subject.id, face.index, face.file) for face in (first, second)] == [
        ("0", 0, "a.png"),
        ("2", 1, "a.png"),
    ]
    assert first.corners == [4, 2, 14, 12] and first.sized == [4, 2, 10, 10]
    assert first.centre == [9 / 40, 7 / 20, 10 / 40, 10 / 20]
    assert first.about(["light", "tags", "age"]) == {"light": "dim", "tags": None, "age": None}
    assert second.about(["light", "tags"]) == {"light": "own", "tags": "x|y"}


def test_pictures_are_cut_and_scaled_and_each_is_a_step(tmp_path):
    steps = []
    layout = FolderWriter(tmp_path, lambda: steps.append(1))
    pixels = np.zeros((8, 6, 3), np.uint8)
    pixels[2:6, 1:5] = 200
    layout.picture("a/whole.png", pixels)
    layout.picture("a/cut.png", pixels, crop=(1, 2, 5, 6), side=8, how="NEAREST")
    layout.picture("a/cut.jpg", pixels, side=16, form="JPEG", quality=95)
    assert np.array_equal(decode((tmp_path / "a/whole.png").read_bytes()), pixels)
    assert np.array_equal(decode((tmp_path / "a/cut.png").read_bytes()), np.full((8, 8, 3), 200, np.uint8))
    content = (tmp_path / "a/cut.jpg").read_bytes()
    assert content[:2] == b"\xff\xd8" and decode(content).shape == (16, 16, 3)
    assert len(steps) == 3


def test_tables_texts_and_cards(tmp_path):
    layout = FolderWriter(tmp_path)
    layout.table("t/a.csv", [{"a": 1, "b": "x, y"}, {"a": [2], "b": ""}])
    layout.table("t/b.csv", [{"a": 1}], line_end="\r\n")
    layout.text("t/c.txt", ["é", "f"])
    layout.card(CARD, "t", name="other")
    assert (tmp_path / "t/a.csv").read_text() == 'a,b\n1,"x, y"\n[2],\n'
    assert (tmp_path / "t/b.csv").read_bytes() == b"a\r\n1\r\n"
    assert (tmp_path / "t/c.txt").read_bytes() == "é\nf\n".encode()
    assert DatasetCard.read(tmp_path / "t/card.json") == CARD.model_copy(update={"name": "other"})


def test_whole_people_are_chosen_evenly():
    pictures = [sample(f"{who}{k}", person(who)) for who in range(10) for k in range(3)]
    pictures.append(sample("two", person(0), person(1)))
    chosen = whole_people(Dataset(CARD, pictures), 12)
    assert [one.id for one in chosen] == [f"{who}{k}" for who in (0, 2, 5, 7) for k in range(3)]
    assert len(whole_people(Dataset(CARD, pictures), 1)) == 6  # two people at least
    assert len(whole_people(Dataset(CARD, pictures), 1000)) == 30
    assert len(whole_people(Dataset(CARD, []), 5)) == 0


@pytest.mark.parametrize(
    ("box", "size", "crop"),
    [
        ((40, 40, 60, 60), (100, 100), (34, 34, 66, 66)),
        ((0, 40, 20, 50), (100, 100), (0, 29, 32, 61)),
        ((90, 90, 100, 100), (100, 100), (84, 84, 100, 100)),
        ((10, 0, 90, 100), (100, 80), (10, 0, 90, 80)),
    ],
)
def test_a_face_is_cut_out_with_space_around_it_inside_the_picture(box, size, crop):
    assert face_crop(np.array(box, float), *size) == crop


@pytest.fixture
def faces(tmp_path):
    pictures = [sample("a", person(0, masked="no"), person(1, (0, 0, 8, 4), masked="yes")), sample("b", person(2))]
    return list(listed_faces(pictures, lambda one: f"images/{one.id}.png"))


def written(form, faces, out):
    (out / "images").mkdir()
    write_boxes(form, faces, ("bare", "covered"), lambda face: int(face.subject.attributes.get("masked") == "yes"), out)
    return out


def test_yolo_has_a_file_beside_each_picture(tmp_path, faces):
    out = written("yolo", faces, tmp_path)
    assert (out / "classes.txt").read_text() == "bare\ncovered\n"
    assert (out / "images/a.txt").read_text() == "0 0.225 0.35 0.25 0.5\n1 0.1 0.1 0.2 0.2\n"
    assert (out / "images/b.txt").read_text() == "0 0.225 0.35 0.25 0.5\n"


def test_voc_says_class_and_corners(tmp_path, faces):
    root = ElementTree.parse(written("voc", faces, tmp_path) / "images/a.xml").getroot()
    assert [root.find(f"size/{name}").text for name in ("width", "height", "depth")] == ["40", "20", "3"]
    assert [one.find("name").text for one in root.iter("object")] == ["bare", "covered"]
    assert [side.text for side in root.findall("object")[1].find("bndbox")] == ["0.0", "0.0", "8.0", "4.0"]
    assert root.find("filename").text == "a.png"


def test_coco_numbers_images_annotations_and_categories_from_one(tmp_path, faces):
    found = json.loads((written("coco", faces, tmp_path) / "annotations.json").read_text())
    assert [(one["id"], one["file_name"], one["width"], one["height"]) for one in found["images"]] == [
        (1, "images/a.png", 40, 20),
        (2, "images/b.png", 40, 20),
    ]
    assert found["categories"] == [{"id": 1, "name": "bare"}, {"id": 2, "name": "covered"}]
    assert found["annotations"][1] == {
        "id": 2,
        "image_id": 1,
        "category_id": 2,
        "bbox": [0, 0, 8, 4],
        "area": 32,
        "iscrowd": 0,
    }
    assert [(one["id"], one["image_id"]) for one in found["annotations"]] == [(1, 1), (2, 1), (3, 2)]
