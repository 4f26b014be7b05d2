"""The comparisons of one audit as they are made: estimates, drafts, adjustment, findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countenance.audit import minp, ranks, spread, tests
from countenance.audit.batch import Batch
from countenance.audit.cautions import cautions
from countenance.audit.comparisons import Draft
from countenance.audit.estimates import interval, within_bounds
from countenance.audit.finding import Estimate, Finding
from countenance.audit.from_rows import RowSums
from countenance.audit.groups import Grouping, Members, group, subsets
from countenance.audit.layout import Column
from countenance.audit.multiplicity import benjamini_hochberg, family_of, holm
from countenance.audit.paired import paired
from countenance.audit.rows import Rows
from countenance.audit.settings import Judged, Settings
from countenance.audit.sums import GroupSums, Side
from countenance.audit.table import UNKNOWN, Array
from countenance.audit.verdict import concluded
from countenance.errors import InputError

MOST_COMPARISONS = 50_000


class Work:
    """One audit at work."""

    def __init__(self, rows: Rows, settings: Settings, judged: Mapping[str, Judged], depth: int) -> None:
        self.rows, self.settings, self.judged, self.depth = rows, settings, judged, depth
        self.nouns = rows.units.nouns
        self.bounded = dict(zip(rows.metrics, rows.bounded, strict=True))
        self.excluded: list[dict[str, Any]] = []
        self.groups: list[Estimate] = []
        self.notes: list[str] = []
        self.adjusted_by, self.adjust_why, self.permutations = settings.adjust, "", 0
        self.sums = RowSums(rows.attributes, rows.units, rows.size, rows.weights)
        chosen = rows.chosen
        wanted = list(dict.fromkeys([*subsets(chosen.single, depth), *chosen.crosses]))
        wanted.sort(key=len)
        named = {(i,) for i in chosen.single} | set(chosen.crosses)
        self.groupings = group(rows.attributes, wanted, named, rows.size, 10 * settings.max_groups)
        self.named = [grouping.name for grouping in self.groupings if grouping.named]

    def estimates(self) -> list[Estimate]:
        """Every group's number with its interval, without tests."""
        for grouping in self.groupings:
            members = grouping.members(self.rows.attributes, self.rows.size)
            for column in self.rows.columns:
                self._estimate(grouping, members, column, self.sums.of(grouping, members, column))
        return self.groups

    def findings(self) -> list[Finding]:
        """Every comparison with its verdict."""
        self._limit()
        comparison = self.settings.comparison
        if comparison == "paired":
            drafts = self._paired()
            return self._conclude(drafts, *self._plain(drafts))
        if comparison == "spread":
            drafts = self._spreads()
            return self._conclude(drafts, *self._plain(drafts))
        return self._two_sided()

    # ---- groups and their numbers

    def _limit(self) -> None:
        sizes = [len(g.cells) for g in self.groupings]
        each = [n * (n - 1) // 2 if self.settings.comparison == "pairs" else n for n in sizes]
        count = sum(each) * len(self.rows.metrics)
        if count > MOST_COMPARISONS and self.settings.comparison != "spread":
            raise InputError(
                f"{count:,} comparisons, more than {MOST_COMPARISONS:,}; lower depth, name fewer attributes "
                "or metrics, or merge groups"
            )

    def _estimate(self, grouping: Grouping, members: Members, column: Column, sums: GroupSums) -> None:
        """Note the numbers of a grouping's groups, of the unknown too, and of what cannot be compared."""
        cells, alpha = sums.cells, self.settings.alpha
        each = [cells.take(g) for g in range(len(grouping.cells))]
        iccs = tests.correlations(each) if each else []
        heavy = self._kurtosis(column)
        if each:
            with np.errstate(all="ignore"):
                n = np.asarray(cells.n, dtype=float)
                row = np.nansum(n * cells.spread) / n.sum()
            low, high, deff = interval(cells, column.kind, alpha, iccs, row, heavy)
            low, high = within_bounds(self.bounded[column.name], low, high)
            for g, name in enumerate(grouping.cells):
                bounds = float(low[g]), float(high[g]), float(deff[g])
                self._note(column, grouping, name, each[g], bounds)
        if grouping.depth == 1:
            self._unknown(grouping, members, column)
        if len(grouping.cells) < 2:
            only = grouping.cells[0] if grouping.cells else UNKNOWN
            what = "one group only" if grouping.cells else "no known values"
            why = f"{grouping.name} has {what}: nothing to compare with"
            side = each[0] if each else None
            counts = (int(side.n), int(side.units)) if side is not None else (0, 0)
            self._exclude(column.name, grouping.name, only, *counts, why, untested=grouping.named)

    def _note(
        self, column: Column, grouping: Grouping, name: str, side: Side, bounds: tuple[float, float, float]
    ) -> None:
        self.groups.append(
            Estimate(
                metric=column.name, kind=column.kind, attribute=grouping.name, group=name, n=int(side.n),
                clusters=int(side.units), estimate=float(side.mean), low=bounds[0], high=bounds[1], deff=bounds[2],
                depth=grouping.depth, note="" if side.n else "no units",
            )
        )  # fmt: skip

    def _unknown(self, grouping: Grouping, members: Members, column: Column) -> None:
        known = members.known(self.rows.size)
        if known.all():
            return
        cells = -known.astype(np.int32)  # -1: in no cell
        one = Grouping(grouping.attributes, grouping.name, [UNKNOWN], np.array([0]))
        side = self.sums.of(one, Members(cells), column).cells.take(0)
        low, high, deff = interval(side, column.kind, self.settings.alpha)
        self._note(column, grouping, UNKNOWN, side, (*within_bounds(self.bounded[column.name], low, high), deff))
        why = "unknown values are shown, not tested"
        self._exclude(column.name, grouping.name, UNKNOWN, int(side.n), int(side.units), why)

    def _exclude(
        self, metric: str, attribute: str, group: str, n: int, clusters: int, why: str, *, untested: bool = False
    ) -> None:
        self.excluded.append(
            {
                "metric": metric, "attribute": attribute, "group": group, "n": n, "clusters": clusters, "why": why,
                "alarming": False, "untested": untested,
            }
        )  # fmt: skip

    def _kurtosis(self, column: Column) -> float:
        if column.kind == "rate":
            return 3.0
        kept = self.__dict__.setdefault("_heavy", {})
        if column.name not in kept:
            shape = column.shape
            kept[column.name] = ranks.kurtosis(column.values) if shape is None else shape.kurtosis
        return float(kept[column.name])

    # ---- comparisons of two sides

    def _two_sided(self) -> list[Finding]:
        batches = [
            Batch(
                column,
                self.judged[column.name],
                self.bounded[column.name],
                self.settings,
                self.nouns[1],
                self._kurtosis(column),
            )
            for column in self.rows.columns
        ]
        self.dense: dict[str, Array] = {}
        for grouping in self.groupings:
            self._compare(batches, grouping)
        batches = [batch for batch in batches if batch.g]
        for batch in batches:
            batch.join()
        names, sizes = self._families(batches)
        for batch, own in zip(batches, names, strict=True):
            sized = np.array([sizes[name] for name in own])
            batch.test(self.settings.alpha / np.maximum(sized, 1) / np.array(batch.weight))
        drafts = [draft for batch in batches for draft in batch.drafts(batch.column.values + batch.column.centre)]
        self.notes += cautions(batches, self.nouns[1], self.settings.alpha)
        if self.settings.adjust == "minp":
            self.adjust_why = minp.why_not(self.settings, self.sums, batches, self.rows.shared_scenes)
        shuffled = self.settings.adjust == "minp" and not self.adjust_why
        if shuffled and any(batch.tested.any() for batch in batches):
            found = self._conclude(drafts, *self._minp(batches, drafts))
        else:
            found = self._conclude(drafts, *self._plain(drafts))
        place = {name: i for i, name in enumerate(self.rows.metrics)}
        order = {grouping.name: i for i, grouping in enumerate(self.groupings)}
        return sorted(found, key=lambda f: (order[f.attribute], place[f.metric]))

    def _compare(self, batches: Sequence[Batch], grouping: Grouping) -> None:
        """Sum all metrics over one grouping, and their ranks where those are needed; take up the comparisons."""
        rest = self.settings.comparison == "rest"
        members = grouping.members(self.rows.attributes, self.rows.size)
        several = len(grouping.cells) > 1
        ranked = [batch for batch in batches if batch.needs_ranks and several]
        for batch in ranked:
            if batch.column.name not in self.dense and batch.column.counts is None:
                self.dense[batch.column.name] = ranks.dense_ranks(batch.column.values)
        columns = [batch.column for batch in batches]
        if rest:
            known = members.known(self.rows.size)
            columns += [self._ranks(batch.column, grouping, known) for batch in ranked]
        sums = self.sums.of_each(grouping, members, columns, pairs=not rest)
        of_ranks = {batch.column.name: sums[len(batches) + i] for i, batch in enumerate(ranked)} if rest else {}
        for batch, own in zip(batches, sums, strict=False):
            self._estimate(grouping, members, batch.column, own)
            if several:
                name = batch.column.name
                batch.add(grouping, own, of_ranks.get(name), members, self.dense.get(name), self.rows.units.codes)

    def _ranks(self, column: Column, grouping: Grouping, known: Array) -> Column:
        """A metric's ranks among the rows that are known; one ranking serves all groupings that know every row."""
        if column.counts is not None:
            return self.rows.ranked[column.name, self.rows.unknown & set(grouping.attributes)]
        if not known.all():
            return ranks.rank_column(column, self.dense[column.name], known)
        kept: dict[str, Column] = self.__dict__.setdefault("_ranked", {})
        if column.name not in kept:
            kept[column.name] = ranks.rank_column(column, self.dense[column.name], known)
        return kept[column.name]

    def _families(self, batches: Sequence[Batch]) -> tuple[list[list[str]], dict[str, int]]:
        """The family of every comparison, and how many tested comparisons each family has."""
        names: list[list[str]] = []
        sizes: dict[str, int] = {}
        for batch in batches:
            own = []
            for i, place in enumerate(batch.place):
                grouping = batch.groupings[place]
                values = {
                    "metric": batch.column.name, "attribute": grouping.name, "depth": grouping.depth,
                    "comparison": self.settings.comparison,
                }  # fmt: skip
                own.append(family_of(values, self.settings.families))
                sizes[own[-1]] = sizes.get(own[-1], 0) + int(batch.tested[i])
            names.append(own)
        return names, sizes

    def _minp(self, batches: Sequence[Batch], drafts: Sequence[Draft]) -> tuple[Array, Array, float]:
        tested = np.concatenate([batch.tested for batch in batches])
        names = np.array([family_of(draft.values, self.settings.families) for draft in drafts])[tested]
        families = [np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())]
        found = minp.adjust(batches, self.sums, families, self.settings)
        self.permutations = found.permutations
        adjusted, levels = np.full(len(drafts), math.nan), np.full(len(drafts), math.nan)
        adjusted[tested], levels[tested] = found.p, found.levels
        return adjusted, levels, 1 / (found.permutations + 1)

    # ---- spread and paired

    def _paired(self) -> list[Draft]:
        drafts = []
        for grouping in self.groupings:
            members = grouping.members(self.rows.attributes, self.rows.size)
            for index, column in enumerate(self.rows.columns):
                self._estimate(grouping, members, column, self.sums.of(grouping, members, column))
                if len(grouping.cells) < 2:
                    continue
                made, out = paired(self.rows, grouping.attributes[0], index, self.judged[column.name], self.settings)
                drafts += made
                for called, n, count, why in out:
                    self._exclude(column.name, grouping.name, called, n, count, why)
        return drafts

    def _spreads(self) -> list[Draft]:
        found = []
        for grouping in self.groupings:
            members = grouping.members(self.rows.attributes, self.rows.size)
            for column in self.rows.columns:
                sums = self.sums.of(grouping, members, column)
                self._estimate(grouping, members, column, sums)
                if len(grouping.cells) < 2:
                    continue
                chosen, out = spread.chosen_cells(grouping, sums, self.settings.min_n, self.nouns[1])
                for called, n, count, why in out:
                    self._exclude(column.name, grouping.name, called, n, count, why, untested=True)
                if len(chosen) > 1:
                    found.append(spread.Spread(grouping, sums, column, self.judged[column.name], chosen))
        if not found:
            return []
        sizes: dict[str, int] = {}
        names = []
        for one in found:
            values = {"metric": one.column.name, "attribute": one.grouping.name, "depth": one.grouping.depth}
            names.append(family_of(values | {"comparison": "spread"}, self.settings.families))
            sizes[names[-1]] = sizes.get(names[-1], 0) + 1
        nulls, note = spread.shuffled(found, self.sums, self.settings, max(sizes.values()))
        self.notes += [note] if note else []
        self.permutations = len(nulls[0][0])
        levels = [self.settings.alpha / sizes[name] for name in names]
        return [
            spread.draft(one, null, self.settings, level) for one, null, level in zip(found, nulls, levels, strict=True)
        ]

    # ---- adjustment and verdict

    def _plain(self, drafts: Sequence[Draft]) -> tuple[Array, Array, float]:
        """Holm's or Benjamini and Hochberg's adjustment, and the level each comparison must reach at worst."""
        if self.settings.adjust == "minp":
            self.adjusted_by = "holm"
            if self.settings.comparison in ("spread", "paired"):
                self.adjust_why = minp.NOT_FOR.format(self.settings.comparison)
        names = [family_of(draft.values, self.settings.families) for draft in drafts]
        weights = np.array([draft.weight for draft in drafts])
        p = np.array([math.nan if d.untestable else d.values.get("p", math.nan) for d in drafts], dtype=float)
        p = np.minimum(p * weights, 1.0)
        adjusted, levels = np.full(len(drafts), math.nan), np.full(len(drafts), math.nan)
        rule = benjamini_hochberg if self.adjusted_by == "bh" else holm
        for name in dict.fromkeys(names):
            here = np.array([n == name for n in names])
            adjusted[here] = rule(p[here])
            size = max(int((~np.isnan(p[here])).sum()), 1)
            levels[here] = self.settings.alpha / size / weights[here]
        return adjusted, levels, 0.0

    def _conclude(self, drafts: Sequence[Draft], adjusted: Array, levels: Array, floor: float) -> list[Finding]:
        self.drafts, self.levels = list(drafts), levels
        names = [family_of(draft.values, self.settings.families) for draft in drafts]
        sizes: dict[str, int] = {}
        for name, p in zip(names, adjusted, strict=True):
            sizes[name] = sizes.get(name, 0) + (not math.isnan(p))
        return [
            concluded(draft, float(p), float(level), name, sizes[name], self.settings, self.nouns, floor)
            for draft, p, level, name in zip(drafts, adjusted, levels, names, strict=True)
        ]
