"""Body parts: recall where the part is there, accuracy everywhere."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def passed_share(probability: Array, thresholds: Array) -> Array:
    """For each probability the share of the thresholds that it reaches.

    >>> passed_share(np.array([0.6, 0.2]), np.array([0.5, 0.75]))
    array([0.5, 0. ])
    """
    return np.asarray((probability[..., None] >= thresholds).mean(axis=-1))


def part_recall(probability: Array, present: Bools, thresholds: Array) -> Array:
    """Average recall of a part (AR_DET): NaN where the part is not there, for nothing was to be found.

    >>> part_recall(np.array([0.9, 0.9]), np.array([True, False]), np.array([0.5]))
    array([ 1., nan])
    """
    return np.where(present, passed_share(probability, thresholds), np.nan)


def part_accuracy(probability: Array, present: Bools, thresholds: Array) -> Array:
    """Accuracy of a part (ACC_DET): the share of thresholds at which presence or absence is predicted right.

    >>> part_accuracy(np.array([0.9, 0.9]), np.array([True, False]), np.array([0.5]))
    array([1., 0.])
    """
    passed = passed_share(probability, thresholds)
    return np.where(present, passed, 1.0 - passed)
