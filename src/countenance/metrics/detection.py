"""Detection beyond recall: average precision and false positives per image, so that false alarms are not free."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(recall, np.linspace(0, 1, 101), side="left")
    return float(np.where(at < len(envelope), envelope[np.minimum(at, len(envelope) - 1)], 0.0).mean())


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
    n = len(truth_per_image)
    if n == 0 or truth_per_image.sum() == 0:
        return float("nan"), float("nan")
    order = np.argsort(-scores, kind="stable")
    image, hits = image[order], hit[order]
    generator = np.random.default_rng(seed)
    recalls = np.linspace(0, 1, 101)
    values = np.empty(replicates)
    for r in range(replicates):
        weight = np.bincount(generator.integers(0, n, n), minlength=n).astype(np.float64)
        truth = float(weight @ truth_per_image)
        w = weight[image]
        if truth == 0 or not len(w):
            values[r] = np.nan if truth == 0 else 0.0
            continue
        found, total = np.cumsum(w * hits), np.cumsum(w)
        precision = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        at = np.searchsorted(found / truth, recalls, side="left")
        values[r] = np.where(at < len(envelope), envelope[np.minimum(at, len(envelope) - 1)], 0.0).mean()
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)


def false_positives_per_image(hit: Bools, n_images: int) -> float:
    """Answers that hit nobody, for each image. No images: NaN.

    >>> false_positives_per_image(np.array([True, False, False]), 4)
    0.5
    """
    return float(np.count_nonzero(~hit) / n_images) if n_images else float("nan")
