"""Bounds of a mean that hold at every look, however many looks there are: a betting confidence sequence.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024): somebody who bets
that values are above m, with stakes that depend on the past alone, ever multiplies their capital by 1 / alpha with a
probability of at most alpha if the mean is m. The lower bound is the smallest m at which that has not happened yet.
Stakes are the paper's predictable plug-in ones (empirical Bernstein), cut so that no value can take all capital.

The values lie between 0 and 1, are independent, and come in the order in which they were seen: those of an earlier
look are the first ones of a later look. Rows of one person are not independent, so that the values are people's means
(`cluster_means`), and the mean is that of people, each counted once.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
SHARE = 0.5
"""The largest part of the capital that one value may take."""
STEPS = 60
"""Steps of the bisection for the bound."""


def any_time_lower_bound(values: ArrayLike, alpha: float = 0.025) -> float:
    """The lower bound of the mean after these values; with probability 1 - alpha it holds at all looks together.

    Without values it is 0, which always holds.

    >>> round(any_time_lower_bound([1.0] * 100), 3), any_time_lower_bound([])
    (0.93, 0.0)
    """
    seen = _checked(values, alpha)
    stakes = stakes_of(seen, alpha)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if log_capital(seen, stakes, middle).max(initial=0.0) >= -np.log(alpha):
            low = middle
        else:
            high = middle
    return low


def any_time_upper_bound(values: ArrayLike, alpha: float = 0.025) -> float:
    """The upper bound of the mean, by the same bets on values being below it.

    >>> round(any_time_upper_bound([0.0] * 100), 3)
    0.07
    """
    return 1.0 - any_time_lower_bound(1.0 - _checked(values, alpha), alpha)


def any_time_difference(first: ArrayLike, second: ArrayLike, alpha: float = 0.05) -> tuple[float, float]:
    """Bounds of the difference of two groups' means; all four bounds hold together with probability 1 - alpha.

    >>> low, high = any_time_difference([1.0] * 200, [0.5] * 200)
    >>> low > 0.3, high > 0.5
    (True, True)
    """
    each = alpha / 4
    low = any_time_lower_bound(first, each) - any_time_upper_bound(second, each)
    return low, any_time_upper_bound(first, each) - any_time_lower_bound(second, each)


def log_capital(values: Array, stakes: Array, mean: float) -> Array:
    """The logarithm of the capital after each value, of somebody who bets that the mean is larger.

    >>> log_capital(np.array([1.0]), np.array([0.5]), 0.5)
    array([0.22314355])
    """
    cut = stakes if mean <= 0 else np.minimum(stakes, SHARE / mean)
    return np.cumsum(np.log1p(cut * (values - mean)))


def cluster_means(values: ArrayLike, clusters: ArrayLike) -> Array:
    """The mean of each cluster, in the order in which the clusters are first seen.

    >>> cluster_means([1.0, 0.0, 1.0, 1.0], ["b", "a", "b", "a"])
    array([1. , 0.5])
    """
    _, first, place = np.unique(np.asarray(clusters), return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    own = rank[place.ravel()]
    return np.asarray(np.bincount(own, np.asarray(values, dtype=np.float64)) / np.bincount(own))


def stakes_of(values: Array, alpha: float) -> Array:
    """The stake on each value, from the values before it: larger where these varied less.

    >>> stakes_of(np.array([1.0, 1.0]), 0.05).round(3)
    array([5.88 , 4.178])
    """
    n = len(values)
    count = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread])[:n]
    return np.asarray(np.sqrt(2 * np.log(1 / alpha) / (before * count * np.log1p(count))))


def _checked(values: ArrayLike, alpha: float) -> Array:
    seen = np.asarray(values, dtype=np.float64).ravel()
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha:g}, expected a number between 0 and 1")
    if not ((seen >= 0) & (seen <= 1)).all():
        raise ValueError("values outside 0 to 1; a betting bound is for shares and other numbers between 0 and 1")
    return seen
