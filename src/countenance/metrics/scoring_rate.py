"""The scoring rate of New York City's Local Law 144 (6 RCNY § 5-300): how many of a category score above the median.

The impact ratio is a category's scoring rate over that of the category with the highest one. Categories with less than
two per cent of the people may be left out of it, and people of unknown category are only counted.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countenance.metrics.equity import impact_ratio, small_categories
from countenance.metrics.intervals import IntervalEstimate, by_cluster, clustered_rate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ScoringRate:
    """A category's scoring rate with its interval, and its impact ratio."""

    category: str
    rate: IntervalEstimate
    impact_ratio: float
    """NaN for a category that is too small, or where nobody is above the median."""
    small: bool = False
    """Whether the group has less than two per cent of the people."""


@dataclass(frozen=True)
class ScoringRates:
    """The scoring rates of all categories."""

    median: float
    categories: list[ScoringRate]
    unknown: int
    """People whose category is not known."""


def above_median(scores: ArrayLike) -> Array:
    """1 for a score above the sample's median, 0 for one at it or below it, NaN for no score.

    >>> above_median([1.0, 2.0, 3.0, 4.0, np.nan])
    array([ 0.,  0.,  1.,  1., nan])
    """
    values = np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(values)
    if not known.any():
        return np.full(values.shape, np.nan)
    return np.where(known, (values > np.median(values[known])).astype(np.float64), np.nan)


def scoring_rates(
    scores: ArrayLike, categories: Sequence[Hashable | None], people: ArrayLike | None = None
) -> ScoringRates:
    """The scoring rate and the impact ratio of each category; None is an unknown category.

    `people` names the person of each score, where people have several: intervals count people, not scores.

    >>> rates = scoring_rates([1, 2, 3, 4, 5, 6], ["a", "a", "b", "b", "b", None])
    >>> [(row.category, row.rate.value, row.impact_ratio) for row in rates.categories], rates.unknown
    ([('a', 0.0, 0.0), ('b', 0.6666666666666666, 1.0)], 1)
    """
    above = above_median(scores)
    values = np.asarray(scores, dtype=np.float64)
    rated = ~np.isnan(above)
    who = np.arange(len(above)) if people is None else np.unique(np.asarray(people), return_inverse=True)[1].ravel()
    names = sorted({str(name) for name, known in zip(categories, rated, strict=True) if name is not None and known})
    own = np.array(["" if name is None else str(name) for name in categories], dtype=np.str_)
    unknown = np.array([name is None for name in categories], dtype=bool)
    rates, sizes = [], []
    for name in names:
        chosen = rated & (own == name) & ~unknown
        rates.append(clustered_rate(*by_cluster(above[chosen], who[chosen])))
        sizes.append(len(np.unique(who[chosen])))
    small = small_categories(sizes) if sizes else np.zeros(0, dtype=bool)
    ratios = np.full(len(names), np.nan)
    large = np.flatnonzero(~small)
    if large.size and any(rates[i].value > 0 for i in large):
        ratios[large] = impact_ratio([rates[i].value for i in large])
    listed = [ScoringRate(*row) for row in zip(names, rates, ratios.tolist(), small.tolist(), strict=True)]
    middle = float(np.median(values[rated])) if rated.any() else float("nan")
    return ScoringRates(middle, listed, int((rated & unknown).sum()))
