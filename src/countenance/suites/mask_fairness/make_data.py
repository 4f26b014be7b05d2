"""Writing a dataset for detectors that run elsewhere: pictures, boxes in the format asked for, attributes.

Their predictions come back through `assess --predictions`.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from countenance.data import Dataset, Sample, Subject
from countenance.data.folder import copy_image
from countenance.errors import InputError

CLASSES = ("no_mask", "mask")
"""In the order of BAFMD; classes.txt and the COCO file name it as well."""
FORMATS = ("bafmd", "yolo", "voc", "coco")


def make_data(dataset: Dataset, out: Path, form: str = "bafmd", step: Callable[[], None] = lambda: None) -> int:
    """Write a new folder with every picture that has a face with a box; returns the number of faces.

    bafmd: `annotations.csv` (centre, normalised); yolo, voc: a label file beside each picture, with `attributes.csv`;
    coco: `annotations.json` with `attributes.csv`.
    """
    if form not in FORMATS:
        raise InputError(f"format {form!r}, expected one of {', '.join(FORMATS)}")
    samples = [sample for sample in dataset if _faces(sample)]
    if not samples:
        raise InputError(f"dataset {dataset.name!r} has no face with a box")
    out.mkdir(parents=True, exist_ok=True)
    files = []
    for sample in samples:
        files.append(copy_image(sample, out))
        step()
    (out / "card.json").write_text(dataset.card.model_dump_json(indent=2) + "\n", encoding="utf-8")
    names = _attributes(samples)
    if form == "bafmd":
        _write_bafmd(samples, files, names, out)
    else:
        {"yolo": _write_yolo, "voc": _write_voc, "coco": _write_coco}[form](samples, files, out)
        _write_attributes(samples, files, names, out)
    return sum(len(_faces(sample)) for sample in samples)


def _faces(sample: Sample) -> list[Subject]:
    return [subject for subject in sample.subjects if subject.face_box is not None]


def _about(sample: Sample, subject: Subject, name: str) -> Any:
    value = subject.attributes.get(name, sample.attributes.get(name))
    return "" if value is None else "|".join(value) if isinstance(value, tuple) else value


def _attributes(samples: list[Sample]) -> list[str]:
    names: dict[str, None] = {}
    for sample in samples:
        names.update(dict.fromkeys(sample.attributes))
        for subject in _faces(sample):
            names.update(dict.fromkeys(subject.attributes))
    return [name for name in names if name not in ("mask", "masked")]


def _centre(sample: Sample, subject: Subject) -> list[float]:
    assert subject.face_box is not None
    x0, y0, x1, y1 = (float(value) for value in subject.face_box)
    w, h = sample.width, sample.height
    return [(x0 + x1) / 2 / w, (y0 + y1) / 2 / h, (x1 - x0) / w, (y1 - y0) / h]


def _masked(subject: Subject, place: str) -> bool:
    word = subject.attributes.get("masked")
    if word not in ("yes", "no"):
        raise InputError(f"{place}: whether a mask is worn is not known; these formats must say it")
    return word == "yes"


def _write_bafmd(samples: list[Sample], files: list[str], names: list[str], out: Path) -> None:
    with (out / "annotations.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["index", "filename", "x", "y", "dx", "dy", "mask", *names])
        index = 0
        for sample, file in zip(samples, files, strict=True):
            for subject in _faces(sample):
                box = [repr(value) for value in _centre(sample, subject)]
                worn = {"yes": 1, "no": 0}.get(str(subject.attributes.get("masked")), "")
                writer.writerow([index, file, *box, worn, *(_about(sample, subject, name) for name in names)])
                index += 1


def _write_attributes(samples: list[Sample], files: list[str], names: list[str], out: Path) -> None:
    with (out / "attributes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["file", "face", *names])
        for sample, file in zip(samples, files, strict=True):
            for i, subject in enumerate(_faces(sample)):
                writer.writerow([file, i, *(_about(sample, subject, name) for name in names)])


def _write_yolo(samples: list[Sample], files: list[str], out: Path) -> None:
    (out / "classes.txt").write_text("\n".join(CLASSES) + "\n", encoding="utf-8")
    for sample, file in zip(samples, files, strict=True):
        lines = []
        for subject in _faces(sample):
            number = CLASSES.index("mask" if _masked(subject, sample.id) else "no_mask")
            lines.append(" ".join([str(number), *(repr(value) for value in _centre(sample, subject))]))
        (out / file).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_voc(samples: list[Sample], files: list[str], out: Path) -> None:
    for sample, file in zip(samples, files, strict=True):
        root = ElementTree.Element("annotation")
        ElementTree.SubElement(root, "filename").text = Path(file).name
        size = ElementTree.SubElement(root, "size")
        for name, value in (("width", sample.width), ("height", sample.height), ("depth", 3)):
            ElementTree.SubElement(size, name).text = str(value)
        for subject in _faces(sample):
            item = ElementTree.SubElement(root, "object")
            ElementTree.SubElement(item, "name").text = "mask" if _masked(subject, sample.id) else "no_mask"
            box = ElementTree.SubElement(item, "bndbox")
            assert subject.face_box is not None
            for name, value in zip(("xmin", "ymin", "xmax", "ymax"), subject.face_box, strict=True):
                ElementTree.SubElement(box, name).text = repr(float(value))
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write((out / file).with_suffix(".xml"), encoding="utf-8")


def _write_coco(samples: list[Sample], files: list[str], out: Path) -> None:
    content: dict[str, list[Any]] = {
        "images": [], "annotations": [], "categories": [{"id": i, "name": name} for i, name in enumerate(CLASSES, 1)],
    }  # fmt: skip
    for number, (sample, file) in enumerate(zip(samples, files, strict=True), 1):
        content["images"].append({"id": number, "file_name": file, "width": sample.width, "height": sample.height})
        for subject in _faces(sample):
            assert subject.face_box is not None
            x0, y0, x1, y1 = (float(value) for value in subject.face_box)
            content["annotations"].append(
                {
                    "id": len(content["annotations"]) + 1,
                    "image_id": number,
                    "category_id": 1 + CLASSES.index("mask" if _masked(subject, sample.id) else "no_mask"),
                    "bbox": [x0, y0, x1 - x0, y1 - y0],
                    "area": (x1 - x0) * (y1 - y0),
                    "iscrowd": 0,
                }
            )
    (out / "annotations.json").write_text(json.dumps(content) + "\n", encoding="utf-8")
