"""How scores are distributed: histograms and means of a group's genuine and impostor pairs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.intervals import LEVEL, IntervalEstimate, by_cluster, clustered_mean, freedom, student
from countenance.metrics.pairs.blocks import impostor_pairs
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.vectors import Array, Ints

MOST = 200_000
"""The most impostor pairs whose scores are used; if there are more, this many are drawn by the seed."""


class PairScores(NamedTuple):
    """Scores of some pairs and the mean of all with its interval over people."""

    score: Array
    mean: IntervalEstimate
    deviation: float
    pairs: int
    """How many pairs there are; if this is larger than the number of scores, these were drawn."""

    def density(self, edges: Array) -> Array:
        """The share of scores in each bin over the bin's width. NaN without scores."""
        if not len(self.score):
            return np.full(len(edges) - 1, np.nan)
        return np.asarray(np.histogram(self.score, edges)[0] / len(self.score) / np.diff(edges))


def genuine_scores(compared: Comparisons, member: NDArray[np.bool_]) -> PairScores:
    """The genuine pairs of two pictures that are members."""
    genuine = compared.genuine
    used = member[genuine.first] & member[genuine.second]
    score, owner = genuine.score[used], compared.identity[genuine.first[used]]
    return PairScores(score, clustered_mean(*by_cluster(score, owner)), _deviation(score), len(score))


def impostor_scores(compared: Comparisons, member: NDArray[np.bool_], *, seed: int = 0, most: int = MOST) -> PairScores:
    """The impostor pairs of two pictures that are members: all, or as many as are drawn.

    >>> from countenance.metrics.pairs.vectors import Vectors
    >>> comparisons = Comparisons.of(Vectors.of(np.eye(3)), np.array([0, 1, 2]))
    >>> impostor_scores(comparisons, np.array([True, True, True])).score
    array([0., 0., 0.])
    """
    rows = np.flatnonzero(member)
    identity = compared.identity[rows]
    pairs = impostor_pairs(np.bincount(identity)) if len(rows) else 0
    if pairs <= most:
        i, j = np.triu_indices(len(rows), 1)
        other = identity[i] != identity[j]
        first, second = rows[i[other]], rows[j[other]]
    else:
        first, second = _drawn(rows, identity, most, np.random.default_rng([seed, 6]))
    score = compared.vectors.exact(first, second)
    mean = dyadic_mean(score, compared.identity[first], compared.identity[second])
    return PairScores(score, mean, _deviation(score), pairs)


def _drawn(rows: Ints, identity: Ints, most: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    first, second = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while len(first) < most:
        i, j = random.integers(0, len(rows), (2, most))
        other = identity[i] != identity[j]
        first, second = np.append(first, rows[i[other]]), np.append(second, rows[j[other]])
    return first[:most], second[:most]


def dyadic_mean(values: Array, first: Ints, second: Ints, level: float = LEVEL) -> IntervalEstimate:
    """The mean of values that belong to pairs of people, with pairs that share a person not taken as independent.

    >>> dyadic_mean(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([1, 2, 2])).value
    2.0
    """
    if not len(values):
        return IntervalEstimate(np.nan, np.nan, np.nan, 0, 0)
    mean, n = float(values.mean()), len(values)
    error = values - mean
    names, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    residual = np.bincount(codes, np.tile(error, 2)).astype(np.float64)
    weight = np.bincount(codes).astype(np.float64)
    low, high = np.minimum(codes[:n], codes[n:]), np.maximum(codes[:n], codes[n:])
    _, dyad = np.unique(low * len(names) + high, return_inverse=True)
    dyads = float((np.bincount(dyad, error) ** 2).sum())
    people = float(weight.sum() ** 2 / (weight**2).sum())
    if people <= 2:
        return IntervalEstimate(mean, np.nan, np.nan, n, len(names))
    variance = max(people / (people - 2) * float((residual**2).sum()) - dyads, dyads) / n**2
    half = float(student(freedom(residual, people, 2), level)) * variance**0.5
    return IntervalEstimate(mean, mean - half, mean + half, n, len(names))


def _deviation(values: Array) -> float:
    return float(values.std()) if len(values) else np.nan
