"""Mask detection: boxes judged mask or no_mask, by either of the two published rules.

The rule of boxes: a face is localised when some box, of whatever class, overlaps it by more than 0.5; it takes its best
box, and one box may serve two faces. The rule of one face per image (pictures without boxes): any box counts. The true
rates count localised faces only, so that they measure the judgement and not the localisation.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.data.categories import LABELS, says_masked
from countenance.metrics.boxes import best_overlap, iou_matrix
from countenance.tasks.box_notes import FACES
from countenance.tasks.face_localization import to_boxes
from countenance.tasks.task import Metric, Row, Task, subject_row

MASK, NO_MASK = "mask", "no_mask"
OVERLAP = 0.5
"""Localised means strictly more than this."""

TRUTH: Mapping[Any, str | None] = LABELS
"""The attribute `masked` as the class that a detector should predict."""


def to_judged_boxes(raw: Any) -> Boxes:
    """Boxes labelled mask or no_mask; boxes without labels come from a face detector, whose judgement is not scored.

    >>> to_judged_boxes({"boxes": [[0, 0, 2, 2]], "labels": ["without_mask"]}).labels
    ('no_mask',)
    >>> to_judged_boxes({"boxes": [[0, 0, 2, 2]], "labels": ["helmet"]})
    Traceback (most recent call last):
    ValueError: a box labelled 'helmet', expected mask or no_mask
    """
    boxes = to_boxes(raw)
    if set(boxes.labels or ()) <= {MASK, NO_MASK}:
        return boxes
    return Boxes(boxes.xyxy, boxes.scores, [_class_of(label) for label in boxes.labels or ()], boxes.landmarks)


def _class_of(label: str) -> str:
    """The class of a label that contains the word mask; any other label is refused."""
    masked = says_masked(label) if MASK in label.lower() else None
    if masked is None:
        raise ValueError(f"a box labelled {label!r}, expected {MASK} or {NO_MASK}")
    return LABELS[masked]


def best_boxes(truth: Any, answer: Boxes) -> list[int | None]:
    """For each true box the index of its best box (of two with equal overlap, the one with the higher score), or None.

    >>> best_boxes([[0, 0, 2, 2]], Boxes([[0, 0, 2, 1], [0, 0, 2, 1.5]]))
    [1]
    >>> best_boxes([[0, 0, 2, 2]], Boxes([[0, 0, 2, 1]]))  # exactly one half is not more than one half
    [None]
    """
    faces = np.asarray(truth, dtype=np.float64).reshape(len(truth), 4)
    if not len(answer):
        return [None] * len(faces)
    order = np.argsort(-answer.scores, kind="stable")
    overlaps = iou_matrix(faces, answer.xyxy[order])
    return [int(order[row.argmax()]) if row.max() > OVERLAP else None for row in overlaps]


def localised(truth: Any, predicted: Any) -> Any:
    """Whether some box overlaps each face by more than one half.

    >>> localised(np.array([[0, 0, 2, 2.0]]), np.array([[0, 0, 2, 1.0]]))
    array([False])
    """
    return best_overlap(truth, predicted) > OVERLAP


def _judged(row: Row, subject: Subject, localised: bool, labels: set[str] | None) -> Row:
    """The three metrics of a face; `labels` are those of the boxes it took, None without labels."""
    row["m.localised"] = float(localised)
    row["m.true_positive"] = row["m.true_negative"] = None
    truth = TRUTH.get(subject.attributes.get("masked"))
    if localised and labels is not None and truth is not None:
        row["m.true_positive" if truth == MASK else "m.true_negative"] = float(truth in labels)
    return row


def score_boxes(sample: Sample, answer: Boxes) -> list[Row]:
    """A row for each person with a face box: localised by its best box, judged by that box's label."""
    people = [subject for subject in sample.people if subject.face_box is not None]
    rows = []
    for subject, best in zip(people, best_boxes([s.face_box for s in people], answer), strict=True):
        labels = None if answer.labels is None or best is None else {answer.labels[best]}
        rows.append(_judged(subject_row(sample, subject), subject, best is not None, labels))
    return rows


def score_one_face(sample: Sample, answer: Boxes) -> list[Row]:
    """One row for the one person: localised by any box, judged right by any box with the right label."""
    (subject,) = sample.people
    labels = None if answer.labels is None else set(answer.labels)
    return [_judged(subject_row(sample, subject), subject, len(answer) > 0, labels)]


LOCALISED_FACES = replace(FACES, localises=localised)


def _metrics(match: str) -> tuple[Metric, ...]:
    return (
        Metric("localised", f"share of faces that {match}", "higher", headline=True),
        Metric(
            "true_positive",
            "share of localised masked faces that are judged to wear a mask",
            "higher",
            headline=True,
            among=("masked", ("yes",)),
        ),
        Metric(
            "true_negative",
            "share of localised unmasked faces that are judged to wear none",
            "higher",
            headline=True,
            among=("masked", ("no",)),
        ),
    )


MASK_DETECTION = Task(
    name="mask_detection",
    question="Where are the faces, and do they wear a mask?",
    answer=Boxes,
    metrics=_metrics("some box of either class overlaps by more than 0.5"),
    coerce=to_judged_boxes,
    score=score_boxes,
    asks=lambda sample: any(subject.face_box is not None for subject in sample.people),
    needs=("face",),
    notes=LOCALISED_FACES.notes,
)

MASK_DETECTION_ONE_FACE = Task(
    name="mask_detection_one_face",
    question="Is there a face, and does it wear a mask?",
    answer=Boxes,
    metrics=_metrics("got any box, in pictures of one face each"),
    coerce=to_judged_boxes,
    score=score_one_face,
    asks=lambda sample: len(sample.people) == 1,
    needs=("face",),
)
