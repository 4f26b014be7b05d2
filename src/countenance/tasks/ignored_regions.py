"""Regions that are not counted: a subject whose attribute `ignore` says yes (a crowd, a poster, a mirror).

People in such a region need not be found, and boxes in it are not false positives.
"""

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample
from countenance.metrics.miss_rate import IGNORED, assigned

Array = NDArray[np.float64]


def ignored_boxes(sample: Sample) -> Array:
    """The boxes of an image's regions that are not counted."""
    regions = [subject for subject in sample.subjects if subject.ignored]
    known = [region.face_box if region.person_box is None else region.person_box for region in regions]
    boxes = [box for box in known if box is not None]
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
