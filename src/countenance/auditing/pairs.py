"""`paired`: the same rows under two conditions (counterfactual twins, model v1 and v2)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.auditing import tests
from countenance.auditing._dist import both
from countenance.auditing.change import GainAndLoss
from countenance.auditing.codes import combined, size_of
from countenance.auditing.comparisons import Draft, direction
from countenance.auditing.effects import MeanGap, cohen_h, equivalence
from countenance.auditing.estimates import TRUSTED, interval
from countenance.auditing.far_ends import Ends, FarEnds
from countenance.auditing.groups import GROUP
from countenance.auditing.measured_metric import MeasuredMetric
from countenance.auditing.missing_scores import LACKING, TOLERATED
from countenance.auditing.ranks import kurtosis
from countenance.auditing.rows import Rows
from countenance.auditing.settings import AuditSettings, Judged
from countenance.auditing.source import Source
from countenance.auditing.sums import Side, Way, clustered, simple
from countenance.auditing.table import Array
from countenance.auditing.units import too_few
from countenance.errors import InputError

LONELY = "rows without a partner, or without the metric on both sides"


def paired(
    rows: Rows, attribute: int, measured: MeasuredMetric, settings: AuditSettings
) -> tuple[list[Draft], list[tuple[str, int, int, str]]]:
    """Every two conditions compared on the pairs that have both; rows without a partner are reported."""
    condition, metric = rows.attributes[attribute], PairedMetric.of(measured)
    assert rows.pairs is not None
    if condition.rows is not None:
        raise InputError(f"attribute {condition.name!r}: lists of values cannot be the condition of paired rows")
    place = [_places(rows, condition.codes, code, condition.name, level) for code, level in enumerate(condition.levels)]

    def owners(first: Array, second: Array) -> list[Array]:
        return [_together(codes[first], codes[second]) for codes in rows.units.codes]

    drafts, lonely = [], []
    for old, new in itertools.combinations(range(len(place)), 2):
        together = (place[old] >= 0) & (place[new] >= 0)
        names = condition.levels[old], condition.levels[new]
        pairs, draft = metric.draft(place[old][together], place[new][together], owners, condition.name, names, settings)
        count = int((condition.codes == old).sum() + (condition.codes == new).sum()) - 2 * len(pairs.change)
        if count:
            lonely.append((f"{names[0]} / {names[1]}", count, count, LONELY))
        drafts.append(draft)
    return drafts, lonely


@dataclass(frozen=True)
class PairedMetric:
    """A metric by rows: its values, its values with every missing score as wrong, and which scores are missing."""

    measured: MeasuredMetric
    values: Array
    wrong: tuple[Array, ...] = ()
    absent: Array | None = None

    @classmethod
    def of(cls, measured: MeasuredMetric, spread_out: Callable[[Array], Array] = np.asarray) -> PairedMetric:
        """The metric; `spread_out` puts the values of a column into the places of the table's rows."""
        wrong = tuple(spread_out(column.values + column.centre) for column in measured.wrong)
        absent = None if measured.missing is None else spread_out(measured.missing.values)
        return cls(measured, spread_out(measured.column.values + measured.column.centre), wrong, absent)

    def draft(
        self,
        first: Array,
        second: Array,
        owners: Callable[[Array, Array], list[Array]],
        attribute: str,
        names: tuple[str, str],
        settings: AuditSettings,
    ) -> tuple[Pairs, Draft]:
        """Rows of one condition against those of the other; `owners` gives the units of chosen pairs.

        The difference is shown to be small only where it also is with every missing score as wrong.
        """
        measured = self.measured

        def compared(values: Array) -> tuple[Pairs, Draft]:
            use = ~np.isnan(values[first]) & ~np.isnan(values[second])
            first_rows, second_rows = first[use], second[use]
            pairs = Pairs(
                values[first_rows], values[second_rows], measured.column.kind, owners(first_rows, second_rows)
            )
            return pairs, pairs.draft(measured.metric, attribute, names, measured.judged, settings, measured.ends)

        pairs, draft = compared(self.values)
        draft.values["kind"] = measured.kind
        if not len(pairs.change):
            return pairs, draft
        for values in self.wrong:
            draft.hold_with(compared(values)[1])
        if measured.ends is None and self.absent is not None:
            shares = [float(np.nanmean(self.absent[side])) for side in (first, second)]
            draft.unclear = LACKING.format(measured.metric) if max(shares) > TOLERATED else ""
            draft.smaller = draft.smaller and not draft.unclear
        return pairs, draft


def _places(rows: Rows, codes: Array, code: int, name: str, level: str) -> Array:
    """For each pair, its row under one condition (-1: none)."""
    assert rows.pairs is not None
    size = size_of(rows.pairs)
    here = np.flatnonzero((codes == code) & (rows.pairs >= 0))
    where = np.full(size, -1)
    where[rows.pairs[here]] = here
    if len(here) != int((where >= 0).sum()):
        twice = here[np.bincount(rows.pairs[here])[rows.pairs[here]] > 1]
        same = np.sort(rows.order[twice[rows.pairs[twice] == rows.pairs[twice[0]]]])
        raise InputError(
            f"pair: rows {same[0] + 1} and {same[1] + 1} have the same pair and the same condition "
            f"({name} = {level!r}); name more columns in pair so that each occurs once"
        )
    return where


@dataclass(frozen=True)
class Pooled:
    """Correlations, variance and kurtosis of all pairs of a table: a small group is not taken to vary less."""

    iccs: tuple[float, ...] = (0.0,)
    row: float = 0.0
    kurtosis: float = 3.0


class Pairs:
    """Pairs of scores and the units that they belong to: `own` has codes for each way; none: every pair is a unit."""

    def __init__(
        self, first: Array, second: Array, kind: str, own: Sequence[Array], pooled: Pooled | None = None
    ) -> None:
        self.kind, self.first, self.second, self.change = kind, first, second, first - second
        self.clustered, self.pooled = bool(own), pooled or Pooled()
        codes = [np.asarray(np.unique(each, return_inverse=True)[1]) for each in own]
        self.own = codes or [np.arange(len(first))]
        self.units = min(size_of(each) for each in self.own)

    def side(self, values: Array) -> Side:
        """The sums of values over the units."""
        side = clustered(values, self.own[0]) if self.clustered else simple(values)
        if len(self.own) < 2 or not len(values):
            return side
        joint = combined(*self.own)
        further: list[Way] = [clustered(values, codes).first for codes in (self.own[1], joint)]
        return replace(side, further=tuple(further))

    def together(self) -> Pooled:
        """Correlations, variance and kurtosis of these pairs, for smaller parts of them."""
        if not len(self.change):
            return Pooled()
        side = self.side(self.change)
        iccs = tuple(float(icc) for icc in tests.correlations([side]))
        return Pooled(iccs, float(side.spread), 3.0 if self.kind == "rate" else kurtosis(self.change))

    def draft(
        self,
        metric: str,
        attribute: str,
        names: tuple[str, str],
        judged: Judged,
        settings: AuditSettings,
        ends: Ends | None,
    ) -> Draft:
        """The comparison of the two conditions."""
        values = self._columns(metric, attribute, names, settings.alpha, ends)
        draft = Draft(values, judged, share=1.0)  # pairs grow together
        if not len(self.change):
            draft.untestable = f"no units in {names[0]} paired with {names[1]}"
            return draft
        d = float(self.change.mean())
        draft.values["difference"] = draft.values["effect"] = d
        if self.units < settings.min_n:
            nouns = ("cluster of pairs", "clusters of pairs") if self.clustered else ("pair", "pairs")
            draft.untestable = too_few(self.units, nouns, settings.min_n)
        draft.values["direction"] = direction(d, judged.better)
        gap = self.gap(draft, ends)
        low, high = (float(bound) for bound in gap.difference(settings.alpha))
        delta = math.nan if judged.delta is None else judged.delta
        smaller, p = equivalence(gap, delta, settings.alpha)
        draft.smaller, draft.p_equivalence = bool(smaller), float(p)
        bounds = min(low, d), max(high, d)
        decisive = [float(bound) for bound in gap.decisive(settings.alpha)]
        draft.values |= {
            "low_equivalence": decisive[0],
            "high_equivalence": decisive[1],
            "diff_low": bounds[0],
            "diff_high": bounds[1],
            "effect_low": bounds[0],
            "effect_high": bounds[1],
            "df": draft.df,
            "se": draft.se,
        }
        return draft

    def gap(self, draft: Draft, ends: Ends | None) -> MeanGap | GainAndLoss:
        """The difference with its intervals; the draft records the test."""
        change = self.side(self.change)
        d = float(self.change.mean())
        draft.df = float(np.maximum(change.effective - 1, 0.5))
        if self.kind == "rate" or (ends is not None and not self.change.any()):
            return self._rates(draft, change, d)
        far = None if ends is None else FarEnds(change, (ends[0] - ends[1], ends[1] - ends[0]))
        gap = MeanGap(d, 0.0, math.sqrt(self._variance(change)), draft.df, far=(far, None))
        t = d / gap.se if gap.se > 0 else math.nan
        name = "paired t (cluster-robust)" if self.clustered and not bool(change.alone) else "paired t"
        draft.values |= {"test": name, "test_statistic": t, "z": t, "p": both(t, draft.df) if gap.se > 0 else math.nan}
        draft.severity_effect = abs(float(np.sign(self.change).mean()))
        draft.se = draft.unit = float(gap.se)
        return gap

    def _variance(self, change: Side) -> float:
        """The variance of the mean change; of few units, at least what all pairs together imply."""
        own = float(change.variance) if np.isfinite(change.variance) else 0.0
        if float(change.effective) * TRUSTED**2 >= self.pooled.kurtosis - 1:
            return max(own, 0.0)
        return max(own, self.pooled.row * float(tests.implied(change, list(self.pooled.iccs))) / float(change.n), 0.0)

    def _rates(self, draft: Draft, change: Side, d: float) -> GainAndLoss:
        """Exact sign-flips of whole clusters; Tango's interval on the effective size."""
        n = len(self.change)
        b, c = float((self.change > 0).sum()), float((self.change < 0).sum())
        ways = [
            [np.bincount(own, side, minlength=size_of(own)) for side in (self.change > 0, self.change < 0)]
            for own in self.own
        ]
        name, statistic, p = max((tests.mcnemar(*counts) for counts in ways), key=lambda result: result[2])
        draft.attainable = tests.mcnemar_attainable(*ways[0]) if len(ways) == 1 else None
        gap = GainAndLoss.of(change, list(self.pooled.iccs))
        # Half a pair added to each cell: what would be seen with few pairs that disagree is not overrated.
        variance = ((b + c + 1) - (b - c) ** 2 / (n + 2)) / (n + 2) ** 2
        draft.se = draft.unit = math.sqrt(variance * n / float(gap.n))
        if len(self.own) > 1 and (b or c):  # two ways that cross: no exact test knows both
            p = max(p, float(both(d / math.sqrt(max(float(change.variance), 1e-300)), draft.df)))
        draft.df = float(gap.df)
        draft.values |= {"test": name, "test_statistic": statistic, "p": p, "z": math.nan}
        draft.severity_effect = abs(cohen_h(float(self.first.mean()), float(self.second.mean())))
        return gap

    def _columns(
        self, metric: str, attribute: str, names: tuple[str, str], alpha: float, ends: Ends | None
    ) -> dict[str, Any]:
        sides = [self.side(values) for values in (self.first, self.second)]
        iccs = tests.correlations(sides) if len(self.change) else [0.0]
        (low, high, deff), (low2, high2, deff2) = (interval(side, self.kind, alpha, iccs, ends=ends) for side in sides)
        return {
            "metric": metric,
            "attribute": attribute,
            "group": names[0],
            "versus": names[1],
            "comparison": "paired",
            "kind": GROUP,
            "n": len(self.first),
            "clusters": self.units,
            "n_versus": len(self.second),
            "clusters_versus": self.units,
            "estimate": sides[0].mean,
            "low": low,
            "high": high,
            "estimate_versus": sides[1].mean,
            "low_versus": low2,
            "high_versus": high2,
            "deff": deff,
            "deff_versus": deff2,
            "metric_kind": self.kind,
            "effect_name": "difference",
        }


def _together(first: Array, second: Array) -> Array:
    """Pairs that share a cluster on either side are in one cluster."""
    from scipy import sparse

    size = max(size_of(first), size_of(second))
    graph = sparse.coo_matrix((np.ones(len(first)), (first, second)), shape=(size, size))
    part = sparse.csgraph.connected_components(graph, directed=False)[1][first]
    return np.asarray(np.unique(part, return_inverse=True)[1])


def paired_tables(
    a: Any, b: Any, on: Sequence[str], names: tuple[str, str] = ("a", "b"), condition: str = "model"
) -> Any:
    """Two score tables of the same rows, stacked, with a column that names the table; ready for `paired`.

    Columns only one table has are dropped. Audit it with `by=[condition], comparison="paired", pair=on`.

    >>> old, new = {"sample": ["s", "t"], "m.ok": [1, 0]}, {"sample": ["s", "t"], "m.ok": [1, 1]}
    >>> t = paired_tables(old, new, ["sample"])
    >>> t.column("model").to_pylist()
    ['a', 'a', 'b', 'b']
    """
    import pyarrow as pa

    sources = Source(a), Source(b)
    shared = [name for name in sources[0].names if name in sources[1].names and name != condition]
    for source in sources:
        for name in on:
            source.resolve(name)
    parts = []
    for source, called in zip(sources, names, strict=True):
        part = pa.table(source.read([], shared))
        parts.append(part.append_column(condition, pa.array([called] * part.num_rows, pa.string())))
    return pa.concat_tables(parts, promote_options="permissive")
