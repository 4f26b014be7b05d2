"""Row by row: residuals, and what each person contributes to a gap with conditions held equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.held_equal_cells import CellSums, Slopes, gaps_of
from countenance.auditing.held_equal_covariates import Covariate, Strata
from countenance.auditing.table import Array

FEWEST_PEOPLE = 15
"""Effective people that each side needs."""


@dataclass(frozen=True)
class ComparableRows:
    """The rows of one metric whose group and conditions are known."""

    values: Array
    groups: Array
    count: int
    """How many groups there are."""
    units: tuple[Array, ...]
    """The independent units: one code per row, or two that cross."""
    strata: Strata
    numbers: Array
    numeric: tuple[int, ...]
    """The places of the covariates that the numbers belong to."""

    @classmethod
    def of(
        cls,
        values: Array,
        groups: Array,
        count: int,
        units: Sequence[Array],
        covariates: Sequence[Covariate],
        rows: Array,
    ) -> ComparableRows:
        """The rows at some places; numbers are scaled, which changes no gap."""
        numeric = tuple(i for i, covariate in enumerate(covariates) if covariate.values is not None)
        numbers = np.zeros((len(rows), len(numeric)))
        for column, place in enumerate(numeric):
            own = covariates[place].values
            assert own is not None
            spread = float(own[rows].std()) if len(rows) else 0.0
            numbers[:, column] = (own[rows] - own[rows].mean()) / (spread or 1.0) if len(rows) else 0.0
        return cls(
            values[rows],
            groups[rows].astype(np.int64),
            count,
            tuple(way[rows] for way in units),
            Strata.of(covariates, rows),
            numbers,
            numeric,
        )

    @cached_property
    def slopes(self) -> Slopes:
        """The slopes of the numbers within their bins."""
        return Slopes.of(self.strata.levels, [(place, i) for i, place in enumerate(self.numeric)])

    @property
    def people(self) -> Array:
        """The codes of the first kind of unit, usually people."""
        return self.units[0]


@dataclass(frozen=True)
class HeldGap:
    """A gap with its standard error, degrees of freedom and effective people."""

    estimate: float
    error: float
    df: float
    effective: float

    def interval(self, alpha: float) -> tuple[float, float]:
        """Estimate ± t · se."""
        if not (self.error >= 0 and self.df > 0):
            return math.nan, math.nan
        reach = float(quantile(1 - alpha / 2, self.df)) * self.error
        return self.estimate - reach, self.estimate + reach


class Fit:
    """The fit of one metric: a mean for every stratum, slopes of numbers within bins, no groups (the null)."""

    def __init__(self, rows: ComparableRows) -> None:
        self.rows = rows
        strata, block = rows.strata, np.zeros(len(rows.values), dtype=np.int64)
        sums = CellSums.of(rows.values, rows.numbers, strata, rows.groups, (rows.count, 1), block)
        fitted = gaps_of(sums, rows.slopes)
        self.n = sums.n[0]
        self.gap, self.share, self.weight = fitted.gaps[0], fitted.shares[0], fitted.weight[0]
        self.own_slopes, self.group_slopes, self.inverse = fitted.slopes[0], fitted.group_slopes[0], fitted.inverse[0]
        size = np.maximum(self.n.sum(1), 1)
        self.centred = rows.values - (sums.y[0].sum(1) / size)[strata.codes]
        self.numbers = rows.numbers - (sums.x[0].sum(1) / size[:, None])[strata.codes]
        terms = rows.slopes.terms
        self.terms = np.zeros((0, len(block)), dtype=np.int64) if terms is None else terms[:, strata.codes]
        self.residuals = self.centred - self.along(self.own_slopes)

    def along(self, slopes: Array) -> Array:
        """The amount that the numbers add to each row with these slopes."""
        total = np.zeros(len(self.centred))
        for column, terms in enumerate(self.terms):
            total += slopes[terms] * self.numbers[:, column]
        return total

    def indicator(self, group: int) -> Array:
        """Whether a row is in a group, minus its expectation from the conditions."""
        codes = self.rows.strata.codes
        inside = self.rows.groups == group
        return np.asarray(inside - self.share[codes, group] - self.along(self.group_slopes[:, group]))

    @cached_property
    def people_in_cells(self) -> Array:
        """How many people each stratum has of each group."""
        shape = (self.rows.strata.count, self.rows.count)
        cells = self.rows.strata.codes * self.rows.count + self.rows.groups
        pairs = np.unique(self.rows.people * math.prod(shape) + cells)
        return np.bincount(pairs % math.prod(shape), minlength=math.prod(shape)).reshape(shape)

    def influence(self, group: int) -> Array:
        """The contribution of each row to the gap: its weighted residual from the mean of its own side and stratum."""
        inside, codes = self.rows.groups == group, self.rows.strata.codes
        values = self.centred - self.along(self.own_slopes - self.gap[group] * self.group_slopes[:, group])
        cells = 2 * codes + inside
        n = np.bincount(cells, minlength=2 * self.rows.strata.count)
        mean = np.bincount(cells, values, len(n)) / np.maximum(n, 1)
        people = np.empty(len(n))
        people[1::2] = self.people_in_cells[:, group]
        people[::2] = self.people_in_cells.sum(1) - people[1::2]
        factor = np.sqrt(people / np.maximum(people - 1, 1))
        other = cells ^ 1
        alone, both = people[cells] <= 1, n[other] > 0
        # One person has no spread: use the distance from the other side, reduced by the variance of that side's mean.
        distance = (values - mean[other]) * np.sqrt(people / (people + 1))[other]
        residual = np.where(alone & both, distance, (values - mean[cells]) * factor[cells])
        return np.asarray(self.indicator(group) * residual / self.weight[group])

    def effective(self, group: int) -> tuple[float, float]:
        """The people of each side as the weights count them."""
        inside, share = self.rows.groups == group, self.share[self.rows.strata.codes, group]
        return (
            effective_people(self.rows.people, np.where(inside, 1 - share, 0.0)),
            effective_people(self.rows.people, np.where(inside, 0.0, share)),
        )

    def overlap(self, group: int) -> float:
        """The share of rows in strata that have both sides."""
        share = self.share[:, group]
        size = self.n.sum(1)
        return float(size[(share > 0) & (share < 1)].sum() / max(size.sum(), 1))

    def measured(self, group: int) -> HeldGap:
        """The gap of a group with its error."""
        effective = self.effective(group)
        if min(effective) < FEWEST_PEOPLE or not math.isfinite(self.gap[group]):
            return HeldGap(float(self.gap[group]), math.nan, math.nan, min(effective))
        weights = np.abs((self.rows.groups == group) - self.share[self.rows.strata.codes, group])
        return measured_gap(float(self.gap[group]), self.influence(group), self.rows, group, weights, effective)


def measured_gap(
    estimate: float, influence: Array, rows: ComparableRows, group: int, weights: Array, effective: tuple[float, float]
) -> HeldGap:
    """A gap with the error that influence values summed per person give; of two ways that cross, both count."""
    inside, units = rows.groups == group, rows.units
    variances = [_squares(codes, influence) for codes in units]
    variance = max(variances)
    if len(units) == 2:
        both = units[0] * (int(units[1].max(initial=0)) + 1) + units[1]
        variance = max(sum(variances) - _squares(np.unique(both, return_inverse=True)[1], influence), variance)
    sides = [_squares(units[0], np.where(side, influence, 0.0)) for side in (inside, ~inside)]
    spread = sum(squares**2 / max(people - 1, 1) for squares, people in zip(sides, effective, strict=True))
    df = sum(sides) ** 2 / spread if spread > 0 else min(effective) - 1
    variance += _near_the_ends(rows.values, inside, weights, effective, sides)
    return HeldGap(estimate, math.sqrt(variance), df, min(effective))


def _near_the_ends(
    values: Array, inside: Array, weights: Array, effective: tuple[float, float], variances: Sequence[float]
) -> float:
    """What one more success and one more failure on each side add to the variance of a rate.

    Without it, a side on which everybody was found would have no error at all. A side counts as many rows as its
    variance stands for, and at least its people.
    """
    if not np.isin(values, (0.0, 1.0)).all():
        return 0.0
    added = 0.0
    for side, people, variance in zip((inside, ~inside), effective, variances, strict=True):
        rate = float(values[side] @ weights[side]) / max(float(weights[side].sum()), 1e-12)
        count = max(people, rate * (1 - rate) / variance if variance > 0 else 0.0)
        further = (count * rate + 1) / (count + 2)
        added += max(further * (1 - further) - rate * (1 - rate), 0.0) / count
    return added


def _squares(codes: Array, values: Array) -> float:
    return float((np.bincount(codes, values) ** 2).sum()) if len(codes) else 0.0


def effective_people(people: Array, weights: Array) -> float:
    """The number of equally weighted people that would be as informative.

    >>> effective_people(np.array([0, 0, 1]), np.array([1.0, 1.0, 2.0]))
    2.0
    """
    summed = np.bincount(people, weights) if len(people) else np.zeros(1)
    squares = float((summed**2).sum())
    return float(summed.sum()) ** 2 / squares if squares > 0 else 0.0
