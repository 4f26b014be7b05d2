"""Intervals of an audit at other levels than its own, from the rows and sums that it has."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from countenance.auditing.computation import Computation
from countenance.auditing.finding import Estimate
from countenance.auditing.groups import GROUP, UNKNOWN_OR_NOT
from countenance.auditing.measured_metric import Intervals

Key = tuple[str, str, str, str]
"""Metric, attribute, group, and the side that it is compared with."""


@dataclass(frozen=True)
class GapLimits:
    """The interval of a difference, and the one that decides whether it is small."""

    low: float
    high: float
    low_equivalence: float
    high_equivalence: float

    def mirrored(self) -> GapLimits:
        """The same limits from the other side.

        >>> GapLimits(-0.2, 0.1, -0.15, 0.05).mirrored()
        GapLimits(low=-0.1, high=0.2, low_equivalence=-0.05, high_equivalence=0.15)
        """
        return GapLimits(-self.high, -self.low, -self.high_equivalence, -self.low_equivalence)


def at_level(work: Computation, alpha: float) -> Computation:
    """The same computation with another level: what was read and summed is shared."""
    other = copy.copy(work)
    other.settings = work.settings.model_copy(update={"alpha": alpha})
    return other


def estimates_at(work: Computation, alpha: float) -> list[Estimate]:
    """The groups that an audit noted, in the same order, with intervals at a level."""
    if alpha == work.settings.alpha:
        return work.groups
    other = at_level(work, alpha)
    estimates = []
    for grouping, measured, summed in work.summed:
        own = replace(summed, intervals=Intervals.of(summed.sums, measured, alpha))
        cells = [0] if grouping.kind == UNKNOWN_OR_NOT else range(len(grouping.cells))
        estimates += [other.estimate(grouping, cell, measured, own) for cell in cells]
    return estimates


def gaps_at(work: Computation, alpha: float) -> dict[Key, GapLimits]:
    """The limits of the differences of groups that an audit compared, at a level."""
    limits: dict[Key, GapLimits] = {}
    for batch in work.batches:
        if batch.measured.kind != GROUP:
            continue
        gap = batch.gap
        with np.errstate(all="ignore"):
            ends = [np.asarray(end) for end in (*gap.difference(alpha), *gap.decisive(alpha))]
        for i, (group, versus) in enumerate(batch.names):
            grouping = batch.groupings[batch.place[i]]
            if grouping.kind in (GROUP, UNKNOWN_OR_NOT):
                key = batch.measured.metric, grouping.name, group, versus
                limits[key] = GapLimits(*(float(end[i]) for end in ends))
    return limits
