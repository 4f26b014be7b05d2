"""Gaps with some conditions held equal, from sums over strata and groups; and what each condition explains of a gap.

The gap is the coefficient of the group in a least-squares fit with a mean for every stratum, and a slope of each
number within each of its bins. With categories alone it is the mean of the strata's differences with overlap weights
(n₁ n₀ / n). Everything comes from sums over cells of stratum and group, so that all subsets of the conditions, and all
replicates of a jackknife over people, cost no further pass over the rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.held_equal_covariates import Strata
from countenance.auditing.table import Array

BLOCKS = 40
"""Blocks of people of the jackknife that gives shares their intervals."""
FEWEST_BLOCKS = 10
MOST_SUMS = 40_000_000
RIDGE = 1e-9


@dataclass(frozen=True)
class CellSums:
    """Sums over blocks × strata × groups: rows, values, numbers, and over blocks × strata: products."""

    n: Array
    y: Array
    x: Array
    xy: Array
    xx: Array

    @classmethod
    def of(
        cls, values: Array, numbers: Array, strata: Strata, groups: Array, sizes: tuple[int, int], blocks: Array
    ) -> CellSums:
        """Sum rows up; `sizes` are the numbers of groups and of blocks."""
        (count, every), wide = sizes, numbers.shape[1]
        cells = (blocks * strata.count + strata.codes) * count + groups
        shape = (every, strata.count, count)
        coarse = blocks * strata.count + strata.codes

        def summed(weights: Array | None) -> Array:
            return np.bincount(cells, weights, math.prod(shape)).reshape(shape)

        def summed_over(weights: Array) -> Array:
            return np.bincount(coarse, weights, every * strata.count).reshape(every, strata.count)

        x = np.zeros((*shape, wide))
        xy = np.zeros((every, strata.count, wide))
        xx = np.zeros((every, strata.count, wide, wide))
        for c in range(wide):
            x[..., c] = summed(numbers[:, c])
            xy[..., c] = summed_over(numbers[:, c] * values)
            for d in range(c + 1):
                xx[..., c, d] = xx[..., d, c] = summed_over(numbers[:, c] * numbers[:, d])
        return cls(summed(None), summed(values), x, xy, xx)

    def left_out(self) -> CellSums:
        """All blocks together, then without each one in turn."""
        return CellSums(
            *(
                np.concatenate([part.sum(0)[None], part.sum(0)[None] - part])
                for part in (self.n, self.y, self.x, self.xy, self.xx)
            )
        )

    def coarser(self, places: Array) -> CellSums:
        """The sums of coarser strata."""
        from scipy import sparse

        size = int(places.max()) + 1
        gather = sparse.csr_matrix((np.ones(len(places)), (places, np.arange(len(places)))), (size, len(places)))

        def joined(part: Array) -> Array:
            moved = np.moveaxis(part, 1, 0)
            flat = np.asarray(gather @ moved.reshape(len(places), -1))
            return np.moveaxis(flat.reshape(size, *moved.shape[1:]), 0, 1)

        return CellSums(*(joined(part) for part in (self.n, self.y, self.x, self.xy, self.xx)))


@dataclass(frozen=True)
class Slopes:
    """Which numbers have slopes, and for each stratum the slope that each of them has there."""

    numbers: tuple[int, ...] = ()
    terms: Array | None = None
    count: int = 0

    @classmethod
    def of(cls, levels: Array, numbers: Sequence[tuple[int, int]]) -> Slopes:
        """Slopes of numbers (place of the covariate, and among the numbers) within the bins of their covariates."""
        terms, start = [], 0
        for place, _ in numbers:
            terms.append(start + levels[:, place])
            start += int(levels[:, place].max(initial=-1)) + 1
        stacked = np.array(terms, dtype=np.int64).reshape(len(terms), len(levels))
        return cls(tuple(number for _, number in numbers), stacked, start)

    def gathered(self, part: Array, axes: int) -> Array:
        """Sums over strata (the second axis) of a part whose last axis has the numbers, by slope."""
        assert self.terms is not None
        sums = np.zeros((part.shape[0], self.count, *part.shape[2 : 2 + axes]))
        for place, number in enumerate(self.numbers):
            where: Any = (slice(None), self.terms[place])
            np.add.at(sums, where, part[..., number])
        return sums

    def products(self, part: Array) -> Array:
        """Sums of products of two numbers, by their slopes."""
        assert self.terms is not None
        products = np.zeros((part.shape[0], self.count, self.count))
        for i, number in enumerate(self.numbers):
            for j, other in enumerate(self.numbers):
                where: Any = (slice(None), self.terms[i], self.terms[j])
                np.add.at(products, where, part[..., number, other])
        return products


@dataclass(frozen=True)
class CellGaps:
    """The gap of each group to the others, for each set of sums."""

    gaps: Array
    shares: Array
    """By stratum, the share of its rows that each group has."""
    weight: Array
    """Sum of squares of each group's indicator, with the conditions taken out."""
    slopes: Array
    """Slopes of the values on the numeric covariates, without the groups."""
    group_slopes: Array
    inverse: Array


def gaps_of(sums: CellSums, slopes: Slopes) -> CellGaps:
    """Each group's gap to the others from sums over strata and groups."""
    total = sums.n.sum(2)
    rows = np.maximum(total, 1)
    share = sums.n / rows[..., None]
    y = sums.y.sum(2)
    num = (sums.y - share * y[..., None]).sum(1)
    den = (sums.n * (1 - share)).sum(1)
    if not slopes.count:
        empty = np.zeros((len(num), 0))
        gap = np.divide(num, den, out=np.full_like(num, math.nan), where=den > RIDGE)
        return CellGaps(gap, share, den, empty, np.zeros((*empty.shape, num.shape[1])), np.zeros((len(num), 0, 0)))
    x = sums.x.sum(2)
    centred_xy = sums.xy - x * (y / rows)[..., None]
    centred_xx = sums.xx - x[..., :, None] * x[..., None, :] / rows[..., None, None]
    centred_xd = sums.x - x[..., None, :] * share[..., None]
    product = slopes.products(centred_xx)
    scale = np.einsum("jkk->jk", product)
    product += np.eye(slopes.count) * (RIDGE * scale + np.where(scale > 0, 0, 1.0))[:, None, :]
    inverse = np.linalg.inv(product)
    own = (inverse @ slopes.gathered(centred_xy, 0)[..., None])[..., 0]
    grouped = slopes.gathered(centred_xd, 1)
    group_slopes = inverse @ grouped
    num = num - np.einsum("jkg,jk->jg", grouped, own)
    den = den - np.einsum("jkg,jkg->jg", grouped, group_slopes)
    gap = np.divide(num, den, out=np.full_like(num, math.nan), where=den > RIDGE)
    return CellGaps(gap, share, den, own, group_slopes, inverse)


@dataclass(frozen=True)
class Decomposed:
    """A raw gap decomposed: the part of each covariate, of all together, and the remainder; each with blocks."""

    raw: Array
    parts: Array
    """Covariates × replicates × groups; the first replicate is the estimate."""
    held: Array

    def interval(self, replicates: Array, alpha: float) -> tuple[Array, Array, Array]:
        """Estimate and ends from the jackknife."""
        blocks = len(replicates) - 1
        spread = replicates[1:] - replicates[1:].mean(0)
        error = np.sqrt((blocks - 1) / blocks * (spread**2).sum(0))
        reach = quantile(1 - alpha / 2, blocks - 1) * error
        return replicates[0], replicates[0] - reach, replicates[0] + reach


def decomposed(sums: CellSums, strata: Strata, numeric: Sequence[int]) -> Decomposed:
    """Split the composition by covariate: Shapley over the order in which conditions are held equal.

    `numeric` are the places of the covariates with numbers, in the order of the numbers in the sums.
    """
    count = strata.levels.shape[1]
    left = sums.left_out()
    gap: dict[tuple[int, ...], Array] = {}
    for size in range(count + 1):
        for chosen in itertools.combinations(range(count), size):
            places = strata.coarser(chosen)
            levels = np.zeros((int(places.max()) + 1, count), dtype=np.int64)
            levels[places] = strata.levels
            slopes = Slopes.of(levels, [(place, i) for i, place in enumerate(numeric) if place in chosen])
            gap[chosen] = gaps_of(left.coarser(places), slopes).gaps
    parts = np.zeros((count, *gap[()].shape))
    for chosen, value in gap.items():
        for place in (p for p in range(count) if p not in chosen):
            weight = math.factorial(len(chosen)) * math.factorial(count - len(chosen) - 1) / math.factorial(count)
            parts[place] += weight * (value - gap[tuple(sorted((*chosen, place)))])
    return Decomposed(gap[()], parts, gap[tuple(range(count))])


def blocks_of(labels: Array, seed: int, cells: int) -> tuple[Array, int]:
    """A block for each person, balanced over their groups; fewer blocks where there are many cells."""
    count = int(np.clip(MOST_SUMS // max(cells, 1), FEWEST_BLOCKS, BLOCKS))
    order = np.lexsort((np.random.default_rng([seed, 31]).random(len(labels)), labels))
    blocks = np.empty(len(labels), dtype=np.int64)
    blocks[order] = np.arange(len(labels)) % count
    return blocks, count
