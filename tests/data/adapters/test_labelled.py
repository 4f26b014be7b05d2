"""Folders of pictures with YOLO or Pascal VOC label files, and published sets in a folder, through `load_dataset`."""

from pathlib import Path

import pytest
from PIL import Image

from countenance.cli.app import run as run_command
from countenance.data import load_dataset
from countenance.data.reading.label_files import read_voc, read_yolo
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
    with pytest.raises(InputError, match=r"in a dataset's name \?form=xywh&units=px"):
        load_dataset(root)
    data = load_dataset(f"yolo:{root}?form=xywh&units=px")
    assert data[0].subjects[0].face_box.tolist() == [80, 30, 120, 70]


def test_published_sets_are_read_by_name_and_folder(tmp_path):
    (tmp_path / "val").mkdir()
    Image.new("RGB", (50, 50)).save(tmp_path / "val" / "1.jpg")
    table = tmp_path / "fairface_label_val.csv"
    table.write_text("file,age,gender,race\nval/1.jpg,3-9,Male,Indian\nval/2.jpg,3-9,Male,Indian\n")
    with pytest.raises(InputError, match=r"val/2.jpg not there; only_present=True"):
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
    with pytest.raises(InputError, match=r"a.jpg: .*one/a.txt and .*two/a.txt both have its name"):
        load_dataset(root)


def voc(path: Path, width: object, height: object, *box: float) -> Path:
    corners = "".join(
        f"<{name}>{value}</{name}>" for name, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    )
    size = f"<size><width>{width}</width><height>{height}</height></size>"
    path.write_text(f"<annotation>{size}<object><name>face</name><bndbox>{corners}</bndbox></object></annotation>")
    return path


def test_boxes_of_a_scaled_copy_are_scaled_and_those_of_another_shape_refused(tmp_path):
    path = tmp_path / "a.xml"
    for width, height in ((400, 200), (404, 200), (402, 201)):  # up to 2 % of another shape may be rounding
        ((box, word, *_),) = read_voc(voc(path, width, height, 40, 20, 80, 40), 200, 100)
        assert word == "face" and box == pytest.approx([20, 10, 40, 20], rel=0.02)
    with pytest.raises(InputError, match=r"made for a picture of 412×200, and the picture is 200×100"):
        read_voc(voc(path, 412, 200, 40, 20, 80, 40), 200, 100)
    ((box, *_),) = read_voc(voc(path, 201, 100, 40, 20, 80, 40), 200, 100)  # one pixel is no other shape
    assert box == pytest.approx([40, 20, 80, 40], rel=0.01)
    for width, height in ((0, 0), ("", ""), ("inf", 100)):
        ((box, *_),) = read_voc(voc(path, width, height, 40, 20, 80, 40), 200, 100)
        assert box.tolist() == [40, 20, 80, 40]
    with pytest.raises(InputError, match="size is 'wide' × '100'"):
        read_voc(voc(path, "wide", 100, 40, 20, 80, 40), 200, 100)


def test_a_box_may_leave_its_picture_by_a_twentieth(tmp_path):
    path = tmp_path / "a.xml"
    for x1, y1 in ((211, 100), (200, 106)):
        assert read_voc(voc(path, 0, 0, 40, 20, x1, y1), 200, 100)
    for x1, y1 in ((212, 100), (200, 107)):
        with pytest.raises(InputError, match="1 of 1 boxes leave the 200×100 picture; is it another copy"):
            read_voc(voc(path, 0, 0, 40, 20, x1, y1), 200, 100)
    for box in ((80, 20, 40, 40), (40, 40, 80, 20)):
        with pytest.raises(InputError, match="has xmax < xmin or ymax < ymin"):
            read_voc(voc(path, 0, 0, *box), 200, 100)
    assert len(read_voc(voc(path, 0, 0, 40, 20, 40, 20), 200, 100)) == 1


def test_one_file_in_pixels_among_normalised_ones_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("0 0.9 0.9 1.4 1.4\n")
    assert len(read_yolo(path, 200, 100)) == 1  # may leave the picture: all files together decide
    path.write_text("0 90 50 40 40\n")
    with pytest.raises(InputError, match="read as cxcywh, rel, 100 % of 1 boxes leave"):
        read_yolo(path, 200, 100)
    for line, said in (("0 1 2 3", "4 fields, expected 5"), ("0.5 .1 .1 .1 .1", "class 0.5, expected a whole number")):
        path.write_text(f"\n{line}\n")
        with pytest.raises(InputError, match=f"line 2: {said}"):
            read_yolo(path, 200, 100)


@pytest.mark.parametrize(
    "stated",
    [
        "<gender>woman</gender><age>31</age>",
        "<attributes><gender>woman</gender><age>31</age></attributes>",
        "<attributes><attribute><name>gender</name><value>woman</value></attribute>"
        "<attribute><name>age</name><value>31</value></attribute></attributes>",
    ],
)
def test_an_object_of_pascal_voc_says_its_attributes(tmp_path, stated):
    root = voc_folder(tmp_path / "set", "face")
    path = root / "a.xml"
    of_tools = "<pose>Left</pose><truncated>0</truncated><occluded>0</occluded><difficult>1</difficult><hat/>"
    path.write_text(path.read_text().replace("</name>", f"</name>{of_tools}{stated}", 1))
    data = load_dataset(root)
    (face,) = data[0].subjects
    assert face.attributes == {"gender": "woman", "age": 31.0} and face.identity is None
    (root / "attributes.csv").write_text("file,gender,ward\na.jpg,man,north\n")  # what the label says itself stays
    assert load_dataset(root)[0].subjects[0].attributes == {"gender": "woman", "age": 31.0, "ward": "north"}


@pytest.mark.parametrize(("words", "masked"), [(["face"], ["no"]), (["with_mask", "without_mask"], ["yes", "no"])])
def test_the_class_of_an_object_says_more_about_the_mask_than_its_elements(tmp_path, words, masked):
    root = voc_folder(tmp_path / "set", *words)
    path = root / "a.xml"
    path.write_text(path.read_text().replace("</name>", "</name><masked>no</masked>"))
    assert [face.attributes["masked"] for face in load_dataset(root)[0].subjects] == masked


def test_an_attribute_that_no_file_says_is_refused_with_the_remedy(tmp_path, capsys):
    root, out = voc_folder(tmp_path / "set", "face"), tmp_path / "run"
    (tmp_path / "boxes.csv").write_text("file,x0,y0,x1,y1\na.jpg,40,15,60,35\n")
    model = f"predictions:{tmp_path / 'boxes.csv'}"
    call = ["run", "face_localization", "--model", model, "--data", str(root), "--by", "gender", "--out", str(out)]
    assert run_command(call) == 2
    assert "no attribute of its people is known; a column gender of attributes.csv beside" in capsys.readouterr().err
