"""FHIBE's table of disparities: every pair of groups with its worse and its better group, and their difference.

As published: Mann and Whitney's test of the two groups' scores, disparity = 1 − worse / better. Against the published
table, p is adjusted for all pairs of the table (Bonferroni), the effect does not grow with the number of rows (Cliff's
delta), the worse group of a metric where lower is better is the one with the higher scores, and means are compared
where medians are equal. Each row counts once, also rows of one person; the audit's verdicts do not depend on this
table.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.fhibe.words import UNKNOWN
from countenance.report import numbers
from countenance.report.names import Names, attribute_label
from countenance.report.source import ReportSource

FEWEST = 20
"""Groups with fewer scores are in no pair, as published."""
Array = NDArray[np.float64]


@dataclass(frozen=True)
class GroupPair:
    """Two groups of an attribute by one metric."""

    metric: str
    attribute: str
    worse: str
    better: str
    measure: str
    """median, or mean where the medians are equal."""
    values: tuple[float, float]
    n: tuple[int, int]
    disparity: float
    p: float
    """Adjusted for all pairs of the table."""
    effect: float
    """Cliff's delta: how much more often a score of the better group is higher than lower, from 0 to 1."""

    def words(self, names: Names) -> dict[str, str]:
        """The pair as a page shows it."""
        worse, better = (
            f"{names.group(self.attribute, group)}, {numbers.value(value, 'mean')} (n {numbers.count(n)})"
            for group, value, n in zip((self.worse, self.better), self.values, self.n, strict=True)
        )
        return {
            "metric": self.metric,
            "attribute": attribute_label(self.attribute),
            "worse": worse,
            "better": better,
            "measure": self.measure,
            "disparity": f"{self.disparity:.3f}",
            "p": numbers.probability(self.p),
            "effect": f"{self.effect:.2f}",
        }


def published_pairs(source: ReportSource) -> list[GroupPair]:
    """All pairs of groups of each attribute by each audited metric, the largest disparity first."""
    pairs = [
        pair
        for metric in source.metrics
        if f"m.{metric.name}" in source.scores.column_names
        for attribute in source.names.by
        if f"attr.{attribute}" in source.scores.column_names
        for pair in pairs_of(
            metric.published or metric.name,
            attribute,
            groups_of(source.scores, metric.name, attribute),
            lower_is_better=metric.better == "lower",
        )
    ]
    adjusted = [replaced_p(pair, min(1.0, pair.p * len(pairs))) for pair in pairs]
    return sorted(adjusted, key=lambda pair: (-pair.disparity, pair.p))


def replaced_p(pair: GroupPair, p: float) -> GroupPair:
    """The pair with a new p."""
    return GroupPair(**{**vars(pair), "p": p})


def groups_of(scores: Any, metric: str, attribute: str) -> dict[str, Array]:
    """The scores of each group of an attribute; a row with several values is in the group of each."""
    values = scores[f"m.{metric}"].to_pylist()
    scores_by_group: dict[str, list[float]] = {}
    for value, cell in zip(values, scores[f"attr.{attribute}"].to_pylist(), strict=True):
        for group in (cell if isinstance(cell, list) else [cell]) if value is not None else ():
            if group is not None and group != UNKNOWN:
                scores_by_group.setdefault(str(group), []).append(value)
    return {group: np.array(scores) for group, scores in scores_by_group.items() if len(scores) >= FEWEST}


def pairs_of(
    metric: str, attribute: str, groups: dict[str, Array], *, lower_is_better: bool = False
) -> Sequence[GroupPair]:
    """Every pair of groups, with p not yet adjusted.

    >>> low, high = np.linspace(0.2, 0.4, 20), np.linspace(0.5, 0.7, 20)
    >>> (pair,) = pairs_of("AR_IOU", "pronoun", {"a": high, "b": low})
    >>> pair.worse, round(pair.disparity, 3), pair.effect
    ('b', 0.5, 1.0)
    """
    from scipy.stats import mannwhitneyu

    pairs = []
    for first, second in itertools.combinations(groups, 2):
        a, b = groups[first], groups[second]
        measure = "median" if np.median(a) != np.median(b) else "mean"
        centre = {name: float(getattr(np, measure)(groups[name])) for name in (first, second)}
        low, high = sorted((first, second), key=centre.__getitem__)
        worse, better = (high, low) if lower_is_better else (low, high)
        if np.array_equal(np.unique(np.concatenate([a, b])).shape, (1,)):
            u, p = len(a) * len(b) / 2, 1.0
        else:
            u, p = (float(value) for value in mannwhitneyu(a, b, alternative="two-sided"))
        ratio = centre[low] / centre[high] if centre[high] > 0 else 1.0
        pairs.append(
            GroupPair(
                metric,
                attribute,
                worse,
                better,
                measure,
                (centre[worse], centre[better]),
                (len(groups[worse]), len(groups[better])),
                1.0 - ratio,
                p,
                abs(2 * u / (len(a) * len(b)) - 1),
            )
        )
    return pairs
