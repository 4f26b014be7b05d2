"""Folders as annotation tools and benchmarks write them; importing this registers them among the others."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

from folders import HEIGHT, WIDTH, folder, picture, shifted, write_csv

GENDERS = ("female", "male")


def sized(i: int) -> list[int]:
    """A picture's box as x, y, width, height."""
    x0, y0, x1, y1 = shifted(i)
    return [x0, y0, x1 - x0, y1 - y0]


def centred(i: int) -> dict[str, float]:
    """A picture's box by its centre, under the names of its corner."""
    x, y, w, h = sized(i)
    return {"x": x + w / 2, "y": y + h / 2, "width": w, "height": h}


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@folder(pictures=6, people=6, attributes=["split"], boxes=6)
def roboflow_createml_in_splits(root: Path) -> None:
    for split in ("train", "valid"):
        records = []
        for i in range(3):
            name = picture(root / split / f"{split}{i}_jpg.rf.0a{i}.jpg", i).name
            records.append({"image": name, "annotations": [{"label": "face", "coordinates": centred(i)}]})
        write_json(root / split / "_annotations.createml.json", records)


@folder(pictures=4, people=4, attributes=["gender"], boxes=4, labels="answers.json")
def roboflow_predictions(root: Path) -> None:
    records = []
    for i in range(4):
        shown = {**centred(i), "class": "face", "confidence": 0.9, "gender": GENDERS[i % 2]}
        records.append({"image": picture(root / f"{i}.jpg", i).name, "predictions": [shown]})
    write_json(root / "answers.json", records)


@folder(pictures=4, people=4, attributes=["smiling"], boxes=4)
def labelme(root: Path) -> None:
    for i in range(4):
        x0, y0, x1, y1 = shifted(i)
        points = [[x1, y1], [x0, y0]] if i % 2 else [[x0, y0], [x1, y0], [x1, y1]]
        shape = {"label": "face", "points": points, "shape_type": "rectangle" if i % 2 else "polygon", "flags": {}}
        note = {"label": "nose", "points": [[50, 40]], "shape_type": "point", "flags": {}}
        name = picture(root / f"{i}.jpg", i).name
        write_json(
            root / f"{i}.json",
            {"flags": {"smiling": i % 2 == 0}, "shapes": [shape, note], "imagePath": name, "imageData": None},
        )


@folder(pictures=4, people=4, attributes=["gender"], boxes=4)
def supervisely(root: Path) -> None:
    write_json(root / "meta.json", {"classes": [{"title": "face", "shape": "rectangle"}]})
    for i in range(4):
        x0, y0, x1, y1 = shifted(i)
        shape = {
            "classTitle": "face",
            "geometryType": "rectangle",
            "tags": [{"name": "gender", "value": GENDERS[i % 2]}],
            "points": {"exterior": [[x0, y0], [x1, y1]], "interior": []},
        }
        picture(root / "ds0" / "img" / f"{i}.jpg", i)
        content = {"tags": [], "size": {"height": HEIGHT, "width": WIDTH}, "objects": [shape]}
        write_json(root / "ds0" / "ann" / f"{i}.jpg.json", content)


@folder(pictures=3, people=3, attributes=["gender"], boxes=3, labels="releases")
def darwin_files_in_a_folder(root: Path) -> None:
    for i in range(3):
        box = dict(zip("xywh", sized(i), strict=True))
        shown = {"name": "face", "bounding_box": box, "properties": [{"name": "gender", "value": GENDERS[i % 2]}]}
        name = picture(root / f"{i}.jpg", i).name
        content = {"version": "2.0", "item": {"name": name, "path": "/"}, "annotations": [shown]}
        write_json(root / "releases" / f"{i}.json", content)


@folder(pictures=4, people=4, attributes=["gender"], boxes=4, labels="annotations/default.json")
def datumaro(root: Path) -> None:
    items = []
    for i in range(4):
        name = picture(root / "images" / "default" / f"{i}.jpg", i).name
        about = {"id": 0, "type": "bbox", "label_id": 0, "bbox": sized(i), "attributes": {"gender": GENDERS[i % 2]}}
        items.append({"id": str(i), "annotations": [about], "attr": {"frame": i}, "image": {"path": name}})
    content = {"info": {}, "categories": {"label": {"labels": [{"name": "face"}]}}, "items": items}
    write_json(root / "annotations" / "default.json", content)


@folder(pictures=4, people=2, attributes=["gender"], boxes=8)
def cvat_for_video(root: Path) -> None:
    tracks = []
    for k, gender in enumerate(GENDERS):
        boxes = []
        for i in range(4):
            x0, y0, x1, y1 = shifted(i)
            about = f"<attribute name='gender'>{gender}</attribute>"
            place = f"xtl='{x0 - 20 * k}' ytl='{y0}' xbr='{x1 - 20 * k}' ybr='{y1}'"
            boxes.append(f"<box frame='{i}' outside='0' occluded='0' keyframe='1' {place}>{about}</box>")
        gone = "<box frame='9' outside='1' xtl='0' ytl='0' xbr='1' ybr='1'/>"
        tracks.append(f"<track id='{k}' label='person'>{''.join(boxes)}{gone}</track>")
    for i in range(4):
        picture(root / "images" / f"frame_{i:06d}.PNG", i)
    (root / "annotations.xml").write_text(f"<annotations>{''.join(tracks)}</annotations>")


@folder(pictures=4, people=4, attributes=["glasses"], boxes=4, labels="output.manifest")
def sagemaker_manifest(root: Path) -> None:
    records = []
    for i in range(4):
        x, y, w, h = sized(i)
        picture(root / f"{i}.jpg", i)
        box = {"class_id": 0, "left": x, "top": y, "width": w, "height": h}
        records.append(
            {
                "source-ref": f"s3://bucket/photos/{i}.jpg",
                "faces": {"image_size": [{"width": WIDTH}], "annotations": [box]},
                "faces-metadata": {"class-map": {"0": "face"}, "human-annotated": "yes"},
                "glasses": i % 2,
                "glasses-metadata": {"class-name": ("none", "round")[i % 2]},
            }
        )
    (root / "output.manifest").write_text("\n".join(map(json.dumps, records)))


@folder(pictures=4, people=4, attributes=["split"], boxes=4, labels="import.csv")
def vertex_csv_without_header(root: Path) -> None:
    rows = []
    for i in range(4):
        x0, y0, x1, y1 = shifted(i)
        picture(root / f"{i}.jpg", i)
        corners = [x0 / WIDTH, y0 / HEIGHT, "", "", x1 / WIDTH, y1 / HEIGHT, "", ""]
        rows.append([("TRAIN", "TEST")[i % 2], f"gs://bucket/{i}.jpg", "face", *corners])
    write_csv(root / "import.csv", rows)


@folder(pictures=8, people=4, attributes=["gender"], boxes=8, labels="people.csv.gz")
def compressed_csv(root: Path) -> None:
    text = io.StringIO()
    rows = [["filename", "person_id", "gender", "x", "y", "w", "h"]]
    for i in range(8):
        picture(root / "photos" / f"{i}.jpg", i)
        rows.append([f"{i}.jpg", f"p{i // 2}", GENDERS[i % 2], *map(str, sized(i))])
    csv.writer(text).writerows(rows)
    (root / "people.csv.gz").write_bytes(gzip.compress(text.getvalue().encode()))


@folder(pictures=6, people=4, attributes=[], boxes=12)
def two_sequences_of_mot(root: Path) -> None:
    for sequence in ("MOT17-02", "MOT17-04"):
        lines = []
        for i in range(3):
            picture(root / sequence / "img1" / f"{i + 1:06d}.jpg", i)
            x, y, w, h = sized(i)
            lines += [f"{i + 1},1,{x},{y},{w},{h},1,1,.5", f"{i + 1},2,-3,2,50,30,1,7,1", f"{i + 1},3,1,2,9,9,0,8,1"]
        (root / sequence / "gt").mkdir()
        (root / sequence / "gt" / "gt.txt").write_text("\n".join(lines))
        info = f"[Sequence]\nname={sequence}\nimDir=img1\nimWidth={WIDTH}\nimHeight={HEIGHT}\n"
        (root / sequence / "seqinfo.ini").write_text(info)


@folder(pictures=6, people=3, attributes=[], labels="pairs.txt")
def lfw_with_its_list_of_pairs(root: Path) -> None:
    for name in ("Ann_Lee", "Bob_Ray", "Cid_Poe"):
        for i in range(1, 4):
            picture(root / "lfw" / name / f"{name}_{i:04d}.jpg", i)
    lines = ["1\t2", "Ann_Lee\t1\t2", "Bob_Ray\t1\t3", "Ann_Lee\t1\tBob_Ray\t2", "Bob_Ray\t1\tCid_Poe\t3"]
    (root / "pairs.txt").write_text("\n".join(lines))


def yolo(root: Path, split: str, i: int, line: str) -> None:
    """A picture and its label file as Ultralytics has them."""
    picture(root / "images" / split / f"{split}{i}.jpg", i)
    path = root / "labels" / split / f"{split}{i}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line)


def shares(i: int) -> str:
    x, y, w, h = sized(i)
    return f"{(x + w / 2) / WIDTH} {(y + h / 2) / HEIGHT} {w / WIDTH} {h / HEIGHT}"


@folder(pictures=6, people=6, attributes=[], boxes=6)
def yolo_polygons_under_another_yaml(root: Path) -> None:
    (root / "my_people.yml").write_text("path: ../people\ntrain: images/train\nnames:\n  0: person\n")
    for split in ("train", "val"):
        for i in range(3):
            x0, y0, x1, y1 = shifted(i)
            points = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), ((x0 + x1) / 2, y1)]
            yolo(root, split, i, "0 " + " ".join(f"{x / WIDTH:.4f} {y / HEIGHT:.4f}" for x, y in points))


@folder(pictures=3, people=3, attributes=[], boxes=3)
def yolo_keypoints_of_two_numbers(root: Path) -> None:
    (root / "data.yaml").write_text("kpt_shape: [5, 2]\nnames: {0: face}\n")
    for i in range(3):
        yolo(root, "train", i, f"0 {shares(i)}" + " 0.5 0.5" * 5)


@folder(pictures=3, people=3, attributes=[], boxes=3)
def yolo_pose(root: Path) -> None:
    (root / "classes.txt").write_text("person\n")
    for i in range(3):
        yolo(root, "train", i, f"0 {shares(i)}" + " 0.5 0.5 2" * 17)


@folder(pictures=8, people=8, attributes=["gender", "split"])
def image_folder_of_genders(root: Path) -> None:
    for split in ("train", "test"):
        for gender in GENDERS:
            for i in range(2):
                picture(root / split / gender / f"{i}.png", i)


@folder(pictures=4, people=4, attributes=["masked"])
def image_folder_of_masks(root: Path) -> None:
    for name in ("with_mask", "without_mask"):
        for i in range(2):
            picture(root / name / f"{name}-{i}.png", i)
