"""Numbers of groups that rows do not give: computed elsewhere, with their errors, and compared as ratios.

The false match rate of a group is a share of its pairs of people, not a mean over rows, and .001 against .01 is a large
difference. The code that computes such numbers (a task, from all pairs) gives for each group the value, the
standard error of its logarithm and how many people it rests on; groups are compared on the logarithmic scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.auditing._dist import both, quantile
from countenance.auditing.comparisons import REST, Draft, Test, direction
from countenance.auditing.directions import LOWER
from countenance.auditing.finding import Estimate
from countenance.auditing.minp import Statistic
from countenance.auditing.ratio import ratio
from countenance.auditing.settings import AuditSettings, Judged, parse_better, parse_delta
from countenance.auditing.table import Array
from countenance.auditing.units import too_few

RATIO = "ratio"


@dataclass(frozen=True)
class ComputedGroups:
    """A metric of the groups of one attribute. No person may be in two of them.

    `errors` are standard errors of the logarithms (NaN: a value of 0 has none), `weights` say how groups are put
    together where one is compared with all others (their pairs), `low` and `high` are the intervals that are shown.
    """

    metric: str
    attribute: str
    groups: tuple[str, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: tuple[int, ...]
    people: tuple[int, ...]
    weights: tuple[float, ...]
    better: str | None = "lower"
    largest: float = 2.0
    """The smallest ratio that matters."""
    unit: str = "pairs"
    """What `n` counts."""
    same_as: str = ""
    """The metric of rows that has the same numbers; their intervals are then the ones that are shown."""

    @property
    def judged(self) -> Judged:
        """How the metric is judged."""
        return Judged(self.largest, self.better)

    def with_intervals(self, estimates: Sequence[Estimate]) -> ComputedGroups:
        """The same numbers with the intervals that the metric of rows has, where it is audited too."""
        limits = {
            e.group: (e.low, e.high) for e in estimates if (e.metric, e.attribute) == (self.same_as, self.attribute)
        }
        own = zip(self.groups, self.low, self.high, strict=True)
        pairs = [limits.get(group, (low, high)) for group, low, high in own]
        return replace(self, low=tuple(low for low, _ in pairs), high=tuple(high for _, high in pairs))

    def estimates(self) -> list[Estimate]:
        """Every group's number."""
        rows = zip(self.groups, self.values, self.low, self.high, self.n, self.people, strict=True)
        return [
            Estimate(
                metric=self.metric,
                metric_kind=RATIO,
                attribute=self.attribute,
                group=group,
                n=n,
                clusters=people,
                estimate=value,
                low=low,
                high=high,
                deff=math.nan,
                note="" if n else "no units",
                counted=_counted(n, people, self.unit),
            )
            for group, value, low, high, n, people in rows
        ]


class Ratios:
    """The comparisons of a metric's groups: each with all others, or of two groups with each other."""

    def __init__(self, computed: ComputedGroups, settings: AuditSettings, nouns: tuple[str, str]) -> None:
        self.computed, self.settings, self.nouns = computed, settings, nouns
        self.value, self.error = np.array(computed.values, dtype=float), np.array(computed.errors, dtype=float)
        self.weight, self.people = np.array(computed.weights, dtype=float), np.array(computed.people)
        count = len(self.value)
        self.pairs = [(0, [1])] if count == 2 else [(g, [h for h in range(count) if h != g]) for g in range(count)]

    def _other(self, others: Sequence[int]) -> tuple[float, Array]:
        """The other side: its value, and the coefficients of its logarithm on those of the groups in it."""
        share = self.weight[list(others)] * self.value[list(others)]
        total = float(share.sum())
        coefficients = np.zeros(len(self.value))
        if total > 0:
            coefficients[list(others)] = share / total
        return total / float(self.weight[list(others)].sum() or 1.0), coefficients

    def _contrast(self, g: int, others: Sequence[int]) -> tuple[float, float, Array]:
        """The logarithm of the ratio, its standard error, and the coefficients of the groups; NaN where one is 0."""
        other, coefficients = self._other(others)
        contrast = -coefficients
        contrast[g] = 1.0
        errors = np.where(contrast != 0, self.error, 0.0)
        if not (self.value[g] > 0 and other > 0 and np.isfinite(errors).all()):
            return math.nan, math.nan, contrast
        return math.log(self.value[g] / other), float(np.sqrt(((contrast * errors) ** 2).sum())), contrast

    def drafts(self) -> list[Draft]:
        """Every comparison with its numbers."""
        return [self._draft(g, others) for g, others in self.pairs]

    def statistic(self, first: int, seed: int) -> Statistic | None:
        """The statistics of the comparisons, with draws from their joint null distribution; None if none is tested."""
        parts = [(i, *self._contrast(g, others)) for i, (g, others) in enumerate(self.pairs) if self._enough(g, others)]
        parts = [part for part in parts if math.isfinite(part[2]) and part[2] > 0]
        if not parts:
            return None
        places = np.array([first + part[0] for part in parts])
        errors, contrasts = np.array([part[2] for part in parts]), np.array([part[3] for part in parts])
        observed = np.asarray(both(np.array([part[1] for part in parts]) / errors))
        rng = np.random.default_rng([seed, 11])
        scaled = contrasts * np.nan_to_num(self.error) / errors[:, None]

        def draw(size: int) -> Array:
            return np.asarray(both(rng.standard_normal((size, len(self.value))) @ scaled.T))

        block = (self.computed.metric, RATIO)
        return Statistic("mean", block, places, observed=observed, draw=draw)

    def _enough(self, g: int, others: Sequence[int]) -> bool:
        return min(int(self.people[g]), int(self.people[list(others)].sum())) >= self.settings.min_n

    def _draft(self, g: int, others: Sequence[int]) -> Draft:
        computed, alpha, judged = self.computed, self.settings.alpha, self.computed.judged
        other, _ = self._other(others)
        log_ratio, error, _ = self._contrast(g, others)
        single = others[0] if len(others) == 1 else None
        values: dict[str, Any] = {
            "metric": computed.metric,
            "attribute": computed.attribute,
            "group": computed.groups[g],
            "kind": "group",
            "versus": REST if single is None else computed.groups[single],
            "comparison": self.settings.comparison,
            "metric_kind": RATIO,
            "n": computed.n[g],
            "clusters": int(self.people[g]),
            "n_versus": int(sum(computed.n[h] for h in others)),
            "clusters_versus": int(self.people[list(others)].sum()),
            "estimate": computed.values[g],
            "low": computed.low[g],
            "high": computed.high[g],
            "estimate_versus": other,
            "difference": computed.values[g] - other,
            "effect_name": RATIO,
            "depth": 1,
            "direction": direction(computed.values[g] - other, judged.better),
            "counted": _counted(computed.n[g], int(self.people[g]), computed.unit),
        }
        values["counted_versus"] = _counted(values["n_versus"], values["clusters_versus"], computed.unit)
        if single is not None:
            values |= {"low_versus": computed.low[single], "high_versus": computed.high[single]}
        draft = Draft(values, judged, severity_effect=abs(log_ratio), unit=error, se=error)
        if not self._enough(g, others):
            few = g if self.people[g] < self.settings.min_n else None
            called = computed.groups[g] if few is not None else values["versus"]
            count = int(self.people[g]) if few is not None else values["clusters_versus"]
            draft.untestable = too_few(count, self.nouns, self.settings.min_n, called)
        if math.isfinite(log_ratio) and error > 0:
            self._ratio(draft, log_ratio, error, alpha)
        return draft

    def _ratio(self, draft: Draft, log_ratio: float, error: float, alpha: float) -> None:
        low, high = (math.exp(log_ratio + sign * float(quantile(1 - alpha / 2)) * error) for sign in (-1, 1))
        reach = float(quantile(1 - alpha)) * error
        decisive = math.exp(log_ratio - reach), math.exp(log_ratio + reach)
        limit = self.computed.largest
        draft.smaller = decisive[0] > 1 / limit and decisive[1] < limit and not draft.untestable
        ends = (math.exp(log_ratio), low, high) if log_ratio >= 0 else (math.exp(-log_ratio), 1 / high, 1 / low)
        draft.values |= {
            "effect": math.exp(log_ratio),
            "effect_low": low,
            "effect_high": high,
            "low_equivalence": decisive[0],
            "high_equivalence": decisive[1],
            "se": error,
        }
        if self.computed.better == LOWER:  # a rate of failures; of an AUC or a selection rate there is only the effect
            draft.values["failure_ratio"] = ratio(*ends)
        z = log_ratio / error
        draft.tests = {"mean": Test("z of the logarithm", z, float(both(z)), z, math.inf, log_ratio)}


def _counted(n: int, people: int, unit: str) -> str:
    return f"{n:,} {unit}" if n == people and unit == "rows" else f"{n:,} {unit} of {people:,} people"


def own_ratios(
    computed: Sequence[ComputedGroups], settings: AuditSettings
) -> tuple[list[ComputedGroups], AuditSettings]:
    """The computed metrics with their ratios that matter from the settings, and the settings for metrics of rows."""
    names = {ratios.metric for ratios in computed}
    common, deltas = parse_delta(settings.delta)
    ways = parse_better(settings.better)
    own_deltas = {name: delta for name, delta in deltas.items() if name not in names}
    rows = settings.changed(
        delta=own_deltas | ({} if common is None else {"": common}),
        better={name: way for name, way in ways.items() if name not in names},
    )
    return [replace(ratios, largest=deltas.get(ratios.metric, ratios.largest)) for ratios in computed], rows
