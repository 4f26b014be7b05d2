"""The adjustment for many comparisons: min-p over shuffled labels, Holm's, or Benjamini and Hochberg's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from countenance.auditing import minp
from countenance.auditing.batch import PEOPLE, Batch
from countenance.auditing.comparisons import Draft
from countenance.auditing.computed_groups import Ratios
from countenance.auditing.drafting import draws_needed, few_people_p
from countenance.auditing.groups import Grouping
from countenance.auditing.multiplicity import benjamini_hochberg, family_of, holm
from countenance.auditing.row_sums import RowSums
from countenance.auditing.settings import AuditSettings
from countenance.auditing.small_groups import strata_of
from countenance.auditing.table import Array


class Compared(NamedTuple):
    """The input of min-p: the comparisons by metric, the groups, their sums, and numbers that rows do not give."""

    batches: Sequence[Batch]
    groupings: Sequence[Grouping]
    sums: RowSums
    computed: Sequence[Ratios]
    shared_scenes: str
    twins: bool


class Adjustment:
    """The adjustment of one audit; `by` is the method used, `why` the reason if it is not min-p."""

    def __init__(self, settings: AuditSettings) -> None:
        self.settings = settings
        self.by, self.why, self.permutations = settings.adjust, "", 0

    def of(self, compared: Compared, drafts: Sequence[Draft]) -> tuple[Array, Array, float]:
        """Adjusted p of all drafts, the level that each must reach, and the smallest possible p."""
        if self.settings.adjust == "minp":
            self.why = minp.why_not(self.settings, compared.sums, compared.groupings, compared.shared_scenes)
            if compared.twins and not self.why:
                self.why = "twins are compared in pairs, whose labels are not shuffled"
            if not self.why:
                shuffling = self._shuffling(compared)
                self.why = shuffling.too_much(self.settings.alpha)
                if not self.why:
                    return self._shuffled(shuffling, drafts) if shuffling.statistics else self.plain(drafts)
        self._decide(compared.batches, drafts)
        return self.plain(drafts)

    def _shuffling(self, compared: Compared) -> minp.Shuffling:
        number = {id(grouping): i for i, grouping in enumerate(compared.groupings)}
        statistics, first = [], 0
        for batch in compared.batches:
            statistics += list(batch.statistics(first, number))
            first += len(batch.g)
        for ratios in compared.computed:
            own = ratios.statistic(first, self.settings.seed)
            statistics += [] if own is None else [own]
            first += len(ratios.pairs)
        small = any(statistic.name == PEOPLE for statistic in statistics)
        strata = strata_of(compared.sums.layouts[0].sizes) if small else None
        return minp.Shuffling(compared.sums, compared.groupings, statistics, len(compared.batches), strata)

    def _shuffled(self, shuffling: minp.Shuffling, drafts: Sequence[Draft]) -> tuple[Array, Array, float]:
        names = np.array([family_of(draft.values, self.settings.families) for draft in drafts])
        families = [np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())]
        adjusted = shuffling.adjust(families, len(drafts), self.settings)
        self.permutations = adjusted.permutations
        for draft, name, p, level in zip(drafts, adjusted.decided, adjusted.raw, adjusted.raw_levels, strict=True):
            if name:
                draft.decide(name, float(p))
                draft.raw_level = float(level)
        levels = adjusted.levels
        for family in families:  # a comparison that does not vary has no test, but would have one if it did
            tested = int((~np.isnan(adjusted.p[family])).sum())
            levels[family] = np.where(np.isnan(levels[family]), self.settings.alpha / (tested + 1), levels[family])
        return adjusted.p, levels, 1 / (adjusted.permutations + 1)

    def _decide(self, batches: Sequence[Batch], drafts: Sequence[Draft]) -> None:
        """Decide comparisons whose labels are not shuffled: the p is the smallest of all tests, times their number."""
        tested = sum(bool(draft.tests) for draft in drafts)
        start = 0
        for batch in batches:
            for i, p in few_people_p(batch, draws_needed(self.settings.alpha, tested)).items():
                draft = drafts[start + i]
                draft.tests[PEOPLE] = draft.tests[PEOPLE].with_p(p)
            start += len(batch.g)
        for draft in drafts:
            if draft.untestable:  # approximations are inaccurate with few people
                draft.tests = {name: test for name, test in draft.tests.items() if name == PEOPLE}
            if draft.tests:
                draft.decide(*draft.doubled)

    def plain(self, drafts: Sequence[Draft]) -> tuple[Array, Array, float]:
        """Holm's or Benjamini and Hochberg's adjustment, and the strictest level that a comparison may need."""
        if self.settings.adjust == "minp":
            self.by = "holm"
            if self.settings.comparison in ("spread", "paired"):
                self.why = minp.NOT_FOR.format(self.settings.comparison)
        names = [family_of(draft.values, self.settings.families) for draft in drafts]
        weights = np.array([draft.weight for draft in drafts])
        p = np.array([math.nan if draft.repeats else self._own_p(draft) for draft in drafts], dtype=float)
        p = np.minimum(p * weights, 1.0)
        adjusted, levels = np.full(len(drafts), math.nan), np.full(len(drafts), math.nan)
        for name in dict.fromkeys(names):
            here = np.array([n == name for n in names])
            attainable = [draft.attainable for draft, own in zip(drafts, here, strict=True) if own]
            adjusted[here] = benjamini_hochberg(p[here]) if self.by == "bh" else holm(p[here], attainable)
            size = max(int((~np.isnan(p[here])).sum()), 1)
            each = np.array([max(len(draft.tests), 1) for draft, own in zip(drafts, here, strict=True) if own])
            levels[here] = self.settings.alpha / size / weights[here] / each
        place = {id(draft): i for i, draft in enumerate(drafts)}
        for i, draft in enumerate(drafts):
            if draft.repeats is not None:
                adjusted[i] = adjusted[place[id(draft.repeats)]]
        return adjusted, levels, 0.0

    @staticmethod
    def _own_p(draft: Draft) -> float:
        tested = not draft.untestable or (draft.small and bool(draft.tests))
        return float(draft.values.get("p", math.nan)) if tested else math.nan
