"""All two-sided comparisons of one metric, worked out together from their sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from countenance.auditing import ranks, small_groups, tests
from countenance.auditing._dist import quantile
from countenance.auditing.change import ChangeGap, GainAndLoss
from countenance.auditing.comparisons import REST, which, why_untestable
from countenance.auditing.effects import EffectBatch, EffectGap, MeanGap, RankBiserial, RateGap, angle
from countenance.auditing.far_ends import FarEnds
from countenance.auditing.groups import GROUP, SPLIT, UNKNOWN_OR_NOT, Grouping
from countenance.auditing.layout import Column
from countenance.auditing.measured_metric import MeasuredMetric, Summed
from countenance.auditing.minp import Statistic
from countenance.auditing.missing_scores import TOLERATED
from countenance.auditing.permutations import Sampled
from countenance.auditing.row_labels import ComparisonRequest
from countenance.auditing.settings import FEWEST, AuditSettings
from countenance.auditing.sums import Cross, GroupSums, Numbers, Side, concatenate, concatenate_crosses
from countenance.auditing.table import Array

MEAN, RANK, PEOPLE = "mean", "rank", "people"
NO_EFFECT = RankBiserial(math.nan, math.nan)


@dataclass(frozen=True)
class BatchSides:
    """Both sides of some comparisons, and what they share."""

    first: Side
    second: Side
    cross: Cross

    @classmethod
    def picked(cls, sums: GroupSums, g: Array, h: Array, rest: bool) -> BatchSides:
        """Cells g against cells h, or against their rests."""
        if rest:
            cross = sums.against_rest.take(g) if sums.against_rest.ways else Cross()
            only_two = (h >= 0).all()  # with two cells, the rest of each is the other
            return cls(sums.cells.take(g), sums.cells.take(h) if only_two else sums.rests.take(g), cross)
        return cls(sums.cells.take(g), sums.cells.take(h), sums.between(g, h))

    @classmethod
    def joined(cls, parts: list[BatchSides]) -> BatchSides:
        """The comparisons of several groupings, one after the other."""
        sizes = [len(np.atleast_1d(part.first.n)) for part in parts]
        first, second = concatenate([part.first for part in parts]), concatenate([part.second for part in parts])
        return cls(first, second, concatenate_crosses([part.cross for part in parts], sizes))


@dataclass
class Batch:
    """The comparisons of one metric with rest, pairs or reference, as arrays with one element for each."""

    measured: MeasuredMetric
    settings: AuditSettings
    nouns: tuple[str, str]
    """The noun for a unit, in the singular and in the plural."""
    groupings: list[Grouping] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    """For each comparison, its grouping."""
    g: list[int] = field(default_factory=list)
    h: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    _summed: list[tuple[Summed, Array, Array, bool]] = field(default_factory=list)

    def add(self, grouping: Grouping, summed: Summed) -> None:
        """Add the comparisons of one grouping; for splits and unknown values, only those that are large enough."""
        if grouping.kind == GROUP:
            chosen = list(which(summed.sums, grouping, self.settings, self.measured.judged))
        else:
            least = FEWEST if grouping.kind == SPLIT else self.settings.min_n
            chosen = [(0, 1, 1.0)] if (np.asarray(summed.sums.cells.units) >= least).all() else []
        if not chosen:
            return
        g, h = (np.array([pair[i] for pair in chosen]) for i in (0, 1))
        rest = self.settings.comparison == "rest" or grouping.kind != GROUP
        self._summed.append((summed, g, h, rest))
        self.groupings.append(grouping)
        self.place += [len(self.groupings) - 1] * len(chosen)
        self.g += g.tolist()
        self.h += h.tolist()
        self.weight += [pair[2] for pair in chosen]

    def join(self) -> None:
        """Put all comparisons into one array each; find out which of them can be tested."""
        self.sides = BatchSides.joined([BatchSides.picked(s.sums, g, h, rest) for s, g, h, rest in self._summed])
        self.first, self.second, self.cross = self.sides.first, self.sides.second, self.sides.cross
        self.names = [self._names(i) for i in range(len(self.g))]
        self.untestable = why_untestable(self.first, self.second, self.names, self.settings.min_n, self.nouns)
        with np.errstate(all="ignore"):
            still = np.asarray(self.first.constant) & np.asarray(self.second.constant)
            same = np.asarray(self.first.mean) == self.second.mean
        self.still: Array = still & (same | (self.measured.column.kind == "mean"))
        """Neither side varies: there is no p, and the interval decides."""
        fewest = np.minimum(np.asarray(self.first.units), np.asarray(self.second.units))
        self.small: Array = (fewest >= FEWEST) & np.array([bool(why) for why in self.untestable])
        """Too few people for an approximation or an all-clear, and enough for a permutation."""
        self.by_people: Array = self.small & np.concatenate(
            [np.full(len(g), summed.people is not None) for summed, g, _, _ in self._summed]
        )

    def _names(self, i: int) -> tuple[str, str]:
        grouping, g, h = self.groupings[self.place[i]], self.g[i], self.h[i]
        if grouping.kind == UNKNOWN_OR_NOT:
            return grouping.cells[0], REST
        return grouping.cells[g], REST if h < 0 else grouping.cells[h]

    @property
    def large(self) -> Array:
        """Which comparisons have enough people on both sides, and vary."""
        return np.array([not why for why in self.untestable]) & ~self.still

    def test(self, levels: Array) -> None:
        """Test every comparison; `levels` are the strictest that each may have to reach."""
        self.least = np.where(levels < 0.01, tests.SMALLEST_EXPECTED_FAR_OUT, tests.SMALLEST_EXPECTED)
        self.tested = tests.compare(self.measured.column.kind, self.first, self.second, self.cross, self.least)
        self.rank_test = None
        if self.measured.two_statistics:
            parts = [
                BatchSides.picked(s.ranked.sums, g, h, rest) for s, g, h, rest in self._summed if s.ranked is not None
            ]
            sides = BatchSides.joined(parts)
            self.rank_test = tests.means(sides.first, sides.second, sides.cross)
            counts = [np.full(len(g), s.ranked.everybody) for s, g, *_ in self._summed if s.ranked is not None]
            self.ranked: Array = np.concatenate(counts)
            """For each comparison, how many were ranked."""

    # ---- values of shuffled labels

    def statistics(self, first: int, number: Mapping[int, int]) -> Iterator[Statistic]:
        """The statistics of the comparisons; `first`: the place of this batch among all, `number`: of groupings."""
        block = (self.measured.metric, self.measured.kind)
        rows = np.flatnonzero(self.large | (self.small & ~self.by_people & ~self.still))
        if len(rows):
            yield self._of_sums((*block, MEAN), rows, first, number)
        people = np.flatnonzero(self.by_people & ~self.still)
        if len(people):
            yield self._of_people((*block, PEOPLE), people, first, number)
        ranked = np.flatnonzero((self.large | self.small) & ~self.still)
        if self.rank_test is not None and len(ranked):
            yield from self._of_ranks((*block, RANK), ranked, first, number)

    def _requests(
        self, columns: Sequence[Column | None], use: Array, number: Mapping[int, int]
    ) -> Iterator[tuple[ComparisonRequest, Array]]:
        """The comparisons by the column of their grouping, with their positions in the batch."""
        place = np.array([number[id(self.groupings[self.place[i]])] for i in use], dtype=np.int64)
        own = np.array([id(columns[self.place[i]]) for i in use])
        for column in {id(own): own for own in columns if own is not None}.values():
            here = np.flatnonzero(own == id(column))
            order = here[np.argsort(place[here], kind="stable")]
            if len(order):
                chosen = use[order]
                rest = np.array([self._summed[self.place[i]][3] for i in chosen])
                other = np.where(rest, -1, np.array(self.h)[chosen])
                yield ComparisonRequest(column, place[order], np.array(self.g)[chosen], other), chosen

    def _of_sums(self, block: tuple[str, ...], use: Array, first: int, number: Mapping[int, int]) -> Statistic:
        column, least = self.measured.column, self.least
        ((request, chosen),) = self._requests([column] * len(self.groupings), use, number)

        def evaluate(sample: Sampled) -> Array:
            if column.kind == "mean":
                return tests.unskewed(sample.first, sample.second, sample.cross)
            return np.asarray(tests.compare(column.kind, sample.first, sample.second, sample.cross, least[chosen]).p)

        return Statistic(MEAN, block, first + chosen, request, evaluate)

    def _of_ranks(
        self, block: tuple[str, ...], use: Array, first: int, number: Mapping[int, int]
    ) -> Iterator[Statistic]:
        columns = [None if summed.ranked is None else summed.ranked.column for summed, *_ in self._summed]
        for request, chosen in self._requests(columns, use, number):
            yield Statistic(RANK, block, first + chosen, request, _rank_p)

    def _of_people(self, block: tuple[str, ...], use: Array, first: int, number: Mapping[int, int]) -> Statistic:
        columns = [None if summed.people is None else summed.people.column for summed, *_ in self._summed]
        ((request, chosen),) = self._requests(columns, use, number)
        variance = self.people_gap(chosen)[1]

        def evaluate(sample: Sampled) -> Array:
            return small_groups.two_sided(small_groups.distance(sample.first, sample.second), variance)

        return Statistic(PEOPLE, block, first + chosen, request, evaluate)

    def people_gap(self, use: Array) -> tuple[Array, Array]:
        """The differences of people's means in some comparisons, and their variances, for groups of few people."""
        gaps, variances = [], []
        for summed, g, h, rest in self._summed:
            if summed.people is None:
                gaps.append(np.full(len(g), np.nan))
                variances.append(np.full(len(g), np.nan))
                continue
            sides = BatchSides.picked(summed.people.sums, g, h, rest)
            spreads = BatchSides.picked(summed.people.spreads, g, h, rest)
            gaps.append(small_groups.distance(sides.first, sides.second))
            with np.errstate(all="ignore"):
                parts = [
                    np.asarray(s.total) / np.asarray(s.n, dtype=float) ** 2 for s in (spreads.first, spreads.second)
                ]
            variances.append(parts[0] + parts[1])
        return np.concatenate(gaps)[use], np.concatenate(variances)[use]

    def permuted(self, i: int, draws: int) -> float:
        """The p of one comparison of few people, by permutation of their labels alone."""
        place = self.place[i]
        summed, g, h = self._summed[place][0], self.g[i], self.h[i]
        few = summed.people
        if few is None:
            return math.nan
        if self.measured.column.kind == "rate" and bool(
            np.asarray(self.first.alone)[i] & np.asarray(self.second.alone)[i]
        ):
            ones, n = float(self.first.total[i]), float(self.first.n[i])
            return small_groups.exact_p(ones, n, ones + float(self.second.total[i]), n + float(self.second.n[i]))
        inside = np.zeros(len(few.away), dtype=bool)
        inside[few.members[g]] = True
        other = np.zeros(len(few.away), dtype=bool)
        for cell in range(len(few.members)) if self._summed[place][3] else [h]:
            other[few.members[cell]] = True
        use = (inside | other) & ~np.isnan(few.away)
        return small_groups.permutation_p(few.away[use], few.strata[use], inside[use], draws, self.settings.seed)

    # ---- intervals

    def intervals(self) -> list[Array]:
        """Low, high and design effect of the first sides, then of the second, as displayed."""
        parts: list[list[Array]] = [[] for _ in range(6)]
        for summed, g, h, rest in self._summed:
            against_rest = rest and (h < 0).any()
            other = summed.intervals.rests if against_rest else summed.intervals.cells
            for k in range(3):
                parts[k].append(summed.intervals.cells[k][g])
                parts[3 + k].append(other[k][g if against_rest else h])
        return [np.concatenate(part) for part in parts]

    @property
    def gap(self) -> EffectGap:
        """The differences with their intervals; the deciding interval also holds if every missing score is wrong."""
        kind, ends = self.measured.column.kind, self.measured.ends
        shown = gap_of(kind, self.sides, self.tested, ends)
        further = []
        for index in range(len(self.measured.wrong)):
            parts = [BatchSides.picked(summed.wrong[index], g, h, rest) for summed, g, h, rest in self._summed]
            sides = BatchSides.joined(parts)
            further.append(gap_of(kind, sides, tests.compare(kind, sides.first, sides.second, sides.cross), ends))
        return EffectBatch((shown, *further)) if further else shown

    @property
    def too_much_missing(self) -> Array:
        """Which comparisons lack so many scores of a metric without bounds that nothing can be ruled out."""
        if self.measured.missing is None or self.measured.ends is not None:
            return np.zeros(len(self.g), dtype=bool)
        parts = [BatchSides.picked(s.missing, g, h, rest) for s, g, h, rest in self._summed if s.missing is not None]
        shares = BatchSides.joined(parts)
        with np.errstate(all="ignore"):
            return np.asarray(np.fmax(np.asarray(shares.first.mean), np.asarray(shares.second.mean)) > TOLERATED)

    def effects(self, gap: EffectGap) -> tuple[Array, Array, Array]:
        """Cohen's h of rates, rank-biserial correlations of other metrics, with intervals."""
        alpha = self.settings.alpha
        gap = gap.gaps[0] if isinstance(gap, EffectBatch) else gap
        if isinstance(gap, RateGap):
            low, high = gap.h(alpha)
            return angle(gap.p1) - angle(gap.p2), np.asarray(low), np.asarray(high)
        parts = [self._rank_effects(*sums, alpha) for sums in self._summed]
        r, low, high = (np.concatenate([part[k] for part in parts]) for k in range(3))
        return r, low, high

    def _rank_effects(self, summed: Summed, g: Array, h: Array, rest: bool, alpha: float) -> tuple[Array, Array, Array]:
        ranked = summed.ranked
        if ranked is None:
            return (np.full(len(g), np.nan),) * 3
        if rest or ranked.dense is None:
            sides = BatchSides.picked(ranked.among_known, g, h, rest)
            return ranks.against_rest(sides.first, sides.second, sides.cross, ranked.total, alpha)
        pairs = [(ranked.members[a], ranked.members[b]) for a, b in zip(g, h, strict=True)]
        each = [
            ranks.between(ranked.dense, first, second, ranked.clusters) if len(first) and len(second) else NO_EFFECT
            for first, second in pairs
        ]
        r = np.array([effect.r for effect in each])
        half = quantile(1 - alpha / 2) * np.sqrt([effect.variance for effect in each])
        return r, np.maximum(r - half, -1.0), np.minimum(r + half, 1.0)


def _rank_p(sample: Sampled) -> Array:
    return np.asarray(tests.means(sample.first, sample.second, sample.cross).p)


def gap_of(kind: str, sides: BatchSides, tested: tests.Tested, ends: tuple[float, float] | None) -> EffectGap:
    """The differences of two sides, with the intervals that suit the kind of metric."""
    first, second = sides.first, sides.second
    iccs = tests.correlations([first, second])
    if kind == "change":
        return ChangeGap(GainAndLoss.of(first, iccs), GainAndLoss.of(second, iccs), tested.rho)
    far = (None, None) if ends is None else tuple(FarEnds(side, ends, kind == "rate") for side in (first, second))
    mean1, mean2 = np.asarray(first.mean), np.asarray(second.mean)
    if kind == "rate":
        solo = np.isinf(np.asarray(tested.df))
        df1, df2 = (np.where(solo, np.inf, np.maximum(side.effective - 1, 0.5)) for side in (first, second))
        return RateGap(mean1, tested.n1, mean2, tested.n2, df1, df2, tested.rho, far)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        covariance: Numbers = tested.rho * np.sqrt(tested.v1 * tested.v2)
        still = np.asarray(first.constant) & np.asarray(second.constant) & (ends is None)
    se = np.where(still, np.nan, tested.se)
    return MeanGap(mean1, mean2, se, tested.df, covariance, far)  # type: ignore[arg-type]
