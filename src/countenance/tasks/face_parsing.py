"""Face parsing: a 19-class label map (CelebAMask-HQ) compared with the true parts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import LabelMap
from countenance.data import Sample, Subject
from countenance.data.vocabulary import FACE_LABELS
from countenance.metrics.masks import Ints, mask_runs
from countenance.metrics.parsing import f1_by_label, joint_counts_from_runs, map_labels
from countenance.tasks.reduce import With
from countenance.tasks.task import Metric, Options, Row, Task, subject_row

EARS_TO_SKIN = {8: 1, 9: 1}
"""FHIBE draws no ears: they belong to the skin."""
TABLE = 32
"""Number of labels in the count of pixels, more than exist; larger predictions count as the last."""

NEAREST = {"beard": "skin", "face_mask": "cloth"}
"""Parts that rendered faces have and the 19 classes do not."""


class ParsingOptions(Options):
    """The treatment of the ears that a model draws."""

    map_ears_to_skin: bool = False
    """Whether ears that the model draws count as skin."""


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


def without_ears(classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The label map with ears relabelled as skin.

    >>> without_ears(np.array([[8, 9, 2]], np.uint8))
    array([[1, 1, 2]], dtype=uint8)
    """
    out = classes.copy()
    for ear, skin in EARS_TO_SKIN.items():
        out[classes == ear] = skin
    return out


def true_classes(subject: Subject, height: int, width: int) -> NDArray[np.uint8]:
    """The label map of a person's face parts."""
    classes = np.zeros((height, width), dtype=np.uint8)
    for name, rle in subject.face_parts.items():
        known = NEAREST.get(name, name)
        if known in FACE_LABELS:
            classes[rle.decode()] = FACE_LABELS.index(known)
    return classes


def label_scores(truth: NDArray[np.uint8], runs: Mapping[int, Ints], options: ParsingOptions) -> dict[str, float]:
    """The pixel F1 of each label that the truth has; the prediction is given as run lengths by label.

    >>> label_scores(np.array([[0, 1]], np.uint8), {1: np.array([1, 1])}, ParsingOptions())
    {'background': 1.0, 'skin': 1.0}
    """
    if options.map_ears_to_skin:
        runs = map_labels(runs, EARS_TO_SKIN, truth.size)
    scores = f1_by_label(joint_counts_from_runs(truth, runs, labels=TABLE))
    return {FACE_LABELS[label]: value for label, value in scores.items()}


def score(sample: Sample, answer: LabelMap, options: ParsingOptions) -> list[Row]:
    """One row for the person: the mean F1 over the labels that the truth has, and each label's own."""
    (subject,) = sample.people
    runs = {int(label): mask_runs(answer.classes == label) for label in np.unique(answer.classes)}
    scores = label_scores(true_classes(subject, sample.height, sample.width), runs, options)
    row = subject_row(sample, subject)
    row["m.F1"] = float(np.mean(list(scores.values())))
    return [row | {f"m.F1 {label}": value for label, value in scores.items()}]


def asks(sample: Sample) -> bool:
    """Whether an image shows one person whose face parts are known."""
    return len(sample.people) == 1 and bool(sample.people[0].face_parts)


def make(options: ParsingOptions) -> Task:
    """The task with its options."""
    return Task(
        name="face_parsing",
        question="Which part of the face is each pixel?",
        answer=LabelMap,
        metrics=(
            Metric(
                "F1",
                "pixel F1 of each label that the truth has, background included, plain mean",
                "higher",
                headline=True,
            ),
        ),
        coerce=to_label_map,
        score=With(score, options),
        asks=asks,
        needs=("face_parts",),
        options=options,
        make=make,
    )


FACE_PARSING = make(ParsingOptions())
