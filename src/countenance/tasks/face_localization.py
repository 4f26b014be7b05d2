"""Face localization: boxes compared with the true face boxes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from countenance.answers import Boxes
from countenance.answers.base import real
from countenance.answers.libraries import library_detections
from countenance.data import Sample
from countenance.metrics.boxes import average_recall
from countenance.tasks.box_notes import FACES
from countenance.tasks.localization import PUBLISHED, Array, image_rows, overlap_curve, precision
from countenance.tasks.reduce import With
from countenance.tasks.task import Metric, Row, Task
from countenance.tasks.thresholds import ThresholdOptions, levels_in_words


def to_boxes(raw: Any, keep: str | None = None) -> Boxes:
    """`Boxes` from what a detector returns (`raw`): `Boxes`, {"boxes", "scores"}, or an array N × 4 or N × 5.

    Of another library's detections only those labelled `keep` are taken. ValueError says what any other value is.

    >>> to_boxes(np.array([[10, 10, 40, 50, 0.9]])).scores.tolist(), len(to_boxes(np.zeros((0, 4))))
    ([0.9], 0)
    """
    if isinstance(raw, Boxes):
        return raw
    if (detections := library_detections(raw)) is not None:
        return Boxes(*detections.only(keep))
    if raw is None:
        raise ValueError("None, expected boxes; an image without faces has an empty array")
    if isinstance(raw, Mapping):
        if "boxes" not in raw:
            raise ValueError(f"a dict without 'boxes' (it has {', '.join(map(str, raw))})")
        return Boxes(raw["boxes"], raw.get("scores"), raw.get("labels"))
    array = real(raw)
    if array.ndim == 2 and array.shape[1] == 5:
        return Boxes(array[:, :4], array[:, 4])
    return Boxes(array)


def score(sample: Sample, answer: Boxes, options: ThresholdOptions) -> list[Row]:
    """A row for each person with a face box, and one for the image with its false positives."""
    levels = options.levels(PUBLISHED)
    measures: dict[str, Callable[[Array], Array]] = {
        "best_iou": lambda overlaps: overlaps,
        "recall@0.5": lambda overlaps: np.asarray(overlaps >= 0.5, dtype=np.float64),
        "recall@0.75": lambda overlaps: np.asarray(overlaps >= 0.75, dtype=np.float64),
        "average_recall": lambda overlaps: average_recall(overlaps, levels),
    }
    return image_rows(sample, answer, FACES.true_box, measures)


def asks(sample: Sample) -> bool:
    """Whether an image shows no person, or a person whose face box is known."""
    return not sample.people or any(subject.face_box is not None for subject in sample.people)


def make(options: ThresholdOptions) -> Task:
    """The task with its options."""
    levels = options.levels(PUBLISHED)
    return Task(
        name="face_localization",
        question="Where are the faces?",
        answer=Boxes,
        metrics=(
            Metric(
                "recall@0.5",
                "faces found (a predicted box covers the face well: overlap ≥ 0.5)",
                "higher",
                headline=True,
            ),
            Metric(
                "average_recall",
                f"how tightly the box fits, 0 to 1 (passed overlap thresholds {levels_in_words(levels)})",
                better="higher",
                headline=True,
                published=PUBLISHED,
            ),
            Metric("recall@0.75", "faces found tightly (overlap ≥ 0.75)", "higher"),
            Metric("best_iou", "overlap of the face with its best box", "higher"),
            Metric(
                "false_positives",
                "boxes of an image that hit no face or one already hit",
                better="lower",
                published="FPPI",
            ),
        ),
        coerce=With(to_boxes, "face"),
        score=With(score, options),
        asks=asks,
        needs=("face",),
        reduce=PRECISION,
        notes=FACES.notes,
        options=options,
        make=make,
        curve=overlap_curve,
        curve_of="best_iou",
        curve_axes=("overlap threshold", "share of faces found"),
    )


PRECISION = precision(FACES.true_box)
FACE_LOCALIZATION = make(ThresholdOptions())
