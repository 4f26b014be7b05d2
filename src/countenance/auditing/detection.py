"""Finds a column that nobody named and whose values mark similar rows, to use as the independent unit.

A table may call its people anything. Rows of one value are alike where the products of their residuals are larger, on
average, than those of any two rows; shuffled labels show how large these are by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.auditing.codes import combined, size_of
from countenance.auditing.layout import Column, pattern_of
from countenance.auditing.multiplicity import holm
from countenance.auditing.source import Source
from countenance.auditing.sums import cluster_means
from countenance.auditing.table import Array, Attribute

FEWEST_VALUES = 20
"""At least this many values must occur more than once."""
SHUFFLES = 999
MOST_STEPS = 100_000_000
"""Rows times shuffles; a larger table is approximated by the moments of the statistic."""
MOST_CELLS = 0.05
"""Group means are subtracted first if there are at most this many groups for each row."""
NEVER = ("subject", "split", "part", "face")


@dataclass(frozen=True)
class Alike:
    """A column whose values mark rows that are alike, by one metric."""

    column: str
    metric: str
    correlation: float
    p: float

    def sentence(self) -> str:
        """A sentence on the unit that was taken as independent, and why.

        >>> Alike("nr", "ok", 0.312, 0.001).sentence()
        'rows that share a value of nr are alike (correlation 0.31 in ok, adjusted p 0.001); cluster=None refuses it'
        """
        return (
            f"rows that share a value of {self.column} are alike (correlation {self.correlation:.2f} in {self.metric}, "
            f"adjusted p {self.p:.2g}); cluster=None refuses it"
        )


def candidates(source: Source, taken: Sequence[str]) -> Iterator[str]:
    """Columns of texts or whole numbers that have no other role."""
    for name in source.names:
        bare = name.removeprefix("attr.")
        if name in taken or name.startswith("m.") or bare in NEVER or source.names.count(name) > 1:
            continue
        if source.is_code(name):
            yield name


def alike(codes: Mapping[str, Array], columns: Sequence[Column], attributes: Sequence[Attribute]) -> list[Alike]:
    """The columns (coded, -1: unknown) whose values mark similar rows, the most significant first."""
    tested = []
    for name, own in codes.items():
        if (np.bincount(own[own >= 0]) >= 2).sum() >= FEWEST_VALUES:
            each = [(_tested(residuals(column, attributes), own), column.name) for column in columns]
            (p, correlation), metric = min(each, key=lambda entry: entry[0])
            tested.append(Alike(name, metric, correlation, min(1.0, p * len(columns))))
    return adjusted(tested)


def adjusted(tested: Sequence[Alike], alpha: float = 0.05) -> list[Alike]:
    """The columns that are significant among all tested columns, the most significant first."""
    each = zip(tested, holm(np.array([candidate.p for candidate in tested])), strict=True)
    sure = [replace(candidate, p=float(p)) for candidate, p in each if p < alpha]
    return sorted(sure, key=lambda candidate: (candidate.p, -candidate.correlation))


def residuals(column: Column, attributes: Sequence[Attribute]) -> Array:
    """A metric's values minus the mean of their groups; NaN stays.

    Groups are those of all attributes at once, without attributes that would make too many of them.
    """
    values = column.values
    known = ~np.isnan(values)
    cells = np.zeros(len(values), dtype=np.int64)
    for attribute in attributes:
        finer = combined(cells, pattern_of(attribute, len(values)))
        cells = finer if size_of(finer) <= MOST_CELLS * len(values) else cells
    count = np.bincount(cells[known], minlength=size_of(cells))
    mean = cluster_means(count, np.bincount(cells[known], values[known], minlength=len(count)))
    return np.asarray(values - mean[cells])


def _tested(residual: Array, codes: Array) -> tuple[float, float]:
    """The p that rows of one value are as similar by chance (one-sided), and their correlation."""
    use = (codes >= 0) & ~np.isnan(residual)
    r, own = residual[use], codes[use]
    sizes = np.bincount(own).astype(float)
    pairs, squares = float((sizes * (sizes - 1)).sum()), float(r @ r)
    if not pairs or not squares:
        return 1.0, 0.0

    def products(order: Array | slice) -> float:
        sums = np.bincount(own, r[order])
        return float(sums @ sums)

    observed = products(slice(None))
    correlation = (observed - squares) / (squares / len(r) * pairs)
    if len(r) * SHUFFLES > MOST_STEPS:
        return approximate(observed - squares, squares / len(r), sizes), correlation
    rng = np.random.default_rng(0)
    shuffled = np.array([products(rng.permutation(len(r))) for _ in range(SHUFFLES)])
    as_large = int((shuffled >= observed * (1 - 1e-12)).sum())
    return (1 + as_large) / (SHUFFLES + 1), correlation


def approximate(excess: float, variance: float, sizes: Any) -> float:
    """A p from the first three moments of a sum of products of independent normal residuals.

    >>> approximate(0.0, 1.0, np.full(50, 10.0)) > 0.4, approximate(900.0, 1.0, np.full(50, 10.0)) < 1e-6
    (True, True)
    """
    from scipy import stats

    spread = 2 * variance**2 * float((sizes * (sizes - 1)).sum())
    third = 8 * variance**3 * float(((sizes - 1) ** 3 - (sizes - 1)).sum())
    return float(stats.pearson3.sf(excess / spread**0.5, third / spread**1.5))
