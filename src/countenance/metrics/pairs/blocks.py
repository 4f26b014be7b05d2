"""All impostor pairs, block by block: never more than a few blocks of scores in memory.

Rows are sorted by identity, so that the impostors of row r to its right are the columns from the end of r's identity
on. Blocks are small enough for the processor's cache, so that further work on a block after its product costs little.
Python threads work on blocks of rows, each with a single-threaded matrix product.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.pairs.vectors import Ints, Singles, Vectors

ROWS, COLUMNS = 256, 4096

Step = Callable[[int], None]


class Tile(NamedTuple):
    """Scores of rows `row` … against columns `column` …; `valid` is None where every pair is an impostor pair."""

    scores: Singles
    row: int
    column: int
    valid: NDArray[np.bool_] | None

    def pairs(self, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints, Singles]:
        """Rows, columns and scores of the pairs chosen."""
        if self.valid is not None:
            chosen &= self.valid
        place = np.flatnonzero(chosen)
        i, j = np.divmod(place, self.scores.shape[1])
        return i + self.row, j + self.column, self.scores.ravel()[place]


def ends_of(identity: Ints) -> Ints:
    """For each row of a sorted list of identities, where its identity ends.

    >>> ends_of(np.array([0, 0, 1]))
    array([2, 2, 3])
    """
    return np.searchsorted(identity, identity, side="right")


def impostor_pairs(sizes: NDArray[Any]) -> int:
    """How many pairs of pictures of two people there are, from each person's number of pictures.

    >>> impostor_pairs(np.array([2, 1, 1]))
    5
    """
    counts = [int(size) for size in np.asarray(sizes).tolist()]
    return (sum(counts) ** 2 - sum(size * size for size in counts)) // 2


def cuts(ends: Ints, start: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of about `size` rows from `start` on; an identity is split only where it alone is larger.

    >>> list(cuts(np.array([2, 2, 4, 4, 5]), 0, 3))
    [(0, 2), (2, 5)]
    """
    n = len(ends)
    while start < n:
        stop = min(start + size, n)
        if stop < n:
            begin = int(np.searchsorted(ends, ends[stop]))  # where the identity of row `stop` begins
            stop = begin if begin > start else stop
        yield start, stop
        start = stop


def tiles(vectors: Vectors, ends: Ints, a: int, b: int) -> Iterator[Tile]:
    """The scores of rows a … b with all their impostors to the right. Each tile is overwritten by the next one."""
    buffer = np.empty((b - a) * COLUMNS, np.float32)
    near = int(ends[b - 1])
    for c, d in cuts(ends, a, COLUMNS):
        scores = buffer[: (b - a) * (d - c)].reshape(b - a, d - c)
        np.matmul(vectors.left[a:b], vectors.right[c:d].T, out=scores)
        valid = np.arange(c, d)[None, :] >= ends[a:b, None] if c < near else None
        yield Tile(scores, a, c, valid)


def over_rows(ends: Ints, work: Callable[[int, int], Any], step: Step | None = None) -> list[Any]:
    """The results of `work` for each block of rows, in order; `step` gets the number of pairs just finished."""
    blocks = list(cuts(ends, 0, ROWS))
    results = []
    with one_blas_thread(), ThreadPoolExecutor(cores()) as pool:
        for (a, b), result in zip(blocks, pool.map(lambda block: work(*block), blocks), strict=True):
            results.append(result)
            if step is not None:
                step(int(len(ends) * (b - a) - ends[a:b].sum()))
    return results


def cores() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread, since our own threads would compete with its threads for the same cores."""
    try:
        limits: AbstractContextManager[object] = import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
    except ImportError:  # slower, not wrong
        return nullcontext()
    return limits
