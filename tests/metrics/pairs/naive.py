"""Every pair written out: slow, and plain enough to be believed."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Written(NamedTuple):
    """All pairs of some pictures."""

    first: np.ndarray
    second: np.ndarray
    score: np.ndarray
    same: np.ndarray


def scores(vectors: np.ndarray, similarity: str = "cosine") -> np.ndarray:
    rows = vectors.astype(np.float64)
    if similarity == "euclidean":
        return -((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
    if similarity == "cosine":
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(length > 0, length, 1)
    return rows @ rows.T


def written(vectors: np.ndarray, identity: np.ndarray, similarity: str = "cosine") -> Written:
    i, j = np.triu_indices(len(identity), 1)
    return Written(i, j, scores(vectors, similarity)[i, j], identity[i] == identity[j])


def fmr_by_group(
    accepted: np.ndarray, pairs: Written, values: Sequence[tuple[str, ...]], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Accepted and all impostor pairs by the groups of both people, looped over."""
    count, total = np.zeros((len(names), len(names)), int), np.zeros((len(names), len(names)), int)
    for k in np.flatnonzero(~pairs.same):
        for a, b in ((pairs.first[k], pairs.second[k]), (pairs.second[k], pairs.first[k])):
            for g, h in itertools.product(range(len(names)), repeat=2):
                if names[g] in values[a] and names[h] in values[b]:
                    count[g, h] += accepted[k]
                    total[g, h] += 1
    count[np.diag_indices(len(names))] //= 2
    total[np.diag_indices(len(names))] //= 2
    return count, total


def dyadic_variance(
    pairs: Written, identity: np.ndarray, accepted: np.ndarray, used: np.ndarray
) -> tuple[float, float]:
    """Σ r_a² and Σ e_ab² over people and pairs of people, of the impostor pairs used."""
    rate = accepted[used].mean()
    person: dict[int, float] = {}
    dyad: dict[tuple[int, int], float] = {}
    for k in np.flatnonzero(used):
        a, b = sorted((int(identity[pairs.first[k]]), int(identity[pairs.second[k]])))
        error = accepted[k] - rate
        person[a] = person.get(a, 0) + error
        person[b] = person.get(b, 0) + error
        dyad[a, b] = dyad.get((a, b), 0) + error
    return sum(v * v for v in person.values()), sum(v * v for v in dyad.values())
