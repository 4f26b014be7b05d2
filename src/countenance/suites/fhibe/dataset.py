"""FHIBE and FHIBE-Face as a `Dataset`: every picture with its people, so that any model and task here runs on it."""

from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import Dataset, LazyImage, Rle, Sample, Subject
from countenance.data.card import DatasetCard
from countenance.errors import InputError
from countenance.metrics.masks import compress, mask_runs
from countenance.models.model import file_hash
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.cards import dataset_card
from countenance.suites.fhibe.groups import label
from countenance.suites.fhibe.table import FhibeTable, read_table
from countenance.suites.fhibe.vocabulary import DEFAULT_ATTRIBUTES, FACE_TASKS
from countenance.tasks.face_parsing import FACE_LABELS


class FhibeDataset(Dataset):
    """A dataset whose fingerprint is that of its table: FHIBE's pictures are too many to hash for every page."""

    def __init__(self, card: DatasetCard, samples: list[Sample], table: Path) -> None:
        super().__init__(card, samples)
        self.table = table

    def fingerprint(self) -> str:
        """The sha256 of the annotation table."""
        return file_hash(self.table)


def read_dataset(
    root: str | Path, dataset: str, task: str, attributes: tuple[str, ...] = DEFAULT_ATTRIBUTES
) -> FhibeDataset:
    """FHIBE with the truth that a task needs (parsing polygons of tasks that need none would be slow).

    `dataset` is the folder's name: fhibe_downsampled, fhibe, fhibe_face_crop_align, fhibe_face_crop.
    """
    table = read_table(root, dataset, task, attributes)
    card = dataset_card(table.root, dataset, attributes)
    labels = [label(table, name) for name in attributes]
    values = [one.cells() for one in labels]
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


def _truth(table: FhibeTable, task: str) -> list[dict[str, Any]]:
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
        put("keypoints", true.keypoints(table))
    if task in ("person_parsing", "keypoint_estimation"):
        masks = zip(true.person_masks(table), table.sizes(), strict=True)
        put("mask", [Rle(height, width, compress(runs)) for runs, (height, width) in masks])
    if task == "body_parts_detection":
        put("body_parts", map(tuple, true.body_parts(table)))
    if task == "face_parsing":
        put("face_parts", [_face_parts(table, i) for i in range(len(table))])
    if task in FACE_TASKS and "image_width" in table.columns:
        put("face_box", [np.array([0.0, 0.0, width, height]) for height, width in table.sizes()])
    return out


def _face_parts(table: FhibeTable, i: int) -> dict[str, Rle]:
    classes = true.face_labels(table, i)
    height, width = classes.shape
    return {FACE_LABELS[int(v)]: Rle(height, width, compress(mask_runs(classes == v))) for v in np.unique(classes) if v}
