"""95 % intervals of accuracy, disparity and Score₁, over persons where pictures share one."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from countenance.audit._dist import quantile
from countenance.audit.estimates import interval
from countenance.audit.ranking import effective_df, numerical_bootstrap
from countenance.audit.sums import clustered
from countenance.metrics import bounty
from countenance.suites.bias_bounty.files import ATTRIBUTES, Draws, Ints

Interval = tuple[float, float]
ALPHA = 0.05
SPREADS = slice(3, 7)
"""Where `scores_from_sums` has the three disparities and Score₁."""


def degrees_of_freedom(sums: NDArray[np.float64]) -> float:
    """Those of the clusters' labels: `sums` are `class_sums`, a row for each cluster."""
    counts, start = np.zeros(len(sums)), 0
    for classes in bounty.CLASS_COUNTS.values():
        counts += sums[:, start : start + classes].sum(axis=1)
        start += 2 * classes
    return effective_df(counts)


def score_intervals(sums: NDArray[np.float64], draws: Draws) -> list[Interval]:
    """The intervals of the three disparities and of Score₁, from the classes' sums of each cluster."""
    if not len(sums):
        return [(math.nan, math.nan)] * 4
    values, drawn = numerical_bootstrap(
        sums, lambda summed: bounty.scores_from_sums(summed)[:, SPREADS], draws=draws.replicates, seed=draws.seed
    )
    df = degrees_of_freedom(sums)
    found = []
    for value, column, most in zip(values, drawn.T, (1.0, 1.0, 1.0, bounty.MAXIMUM), strict=True):
        half = quantile(1 - ALPHA / 2, df) * float(column.std(ddof=1)) if df > 0 else math.nan
        found.append((max(0.0, value - half), min(most, value + half)) if half == half else (math.nan, math.nan))
    return [(float(low), float(high)) for low, high in found]


def accuracy_intervals(
    truth: Mapping[str, Ints], predicted: Mapping[str, Ints], people: Sequence[str] | None
) -> tuple[dict[str, Interval], dict[str, float]]:
    """The interval of each accuracy, and how many times its variance exceeds that of independent rows."""
    rows = len(truth[ATTRIBUTES[0]])
    cluster = np.arange(rows) if people is None else np.unique(np.asarray(people), return_inverse=True)[1]
    bounds, effects = {}, {}
    for name in ATTRIBUTES:
        known = truth[name] >= 0
        right = (truth[name] == predicted[name])[known].astype(np.float64)
        low, high, effect = interval(clustered(right, cluster[known]), "rate", ALPHA)
        bounds[name] = (float(low), float(high))
        effects[name] = float(effect) if effect == effect else 1.0
    return bounds, effects
