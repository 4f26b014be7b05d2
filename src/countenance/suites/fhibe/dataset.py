"""FHIBE and FHIBE-Face as a `Dataset`: every picture with its people, so that any model and task here runs on it."""

from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import Dataset, LazyImage, Rle, Sample, Subject
from countenance.data.card import DatasetCard
from countenance.errors import InputError
from countenance.metrics.masks import compress, mask_runs
from countenance.suites.fhibe.cards import dataset_card
from countenance.suites.fhibe.groups import Labels, label
from countenance.suites.fhibe.scoring.keypoints import coco_keypoints
from countenance.suites.fhibe.scoring.masks import person_runs
from countenance.suites.fhibe.scoring.parsing import true_labels
from countenance.suites.fhibe.table import Table, read_table
from countenance.suites.fhibe.vocabulary import (
    DEFAULT_ATTRIBUTES,
    FACE_TASKS,
    KEYPOINTS,
    MULTIPLE,
    visible_parts,
)
from countenance.tasks.face_parsing import FACE_LABELS


class FhibeDataset(Dataset):
    """A dataset whose fingerprint is that of its table: FHIBE's pictures are too many to hash for every page."""

    def __init__(self, card: DatasetCard, samples: list[Sample], table: Path) -> None:
        super().__init__(card, samples)
        self.table = table

    def fingerprint(self) -> str:
        """The sha256 of the annotation table."""
        import hashlib

        return hashlib.sha256(self.table.read_bytes()).hexdigest()


def read_dataset(
    root: str | Path, dataset: str, task: str, attributes: tuple[str, ...] = DEFAULT_ATTRIBUTES
) -> FhibeDataset:
    """FHIBE with the truth that a task needs (parsing polygons of tasks that need none would be slow).

    `dataset` is the folder's name: fhibe_downsampled, fhibe, fhibe_face_crop_align, fhibe_face_crop.
    """
    table = read_table(root, dataset, task, attributes)
    card = dataset_card(table.root, dataset, attributes)
    labels = [label(table, name) for name in attributes]
    values = [_values(one) for one in labels]
    truth = _truth(table, task)
    rows_of: dict[str, list[int]] = {}
    for i, name in enumerate(table.text("filepath")):
        rows_of.setdefault(name, []).append(i)
    sizes = table.sizes() if "image_height" in table.columns else None
    samples = []
    for name, rows in rows_of.items():
        image = LazyImage(table.image_path(rows[0]))
        height, width = sizes[rows[0]] if sizes is not None else _size(image)
        subjects = tuple(
            Subject(
                id=str(table.line[i]),
                identity=table.text("subject_id")[i],
                attributes={one.attribute: value[i] for one, value in zip(labels, values, strict=True)},
                **truth[i],
            )
            for i in rows
        )
        samples.append(Sample(name, image, width, height, subjects))
    return FhibeDataset(card, samples, table.path)


def _size(image: LazyImage) -> tuple[int, int]:
    try:
        width, height = image.size()
    except InputError:
        return 1, 1  # a picture that is not here: box tasks on stored outputs never open it
    return height, width


def _values(labels: Labels) -> list[Any]:
    rows = labels.of_rows()
    if labels.attribute in MULTIPLE:
        return [tuple(v for v in row if v is not None) for row in rows]
    return [row[0] if row else None for row in rows]


def _truth(table: Table, task: str) -> list[dict[str, Any]]:
    """The fields of each row's subject."""
    out: list[dict[str, Any]] = [{} for _ in range(len(table))]

    def put(name: str, values: Any) -> None:
        for fields, value in zip(out, values, strict=True):
            fields[name] = value

    if task in ("person_localization",):
        put("person_box", table.boxes("person_bbox"))
    if task in ("face_localization", "keypoint_estimation"):
        put("face_box", table.boxes("face_bbox"))
    if task in ("keypoint_estimation", "body_parts_detection"):
        points = table.literals("keypoints")
        named = [coco_keypoints(p, KEYPOINTS, table.place(i, "keypoints")) for i, p in enumerate(points)]
        put("keypoints", np.array(named, dtype=np.float64))
    if task in ("person_parsing", "keypoint_estimation"):
        masks = []
        for i, (segments, (height, width)) in enumerate(zip(table.literals("segments"), table.sizes(), strict=True)):
            runs = person_runs(segments, height, width, table.place(i, "segments"))
            masks.append(Rle(height, width, compress(runs)))
        put("mask", masks)
    if task == "body_parts_detection":
        both = zip(table.literals("keypoints"), table.literals("segments"), strict=True)
        put("body_parts", [tuple(visible_parts(p, [s["class_name"] for s in segments])) for p, segments in both])
    if task == "face_parsing":
        put("face_parts", [_face_parts(table, i) for i in range(len(table))])
    if task in FACE_TASKS and "image_width" in table.columns:
        put("face_box", [np.array([0.0, 0.0, width, height]) for height, width in table.sizes()])
    return out


def _face_parts(table: Table, i: int) -> dict[str, Rle]:
    classes = true_labels(table, i)
    height, width = classes.shape
    return {FACE_LABELS[int(v)]: Rle(height, width, compress(mask_runs(classes == v))) for v in np.unique(classes) if v}
