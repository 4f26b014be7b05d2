"""Any folder: pictures with YOLO, VOC or COCO boxes, and `attributes.csv` that says who is who."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from countenance.data import Dataset, DatasetCard, LazyImage, Sample, Subject
from countenance.data.categories import MOST_NAMED, says_masked
from countenance.data.cells import numbers
from countenance.data.paths import inside
from countenance.data.tables import read_text
from countenance.errors import InputError
from countenance.suites.mask_fairness.datasets.attributes_file import with_attributes
from countenance.suites.mask_fairness.datasets.bafmd import labelled_pictures
from countenance.suites.mask_fairness.datasets.classes import LABELS
from countenance.suites.mask_fairness.datasets.truth import AskedTruth, MaskData, Say, compared_by


def read_any(root: Path, asked: AskedTruth) -> MaskData:
    """Read a folder whose boxes are COCO (annotations.json), VOC (.xml) or YOLO (.txt), in this order of preference."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder")
    card_file = root / "card.json"
    card = DatasetCard.read(card_file) if card_file.is_file() else DatasetCard(name=root.resolve().name)
    table = asked.attributes or (root / "attributes.csv" if (root / "attributes.csv").is_file() else None)
    coco = next((path for path in (root / "annotations.json", root / "_annotations.coco.json") if path.is_file()), None)
    kind = next((kind for kind, suffix in (("voc", "xml"), ("yolo", "txt")) if any(root.rglob(f"*.{suffix}"))), None)
    if coco is None and kind is None:
        raise InputError(f"{root}: no boxes: expected annotations.json (COCO), .xml (VOC) or .txt (YOLO) label files")
    data = _coco(coco, asked) if coco else labelled_pictures(root, kind or "", asked)
    samples = list(data.dataset)
    found: tuple[str, ...] = ()
    if table is not None:
        samples, found = with_attributes(samples, table)
    return replace(data, dataset=Dataset(card, samples), attributes=compared_by(samples, found))


def _coco(path: Path, asked: AskedTruth) -> MaskData:
    try:
        content: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: not JSON ({error})") from error
    for key in ("images", "annotations", "categories"):
        rows = content.get(key) if isinstance(content, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path}: no list {key!r} of objects")
    for key, rows in (("id", content["images"]), ("image_id", content["annotations"]), ("id", content["categories"])):
        odd = [row.get(key) for row in rows if not isinstance(row.get(key), int | str)]
        if odd:
            raise InputError(f"{path}: {key} is {odd[0]!r:.60}, expected a number or text")
    words = {row.get("id"): str(row.get("name", "")) for row in content["categories"]}
    masked_by = {key: says_masked(name) for key, name in words.items()}
    masked_by |= {key: "yes" if label == "mask" else "no" for key, label in (asked.classes or {}).items()}
    people: dict[Any, list[Subject]] = {}
    left_out: Counter[str] = Counter()
    for i, row in enumerate(content["annotations"]):
        place = f"{path} annotations[{i}]"
        box = numbers(row.get("bbox"), (4,), f"{place}: bbox")
        if box is None:
            raise InputError(f"{place}: no bbox")
        category = row.get("category_id")
        if not isinstance(category, int | str) or category not in words:
            raise InputError(f"{place}: category_id {category!r} is not among the categories")
        faces = people.setdefault(row.get("image_id"), [])
        masked = masked_by[category]
        if masked is None:
            left_out[words[category]] += 1
            continue
        box[2:] += box[:2]
        about = {str(k): None if v is None else str(v) for k, v in (row.get("attributes") or {}).items()}
        faces.append(Subject(str(len(faces)), face_box=box, attributes={**about, "masked": masked}))
    _say_left_out(left_out, len(content["annotations"]), path, asked.say)
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
    used = {key: LABELS[masked] for key, masked in masked_by.items() if isinstance(key, int) and masked is not None}
    return MaskData(Dataset(DatasetCard(name=""), samples), image_ids=image_ids, classes=used)


def _say_left_out(left_out: Counter[str], annotations: int, path: Path, say: Say) -> None:
    """What was left out is counted and named; a file without a face of either class is refused."""
    if not left_out:
        return
    named = ", ".join(f"{n:,} {word}" for word, n in left_out.most_common(MOST_NAMED))
    remedy = "--classes 1=mask,2=no_mask says which category is which"
    if left_out.total() == annotations:
        raise InputError(f"{path}: no annotation says mask or no mask (there are {named}); {remedy}")
    n = left_out.total()
    say(f"{path.name}: {n:,} annotations say neither mask nor no mask and are left out ({named}); {remedy}")
