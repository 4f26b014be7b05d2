"""All two-sided comparisons of one metric, worked out together from their sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countenance.audit import ranks, tests
from countenance.audit._dist import quantile
from countenance.audit.change import ChangeGap, GainAndLoss
from countenance.audit.comparisons import REST, Draft, is_alarming, which, why_untestable
from countenance.audit.effects import MeanGap, RankBiserial, RateGap, angle, equivalence
from countenance.audit.estimates import interval, within_bounds
from countenance.audit.groups import Grouping, Members
from countenance.audit.layout import Column
from countenance.audit.settings import Judged, Settings
from countenance.audit.sums import Cross, GroupSums, Side, concatenate, concatenate_crosses
from countenance.audit.table import Array


@dataclass
class Batch:
    """The comparisons of one metric with rest, pairs or reference, as arrays with one element for each."""

    column: Column
    judged: Judged
    bounded: bool
    settings: Settings
    many: str
    """What units are called, many of them."""
    kurtosis: float = 3.0
    groupings: list[Grouping] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    """For each comparison, its grouping."""
    g: list[int] = field(default_factory=list)
    h: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    _sides: list[tuple[Side, Side, Cross, int]] = field(default_factory=list)
    _ranked: list[tuple[Side, Side, Cross, int]] = field(default_factory=list)
    _between: list[RankBiserial] = field(default_factory=list)
    _rows: list[tuple[Array, Array]] = field(default_factory=list)

    @property
    def needs_ranks(self) -> bool:
        """Whether the effect is a rank-biserial correlation."""
        return self.column.kind != "rate"

    def add(
        self,
        grouping: Grouping,
        sums: GroupSums,
        ranked: GroupSums | None,
        members: Members,
        dense: Array | None,
        clusters: tuple[Array, ...],
    ) -> None:
        """Take up the comparisons of one grouping.

        `ranked` are the sums of ranks (comparisons with the rest); otherwise rows are ranked pair by pair, from
        `members` and the `dense` ranks.
        """
        chosen = list(which(sums, grouping, self.settings, self.judged))
        if not chosen:
            return
        g, h = (np.array([one[i] for one in chosen]) for i in (0, 1))
        rest = self.settings.comparison == "rest"
        self._sides.append(_pick(sums, g, h, rest))
        if self.needs_ranks and ranked is not None:
            self._ranked.append(_pick(ranked, g, h, rest))
        elif self.needs_ranks and dense is not None:
            cells = _rows_of(members, dense, len(grouping.cells))
            for one, two in zip(g, h, strict=True):
                pair = cells[one], cells[two]
                if len(pair[0]) and len(pair[1]):
                    self._between.append(ranks.between(dense, *pair, clusters))
                else:
                    self._between.append(RankBiserial(math.nan, math.nan, math.nan, math.nan, math.nan))
                self._rows.append(pair)
        self.groupings.append(grouping)
        self.place += [len(self.groupings) - 1] * len(chosen)
        self.g += g.tolist()
        self.h += h.tolist()
        self.weight += [one[2] for one in chosen]

    def join(self) -> None:
        """Put all comparisons into one array each; find out which of them can be tested."""
        self.one = concatenate([part[0] for part in self._sides])
        self.two = concatenate([part[1] for part in self._sides])
        self.cross = concatenate_crosses([part[2] for part in self._sides], [part[3] for part in self._sides])
        self.names = []
        for place, g, h in zip(self.place, self.g, self.h, strict=True):
            cells = self.groupings[place].cells
            self.names.append((cells[g], REST if h < 0 else cells[h]))
        self.untestable = why_untestable(self.one, self.two, self.names, self.settings.min_n, self.many)
        with np.errstate(all="ignore"):
            still = np.asarray(self.one.constant) & np.asarray(self.two.constant)
            same = np.asarray(self.one.mean) == self.two.mean
        self.still: Array = still & (same | (self.column.kind == "mean"))
        """Neither side varies: there is no p, and the interval decides."""

    @property
    def tested(self) -> Array:
        """Which comparisons have a p."""
        return np.array([not why for why in self.untestable]) & ~self.still

    def test(self, levels: Array) -> None:
        """Test every comparison; `levels` are those that each must reach at worst."""
        self.least = np.where(levels < 0.01, tests.SMALLEST_EXPECTED_FAR_OUT, tests.SMALLEST_EXPECTED)
        self.found = tests.compare(self.column.kind, self.one, self.two, self.cross, self.least)

    def drafts(self, values: Array) -> list[Draft]:
        """Every comparison with its numbers; `values` are the metric's, uncentred."""
        alpha, kind = self.settings.alpha, self.column.kind
        iccs = tests.correlations([self.one, self.two])
        with np.errstate(all="ignore"):
            n1, n2 = np.asarray(self.one.n, dtype=float), np.asarray(self.two.n, dtype=float)
            row = (n1 * self.one.spread + n2 * self.two.spread) / (n1 + n2)
            low1, high1, deff1 = interval(self.one, kind, alpha, iccs, row, self.kurtosis)
            low2, high2, deff2 = interval(self.two, kind, alpha, iccs, row, self.kurtosis)
        low1, high1 = within_bounds(self.bounded, low1, high1)
        low2, high2 = within_bounds(self.bounded, low2, high2)
        mean1, mean2 = np.asarray(self.one.mean), np.asarray(self.two.mean)
        gap = self._gap(mean1, mean2, iccs)
        diff_low, diff_high = gap.difference(alpha)
        delta = math.nan if self.judged.delta is None else self.judged.delta
        smaller, p_equivalence = equivalence(gap, delta, alpha)
        smaller, p_equivalence, diff_low, diff_high = self._unvaried(smaller, p_equivalence, diff_low, diff_high, iccs)
        effect, effect_low, effect_high = self._effects(gap)
        alarming = is_alarming(self.one, low1, high1, mean2, self.judged)
        evidence = self._rates() if kind == "rate" else self._means(row, values)
        made = []
        for i, (group, versus) in enumerate(self.names):
            grouping = self.groupings[self.place[i]]
            draft = Draft(
                {
                    "metric": self.column.name, "attribute": grouping.name, "group": group, "versus": versus,
                    "comparison": self.settings.comparison, "n": int(n1[i]), "clusters": int(self.one.units[i]),
                    "n_versus": int(n2[i]), "clusters_versus": int(self.two.units[i]),
                    "estimate": float(mean1[i]), "low": float(low1[i]), "high": float(high1[i]),
                    "estimate_versus": float(mean2[i]), "low_versus": float(low2[i]), "high_versus": float(high2[i]),
                    "deff": float(deff1[i]), "deff_versus": float(deff2[i]), "kind": kind, "depth": grouping.depth,
                    "effect_name": "h" if kind == "rate" else "rank-biserial",
                },
                self.judged,
                untestable=self.untestable[i],
                alarming=bool(alarming[i]),
                weight=self.weight[i],
                named=grouping.named,
            )  # fmt: skip
            made.append(draft)
            if not (n1[i] and n2[i]):
                continue
            draft.values |= {
                "difference": float(mean1[i] - mean2[i]), "diff_low": float(diff_low[i]),
                "diff_high": float(diff_high[i]), "effect": float(effect[i]), "effect_low": float(effect_low[i]),
                "effect_high": float(effect_high[i]),
            }  # fmt: skip
            draft.smaller, draft.p_equivalence = bool(smaller[i]), float(p_equivalence[i])
            draft.severity_effect = abs(draft.values["effect"])
            evidence(draft, i)
        return made

    def _gap(self, mean1: Array, mean2: Array, iccs: list[Any]) -> RateGap | MeanGap | ChangeGap:
        found = self.found
        if self.column.kind == "change":
            return ChangeGap(GainAndLoss.of(self.one, iccs), GainAndLoss.of(self.two, iccs), found.rho)
        if self.column.kind == "mean":
            return MeanGap(mean1 - mean2, found.se, found.df)
        solo = np.isinf(np.asarray(found.df))
        df1, df2 = (np.where(solo, np.inf, np.maximum(side.effective - 1, 0.5)) for side in (self.one, self.two))
        return RateGap(mean1, found.n1, mean2, found.n2, df1, df2, found.rho)

    def _unvaried(
        self, smaller: Array, p: Array, low: Array, high: Array, iccs: list[Any]
    ) -> tuple[Array, Array, Array, Array]:
        """Means that vary on neither side: between 0 and 1 they are no surer than rates; else nothing is known."""
        still = self.still if self.column.kind == "mean" else np.zeros(len(self.g), dtype=bool)
        if not still.any():
            return smaller, p, low, high
        smaller, p, low, high = (np.array(part) for part in (smaller, p, low, high))
        smaller[still], p[still], low[still], high[still] = False, math.nan, math.nan, math.nan
        if self.bounded:
            one, two = self.one.take(still), self.two.take(still)
            gap = RateGap(
                np.clip(one.mean, 0, 1), one.n / tests.implied(one, [icc[still] for icc in iccs]),
                np.clip(two.mean, 0, 1), two.n / tests.implied(two, [icc[still] for icc in iccs]),
            )  # fmt: skip
            low[still], high[still] = gap.difference(self.settings.alpha)
            delta = math.nan if self.judged.delta is None else self.judged.delta
            smaller[still], p[still] = equivalence(gap, delta, self.settings.alpha)
        return smaller, p, low, high

    def _effects(self, gap: RateGap | MeanGap | ChangeGap) -> tuple[Array, Array, Array]:
        alpha = self.settings.alpha
        if isinstance(gap, RateGap):
            low, high = gap.h(alpha)
            return angle(gap.p1) - angle(gap.p2), low, high
        if self._ranked:
            one = concatenate([part[0] for part in self._ranked])
            two = concatenate([part[1] for part in self._ranked])
            cross = concatenate_crosses([part[2] for part in self._ranked], [part[3] for part in self._ranked])
            return ranks.against_rest(one, two, cross, alpha)
        r = np.array([found.r for found in self._between])
        half = quantile(1 - alpha / 2) * np.sqrt([found.variance for found in self._between])
        return r, np.maximum(r - half, -1.0), np.minimum(r + half, 1.0)

    def _rates(self) -> Callable[[Draft, int], None]:
        """A function that gives a draft its test of two rates."""
        found = self.found
        alone = np.asarray(self.one.alone) & np.asarray(self.two.alone)
        se = found.se
        with np.errstate(all="ignore"):
            unit = np.sqrt(tests.joint(1 / found.n1, 1 / found.n2, found.rho))
            wrong = (np.asarray(self.one.n, dtype=float) - self.one.total) * self.two.total
            odds = self.one.total * (np.asarray(self.two.n, dtype=float) - self.two.total) / wrong
            share = found.v1 / (found.v1 + found.v2)
            worth = tests.joint(1 / found.n1, 1 / found.n2, found.rho) / (1 / found.n1 + 1 / found.n2)

        def evidence(draft: Draft, i: int) -> None:
            name = "two-proportion z" if alone[i] else "two-proportion z (Rao-Scott)"
            if found.exact[i]:
                name = "Fisher's exact" if alone[i] else "Fisher's exact (effective counts)"
            statistic = float(odds[i] if found.exact[i] else found.z[i])
            draft.unit = float(unit[i])
            draft.sizes = float(found.n1[i] / worth[i]), float(found.n2[i] / worth[i])
            self._record(draft, i, name, statistic, float(found.p[i]), float(found.z[i]), float(found.df[i]))
            draft.se = draft.values["se"] = float(se[i])
            draft.share = float(share[i])

        return evidence

    def _means(self, row: Array, values: Array) -> Callable[[Draft, int], None]:
        """A function that gives a draft its test of two means, or of ranks where every two groups are compared."""
        found = self.found
        alone = np.asarray(self.one.alone) & np.asarray(self.two.alone)
        se = found.se
        with np.errstate(all="ignore"):
            share = found.v1 / (found.v1 + found.v2)

        def evidence(draft: Draft, i: int) -> None:
            name = "Welch t" if alone[i] else "Welch t (cluster-robust)"
            statistic = z = float(found.z[i])
            p, df = float(found.p[i]), float(found.df[i])
            draft.se = draft.values["se"] = float(se[i])
            draft.share, draft.sd = float(share[i]), math.sqrt(float(row[i]))
            if self.settings.comparison == "pairs":
                ranked, n1, n2 = self._between[i], draft.values["n"], draft.values["n_versus"]
                df = math.inf if alone[i] else df
                x, y = (values[rows] for rows in self._rows[i])
                name, statistic, p, z = ranks.mann_whitney(x, y, ranked, df)
                deff = 1.0 if alone[i] else ranks.rank_effect(ranked)
                draft.unit = math.sqrt((n1 + n2 + 1) / (3 * n1 * n2) * deff)
            self._record(draft, i, name, statistic, p, z, df)

        return evidence

    def _record(self, draft: Draft, i: int, name: str, statistic: float, p: float, z: float, df: float) -> None:
        if self.still[i]:
            name, statistic, p, z = "", math.nan, math.nan, math.nan
        draft.df = df
        draft.values |= {"test": name, "statistic": statistic, "p": p, "z": z, "df": df}


def _pick(sums: GroupSums, g: Array, h: Array, rest: bool) -> tuple[Side, Side, Cross, int]:
    if rest:
        cross = sums.against_rest.take(g) if sums.against_rest.ways else Cross()
        return sums.cells.take(g), sums.rests.take(g), cross, len(g)
    return sums.cells.take(g), sums.cells.take(h), sums.between(g, h), len(g)


def _rows_of(members: Members, dense: Array, size: int) -> list[Array]:
    """The rows of each cell that have a value."""
    rows = np.arange(len(members.cells)) if members.rows is None else members.rows
    use = (members.cells >= 0) & (dense[rows] >= 0)
    rows, cells = rows[use], members.cells[use]
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(size + 1))
    return [rows[order[ends[g] : ends[g + 1]]] for g in range(size)]
