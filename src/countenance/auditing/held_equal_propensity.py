"""Propensity weights, where strata are too thin: a logistic model of the group, and overlap weights made from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing.held_equal_covariates import Covariate
from countenance.auditing.held_equal_fit import ComparableRows, HeldGap, effective_people, measured_gap
from countenance.auditing.table import Array

RIDGE = 0.1
STEPS = 50
CLOSE = 1e-8


@dataclass(frozen=True)
class PropensityFit:
    """A group's gap with overlap weights: residuals of an additive fit, and each row's probability of the group."""

    rows: ComparableRows
    group: int
    residuals: Array
    probability: Array

    @property
    def indicator(self) -> Array:
        """Whether a row is in the group, less the probability of that."""
        return np.asarray((self.rows.groups == self.group) - self.probability)

    def measured(self) -> HeldGap:
        """The gap with its error."""
        inside, people = self.rows.groups == self.group, self.rows.people
        weights = np.where(inside, 1 - self.probability, self.probability)
        totals = [float(weights[side].sum()) for side in (inside, ~inside)]
        effective = (_comparable(people[inside], weights[inside]), _comparable(people[~inside], weights[~inside]))
        if min(totals) <= 0 or min(effective) <= 0:
            return HeldGap(math.nan, math.nan, math.nan, 0.0)
        means = [
            float((weights * self.residuals)[side].sum()) / total
            for side, total in zip((inside, ~inside), totals, strict=True)
        ]
        influence = np.where(
            inside,
            weights * (self.residuals - means[0]) / totals[0],
            -weights * (self.residuals - means[1]) / totals[1],
        )
        return measured_gap(means[0] - means[1], influence, self.rows, self.group, weights, effective)


def _comparable(people: Array, weights: Array) -> float:
    """Effective people of one side; weights near 0 mean that nobody of the other side is like them."""
    if not len(people):
        return 0.0
    rows = np.bincount(people)
    alike = 2 * float((np.bincount(people, weights) / np.maximum(rows, 1)).sum())
    return min(effective_people(people, weights), alike)


def design_of(covariates: Sequence[Covariate], rows: ComparableRows) -> Array:
    """A column of ones, one for each further level of a category, and the numbers with their squares."""
    columns = [np.ones(len(rows.values))]
    levels = rows.strata.levels[rows.strata.codes]
    for place in range(len(covariates)):
        if place in rows.numeric:
            number = rows.numbers[:, rows.numeric.index(place)]
            columns += [number, number**2]
        else:
            columns += [(levels[:, place] == level).astype(float) for level in np.unique(levels[:, place])[1:]]
    return np.column_stack(columns)


def fitted_propensity(rows: ComparableRows, group: int, design: Array) -> PropensityFit:
    """Fit the group's probability and the null model of the values on the conditions."""
    penalty = np.full(design.shape[1], RIDGE)
    penalty[0] = 0.0
    product = design.T @ design + np.diag(penalty + CLOSE)
    residuals = rows.values - design @ np.linalg.solve(product, design.T @ rows.values)
    return PropensityFit(rows, group, residuals, logistic((rows.groups == group).astype(float), design, penalty))


def logistic(inside: Array, design: Array, penalty: Array) -> Array:
    """Probabilities of a logistic regression with a ridge, by iteratively reweighted least squares.

    >>> x = np.column_stack([np.ones(4), [-1.0, -1.0, 1.0, 1.0]])
    >>> logistic(np.array([0.0, 1.0, 0.0, 1.0]), x, np.zeros(2)).round(3).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    share = min(max(float(inside.mean()), CLOSE), 1 - CLOSE)
    coefficients = np.zeros(design.shape[1])
    coefficients[0] = math.log(share / (1 - share))
    for _ in range(STEPS):
        probability = _sigmoid(design @ coefficients)
        weights = np.maximum(probability * (1 - probability), CLOSE)
        gradient = design.T @ (inside - probability) - penalty * coefficients
        step = np.linalg.solve((design * weights[:, None]).T @ design + np.diag(penalty + CLOSE), gradient)
        coefficients = coefficients + np.clip(step, -4, 4)
        if float(np.abs(step).max()) < CLOSE:
            break
    return _sigmoid(design @ coefficients)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -35, 35))))
