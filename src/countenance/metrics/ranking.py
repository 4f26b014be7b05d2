"""Numbers of a ranked list of answers: average precision, and the interval of any such number."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
