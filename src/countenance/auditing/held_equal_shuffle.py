"""Tests gaps with conditions held equal: people's labels are shuffled among people with similar pictures.

Residuals come from the pooled fit, in which groups do not matter. A group's statistic is the sum of its people's
residuals over the root of the sum of squares of everybody's contributions. Labels are shuffled within six bins of
people whose conditions make them about equally likely members of each group. Where a label changes within a person (a
mask, say), contributions of people get random signs instead. With many people the limit is used, a normal distribution
with the correlations that the contributions have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing._dist import both
from countenance.auditing.codes import firsts_of, size_of
from countenance.auditing.held_equal_fit import Fit
from countenance.auditing.held_equal_propensity import PropensityFit
from countenance.auditing.table import Array

BINS = 6
DRAWS, MOST_DRAWS = 1999, 9999
AT_ONCE = 32
MOST_WORK = 1_500_000_000
"""Products of rows, groups and draws up to which labels are shuffled."""
MIXED = 0.05
"""Up to this share of people may have two labels; each label's rows are then shuffled separately."""


@dataclass(frozen=True)
class TestedColumn:
    """A column of the family: a metric's fit and one of its groups, by strata or by propensity."""

    metric: int
    group: int
    propensity: PropensityFit | None = None
    df: float = np.inf


@dataclass(frozen=True)
class Family:
    """All comparisons of one attribute."""

    fits: Sequence[Fit]
    tested: Sequence[TestedColumn]
    seed: int
    alpha: float

    def adjusted(self) -> tuple[Array, Array, str]:
        """p of each comparison, the same adjusted for all of them (step-down min-p), and how it was tested."""
        if not self.tested:
            return np.empty(0), np.empty(0), ""
        draws = int(np.clip(np.ceil(2 * len(self.tested) / self.alpha), DRAWS, MOST_DRAWS))
        units = _label_units(self.fits)
        work = sum(len(fit.rows.values) for fit in self.fits) * self.fits[0].rows.count * draws
        rng = np.random.default_rng([self.seed, 37])
        if work > MOST_WORK:
            return *self._limit(rng), "normal limit"
        if units is None:
            return *self._signs(rng, draws), "signs of people's contributions shuffled"
        observed, null = _Shuffled(self.fits, self.tested, units, rng).draw(draws)
        return *step_down(observed, null), "labels shuffled among people with alike conditions"

    def contributions(self) -> Array:
        """The contribution of each person to each statistic."""
        size = max(size_of(fit.rows.people) for fit in self.fits)
        contributions = np.zeros((size, len(self.tested)))
        for column, tested in enumerate(self.tested):
            fit = self.fits[tested.metric]
            own = (
                fit.indicator(tested.group) * fit.residuals
                if tested.propensity is None
                else tested.propensity.indicator * tested.propensity.residuals
            )
            contributions[:, column] = np.bincount(fit.rows.people, own, size)
        return contributions

    def _signs(self, rng: Any, draws: int) -> tuple[Array, Array]:
        f = self.contributions()
        f = f[(f != 0).any(1)]
        scale = np.sqrt((f**2).sum(0))
        scale = np.where(scale > 1e-12, scale, np.inf)
        null = np.concatenate(
            [np.abs(rng.choice([-1.0, 1.0], (AT_ONCE, len(f))) @ f) / scale for _ in range(-(-draws // AT_ONCE))]
        )[:draws]
        return step_down(np.abs(f.sum(0)) / scale, null)

    def _limit(self, rng: Any) -> tuple[Array, Array]:
        f = self.contributions()
        scale = np.sqrt((f**2).sum(0))
        scale = np.where(scale > 1e-12, scale, np.inf)
        statistic = np.abs(f.sum(0)) / scale
        correlation = (f.T @ f) / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(values.clip(0))
        null = np.asarray(both(rng.standard_normal((MOST_DRAWS, len(values))) @ root.T))
        p = np.array([float(both(t, tested.df)) for t, tested in zip(statistic, self.tested, strict=True)])
        return p, _stepped(p, null)


def _label_units(fits: Sequence[Fit]) -> tuple[Array, ...] | None:
    """For each metric's rows the units whose labels are shuffled together; None if labels change within units."""
    for way in range(len(fits[0].rows.units)):
        apart = [_apart(fit.rows.units[way], fit.rows.groups) for fit in fits]
        if max(apart) == 0:
            return tuple(fit.rows.units[way] for fit in fits)
    people = [fit.rows.people for fit in fits]
    if max(_apart(codes, fit.rows.groups) for codes, fit in zip(people, fits, strict=True)) > MIXED:
        return None
    size = max(fit.rows.count for fit in fits)
    joined = np.unique(
        np.concatenate([codes * size + fit.rows.groups for codes, fit in zip(people, fits, strict=True)]),
        return_inverse=True,
    )[1]
    ends = np.cumsum([len(codes) for codes in people])[:-1]
    return tuple(np.split(joined, ends))


def _apart(codes: Array, groups: Array) -> float:
    """The share of units that have more than one label."""
    if not len(codes):
        return 0.0
    distinct = np.unique(codes, return_inverse=True)[1]
    first = groups[firsts_of(distinct)]
    mixed = np.unique(distinct[groups != first[distinct]])
    return len(mixed) / size_of(distinct)


class _Shuffled:
    """Statistics of observed and of shuffled labels, all metrics together."""

    def __init__(self, fits: Sequence[Fit], tested: Sequence[TestedColumn], units: Sequence[Array], rng: Any) -> None:
        self.tested, self.rng, self.groups = tested, rng, fits[0].rows.count
        present = np.unique(np.concatenate(list(units)))
        self.units = [np.searchsorted(present, codes) for codes in units]
        self.size = len(present)
        self.labels = np.zeros(self.size, dtype=np.int64)
        for fit, codes in zip(fits, self.units, strict=True):
            self.labels[codes] = fit.rows.groups
        self.sides = [_UnitSums(fit, codes, self.size) for fit, codes in zip(fits, self.units, strict=True)]
        self.bins = self._alike(fits)
        shares = np.zeros((len(self.bins), self.groups))
        self.expected = np.zeros((self.size, self.groups))
        for i, places in enumerate(self.bins):
            shares[i] = np.bincount(self.labels[places], minlength=self.groups) / max(len(places), 1)
            self.expected[places] = shares[i]
        self.own = {
            column: np.bincount(self.units[tested_column.metric], tested_column.propensity.residuals, self.size)
            for column, tested_column in enumerate(tested)
            if tested_column.propensity is not None
        }

    def _alike(self, fits: Sequence[Fit]) -> list[Array]:
        """Six bins of people by how likely their conditions make each label: the first principal component."""
        chance, rows = np.zeros((self.size, self.groups)), np.zeros(self.size)
        for fit, codes in zip(fits, self.units, strict=True):
            for group in range(self.groups):
                own = fit.share[fit.rows.strata.codes, group] + fit.along(fit.group_slopes[:, group])
                chance[:, group] += np.bincount(codes, own, self.size)
            rows += np.bincount(codes, minlength=self.size)
        chance /= np.maximum(rows, 1)[:, None]
        centred = chance - chance.mean(0)
        first = np.linalg.svd(centred.T @ centred)[0][:, 0]
        score = centred @ first
        order = np.lexsort((self.rng.random(self.size), score))
        return [places for places in np.array_split(order, BINS) if len(places)]

    def draw(self, draws: int) -> tuple[Array, Array]:
        """The observed statistics, and those of this many shuffles."""
        observed = self._statistics(self.labels[:, None], shuffled=False)[0]
        null = []
        for start in range(0, draws, AT_ONCE):
            many = min(AT_ONCE, draws - start)
            labels = np.empty((self.size, many), dtype=np.int64)
            for places in self.bins:
                labels[places] = self.rng.permuted(np.tile(self.labels[places, None], (1, many)), axis=0)
            null.append(self._statistics(labels, shuffled=True))
        return observed, np.concatenate(null)

    def _statistics(self, labels: Array, *, shuffled: bool) -> Array:
        """|t| for each draw and comparison."""
        many = labels.shape[1]
        member = (labels[:, :, None] == np.arange(self.groups)).astype(float)
        statistics = np.zeros((many, len(self.tested)))
        by_metric: dict[int, Array] = {}
        for column, tested in enumerate(self.tested):
            if tested.propensity is not None:
                chance = self.expected[:, tested.group]
                f = (member[:, :, tested.group] - chance[:, None]) * self.own[column][:, None]
                if not shuffled:
                    own = tested.propensity.indicator * tested.propensity.residuals
                    f = np.bincount(self.units[tested.metric], own, self.size)[:, None]
                statistics[:, column] = _studentised(f)
                continue
            if tested.metric not in by_metric:
                by_metric[tested.metric] = self.sides[tested.metric].statistics(member)
            statistics[:, column] = by_metric[tested.metric][:, tested.group]
        return statistics


class _UnitSums:
    """Sums of one metric by unit and stratum, and by unit and slope."""

    def __init__(self, fit: Fit, units: Array, size: int) -> None:
        from scipy import sparse

        strata, slopes = fit.rows.strata.count, fit.rows.slopes.count
        codes = fit.rows.strata.codes
        self.strata, self.inverse = fit.n.sum(1), fit.inverse
        self.rows = sparse.csr_matrix((np.ones(len(units)), (codes, units)), (strata, size))
        columns, values = [codes], [fit.residuals]
        for number, terms in enumerate(fit.terms):
            columns.append(strata + terms)
            values.append(fit.residuals * fit.numbers[:, number])
        place = np.tile(units, len(columns))
        self.residuals = sparse.csr_matrix(
            (np.concatenate(values), (place, np.concatenate(columns))), (size, strata + slopes)
        )
        self.total = np.bincount(units, fit.residuals, size)
        self.numbers = None
        if slopes:
            moved = [fit.numbers[:, number] for number in range(len(fit.terms))]
            self.numbers = sparse.csr_matrix(
                (np.concatenate(moved), (np.concatenate(list(fit.terms)), np.tile(units, len(fit.terms)))),
                (slopes, size),
            )

    def statistics(self, member: Array) -> Array:
        """|t| by draw and group, of labels given as unit × draw × group."""
        size, many, groups = member.shape
        flat = member.reshape(size, many * groups)
        expected = np.asarray(self.rows @ flat) / np.maximum(self.strata, 1)[:, None]
        if self.numbers is not None:
            expected = np.concatenate([expected, self.inverse @ np.asarray(self.numbers @ flat)])
        f = flat * self.total[:, None] - np.asarray(self.residuals @ expected)
        return _studentised(f).reshape(many, groups)


def _studentised(f: Array) -> Array:
    scale = np.sqrt((f**2).sum(0))
    return np.asarray(np.abs(f.sum(0)) / np.where(scale > 1e-12, scale, np.inf))


def step_down(observed: Array, null: Array) -> tuple[Array, Array]:
    """p of each statistic, and adjusted for all (Westfall and Young's step-down min-p).

    >>> step_down(np.array([3.0, 0.1]), np.array([[1.0, 1.0], [0.5, 2.0], [0.2, 0.3]]))
    (array([0.25, 1.  ]), array([0.5, 1. ]))
    """
    pooled = np.concatenate([observed[None], null])
    ranks = np.empty_like(pooled)
    for column in range(pooled.shape[1]):
        ordered = np.sort(pooled[:, column])
        ranks[:, column] = (len(pooled) - np.searchsorted(ordered, pooled[:, column] - 1e-12, side="left")) / len(
            pooled
        )
    p, ranks = ranks[0], ranks[1:]
    return p, _stepped(p, ranks)


def _stepped(p: Array, null: Array) -> Array:
    """Adjusted p, from p and draws of them under the null."""
    order = np.argsort(p, kind="stable")
    least = np.minimum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    own = (1 + (least <= p[order] + 1e-12).sum(0)) / (len(null) + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(own)
    return np.minimum(np.maximum(adjusted, p), 1.0)
