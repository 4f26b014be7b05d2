"""Which part of the face is each pixel? A 19-class label map (CelebAMask-HQ) against the true parts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import LabelMap
from countenance.data import Sample, Subject
from countenance.metrics.parsing import f1_by_label, joint_counts
from countenance.tasks.task import Metric, Row, Task, subject_row

FACE_LABELS = (
    "background", "skin", "nose", "eye_g", "l_eye", "r_eye", "l_brow", "r_brow", "l_ear", "r_ear", "mouth", "u_lip",
    "l_lip", "hair", "hat", "ear_r", "neck_l", "neck", "cloth",
)  # fmt: skip
"""CelebAMask-HQ's labels; a pixel's class is the place in this list."""

NEAREST = {"beard": "skin", "face_mask": "cloth"}
"""Parts that rendered faces have and the 19 classes do not."""


def to_label_map(raw: Any) -> LabelMap:
    """A label map from `LabelMap`, {"detections": array} or an array of classes.

    >>> to_label_map(np.zeros((2, 3), int)).classes.shape
    (2, 3)
    """
    if isinstance(raw, LabelMap):
        return raw
    array = np.asarray(raw["detections"] if isinstance(raw, dict) and "detections" in raw else raw)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"an array of shape {array.shape} and type {array.dtype}, expected height × width of classes")
    if array.size and (array.min() < 0 or array.max() >= len(FACE_LABELS)):
        raise ValueError(f"class {int(array.max())}, expected 0 to {len(FACE_LABELS) - 1}")
    return LabelMap(array.astype(np.uint8))


def true_classes(subject: Subject, height: int, width: int) -> NDArray[np.uint8]:
    """The label map of a person's face parts."""
    classes = np.zeros((height, width), dtype=np.uint8)
    for name, rle in subject.face_parts.items():
        known = NEAREST.get(name, name)
        if known in FACE_LABELS:
            classes[rle.decode()] = FACE_LABELS.index(known)
    return classes


def score(sample: Sample, answer: LabelMap) -> list[Row]:
    """One row for the person: the mean F1 over the labels that the truth has, and each label's own."""
    (subject,) = sample.subjects
    truth = true_classes(subject, sample.height, sample.width)
    found = f1_by_label(joint_counts(truth, answer.classes))
    row = subject_row(sample, subject)
    row["m.F1"] = float(np.mean(list(found.values())))
    row |= {f"m.F1 {FACE_LABELS[label]}": value for label, value in found.items()}
    return [row]


FACE_PARSING = Task(
    name="face_parsing",
    question="Which part of the face is each pixel?",
    answer=LabelMap,
    metrics=(
        Metric("F1", "pixel F1 of each label that the truth has, background included, plain mean", headline=True),
    ),
    coerce=to_label_map,
    score=score,
    asks=lambda sample: len(sample.subjects) == 1 and bool(sample.subjects[0].face_parts),
    needs=("face_parts",),
)
