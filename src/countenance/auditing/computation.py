"""The comparisons of one audit as they are made: estimates, drafts, adjustment, findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countenance.auditing import ranks, spread
from countenance.auditing.adjustment import Adjustment, Compared
from countenance.auditing.batch import Batch
from countenance.auditing.cautions import cautions
from countenance.auditing.comparisons import Draft
from countenance.auditing.computed_groups import Ratios
from countenance.auditing.derived_groupings import with_derived
from countenance.auditing.directions import LOWER
from countenance.auditing.drafting import drafts_of
from countenance.auditing.far_ends import SHARE, Ends
from countenance.auditing.finding import Estimate, Finding, MissingScores, Split, Widest
from countenance.auditing.groups import CROSS, GROUP, UNKNOWN_OR_NOT, Grouping, group, subsets
from countenance.auditing.layout import Column
from countenance.auditing.measured_metric import MISSING, Intervals, MeasuredMetric, Summed
from countenance.auditing.missing_scores import as_wrong, missing_column
from countenance.auditing.multiplicity import family_of
from countenance.auditing.ordering import checked, role_of
from countenance.auditing.pairs import paired
from countenance.auditing.rows import Rows
from countenance.auditing.settings import AuditSettings, Judged, delta_of_rates, direction_notes
from countenance.auditing.splits import splits_of
from countenance.auditing.summing import Summing
from countenance.auditing.sums import Side
from countenance.auditing.table import UNKNOWN, Array, Attribute
from countenance.auditing.units import plural, row_noun
from countenance.auditing.verdict import DISPARITY, VerdictQuestion, concluded
from countenance.auditing.widest_pairs import WidestPairs, widest_of
from countenance.errors import InputError

MOST_COMPARISONS = 50_000
KINDS = ("group", "split", "missing", "twins", "given")


class Computation:
    """The comparisons of one audit: what was read, summed, tested and concluded."""

    def __init__(self, rows: Rows, settings: AuditSettings, judged: Mapping[str, Judged], depth: int) -> None:
        self.rows, self.settings, self.judged, self.depth = rows, settings, judged, depth
        self.nouns, self.row_noun = rows.units.nouns, row_noun(rows.units.ways)
        self.ends = dict(zip(rows.metrics, rows.ends, strict=True))
        self.excluded: list[dict[str, Any]] = []
        self.groups: list[Estimate] = []
        self.missing: list[MissingScores] = []
        self.ordered: list[Split] = []
        self.widest: list[Widest] = []
        self.notes: list[str] = direction_notes(judged)
        self.adjustment = Adjustment(settings)
        self.further: list[Draft] = []
        """Comparisons of twins, which belong to the same family."""
        self.batches: list[Batch] = []
        self.summed: list[tuple[Grouping, MeasuredMetric, Summed]] = []
        """The comparisons and the sums of groups, from which intervals at other levels are made (`levels`)."""
        self.computed: list[Ratios] = []
        """Numbers of groups that rows do not give, in the same family too."""
        chosen = rows.chosen
        attribute_sets = list(dict.fromkeys([*subsets(chosen.single, depth), *chosen.crosses]))
        attribute_sets.sort(key=len)
        named = {(i,) for i in chosen.single} | set(chosen.crosses)
        self.groupings = group(rows.attributes, attribute_sets, named, rows.size, 10 * settings.max_groups)
        self.named = [grouping.name for grouping in self.groupings if grouping.named]
        whole = [i for i in chosen.single if chosen.attributes[i].column not in rows.column_notes]
        attributes, self.derived = with_derived(rows.attributes, whole, checked(settings.ordered), rows.size)
        everyone = Attribute("", ["everyone"], np.zeros(rows.size, dtype=np.int32))
        self.everyone = Grouping((len(attributes),), "", everyone.levels, np.array([0]), named=False)
        self.summing = Summing(rows, [*attributes, everyone], settings)
        self.sums = self.summing.sums
        self.measured = self._measured()

    def _measured(self) -> list[MeasuredMetric]:
        """The metrics, each followed by the outcome of missing scores if it has any."""
        measured = []
        for column in self.rows.columns:
            ends, judged = self.ends[column.name], self.judged[column.name]
            missing = missing_column(column)
            measured.append(
                MeasuredMetric(
                    column.name,
                    column,
                    judged,
                    ends,
                    self._kurtosis(column),
                    GROUP,
                    tuple(self._wrong(column, ends, judged)),
                    missing,
                )
            )
            if missing is not None:
                rate = Judged(delta_of_rates(self.settings), LOWER)
                measured.append(MeasuredMetric(column.name, missing, rate, SHARE, kind=MISSING))
        return measured

    def _wrong(self, column: Column, ends: Ends | None, judged: Judged) -> list[Column]:
        if column.name in self.rows.filled:
            values = self.rows.filled[column.name] - column.centre
            return [Column(f"{column.name} (missing as wrong)", column.kind, values, column.centre)]
        return as_wrong(column, ends, judged.better)

    @property
    def all_judged(self) -> dict[str, Judged]:
        """How every metric is judged, including metrics that rows do not give."""
        return dict(self.judged) | {ratios.computed.metric: ratios.computed.judged for ratios in self.computed}

    @staticmethod
    def _kurtosis(column: Column) -> float:
        if column.kind == "rate":
            return 3.0
        return ranks.kurtosis(column.values) if column.shape is None else column.shape.kurtosis

    def estimates(self) -> list[Estimate]:
        """Every group's number with its interval, without tests."""
        for grouping in [*self.groupings, *self._unknown_groupings()]:
            for metric, summed in zip(
                self.measured, self.summing.of(grouping, self.measured, tested=False), strict=True
            ):
                self._note(grouping, metric, summed)
        return self.groups

    def overall(self) -> list[Estimate]:
        """Each metric over all rows, with its interval."""
        scores = [metric for metric in self.measured if metric.kind == GROUP]
        return [
            self.estimate(self.everyone, 0, metric, summed)
            for metric, summed in zip(scores, self.summing.of(self.everyone, scores, tested=False), strict=True)
        ]

    def findings(self) -> list[Finding]:
        """Every comparison with its verdict."""
        self._limit()
        comparison = self.settings.comparison
        if comparison in ("paired", "spread"):
            drafts = self._paired() if comparison == "paired" else self._spreads()
            return self._conclude(drafts, *self.adjustment.plain(drafts))
        return self._two_sided()

    # ---- groups and their numbers

    def _unknown_groupings(self) -> list[Grouping]:
        return [grouping for grouping in self.derived if grouping.kind == UNKNOWN_OR_NOT]

    def _limit(self) -> None:
        sizes = [len(g.cells) for g in self.groupings]
        each = [n * (n - 1) // 2 if self.settings.comparison == "pairs" else n for n in sizes]
        count = sum(each) * len(self.measured)
        if count > MOST_COMPARISONS and self.settings.comparison != "spread":
            raise InputError(
                f"{count:,} comparisons, more than {MOST_COMPARISONS:,}; lower depth, name fewer attributes "
                "or metrics, or merge groups"
            )

    def _note(self, grouping: Grouping, measured: MeasuredMetric, summed: Summed) -> None:
        """Record the numbers of a grouping's groups, including unknown values, and the groups that cannot be
        compared."""
        if grouping.kind == UNKNOWN_OR_NOT:
            self._note_cells(grouping, [0], measured, summed)
            units = int(np.asarray(summed.sums.cells.units)[0])
            if units < self.settings.min_n and measured.kind == GROUP:
                few = plural(units, *self.nouns)
                why = f"{few} whose {grouping.name} is not recorded: fewer than {self.settings.min_n}"
                self._exclude(measured.metric, grouping.name, UNKNOWN, summed.sums.cells.take(0), why)
            return
        if grouping.kind != GROUP:
            return
        self._note_cells(grouping, range(len(grouping.cells)), measured, summed)
        if len(grouping.cells) < 2 and measured.kind == GROUP:
            only = grouping.cells[0] if grouping.cells else UNKNOWN
            what = "one group only" if grouping.cells else "no known values"
            why = f"{grouping.name} has {what}: nothing to compare with"
            side = summed.sums.cells.take(0) if grouping.cells else None
            self._exclude(measured.metric, grouping.name, only, side, why, untested=grouping.named)

    def _note_cells(self, grouping: Grouping, cells: Sequence[int], measured: MeasuredMetric, summed: Summed) -> None:
        if measured.kind == GROUP:
            self.summed.append((grouping, measured, summed))
            self.groups += [self.estimate(grouping, cell, measured, summed) for cell in cells]
        else:
            self.missing += [self._lack(grouping, cell, measured, summed) for cell in cells]

    def estimate(self, grouping: Grouping, cell: int, measured: MeasuredMetric, summed: Summed) -> Estimate:
        """A group's number with its interval."""
        side = summed.sums.cells.take(cell)
        low, high, deff = (float(part[cell]) for part in summed.intervals.cells)
        lacking = 0 if summed.missing is None else int(np.asarray(summed.missing.cells.total)[cell])
        wrong = self._wrong_limits(measured, summed, cell) if lacking else (math.nan, math.nan)
        n, units = int(side.n), int(side.units)
        return Estimate(
            metric=measured.metric,
            metric_kind=measured.column.kind,
            attribute=grouping.name,
            group=grouping.cells[cell],
            n=n,
            clusters=units,
            estimate=float(side.mean),
            low=low,
            high=high,
            deff=deff,
            depth=grouping.depth,
            note="" if n else "no units",
            missing=lacking,
            low_wrong=wrong[0],
            high_wrong=wrong[1],
            counted=self.question().counted(n, units),
        )

    def _wrong_limits(self, measured: MeasuredMetric, summed: Summed, cell: int) -> tuple[float, float]:
        """The widest interval of a group if its missing scores were wrong."""
        limits = [Intervals.of(sums, measured, self.settings.alpha).cells for sums in summed.wrong]
        if not limits:
            return math.nan, math.nan
        return min(float(low[cell]) for low, _, _ in limits), max(float(high[cell]) for _, high, _ in limits)

    def _lack(self, grouping: Grouping, cell: int, measured: MeasuredMetric, summed: Summed) -> MissingScores:
        side = summed.sums.cells.take(cell)
        low, high, _ = (float(part[cell]) for part in summed.intervals.cells)
        return MissingScores(
            metric=measured.metric,
            attribute=grouping.name,
            group=grouping.cells[cell],
            n=int(side.n),
            clusters=int(side.units),
            missing=int(side.total),
            share=float(side.mean),
            low=low,
            high=high,
            depth=grouping.depth,
        )

    def _exclude(
        self, metric: str, attribute: str, group: str, side: Side | None, why: str, *, untested: bool = False
    ) -> None:
        n, clusters = (0, 0) if side is None else (int(side.n), int(side.units))
        self.excluded.append(excluded_entry(metric, attribute, group, (n, clusters), why, untested))

    def exclude_computed(self, metrics: Sequence[str]) -> None:
        """Record the requested groups without a number, for a metric that rows do not give."""
        there = {(ratios.computed.metric, ratios.computed.attribute) for ratios in self.computed}
        for metric in metrics:
            why = f"{metric} is computed of all people, not of a selection of rows"
            if not self.settings.conditions:
                why = f"{metric} is not computed by this attribute, only by one of which each person has one value"
            for grouping in self.groupings:
                if grouping.named and (metric, grouping.name) not in there:
                    for cell in grouping.cells:
                        self._exclude(metric, grouping.name, cell, None, why, untested=True)

    # ---- comparisons of two sides

    def _two_sided(self) -> list[Finding]:
        batches = [Batch(metric, self.settings, self.nouns) for metric in self.measured]
        pairs: list[WidestPairs] = []
        for grouping in [*self.groupings, *self.derived]:
            summed = self.summing.of(grouping, self.measured)
            for batch, own in zip(batches, summed, strict=True):
                self._note(grouping, batch.measured, own)
                if len(grouping.cells) > 1:
                    batch.add(grouping, own)
                    pairs += self._pairs(grouping, batch.measured, own)
        self.batches = batches = [batch for batch in batches if batch.g]
        self._test(batches)
        drafts = [draft for batch in batches for draft in drafts_of(batch)]
        self.notes += cautions(batches, self.nouns[1], self.settings.alpha)
        for ratios in self.computed:
            ratios.computed = ratios.computed.with_intervals(self.groups)
            self.groups += ratios.computed.estimates()
            drafts += ratios.drafts()
        drafts += self.further
        compared = Compared(
            batches,
            [*self.groupings, *self.derived],
            self.sums,
            self.computed,
            self.rows.shared_scenes,
            twins=bool(self.further),
        )
        adjusted, levels, floor = self.adjustment.of(compared, drafts)
        findings = self._conclude(drafts, adjusted, levels, floor)
        findings += self._widest(pairs, findings)
        self.ordered = splits_of(self, findings)
        return self._sorted(findings)

    def _pairs(self, grouping: Grouping, measured: MeasuredMetric, summed: Summed) -> list[WidestPairs]:
        if self.settings.comparison != "rest" or not grouping.named or measured.kind == MISSING:
            return []
        widest = WidestPairs.of(grouping, measured, summed, self.settings.min_n) if grouping.kind == GROUP else None
        return [] if widest is None else [widest]

    def _widest(self, pairs: Sequence[WidestPairs], findings: Sequence[Finding]) -> list[Finding]:
        """The largest differences between two groups, and those that are disparities themselves."""
        differing = {
            (f.metric, f.attribute, g) for f in findings if f.verdict == DISPARITY for g in (f.group, f.versus)
        }
        self.widest, drafts = widest_of(pairs, self.settings.alpha, differing)
        count = self.widest[0].pairs if self.widest else 0
        return [
            self._finished(draft, float(draft.values["p"]), math.nan, ("largest difference", count)) for draft in drafts
        ]

    def _sorted(self, findings: Sequence[Finding]) -> list[Finding]:
        place = {name: i for i, name in enumerate(self.rows.metrics)}
        order = {grouping.name: i for i, grouping in enumerate(self.groupings)}
        last = len(order)
        return sorted(
            findings, key=lambda f: (order.get(f.attribute, last), place.get(f.metric, last), KINDS.index(f.kind))
        )

    def _test(self, batches: Sequence[Batch]) -> None:
        """Test all comparisons, each at the strictest level that its family may require."""
        for batch in batches:
            batch.join()
        names = [
            [family_of(self._family_values(batch, i), self.settings.families) for i in range(len(batch.g))]
            for batch in batches
        ]
        sizes: dict[str, int] = {}
        for batch, own in zip(batches, names, strict=True):
            for i, name in enumerate(own):
                sizes[name] = sizes.get(name, 0) + int(batch.large[i] or batch.small[i])
        for batch, own in zip(batches, names, strict=True):
            sized = np.array([sizes[name] for name in own])
            batch.test(self.settings.alpha / np.maximum(sized, 1) / np.array(batch.weight))

    def _family_values(self, batch: Batch, i: int) -> dict[str, Any]:
        grouping = batch.groupings[batch.place[i]]
        return {
            "metric": batch.measured.metric,
            "attribute": grouping.name,
            "depth": grouping.depth,
            "comparison": self.settings.comparison,
        }

    # ---- spread and paired

    def _paired(self) -> list[Draft]:
        drafts = []
        for grouping in self.groupings:
            summed = self.summing.of(grouping, self.measured, tested=False)
            for measured, own in zip(self.measured, summed, strict=True):
                self._note(grouping, measured, own)
                if len(grouping.cells) < 2:
                    continue
                compared, out = paired(self.rows, grouping.attributes[0], measured, self.settings)
                drafts += compared
                for called, n, count, why in out if measured.kind == GROUP else ():
                    self.excluded.append(excluded_entry(measured.metric, grouping.name, called, (n, count), why, False))
        return drafts

    def _spreads(self) -> list[Draft]:
        spreads = []
        for grouping in self.groupings:
            for metric, summed in zip(
                self.measured, self.summing.of(grouping, self.measured, tested=False), strict=True
            ):
                self._note(grouping, metric, summed)
                if len(grouping.cells) < 2:
                    continue
                chosen, out = spread.chosen_cells(grouping, summed.sums, self.settings.min_n, self.nouns)
                for called, n, count, why in out if metric.kind == GROUP else ():
                    self.excluded.append(excluded_entry(metric.metric, grouping.name, called, (n, count), why, True))
                if len(chosen) > 1:
                    spreads.append(spread.Spread(grouping, summed, metric, chosen))
        if not spreads:
            return []
        sizes: dict[str, int] = {}
        names = []
        for each in spreads:
            values = {"metric": each.measured.metric, "attribute": each.grouping.name, "depth": each.grouping.depth}
            names.append(family_of(values | {"comparison": "spread"}, self.settings.families))
            sizes[names[-1]] = sizes.get(names[-1], 0) + 1
        nulls, note = spread.shuffled(spreads, self.sums, self.settings, max(sizes.values()))
        self.notes += [note] if note else []
        self.adjustment.permutations = len(nulls[0][0])
        levels = [self.settings.alpha / sizes[name] for name in names]
        return [
            spread.draft(each, null, self.settings, level)
            for each, null, level in zip(spreads, nulls, levels, strict=True)
        ]

    # ---- verdict

    def question(self, floor: float = 0.0) -> VerdictQuestion:
        """The part of a verdict's question that all comparisons share."""
        return VerdictQuestion(self.settings, self.nouns, floor, self.row_noun)

    def _conclude(self, drafts: Sequence[Draft], adjusted: Array, levels: Array, floor: float) -> list[Finding]:
        self.drafts, self.levels, self.floor = list(drafts), levels, floor
        names = [family_of(draft.values, self.settings.families) for draft in drafts]
        sizes: dict[str, int] = {}
        for name, p in zip(names, adjusted, strict=True):
            sizes[name] = sizes.get(name, 0) + (not math.isnan(p))
        return [
            self._finished(draft, float(p), float(level), (name, sizes[name]))
            for draft, p, level, name in zip(drafts, adjusted, levels, names, strict=True)
        ]

    def _finished(self, draft: Draft, p: float, level: float, family: tuple[str, int]) -> Finding:
        draft.values["role"] = role_of(draft.values["attribute"].split(CROSS), self.settings.roles or {})
        return concluded(draft, p, level, family, self.question(getattr(self, "floor", 0.0)))


def excluded_entry(
    metric: str, attribute: str, group: str, counts: tuple[int, int], why: str, untested: bool
) -> dict[str, Any]:
    """A group that was not compared: how many rows and units it has, why, and whether that leaves a question open."""
    return {
        "metric": metric,
        "attribute": attribute,
        "group": group,
        "n": counts[0],
        "clusters": counts[1],
        "why": why,
        "untested": untested,
    }
