"""Score₁ and Score₂ of the bias bounty: accuracy, weighted, less a power of the disparity between classes.

Classes are integers in their natural order; −1 is an unlabelled row, which no number here counts.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

CLASS_COUNTS: Mapping[str, int] = {"skin_tone": 10, "age": 4, "gender": 2}
"""The three attributes in the order of the formula; an accuracy counts as many points as its attribute has classes."""
POWERS: Mapping[str, int] = {"skin_tone": 5, "age": 2, "gender": 1}
MAXIMUM = 16.0
UNLABELLED = -1


def _labelled(truth: ArrayLike, predicted: ArrayLike) -> tuple[Ints, Ints]:
    true, answer = np.asarray(truth, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    if true.shape != answer.shape:
        raise ValueError(f"{true.size} true classes and {answer.size} predicted ones; expected as many")
    known = true != UNLABELLED
    return true[known], answer[known]


def accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The share of labelled rows with the right class; NaN without labelled rows.

    >>> accuracy([0, 1, 1, -1], [0, 1, 0, 0])
    0.6666666666666666
    """
    true, answer = _labelled(truth, predicted)
    return float(np.count_nonzero(true == answer) / true.size) if true.size else float("nan")


def confusion(truth: ArrayLike, predicted: ArrayLike, classes: int) -> Ints:
    """How often each class (row) was predicted as each class (column).

    >>> confusion([0, 1, 1, -1], [0, 1, 0, 0], 2)
    array([[1, 0],
           [1, 1]])
    """
    true, answer = _labelled(truth, predicted)
    return np.bincount(true * classes + answer, minlength=classes * classes).reshape(classes, classes)


def per_class_accuracy(truth: ArrayLike, predicted: ArrayLike, classes: int) -> Array:
    """The diagonal of the confusion matrix over its row sums; NaN for a class with no truth rows.

    >>> per_class_accuracy([0, 1, 1], [0, 1, 0], 3)
    array([1. , 0.5, nan])
    """
    matrix = confusion(truth, predicted, classes)
    rows = matrix.sum(axis=1)
    return np.asarray(np.divide(np.diag(matrix), rows, out=np.full(classes, np.nan), where=rows > 0))


def disparity(per_class: ArrayLike) -> float:
    """Largest minus smallest accuracy of the classes that have truth rows; NaN without such rows.

    >>> disparity([0.9, float("nan"), 0.5])
    0.4
    """
    rates = np.asarray(per_class, dtype=np.float64)
    rates = rates[~np.isnan(rates)]
    return float(rates.max() - rates.min()) if rates.size else float("nan")


def score1(accuracies: Mapping[str, float], disparities: Mapping[str, float]) -> float:
    """10·Acc_s·(1−Disp_s⁵) + 4·Acc_a·(1−Disp_a²) + 2·Acc_g·(1−Disp_g).

    >>> score1({"skin_tone": 1, "age": 1, "gender": 1}, {"skin_tone": 0, "age": 0, "gender": 0})
    16.0
    """
    return float(
        sum(
            weight * accuracies[name] * (1 - disparities[name] ** POWERS[name]) for name, weight in CLASS_COUNTS.items()
        )
    )


def score2(first: float, randomness_multiplier: float, efficiency_multiplier: float) -> float:
    """Randomness multiplier × efficiency multiplier × Score₁.

    >>> score2(10.0, 1.0, 1.2)
    12.0
    """
    return randomness_multiplier * efficiency_multiplier * first


def class_sums(truth: Mapping[str, Ints], predicted: Mapping[str, Ints], clusters: ArrayLike | None = None) -> Array:
    """For each cluster (or row), how many rows of each class there are and how many of them are right.

    A row per cluster; the columns are, attribute after attribute, K counts of rows and K counts of right ones: a
    bootstrap sums them and `scores_from_sums` turns them into scores.
    """
    rows = len(truth["skin_tone"])
    index = np.arange(rows) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    count = int(index.max()) + 1 if rows else 0
    blocks = []
    for name, classes in CLASS_COUNTS.items():
        known = truth[name] != UNLABELLED
        cell = index[known] * classes + truth[name][known]
        right = truth[name][known] == predicted[name][known]
        n = np.bincount(cell, minlength=count * classes)
        k = np.bincount(cell[right], minlength=count * classes)
        blocks += [n.reshape(count, classes), k.reshape(count, classes)]
    return np.hstack(blocks).astype(np.float64)


def scores_from_sums(sums: Array) -> Array:
    """Rows of summed `class_sums` to rows of Acc (3), Disp (3) and Score₁, in the order of `CLASS_COUNTS`.

    >>> truth = {"skin_tone": np.array([0, 1]), "age": np.array([0, 1]), "gender": np.array([0, 1])}
    >>> scores_from_sums(class_sums(truth, truth).sum(axis=0, keepdims=True))
    array([[ 1.,  1.,  1.,  0.,  0.,  0., 16.]])
    """
    accuracies, disparities, start = {}, {}, 0
    for name, classes in CLASS_COUNTS.items():
        n, k = sums[:, start : start + classes], sums[:, start + classes : start + 2 * classes]
        start += 2 * classes
        total = n.sum(axis=1)
        accuracies[name] = np.divide(k.sum(axis=1), total, out=np.full(len(sums), np.nan), where=total > 0)
        share = np.divide(k, n, out=np.full(n.shape, np.nan), where=n > 0)
        high = np.where(n > 0, share, -np.inf).max(axis=1)
        low = np.where(n > 0, share, np.inf).min(axis=1)
        disparities[name] = np.subtract(high, low, out=np.full(len(sums), np.nan), where=total > 0)
    first = sum(
        weight * accuracies[name] * (1 - disparities[name] ** POWERS[name]) for name, weight in CLASS_COUNTS.items()
    )
    return np.column_stack([*accuracies.values(), *disparities.values(), np.asarray(first)])


def fair_disparity(
    class_rows: Sequence[int] | Ints, rate: float, *, deff: float = 1.0, replicates: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """The disparity that a perfectly fair model of accuracy `rate` has by chance: its mean and its 95 % point.

    Every class is right with the same probability; `deff` shrinks the rows to their effective number.

    >>> mean, high = fair_disparity([1500, 1500], 0.842)
    >>> round(mean, 2), round(high, 2)
    (0.01, 0.03)
    """
    counts = np.asarray(class_rows, dtype=np.float64)
    rows: Ints = np.maximum(np.round(counts[counts > 0] / deff), 1).astype(np.int64)
    if rows.size == 0 or np.isnan(rate):
        return float("nan"), float("nan")
    shares = np.random.default_rng(seed).binomial(rows, rate, size=(replicates, rows.size)) / rows
    spread = shares.max(axis=1) - shares.min(axis=1)
    return float(spread.mean()), float(np.quantile(spread, 0.95))
