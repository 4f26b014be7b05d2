"""Numbers of a ranked list of answers: average precision, and the interval of any such number."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def average_precision(scores: Array, hits: NDArray[np.bool_], positives: float, weights: Array | None = None) -> float:
    """Area under the precision-recall curve, precision made monotone (every-point interpolation).

    `positives` is the number of truths; answers with equal scores enter together. No truths: NaN.

    >>> average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), 2)
    0.8333333333333333
    """
    if positives <= 0:
        return float("nan")
    if len(scores) == 0:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    weight = np.ones(len(scores)) if weights is None else weights
    hit = (weight * hits)[order].cumsum()
    answered = weight[order].cumsum()
    last = np.append(np.diff(scores[order]) != 0, True)  # the end of each run of equal scores
    recall = hit[last] / positives
    precision = np.divide(hit[last], answered[last], out=np.zeros_like(recall), where=answered[last] > 0)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(recall, prepend=0.0) * precision).sum())


def bootstrap_interval(
    statistic: Callable[[Array], float],
    clusters: int,
    *,
    replicates: int = 500,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of `statistic(weights)` when clusters are resampled (weights: how often each is drawn).

    >>> values = np.arange(100.0)
    >>> low, high = bootstrap_interval(lambda w: float((w * values).sum() / w.sum()), 100)
    >>> low < 49.5 < high
    True
    """
    if clusters == 0:
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    share = np.full(clusters, 1 / clusters)
    values = [statistic(random.multinomial(clusters, share).astype(np.float64)) for _ in range(replicates)]
    finite = np.array([value for value in values if np.isfinite(value)])
    if finite.size == 0:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    return float(np.quantile(finite, tail)), float(np.quantile(finite, 1 - tail))
