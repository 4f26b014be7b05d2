"""Groups of few people: the means of single people, compared by permutation of their labels.

No approximation is accurate for five or ten people. Their labels are shuffled instead, among people with about as many
pictures each (somebody's mean of one picture is 0 or 1, of twenty it is not), and all arrangements are counted if few.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from countenance.auditing._dist import both
from countenance.auditing.layout import Column, Layout
from countenance.auditing.sums import Side, cluster_means
from countenance.auditing.table import Array

IN_STRATUM = 20
"""A stratum takes people with similar numbers of pictures until it has this many."""
MOST_ARRANGEMENTS = 20_000
"""Up to this many arrangements are all counted; if there are more, some are drawn."""
AT_ONCE = 2_000_000


def strata_of(sizes: Array) -> Array:
    """A code for each person: those with about as many pictures are together, at least `IN_STRATUM` of them.

    >>> int(strata_of(np.r_[np.full(25, 1.0), np.full(30, 8.0), 9.0]).max())
    1
    """
    values, code, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    stratum, together = np.zeros(len(values), dtype=np.int64), 0
    for place in range(1, len(values)):
        together += counts[place - 1]
        full = together >= IN_STRATUM and counts[place:].sum() >= IN_STRATUM
        stratum[place] = stratum[place - 1] + full
        together = 0 if full else together
    return np.asarray(stratum[code])


@dataclass(frozen=True)
class PeopleMeans:
    """The mean of every person (NaN: no score), less the mean of all people with about as many pictures."""

    away: Array
    strata: Array
    spread: Array
    """For each person, the variance of people's means in that person's stratum."""

    @classmethod
    def of(cls, layout: Layout, column: Column) -> PeopleMeans:
        """The means of one metric over the units of a table."""
        n, y, _ = layout.cluster_sums(column)
        known = n > 0
        strata, means = strata_of(layout.sizes), cluster_means(n, y)
        count = np.bincount(strata[known], minlength=strata.max(initial=0) + 1).astype(float)
        centre = cluster_means(count, np.bincount(strata[known], means[known], minlength=len(count)))
        away = np.where(known, means - centre[strata], np.nan)
        squares = np.bincount(strata[known], away[known] ** 2, minlength=len(count))
        return cls(away, strata, cluster_means(np.maximum(count - 1, 1.0), squares)[strata])

    def columns(self, name: str, layout: Layout) -> tuple[Column, Column]:
        """Columns with one value for each person, at the first of their elements: the mean, and its variance."""
        return tuple(  # type: ignore[return-value]
            person_column(f"{name} ({what})", values, layout)
            for what, values in (("means of people", self.away), ("variances of people", self.spread))
        )


def person_column(name: str, values: Array, layout: Layout) -> Column:
    """A column with a value for each unit at its first element, and no value elsewhere."""
    if layout.alone:
        return Column(name, "mean", values)
    spread_out = np.full(layout.total, np.nan)
    first = layout.starts[:-1] if layout.order is None else layout.order[layout.starts[:-1]]
    spread_out[first] = values
    if layout.weights is None:
        return Column(name, "mean", spread_out)
    there = ~np.isnan(spread_out)
    sums = np.where(there, spread_out, 0.0)
    return Column(name, "mean", sums, 0.0, there.astype(float), sums * sums)


def distance(first: Side, second: Side) -> Array:
    """The mean of the people of one side less that of the other, from sums of `PeopleMeans`."""
    with np.errstate(all="ignore"):
        gap = np.asarray(first.total) / np.asarray(first.n) - np.asarray(second.total) / np.asarray(second.n)
    return np.asarray(np.nan_to_num(gap))


def two_sided(gap: Array, variance: Array) -> Array:
    """A p from the normal distribution: it only orders arrangements; permutations give the p that is reported."""
    with np.errstate(all="ignore"):
        p = np.asarray(both(gap / np.sqrt(variance)))
    return np.where(np.isfinite(p), p, 1.0)


def permutation_p(away: Array, strata: Array, inside: Array, draws: int, seed: int) -> float:
    """How often labels that are shuffled within strata put people's means at least as far apart, two-sided.

    `inside` says which of the people are on the first side; all others are on the second. Exact where arrangements are
    few, else from `draws` of them.

    >>> away = np.r_[np.full(5, -1.0), np.full(9, 1.0)]
    >>> round(permutation_p(away, np.zeros(14, int), np.arange(14) < 5, 1000, 0) * math.comb(14, 5), 6)
    1.0
    """
    order = np.lexsort((inside, away, strata))  # the result must not depend on the table's order
    away, strata, inside = away[order], strata[order], inside[order]
    few = inside if inside.sum() * 2 <= len(inside) else ~inside
    total, count, everyone = float(away.sum()), int(few.sum()), len(away)

    def apart(sums: Array) -> Array:
        return np.abs(sums / count - (total - sums) / (everyone - count))

    observed = apart(np.array([away[few].sum()]))[0] * (1 - 1e-9)
    parts = [(away[strata == stratum], int(few[strata == stratum].sum())) for stratum in np.unique(strata[few])]
    if math.prod(math.comb(len(values), size) for values, size in parts) <= MOST_ARRANGEMENTS:
        sums = np.zeros(1)
        for values, size in parts:
            each = np.array([values[list(chosen)].sum() for chosen in itertools.combinations(range(len(values)), size)])
            sums = np.add.outer(sums, each).ravel()
        return float((apart(sums) >= observed).mean())
    rng = np.random.default_rng(seed)
    step = max(1, AT_ONCE // min(everyone, 4 * count * count))
    as_far = sum(
        int((apart(_drawn(parts, min(step, draws - start), rng)) >= observed).sum()) for start in range(0, draws, step)
    )
    return (1 + as_far) / (draws + 1)


def _drawn(parts: list[tuple[Array, int]], draws: int, rng: np.random.Generator) -> Array:
    """The sums of people drawn at random, for each stratum its number of `parts`; drawn again for every sum."""
    sums = np.zeros(draws)
    for values, size in parts:
        if size == len(values):
            sums += values.sum()
        elif size * size * 4 < len(values):  # duplicates are rare: draw with replacement and redraw those
            chosen = rng.integers(0, len(values), (draws, size))
            while (again := (np.diff(np.sort(chosen, axis=1), axis=1) == 0).any(axis=1)).any():
                chosen[again] = rng.integers(0, len(values), (int(again.sum()), size))
            sums += values[chosen].sum(axis=1)
        else:
            order = rng.random((draws, len(values)))
            sums += values[np.argpartition(order, size - 1, axis=1)[:, :size]].sum(axis=1)
    return sums


def exact_p(ones: float, n: float, all_ones: float, everyone: float) -> float:
    """The exact p for people with one 0/1 row each, from the numbers of ones among n people and among everyone.

    >>> exact_p(0, 19, 500, 519) < 1e-30, round(exact_p(5, 10, 50, 100), 6)
    (True, 1.0)
    """
    from scipy import stats

    count = np.arange(max(0, n + all_ones - everyone), min(n, all_ones) + 1)
    apart = np.abs(count / n - (all_ones - count) / (everyone - n))
    observed = abs(ones / n - (all_ones - ones) / (everyone - n)) * (1 - 1e-9)
    chances = stats.hypergeom.pmf(count, everyone, all_ones, n)
    return float(min(1.0, chances[apart >= observed].sum()))
