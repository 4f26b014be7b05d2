"""Ranking entries that were scored on the same units: paired differences, adjusted for how many pairs there are.

Two entries fail on the same people, so their separate intervals often overlap although the evidence for a difference is
strong. Here every pair is compared on the same draws of people. An entry's rank is one more than the number of entries
that are shown to be better; entries share a rank where the evidence cannot tell them apart.

Scores that are not means (a largest minus a smallest class, a fifth power) are resampled in small steps, the numerical
bootstrap of Hong and Li (2018): weights move from 1 towards a bootstrap draw by ε = n^(-1/3) only, and the change of
the score is divided by ε. A full bootstrap step adds its own noise to every class and so widens the range between
classes beyond what was seen; docs/suites/bias_bounty.md has measured coverages of both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing._dist import both, quantile
from countenance.auditing.multiplicity import holm
from countenance.auditing.table import Array

DRAWS = 2000


@dataclass(frozen=True)
class Pair:
    """Two entries compared on the same units; `better` has the higher estimate."""

    better: str
    worse: str
    difference: float
    low: float
    high: float
    """The 1 − alpha interval of this difference alone, not adjusted."""
    p: float
    adjusted: float
    """Holm's p over all pairs that were ranked together; NaN where nothing can be said."""
    decided: bool


@dataclass(frozen=True)
class Ranking:
    """Entries, best first: by rank, then by estimate."""

    names: tuple[str, ...]
    estimates: tuple[float, ...]
    ranks: tuple[int, ...]
    pairs: tuple[Pair, ...]
    alpha: float

    @property
    def tied(self) -> tuple[bool, ...]:
        """Whether each entry shares its rank."""
        return tuple(self.ranks.count(rank) > 1 for rank in self.ranks)

    @property
    def first(self) -> tuple[str, ...]:
        """The entries for which no other is shown to be better; more than one where the evidence cannot decide."""
        return tuple(name for name, rank in zip(self.names, self.ranks, strict=True) if rank == 1)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The entries that are not shown to be worse than the first."""
        best = self.names[0]
        return tuple(pair.worse for pair in self.pairs if pair.better == best and not pair.decided)

    def pair(self, name: str, other: str) -> Pair:
        """The comparison of two entries, in whichever order they are named."""
        return next(pair for pair in self.pairs if {pair.better, pair.worse} == {name, other})


def rank_paired(
    names: Sequence[str], estimates: Array, replicates: Array, *, df: float = math.inf, alpha: float = 0.05
) -> Ranking:
    """Rank entries by their estimates and by statistics resampled on the same units.

    `replicates` has a row for each draw and a column for each entry; its spread is the sampling spread of the
    estimates (`numerical_bootstrap` makes such a matrix, an ordinary bootstrap another). Test and interval are one:
    the difference over the standard deviation of the replicates' differences, against Student's t with `df`. Higher is
    better. An estimate that is NaN ranks last and decides nothing.

    >>> draws = np.random.default_rng(0).normal(size=(2000, 1)) + [[0.0, 0.0, 1.0]]  # all three move together
    >>> draws = draws + np.random.default_rng(1).normal(scale=0.1, size=(2000, 3))
    >>> ranking = rank_paired(["a", "b", "c"], np.array([5.0, 5.1, 6.0]), draws)
    >>> ranking.names, ranking.ranks, ranking.first
    (('c', 'b', 'a'), (1, 2, 2), ('c',))
    """
    values, drawn = np.asarray(estimates, dtype=float), np.asarray(replicates, dtype=float)
    if drawn.ndim != 2 or drawn.shape[1] != len(names) or values.shape != (len(names),):
        raise ValueError(
            f"{len(names)} names, estimates of shape {values.shape}, replicates of shape {drawn.shape}; "
            "expected a column of replicates for each name"
        )
    if len(set(names)) != len(names):
        raise ValueError("two entries have the same name")
    intervals = [
        (i, j, *_compare(values[i] - values[j], drawn[:, i] - drawn[:, j], df, alpha))
        for i, j in in_order(names, values)
    ]
    return ranked(names, values, intervals, alpha)


def rank_against_best(
    names: Sequence[str], estimates: Array, replicates: Array, *, df: float = math.inf, alpha: float = 0.05
) -> Ranking:
    """Rank entries by their estimates; each is compared with the best alone, so that k entries are k − 1 comparisons.

    An entry that is not shown to be worse than the best may be the best (`Ranking.undecided`).

    >>> draws = np.random.default_rng(0).normal(scale=0.1, size=(2000, 3))
    >>> ranking = rank_against_best(["a", "b", "c"], np.array([5.0, 5.95, 6.0]), draws)
    >>> ranking.names, ranking.ranks, ranking.undecided
    (('c', 'b', 'a'), (1, 2, 3), ('b',))
    """
    values, drawn = np.asarray(estimates, dtype=float), np.asarray(replicates, dtype=float)
    order = sorted(range(len(names)), key=lambda i: (-values[i] if values[i] == values[i] else math.inf, names[i]))
    best, rest = order[0], order[1:]
    compared = [_compare(values[best] - values[i], drawn[:, best] - drawn[:, i], df, alpha) for i in rest]
    adjusted = holm(np.array([p for _, _, p in compared]))
    pairs = tuple(
        Pair(names[best], names[i], float(values[best] - values[i]), low, high, p, float(corrected), corrected < alpha)
        for i, (low, high, p), corrected in zip(rest, compared, adjusted, strict=True)
    )
    ranks = tuple(1 + int(np.sum(values > values[i])) if values[i] == values[i] else len(names) for i in order)
    return Ranking(tuple(names[i] for i in order), tuple(float(values[i]) for i in order), ranks, pairs, alpha)


def in_order(names: Sequence[str], values: Array) -> list[tuple[int, int]]:
    """Every two entries, the one with the higher value first; equal values by name, NaN last.

    >>> in_order(["a", "b", "c"], np.array([0.1, np.nan, 0.3]))
    [(2, 0), (2, 1), (0, 1)]
    """
    order = sorted(range(len(names)), key=lambda i: (-values[i] if values[i] == values[i] else math.inf, names[i]))
    return list(itertools.combinations(order, 2))


def ranked(
    names: Sequence[str],
    values: Array,
    intervals: Sequence[tuple[int, int, float, float, float]],
    alpha: float = 0.05,
    adjusted: Sequence[float] | None = None,
) -> Ranking:
    """Ranks from what every two entries show: the better, the worse, low and high of their difference, and p.

    `intervals` has the pairs of `in_order`. Their p are adjusted together (Holm), unless `adjusted` has p that were
    adjusted already, in a larger family.

    >>> ranked(["a", "b"], np.array([0.9, 0.8]), [(0, 1, 0.02, 0.18, 0.01)]).ranks
    (1, 2)
    """
    order = sorted(range(len(names)), key=lambda i: (-values[i] if values[i] == values[i] else math.inf, names[i]))
    corrected_p = holm(np.array([row[4] for row in intervals])) if adjusted is None else adjusted
    beaten = dict.fromkeys(range(len(names)), 0)
    pairs = []
    for (i, j, low, high, p), corrected in zip(intervals, corrected_p, strict=True):
        decided = bool(corrected < alpha)
        beaten[j] += decided
        difference = float(values[i] - values[j])
        pairs.append(Pair(names[i], names[j], difference, low, high, p, float(corrected), decided))
    known = int(np.isfinite(values).sum())
    beaten |= {i: known for i in order if not math.isfinite(values[i])}
    order.sort(key=lambda i: beaten[i])  # a stable sort, so that estimates decide within a rank
    return Ranking(
        tuple(names[i] for i in order),
        tuple(float(values[i]) for i in order),
        tuple(1 + beaten[i] for i in order),
        tuple(pairs),
        alpha,
    )


def _compare(difference: float, drawn: Array, df: float, alpha: float) -> tuple[float, float, float]:
    """Low, high and p of one difference."""
    drawn = drawn[np.isfinite(drawn)]
    if not math.isfinite(difference) or len(drawn) < 2 or not df > 0:
        return math.nan, math.nan, math.nan
    spread = float(drawn.std(ddof=1))
    if spread <= 1e-12 * max(1.0, abs(difference)):
        # Equal everywhere, or the same difference in every unit: the exact sign-flip test still has a p.
        p = 1.0 if difference == 0 else min(1.0, 2.0 ** (-df if math.isfinite(df) else -len(drawn)))
        return difference, difference, p
    half = quantile(1 - alpha / 2, df) * spread
    return difference - half, difference + half, both(difference / spread, df)


def numerical_bootstrap(
    sums: Array, statistic: Callable[[Array], Array], *, draws: int = DRAWS, seed: int = 0
) -> tuple[Array, Array]:
    """The statistic of the summed rows, and replicates of it whose spread is its sampling spread.

    `sums` has a row for each cluster (clusters × …); `statistic` turns summed rows (draws × …) into values
    (draws × outputs). Entries that are to be compared go through one call, so that all see the same draws.

    >>> sums = np.array([[3.0, 4.0], [1.0, 2.0], [0.0, 1.0], [2.0, 2.0]])  # successes, rows
    >>> estimate, drawn = numerical_bootstrap(sums, lambda s: s[:, :1] / s[:, 1:])
    >>> estimate.round(3), drawn.shape
    (array([0.667]), (2000, 1))
    """
    table = np.asarray(sums, dtype=float)
    flat = table.reshape(len(table), math.prod(table.shape[1:]))
    shape = (-1, *table.shape[1:])
    estimate = np.asarray(statistic(flat.sum(axis=0).reshape(shape)))[0]
    count = len(table)
    if count < 2:
        return estimate, np.full((draws, len(estimate)), np.nan)
    step = count ** (-1 / 3)
    scale = math.sqrt(count / (count - 1)) / step
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, draws, 500):
        drawn = rng.multinomial(count, np.full(count, 1 / count), size=min(500, draws - start))
        parts.append(statistic(((1 + step * (drawn - 1)) @ flat).reshape(shape)))
    return estimate, estimate + (np.concatenate(parts) - estimate) * scale


def effective_df(rows: Array) -> float:
    """Degrees of freedom of clusters with this many rows each: n²/Σn_c² − 1; unequal clusters reduce them.

    >>> effective_df(np.array([4.0, 4.0, 4.0])), round(effective_df(np.array([100.0, 1.0, 1.0])), 2)
    (2.0, 0.04)
    """
    sizes = np.asarray(rows, dtype=float)
    return float(sizes.sum() ** 2 / (sizes**2).sum() - 1) if sizes.any() else 0.0
