"""Cutting a weighted graph in two."""

import numpy as np
from numpy.typing import NDArray


def normalised_cut(affinity: NDArray[np.float64]) -> tuple[NDArray[np.bool_], float]:
    """The two-way normalised cut (Shi and Malik): second eigenvector, best threshold. Membership and the cut's value.

    >>> affinity = np.array([[1, 0.9, 0.1], [0.9, 1, 0], [0.1, 0, 1.0]])
    >>> side, cut = normalised_cut(affinity)
    >>> bool(side[0] == side[1] != side[2]), round(cut, 2)
    (True, 0.12)
    """
    degree = affinity.sum(1)
    scaled = affinity / np.sqrt(degree[:, None] * degree[None])
    _, vectors = np.linalg.eigh(np.eye(len(affinity)) - scaled)
    order = np.argsort(vectors[:, 1] / np.sqrt(degree))
    ordered = affinity[np.ix_(order, order)]
    inside = np.cumsum(degree[order])[:-1]
    # Weight across the cut after the k-th node: all of the left side's weight that does not stay on the left.
    within = np.cumsum(2 * np.tril(ordered, -1).sum(1) + np.diag(ordered))[:-1]
    across = inside - within
    values = across / inside + across / (degree.sum() - inside)
    best = int(values.argmin())
    side = np.zeros(len(affinity), bool)
    side[order[: best + 1]] = True
    return side, float(values[best])
