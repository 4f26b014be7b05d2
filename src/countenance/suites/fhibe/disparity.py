"""Disparities as FHIBE published them: medians, an uncorrected z of U, Bonferroni within one attribute only.

For comparison with published reports. Our own statistics are in `countenance.auditing`; docs/suites/fhibe.md explains
the faults of the published ones (the "effect size" grows with √n, the worst group of LPIPS is the best).
"""

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from countenance.data.adapters.fhibe.places import is_largest
from countenance.data.reading.columns import literal

Statistic = Literal["U", "t"]

Row = list[Any]
"""Worst group, its size, best group, its size, disparity, p, effect."""


def process_pair(first: str, second: str, data: Mapping[str, Sequence[float]], statistic: Statistic = "U") -> Row:
    """One pair of groups: the worse one by median, disparity 1 - lower/higher median, p and the published effect.

    >>> process_pair("A", "B", {"A": [0.1, 0.2, 0.3, 0.4, 0.5], "B": [0.3, 0.4, 0.5, 0.6, 0.7]})[:5]
    ['A', 5, 'B', 5, 0.4]
    """
    from scipy.stats import mannwhitneyu, ttest_ind

    a, b = (np.asarray(data[name], dtype=np.float64) for name in (first, second))
    n1, n2 = len(a), len(b)
    low, high = float(np.median(a)), float(np.median(b))
    if low < 0 or high < 0:
        raise ValueError("a negative median has no disparity")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if statistic == "U":
            u, p = mannwhitneyu(a, b, alternative="two-sided")
            effect = (u - n1 * n2 / 2) / np.sqrt(n1 * n2 * (n1 + n2 + 1) / 12)
        else:
            _, p = ttest_ind(a, b, alternative="two-sided")
            spread = ((n1 - 1) * np.std(a, ddof=1) ** 2 + (n2 - 1) * np.std(b, ddof=1) ** 2) / (n1 + n2 - 2)
            effect = (np.mean(a) - np.mean(b)) / np.sqrt(spread)
    worst, best = ((first, n1), (second, n2)) if low < high else ((second, n2), (first, n1))
    small, large = min(low, high), max(low, high)
    ratio = 1.0 if large == 0 else small / large
    return [*worst, *best, 1.0 - ratio, float(p), float(effect)]


def significant_pairs(
    data: Mapping[str, Sequence[float]], alpha: float = 0.05, statistic: Statistic = "U"
) -> list[Row] | None:
    """The pairs with p < alpha / number of pairs; None if no pair has such a p."""
    rows = [process_pair(a, b, data, statistic) for a, b in itertools.combinations(data, 2)]
    significant = [row for row in rows if row[-2] < alpha / len(rows)]
    return significant or None


def calculate_disparity(
    results: Mapping[str, Mapping[str, Any]],
    attributes: Sequence[str],
    *,
    group_largest_regions: bool = True,
    k: int = 0,
    min_group_size: int | None = 20,
    parts: Sequence[str] | None = None,
) -> list[Row]:
    """The published table of disparities from grouped results; `attributes` in the published order.

    `k` attributes at a time (0: all numbers), groups smaller than `min_group_size` dropped, ancestry and
    nationality at the level of regions and continents. With `parts`, one row for each body part.
    """
    out: list[Row] = []
    for size in range(1, len(attributes) + 1) if k == 0 else (k,):
        for combination in itertools.combinations(attributes, size):
            key = str(list(combination))
            entries = {
                name: entry
                for name, entry in results[key].items()
                if not group_largest_regions or is_largest(combination, literal(name, "results"))
            }
            for part in parts or (None,):
                data = {}
                for name, entry in entries.items():
                    scores = entry["scores"] if part is None else entry[part]["scores"]
                    if len(scores) >= (min_group_size or 0) and (part is None or scores):
                        data[name] = scores
                pairs = significant_pairs(data) if len(data) > 1 else None
                out.extend([key, *([] if part is None else [part]), *pair] for pair in pairs or [])
    return out
