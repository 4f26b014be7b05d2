"""A metric with which groups are compared, and all its sums over the groups of an attribute."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from countenance.auditing import tests
from countenance.auditing.estimates import interval
from countenance.auditing.far_ends import Ends
from countenance.auditing.groups import GROUP
from countenance.auditing.layout import Column
from countenance.auditing.settings import Judged
from countenance.auditing.sums import GroupSums, Numbers, Side
from countenance.auditing.table import Array

MISSING = "missing"


@dataclass(frozen=True)
class MeasuredMetric:
    """The scores of a metric, or which of them are missing.

    `wrong` are the same scores with every missing one as wrong; `missing` is the column of missing scores.
    """

    metric: str
    column: Column
    judged: Judged
    ends: Ends | None
    kurtosis: float = 3.0
    kind: str = GROUP
    wrong: tuple[Column, ...] = ()
    missing: Column | None = None

    @property
    def two_statistics(self) -> bool:
        """Whether groups are compared by the mean and by the typical value: a metric that is not a rate."""
        return self.column.kind == "mean"


@dataclass(frozen=True)
class Intervals:
    """Low, high and design effect of every cell of a grouping, and of the rest of every cell."""

    cells: tuple[Array, Array, Array]
    rests: tuple[Array, Array, Array]

    @classmethod
    def of(cls, sums: GroupSums, measured: MeasuredMetric, alpha: float) -> Intervals:
        """The intervals of a metric, the same wherever it is shown: correlation and variance are those of all cells."""
        cells = sums.cells
        each = [cells.take(g) for g in range(len(np.atleast_1d(cells.n)))]
        iccs = tests.correlations(each) if each else [0.0]
        with np.errstate(all="ignore"):
            n = np.asarray(cells.n, dtype=float)
            row: Numbers = np.nansum(n * cells.spread) / n.sum()

        def limits(side: Side) -> tuple[Array, Array, Array]:
            kind, heavy = measured.column.kind, measured.kurtosis
            low, high, deff = interval(side, kind, alpha, iccs, row, heavy, measured.ends)
            return np.asarray(low), np.asarray(high), np.asarray(deff)

        return cls(limits(cells), limits(sums.rests))


@dataclass(frozen=True)
class Ranked:
    """A metric's ranks over the cells of one grouping: of people where none is on two sides, else of rows.

    `dense`, `members` and `clusters` exist where two groups are compared: dense ranks, the members of each cell, and
    their clusters where rows are ranked.
    """

    column: Column
    sums: GroupSums
    among_known: GroupSums
    """The sums of ranks among those whose group is known; the effect is computed from these."""
    total: float
    """How many of them there are."""
    everybody: float
    """How many are ranked in all, known or not."""
    dense: Array | None = None
    members: list[Array] = field(default_factory=list)
    clusters: tuple[Array, ...] = ()


@dataclass(frozen=True)
class FewPeople:
    """People's means over the cells of one grouping, and the variances of such means."""

    column: Column
    sums: GroupSums
    spreads: GroupSums
    away: Array
    strata: Array
    members: list[Array]
    """For each cell, who is in it."""


@dataclass(frozen=True)
class Summed:
    """The sums of one metric over the cells of one grouping.

    `wrong` are the sums with missing scores as wrong, `missing` those of missing scores; `ranked` and `people` are
    there where they are needed.
    """

    sums: GroupSums
    intervals: Intervals
    ranked: Ranked | None = None
    people: FewPeople | None = None
    wrong: tuple[GroupSums, ...] = ()
    missing: GroupSums | None = None
