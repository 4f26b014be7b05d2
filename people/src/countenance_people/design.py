"""Balanced assignment: no two attributes of the population go together, in every prefix of it.

Each new row takes, attribute by attribute, the level that has been seen least together with what the row already has
(minimisation, as in clinical trials).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

Shares = Mapping[str, float]


def equal(levels: Sequence[str]) -> dict[str, float]:
    """Every level with the same share."""
    return dict.fromkeys(levels, 1 / len(levels))


class Balance:
    """Counts of pairs of levels, and the choice that keeps them even."""

    def __init__(self, shares: Mapping[str, Shares], seed: int) -> None:
        self.shares = shares
        self.rng = np.random.default_rng([seed, 71])
        self.pairs: dict[tuple[str, str, str, str], int] = defaultdict(int)
        self.single: dict[tuple[str, str], int] = defaultdict(int)

    def complete(self, row: Mapping[str, str]) -> dict[str, str]:
        """The row with a level of every balanced attribute; its pairs are counted."""
        full = dict(row)
        for attribute, shares in self.shares.items():
            if attribute not in full:
                full[attribute] = self._choose(attribute, shares, full)
        names = list(full)
        for i, first in enumerate(names):
            self.single[first, full[first]] += 1
            for second in names[:i]:
                self.pairs[first, full[first], second, full[second]] += 1
                self.pairs[second, full[second], first, full[first]] += 1
        return full

    def _choose(self, attribute: str, shares: Shares, row: Mapping[str, str]) -> str:
        levels = list(shares)
        cost = np.zeros(len(levels))
        for k, level in enumerate(levels):
            cost[k] = (self.single[attribute, level] + 0.5) / shares[level] / 4
            for other, value in row.items():
                seen = self.single[other, value] + 1
                cost[k] += (self.pairs[attribute, level, other, value] + 0.5) / shares[level] / seen * len(levels)
        cost += self.rng.uniform(0, 1e-6, len(levels))
        return levels[int(np.argmin(cost))]


def cramers_v(first: Sequence[str], second: Sequence[str]) -> float:
    """Cramér's V of two columns, without a correction for small samples.

    >>> cramers_v(["a", "b"] * 8, ["x", "y"] * 8)
    1.0
    """
    rows, row = np.unique(first, return_inverse=True)
    columns, column = np.unique(second, return_inverse=True)
    if min(len(rows), len(columns)) < 2:
        return 0.0
    table = np.zeros((len(rows), len(columns)))
    np.add.at(table, (row, column), 1)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    chi2 = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi2 / (table.sum() * (min(table.shape) - 1))))


def largest_v(columns: Mapping[str, Sequence[str]]) -> tuple[float, str]:
    """The largest Cramér's V between two of the columns, and which they are."""
    names, worst = list(columns), (0.0, "")
    for i, first in enumerate(names):
        for second in names[:i]:
            worst = max(worst, (cramers_v(columns[first], columns[second]), f"{second} with {first}"))
    return worst
