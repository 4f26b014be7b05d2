"""Boxes of faces as detectors are trained on them: YOLO's and Pascal VOC's files beside the pictures, COCO's JSON."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from countenance.data.layout import ListedFace
from countenance.text import printable

LabelOf = Callable[[ListedFace], int]
Pictures = list[list[ListedFace]]


def write_boxes(form: str, faces: Sequence[ListedFace], classes: Sequence[str], label: LabelOf, out: Path) -> None:
    """Write the boxes of some faces, picture after picture, in one of `BOX_FILES`; `label` is a number in `classes`."""
    pictures = [list(own) for _, own in itertools.groupby(faces, key=lambda face: face.file)]
    BOX_FILES[form](pictures, classes, label, out)


def _write_yolo(pictures: Pictures, classes: Sequence[str], label: LabelOf, out: Path) -> None:
    (out / "classes.txt").write_text("\n".join(classes) + "\n", encoding="utf-8")
    for own in pictures:
        lines = [" ".join([str(label(face)), *map(repr, face.centre)]) for face in own]
        (out / own[0].file).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_voc(pictures: Pictures, classes: Sequence[str], label: LabelOf, out: Path) -> None:
    for own in pictures:
        root, sample = ElementTree.Element("annotation"), own[0].sample
        ElementTree.SubElement(root, "filename").text = printable(Path(own[0].file).name)
        size = ElementTree.SubElement(root, "size")
        for name, value in (("width", sample.width), ("height", sample.height), ("depth", 3)):
            ElementTree.SubElement(size, name).text = str(value)
        for face in own:
            item = ElementTree.SubElement(root, "object")
            ElementTree.SubElement(item, "name").text = printable(classes[label(face)])
            box = ElementTree.SubElement(item, "bndbox")
            for name, side in zip(("xmin", "ymin", "xmax", "ymax"), face.corners, strict=True):
                ElementTree.SubElement(box, name).text = repr(side)
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write((out / own[0].file).with_suffix(".xml"), encoding="utf-8")


def _write_coco(pictures: Pictures, classes: Sequence[str], label: LabelOf, out: Path) -> None:
    content: dict[str, list[Any]] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": i, "name": name} for i, name in enumerate(classes, 1)],
    }
    for number, own in enumerate(pictures, 1):
        size = {"width": own[0].sample.width, "height": own[0].sample.height}
        content["images"].append({"id": number, "file_name": own[0].file, **size})
        for face in own:
            box = {"bbox": face.sized, "area": face.sized[2] * face.sized[3], "iscrowd": 0}
            ids = {"id": len(content["annotations"]) + 1, "image_id": number, "category_id": 1 + label(face)}
            content["annotations"].append(ids | box)
    (out / "annotations.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


BOX_FILES: dict[str, Callable[[Pictures, Sequence[str], LabelOf, Path], None]] = {
    "yolo": _write_yolo,
    "voc": _write_voc,
    "coco": _write_coco,
}
