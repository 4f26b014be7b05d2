"""Boxes as x0, y0, x1, y1: overlaps, recall, suppression."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

AR_THRESHOLDS: Array = np.array([50, 55, 60, 65, 70, 75, 80, 85, 90, 95]) / 100
"""The overlap thresholds of average recall as exact decimals, so that an overlap of .6 passes .60."""


def iou_matrix(a: Array, b: Array) -> Array:
    """Intersection over union of every box in `a` with every box in `b`; a pair without area has 0.

    >>> iou_matrix(np.array([[0, 0, 2, 2.0]]), np.array([[0, 0, 2, 1.0], [5, 5, 6, 6]]))
    array([[0.5, 0. ]])
    """
    a, b = a.reshape(a.size // 4, 4), b.reshape(b.size // 4, 4)
    x0, y0 = np.maximum(a[:, None, 0], b[None, :, 0]), np.maximum(a[:, None, 1], b[None, :, 1])
    x1, y1 = np.minimum(a[:, None, 2], b[None, :, 2]), np.minimum(a[:, None, 3], b[None, :, 3])
    intersection = np.clip(x1 - x0, 0, None) * np.clip(y1 - y0, 0, None)
    area_a = np.clip(a[:, 2] - a[:, 0], 0, None) * np.clip(a[:, 3] - a[:, 1], 0, None)
    area_b = np.clip(b[:, 2] - b[:, 0], 0, None) * np.clip(b[:, 3] - b[:, 1], 0, None)
    union = area_a[:, None] + area_b[None, :] - intersection
    return np.asarray(np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0))


def best_overlap(truth: Array, answered: Array) -> Array:
    """For each true box the largest overlap with any predicted box; 0 without predictions.

    >>> best_overlap(np.array([[0, 0, 2, 2.0]]), np.zeros((0, 4)))
    array([0.])
    """
    if len(answered) == 0:
        return np.zeros(len(truth))
    return np.asarray(iou_matrix(truth, answered).max(axis=1))


def recall_curve(overlap: Array, thresholds: Array) -> Array:
    """Share of subjects found at each overlap threshold (found means overlap >= threshold).

    A subject without a predicted box has overlap 0. Without subjects the shares are NaN, never 0 or 1.

    >>> recall_curve(np.array([0.4, 0.6, 0.9]), np.array([0.5, 0.75]))
    array([0.66666667, 0.33333333])
    """
    if overlap.size == 0:
        return np.full(thresholds.shape, np.nan)
    return np.asarray((overlap[None, :] >= thresholds[:, None]).mean(axis=1))


def average_recall(overlap: Array, thresholds: Array = AR_THRESHOLDS) -> Array:
    """For each subject the share of the thresholds that its overlap passes.

    >>> average_recall(np.array([0.6, 0.0, 1.0]))
    array([0.3, 0. , 1. ])
    """
    return np.asarray((overlap[:, None] >= thresholds[None, :]).mean(axis=1))


def suppress(
    boxes: Array, scores: Array, limit: float, relative_to: Literal["union", "smaller"] = "union"
) -> NDArray[np.intp]:
    """Non-maximum suppression: the kept indices, best score first; of two that overlap by more than `limit`, the better
    one.

    The overlap is the intersection's share of the union, or of the smaller box (which also removes a box in a box).

    >>> suppress(np.array([[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]]), np.array([0.8, 0.9, 0.5]), 0.5)
    array([1, 2])
    """
    order = np.argsort(-scores, kind="stable")
    x0, y0, x1, y1 = boxes[order].T
    area = np.maximum(x1 - x0, 0) * np.maximum(y1 - y0, 0)
    free, best = np.arange(len(order)), []
    while free.size:
        first, free = free[0], free[1:]
        best.append(order[first])
        wide = np.minimum(x1[first], x1[free]) - np.maximum(x0[first], x0[free])
        high = np.minimum(y1[first], y1[free]) - np.maximum(y0[first], y0[free])
        both = np.maximum(wide, 0) * np.maximum(high, 0)
        whole = area[first] + area[free] - both if relative_to == "union" else np.minimum(area[first], area[free])
        free = free[np.divide(both, whole, out=np.zeros_like(both), where=whole > 0) <= limit]
    return np.array(best, dtype=np.intp)
