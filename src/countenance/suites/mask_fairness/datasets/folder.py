"""Any folder: pictures with YOLO, VOC or COCO boxes, and `attributes.csv` that says who is who."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from countenance.data import Dataset, DatasetCard
from countenance.data.attributes import attribute_rows, with_attributes
from countenance.data.coco import read_coco
from countenance.data.registry import coco_file
from countenance.errors import InputError
from countenance.suites.mask_fairness.datasets.bafmd import labelled_pictures
from countenance.suites.mask_fairness.datasets.truth import AskedTruth, MaskData, compared_by, masked_word


def read_any(root: Path, asked: AskedTruth) -> MaskData:
    """Read a folder whose boxes are COCO (annotations.json), VOC (.xml) or YOLO (.txt), in this order of preference."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder")
    card_file = root / "card.json"
    card = DatasetCard.read(card_file) if card_file.is_file() else DatasetCard(name=root.resolve().name)
    table = asked.attributes or (root / "attributes.csv" if (root / "attributes.csv").is_file() else None)
    coco = coco_file(root)
    kind = next((kind for kind, suffix in (("voc", "xml"), ("yolo", "txt")) if any(root.rglob(f"*.{suffix}"))), None)
    if coco is None and kind is None:
        raise InputError(f"{root}: no boxes: expected annotations.json (COCO), .xml (VOC) or .txt (YOLO) label files")
    if coco is not None:
        data = MaskData(read_coco(coco, masks=asked.classes or {}))
    else:
        data = labelled_pictures(root, kind or "", asked)
    found: Sequence[str] = ()
    dataset = data.dataset.of(data.dataset.samples, card)
    if table is not None:
        dataset, found = described(dataset, table)
    return replace(data, dataset=dataset, attributes=compared_by(dataset, found))


def described(dataset: Dataset, table: Path) -> tuple[Dataset, list[str]]:
    """The dataset with the attributes of a CSV, and their names; `masked` (or `mask`) says what the boxes do not."""
    annotated = [(subject.id, (sample.id, i)) for sample in dataset for i, subject in enumerate(sample.subjects)]
    found = attribute_rows(dataset, table, dict(annotated) if dataset.aliases else None)  # COCO numbers its annotations
    names = [name for name in found.columns if name and name not in ("mask", "masked")]
    said = {}
    for who, (place, row) in found.rows.items():
        worn = masked_word(row.get("masked") or row.get("mask") or "", place)
        said[who] = {name: row[name].strip() or None for name in names} | ({"masked": worn} if worn else {})
    return with_attributes(dataset, said), names
