"""What is wrong or ambiguous in a table of labels is said at once, like things together, with what decides it."""

import json
import os
from pathlib import Path

import pytest
from folders import BOX, picture, write_csv
from PIL import Image
from typer.testing import CliRunner

import countenance as ct
from countenance.cli.app import app
from countenance.data import load_dataset
from countenance.errors import InputError
from countenance.words import number_of


def pictures(root: Path, n: int = 4) -> Path:
    for i in range(n):
        picture(root / f"{i}.jpg", i)
    return root


def refusal(root: Path, text: str, **options: object) -> str:
    (root / "t.csv").write_text(text)
    with pytest.raises(InputError) as error:
        load_dataset(root, labels=root / "t.csv", **options)  # type: ignore[arg-type]
    return str(error.value)


def test_all_problems_of_a_file_come_at_once_and_like_ones_are_counted(tmp_path: Path) -> None:
    root = pictures(tmp_path)
    rows = [
        "file,age,xmin,ymin,xmax,ymax",
        "0.jpg,31,30,20,70,60",
        "gone.jpg,31,30,20,70,60",
        "lost.jpg,31,30,20,70,60",
        "1.jpg,old,30,20,70,60",
        "2.jpg,33,a,20,70,60",
        "3.jpg,33,1,20,,60",
        "3.jpg,31",
        ",31,1,2,3,4",
    ]
    message = refusal(root, "\n".join(rows))
    assert "\n" not in message
    for part in (
        "2 rows name a picture that is not there; only_present=True leaves such rows out (line 3: 'gone.jpg', line 4:",
        "1 cell of age is not a number (line 5: 'old')",
        "1 cell of xmin is not a number (line 6: 'a')",
        "1 row has a box of fewer than four numbers (line 7)",
        "1 row is of another number of fields than the header's 6 (line 8: '2 fields')",
        "1 row names no picture (line 9)",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("text", "asked_for"),
    [
        ("img,bbox\n0.jpg,10 12 30 40\n1.jpg,5 6 30 40\n", 'say truth_boxes="xyxy" (x0, y0, x1, y1) or'),
        ("a,b\n0.jpg,1.jpg\n2.jpg,3.jpg\n", 'columns a and b both name pictures; say which one: columns="file=a"'),
        ("who,age\nanna,31\n", 'no column names the pictures (there are who, age); say which one: columns="file='),
        ("0.jpg,f\n1.jpg,m\n", "no header line, and nothing says what its 2 columns are"),
        ("file,skin_tne\n0.jpg,x\n", "unknown column 'skin_tne' (did you mean skin_tone?)"),
        ("file,sex,Sex\n0.jpg,f,x\n", "columns sex and Sex are both called sex; rename one"),
        ('file,dose\n0.jpg,"1,234"\n1.jpg,"2,000"\n2.jpg,"1,500"\n', None),
        ("file,sex\n0.jpg,f\n0.jpg,m\n", "has a row already, and neither a box nor a person tells them apart"),
        ("file,xmin,ymin,xmax,ymax\n0.jpg,10,10,900,900\n", "leave their picture or have no area"),
        ("file,sex\n", "no row below the header"),
        (
            "file,sex,xmin,ymin,xmax,ymax\n0.jpg,f,30,20,70,60\n0.jpg,m,30,20,70,60\n",
            "1 row has the box of another row and contradicts it in sex; a box shows one person (line 3: '0.jpg')",
        ),
        (
            "file,face1_x1,face1_y1,face1_x2,face1_y2\n0.jpg,30,20,70,60\n1.jpg,30,20,70,60\n",
            'a row for each person with one box, or choose one: columns="box=face1_x1+face1_y1+face1_x2+face1_y2"',
        ),
        ("", "the file is empty"),
    ],
)
def test_what_is_ambiguous_is_asked_for(tmp_path: Path, text: str, asked_for: str | None) -> None:
    root = pictures(tmp_path)
    if asked_for is None:  # few codes of the same form are words
        (root / "t.csv").write_text(text)
        with pytest.raises(InputError, match=r"'1,234' may be 1\.234 or 1,234"):
            load_dataset(root, labels=root / "t.csv")
        return
    assert asked_for in refusal(root, text)


def test_the_answers_to_what_is_asked_decide_it(tmp_path: Path) -> None:
    root = pictures(tmp_path)
    (root / "t.csv").write_text("0.jpg,f,anna\n1.jpg,m,ben\n")
    (anna, ben) = load_dataset(root, labels=root / "t.csv", columns="file=1,sex=2,person=3")
    assert anna.subjects[0].identity == "anna" and ben.subjects[0].attributes == {"sex": "m"}
    (root / "t.csv").write_text("img,bbox\n0.jpg,10 12 30 40\n1.jpg,5 6 30 40\n")
    first, _ = load_dataset(root, labels=root / "t.csv", truth_boxes="xywh")
    assert first.subjects[0].face_box is not None and first.subjects[0].face_box.tolist() == [10, 12, 40, 52]
    (root / "t.csv").write_text("img,sex\n0.jpg,f\ngone.jpg,m\n")
    dataset = load_dataset(root, labels=root / "t.csv", only_present=True)
    assert len(dataset) == 1 and "t.csv: 1 row names a picture that is not there and left out" in dataset.notes
    (root / "t.csv").write_text("img,a,b,c,d\n0.jpg,30,20,70,60\n")
    (sample,) = load_dataset(root, labels=root / "t.csv", columns="face_box=a+b+c+d", truth_boxes="xyxy")
    assert sample.subjects[0].face_box is not None and sample.subjects[0].person_box is None


def test_equal_names_in_two_folders_are_told_apart_by_the_row_or_asked_for(tmp_path: Path) -> None:
    for split in ("train", "val"):
        picture(tmp_path / split / "a.jpg")
    (tmp_path / "t.csv").write_text("file,split,sex\na.jpg,train,f\na.jpg,val,m\n")
    dataset = load_dataset(tmp_path, labels=tmp_path / "t.csv")
    assert [(s.id, s.attributes["split"]) for s in dataset] == [("train/a.jpg", "train"), ("val/a.jpg", "validation")]
    assert "in several folders; write the folder, too" in refusal(tmp_path, "file,sex\na.jpg,f\n")


def test_folders_that_nothing_explains_name_everything_that_would(tmp_path: Path) -> None:
    for person in ("anna", "ben"):
        picture(tmp_path / person / "x.jpg")
    with pytest.raises(
        InputError, match=r'labels="my.csv", or say what its folders \(anna, ben\) are: columns="person'
    ):
        load_dataset(tmp_path)
    assert [s.subjects[0].identity for s in load_dataset(tmp_path, columns="person=folder")] == ["anna", "ben"]
    for name in ("a.csv", "b.csv"):
        write_csv(tmp_path / name, [["file", "sex"], ["anna/x.jpg", "f"]])
    with pytest.raises(InputError, match=r"holds 2 tables about its pictures \(a.csv, b.csv\)"):
        load_dataset(tmp_path)


def test_a_name_that_leads_out_of_the_folder_is_no_picture(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", 1)
    picture(tmp_path / "secret.jpg")
    assert "not there" in refusal(root, "file,sex\n../secret.jpg,f\n0.jpg,m\n")


def test_labels_beside_any_reader_go_to_the_box_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("face\n")
    picture(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("0 0.2 0.5 0.2 0.4\n0 0.7 0.5 0.3 0.4\n")
    rows = [["file", "person", "sex", "x", "y", "w", "h"], ["a.jpg", "ben", "m", 52, 24, 30, 32]]
    write_csv(tmp_path / "who.csv", rows)
    (sample,) = load_dataset(tmp_path, labels=tmp_path / "who.csv")
    assert [subject.identity for subject in sample.subjects] == [None, "ben"]
    write_csv(tmp_path / "who.csv", [["file", "face", "sex"], ["a.jpg", 0, "f"], ["a.jpg", 1, "m"]])
    (sample,) = load_dataset(tmp_path, labels=tmp_path / "who.csv")
    assert [subject.attributes["sex"] for subject in sample.subjects] == ["f", "m"]
    write_csv(tmp_path / "who.csv", [["file", "person"], ["a.jpg", "ben"]])
    with pytest.raises(InputError, match="one person for a picture of several"):
        load_dataset(tmp_path, labels=tmp_path / "who.csv")
    dataset = ct.load_dataset(tmp_path)
    write_csv(tmp_path / "who.csv", [["file", "sex"], ["a.jpg", "f"]])
    (sample,) = load_dataset(dataset, labels=tmp_path / "who.csv")
    assert {subject.attributes["sex"] for subject in sample.subjects} == {"f"}


def test_a_dataset_named_like_a_format_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = pictures(tmp_path / "yolo", 2)
    write_csv(root / "t.csv", [["file", "sex"], ["0.jpg", "f"], ["1.jpg", "m"]])
    monkeypatch.chdir(tmp_path)
    assert len(load_dataset("yolo")) == len(load_dataset("yolo/")) == len(load_dataset("yolo/t.csv")) == 2
    result = CliRunner().invoke(app, ["data", "check", "yolo", "-q"])
    assert result.exit_code == 0, result.output


def test_coco_by_name_and_beside_a_folder(tmp_path: Path) -> None:
    picture(tmp_path / "deep" / "a.jpg")
    text = """{"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "person"}],
               "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [30, 20, 40, 40]}]}"""
    (tmp_path / "mine.json").write_text(text)
    (sample,) = load_dataset(tmp_path / "deep", labels=tmp_path / "mine.json")
    assert sample.width == 96
    (sample,) = load_dataset(tmp_path, labels=tmp_path / "mine.json")  # a bare name, in a folder below
    assert sample.width == 96
    (tmp_path / "deep" / "annotations.json").write_text(text)
    assert len(load_dataset(f"coco:{tmp_path / 'deep'}")) == len(load_dataset(f"coco:{tmp_path}/deep/annotations.json"))
    with pytest.raises(InputError, match="name a COCO file or its folder"):
        load_dataset(f"coco:{tmp_path}/nowhere")


def test_data_check_accepts_any_value_and_says_which_are_not_our_words(tmp_path: Path) -> None:
    root = pictures(tmp_path)
    write_csv(root / "t.csv", [["file", "gender"], *([f"{i}.jpg", "nb" if i else "female"] for i in range(4))])
    result = CliRunner().invoke(app, ["data", "check", str(root), "--labels", str(root / "t.csv"), "-q"])
    assert result.exit_code == 0, result.output
    assert "gender: nb is not among the usual words (female, male); it is a group of its own" in result.output


def test_run_reads_the_labels_and_says_what_it_understood_once(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", 8)
    rows = [["filename", "person", "gender", "skin", "xmin", "ymin", "xmax", "ymax"]]
    rows += [[f"{i}.jpg", f"p{i // 2}", "FM"[i % 2], "ab"[i // 2 % 2], *map(str, BOX)] for i in range(8)]
    write_csv(tmp_path / "my.csv", rows)
    words = ["run", "face_localization", "--model", "countenance.testing:DiscDetector", "--data", str(root)]
    words += ["--labels", str(tmp_path / "my.csv"), "--out", str(tmp_path / "run"), "--by", "gender,skin", "-q"]
    result = CliRunner().invoke(app, words, env={**os.environ})
    assert result.exit_code == 0, result.output
    assert (
        result.output.count("read 8 pictures of 4 people; boxes from xmin, ymin, xmax, ymax; attributes gender, skin")
        == 1
    )
    run = ct.Run(tmp_path / "run")
    assert len(run.dataset()) == 8 and run.manifest.dataset.reading == {"labels": ["my.csv"]}
    assert str(tmp_path) not in (tmp_path / "run" / "run.json").read_text()
    again = ct.evaluate(lambda images: [[] for _ in images], "face_localization", root, labels=tmp_path / "my.csv")
    assert len(again.dataset()) == 8


@pytest.mark.parametrize(
    ("text", "value"),
    [("12,5", 12.5), ("1 234", None), ("85%", 0.85), ("−3", -3.0), ("1e3", 1000.0), ("31 y.o.", 31.0)],
)
def test_numbers_as_people_write_them(text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(ValueError, match="1 234"):
            number_of(text)
    else:
        assert number_of(text) == value


def test_a_table_of_one_split_says_nothing_of_another(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "1.jpg")
    picture(tmp_path / "val" / "1.jpg")
    (tmp_path / "train.csv").write_text("file,gender\ntrain/1.jpg,female\n")
    (tmp_path / "val.csv").write_text("file,gender,age\nval/1.jpg,male,31\n")
    with pytest.raises(InputError, match="1 row names a picture that is not there"):
        load_dataset(tmp_path, labels=[tmp_path / "train.csv", tmp_path / "val.csv"])
    (tmp_path / "val.csv").write_text("file,gender\nval/1.jpg,male\n")
    both = load_dataset(tmp_path, labels=[tmp_path / "train.csv", tmp_path / "val.csv"])
    assert {sample.id: sample.subjects[0].attributes["gender"] for sample in both} == {
        "train/1.jpg": "female",
        "val/1.jpg": "male",
    }


def test_parts_of_records_that_no_row_can_hold_are_left_out_and_named(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    record = {"file": "a.jpg", "age": 31, "visits": [{"day": 1}], "looks": [{"by": "x"}]}
    (tmp_path / "a.json").write_text(json.dumps([record]))
    dataset = load_dataset(tmp_path, labels=tmp_path / "a.json")
    assert dataset.attribute_names() == ["age"]
    assert any("visits, looks hold records in records and are left out" in note for note in dataset.notes)


def test_files_of_tools_that_are_damaged_say_so(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    (tmp_path / "a.csv.gz").write_bytes(b"\x1f\x8b\x08\x00 no gzip")
    with pytest.raises(InputError, match=r"a\.csv\.gz: a damaged gzip file"):
        load_dataset(tmp_path, labels=tmp_path / "a.csv.gz")
    (tmp_path / "a.json").write_text('{"shapes": ["face"], "imagePath": "a.jpg"}')
    with pytest.raises(InputError, match=r"a\.json: not as LabelMe writes it"):
        load_dataset(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without a JSON file for each picture"):
        load_dataset(tmp_path, labels=tmp_path / "empty")


def test_a_file_for_each_picture_in_the_folder_of_coco_is_no_coco(tmp_path: Path) -> None:
    for name in "ab":
        picture(tmp_path / "images" / f"{name}.jpg")
        shape = {"label": "face", "points": [[30, 20], [70, 60]], "shape_type": "rectangle"}
        path = tmp_path / "annotations" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"shapes": [shape], "imagePath": f"../images/{name}.jpg", "flags": {}}))
    dataset = load_dataset(tmp_path)
    assert [sample.subjects[0].face_box.tolist() for sample in dataset] == [[30, 20, 70, 60]] * 2  # type: ignore[union-attr]


def test_folders_of_groups_are_not_taken_for_people(tmp_path: Path) -> None:
    """A folder whose files begin with its name is a person's only where the name can be one's."""
    for name in ("asian", "black"):
        picture(tmp_path / "races" / name / f"{name}_1.jpg")
    with pytest.raises(InputError, match='columns="person=folder" or columns="gender=folder"'):
        load_dataset(tmp_path / "races")
    for name in ("female", "male"):
        picture(tmp_path / "genders" / name / f"{name}_1.jpg")
    genders = load_dataset(tmp_path / "genders")
    assert {s.subjects[0].attributes["gender"] for s in genders} == {"female", "male"}
    assert {s.subjects[0].identity for s in genders} == {None}
    for name in ("Ana_Lee", "P07"):
        picture(tmp_path / "people" / name / f"{name}_0001.jpg")
    assert {s.subjects[0].identity for s in load_dataset(tmp_path / "people")} == {"Ana_Lee", "P07"}


def test_a_picture_whose_boxes_show_nobody_stays_without_people(tmp_path: Path) -> None:
    root = pictures(tmp_path, 2)
    write_csv(
        root / "t.csv",
        [["file", "class", "xmin", "ymin", "xmax", "ymax"], ["0.jpg", "face", *BOX], ["1.jpg", "hat", *BOX]],
    )
    assert [len(sample.subjects) for sample in load_dataset(root)] == [1, 0]


def test_what_is_read_as_an_attribute_or_left_out_is_said(tmp_path: Path) -> None:
    root = pictures(tmp_path, 2)
    header = ["file", "label", "top_left", "Sex", "xmin", "ymin", "xmax", "ymax"]
    write_csv(root / "t.csv", [header, ["0.jpg", "car", "(3, 4)", "f", *BOX], ["1.jpg", "dog", "(5, 6)", "F", *BOX]])
    dataset = load_dataset(root)
    assert set(dataset.attribute_names()) == {"label", "sex"}
    notes = "\n".join(dataset.notes)
    assert (
        'label (car, dog) is read as an attribute; if it says what a box shows, choose: categories="face=car"' in notes
    )
    assert "top_left holds lists of numbers ((3, 4)) and is left out" in notes
    assert "Sex: 'F' is 'f'" in notes and {s.subjects[0].attributes["sex"] for s in dataset} == {"f"}


def test_a_workbook_beside_pictures_is_named(tmp_path: Path) -> None:
    root = pictures(tmp_path, 1)
    (root / "people.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"1 picture, and .*people\.xlsx is a workbook .* saved as CSV"):
        load_dataset(root)


def test_participants_without_a_folder_are_counted(tmp_path: Path) -> None:
    for person in ("P1", "P2"):
        picture(tmp_path / person / "x.jpg")
    write_csv(tmp_path / "who.csv", [["participant", "sex"], ["P1", "f"], ["P2", "m"], ["P3", "f"]])
    dataset = load_dataset(tmp_path)
    assert [s.subjects[0].identity for s in dataset] == ["P1", "P2"]
    assert "who.csv: 1 row names a folder without a picture and left out (P3)" in dataset.notes


def test_a_table_of_participants_is_read_beside_another_table_and_beside_annotations(tmp_path: Path) -> None:
    boxes, images = [["picture", "left", "top", "width", "height"]], []
    for i, name in enumerate(("P1/a.jpg", "P1/b.jpg", "P2/a.jpg")):
        picture(tmp_path / name, i)
        boxes.append([name, 10, 10, 20, 20])
        images.append({"id": 100 + i, "file_name": name, "width": 64, "height": 64})
    write_csv(tmp_path / "boxes.csv", boxes)
    write_csv(tmp_path / "who.csv", [["participant", "sex"], ["P1", "f"], ["P2", "m"]])
    annotations = [{"id": i, "image_id": 100 + i, "category_id": 1, "bbox": [10, 10, 20, 20]} for i in range(3)]
    kinds = [{"id": 1, "name": "face"}]
    coco = tmp_path / "faces.json"
    coco.write_text(json.dumps({"images": images, "annotations": annotations, "categories": kinds}))
    tables = [tmp_path / "boxes.csv", tmp_path / "who.csv"]
    for dataset in (
        load_dataset(tmp_path, labels=tables),
        load_dataset(tmp_path, labels=tables[::-1]),
        load_dataset(coco, labels=tables[1]),
    ):
        people = [sample.subjects[0] for sample in dataset]
        assert [person.identity for person in people] == ["P1", "P1", "P2"]
        assert [person.attributes["sex"] for person in people] == ["f", "f", "m"]
        assert "who.csv: participant names the folder of the pictures" in dataset.notes


def test_the_number_of_a_picture_names_it_only_where_no_other_column_does(tmp_path: Path) -> None:
    root = pictures(tmp_path)
    for text in ("image_id,file_name,sex\n1,0.jpg,f\n0,1.jpg,m\n", "image_id,sex\n0.0,f\n1.0,m\n"):
        (root / "t.csv").write_text(text)
        read = {sample.id: sample.subjects[0].attributes["sex"] for sample in load_dataset(root, labels=root / "t.csv")}
        assert read == {"0.jpg": "f", "1.jpg": "m"}


@pytest.mark.parametrize(("width", "doubted"), [(640, True), (120, False)])
def test_boxes_that_may_be_per_cent_are_read_as_pixels_and_it_is_said(tmp_path, width, doubted):
    lines = ["file,x,y,width,height,gender"]
    for i in range(8):
        Image.new("RGB", (width, width)).save(tmp_path / f"{i}.png")
        lines.append(f"{i}.png,{5.5 + i},{10.25 + i},40.5,{60.5 + i},man")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    data = load_dataset(tmp_path)
    remarks = [note for note in data.notes if "per cent of the picture" in note]
    assert bool(remarks) == doubted
    if doubted:
        assert "no box reaches beyond 84.75 in pictures of at least 640 pixels; read as pixels" in remarks[0]


def test_a_box_of_shares_among_boxes_in_pixels_is_named(tmp_path):
    lines = ["file,x,y,width,height,gender"]
    for i in range(8):
        Image.new("RGB", (640, 480)).save(tmp_path / f"{i}.png")
        lines.append(f"{i}.png,0.2,0.3,0.1,0.2,man" if i == 3 else f"{i}.png,{50 + i},60,120,130,woman")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    notes = load_dataset(tmp_path).notes
    assert any(
        "line 5 holds only numbers up to 1, read as pixels like the others; are they shares?" in n for n in notes
    )
