"""The benchmark's numbers: worst-head accuracy, lowest mix rate above 90 %, area under the curve from 0 to 30 %."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

FACE, WRITING = 0, 1


def assign_heads(predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> tuple[int, int]:
    """Which head is called the face head and which the writing head: the better of the two ways.

    `predicted` and `truth` are photos × 2; truth's columns are face, writing. Better is the higher worst-head accuracy,
    then the higher mean.

    >>> truth = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    >>> assign_heads(truth[:, ::-1], truth)
    (1, 0)
    """

    def value(ways: tuple[int, int]) -> tuple[float, float]:
        right = predicted[:, ways] == truth
        return float(right.mean(0).min()), float(right.mean())

    return max(((0, 1), (1, 0)), key=value)


def worst_head(predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Accuracy of the worse head, heads assigned to face and writing in the better of the two ways.

    >>> truth = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    >>> worst_head(truth, truth), worst_head(truth[:, [1, 1]], truth)
    (1.0, 0.5)
    """
    if not len(truth):
        return float("nan")
    ways = assign_heads(predicted, truth)
    return float((predicted[:, ways] == truth).mean(0).min())


def auc(accuracy: Mapping[float, float], end: float = 0.3) -> float | None:
    """Area under worst-head accuracy from mix rate 0 to `end`, divided by `end`; None unless 0 and `end` are there.

    >>> round(auc({0: 0.765, 0.1: 0.921, 0.2: 0.94, 0.3: 0.928}), 4)
    0.9025
    """
    rates = sorted(rate for rate in accuracy if -1e-9 <= rate <= end + 1e-9)
    if len(rates) < 2 or abs(rates[0]) > 1e-9 or abs(rates[-1] - end) > 1e-9:
        return None
    return float(np.trapezoid([accuracy[rate] for rate in rates], rates) / end)


def lowest_mix_rate_above(accuracy: Mapping[float, float], level: float = 0.9) -> float | None:
    """The lowest mix rate whose worst-head accuracy is above `level`; None when there is none.

    >>> lowest_mix_rate_above({0: 0.765, 0.1: 0.921, 0.2: 0.94})
    0.1
    """
    above = [rate for rate in sorted(accuracy) if accuracy[rate] > level]
    return above[0] if above else None


def by_type(right: NDArray[np.bool_], tags: Sequence[str]) -> dict[str, float]:
    """Accuracy for each type of photo.

    >>> by_type(np.array([True, False, True]), ["FHWH", "FHWH", "FSWS"])
    {'FHWH': 0.5, 'FSWS': 1.0}
    """
    kinds = np.asarray(tags)
    return {str(kind): float(right[kinds == kind].mean()) for kind in sorted(set(tags))}
