"""FHIBE and FHIBE-Face as a `Dataset`: every picture with its people, so that any model and task here runs on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import Dataset, LazyImage, Rle, Sample, Subject
from countenance.data.card import AttributeCard, DatasetCard
from countenance.errors import InputError
from countenance.metrics.masks import compress
from countenance.models.model import file_hash
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.groups import label
from countenance.suites.fhibe.outputs import Images
from countenance.suites.fhibe.table import FhibeTable, processed, read_table
from countenance.suites.fhibe.vocabulary import ASSIGNED, CARD, DEFAULT_ATTRIBUTES, FACE_TASKS, MEANINGS
from countenance.tasks.face_parsing import FACE_LABELS

LICENCE = "FHIBE terms of use (registration with Sony AI; no redistribution)"
CONSENT = "informed and revocable: people may withdraw at any time, and their pictures must then be deleted"
CITATION = "Xiang et al., Fair human-centric image dataset for ethical AI benchmarking, Nature 2025"


class FhibeDataset(Dataset):
    """A dataset whose fingerprint is that of its table: FHIBE's pictures are too many to hash for every page."""

    def __init__(self, card: DatasetCard, samples: list[Sample], table: Path) -> None:
        super().__init__(card, samples)
        self.table = table

    def fingerprint(self) -> str:
        """The sha256 of the annotation table."""
        return file_hash(self.table)

    def truth_fingerprint(self) -> str:
        """The same: the table lists the pictures."""
        return self.fingerprint()


def dataset_card(root: Path, dataset: str, attributes: Sequence[str]) -> DatasetCard:
    """The card beside the table where there is one (data that we made ourselves), else FHIBE's own."""
    own = processed(root, dataset) / CARD
    if own.is_file():
        return DatasetCard.read(own)
    return DatasetCard(
        name=dataset,
        version="not stated",
        description="Fair Human-Centric Image Benchmark (Sony AI): people photographed with their consent",
        licence=LICENCE,
        consent=CONSENT,
        citation=CITATION,
        warning=(
            "A report that was sent cannot be recalled. When a person withdraws, `countenance purge RUN --subjects "
            "FILE` removes them from this run; copies elsewhere must be deleted by hand."
        ),
        real_people=True,
        attributes={
            name: AttributeCard(assigned_by=ASSIGNED.get(name, "self-reported"), meaning=MEANINGS[name])
            for name in attributes
        },
    )


def read_dataset(
    root: str | Path, dataset: str, task: str, attributes: tuple[str, ...] = DEFAULT_ATTRIBUTES
) -> FhibeDataset:
    """FHIBE with the truth that a task needs (parsing polygons of tasks that need none would be slow).

    `dataset` is the folder's name: fhibe_downsampled, fhibe, fhibe_face_crop_align, fhibe_face_crop.
    """
    table = read_table(root, dataset, task, attributes)
    values = {name: label(table, name).cells() for name in attributes}
    truth, people = _truth(table, task), table.text("subject_id")
    sizes = table.sizes() if "image_height" in table.columns else None
    images = Images(table.text("filepath"))
    samples = []
    for name, rows in zip(images.names, images.rows(), strict=True):
        image = LazyImage(table.file(rows[0], "filepath"))
        height, width = sizes[rows[0]] if sizes is not None else _size(image)
        subjects = [
            Subject(
                id=str(table.line[i]),
                identity=people[i],
                attributes={attribute: cells[i] for attribute, cells in values.items()},
                **{field: each[i] for field, each in truth.items()},
            )
            for i in rows
        ]
        samples.append(Sample(name, image, width, height, tuple(subjects)))
    return FhibeDataset(dataset_card(table.root, dataset, attributes), samples, table.path)


def _size(image: LazyImage) -> tuple[int, int]:
    try:
        width, height = image.size()
    except InputError:
        return 1, 1  # a picture that is not here: box tasks on stored outputs never open it
    return height, width


def _truth(table: FhibeTable, task: str) -> dict[str, Sequence[Any]]:
    """The fields of subjects that a task needs, with a value for each row."""
    out: dict[str, Any] = {}
    if task == "person_localization":
        out["person_box"] = table.boxes("person_bbox")
    if task in ("face_localization", "keypoint_estimation"):
        out["face_box"] = table.boxes("face_bbox")
    if task in ("keypoint_estimation", "body_parts_detection"):
        out["keypoints"] = true.keypoints(table)
    if task in ("person_parsing", "keypoint_estimation"):
        masks = zip(true.person_masks(table), table.sizes(), strict=True)
        out["mask"] = [Rle(height, width, compress(runs)) for runs, (height, width) in masks]
    if task == "body_parts_detection":
        out["body_parts"] = [*map(tuple, true.body_parts(table))]
    if task == "face_parsing":
        maps = (true.face_labels(table, i) for i in range(len(table)))
        out["face_parts"] = [
            {FACE_LABELS[v]: Rle.encode(one == v) for v in np.unique(one).tolist() if v} for one in maps
        ]
    if task in FACE_TASKS and "image_width" in table.columns:
        out["face_box"] = [np.array([0.0, 0.0, width, height]) for height, width in table.sizes()]
    return out
