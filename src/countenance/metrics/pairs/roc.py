"""ROC and equal error rate of scores that are all in memory."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def roc(scores: Array, same: Bools) -> tuple[Array, Array, Array]:
    """False acceptance rate, validation rate and threshold at every distinct score (accepted: score >= threshold).

    >>> far, val, threshold = roc(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    >>> far, val
    (array([0., 0., 1., 1.]), array([0. , 0.5, 0.5, 1. ]))
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hit = scores[order], same[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1) if len(ranked) else np.zeros(0, np.intp)
    true, false = np.cumsum(hit)[last], np.cumsum(~hit)[last]
    val = np.append(0.0, true / same.sum()) if same.any() else np.full(len(last) + 1, np.nan)
    far = np.append(0.0, false / (~same).sum()) if not same.all() else np.full(len(last) + 1, np.nan)
    return far, val, np.append(np.inf, ranked[last])


def equal_error_rate(far: Array, val: Array) -> float:
    """The rate where false acceptance equals false rejection, interpolated along the ROC.

    >>> equal_error_rate(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.0
    """
    if not len(far) or np.isnan(far).any() or np.isnan(val).any():
        return float("nan")
    gap = far - (1 - val)
    i = int(np.argmax(gap >= 0))
    if i == 0 or gap[i] == gap[i - 1]:
        return float(far[i])
    share = -gap[i - 1] / (gap[i] - gap[i - 1])
    return float(far[i - 1] + share * (far[i] - far[i - 1]))
