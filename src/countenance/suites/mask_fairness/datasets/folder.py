"""Any folder: pictures with YOLO, VOC or COCO boxes, and `attributes.csv` that says who is who."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from countenance.data import Dataset, DatasetCard, LazyImage, Sample, Subject
from countenance.data.cells import numbers
from countenance.data.paths import inside
from countenance.data.tables import read_csv, read_text
from countenance.errors import InputError
from countenance.suites.mask_fairness.datasets.bafmd import labelled_pictures
from countenance.suites.mask_fairness.datasets.label_files import YOLO_CLASSES
from countenance.suites.mask_fairness.datasets.truth import MaskData, Say, masked_word

FILE_COLUMNS = ("file", "filename", "file_name", "image")


def read_any(
    root: Path,
    *,
    attributes: Path | None = None,
    classes: Sequence[str] = YOLO_CLASSES,
    say: Say = lambda line: None,
) -> MaskData:
    """Read a folder whose boxes are COCO (annotations.json), VOC (.xml) or YOLO (.txt), in this order of preference.

    `attributes.csv` has a column `file`, optionally `face` (which box of the picture, from 0), then attributes;
    a column `masked` (or `mask`) there says what the boxes do not.
    """
    if not root.is_dir():
        raise InputError(f"{root}: no such folder")
    card_file = root / "card.json"
    card = DatasetCard.read(card_file) if card_file.is_file() else DatasetCard(name=root.resolve().name)
    table = attributes or (root / "attributes.csv" if (root / "attributes.csv").is_file() else None)
    image_ids: dict[str, str] = {}
    names: dict[int, str] = {}
    coco = next((path for path in (root / "annotations.json", root / "_annotations.coco.json") if path.is_file()), None)
    if coco is not None:
        samples, image_ids, names = _coco(coco)
    elif any(root.rglob("*.xml")):
        samples = labelled_pictures(root, "voc", classes, say)
    elif any(root.rglob("*.txt")):
        samples = labelled_pictures(root, "yolo", _class_names(root, classes), say)
    else:
        raise InputError(f"{root}: no boxes: expected annotations.json (COCO), .xml (VOC) or .txt (YOLO) label files")
    found: tuple[str, ...] = ()
    if table is not None:
        samples, found = _with_attributes(samples, table)
    return MaskData(Dataset(card, samples), attributes=found, image_ids=image_ids, classes=names)


def _class_names(root: Path, classes: Sequence[str]) -> Sequence[str]:
    """`classes.txt` or `obj.names` of the folder tell the order of the classes better than we can guess it."""
    for name in ("classes.txt", "obj.names", "data/obj.names"):
        if (root / name).is_file():
            return [line.strip() for line in read_text(root / name).splitlines() if line.strip()]
    return classes


def _coco(path: Path) -> tuple[list[Sample], dict[str, str], dict[int, str]]:
    try:
        content: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: not JSON ({error})") from error
    for key in ("images", "annotations", "categories"):
        rows = content.get(key) if isinstance(content, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path}: no list {key!r} of objects")
    words = {row.get("id"): str(row.get("name", "")) for row in content["categories"]}
    people: dict[Any, list[Subject]] = {}
    used: dict[int, str] = {}
    for i, row in enumerate(content["annotations"]):
        place = f"{path} annotations[{i}]"
        box = numbers(row.get("bbox"), (4,), f"{place}: bbox")
        if box is None:
            raise InputError(f"{place}: no bbox")
        category = row.get("category_id")
        if category not in words:
            raise InputError(f"{place}: category_id {category!r} is not among the categories")
        masked = masked_word(words[category], place)
        if isinstance(category, int) and masked is not None:
            used[category] = "mask" if masked == "yes" else "no_mask"
        box[2:] += box[:2]
        faces = people.setdefault(row.get("image_id"), [])
        about = {str(k): None if v is None else str(v) for k, v in (row.get("attributes") or {}).items()}
        faces.append(Subject(str(len(faces)), face_box=box, attributes={**about, "masked": masked}))
    samples, image_ids = [], {}
    for i, row in enumerate(content["images"]):
        name = row.get("file_name")
        if not isinstance(name, str):
            raise InputError(f"{path} images[{i}]: file_name is {name!r}, expected text")
        image = LazyImage(inside(path.parent, name, f"{path} images[{i}]"))
        samples.append(Sample(name, image, *image.size(), tuple(people.pop(row.get("id"), ()))))
        image_ids[str(row.get("id"))] = name
    if people:
        raise InputError(f"{path}: annotations of image_id {next(iter(people))!r}, which is not among the images")
    return samples, image_ids, used


def _with_attributes(samples: list[Sample], table: Path) -> tuple[list[Sample], tuple[str, ...]]:
    header, rows = read_csv(table)
    key = next((name for name in FILE_COLUMNS if name in header), None)
    if key is None:
        raise InputError(f"{table} line 1: no column file, which names each row's picture; found {', '.join(header)}")
    names = [name for name in header if name and name not in (key, "face", "mask", "masked")]
    by_name = {sample.id: sample for sample in samples} | {Path(sample.id).name: sample for sample in samples}
    said: dict[tuple[str, int | None], dict[str, str | None]] = {}
    for line, row in rows:
        place = f"{table} line {line}"
        sample = by_name.get(row[key])
        if sample is None:
            raise InputError(f"{place}: {row[key]!r} is none of the {len(samples)} pictures")
        face = row.get("face", "").strip()
        if face and (not face.isdigit() or int(face) >= len(sample.subjects)):
            raise InputError(f"{place}: face {face!r}, but {row[key]} has {len(sample.subjects)} boxes, counted from 0")
        values: dict[str, str | None] = {name: row[name].strip() or None for name in names}
        if word := row.get("masked") or row.get("mask"):
            values["masked"] = masked_word(word, place)
        said[sample.id, int(face) if face else None] = values
    described = []
    for sample in samples:
        subjects = tuple(
            replace(
                subject,
                attributes={**subject.attributes, **said.get((sample.id, None), {}), **said.get((sample.id, i), {})},
            )
            for i, subject in enumerate(sample.subjects)
        )
        described.append(replace(sample, subjects=subjects))
    return described, tuple(names)
