"""The highest impostor scores, pair by pair, and a histogram of all of them, in one pass over the pairs."""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import MissingExtra, opencv
from countenance.metrics.pairs.blocks import Step, over_rows, tiles
from countenance.metrics.pairs.device import best_first as sorted_on
from countenance.metrics.pairs.device import gpu, on_device
from countenance.metrics.pairs.vectors import Array, Index, Ints, Vectors

BINS = 8192
"""Counters that fit into the fast memory of a GPU; with twice as many, counting was nine times slower on an H200."""
EXACT = 524_288
"""Up to this many impostor pairs every score is computed in double precision."""
SAMPLE = 4_194_304
"""Pairs of the subsample from which the first cut is estimated."""
TWICE, EXTRA = 2, 50
"""How many more pairs pass than are needed: the subsample is inexact, and too many do no harm."""


@dataclass(frozen=True)
class ImpostorTail:
    """Impostor pairs with the highest scores, best first, and how many pairs of all reach each edge of a histogram.

    Every pair whose exact score is at least `cut` is here. Scores are within `margin` of the exact ones.
    """

    score: NDArray[Any]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    cut: float
    margin: float
    edges: Array
    """Ascending."""
    above: Ints
    """Pairs with a score of at least each edge, in single precision."""
    pairs: int

    @property
    def doubt(self) -> float:
        """The largest difference between the scores of two pairs whose exact scores are in reverse order."""
        return 2 * self.margin

    @property
    def whole(self) -> bool:
        """Whether every impostor pair is kept."""
        return len(self.score) == self.pairs


def find_tail(
    vectors: Vectors, ends: Ints, keep: int, *, seed: int = 0, step: Step | None = None, device: str | None = None
) -> ImpostorTail:
    """The `keep` highest impostor scores (a few more or fewer) and the histogram of all. Rows are sorted by identity.

    `device` is a device of torch; without it a GPU is used where there is one and the work is large.

    >>> faces = Vectors.of(np.array([[1.0, 0], [0.8, 0.6], [0, 1]]))
    >>> find_tail(faces, np.array([1, 2, 3]), 10).score.round(6)
    array([0.8, 0.6, 0. ])
    """
    n = len(ends)
    pairs = int(n * n - ends.sum())
    rising = _Rising(vectors, keep, -np.inf if pairs <= keep else _first_cut(vectors, ends, keep / pairs, seed))

    def work(a: int, b: int) -> None:
        own, blocks = _Histogram(vectors.reach), []
        for tile in tiles(vectors, ends, a, b):
            own.add(tile.scores if tile.valid is None else tile.scores[tile.valid])
            blocks.append(tile.pairs(tile.scores >= np.float32(rising.cut)))
        rising.add(own.counts, blocks)

    chosen = gpu(pairs) if device is None else device
    if chosen is None:
        over_rows(ends, work, step)
    else:
        on_device(vectors, ends, lambda: rising.cut, rising.add, BINS, chosen, step)
    return rising.tail(vectors, pairs, chosen)


def _first_cut(vectors: Vectors, ends: Ints, share: float, seed: int) -> float:
    """A score that at least `share` of the impostor pairs certainly reach, from a seeded subsample of rows."""
    random, n = np.random.default_rng([seed, 3]), len(ends)
    side = min(n, int(SAMPLE**0.5))
    rows, columns = (np.sort(random.choice(n, side, replace=False)) for _ in range(2))
    scores = vectors.left[rows] @ vectors.right[columns].T
    other = ends[rows][:, None] != ends[columns][None, :]
    values = scores[other]
    needed = int(TWICE * share * len(values)) + EXTRA
    return float(np.sort(values)[-needed]) if needed < len(values) else -np.inf


class _Histogram:
    """Scores counted in bins of equal width, without new memory for each block.

    OpenCV, where it is installed, counts 16-bit numbers nearly twice as fast as numpy does; a block has fewer scores
    than its counters hold.
    """

    def __init__(self, reach: tuple[float, float]) -> None:
        low, high = reach
        self.counts = np.zeros(BINS, np.int64)
        self.shift, self.scale = np.float32(-low), np.float32(BINS / (high - low))
        self.level, self.bin = np.empty(0, np.float32), np.empty(0, np.uint16)
        try:
            self.cv2 = opencv("fast counting")
        except MissingExtra:  # slower, not wrong
            self.cv2 = None

    def add(self, scores: NDArray[np.float32]) -> None:
        values = scores.ravel()
        if not len(values):
            return
        if len(self.level) < len(values):
            self.level, self.bin = np.empty(len(values), np.float32), np.empty(len(values), np.uint16)
        level, place = self.level[: len(values)], self.bin[: len(values)]
        np.add(values, self.shift, out=level)
        np.multiply(level, self.scale, out=level)
        np.copyto(place, level, casting="unsafe")
        if self.cv2 is None:
            self.counts += np.bincount(place, minlength=BINS)[:BINS]
        else:
            self.counts += self.cv2.calcHist([place], [0], None, [BINS], [0, BINS]).ravel().astype(np.int64)


@dataclass
class _Rising:
    """Pairs above a cut that rises as the histogram fills, so that about `keep` pairs are kept at any time."""

    vectors: Vectors
    keep: int
    cut: float
    histogram: Ints = field(default_factory=lambda: np.zeros(BINS, np.int64))
    blocks: list[tuple[Index, Index, Index]] = field(default_factory=list)
    held: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        low, high = self.vectors.reach
        self.edges = np.linspace(low, high, BINS + 1)

    def add(self, histogram: Ints, blocks: list[Any]) -> None:
        """Add the bins and the pairs of a block of rows."""
        with self.lock:
            self.histogram += histogram
            self.cut = max(self.cut, sure_cut(self.histogram, self.edges, self.keep))
            self.blocks += [_narrow(block) for block in blocks]
            self.held += sum(len(score) for _, _, score in blocks)
            if self.held > 3 * self.keep:  # rarely: checking every block took a third of the time on a GPU
                first, second, score = _above(_joined(self.blocks), self.cut)
                self.blocks, self.held = [(first, second, score)], len(score)

    def tail(self, vectors: Vectors, pairs: int, device: str | None = None) -> ImpostorTail:
        """The pairs kept, in an order that does not depend on the threads."""
        joined = _joined(self.blocks)
        if device is None:
            first, second, values = _above(joined, self.cut)
            order = best_first(first, second, values)
            first, second, values = first[order], second[order], values[order]
        else:
            first, second, values = sorted_on(*joined, self.cut, device)
        margin = vectors.margin
        cut = self.cut + margin if len(values) < pairs else -np.inf
        if pairs <= EXACT:
            values, margin = vectors.exact(first, second), 0.0
            order = np.argsort(-values, kind="stable")
            first, second, values = first[order], second[order], values[order]
        above = np.append(np.cumsum(self.histogram[::-1])[::-1], 0)
        return ImpostorTail(values, first, second, cut, margin, self.edges, above, pairs)


def sure_cut(histogram: Ints, edges: Array, keep: int) -> float:
    """An edge that at least `keep` of the counted scores certainly reach; -inf where there are fewer scores.

    It is one bin below the counted one, since rounding may put a score just below its bin's edge.

    >>> histogram, edges = np.array([5, 1, 1, 2]), np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    >>> [sure_cut(histogram, edges, keep) for keep in (2, 3, 9, 10)]
    [1.0, 0.5, 0.0, -inf]
    """
    reached = np.flatnonzero(np.cumsum(histogram[::-1]) >= keep)
    return float(edges[max(len(histogram) - 2 - int(reached[0]), 0)]) if reached.size else -np.inf


def best_first(first: Index, second: Index, score: NDArray[np.float32]) -> NDArray[np.int64]:
    """The order of pairs by falling score, equal ones by row and column; sorting whole numbers is four times faster.

    >>> best_first(np.array([0, 0, 1]), np.array([2, 1, 2]), np.array([0.5, 0.5, 0.75], np.float32))
    array([2, 1, 0])
    """
    by_place = np.argsort(first.astype(np.int64) << 32 | second)
    bits = (score[by_place] + np.float32(0)).view(np.uint32)  # a negative zero is a zero
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))  # in the order of the numbers
    both = (~rising).astype(np.uint64) << np.uint64(32) | np.arange(len(bits), dtype=np.uint64)
    both.sort()
    return np.asarray(by_place[(both & np.uint64(0xFFFFFFFF)).astype(np.int64)])


def _joined(blocks: list[Any]) -> tuple[Any, Any, Any]:
    if not blocks:
        nothing = np.zeros(0, np.int32)
        return nothing, nothing, nothing.astype(np.float32)
    first, second, score = (np.concatenate([block[k] for block in blocks]) for k in range(3))
    return first, second, score


def _narrow(block: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    first, second, score = block
    return first.astype(np.int32, copy=False), second.astype(np.int32, copy=False), score


def _above(block: tuple[Any, Any, Any], cut: float) -> tuple[Any, Any, Any]:
    first, second, score = block
    high = score >= np.float32(cut)
    return (first, second, score) if high.all() else (first[high], second[high], score[high])
