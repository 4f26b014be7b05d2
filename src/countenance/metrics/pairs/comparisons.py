"""All comparisons of a set of embeddings: thresholds, error rates and curves, exact where that is possible.

A pair is accepted when its score is at least the threshold. FMR is the share of impostor pairs that are accepted, FNMR
the share of genuine pairs that are not.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from countenance.metrics.pairs.blocks import Step, ends_of, impostor_pairs, over_rows, tiles
from countenance.metrics.pairs.device import gpu, on_device
from countenance.metrics.pairs.genuine import Genuine, genuine_pairs
from countenance.metrics.pairs.tail import ImpostorTail, find_tail
from countenance.metrics.pairs.vectors import Array, Index, Ints, Vectors

LEAST_KEPT, MOST_KEPT = 4_194_304, 8_388_608
"""Impostor pairs that are kept: all where there are no more than the first number, never more than the second."""
MORE, EXTRA = 1.05, 1000
"""For each rate, as many pairs as it accepts are kept, times the first number plus the second, to see the next
scores."""
FURTHER = 64
"""Further scores that are read if those nearest to a threshold are all equal."""

Accept = Callable[[Index, Index], None]


class Threshold(NamedTuple):
    """A threshold and how it was computed."""

    score: float
    exact: bool
    """Whether it is the smallest threshold with the requested rate; otherwise it is an edge of a histogram."""


@dataclass(frozen=True)
class Comparisons:
    """Vectors sorted by identity, their genuine pairs, and the impostor pairs with the highest scores."""

    vectors: Vectors
    identity: Ints
    """Codes 0, 1, …, ascending."""
    genuine: Genuine
    tail: ImpostorTail

    @classmethod
    def of(
        cls, vectors: Vectors, identity: Ints, *, fmr: float = 0.0, seed: int = 0, step: Step | None = None
    ) -> "Comparisons":
        """Compare vectors that are sorted by identity. With `fmr` enough pairs are kept for that rate, if possible.

        >>> comparisons = Comparisons.of(Vectors.of(np.eye(3)), np.array([0, 0, 1]))
        >>> comparisons.impostors, len(comparisons.genuine.score)
        (2, 1)
        """
        ends = ends_of(identity)
        pairs = impostor_pairs(np.bincount(identity)) if len(identity) else 0
        needed = int(MORE * fmr * pairs) + EXTRA
        keep = LEAST_KEPT if needed > MOST_KEPT else max(LEAST_KEPT, needed)
        genuine = genuine_pairs(vectors, ends, seed=seed)
        return cls(vectors, identity, genuine, find_tail(vectors, ends, keep, seed=seed, step=step))

    @property
    def impostors(self) -> int:
        """The number of impostor pairs."""
        return self.tail.pairs

    @cached_property
    def sizes(self) -> Ints:
        """Pictures of each identity."""
        return np.bincount(self.identity)

    @cached_property
    def ends(self) -> Ints:
        return ends_of(self.identity)

    @cached_property
    def ranked(self) -> Array:
        """Genuine scores, ascending."""
        return np.sort(self.genuine.score)

    def fnmr(self, threshold: Any) -> Array:
        """The share of genuine pairs below a threshold, or below each of several."""
        count = np.searchsorted(self.ranked, threshold, side="left")
        return np.asarray(count / len(self.ranked) if len(self.ranked) else np.full(np.shape(count), np.nan))

    def threshold_at(self, fmr: float) -> Threshold:
        """The smallest threshold whose FMR is at most `fmr`.

        It lies halfway between the highest score that must be refused and the lowest score above that, so that
        rounding elsewhere does not change a decision. Where the pairs kept do not reach so far it is an edge of the
        histogram.
        """
        allowed = self._allowed(fmr)
        if allowed >= self.impostors:
            return Threshold(-np.inf, True)
        refused = self._ranked_impostor(allowed)
        if refused is None:
            tail = self.tail
            place = int(np.searchsorted(-tail.above, -allowed, side="left"))
            return Threshold(float(tail.edges[place]), False)
        return Threshold(between(refused, self._next_above(refused)), True)

    def _allowed(self, fmr: float) -> int:
        """How many impostor pairs a rate allows, without rounding errors (0.29 of 100 pairs are 29)."""
        return int(fmr * self.impostors + 1e-9)

    def _ranked_impostor(self, rank: int) -> float | None:
        """The exact score of the impostor pair of that rank (0 is the highest); None where it is not kept."""
        tail = self.tail
        if rank >= len(tail.score):
            return None
        near = float(tail.score[rank])
        if tail.margin == 0:
            return near if near >= tail.cut else None
        if near - tail.doubt < tail.cut:
            return None
        a, b = self._range(near, tail.doubt)
        close = np.sort(self.vectors.exact(tail.first[a:b], tail.second[a:b]))[::-1]
        return float(close[rank - a])

    def _range(self, score: float, around: float) -> tuple[int, int]:
        """The places among the kept pairs at which those with (rounded) scores around a score begin and end."""
        a = np.searchsorted(self._falling, -score - around, side="left")
        b = np.searchsorted(self._falling, -score + around, side="right")
        return int(a), int(b)

    @cached_property
    def _falling(self) -> Array:
        """The negated kept scores, which ascend as `searchsorted` needs."""
        return -self.tail.score.astype(np.float64)

    def _next_above(self, score: float) -> float:
        """The lowest score of any pair above a score."""
        tail, above = self.tail, np.inf
        place = int(np.searchsorted(self.ranked, score, side="right"))
        if place < len(self.ranked):
            above = float(self.ranked[place])
        a, b = self._range(score, tail.doubt)
        while True:
            close = tail.score[a:b] if tail.margin == 0 else self.vectors.exact(tail.first[a:b], tail.second[a:b])
            higher = close[close > score]
            if len(higher):
                return min(above, float(higher.min()))
            if a == 0:
                return above
            a, b = max(a - FURTHER, 0), a  # the scores just above are further away than the rounding

    def accepted(self, threshold: float, accept: Accept, step: Step | None = None) -> int:
        """Call `accept(first, second)` with all impostor pairs that a threshold accepts; returns how many.

        Kept pairs are used; otherwise the blocks are computed again.
        """
        tail = self.tail
        if threshold - tail.margin >= tail.cut:  # -inf where all pairs are kept
            sure, close = self._range(threshold, tail.margin)
            first, second, score = tail.first[sure:close], tail.second[sure:close], tail.score[sure:close]
            at = (score if tail.margin == 0 else self.vectors.exact(first, second)) >= threshold
            first = np.concatenate([tail.first[:sure], first[at]])
            second = np.concatenate([tail.second[:sure], second[at]])
            accept(first, second)
            return len(first)
        return self._exactly(Threshold(threshold, True), threshold, threshold, None, accept, step)[1]

    def accepted_at_rate(self, fmr: float, accept: Accept, step: Step | None = None) -> tuple[Threshold, int]:
        """The smallest threshold whose FMR is at most `fmr`; `accept` is called with the pairs that it accepts."""
        threshold, tail = self.threshold_at(fmr), self.tail
        if threshold.exact:
            return threshold, self.accepted(threshold.score, accept, step)
        place = int(np.searchsorted(tail.edges, threshold.score))
        low = float(tail.edges[place - 1])
        return self._exactly(threshold, low, threshold.score, self._allowed(fmr), accept, step)

    def _exactly(
        self, threshold: Threshold, low: float, high: float, allowed: int | None, accept: Accept, step: Step | None
    ) -> tuple[Threshold, int]:
        """Compute the blocks again: pairs surely above `high` are accepted at once, those near or below it are kept.

        With `allowed` the threshold is then the smallest one between low and high that accepts no more pairs.
        """
        near = np.float32(high - self.vectors.margin)
        low, high = low - self.vectors.margin, high + self.vectors.margin
        lock, close_pairs, count, held = threading.Lock(), [], 0, 0

        def take(first: Any, second: Any, score: Any) -> None:
            nonlocal count, held
            sure = score > np.float32(high)
            with lock:
                accept(first[sure], second[sure])
                count += int(sure.sum())
                # Very many equal scores: the threshold stays an edge, and only pairs near that are needed.
                close = ~sure if held < MOST_KEPT else ~sure & (score >= near)
                close_pairs.append((first[close], second[close]))
                held += int(close.sum())

        def work(a: int, b: int) -> None:
            for tile in tiles(self.vectors, self.ends, a, b):
                take(*tile.pairs(tile.scores >= np.float32(low)))

        device = gpu(self.impostors)
        if device is None:
            over_rows(self.ends, work, step)
        else:

            def together(_: Ints, blocks: list[Any]) -> None:
                for block in blocks:
                    take(*block)

            on_device(self.vectors, self.ends, lambda: low, together, 0, device, step)
        first, second = (np.concatenate([block[k] for block in close_pairs]) for k in range(2))
        exact = self.vectors.exact(first, second)
        if allowed is not None and held < MOST_KEPT and count <= allowed < count + held:
            ranked = np.sort(exact)[::-1]
            refused = float(ranked[allowed - count])
            higher = ranked[ranked > refused]
            place = int(np.searchsorted(self.ranked, refused, side="right"))
            above = [*higher[-1:].tolist(), *self.ranked[place : place + 1].tolist(), high]
            threshold = Threshold(between(refused, min(above)), True)
        at = exact >= threshold.score
        accept(first[at], second[at])
        return threshold, count + int(at.sum())


def between(low: float, high: float) -> float:
    """A number above `low` and at most `high`, in the middle if the gap allows.

    >>> between(0.25, 0.75), between(1.0, np.inf) > 1
    (0.5, True)
    """
    if np.isinf(high):
        return low + 1e-9 * max(abs(low), 1.0)
    middle = (low + high) / 2
    return middle if low < middle <= high else high
