"""Regions that are not counted: a subject whose attribute `ignore` says yes (a crowd, a poster, a mirror).

People in such a region need not be found, and boxes in it are no false positives.
"""

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.metrics.miss_rate import IGNORED, assigned

Array = NDArray[np.float64]


def ignored(subject: Subject) -> bool:
    """Whether a subject is a region that is not counted.

    >>> ignored(Subject("crowd", attributes={"ignore": "yes"})), ignored(Subject("ann"))
    (True, False)
    """
    return str(subject.attributes.get("ignore")).casefold() in ("yes", "true", "1", "1.0")


def ignored_boxes(sample: Sample) -> Array:
    """The boxes of an image's regions that are not counted."""
    boxes = [subject.person_box for subject in sample.subjects if subject.person_box is not None and ignored(subject)]
    return np.array(boxes, dtype=np.float64).reshape(len(boxes), 4)


def counted_boxes(sample: Sample, truth: Array, answer: Boxes) -> Boxes:
    """The predicted boxes without those that lie in ignored regions and find nobody."""
    regions = ignored_boxes(sample)
    if not len(regions):
        return answer
    counted = assigned(truth, regions, answer.xyxy, answer.scores) != IGNORED
    labels = (
        None if answer.labels is None else [label for label, here in zip(answer.labels, counted, strict=True) if here]
    )
    return Boxes(answer.xyxy[counted], answer.scores[counted], labels)
