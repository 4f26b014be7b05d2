"""Localization: overlaps of boxes, best overlap per person, hits and false alarms; parts of a body."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def iou_rows(a: Array, b: Array) -> Array:
    """Intersection over union of the i-th box of `a` with the i-th of `b`; a pair without area has 0.

    >>> iou_rows(np.array([[0, 0, 2, 2.0]]), np.array([[0, 0, 2, 1.0]]))
    array([0.5])
    """
    width = np.minimum(a[:, 2], b[:, 2]) - np.maximum(a[:, 0], b[:, 0])
    height = np.minimum(a[:, 3], b[:, 3]) - np.maximum(a[:, 1], b[:, 1])
    both = np.clip(width, 0, None) * np.clip(height, 0, None)
    union = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) - both
    return np.asarray(np.divide(both, union, out=np.zeros_like(both), where=union > 0))


def expand(image: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """For people in images and `counts[i]` answers in image i (stored one image after the other): all pairs.

    Returns the person and the answer of each pair, person by person.

    >>> expand(np.array([1, 0]), np.array([2, 1]))
    (array([0, 1, 1]), array([2, 0, 1]))
    """
    starts = np.cumsum(counts) - counts
    each = counts[image]
    person = np.repeat(np.arange(len(image)), each)
    within = np.arange(len(person)) - np.repeat(np.cumsum(each) - each, each)
    return person, starts[image][person] + within


def best_overlaps(truth: Array, image: Ints, answered: Array, counts: Ints) -> Array:
    """For each person the largest overlap with any answer in the same image, not one-to-one; 0 without answers.

    >>> best_overlaps(np.array([[0, 0, 2, 2.0]]), np.array([0]), np.array([[0, 0, 2, 1.0]]), np.array([1]))
    array([0.5])
    """
    person, answer = expand(image, counts)
    best = np.zeros(len(truth))
    np.maximum.at(best, person, iou_rows(answered[answer], truth[person]))
    return best


def hits(truth: Array, image: Ints, answered: Array, scores: Array, counts: Ints, overlap: float = 0.5) -> Ints:
    """The person that each answer finds, unless a better answer of its image finds that person; -1: a false positive.

    >>> boxes = np.array([[0, 0, 2, 2.0], [0, 0, 2, 2]])
    >>> hits(boxes[:1], np.array([0]), boxes, np.array([0.5, 0.9]), np.array([2]))
    array([-1,  0])
    """
    person, answer = expand(image, counts)
    shared = iou_rows(answered[answer], truth[person])
    close = np.flatnonzero(shared >= overlap)
    order = close[np.lexsort((person[close], -shared[close], answer[close], -scores[answer[close]]))]
    taken = np.zeros(len(truth), dtype=bool)
    truth_of = np.full(len(answered), -1, dtype=np.int64)
    for p, q in zip(person[order].tolist(), answer[order].tolist(), strict=True):
        if truth_of[q] < 0 and not taken[p]:
            truth_of[q], taken[p] = p, True
    return truth_of


def passed_share(probability: Array, thresholds: Array) -> Array:
    """For each probability the share of the thresholds that it reaches.

    >>> passed_share(np.array([0.6, 0.2]), np.array([0.5, 0.75]))
    array([0.5, 0. ])
    """
    return np.asarray((probability[..., None] >= thresholds).mean(axis=-1))


def part_recall(probability: Array, present: Bools, thresholds: Array) -> Array:
    """Average recall of a part (AR_DET); NaN where the part is missing.

    >>> part_recall(np.array([0.9, 0.9]), np.array([True, False]), np.array([0.5]))
    array([ 1., nan])
    """
    return np.where(present, passed_share(probability, thresholds), np.nan)


def part_accuracy(probability: Array, present: Bools, thresholds: Array) -> Array:
    """Accuracy of a part (ACC_DET): the share of thresholds at which presence or absence is predicted right.

    A part without a probability (NaN) is never right, also if it is not there.

    >>> part_accuracy(np.array([0.9, 0.9, np.nan]), np.array([True, False, False]), np.array([0.5]))
    array([1., 0., 0.])
    """
    passed = passed_share(probability, thresholds)
    return np.where(present | np.isnan(probability), passed, 1.0 - passed)
