"""Who a person is, read by every reader: from attribute files and from annotations, under each of its names."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import countenance as ct
from countenance.cli.app import run as command
from countenance.data import Dataset, load_dataset
from countenance.data.image import encode_png
from countenance.data.index import index_dataset, open_source
from countenance.errors import InputError
from countenance.person_columns import PERSON_COLUMNS, person_column
from countenance.run import evaluate

PEOPLE = ("anna", "ben", "carla")
NAMES = [f"{person}{k}" for person in PEOPLE for k in range(2)]
WHO = [name[:-1] for name in NAMES]
CORNERS = [10, 20, 30, 40]


def pictures(root: Path, folder: str = "") -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        Image.new("RGB", (64, 64)).save(root / folder / f"{name}.png")


def attributes(root: Path, column: str) -> None:
    lines = [f"{name}.png,{who},north" for name, who in zip(NAMES, WHO, strict=True)]
    (root / "attributes.csv").write_text("\n".join([f"file,{column},attr.ward", *lines]) + "\n")


def coco(root: Path, image: Callable[[str], dict] = lambda _: {}, annotation: Callable[[str], dict] = lambda _: {}):
    pictures(root)
    content = {"categories": [{"id": 1, "name": "face"}], "images": [], "annotations": []}
    for i, (name, who) in enumerate(zip(NAMES, WHO, strict=True)):
        content["images"].append({"id": i, "file_name": f"{name}.png", "width": 64, "height": 64, **image(who)})
        box = {"id": i, "image_id": i, "category_id": 1, "bbox": [10, 20, 20, 20], "iscrowd": 0}
        content["annotations"].append(box | annotation(who))
    (root / "annotations.json").write_text(json.dumps(content))
    return root


def coco_table(root: Path, column: str) -> Path:
    attributes(coco(root), column)
    return root


def yolo(root: Path, column: str) -> Path:
    pictures(root)
    (root / "classes.txt").write_text("face\n")
    for name in NAMES:
        (root / f"{name}.txt").write_text("0 .3125 .46875 .3125 .3125\n")
    attributes(root, column)
    return root


def voc(root: Path, inside: Callable[[str], str]) -> Path:
    pictures(root)
    box = "".join(f"<{n}>{v}</{n}>" for n, v in zip(("xmin", "ymin", "xmax", "ymax"), CORNERS, strict=True))
    for name, who in zip(NAMES, WHO, strict=True):
        item = f"<object><name>face</name><bndbox>{box}</bndbox>{inside(who)}</object>"
        (root / f"{name}.xml").write_text(f"<annotation>{item}</annotation>")
    return root


def voc_table(root: Path, column: str) -> Path:
    attributes(voc(root, lambda _: ""), column)
    return root


def labels(root: Path, column: str) -> Path:
    pictures(root)
    lines = [f'{name}.png,{who},"{CORNERS}"' for name, who in zip(NAMES, WHO, strict=True)]
    (root / "labels.csv").write_text("\n".join([f"file,{column},face_box", *lines]) + "\n")
    return root


def fairface(root: Path, column: str) -> str:
    pictures(root, "val")
    lines = [f"val/{name}.png,20-29,Male,Black,{who}" for name, who in zip(NAMES, WHO, strict=True)]
    (root / "fairface_label_val.csv").write_text("\n".join([f"file,age,gender,race,{column}", *lines]) + "\n")
    return f"fairface:{root}"


def bafmd(root: Path, column: str) -> str:
    pictures(root)
    lines = [f"{i},{name}.png,.3,.4,.2,.2,0,{who}" for i, (name, who) in enumerate(zip(NAMES, WHO, strict=True))]
    (root / "faces.csv").write_text("\n".join([f"index,filename,x,y,dx,dy,mask,{column}", *lines]) + "\n")
    return f"bafmd:{root}"


def indexed(source: Path, out: Path) -> Path:
    index_dataset(open_source(source), out)
    return out


def parquet(root: Path, column: str) -> Path:
    root.mkdir(parents=True)
    content = encode_png(np.zeros((64, 64, 3), np.uint8))
    rows = [{"id": n, "image": content, column: w, "face_box": CORNERS} for n, w in zip(NAMES, WHO, strict=True)]
    pq.write_table(pa.Table.from_pylist(rows), root / "faces.parquet")
    return indexed(root, root.parent / "manifest")


def webdataset(root: Path, record: Callable[[str], dict]) -> Path:
    root.mkdir(parents=True)
    content = encode_png(np.zeros((64, 64, 3), np.uint8))
    with tarfile.open(root / "a.tar", "w") as tar:
        for name, who in zip(NAMES, WHO, strict=True):
            for ending, data in (("png", content), ("json", json.dumps(record(who)).encode())):
                member = tarfile.TarInfo(f"{name}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return indexed(root, root.parent / "manifest")


def tagged(column: str, who: str) -> str:
    return f"<attributes><attribute><name>{column}</name><value>{who}</value></attribute></attributes>"


READERS: dict[str, Callable[[Path, str], Path | str]] = {
    "COCO table": coco_table,
    "COCO annotation": lambda root, column: coco(root, annotation=lambda who: {column: who}),
    "COCO attributes": lambda root, column: coco(root, annotation=lambda who: {"attributes": {column: who}}),
    "COCO image": lambda root, column: coco(root, image=lambda who: {"attributes": {column: who}}),
    "YOLO": yolo,
    "VOC table": voc_table,
    "VOC element": lambda root, column: voc(root, lambda who: f"<{column}>{who}</{column}>"),
    "VOC attributes": lambda root, column: voc(root, lambda who: tagged(column, who)),
    "VOC element of attributes": lambda root, column: voc(
        root, lambda who: f"<attributes><{column}>{who}</{column}></attributes>"
    ),
    "labels.csv": labels,
    "FairFace": fairface,
    "BAFMD": bafmd,
    "Parquet": parquet,
    "WebDataset": lambda root, column: webdataset(root, lambda who: {column: who, "face_box": CORNERS}),
    "WebDataset subjects": lambda root, column: webdataset(
        root, lambda who: {"subjects": [{column: who, "face_box": CORNERS}]}
    ),
    "WebDataset picture": lambda root, column: webdataset(
        root, lambda who: {column: who, "subjects": [{"face_box": CORNERS}]}
    ),
}


def identities(data: Dataset) -> list[str | None]:
    return [subject.identity for sample in sorted(data, key=lambda one: one.id) for subject in sample.subjects]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("column", ["identity", "person_id"])
def test_every_reader_reads_who_it_is(tmp_path, reader, column):
    data = load_dataset(READERS[reader](tmp_path / "set", column))
    assert identities(data) == WHO
    assert column not in data.attribute_names()


@pytest.mark.parametrize("column", [*PERSON_COLUMNS, "Person ID", "subjectId", "attr.participant"])
def test_every_name_of_the_column_is_known(tmp_path, column):
    assert identities(load_dataset(coco_table(tmp_path / "set", column))) == WHO


@pytest.mark.parametrize("column", ["subject", "personality", "person_count", "speakers", "user", "identityx", "id"])
def test_other_names_are_not(column):
    assert person_column([column]) is None


def test_data_check_counts_people(tmp_path, capsys):
    assert command(["data", "check", str(yolo(tmp_path / "set", "participant"))]) == 0
    assert "6 images, 3 people shown 6 times, no problem found" in capsys.readouterr().out


def test_an_empty_cell_names_nobody(tmp_path, capsys):
    root = yolo(tmp_path / "set", "identity")
    table = root / "attributes.csv"
    table.write_text(table.read_text().replace("anna1.png,anna,", "anna1.png, ,"))
    assert identities(load_dataset(root)) == ["anna", None, *WHO[2:]]
    assert command(["data", "check", str(root)]) == 0
    assert "6 images, 4 people shown 6 times (1 without an identity)" in capsys.readouterr().out


def test_what_an_annotation_says_is_not_overwritten(tmp_path):
    root = coco(tmp_path / "set", annotation=lambda who: {"identity": who.upper()})
    attributes(root, "person_id")
    assert identities(load_dataset(root)) == [who.upper() for who in WHO]


def test_a_number_is_one_identity_however_it_is_written(tmp_path):
    root = coco(tmp_path / "set", annotation=lambda who: {"person_id": {"anna": 7, "ben": 7.0}.get(who, "7")})
    assert set(identities(load_dataset(root))) == {"7"}


def test_one_identity_for_several_people_is_refused(tmp_path):
    root = yolo(tmp_path / "set", "identity")
    (root / "ben0.txt").write_text("0 .3 .4 .2 .2\n0 .7 .4 .2 .2\n")
    with pytest.raises(InputError, match=r"attributes.csv line 4: one identity \(ben\), but 2 boxes; a column face"):
        load_dataset(root)
    lines = ["file,face,identity", *(f"{name}.png,0,{who}" for name, who in zip(NAMES, WHO, strict=True))]
    (root / "attributes.csv").write_text("\n".join([*lines, "ben0.png,1,dora"]) + "\n")
    assert identities(load_dataset(root)) == ["anna", "anna", "ben", "dora", "ben", "carla", "carla"]


def test_a_face_and_a_body_may_be_of_one_person(tmp_path):
    root = yolo(tmp_path / "set", "identity")
    (root / "classes.txt").write_text("face\nperson\n")
    (root / "ben0.txt").write_text("0 .3 .4 .2 .2\n1 .3 .4 .5 .5\n")
    assert identities(load_dataset(root)) == ["anna", "anna", "ben", "ben", "ben", "carla", "carla"]


def test_an_identity_that_is_no_name_is_refused(tmp_path):
    root = coco(tmp_path / "set", annotation=lambda _: {"identity": ["a", "b"]})
    with pytest.raises(InputError, match=r"annotations\[0\]: identity is \['a', 'b'\], expected a name or a number"):
        load_dataset(root)


class FaceOfItsPerson:
    """An embedding that depends on the picture's mean colour alone."""

    name = "colour"

    def __call__(self, images):
        return [np.array([float(image[..., 0].mean()) + 1, float(image[..., 1].mean()), 1.0]) for image in images]


def many(root: Path, layout: str, people: int = 24, each: int = 4) -> Path:
    """People of two wards, each in several pictures; a detector finds every face or no face of a person."""
    random = np.random.default_rng(5)
    root.mkdir()
    rows, content = [], {"categories": [{"id": 1, "name": "face"}], "images": [], "annotations": []}
    for person in range(people):
        colour = random.integers(0, 255, 3)
        for k in range(each):
            number, name = len(rows), f"p{person:02d}_{k}.png"
            pixels = np.clip(colour + random.integers(-3, 4, (32, 32, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(root / name)
            rows.append((name, f"p{person}", "north" if person % 2 else "south"))
            content["images"].append({"id": number, "file_name": name, "width": 32, "height": 32})
            box = {"id": number, "image_id": number, "category_id": 1, "bbox": [4, 4, 20, 20]}
            content["annotations"].append(box)
    if layout == "labels":
        lines = [f'{name},{who},{ward},"[4, 4, 24, 24]"' for name, who, ward in rows]
        (root / "labels.csv").write_text("\n".join(["file,identity,attr.ward,face_box", *lines]) + "\n")
    else:
        (root / "annotations.json").write_text(json.dumps(content))
        lines = [",".join(row) for row in rows]
        (root / "attributes.csv").write_text("\n".join(["file,person_id,attr.ward", *lines]) + "\n")
    return root


class FindsSome:
    """Finds the faces of people whose red is above a number: all pictures of a person alike."""

    name = "some"

    def __call__(self, images):
        found = [[[4.0, 4, 24, 24]] if image[..., 0].mean() > 90 else np.zeros((0, 4)) for image in images]
        return [ct.Boxes(boxes) for boxes in found]


def test_the_audit_is_the_same_whichever_layout_holds_the_data(tmp_path):
    audits = []
    for layout in ("labels", "coco"):
        run = evaluate(
            FindsSome(), "face_localization", many(tmp_path / layout, layout), out=tmp_path / f"run-{layout}"
        )
        audits.append(ct.audit(run, by=["ward"]))
    plain, coco_audit = audits
    assert "24 people" in plain.settings["unit"] and coco_audit.settings["unit"] == plain.settings["unit"]
    assert [(f.p, f.verdict, f.low, f.high) for f in coco_audit.findings] == [
        (f.p, f.verdict, f.low, f.high) for f in plain.findings
    ]


def test_verification_works_on_identities_of_an_attribute_file(tmp_path):
    run = evaluate(FaceOfItsPerson(), "face_verification", many(tmp_path / "set", "coco"), out=tmp_path / "run")
    assert len(set(run.scores()["identity"].to_pylist())) == 24
