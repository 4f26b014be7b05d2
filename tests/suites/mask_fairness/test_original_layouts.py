"""Datasets exactly as their owners publish them, and assessments that must come out the same in every format."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.cli.app import run as run_command
from countenance.data.adapters.mask_fairness import ReadingOptions, load_mask_data
from countenance.errors import InputError

NAMES = ("no mask", "mask")
"""The names in BAFMD's XML files by the class numbers in its text files."""


def labelimg_xml(name: str, width: int, height: int, faces) -> str:
    """A Pascal VOC file as labelImg writes it for BAFMD: tabs, a Windows path, names with a space."""
    text = (
        f'<annotation verified="yes">\n\t<folder>collection1_annotations</folder>\n\t<filename>{name}.jpg</filename>\n'
        f"\t<path>C:\\Users\\somebody\\Desktop\\collection1_annotations\\{name}.jpg</path>\n\t<source>\n\t\t<database>"
        f"Unknown</database>\n\t</source>\n\t<size>\n\t\t<width>{width}</width>\n\t\t<height>{height}</height>\n\t\t"
        "<depth>3</depth>\n\t</size>\n\t<segmented>0</segmented>\n"
    )
    for number, (x0, y0, x1, y1) in faces:
        text += (
            f"\t<object>\n\t\t<name>{NAMES[number]}</name>\n\t\t<pose>Unspecified</pose>\n\t\t<truncated>0</truncated>\n"
            f"\t\t<difficult>0</difficult>\n\t\t<bndbox>\n\t\t\t<xmin>{x0}</xmin>\n\t\t\t<ymin>{y0}</ymin>\n\t\t\t"
            f"<xmax>{x1}</xmax>\n\t\t\t<ymax>{y1}</ymax>\n\t\t</bndbox>\n\t</object>\n"
        )
    return text + "</annotation>\n"


def yolo_text(width: int, height: int, faces) -> str:
    lines = [
        f"{number} {(x0 + x1) / 2 / width:.6f} {(y0 + y1) / 2 / height:.6f} "
        f"{(x1 - x0) / width:.6f} {(y1 - y0) / height:.6f}\n"
        for number, (x0, y0, x1, y1) in faces
    ]
    return "".join(lines)


def bafmd(root: Path, n: int = 40, shrink: float = 1.0) -> dict[str, list]:
    """Raw BAFMD after its download script: lists, annotations/, train_set/, test_set/; three masks to one bare face."""
    random = np.random.default_rng(7)
    for folder in ("annotations", "train_set", "test_set"):
        (root / folder).mkdir(parents=True)
    truth, lists = {}, {"train": [], "test": []}
    urls = []
    for i in range(n):
        name, (width, height) = f"12601717069722{i:05d}_{i % 3}", ((1200, 675), (680, 510), (768, 1024))[i % 3]
        faces = []
        for k in range(4):
            w, h = (int(v) for v in random.integers(40, 120, 2))
            x, y = 10 + 150 * k % (width - 160), int(random.integers(5, height - h - 5))
            faces.append((int(k > 0), (x, y, x + w, y + h)))
        part = "train" if i % 4 == 0 else "test"
        picture = Image.new("RGB", (round(width * shrink), round(height * shrink)), (i, 80, 120))
        picture.save(root / f"{part}_set" / f"{name}.jpg")
        for folder in ("annotations", f"{part}_set"):
            (root / folder / f"{name}.xml").write_text(labelimg_xml(name, width, height, faces))
            (root / folder / f"{name}.txt").write_text(yolo_text(width, height, faces))
        lists[part].append(f"{name}.jpg\n")
        urls.append(f"{name}\thttps://example.org/media/{name}.jpg\n")
        truth[name] = faces
    (root / "BAFMD_train_images.txt").write_text("".join(lists["train"]))
    (root / "BAFMD_test_images.txt").write_text("".join(lists["test"]))
    (root / "BAFMD_image_urls.tsv").write_text("".join(urls))
    (root / "BAFMD_unavailable_urls.tsv").write_text("")
    return truth


def perfect(path: Path, truth: dict[str, list], wrong: int | None = None) -> Path:
    """Predictions of form 3 in pixels, all right but for one face."""
    lines = []
    for name, faces in truth.items():
        for k, (number, (x0, y0, x1, y1)) in enumerate(faces):
            said = 1 - number if wrong is not None and name == list(truth)[wrong] and k == 1 else number
            lines.append(f"test_set/{name}.jpg,{said},{x0},{y0},{x1 - x0},{y1 - y0}\n")
    path.write_text("".join(lines))
    return path


def assess(tmp_path: Path, capsys, name: str, *options: object) -> str:
    out = tmp_path / f"out-{name}"
    command = ["mask-fairness", "assess", "--out", out, "--quiet", *options]
    assert run_command([str(part) for part in command]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def counts(text: str) -> list[str]:
    """The three rates of an assessment's output."""
    return [line.split("rate")[1].split("(")[0].strip() for line in text.splitlines() if " rate " in line[:20]]


def test_yolo_equals_voc_on_the_same_pictures(tmp_path, capsys):
    truth = bafmd(tmp_path / "BAFMD")
    predictions = perfect(tmp_path / "theirs.csv", truth, wrong=3)
    shown = {
        kind: assess(
            tmp_path,
            capsys,
            kind,
            "--dataset",
            kind,
            "--data-directory",
            tmp_path / "BAFMD",
            "--predictions",
            predictions,
        )
        for kind in ("bafmd-yolo", "bafmd-voc")
    }
    assert counts(shown["bafmd-yolo"]) == counts(shown["bafmd-voc"]) == ["160 of 160", "119 of 120", "40 of 40"]
    yolo, voc = (load_mask_data(kind, tmp_path / "BAFMD").dataset for kind in ("bafmd-yolo", "bafmd-voc"))
    for one, two in zip(yolo, voc, strict=True):
        assert one.id == two.id
        for a, b in zip(one.subjects, two.subjects, strict=True):
            assert a.attributes == b.attributes
            assert np.abs(a.face_box - b.face_box).max() < 0.01  # six decimals of the text files


def test_the_published_lists_are_the_splits(tmp_path, capsys):
    truth = bafmd(tmp_path / "BAFMD")
    data = load_mask_data("bafmd-voc", tmp_path / "BAFMD")
    assert [s.attributes["split"] for s in data.dataset].count("train") == 10
    assert data.attributes == ("masked",)  # raw boxes have no other attribute
    shown = assess(
        tmp_path,
        capsys,
        "split",
        "--dataset",
        "bafmd-yolo",
        "--data-directory",
        tmp_path / "BAFMD",
        "--predictions",
        perfect(tmp_path / "theirs.csv", truth),
        "--split",
        "test",
    )
    assert counts(shown) == ["120 of 120", "90 of 90", "30 of 30"]


def test_pictures_that_also_lie_in_annotations_are_counted_once(tmp_path):
    bafmd(tmp_path / "BAFMD", n=8)
    for path in [*(tmp_path / "BAFMD").glob("*_set/*.jpg")]:
        (tmp_path / "BAFMD" / "annotations" / path.name).write_bytes(path.read_bytes())
    data = load_mask_data("bafmd-yolo", tmp_path / "BAFMD")
    assert len(data.dataset) == 8
    assert any("8 pictures in annotations are copies" in line for line in data.dataset.notes)


def test_only_the_annotations_folder_is_there(tmp_path):
    """Before the download script has run, users put pictures beside the labels, as the dataset's README draws it."""
    root = tmp_path / "BAFMD"
    bafmd(root, n=8)
    for path in [*root.glob("*_set/*.jpg")]:
        path.rename(root / "annotations" / path.name)
    data = load_mask_data("bafmd-yolo", root)
    assert len(data.dataset) == 8 and {s.attributes["split"] for s in data.dataset} == {"train", "test"}


def test_a_smaller_copy_of_the_pictures_scales_the_boxes_of_both_formats(tmp_path):
    bafmd(tmp_path / "BAFMD", n=6, shrink=0.5)
    yolo, voc = (load_mask_data(kind, tmp_path / "BAFMD").dataset for kind in ("bafmd-yolo", "bafmd-voc"))
    for one, two in zip(yolo, voc, strict=True):
        for a, b in zip(one.subjects, two.subjects, strict=True):
            assert np.abs(a.face_box - b.face_box).max() < 1


def test_labels_of_a_picture_of_another_shape_are_refused(tmp_path):
    bafmd(tmp_path / "BAFMD", n=4)
    path = next((tmp_path / "BAFMD" / "test_set").glob("*.jpg"))
    Image.new("RGB", (300, 900)).save(path)
    with pytest.raises(InputError, match="which is another shape"):
        load_mask_data("bafmd-voc", tmp_path / "BAFMD")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("classes.txt", "mask\nno_mask\n"),
        ("test_set/classes.txt", "mask\r\nno mask\r\n"),
        ("data/obj.names", "mask\nno_mask\n"),
        ("_darknet.labels", "with_mask\nwithout_mask\n"),
        ("data.yaml", "train: ../train/images\nnc: 2\nnames: ['mask', 'no-mask']\n"),
        ("data.yaml", "path: .\nnames:\n  0: mask\n  1: without_mask\n"),
        ("data.yaml", "names:\n- mask\n- no_mask\nnc: 2\n"),
    ],
)
def test_a_file_of_class_names_decides_for_its_labels(tmp_path, file, content):
    bafmd(tmp_path / "BAFMD", n=4)
    path = tmp_path / "BAFMD" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    before = load_mask_data("bafmd-voc", tmp_path / "BAFMD").dataset
    for one, two in zip(load_mask_data("bafmd-yolo", tmp_path / "BAFMD").dataset, before, strict=True):
        turned = "/" not in file or file == "data/obj.names" or one.id.startswith("test_set")
        for a, b in zip(one.subjects, two.subjects, strict=True):
            assert (a.attributes["masked"] != b.attributes["masked"]) == turned


def test_an_option_that_contradicts_the_file_is_refused(tmp_path):
    bafmd(tmp_path / "BAFMD", n=4)
    (tmp_path / "BAFMD" / "classes.txt").write_text("no_mask\nmask\n")
    load_mask_data("bafmd-yolo", tmp_path / "BAFMD", ReadingOptions(classes={0: "no_mask", 1: "mask"}))
    with pytest.raises(InputError, match=r"says 0 = no_mask, 1 = mask, and classes= says 0=mask,1=no_mask"):
        load_mask_data("bafmd-yolo", tmp_path / "BAFMD", ReadingOptions(classes={0: "mask", 1: "no_mask"}))


@pytest.mark.parametrize("content", ["", "\n\n", "names: mask\n"])
def test_a_file_of_class_names_without_names_is_refused(tmp_path, content):
    bafmd(tmp_path / "BAFMD", n=4)
    (tmp_path / "BAFMD" / ("data.yaml" if content.startswith("names") else "classes.txt")).write_text(content)
    with pytest.raises(InputError, match=r"name of a class in every line|no list names"):
        load_mask_data("bafmd-yolo", tmp_path / "BAFMD")


def form3(path: Path, root: Path, turn: bool = False) -> Path:
    """Predictions that repeat the label files of a folder, numbers as they are."""
    lines = []
    for label in sorted(root.rglob("*.txt")):
        if label.name in ("classes.txt",) or label.name.startswith("BAFMD"):
            continue
        for line in label.read_text().splitlines():
            number, *box = line.split()
            lines.append(",".join([f"{label.stem}.png", str(1 - int(number)) if turn else number, *box]) + "\n")
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines))
    return path


def test_made_data_and_perfect_predictions_come_out_perfect(tmp_path, capsys):
    data = tmp_path / "data"
    made = ["mask-fairness", "make-data", "--dataset", "people:portraits", "--split", "test", "--layout", "yolo"]
    assert run_command([*made, "--out", str(data), "--quiet"]) == 0
    capsys.readouterr()
    predictions = form3(tmp_path / "theirs" / "predictions.csv", data)
    given = ["--data-directory", data, "--predictions", predictions]
    for name in ("folder", "bafmd-yolo"):
        shown = assess(tmp_path, capsys, name, "--dataset", name, *given)
        assert counts(shown) == ["320 of 320", "80 of 80", "240 of 240"] and "note" not in shown
    # the data's classes.txt decides for both: exchanged there, the same numbers mean the same again
    (data / "classes.txt").write_text("mask\nno_mask\n")
    shown = assess(tmp_path, capsys, "exchanged", "--dataset", "folder", *given)
    assert counts(shown) == ["320 of 320", "240 of 240", "80 of 80"] and "note" not in shown


def test_class_numbers_of_predictions_follow_the_option_then_their_own_file_then_the_data(tmp_path, capsys):
    data = tmp_path / "data"
    truth = bafmd(data, n=12)
    for folder in ("right", "turned"):
        (tmp_path / folder).mkdir()
    right, turned = perfect(tmp_path / "right" / "p.csv", truth), tmp_path / "turned" / "p.csv"
    lines = [line.split(",", 2) for line in right.read_text().splitlines()]
    turned.write_text("".join(f"{name},{1 - int(number)},{box}\n" for name, number, box in lines))
    given = ["--dataset", "bafmd-yolo", "--data-directory", data, "--predictions"]
    perfect_counts = ["48 of 48", "36 of 36", "12 of 12"]
    assert counts(assess(tmp_path, capsys, "default", *given, right)) == perfect_counts
    shown = assess(tmp_path, capsys, "inverted", *given, turned)
    assert counts(shown) == ["48 of 48", "0 of 36", "0 of 12"]
    assert "the classes look inverted: true positive rate 0 of 36 and true negative rate 0 of 12" in shown
    assert "it would be 36 of 36 and 12 of 12: use --classes 0=mask,1=no_mask" in shown
    assert counts(assess(tmp_path, capsys, "told", *given, turned, "--classes", "0=mask,1=no_mask")) == perfect_counts
    (turned.parent / "classes.txt").write_text("mask\nno_mask\n")
    assert counts(assess(tmp_path, capsys, "beside", *given, turned)) == perfect_counts
    told = assess(tmp_path, capsys, "stronger", *given, turned, "--classes", "0=no_mask,1=mask")
    assert counts(told) == ["48 of 48", "0 of 36", "0 of 12"]  # the option is stronger than the file


def test_fairface_beside_its_unpacked_archive(tmp_path):
    root = tmp_path / "fairface"
    pictures = root / "fairface-img-margin025-trainval" / "val"
    pictures.mkdir(parents=True)
    Image.new("RGB", (224, 224)).save(pictures / "1.jpg")
    (root / "fairface_label_val.csv").write_text(
        "file,age,gender,race,service_test\nval/1.jpg,3-9,Male,East Asian,False\n"
    )
    (sample,) = load_mask_data("fairface", root).dataset
    assert sample.id == "val/1.jpg" and sample.subjects[0].attributes["race"] == "East Asian"


def test_an_attributes_table_joins_raw_bafmd_and_refuses_two_rows_for_one_picture(tmp_path):
    truth = bafmd(tmp_path / "BAFMD", n=4)
    table = tmp_path / "who.csv"
    with table.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["filename", "face", "sex"])
        for name in truth:
            writer.writerows([f"{name}.jpg", k, "female" if k % 2 else "male"] for k in range(4))
    data = load_mask_data("bafmd-yolo", tmp_path / "BAFMD", ReadingOptions(attributes=table))
    assert data.attributes == ("sex",) and data.dataset[0].subjects[1].attributes["sex"] == "female"
    table.write_text("filename,sex\n" + "".join(f"{name}.jpg,male\n{name}.jpg,female\n" for name in truth))
    with pytest.raises(InputError, match="has a row already; a column face"):
        load_mask_data("bafmd-yolo", tmp_path / "BAFMD", ReadingOptions(attributes=table))
