"""Folders of pictures with YOLO or Pascal VOC label files, and published sets in a folder, through `load_dataset`."""

from pathlib import Path

import pytest
from PIL import Image

from countenance.cli.app import run as run_command
from countenance.data import load_dataset
from countenance.errors import InputError


def yolo_folder(root: Path, names: str | None = "head\nperson\ndog\n") -> Path:
    """Two pictures in Ultralytics' layout; the first shows a head, a person and a dog, the second nobody."""
    for folder in ("images/val", "labels/val"):
        (root / folder).mkdir(parents=True)
    for name, lines in (("a", "0 .5 .5 .2 .4\n1 .5 .5 .6 .9\n2 .1 .1 .1 .1\n"), ("b", "")):
        Image.new("RGB", (200, 100)).save(root / f"images/val/{name}.jpg")
        (root / f"labels/val/{name}.txt").write_text(lines)
    if names is not None:
        (root / "classes.txt").write_text(names)
    return root


def voc_folder(root: Path, *words: str) -> Path:
    box = "<bndbox><xmin>40</xmin><ymin>15</ymin><xmax>60</xmax><ymax>35</ymax></bndbox>"
    root.mkdir()
    Image.new("RGB", (200, 100)).save(root / "a.jpg")
    objects = "".join(f"<object><name>{word}</name>{box}</object>" for word in words)
    (root / "a.xml").write_text(f"<annotation>{objects}</annotation>")
    return root


def test_class_names_say_who_is_a_person_and_what_is_a_face(tmp_path):
    data = load_dataset(yolo_folder(tmp_path / "set"))
    head, person = data[0].subjects
    assert head.face_box.tolist() == [80, 30, 120, 70] and head.person_box is None
    assert person.person_box.tolist() == pytest.approx([40, 5, 160, 95]) and person.face_box is None
    assert data[1].subjects == () and data.name == "set" and data.categories == {0: "face", 1: "person", 2: "dog"}
    assert data.notes[0] == "set: classes of the label files: 0 = head, 1 = person, 2 = dog (set/classes.txt)"
    assert "1 annotation is of no person and no face and left out (1 dog)" in data.notes[1]


@pytest.mark.parametrize("chosen", ["face=2", "face=dog"])
def test_the_user_may_choose_classes_by_number_or_name(tmp_path, chosen):
    (dog,) = load_dataset(yolo_folder(tmp_path / "set"), categories=chosen)[0].subjects
    assert dog.face_box.tolist() == pytest.approx([10, 5, 30, 15])


def test_class_numbers_that_nothing_names_must_be_chosen(tmp_path):
    root = yolo_folder(tmp_path / "set", names=None)
    with pytest.raises(InputError, match=r"no file names the classes of its label files \(0, 1, 2\); add"):
        load_dataset(root)
    face, person = load_dataset(root, categories="face=0,person=1")[0].subjects
    assert face.face_box is not None and person.person_box is not None


def test_classes_of_masks_are_faces_that_say_it(tmp_path):
    (masked, bare) = load_dataset(voc_folder(tmp_path / "set", "with_mask", "without_mask"))[0].subjects
    assert (masked.attributes["masked"], bare.attributes["masked"]) == ("yes", "no")
    assert masked.face_box.tolist() == [40, 15, 60, 35]


def test_a_folder_of_cars_is_no_dataset_of_people(tmp_path):
    with pytest.raises(InputError, match="none of its 2 annotations is of a person or a face"):
        load_dataset(voc_folder(tmp_path / "set", "car", "dog"))


def test_attributes_beside_the_labels_say_who_is_who(tmp_path):
    root = voc_folder(tmp_path / "set", "face", "person")
    (root / "attributes.csv").write_text("file,face,skin_tone,ward\na.jpg,0,monk_3,north\na.jpg,1,monk_9,\n")
    first, second = load_dataset(root)[0].subjects
    assert dict(first.attributes) == {"skin_tone": "monk_3", "ward": "north"}
    assert second.attributes["ward"] is None


def test_another_reading_is_part_of_the_name(tmp_path):
    root = yolo_folder(tmp_path / "set")
    (root / "labels/val/a.txt").write_text("0 80 30 40 40\n")
    with pytest.raises(InputError, match=r"in a dataset's name \?form=topleft&units=pixels"):
        load_dataset(root)
    data = load_dataset(f"yolo:{root}?form=topleft&units=pixels")
    assert data[0].subjects[0].face_box.tolist() == [80, 30, 120, 70]


def test_published_sets_are_read_by_name_and_folder(tmp_path):
    (tmp_path / "val").mkdir()
    Image.new("RGB", (50, 50)).save(tmp_path / "val" / "1.jpg")
    table = tmp_path / "fairface_label_val.csv"
    table.write_text("file,age,gender,race\nval/1.jpg,3-9,Male,Indian\nval/2.jpg,3-9,Male,Indian\n")
    with pytest.raises(InputError, match=r"val/2.jpg not there; --only-present"):
        load_dataset(f"fairface:{tmp_path}")
    assert len(load_dataset(f"fairface:{tmp_path}?only_present=yes")) == 1
    table.unlink()
    raw = voc_folder(tmp_path / "raw", "mask", "hat")
    data = load_dataset(f"bafmd:{raw}")
    assert [dict(who.attributes) for who in data[0].subjects] == [{"masked": "yes"}] and data.name == "bafmd"
    assert "in no class that says mask or no mask and left out (1 hat)" in data.notes[0]
    (raw / "faces.csv").write_text("filename,x,y,dx,dy,mask,sex\na.jpg,.5,.5,.2,.4,0,female\n")
    assert dict(load_dataset(f"bafmd:{raw}")[0].subjects[0].attributes) == {"masked": "no", "sex": "female"}
    assert len(load_dataset(f"bafmd:{raw}?labels=voc")[0].subjects) == 1


def test_a_model_is_evaluated_on_a_folder_of_label_files(tmp_path, capsys):
    root = yolo_folder(tmp_path / "set")
    (tmp_path / "boxes.csv").write_text("image,x0,y0,x1,y1,score\na,80,30,120,70,0.9\nb,1,1,9,9,0.2\n")
    command = ["run", "face_localization", "--data", root, "--model", f"predictions:{tmp_path / 'boxes.csv'}"]
    assert run_command([str(part) for part in (*command, "--out", tmp_path / "run", "-q")]) == 0, capsys.readouterr()
    assert run_command(["data", "show", str(root)]) == 0
    assert "people      2 shown" in capsys.readouterr().out


def test_two_numbers_of_one_name_keep_their_own_numbers(tmp_path):
    root = yolo_folder(tmp_path / "set", names="head\nhead\ndog\n")
    (dog,) = load_dataset(root, categories="face=2")[0].subjects
    assert dog.face_box.tolist() == pytest.approx([10, 5, 30, 15])
    assert len(load_dataset(root)[0].subjects) == 2


def test_a_picture_whose_label_lies_in_two_places_is_named(tmp_path):
    root = yolo_folder(tmp_path / "set")
    (root / "labels/val/a.txt").unlink()
    for folder in ("one", "two"):
        (root / folder).mkdir()
        (root / folder / "a.txt").write_text("")
    with pytest.raises(InputError, match=r"a.jpg: .*one/a.txt and .*two/a.txt both bear its name"):
        load_dataset(root)
