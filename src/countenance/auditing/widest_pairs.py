"""The largest difference between two groups: a group may be close to all others together and far from one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing import tests
from countenance.auditing.batch import BatchSides, gap_of
from countenance.auditing.comparisons import Draft, direction
from countenance.auditing.effects import angle
from countenance.auditing.finding import Widest
from countenance.auditing.groups import Grouping
from countenance.auditing.measured_metric import MeasuredMetric, Summed
from countenance.auditing.power import rank_from_d
from countenance.auditing.table import Array


@dataclass(frozen=True)
class WidestPairs:
    """Every two groups of an attribute that are large enough, by one metric."""

    grouping: Grouping
    measured: MeasuredMetric
    summed: Summed
    first: Array
    second: Array

    @classmethod
    def of(cls, grouping: Grouping, measured: MeasuredMetric, summed: Summed, min_n: int) -> WidestPairs | None:
        """The pairs of groups of at least `min_n`; None for fewer than three groups, as two are compared anyway."""
        large = np.flatnonzero(np.asarray(summed.sums.cells.units) >= min_n)
        if len(large) < 3:
            return None
        first, second = np.triu_indices(len(large), 1)
        return cls(grouping, measured, summed, large[first], large[second])

    def widest(self, alpha: float, pairs: int) -> tuple[Widest, Draft | None]:
        """The pair that is furthest apart, with an interval simultaneous over this many pairs.

        Where the interval of some pair lies beyond δ, that pair is also a comparison that differs.
        """
        sides = BatchSides.picked(self.summed.sums, self.first, self.second, rest=False)
        kind = self.measured.column.kind
        tested = tests.compare(kind, sides.first, sides.second, sides.cross)
        with np.errstate(all="ignore"):
            low, high = gap_of(kind, sides, tested, self.measured.ends).difference(alpha / pairs)
        gap = np.asarray(sides.first.mean) - np.asarray(sides.second.mean)
        delta = math.inf if self.measured.judged.delta is None else self.measured.judged.delta
        nearest = np.where(gap > 0, low, -np.asarray(high))
        beyond = np.nan_to_num(nearest, nan=-np.inf) > delta
        place = int(np.argmax(np.abs(gap)))
        record = self._record(place, gap, low, high, pairs, bool(beyond.any()))
        if not beyond.any():
            return record, None
        clearest = int(np.argmax(np.where(beyond, nearest, -np.inf)))
        p = min(1.0, float(np.asarray(tested.p)[clearest]) * pairs)
        return record, self._draft(clearest, sides, gap, (low, high), p)

    def _record(self, i: int, gap: Array, low: Array, high: Array, pairs: int, beyond: bool) -> Widest:
        g, h = (self.first[i], self.second[i]) if gap[i] >= 0 else (self.second[i], self.first[i])
        ends = (low[i], high[i]) if gap[i] >= 0 else (-high[i], -low[i])
        mean = np.asarray(self.summed.sums.cells.mean)
        return Widest(
            attribute=self.grouping.name,
            metric=self.measured.metric,
            group=self.grouping.cells[g],
            versus=self.grouping.cells[h],
            estimate=float(mean[g]),
            estimate_versus=float(mean[h]),
            difference=abs(float(gap[i])),
            low=float(ends[0]),
            high=float(ends[1]),
            pairs=pairs,
            beyond=beyond,
        )

    def _draft(self, i: int, sides: BatchSides, gap: Array, limits: tuple[Array, Array], p: float) -> Draft:
        g, h = int(self.first[i]), int(self.second[i])
        values = {
            "metric": self.measured.metric,
            "attribute": self.grouping.name,
            "group": self.grouping.cells[g],
            "versus": self.grouping.cells[h],
            "comparison": "pairs",
            "kind": "group",
            "metric_kind": self.measured.column.kind,
            "depth": self.grouping.depth,
            "difference": float(gap[i]),
            "diff_low": float(limits[0][i]),
            "diff_high": float(limits[1][i]),
            "p": p,
            "test": "simultaneous interval of all pairs beyond δ",
            "direction": direction(float(gap[i]), self.measured.judged.better),
        }
        for end, cell, side in (("", g, sides.first), ("_versus", h, sides.second)):
            low, high, deff = (float(part[cell]) for part in self.summed.intervals.cells)
            values |= {
                f"n{end}": int(np.asarray(side.n)[i]),
                f"clusters{end}": int(np.asarray(side.units)[i]),
                f"estimate{end}": float(np.asarray(side.mean)[i]),
                f"low{end}": low,
                f"high{end}": high,
                f"deff{end}": deff,
            }
        rate = self.measured.column.kind == "rate"
        spread = float(self.summed.sums.whole.spread)
        effect = (
            float(angle(values["estimate"]) - angle(values["estimate_versus"]))
            if rate
            else math.copysign(rank_from_d(abs(float(gap[i])) / math.sqrt(spread)), float(gap[i]))
            if spread > 0
            else 0.0
        )
        values |= {"effect": effect, "effect_name": "h" if rate else "rank-biserial"}
        return Draft(values, self.measured.judged, severity_effect=abs(effect), named=self.grouping.named)


def widest_of(
    pairs: Sequence[WidestPairs], alpha: float, differing: set[tuple[str, str, str]]
) -> tuple[list[Widest], list[Draft]]:
    """The largest difference by attribute and metric, and the pairs that differ although neither group does by itself.

    `differing` are metric, attribute and group of the disparities that were shown.
    """
    count = sum(len(group_pairs.first) for group_pairs in pairs)
    records, drafts = [], []
    for group_pairs in pairs:
        record, draft = group_pairs.widest(alpha, count)
        records.append(record)
        if draft is not None:
            sides = {
                (group_pairs.measured.metric, group_pairs.grouping.name, draft.values[side])
                for side in ("group", "versus")
            }
            drafts += [] if sides & differing else [draft]
    return records, drafts
