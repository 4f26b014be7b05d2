"""Folders and tables as people have them, with drawn pictures: a function for each, by name."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 96, 80
BOX = (30, 20, 70, 60)
"""Corners of the face in every picture: as x, y, w, h they would leave it."""
FOLDERS: dict[str, tuple[Callable[[Path], None], dict[str, Any], dict[str, Any]]] = {}
"""Each folder with the options of `load_dataset` and what it holds: pictures, people, attributes, boxes."""


def folder(
    *, pictures: int, people: int, attributes: Sequence[str], boxes: int = 0, **options: Any
) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Register a function that fills a folder."""

    def register(function: Callable[[Path], None]) -> Callable[[Path], None]:
        holds = {"pictures": pictures, "people": people, "attributes": set(attributes), "boxes": boxes}
        FOLDERS[function.__name__] = (function, options, holds)
        return function

    return register


def picture(path: Path, seed: int = 0) -> Path:
    """Noise with a bright patch where the face is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 90, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    x0, y0, x1, y1 = BOX
    pixels[y0:y1, x0:x1] = 200
    Image.fromarray(pixels).save(path)
    return path


def write_csv(path: Path, rows: Sequence[Sequence[Any]], *, sign: str = ",", encoding: str = "utf-8") -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=sign, lineterminator="\r\n").writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stream.getvalue().encode(encoding))


def shifted(i: int) -> tuple[int, int, int, int]:
    """The face's box, a little elsewhere in every picture."""
    x0, y0, x1, y1 = BOX
    return x0 + i % 3, y0 + i % 5, x1 + i % 3, y1 + i % 5


@folder(pictures=60, people=15, attributes=["gender", "skin"], boxes=60, labels="my.csv")
def the_example_of_the_issue(root: Path) -> None:
    rows = [["filename", "person", "gender", "skin", "xmin", "ymin", "xmax", "ymax"]]
    for i in range(60):
        picture(root / f"{i:03d}.jpg", i)
        rows.append([f"{i:03d}.jpg", f"p{i % 15}", "FM"[i % 2], ["light", "dark"][i % 15 % 2], *shifted(i)])
    write_csv(root / "my.csv", rows)


@folder(
    pictures=8,
    people=4,
    attributes=["male", "smiling", "young"],
    boxes=8,
    labels=["list_attr_celeba.txt", "list_bbox_celeba.txt", "identity_CelebA.txt", "list_eval_partition.txt"],
)
def celeba_original_text(root: Path) -> None:
    names = [f"{i + 1:06d}.jpg" for i in range(8)]
    for i, name in enumerate(names):
        picture(root / "img_align_celeba" / name, i)
    attributes = [f"{name}  {1 if i % 2 else -1} -1  {-1 if i % 3 else 1}" for i, name in enumerate(names)]
    (root / "list_attr_celeba.txt").write_text("\n".join(["8", "Male Smiling Young ", *attributes]) + "\n")
    boxes = [
        f"{name}    {x0}  {y0} {x1 - x0} {y1 - y0}"
        for name, (x0, y0, x1, y1) in zip(names, map(shifted, range(8)), strict=True)
    ]
    (root / "list_bbox_celeba.txt").write_text("\n".join(["8", "image_id x_1 y_1 width height", *boxes]) + "\n")
    (root / "identity_CelebA.txt").write_text("".join(f"{name} {2880 + i // 2}\n" for i, name in enumerate(names)))
    parts = "".join(f"{name} {i % 3}\n" for i, name in enumerate(names))
    (root / "list_eval_partition.txt").write_text("image_id partition\n" + parts)


@folder(pictures=6, people=6, attributes=["5_o_clock_shadow", "male"], labels="list_attr_celeba.csv")
def celeba_of_kaggle(root: Path) -> None:
    rows = [["image_id", "5_o_Clock_Shadow", "Male"]]
    for i in range(6):
        picture(root / "img_align_celeba" / "img_align_celeba" / f"{i + 1:06d}.jpg", i)
        rows.append([f"{i + 1:06d}.jpg", (-1, 1)[i % 2], (1, -1)[i % 3 == 0]])
    write_csv(root / "list_attr_celeba.csv", rows)


@folder(pictures=6, people=6, attributes=["age", "gender", "race"])
def utkface_names(root: Path) -> None:
    for i in range(6):
        picture(root / f"{20 + i}_{i % 2}_{i % 5}_2017011617452512{i}.jpg.chip.jpg", i)


@folder(pictures=4, people=4, attributes=["age_group", "gender", "race", "service_test"])
def fairface_table_alone(root: Path) -> None:
    rows = [["file", "age", "gender", "race", "service_test"]]
    for i, age in enumerate(("20-29", "more than 70", "03-Sep", "10-19")):
        picture(root / "val" / f"{i + 1}.jpg", i)
        rows.append([f"val/{i + 1}.jpg", age, ["Male", "Female"][i % 2], "East Asian", str(bool(i % 2))])
    write_csv(root / "fairface_label_val.csv", rows)


@folder(
    pictures=2,
    people=3,
    attributes=["blur", "expression", "illumination", "occlusion", "pose"],
    boxes=3,
    labels="wider_face_val_bbx_gt.txt",
)
def wider_face_lists(root: Path) -> None:
    for i, name in enumerate(("0--Parade/0_Parade_1.jpg", "1--Handshaking/1_Handshaking_2.jpg")):
        picture(root / "WIDER_val" / "images" / name, i)
    lines = [
        "0--Parade/0_Parade_1.jpg",
        "2",
        "30 20 40 40 0 0 0 0 0 0 ",
        "10 10 12 14 2 0 0 0 2 0 ",
        "1--Handshaking/1_Handshaking_2.jpg",
        "2",
        "5 6 20 22 1 0 1 0 0 0 ",
        "1 1 3 3 2 0 0 1 2 0 ",
    ]
    (root / "wider_face_val_bbx_gt.txt").write_text("\n".join(lines) + "\n")


@folder(pictures=5, people=2, attributes=[])
def lfw_folders_of_people(root: Path) -> None:
    for person, count in (("Aaron_Eckhart", 2), ("Zoe_Ball", 3)):
        for i in range(count):
            picture(root / person / f"{person}_{i + 1:04d}.jpg", i)


@folder(pictures=4, people=2, attributes=["gender", "age"], labels="people.tsv")
def lfw_with_a_table_by_tab_and_equal_names(root: Path) -> None:
    rows = [["image", "person", "Gender", "Age"]]
    for i in range(4):
        person = ("anna", "ben")[i // 2]
        picture(root / person / f"{i % 2 + 1}.jpg", i)
        rows.append([f"{i % 2 + 1}.jpg", person, "fm"[i // 2], 30 + i])
    write_csv(root / "people.tsv", rows, sign="\t")


@folder(pictures=4, people=6, attributes=["split"], boxes=6)
def roboflow_tensorflow_csv(root: Path) -> None:
    for split, start in (("train", 0), ("valid", 2)):
        rows = [["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax"]]
        for i in range(start, start + 2):
            name = f"img_{i}_jpg.rf.0123456789abcdef.jpg"
            picture(root / split / name, i)
            rows += [[name, WIDTH, HEIGHT, "person", *shifted(i)], [name, WIDTH, HEIGHT, "dog", 1, 1, 9, 9]]
            rows += [[name, WIDTH, HEIGHT, "person", 2, 3, 20, 40]] if i % 2 else []
        write_csv(root / split / "_annotations.csv", rows)


@folder(pictures=4, people=4, attributes=["split"], boxes=4)
def roboflow_coco_in_splits(root: Path) -> None:
    for split, start in (("train", 0), ("test", 2)):
        images, annotations = [], []
        for i in range(start, start + 2):
            picture(root / split / f"{i}.jpg", i)
            images.append({"id": i - start, "file_name": f"{i}.jpg", "width": WIDTH, "height": HEIGHT})
            box = [BOX[0], BOX[1], 40, 40]
            annotations.append({"id": i - start, "image_id": i - start, "category_id": 1, "bbox": box, "iscrowd": 0})
        categories = [{"id": 0, "name": "people"}, {"id": 1, "name": "person"}]
        content = {"images": images, "annotations": annotations, "categories": categories}
        (root / split / "_annotations.coco.json").write_text(json.dumps(content))


@folder(pictures=3, people=3, attributes=["gender"], boxes=3, labels="who.csv")
def roboflow_yolo_with_a_table(root: Path) -> None:
    (root / "data.yaml").parent.mkdir(parents=True, exist_ok=True)
    (root / "data.yaml").write_text("train: ../train/images\nnc: 1\nnames: ['person']\n")
    rows = [["Image", "Gender"]]
    for i in range(3):
        picture(root / "train" / "images" / f"{i}.jpg", i)
        label = root / "train" / "labels" / f"{i}.txt"
        label.parent.mkdir(parents=True, exist_ok=True)
        label.write_text("0 0.5 0.5 0.4 0.4\n")
        rows.append([f"{i}.jpg", ["woman", "man"][i % 2]])
    write_csv(root / "who.csv", rows)


@folder(pictures=2, people=3, attributes=["gender"], boxes=3, labels="export.json")
def label_studio_json(root: Path) -> None:
    entries = []
    for i in range(2):
        picture(root / f"photo{i}.jpg", i)
        value = {"x": 30.0, "y": 25.0, "width": 40.0, "height": 50.0, "rotation": 0, "rectanglelabels": ["Face"]}
        results = [
            {
                "id": f"r{k}",
                "from_name": "label",
                "type": "rectanglelabels",
                "original_width": WIDTH,
                "original_height": HEIGHT,
                "value": {**value, "x": 10.0 + 40 * k},
            }
            for k in range(i + 1)
        ]
        results += [{"id": "r0", "from_name": "gender", "type": "choices", "value": {"choices": ["female"]}}]
        data = {"image": f"/data/upload/1/1a2b3c4d-photo{i}.jpg"}
        entries.append({"id": i, "data": data, "annotations": [{"id": i, "result": results}]})
    (root / "export.json").write_text(json.dumps(entries))


@folder(pictures=2, people=2, attributes=["gender"], boxes=2, labels="project-1.csv")
def label_studio_csv(root: Path) -> None:
    rows = [["image", "id", "label", "gender", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"]]
    for i in range(2):
        picture(root / f"photo{i}.jpg", i)
        drawn = [
            {
                "x": 30.0,
                "y": 25.0,
                "width": 40.0,
                "height": 50.0,
                "rectanglelabels": ["Face"],
                "original_width": WIDTH,
                "original_height": HEIGHT,
            }
        ]
        row = [f"/data/upload/1/0a1b2c3d-photo{i}.jpg", i, json.dumps(drawn), "female", 1, 7 + i, "2026", "2026", 4.2]
        rows.append(row)
    write_csv(root / "project-1.csv", rows)


@folder(pictures=2, people=3, attributes=["gender"], boxes=3)
def cvat_for_images(root: Path) -> None:
    lines = ["<?xml version='1.0' encoding='utf-8'?>", "<annotations>", "<version>1.1</version>"]
    for i in range(2):
        picture(root / "images" / f"{i}.png", i)
        lines.append(f'<image id="{i}" name="{i}.png" width="{WIDTH}" height="{HEIGHT}">')
        for k in range(i + 1):
            x0, y0, x1, y1 = (value + k for value in BOX)
            lines.append(f'<box label="face" occluded="0" xtl="{x0}" ytl="{y0}" xbr="{x1}" ybr="{y1}">')
            lines.append('<attribute name="gender">female</attribute></box>')
        lines.append("</image>")
    (root / "annotations.xml").write_text("\n".join([*lines, "</annotations>"]))


@folder(pictures=2, people=2, attributes=["gender"], boxes=2)
def via_csv(root: Path) -> None:
    rows = [["#filename", "file_size"]]  # the header of VIA begins so; pandas users keep it
    rows = [
        [
            "filename",
            "file_size",
            "file_attributes",
            "region_count",
            "region_id",
            "region_shape_attributes",
            "region_attributes",
        ]
    ]
    for i in range(2):
        picture(root / f"{i}.png", i)
        shape = {"name": "rect", "x": BOX[0], "y": BOX[1], "width": 40, "height": 40}
        rows.append([f"{i}.png", 999, "{}", 1, 0, json.dumps(shape), json.dumps({"gender": "male"})])
    write_csv(root / "via_region_data.csv", rows)


@folder(pictures=2, people=2, attributes=["gender"], boxes=2)
def via_json(root: Path) -> None:
    content = {}
    for i in range(2):
        picture(root / f"{i}.png", i)
        shape = {"name": "rect", "x": BOX[0], "y": BOX[1], "width": 40, "height": 40}
        regions = [{"shape_attributes": shape, "region_attributes": {"gender": "male"}}]
        content[f"{i}.png999"] = {"filename": f"{i}.png", "size": 999, "regions": regions, "file_attributes": {}}
    (root / "via_project.json").write_text(json.dumps(content))


@folder(pictures=4, people=2, attributes=["geschlecht", "age", "helligkeit", "brille"], boxes=4, labels="Probanden.csv")
def excel_in_german(root: Path) -> None:
    rows = [
        ["Dateiname", "Proband", "Geschlecht", "Age", "Helligkeit", "Brille", "XMIN", "YMIN", "XMAX", "YMAX", "", ""]
    ]
    for i in range(4):
        picture(root / "Bilder" / f"Bild {i}.jpg", i)
        corners = [f"{value},5" for value in BOX]
        helligkeit = ("12,5 %", "n/a", "100 %", "7 %")[i]
        rows.append(
            [
                f"Bild {i}.jpg",
                f"P{i // 2}",
                ("weiblich", "männlich")[i % 2],
                f"{30 + i},5",
                helligkeit,
                ("Ja", "Nein")[i % 2],
                *corners,
                "",
                "",
            ]
        )
    rows.append([""] * 12)
    write_csv(root / "Probanden.csv", rows, sign=";", encoding="cp1252")


@folder(pictures=3, people=3, attributes=["sex", "smile"], labels="UTF16.txt")
def excel_unicode_text(root: Path) -> None:
    rows = [["IMAGE PATH", "SEX", "SMILE"]]
    for i in range(3):
        picture(root / "in" / f"{i}.jpg", i)
        rows.append([f"C:\\Users\\me\\in\\{i}.jpg", "FMF"[i], ["TRUE", "FALSE", "N/A"][i]])
    write_csv(root / "UTF16.txt", rows, sign="\t", encoding="utf-16")


@folder(pictures=3, people=2, attributes=["ethnicity", "age"], labels="utf8_bom.csv")
def excel_with_a_byte_order_mark_and_separator_line(root: Path) -> None:
    lines = ["sep=;", "Image_Name;Subject ID;Ethnicity;age"]
    for i in range(3):
        picture(root / f"im{i}.png", i)
        lines.append(f"im{i};{100 + i // 2}.0;Südasien;{40 + i}")
    (root / "utf8_bom.csv").write_text("\n".join(lines), encoding="utf-8-sig")


@folder(pictures=4, people=4, attributes=["source"], boxes=5, labels="train.csv", categories="face=head")
def kaggle_boxes_in_one_column(root: Path) -> None:
    rows: list[list[Any]] = [["image_id", "width", "height", "bbox", "label", "source"]]
    for i in range(4):
        picture(root / "train" / f"b6ab77fd{i}.jpg", i)
        rows.append([f"b6ab77fd{i}", WIDTH, HEIGHT, str([60.0, 40.0, 30.0, 20.0 + i]), "head", "ab"[i % 2]])
    rows.append(["b6ab77fd0", WIDTH, HEIGHT, "[50.0, 8.0, 26.0, 12.0]", "head", "a"])
    write_csv(root / "train.csv", rows)


@folder(pictures=2, people=2, attributes=["is_occluded"], boxes=2, labels="train-annotations-bbox.csv")
def open_images(root: Path) -> None:
    rows = [["ImageID", "XMin", "XMax", "YMin", "YMax", "LabelName", "IsOccluded"]]
    for i in range(2):
        picture(root / f"000002b66c9c498{i}.jpg", i)
        rows.append([f"000002b66c9c498{i}", "0.31", "0.72", "0.25", "0.75", "Human face", i])
        rows.append([f"000002b66c9c498{i}", "0.1", "0.2", "0.25", "0.75", "Tree", i])
    write_csv(root / "train-annotations-bbox.csv", rows)


@folder(pictures=4, people=2, attributes=["gender", "fitzpatrick"], boxes=4, labels="frame.parquet")
def a_data_frame_as_parquet(root: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = [picture(root / "faces" / f"{i}.jpg", i).as_posix() for i in range(4)]
    columns = {
        "path": files,
        "subject_id": [7.0, 7.0, 8.0, 8.0],
        "gender": ["f", "f", "m", None],
        "fitzpatrick": [1.0, 1.0, 6.0, None],
        "bbox": [list(map(float, shifted(i))) for i in range(4)],
        "__index_level_0__": [0, 1, 2, 3],
    }
    pq.write_table(pa.table(columns), root / "frame.parquet")


@folder(pictures=3, people=3, attributes=["mood"], boxes=3, labels="rows.jsonl")
def records_with_a_box_of_keys(root: Path) -> None:
    lines = []
    for i in range(3):
        picture(root / f"{i}.webp", i)
        box = {"left": BOX[0], "top": BOX[1], "width": 40, "height": 40}
        lines.append(json.dumps({"image_path": f"./{i}.webp", "face_box": box, "mood": ["calm", "glad"][i % 2]}))
    (root / "rows.jsonl").write_text("\n".join(lines))


@folder(pictures=6, people=6, attributes=["gender"], columns="gender=folder")
def folders_of_groups(root: Path) -> None:
    for i in range(6):
        picture(root / ("women", "men")[i % 2] / f"{i}.jpg", i)


@folder(pictures=4, people=2, attributes=["masked"], boxes=4, labels="faces.csv")
def masks_and_mixed_header(root: Path) -> None:
    rows = [["Image-File", "Participant ID", "Mask", "Face X", "Face Y", "Face W", "Face H"]]
    for i in range(4):
        picture(root / "a" / f"{i}.JPG", i)
        rows.append([f"a\\{i}.JPG", f"00{i // 2}", ["with_mask", "without_mask"][i % 2], BOX[0], BOX[1], 40, 40])
    write_csv(root / "faces.csv", rows)


@folder(pictures=3, people=3, attributes=["age"], boxes=3, labels="labels.csv")
def labels_csv_of_somebody_else(root: Path) -> None:
    rows = [["File", "Left", "Top", "Right", "Bottom", "Age"]]
    for i in range(3):
        picture(root / "x" / "y" / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", *BOX, ["31", "N/A", "4 years"][i]])
    write_csv(root / "labels.csv", rows)


@folder(pictures=3, people=3, attributes=["sex"], boxes=3, truth_boxes="xywh", labels="t.csv")
def small_boxes_whose_form_the_user_says(root: Path) -> None:
    rows = [["img", "box", "sex"]]
    for i in range(3):
        picture(root / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", "10 12 30 40", "fmf"[i]])
    write_csv(root / "t.csv", rows)


@folder(pictures=3, people=2, attributes=["ward"], labels="ids.csv")
def numbers_without_their_zeros(root: Path) -> None:
    rows = [["Image", "patient", "ward", "Unnamed: 0"]]
    for i in range(3):
        picture(root / "scans" / f"{i + 1:05d}.png", i)
        rows.append([i + 1, f"x{i // 2}", "north", i])
    write_csv(root / "ids.csv", rows)


@folder(pictures=8, people=12, attributes=["gender", "age", "categories"], boxes=12)
def hugging_face_image_folder_with_objects(root: Path) -> None:
    for split, count in (("train", 1), ("test", 2)):
        records = []
        for i in range(4):
            picture(root / split / f"{i:04d}.png", i)
            objects = {"bbox": [[10, 12, 20, 30]] * count, "categories": [0] * count}
            objects["bbox"][-1] = [50, 12, 20, 30]
            records.append({"file_name": f"{i:04d}.png", "gender": "fm"[i % 2], "age": 20 + i, "objects": objects})
        (root / split / "metadata.jsonl").write_text("\n".join(map(json.dumps, records)))


@folder(pictures=5, people=10, attributes=["gender"], boxes=10, labels="labels.json")
def records_with_a_list_of_faces(root: Path) -> None:
    records = []
    for i in range(5):
        picture(root / f"{i}.jpg", i)
        faces = [{"box": list(shifted(i)), "gender": "female"}, {"box": [1, 1, 12, 14], "gender": "male"}]
        records.append({"image": f"{i}.jpg", "camera": {"maker": {"name": "x"}}, "faces": faces})
    (root / "labels.json").write_text(json.dumps(records))


@folder(pictures=4, people=4, attributes=["gender", "weather"], boxes=4, labels="export.ndjson")
def labelbox_export(root: Path) -> None:
    rows = []
    for i in range(4):
        picture(root / f"{i}.jpg", i)
        answer = {"name": "gender", "radio_answer": {"name": "female", "value": "female"}}
        box = {"top": 20.0, "left": 30.0, "height": 40.0, "width": 40.0}
        drawn = {
            "name": "face",
            "annotation_kind": "ImageBoundingBox",
            "bounding_box": box,
            "classifications": [answer],
        }
        sky = {"name": "weather", "checklist_answers": [{"name": "rain"}, {"name": "fog"}]}
        label = {"label_kind": "Default", "annotations": {"objects": [drawn], "classifications": [sky]}}
        about = {"id": f"c{i}", "external_id": f"{i}.jpg", "row_data": f"https://example.org/{i}.jpg"}
        sizes = {"height": HEIGHT, "width": WIDTH}
        projects = {"p": {"name": "faces", "labels": [label]}}
        rows.append({"data_row": about, "media_attributes": sizes, "projects": projects})
    (root / "export.ndjson").write_text("\n".join(map(json.dumps, rows)))


@folder(pictures=5, people=5, attributes=["geschlecht", "age"], boxes=5, labels="labels.csv")
def german_words_for_boxes(root: Path) -> None:
    rows = [["Dateiname", "Geschlecht", "Alter", "X", "Y", "Breite", "Höhe"]]
    for i in range(5):
        picture(root / f"Bild {i}.JPG", i)
        rows.append([f"Bild {i}.JPG", "mw"[i % 2], "34,5", "30,5", "20,25", "40,0", "39,5"])
    write_csv(root / "labels.csv", rows, sign=";", encoding="utf-8-sig")


@folder(pictures=7, people=7, attributes=["age_group", "gender", "race", "service_test"])
def fairface_with_both_tables(root: Path) -> None:
    ages = ["0-2", "20-29", "more than 70", "30-39"]
    for split, count in (("train", 4), ("val", 3)):
        rows = [["file", "age", "gender", "race", "service_test"]]
        for i in range(count):
            picture(root / split / f"{i + 1}.jpg", i)
            rows.append([f"{split}/{i + 1}.jpg", ages[i], ["Male", "Female"][i % 2], "East Asian", "True"])
        write_csv(root / f"fairface_label_{split}.csv", rows)
