"""The published rule, to the digit: pooled two-proportion z against all others, p < .05, and |Cohen's h| > .2.

It is reported beside the audit's own verdict, never instead of it: it ignores multiple comparisons, small cells, and
faces in the same photograph.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countenance.auditing.effects import cohen_h
from countenance.data.vocabulary import UNKNOWN, in_order

ALPHA, SEVERE = 0.05, 0.2


@dataclass(frozen=True)
class SeedRow:
    """One group against all others. Undefined numbers (no faces, no variance) are NaN."""

    group: str
    k: int
    n: int
    k_other: int
    n_other: int
    rate: float
    rate_other: float
    pooled: float
    z: float
    p: float
    h: float

    @property
    def tested(self) -> bool:
        """Whether the rule applies: both sides have faces, and not all had the same outcome."""
        return not math.isnan(self.p)

    @property
    def significant(self) -> bool:
        return self.p < ALPHA

    @property
    def severe(self) -> bool:
        return self.significant and abs(self.h) > SEVERE

    @property
    def verdict(self) -> str:
        """The verdict of the rule in a word."""
        word = "severe" if self.severe else "significant" if self.significant else "not significant"
        return word if self.tested else "–"


def seed_row(group: str, k: int, n: int, k_other: int, n_other: int) -> SeedRow:
    """The published rule on counts: k of n against k_other of n_other.

    >>> row = seed_row("more than 70", 17, 18, 1929, 1937)
    >>> round(row.p, 4), round(row.h, 3), row.severe
    (0.0013, -0.347, True)
    >>> seed_row("a", 5, 5, 7, 7).tested
    False
    """
    from scipy import special

    rate, rate_other = (k / n if n else math.nan), (k_other / n_other if n_other else math.nan)
    pooled = (k + k_other) / (n + n_other) if n + n_other else math.nan
    z = h = math.nan
    if n and n_other:
        error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / n_other))
        z = (rate - rate_other) / error if error else math.nan
        h = cohen_h(rate, rate_other)
    p = 2 * float(special.ndtr(-abs(z)))  # what scipy.stats.norm.sf computes, without its import
    return SeedRow(group, k, n, k_other, n_other, rate, rate_other, pooled, z, p, h)


def seed_table(attribute: str, groups: Sequence[Any], values: Sequence[float | None]) -> list[SeedRow]:
    """A row for each value of an attribute; rows whose metric is null are outside the denominator.

    A group whose rows are all outside it has n = 0; unknown values come last, without a comparison.

    >>> [(row.group, row.n, row.n_other) for row in seed_table("sex", ["f", "m", "m", None], [1.0, 0.0, None, 1.0])]
    [('f', 1, 1), ('m', 1, 1), ('(unknown)', 1, 0)]
    """
    counts: dict[str, list[int]] = {}
    total_k = total_n = 0
    for group, value in zip(groups, values, strict=True):
        named = list(_words(group))
        for word in named:
            count = counts.setdefault(word, [0, 0])
            if value is not None:
                count[0] += int(value)
                count[1] += 1
        if value is not None and named != [UNKNOWN]:
            total_k, total_n = total_k + int(value), total_n + 1
    rows = []
    for word in in_order(attribute, counts):
        k, n = counts[word]
        others = (0, 0) if word == UNKNOWN else (total_k - k, total_n - n)
        rows.append(seed_row(word, k, n, *others))
    return rows


def _words(value: Any) -> Iterable[str]:
    if value is None or value == []:
        return (UNKNOWN,)
    if isinstance(value, (list, tuple)):
        return dict.fromkeys(str(word) for word in value)
    return (f"{value:g}" if isinstance(value, float) else str(value),)


COLUMNS = ("group", "n", "rate", "n_other", "rate_other", "pooled", "z", "p", "h", "significant", "severe")
"""The published columns."""


def seed_columns(row: SeedRow) -> Mapping[str, Any]:
    """The published columns; undefined numbers are empty, never 0."""
    own = {name: getattr(row, name) for name in COLUMNS}
    return own if row.tested else own | {"significant": None, "severe": None}
