"""Writing a dataset for detectors that run elsewhere: pictures, boxes in the format asked for, attributes.

Their predictions come back through `assess --predictions`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from countenance.data import Dataset, Sample, Subject
from countenance.data.folder import copy_image
from countenance.errors import InputError
from countenance.suites.mask_fairness.assessment import csv_text

CLASSES = ("no_mask", "mask")
"""In the order of BAFMD; classes.txt and the COCO file name it as well."""


@dataclass(frozen=True)
class MaskedFace:
    """A face with a box, its place among those of its picture, and the picture's file."""

    sample: Sample
    subject: Subject
    index: int
    file: str

    @property
    def corners(self) -> list[float]:
        return [float(value) for value in ([] if self.subject.face_box is None else self.subject.face_box)]

    @property
    def centre(self) -> list[float]:
        """Centre and size, normalised."""
        x0, y0, x1, y1 = self.corners
        w, h = self.sample.width, self.sample.height
        return [(x0 + x1) / 2 / w, (y0 + y1) / 2 / h, (x1 - x0) / w, (y1 - y0) / h]

    @property
    def label(self) -> int:
        """Its class as a number in `CLASSES`."""
        word = self.subject.attributes.get("masked")
        if word not in ("yes", "no"):
            raise InputError(f"{self.sample.id}: whether a mask is worn is not known; these formats must say it")
        return int(word == "yes")

    def about(self, names: Sequence[str]) -> dict[str, Any]:
        """Its attributes of these names, as cells of a CSV."""
        known = {**self.sample.attributes, **self.subject.attributes}
        return {name: "|".join(v) if isinstance(v := known.get(name), tuple) else v for name in names}


def make_data(dataset: Dataset, out: Path, form: str = "bafmd", step: Callable[[], None] = lambda: None) -> int:
    """Write a new folder with every picture that has a face with a box; returns the number of faces.

    bafmd: `annotations.csv` (centre, normalised); yolo, voc: a label file beside each picture, with `attributes.csv`;
    coco: `annotations.json` with `attributes.csv`.
    """
    if form not in FORMATS:
        raise InputError(f"format {form!r}, expected one of {', '.join(FORMATS)}")
    faces: list[list[MaskedFace]] = []
    out.mkdir(parents=True, exist_ok=True)
    for sample in dataset:
        boxed = [subject for subject in sample.subjects if subject.face_box is not None]
        if boxed:
            file = copy_image(sample, out)
            faces.append([MaskedFace(sample, subject, i, file) for i, subject in enumerate(boxed)])
            step()
    if not faces:
        raise InputError(f"dataset {dataset.name!r} has no face with a box")
    (out / "card.json").write_text(dataset.card.model_dump_json(indent=2) + "\n", encoding="utf-8")
    known = [name for own in faces for face in own for name in (*face.sample.attributes, *face.subject.attributes)]
    names = [name for name in dict.fromkeys(known) if name not in ("mask", "masked")]
    every = [face for own in faces for face in own]
    if form == "bafmd":
        rows = [{"index": i, **_bafmd(face), **face.about(names)} for i, face in enumerate(every)]
    else:
        rows = [{"file": face.file, "face": face.index, **face.about(names)} for face in every]
        WRITERS[form](faces, out)
    table = out / ("annotations.csv" if form == "bafmd" else "attributes.csv")
    table.write_text(csv_text(rows, list(rows[0])), encoding="utf-8", newline="")
    return len(every)


def _bafmd(face: MaskedFace) -> dict[str, Any]:
    box = dict(zip(("x", "y", "dx", "dy"), map(repr, face.centre), strict=True))
    return {"filename": face.file, **box, "mask": {"yes": 1, "no": 0}.get(str(face.subject.attributes.get("masked")))}


def _write_yolo(faces: list[list[MaskedFace]], out: Path) -> None:
    (out / "classes.txt").write_text("\n".join(CLASSES) + "\n", encoding="utf-8")
    for own in faces:
        lines = [" ".join([str(face.label), *map(repr, face.centre)]) for face in own]
        (out / own[0].file).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_voc(faces: list[list[MaskedFace]], out: Path) -> None:
    for own in faces:
        root, sample = ElementTree.Element("annotation"), own[0].sample
        ElementTree.SubElement(root, "filename").text = Path(own[0].file).name
        size = ElementTree.SubElement(root, "size")
        for name, value in (("width", sample.width), ("height", sample.height), ("depth", 3)):
            ElementTree.SubElement(size, name).text = str(value)
        for face in own:
            item = ElementTree.SubElement(root, "object")
            ElementTree.SubElement(item, "name").text = CLASSES[face.label]
            box = ElementTree.SubElement(item, "bndbox")
            for name, side in zip(("xmin", "ymin", "xmax", "ymax"), face.corners, strict=True):
                ElementTree.SubElement(box, name).text = repr(side)
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write((out / own[0].file).with_suffix(".xml"), encoding="utf-8")


def _write_coco(faces: list[list[MaskedFace]], out: Path) -> None:
    content: dict[str, list[Any]] = {
        "images": [], "annotations": [], "categories": [{"id": i, "name": name} for i, name in enumerate(CLASSES, 1)],
    }  # fmt: skip
    for number, own in enumerate(faces, 1):
        size = {"width": own[0].sample.width, "height": own[0].sample.height}
        content["images"].append({"id": number, "file_name": own[0].file, **size})
        for face in own:
            x0, y0, x1, y1 = face.corners
            box = {"bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0), "iscrowd": 0}
            ids = {"id": len(content["annotations"]) + 1, "image_id": number, "category_id": 1 + face.label}
            content["annotations"].append(ids | box)
    (out / "annotations.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


WRITERS = {"yolo": _write_yolo, "voc": _write_voc, "coco": _write_coco}
FORMATS = ("bafmd", *WRITERS)
