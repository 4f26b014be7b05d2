"""Equity measures as functions of the groups' rates, and the interval of a measure.

A measure such as the ratio of the largest to the smallest error rate is above 1 under perfect fairness by noise alone,
and its plug-in estimate is biased upwards. So the interval comes from the true spreads of the groups that would show a
measure like this one: the groups' rates are moved towards their common rate, or away from it, by a factor, on the scale
of log odds, and the noise of a cluster bootstrap is added. The interval holds the spreads under which the observed
measure is not in the outer α of the simulated measures.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics import equity
from countenance.metrics.intervals import LEVEL, student

Array = NDArray[np.float64]
WEIGHT = 0.5
"""The weight of FMR in measures that combine FMR and FNMR."""


@dataclass(frozen=True)
class Measure:
    """A measure as a function of rates, groups on the last axis, with a scale on which more is less fair."""

    name: str
    meaning: str
    of: Callable[[Array], Array]
    unfair: Callable[[Array], Array]
    back: Callable[[float], float]
    checked: Callable[[Array], Any]
    """The public function, which refuses what is undefined."""


def _same(value: Any) -> Any:
    return value


def _error(of: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda rates: of(1 - rates)


def halves(joined: Array) -> tuple[Array, Array]:
    half = joined.shape[-1] // 2
    return joined[..., :half], joined[..., half:]


def _garbe(joined: Array) -> Array:
    fmr, fnmr = halves(joined)
    return np.asarray(WEIGHT * equity.ginis(fmr) + (1 - WEIGHT) * equity.ginis(fnmr))


def _discrepancy(joined: Array) -> Array:
    fmr, fnmr = halves(joined)
    return np.asarray(1 - (WEIGHT * equity.spans(fmr) + (1 - WEIGHT) * equity.spans(fnmr)))


def _inequity(joined: Array) -> Array:
    fmr, fnmr = halves(joined)
    return np.asarray(equity.ratios(fmr) ** WEIGHT * equity.ratios(fnmr) ** (1 - WEIGHT))


def _least_impact(rates: Array) -> Array:
    return np.asarray(rates.min(axis=-1) / rates.max(axis=-1))


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):  # a rate of 0 is infinitely far from the others
        return np.asarray(np.log(values))


SINGLE = (
    Measure(
        "accuracy_std",
        "standard deviation of the groups' rates; 0 is even",
        lambda r: r.std(axis=-1),
        _same,
        _same,
        equity.accuracy_std,
    ),
    Measure(
        "skewed_error_ratio",
        "largest over smallest error rate; 1 is even",
        _error(equity.ratios),
        _log,
        math.exp,
        equity.skewed_error_ratio,
    ),
    Measure(
        "max_geomean_ratio",
        "largest error rate over the geometric mean of all; 1 is even",
        _error(equity.geomean_ratios),
        _log,
        math.exp,
        lambda r: equity.max_geomean_ratio(1 - r),
    ),
    Measure(
        "impact_ratio",
        "smallest rate over the highest; below 0.8 is the four-fifths line",
        _least_impact,
        lambda v: -_log(v),
        lambda u: math.exp(-u),
        equity.impact_ratio,
    ),
)
"""Measures of the rate at which a group is served well."""
ERRORS = (
    Measure(
        "max_min_ratio", "largest over smallest rate; 1 is even", equity.ratios, _log, math.exp, equity.max_min_ratio
    ),
    Measure(
        "max_geomean_ratio",
        "largest rate over the geometric mean of all; 1 is even",
        equity.geomean_ratios,
        _log,
        math.exp,
        equity.max_geomean_ratio,
    ),
)
"""Measures of FMR and of FNMR."""
BOTH = (
    Measure(
        "fairness_discrepancy_rate",
        "1 less the mean of the largest differences of FMR and of FNMR; 1 is even",
        _discrepancy,
        lambda v: 1 - v,
        lambda u: 1 - u,
        lambda j: equity.fairness_discrepancy_rate(*halves(j), WEIGHT),
    ),
    Measure(
        "inequity_rate",
        "geometric mean of the largest ratios of FMR and of FNMR; 1 is even",
        _inequity,
        _log,
        math.exp,
        lambda j: equity.inequity_rate(*halves(j), WEIGHT),
    ),
    Measure(
        "garbe",
        "mean of the Gini coefficients of FMR and of FNMR; 0 is even",
        _garbe,
        _same,
        _same,
        lambda j: equity.garbe(*halves(j), WEIGHT),
    ),
)


def trials(units: Array, rates: Array, drawn: Array, most: Array | float = np.inf) -> Array:
    """The effective number of trials of each rate: its units, or more if the rate varies less between bootstrap draws.

    A unit's value may itself be a share of many comparisons. If it counted as a single trial, a rate of one in a
    hundred would look like one in thirty, and differences between such rates would not be seen. `most` limits the
    number, where units are people with several rows, to that of a rate with one further unit at the far end.

    >>> trials(np.array([20.0]), np.array([0.01]), np.array([[0.009], [0.011]]))
    array([9900.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = rates * (1 - rates) / drawn.var(axis=0)
    return np.minimum(np.where(np.isfinite(worth), np.maximum(units, worth), units), most)


def log_odds(rates: Array, units: Array) -> Array:
    """Log odds of rates of this many trials, finite for rates of 0 and 1 too."""
    smooth = (rates * units + 0.5) / (units + 1)
    return np.asarray(np.log(smooth / (1 - smooth)))


def noise_of(rates: Array, drawn: Array, units: Array, most: Array | float = np.inf) -> tuple[Array, Array]:
    """How the log odds of rates move between bootstrap draws, and the effective number of trials of each rate.

    A bootstrap of m units varies too little by (m - 1) / m, and its spread is itself an estimate from m units: the
    noise is widened for both, for the second by Student's t. A rate of few errors, or of none, varies more than its
    draws do, and gets at least the noise of as many independent trials.
    """
    drawn = np.where(np.isfinite(drawn), drawn, rates)  # a group of which no unit was drawn stays as it is
    worth = trials(units, rates, drawn, most)
    few = np.maximum(units, 3.0)
    wider = np.sqrt(few / (few - 1)) * student(few - 1, LEVEL) / student(np.inf, LEVEL)
    noise = (log_odds(drawn, worth) - log_odds(rates, worth)) * wider
    smooth = (rates * worth + 0.5) / (worth + 1)
    lacking = np.maximum(1 / ((worth + 1) * smooth * (1 - smooth)) - noise.var(axis=0), 0.0)
    return noise + np.sqrt(lacking) * np.random.default_rng(0).standard_normal(noise.shape), worth


class MeasuredEquity(NamedTuple):
    """A measure's value and interval, what fair systems of this size show, and how often they show as much."""

    value: float
    low: float
    high: float
    fair: float
    """The mean over fair systems."""
    fair_limit: float
    """The limit that 19 of 20 fair systems do not exceed."""
    p: float


@dataclass(frozen=True)
class GroupRates:
    """Rates of groups (one part, or FMR and then FNMR), in bootstrap draws, and in draws of a fair system."""

    rates: Array
    drawn: Array
    """Draws × rates."""
    fair: Array
    units: Array
    """How many people, or other units, each rate rests on."""
    parts: int = 1
    narrower: Array | float = 1.0
    """The ratio of each rate's spread to the spread of its draws."""
    most: Array | float = np.inf
    """The largest effective number of trials of each rate."""

    def measured(self, measure: Measure, alpha: float) -> MeasuredEquity:
        """The value and interval of one measure, which must be defined for these rates."""
        observed = float(measure.unfair(measure.of(self.rates)))
        noise, worth = noise_of(self.rates, self.drawn, self.units, self.most)
        low, high = held(measure, self.rates, worth, noise * self.narrower, observed, alpha, self.parts)
        with np.errstate(all="ignore"):
            shown = measure.of(self.fair)
            null = measure.unfair(shown)
        finite = np.isfinite(null)
        shown, null = shown[finite], null[finite]
        lower, upper = sorted((measure.back(low), measure.back(high)))
        if not len(null):
            return MeasuredEquity(measure.back(observed), lower, upper, math.nan, math.nan, math.nan)
        limit = measure.back(float(np.quantile(null, 0.95)))
        as_much = (1 + float((null >= observed - 1e-12).sum())) / (1 + len(null))
        return MeasuredEquity(measure.back(observed), lower, upper, float(shown.mean()), limit, as_much)


def widened_measure(
    measure: Measure, measured: MeasuredEquity, rates: Array, limits: tuple[Array, Array]
) -> MeasuredEquity:
    """A measure whose interval also covers moving each group alone to the limits of its rate.

    Groups with equal rates have no spread to scale, yet each true rate may differ.

    >>> even = MeasuredEquity(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    >>> wide = widened_measure(SINGLE[-1], even, np.array([1.0, 1.0]), (np.array([0.9, 0.96]), np.array([1.0, 1.0])))
    >>> round(wide.low, 3), wide.high
    (0.893, 1.0)
    """
    with np.errstate(all="ignore"):
        observed = float(measure.unfair(measure.of(rates)))
        moved = [np.where(np.eye(len(rates), dtype=bool), limit, rates) for limit in limits]
        away = np.stack([measure.unfair(measure.of(shifted)) - observed for shifted in moved])
    away = np.where(np.isfinite(away), away, 0.0)
    more, less = (float(np.sqrt((part**2).sum())) for part in (np.maximum(away, 0).max(0), np.minimum(away, 0).min(0)))
    ends = measure.back(max(observed - less, 0.0)), measure.back(observed + more)
    return measured._replace(low=min(measured.low, *ends), high=max(measured.high, *ends))


def held(
    measure: Measure, rates: Array, units: Array, noise: Array, observed: float, alpha: float, parts: int
) -> tuple[float, float]:
    """The smallest and largest true measure that fit the observed one, on the scale where more is less fair."""
    odds = log_odds(rates, units)
    weights = 1 / np.maximum(noise.var(axis=0), 1e-9)
    pooled = np.concatenate(
        [
            np.full(len(part), (part * weight).sum() / weight.sum())
            for part, weight in zip(np.split(odds, parts), np.split(weights, parts), strict=True)
        ]
    )
    away = odds - pooled

    def unfair(log_odds: Array) -> Array:
        return measure.unfair(measure.of(_rate(log_odds)))

    def seen(factor: float) -> Array:
        moved = pooled + factor * away
        # Log odds vary by 1 / (n p (1 - p)): a rate with few errors varies less after it is shrunk towards the others.
        scale = np.sqrt(_variance(odds) / _variance(moved)) if factor < 1 else 1.0
        return unfair(moved + noise * scale)

    def search(fits: Callable[[float], bool], inside: float, outside: float) -> float:
        for _ in range(14):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if fits(middle) else (inside, middle)
        return inside

    def not_too_small(factor: float) -> bool:
        return bool(np.mean(seen(factor) >= observed - 1e-12) >= alpha / 2)

    def not_too_large(factor: float) -> bool:
        return bool(np.mean(seen(factor) <= observed + 1e-12) >= alpha / 2)

    least = 0.0 if not_too_small(0.0) else search(not_too_small, 1.0, 0.0)
    outside = 1.0
    while not_too_large(outside) and outside < 64:
        outside *= 2
    most = search(not_too_large, least, outside) if not_too_large(least) else least
    low, high = (float(unfair(pooled + factor * away)) for factor in (least, most))
    return min(low, observed), max(high, observed)


def _rate(log_odds: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def _variance(log_odds: Array) -> Array:
    rate = _rate(log_odds)
    return np.asarray(rate * (1 - rate))
