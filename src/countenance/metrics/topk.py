"""Exact nearest neighbours by cosine, in blocks: little more memory than the templates themselves take."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.pairs.blocks import cores, one_blas_thread

Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

PROBES, GALLERY, FIRST = 1024, 8192, 128
WIDER = 3
"""How many times larger a block is than all before it, up to `GALLERY`. Small first blocks give a high k-th best score,
which leaves few candidates in the large ones."""
FEW = 12
"""Up to this many largest values are selected one by one; for more the whole row is sorted."""


def unit_rows(templates: NDArray[np.floating]) -> Singles:
    """Rows of length 1 in single precision; a row of zeros stays zero and resembles nothing.

    >>> unit_rows(np.array([[0.3, 0.4], [0.0, 0.0]]))
    array([[0.6, 0.8], [0. , 0. ]], dtype=float32)
    """
    rows = np.ascontiguousarray(templates, dtype=np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.where(length > 0, length, 1), dtype=np.float32)


def largest(matrix: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], Ints]:
    """The k largest values of each row, falling, and their columns; of equal ones the earlier column first.

    >>> largest(np.array([[0.1, 0.9, 0.5]]), 2)
    (array([[0.9, 0.5]]), array([[1, 2]]))
    """
    if k > FEW:
        column = np.argsort(-matrix, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(matrix, column, axis=1), column
    matrix, rows = matrix.copy(), np.arange(len(matrix))
    score, column = np.empty((len(matrix), k)), np.empty((len(matrix), k), np.int64)
    for j in range(k):
        column[:, j] = matrix.argmax(axis=1)
        score[:, j] = matrix[rows, column[:, j]]
        matrix[rows, column[:, j]] = -np.inf
    return score, column


def cosine_top_k(
    probes: NDArray[np.floating],
    gallery: NDArray[np.floating],
    k: int = 10,
    *,
    threads: int | None = None,
    step: Callable[[int], None] | None = None,
) -> tuple[Ints, Singles]:
    """The k gallery rows nearest to each probe and their cosines, best first; of equal ones the earlier row.

    Every probe is compared with every gallery row; only one block of cosines exists at a time in each thread. Once k
    cosines are known for a probe, a later one matters only if it is larger than the least of them, so most of
    a block is dismissed by one comparison. `step` gets how many probes were just finished.

    >>> cosine_top_k(np.array([[1.0, 0.1]]), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 2)[0]
    array([[1, 2]])
    """
    if probes.ndim != 2 or gallery.ndim != 2 or probes.shape[1] != gallery.shape[1]:
        raise ValueError(f"templates of shapes {probes.shape} and {gallery.shape} cannot be compared")
    k = min(k, len(gallery))
    rows, columns = unit_rows(probes), unit_rows(gallery)
    index, score = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), np.float32)
    if k < 1:
        return index, score

    def work(start: int) -> int:
        stop = min(start + PROBES, len(rows))
        index[start:stop], score[start:stop] = _search(rows[start:stop], columns, k)
        return stop - start

    with one_blas_thread(), ThreadPoolExecutor(threads or cores()) as pool:
        for done in pool.map(work, range(0, len(rows), PROBES)):
            if step is not None:
                step(done)
    return index, score


def _search(probes: Singles, gallery: Singles, k: int) -> tuple[Ints, Singles]:
    first = min(max(FIRST, k), len(gallery))
    cosine = probes @ gallery[:first].T
    index = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    score = np.take_along_axis(cosine, index, axis=1)
    buffer, larger = np.empty(len(probes) * GALLERY, np.float32), np.empty(len(probes) * GALLERY, bool)
    start = first
    while start < len(gallery):
        width = min(WIDER * start, GALLERY, len(gallery) - start)
        cosine, above = (x[: len(probes) * width].reshape(len(probes), width) for x in (buffer, larger))
        np.matmul(probes, gallery[start : start + width].T, out=cosine)
        np.greater(cosine, score[:, -1:], out=above)
        row, column = np.divmod(np.flatnonzero(above), width)
        if row.size:
            _merge(index, score, row, start + column, cosine[row, column], k)
        start += width
    return index, score


def _merge(index: Ints, score: Singles, row: Ints, column: Ints, cosine: Singles, k: int) -> None:
    """Merge new candidates (in the order of rows, then columns) into the k best of their rows."""
    touched, begin, count = np.unique(row, return_index=True, return_counts=True)
    place = np.arange(len(row)) - np.repeat(begin, count)
    owner = np.repeat(np.arange(len(touched)), count)
    wide = k + int(count.max())
    all_score = np.full((len(touched), wide), -np.inf, np.float32)
    all_index = np.zeros((len(touched), wide), np.int64)
    all_score[:, :k], all_index[:, :k] = score[touched], index[touched]
    all_score[owner, k + place], all_index[owner, k + place] = cosine, column
    best = np.argsort(-all_score, axis=1, kind="stable")[:, :k]
    score[touched] = np.take_along_axis(all_score, best, axis=1)
    index[touched] = np.take_along_axis(all_index, best, axis=1)
