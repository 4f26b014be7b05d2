"""From the sums of comparisons to their numbers: estimates, intervals, effects, and the tests that may decide."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from countenance.auditing import tests
from countenance.auditing.batch import MEAN, PEOPLE, RANK, Batch
from countenance.auditing.comparisons import Draft, Test, direction
from countenance.auditing.effects import EffectGap, equivalence
from countenance.auditing.groups import GROUP
from countenance.auditing.measured_metric import MISSING
from countenance.auditing.missing_scores import LACKING
from countenance.auditing.ranks import skewness
from countenance.auditing.ratio import TWICE, failure_ratios, ratio
from countenance.auditing.table import Array


def drafts_of(batch: Batch) -> list[Draft]:
    """Every comparison of a batch with its numbers."""
    return _Numbers(batch).drafts()


class _Numbers:
    """The numbers of all comparisons of a batch, as arrays."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.measured, self.settings = batch, batch.measured, batch.settings
        self.kind = batch.measured.column.kind
        self.low1, self.high1, self.deff1, self.low2, self.high2, self.deff2 = batch.intervals()
        self.mean1, self.mean2 = np.asarray(batch.first.mean), np.asarray(batch.second.mean)
        self.n1, self.n2 = np.asarray(batch.first.n, dtype=float), np.asarray(batch.second.n, dtype=float)
        gap: EffectGap = batch.gap
        alpha, delta = self.settings.alpha, self.measured.judged.delta
        with np.errstate(all="ignore"):
            self.diff_low, self.diff_high = gap.difference(alpha)
            self.low_decides, self.high_decides = gap.decisive(alpha)
            self.smaller, self.p_equivalence = equivalence(gap, math.nan if delta is None else delta, alpha)
            self.effect, self.effect_low, self.effect_high = batch.effects(gap)
            self.row = (self.n1 * batch.first.spread + self.n2 * batch.second.spread) / (self.n1 + self.n2)
        self.lacking = batch.too_much_missing
        self.ratios = self._ratios()
        self.people_gaps = batch.people_gap(np.arange(len(batch.g)))[0] if batch.by_people.any() else None

    def _ratios(self) -> tuple[Array, Array, Array, Array] | None:
        if self.kind != "rate":
            return None
        limits = (self.low1, self.high1), (self.low2, self.high2)
        return failure_ratios((self.mean1, self.mean2), limits, self.measured.judged.better)

    def drafts(self) -> list[Draft]:
        """A draft for each comparison."""
        evidence = self._rates() if self.kind == "rate" else self._means()
        drafts = []
        for i in range(len(self.batch.g)):
            draft = self._draft(i)
            drafts.append(draft)
            if self.n1[i] and self.n2[i]:
                self._difference(draft, i)
                evidence(draft, i)
                draft.tests = {} if self.batch.still[i] else self._tests(i)
        return drafts

    def _draft(self, i: int) -> Draft:
        batch, grouping = self.batch, self.batch.groupings[self.batch.place[i]]
        group, versus = batch.names[i]
        kind = MISSING if self.measured.kind == MISSING else grouping.kind
        return Draft(
            {
                "metric": self.measured.metric,
                "attribute": grouping.name,
                "group": group,
                "versus": versus,
                "kind": kind if kind != "unknown" else GROUP,
                "comparison": self.settings.comparison,
                "n": int(self.n1[i]),
                "clusters": int(batch.first.units[i]),
                "n_versus": int(self.n2[i]),
                "clusters_versus": int(batch.second.units[i]),
                "estimate": float(self.mean1[i]),
                "low": float(self.low1[i]),
                "high": float(self.high1[i]),
                "estimate_versus": float(self.mean2[i]),
                "low_versus": float(self.low2[i]),
                "high_versus": float(self.high2[i]),
                "deff": float(self.deff1[i]),
                "deff_versus": float(self.deff2[i]),
                "metric_kind": self.kind,
                "depth": grouping.depth,
                "effect_name": "h" if self.kind == "rate" else "rank-biserial",
                "small_group": bool(batch.small[i]),
            },
            self.measured.judged,
            untestable=batch.untestable[i],
            small=bool(batch.small[i]),
            weight=batch.weight[i],
            named=grouping.named,
            unclear=LACKING.format(self.measured.metric) if self.lacking[i] else "",
        )

    def _difference(self, draft: Draft, i: int) -> None:
        judged, large = self.measured.judged, not self.batch.untestable[i]
        draft.values |= {
            "difference": float(self.mean1[i] - self.mean2[i]),
            "diff_low": float(self.diff_low[i]),
            "diff_high": float(self.diff_high[i]),
            "effect": float(self.effect[i]),
            "effect_low": float(self.effect_low[i]),
            "effect_high": float(self.effect_high[i]),
            "low_equivalence": float(self.low_decides[i]),
            "high_equivalence": float(self.high_decides[i]),
        }
        draft.values["direction"] = direction(draft.values["difference"], judged.better)
        draft.smaller = bool(self.smaller[i]) and large and not draft.unclear
        draft.p_equivalence = float(self.p_equivalence[i])
        draft.severity_effect = abs(draft.values["effect"])
        if self.ratios is not None:
            value, low, high, rare = (part[i] for part in self.ratios)
            draft.rare = bool(rare) and (draft.severity_effect >= self.settings.h0 or bool(low > TWICE))
            if judged.better is not None:
                draft.values["failure_ratio"] = ratio(value, low, high)

    def _tests(self, i: int) -> dict[str, Test]:
        """The tests that may decide: of means, of ranks, of few people by permutation."""
        batch, tested = self.batch, self.batch.tested
        sign = float(self.mean1[i] - self.mean2[i])
        alone = bool(np.asarray(batch.first.alone)[i]) and bool(np.asarray(batch.second.alone)[i])
        value, p, z, df = (float(np.asarray(part)[i]) for part in (tested.z, tested.p, tested.z, tested.df))
        if self.kind == "rate":
            name = "two-proportion z" if alone else "two-proportion z (Rao-Scott)"
            if np.asarray(tested.exact)[i]:
                name, value = "Fisher's exact" if alone else "Fisher's exact (effective counts)", float(self.odds[i])
        else:
            name = "Welch t" if alone else "Welch t (cluster-robust)"
        choice = {MEAN: Test(name, value, p, z, df, sign)}
        if batch.by_people[i] and self.people_gaps is not None:
            gap = float(self.people_gaps[i])
            choice = {PEOPLE: Test("permutation of people's means", gap, math.nan, sign=gap)}
        if batch.rank_test is not None:
            of_ranks = [
                float(np.asarray(part)[i]) for part in (batch.rank_test.z, batch.rank_test.p, batch.rank_test.df)
            ]
            name = "Welch t of ranks"
            choice[RANK] = Test(name, of_ranks[0], of_ranks[1], of_ranks[0], of_ranks[2], float(self.effect[i]))
        return choice

    def _rates(self) -> Callable[[Draft, int], None]:
        """A function that gives a draft what power and sizes of two rates need."""
        batch, tested = self.batch, self.batch.tested
        # Where nothing varies, pictures of a person may be as alike as any: each person is one trial.
        most1 = np.where(batch.still, np.asarray(batch.first.effective), math.inf)
        most2 = np.where(batch.still, np.asarray(batch.second.effective), math.inf)
        n1, n2 = np.minimum(tested.n1, most1), np.minimum(tested.n2, most2)
        with np.errstate(all="ignore"):
            unit = np.sqrt(tests.joint(1 / n1, 1 / n2, tested.rho))
            wrong = (self.n1 - batch.first.total) * batch.second.total
            self.odds = batch.first.total * (self.n2 - batch.second.total) / wrong
            share = tested.v1 / (tested.v1 + tested.v2)
            worth = unit**2 / (1 / n1 + 1 / n2)

        def evidence(draft: Draft, i: int) -> None:
            draft.unit, draft.share, draft.df = float(unit[i]), float(share[i]), float(tested.df[i])
            draft.sizes = float(n1[i] / worth[i]), float(n2[i] / worth[i])
            draft.se = draft.values["se"] = float(np.asarray(tested.se)[i])

        return evidence

    def _means(self) -> Callable[[Draft, int], None]:
        """A function that gives a draft what power and sizes of two means, and of their ranks, need."""
        tested, by_rank = self.batch.tested, self.batch.rank_test
        with np.errstate(all="ignore"):
            share = tested.v1 / (tested.v1 + tested.v2)
            unit = None if by_rank is None else np.asarray(by_rank.se) * 2 / self.batch.ranked
            tail = self._tail() * tested.v1 / self.row

        def evidence(draft: Draft, i: int) -> None:
            draft.unit = math.nan if unit is None else float(unit[i])
            draft.tail = float(tail[i]) if np.isfinite(tail[i]) else 0.0
            draft.se = draft.values["se"] = float(np.asarray(tested.se)[i])
            draft.share, draft.sd, draft.df = float(share[i]), math.sqrt(float(self.row[i])), float(tested.df[i])

        return evidence

    def _tail(self) -> Array:
        """The growth of a row's variance with a difference that comes from more rows in the long tail.

        It is the third moment over the variance, at most the distance of the tail's end; 0 for a metric without ends.
        """
        if self.measured.ends is None or self.kind != "mean":
            return np.zeros(len(self.mean2))
        skewed = skewness(self.measured.column)
        end = self.measured.ends[int(skewed > 0)]
        return np.asarray(np.minimum(abs(skewed) * np.sqrt(self.row), np.abs(end - self.mean2)))


def few_people_p(batch: Batch, draws: int) -> dict[int, float]:
    """The p of comparisons of few people, each by its own permutations, where labels are not shuffled for all."""
    return {int(i): batch.permuted(int(i), draws) for i in np.flatnonzero(batch.by_people & ~batch.still)}


def draws_needed(alpha: float, comparisons: int) -> int:
    """The number of permutations with which p can fall well below the level of a family of this size.

    >>> draws_needed(0.05, 10), draws_needed(0.05, 500)
    (2000, 40000)
    """
    return int(min(max(2000, math.ceil(4 * comparisons / alpha)), 200_000))
