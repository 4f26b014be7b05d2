"""Where are the people? Boxes against the true person boxes."""

from collections.abc import Callable

import numpy as np

from countenance.answers import Boxes
from countenance.data import Sample
from countenance.metrics.boxes import average_recall
from countenance.tasks.box_notes import PEOPLE
from countenance.tasks.face_localization import to_boxes
from countenance.tasks.localization import Array, image_rows, overlap_curve, precision
from countenance.tasks.reduce import With
from countenance.tasks.task import Metric, Row, Task
from countenance.tasks.thresholds import ThresholdOptions

METRIC = "AR_IOU"


def score(sample: Sample, answer: Boxes, options: ThresholdOptions) -> list[Row]:
    """A row for each person, and one for the image with its false positives."""
    levels = options.levels(METRIC)
    measures: dict[str, Callable[[Array], Array]] = {
        METRIC: lambda overlaps: average_recall(overlaps, levels),
        "recall@0.5": lambda overlaps: np.asarray(overlaps >= 0.5, dtype=np.float64),
        "best_iou": lambda overlaps: overlaps,
    }
    return image_rows(sample, answer, PEOPLE.true_box, measures)


def make(options: ThresholdOptions) -> Task:
    """The task with its options."""
    levels = options.levels(METRIC)
    return Task(
        name="person_localization",
        question="Where are the people?",
        answer=Boxes,
        metrics=(
            Metric(
                METRIC,
                f"share of the overlap thresholds {levels[0]:g} to {levels[-1]:g} that the best box passes",
                headline=True,
            ),
            Metric("recall@0.5", "share of people that some box overlaps by at least 0.5", headline=True),
            Metric("best_iou", "overlap of the person with the best box"),
            Metric("false_positives", "boxes of an image that hit nobody or somebody already hit", better="lower"),
        ),
        coerce=to_boxes,
        score=With(score, options),
        asks=asks,
        needs=("person",),
        reduce=REDUCE,
        notes=PEOPLE.notes,
        options=options,
        make=make,
        curve=overlap_curve,
        curve_of="best_iou",
        curve_axes=("overlap threshold", "share of people found"),
    )


def asks(sample: Sample) -> bool:
    """Whether an image shows nobody, or somebody whose box is known."""
    return not sample.subjects or any(subject.person_box is not None for subject in sample.subjects)


REDUCE = precision(PEOPLE.true_box)
PERSON_LOCALIZATION = make(ThresholdOptions())
