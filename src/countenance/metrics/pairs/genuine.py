"""Genuine pairs: two pictures of one person."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.pairs.vectors import Array, Ints, Vectors

MOST = 1_000_000
"""The most genuine pairs of one person that are compared; if there are more, this many are drawn by the seed."""


class Genuine(NamedTuple):
    """Genuine pairs with their exact scores."""

    score: Array
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    drawn: int
    """People of whom only some pairs were drawn."""


def genuine_pairs(vectors: Vectors, ends: Ints, *, seed: int = 0, most: int = MOST) -> Genuine:
    """The pairs of pictures of one person. Rows are sorted by identity; `ends` says where each row's identity ends.

    >>> genuine_pairs(Vectors.of(np.eye(3)), np.array([2, 2, 3])).score
    array([0.])
    """
    starts = np.unique(ends, return_index=True)[1]
    sizes = ends[starts] - starts
    first, second, drawn = [], [], 0
    for size in np.unique(sizes[sizes > 1]).tolist():
        here = starts[sizes == size]
        if size * (size - 1) // 2 <= most:
            i, j = np.triu_indices(size, 1)
            first.append((here[:, None] + i[None, :]).ravel())
            second.append((here[:, None] + j[None, :]).ravel())
            continue
        for start in here.tolist():
            i, j = _drawn(size, most, np.random.default_rng([seed, 4, start]))
            first.append(start + i)
            second.append(start + j)
            drawn += 1
    nothing = [np.zeros(0, np.int64)]
    left, right = np.concatenate(first or nothing), np.concatenate(second or nothing)
    order = np.lexsort((right, left))
    left, right = left[order].astype(np.int32), right[order].astype(np.int32)
    return Genuine(vectors.exact(left, right), left, right, drawn)


def _drawn(size: int, most: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Some of the pairs that this many pictures make, without repetition."""
    pairs = size * (size - 1) // 2
    place = np.unique(random.integers(0, pairs, most))
    end = np.cumsum(np.arange(size)[::-1])  # picture i has size - 1 - i pairs with later ones
    i = np.searchsorted(end, place, side="right")
    return i, place - end[i] + size
