"""Keypoints: percentage of correct keypoints (PCK) and object keypoint similarity (OKS), for many people at once."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

COCO_SIGMAS: Array = np.array([26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89]) / 1000
"""How far annotators stray from each of the 17 COCO keypoints, relative to the person's size."""

PCK_THRESHOLDS: Array = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9]) / 10


def correct_keypoints(answered: Array, truth: Array, visible: Bools, scale: Array, thresholds: Array) -> Array:
    """For each person and threshold the share of visible keypoints within threshold × scale (PCK).

    `answered` and `truth` are people × keypoints × 2, `scale` one length for each person (FHIBE: the diagonal of the
    face box). NaN without visible keypoints, never 0 or 1.

    >>> points = np.array([[[3.0, 4.0], [0.0, 0.0]]])
    >>> seen, scale = np.array([[True, True]]), np.array([50.0])
    >>> correct_keypoints(points, np.zeros((1, 2, 2)), seen, scale, np.array([0.05, 0.1]))
    array([[0.5, 1. ]])
    """
    offset = answered - truth
    distance = np.sqrt((offset * offset).sum(axis=2))
    within = distance[:, :, None] <= (thresholds[None, :] * scale[:, None])[:, None, :]
    hits = (within & visible[:, :, None]).sum(axis=1)
    count = visible.sum(axis=1)[:, None]
    return np.asarray(np.divide(hits, count, out=np.full(hits.shape, np.nan), where=count > 0))


def oks_rows(answered: Array, truth: Array, visible: Bools, areas: Array, sigmas: Array = COCO_SIGMAS) -> Array:
    """Object keypoint similarity (COCO) of the i-th answer with the i-th person; nobody visible: NaN.

    `answered` and `truth` are rows × keypoints × 2, `areas` the people's mask areas.

    >>> oks_rows(np.zeros((1, 1, 2)), np.zeros((1, 1, 2)), np.array([[False]]), np.array([9.0]), np.array([0.1]))
    array([nan])
    """
    offset = answered - truth
    error = (offset * offset).sum(axis=2) / ((sigmas * 2) ** 2)[None] / (areas + np.spacing(1))[:, None] / 2
    similar = np.where(visible, np.exp(-error), 0.0).sum(axis=1)
    count = visible.sum(axis=1)
    return np.asarray(np.divide(similar, count, out=np.full(similar.shape, np.nan), where=count > 0))


def pair_by_overlap(overlap: Array) -> NDArray[np.intp]:
    """The answer (row) of each person (column): each answer serves once, and the total overlap is largest.

    -1 means that no answer is left for the person. People without a measurable overlap (NaN) take part last.

    >>> pair_by_overlap(np.array([[0.9, 0.8], [0.7, 0.1]]))
    array([1, 0])
    >>> pair_by_overlap(np.array([[0.2, 0.9]]))
    array([-1,  0])
    """
    answers, people = overlap.shape
    paired = np.full(people, -1, dtype=np.intp)
    if not overlap.size:
        return paired
    if answers == 1 or people == 1:
        value = np.where(np.isnan(overlap), -1.0, overlap)
        if people == 1:
            paired[0] = int(np.argmax(value[:, 0]))
        else:
            paired[int(np.argmax(value[0]))] = 0
        return paired
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.where(np.isnan(overlap), -1.0, overlap), maximize=True)
    paired[columns] = rows
    return paired
