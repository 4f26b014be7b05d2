"""Detection beyond recall: average precision and false positives per image, so that false alarms are not free."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
RECALLS: Array = np.linspace(0, 1, 101)
"""COCO's recalls."""


def precision_recall(scores: Array, hit: Bools, n_truth: int, weights: Array | None = None) -> tuple[Array, Array]:
    """Precision and recall after each answer, best score first; ties keep their order.

    `hit` says whether an answer found a true box that no better answer had found.

    >>> precision, recall = precision_recall(np.array([0.9, 0.8]), np.array([True, False]), 2)
    >>> precision, recall
    (array([1. , 0.5]), array([0.5, 0.5]))
    """
    order = np.argsort(-scores, kind="stable")
    weight = np.ones(len(scores)) if weights is None else weights[order]
    hits = np.cumsum(weight * hit[order])
    total = np.cumsum(weight)
    precision = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0)
    return precision, hits / n_truth if n_truth else np.full(hits.shape, np.nan)


def average_precision(scores: Array, hit: Bools, n_truth: int) -> float:
    """COCO's average precision at one overlap: precision made monotone, sampled at 101 recalls. No truth: NaN.

    >>> average_precision(np.array([0.9, 0.8]), np.array([True, True]), 2)
    1.0
    """
    if n_truth == 0:
        return float("nan")
    if len(scores) == 0:
        return 0.0
    precision, recall = precision_recall(scores, hit, n_truth)
    envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(envelope[np.searchsorted(recall, RECALLS, side="left")].mean())


def average_precision_interval(
    scores: Array,
    hit: Bools,
    image: NDArray[np.int64],
    truth_per_image: Array,
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """A 95 % interval of average precision by resampling whole images (people in one image stand or fall together).

    >>> average_precision_interval(np.array([0.9]), np.array([True]), np.array([0]), np.array([1.0]))
    (1.0, 1.0)
    """
    everybody = np.ones((1, len(scores)), dtype=bool)
    counts = truth_per_image[None]
    (found,) = average_precision_intervals(scores, hit, image, everybody, counts, replicates=replicates, seed=seed)
    return found


def average_precision_intervals(
    scores: Array,
    hit: Bools,
    image: NDArray[np.int64],
    kept: Sequence[Bools] | Bools,
    truth_per_image: Array,
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> list[tuple[float, float]]:
    """The intervals of several groups from the same resamples: `kept` says which hits are a group's own.

    False positives count for every group, so what they add up to is computed once for each resample. No truth: NaN.

    >>> one = np.array([0.9]), np.array([True]), np.array([0]), [np.array([True])], np.array([[1.0]])
    >>> average_precision_intervals(*one)
    [(1.0, 1.0)]
    """
    n = truth_per_image.shape[1]
    order = np.argsort(-scores, kind="stable")
    image, hits = image[order], hit[order]
    alarms = image[~hits]
    before = np.cumsum(~hits)
    own = [np.flatnonzero(hits & np.asarray(one)[order]) for one in kept]
    generator = np.random.default_rng(seed)
    values = np.full((replicates, len(own)), np.nan)
    for r in range(replicates if n else 0):
        weight = np.bincount(generator.integers(0, n, n), minlength=n).astype(np.float64)
        wrong = np.concatenate([[0.0], np.cumsum(weight[alarms])])
        truths = truth_per_image @ weight
        for g in np.flatnonzero(truths > 0):
            # Precision falls at false positives alone, so its envelope is made of the values at hits.
            at_hits = own[g]
            found = np.cumsum(weight[image[at_hits]])
            total = found + wrong[before[at_hits]]
            precision = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
            envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
            values[r, g] = envelope[np.searchsorted(found / truths[g], RECALLS, side="left")].mean()
    spans = [
        np.nanpercentile(column, [2.5, 97.5]) if not np.isnan(column).all() else (np.nan, np.nan)
        for column in values.T
    ]  # fmt: skip
    return [(float(low), float(high)) for low, high in spans]


def false_positives_per_image(hit: Bools, n_images: int) -> float:
    """Answers that hit nobody, for each image. No images: NaN.

    >>> false_positives_per_image(np.array([True, False, False]), 4)
    0.5
    """
    return float(np.count_nonzero(~hit) / n_images) if n_images else float("nan")
