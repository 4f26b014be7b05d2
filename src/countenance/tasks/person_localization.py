"""Where are the people? Boxes against the true person boxes."""

from typing import Any

import numpy as np

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.metrics.boxes import AR_THRESHOLDS, average_recall, best_overlap, match_greedy
from countenance.tasks.box_notes import PEOPLE
from countenance.tasks.face_localization import to_boxes
from countenance.tasks.localization import overlap_curve, precision
from countenance.tasks.task import Metric, Row, Task, subject_row


def people(sample: Sample) -> list[Subject]:
    """The people whose box is known."""
    return [subject for subject in sample.subjects if subject.person_box is not None]


def _truth(sample: Sample) -> Any:
    return np.array([subject.person_box for subject in people(sample)], dtype=np.float64).reshape(-1, 4)


def score(sample: Sample, answer: Boxes) -> list[Row]:
    """A row for each person, and one for the image with its false positives."""
    found = people(sample)
    truth = _truth(sample)
    overlaps = best_overlap(truth, answer.xyxy)
    rows = []
    for subject, overlap, recall in zip(found, overlaps, average_recall(overlaps), strict=True):
        row = subject_row(sample, subject)
        row["m.AR_IOU"] = float(recall)
        row["m.recall@0.5"] = float(overlap >= 0.5)
        row["m.best_iou"] = float(overlap)
        rows.append(row)
    image = subject_row(sample, found[0] if len(found) == 1 else None)
    image["subject"] = None
    image["m.false_positives"] = float((match_greedy(truth, answer.xyxy, answer.scores, 0.5) < 0).sum())
    return [*rows, image]


PERSON_LOCALIZATION = Task(
    name="person_localization",
    question="Where are the people?",
    answer=Boxes,
    metrics=(
        Metric(
            "AR_IOU",
            f"share of the overlap thresholds {AR_THRESHOLDS[0]:g} to {AR_THRESHOLDS[-1]:g} that the best box passes",
            headline=True,
        ),
        Metric("recall@0.5", "share of people that some box overlaps by at least 0.5", headline=True),
        Metric("best_iou", "overlap of the person with the best box"),
        Metric("false_positives", "boxes of an image that hit nobody or somebody already hit", better="lower"),
    ),
    coerce=to_boxes,
    score=score,
    asks=lambda sample: not sample.subjects or bool(people(sample)),
    needs=("person",),
    reduce=precision(PEOPLE.true_box),
    notes=PEOPLE.notes,
    curve=overlap_curve,
    curve_of="best_iou",
    curve_axes=("overlap threshold", "share of people found"),
)
