"""Equity measures: each states as one number how much the error rates of groups differ.

Every function is pure: rates over groups in, a number (or a rate for each group) out. A measure that a rate of zero
makes undefined is refused by name, because 0 and infinity would both claim what the data does not show. Every measure
is positive under perfect fairness by noise alone: `countenance.auditing` gives each with an interval and with what a
fair system of the same size would show.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

FOUR_FIFTHS = 0.8
"""The line of the four-fifths rule for impact ratios."""
SMALL_SHARE = 0.02
"""Categories with a smaller share of the people are reported apart."""


class Undefined(ValueError):
    """A measure does not exist for these rates; the message names the measure and the reason."""


def _rates(values: ArrayLike, measure: str, what: str = "rates", top: float = 1.0) -> Array:
    rates = np.asarray(values, dtype=np.float64)
    if rates.ndim != 1 or len(rates) < 2:
        raise Undefined(f"{measure}: {what} of shape {rates.shape}, expected one number for each of two or more groups")
    if not np.isfinite(rates).all():
        raise Undefined(f"{measure}: the {what} of a group are not a finite number; leave out groups without units")
    if (rates < 0).any() or (rates > top).any():
        raise Undefined(f"{measure}: {what} outside 0 to {top:g}")
    return rates


def _positive(rates: Array, measure: str, what: str) -> Array:
    if (rates == 0).any():
        raise Undefined(
            f"{measure}: {what} of 0 in {int((rates == 0).sum())} of {len(rates)} groups, so it is undefined"
        )
    return rates


def spans(rates: Array) -> Array:
    """Largest minus smallest rate, over the last axis.

    >>> spans(np.array([[0.25, 0.5], [0.5, 0.5]]))
    array([0.25, 0.  ])
    """
    return np.asarray(rates.max(axis=-1) - rates.min(axis=-1))


def ratios(rates: Array) -> Array:
    """Largest over smallest rate, over the last axis.

    >>> ratios(np.array([[0.25, 0.5], [0.5, 0.5]]))
    array([2., 1.])
    """
    return np.asarray(rates.max(axis=-1) / rates.min(axis=-1))


def geomean_ratios(rates: Array) -> Array:
    """Largest rate over the geometric mean, over the last axis.

    >>> geomean_ratios(np.array([[0.5, 0.5]]))
    array([1.])
    """
    return np.asarray(rates.max(axis=-1) / np.exp(np.log(rates).mean(axis=-1)))


def ginis(rates: Array) -> Array:
    """Gini coefficients with the correction for few groups, over the last axis.

    >>> ginis(np.array([[0.5, 0.5], [0.0, 0.5]]))
    array([0., 1.])
    """
    n = rates.shape[-1]
    ranked = np.sort(rates, axis=-1)
    weighed = (ranked * (2 * np.arange(1, n + 1) - n - 1)).sum(axis=-1)  # half of the sum of |x - y| over all pairs
    return np.asarray(n / (n - 1) * weighed / (n * n * rates.mean(axis=-1)))


def _weighed(alpha: float, measure: str) -> float:
    if not 0 <= alpha <= 1:
        raise Undefined(f"{measure}: alpha is {alpha}, expected 0 to 1")
    return float(alpha)


def fairness_discrepancy_rate(fmr: ArrayLike, fnmr: ArrayLike, alpha: float = 0.5) -> float:
    """1 − (α · largest difference of FMR + (1 − α) · largest difference of FNMR); 1 is perfectly fair.

    Pereira and Marcel, 2022.

    >>> round(fairness_discrepancy_rate([0.01, 0.03], [0.10, 0.20], 0.5), 12)
    0.94
    """
    name = "fairness_discrepancy_rate"
    a, b, weight = _rates(fmr, name, "FMR"), _rates(fnmr, name, "FNMR"), _weighed(alpha, name)
    return float(1 - (weight * spans(a) + (1 - weight) * spans(b)))


def inequity_rate(fmr: ArrayLike, fnmr: ArrayLike, alpha: float = 0.5) -> float:
    """(max FMR / min FMR)^α · (max FNMR / min FNMR)^(1 − α); 1 is perfectly fair.

    Grother, NIST, 2022. A part with weight 0 may have rates of 0.

    >>> round(inequity_rate([0.01, 0.04], [0.10, 0.10], 0.5), 12)
    2.0
    """
    name = "inequity_rate"
    weight, rate = _weighed(alpha, name), 1.0
    for values, what, share in ((fmr, "FMR", weight), (fnmr, "FNMR", 1 - weight)):
        rates = _rates(values, name, what)
        if share > 0:
            rate *= float(ratios(_positive(rates, name, what))) ** share
    return float(rate)


def gini(rates: ArrayLike) -> float:
    """Gini coefficient with the correction for few groups: n/(n−1) · Σᵢⱼ|xᵢ − xⱼ| / (2 n² x̄); 0 is perfectly even.

    >>> round(gini([0.01, 0.03]), 12), gini([0.5, 0.5, 0.5])
    (0.5, 0.0)
    """
    values = _rates(rates, "gini", top=np.inf)
    if not values.any():
        raise Undefined(f"gini: rates of 0 in all {len(values)} groups, so it is undefined")
    return float(ginis(values))


def garbe(fmr: ArrayLike, fnmr: ArrayLike, alpha: float = 0.5) -> float:
    """α · G(FMR) + (1 − α) · G(FNMR), G the Gini coefficient; 0 is perfectly fair.

    Howard, Laird and others, 2022. A part with weight 0 may have rates of 0.

    >>> round(garbe([0.01, 0.03], [0.1, 0.1], 0.5), 12)
    0.25
    """
    name, value = "garbe", 0.0
    weight = _weighed(alpha, name)
    for values, what, share in ((fmr, "FMR", weight), (fnmr, "FNMR", 1 - weight)):
        rates = _rates(values, name, what)
        if share > 0:
            if not rates.any():
                raise Undefined(f"{name}: {what} of 0 in all {len(rates)} groups, so it is undefined")
            value += share * gini(rates)
    return float(value)


def max_min_ratio(rates: ArrayLike) -> float:
    """The largest rate over the smallest; 1 is perfectly even.

    >>> max_min_ratio([0.01, 0.02, 0.05])
    5.0
    """
    values = _positive(_rates(rates, "max_min_ratio", top=np.inf), "max_min_ratio", "a rate")
    return float(ratios(values))


def max_geomean_ratio(rates: ArrayLike) -> float:
    """The largest rate over the geometric mean of all; 1 is perfectly even.

    >>> round(max_geomean_ratio([0.01, 0.04]), 12)
    2.0
    """
    values = _positive(_rates(rates, "max_geomean_ratio", top=np.inf), "max_geomean_ratio", "a rate")
    return float(geomean_ratios(values))


def skewed_error_ratio(accuracy: ArrayLike) -> float:
    """(1 − smallest accuracy) / (1 − largest accuracy); 1 is perfectly even.

    Wang and Deng, 2020.

    >>> round(skewed_error_ratio([0.90, 0.95]), 12)
    2.0
    """
    values = _rates(accuracy, "skewed_error_ratio", "accuracy")
    if values.max() == 1:
        raise Undefined("skewed_error_ratio: a group with accuracy 1, so it is undefined")
    return float(ratios(1 - values))


def accuracy_std(accuracy: ArrayLike) -> float:
    """The population standard deviation of the groups' accuracies; 0 is perfectly even.

    >>> round(accuracy_std([0.9, 1.0]), 12)
    0.05
    """
    return float(np.std(_rates(accuracy, "accuracy_std", "accuracy"), ddof=0))


def impact_ratio(rates: ArrayLike) -> Array:
    """Each group's rate divided by the highest rate; the usual limit is four fifths.

    >>> impact_ratio([0.5, 0.4, 0.25])
    array([1. , 0.8, 0.5])
    """
    values = _rates(rates, "impact_ratio")
    if values.max() == 0:
        raise Undefined(f"impact_ratio: rates of 0 in all {len(values)} groups, so it is undefined")
    return np.asarray(values / values.max())


def small_categories(sizes: ArrayLike, share: float = SMALL_SHARE) -> NDArray[np.bool_]:
    """Which groups have less than two per cent of the people; impact ratios report them apart.

    >>> small_categories([980, 15, 5])
    array([False,  True,  True])
    """
    counts = np.asarray(sizes, dtype=np.float64)
    return np.asarray(counts < share * counts.sum())
