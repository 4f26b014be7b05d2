"""Equity measures of an audit: each with an interval, and with what a fair system of the same size would show.

A measure such as the ratio of the largest to the smallest error rate is above 1 under perfect fairness by noise alone,
and its plug-in estimate is biased upwards. So the interval is found by asking which true spread of the groups would
show a measure like this one: the groups' rates are moved towards their common rate, or away from it, by a factor, on
the scale of log odds, and the noise of a cluster bootstrap is added. The interval holds the spreads under which the
observed measure is not in the outer α of what is shown. What a fair system would show comes from permutations of the
labels over units, as in min-p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from countenance.audit.estimates import resampled
from countenance.audit.finding import Equity
from countenance.audit.from_rows import RowSums
from countenance.audit.groups import Grouping, Members
from countenance.audit.layout import Column, Layout
from countenance.audit.permute import Permutations
from countenance.audit.permute_rows import WantedComparisons
from countenance.audit.settings import LOWER
from countenance.audit.table import Array
from countenance.audit.units import Units
from countenance.audit.work import Work
from countenance.metrics import equity

DRAWS = 1000
MOST_STEPS = 200_000_000
"""Units times draws; larger tables have fewer draws, at least `FEWEST`."""
FEWEST = 200
WEIGHT = 0.5
"""Of FMR, where a measure weighs FMR and FNMR."""
PAIRS = (("impostor_accepted", "genuine_accepted"), ("fmr", "fnmr"), ("false_match", "false_non_match"))
"""Metrics that are FMR and FNMR: shares of impostors accepted and of genuine pairs accepted, or the errors."""
NAN = math.nan


@dataclass(frozen=True)
class Measure:
    """A measure as a function of rates, groups on the last axis, with a scale on which more is less fair."""

    name: str
    meaning: str
    of: Callable[[Array], Array]
    unfair: Callable[[Array], Array]
    back: Callable[[float], float]
    checked: Callable[[Array], Any]
    """The public function, which refuses what is undefined."""


def _same(value: Any) -> Any:
    return value


def _error(of: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda rates: of(1 - rates)


def _halves(joined: Array) -> tuple[Array, Array]:
    half = joined.shape[-1] // 2
    return joined[..., :half], joined[..., half:]


def _garbe(joined: Array) -> Array:
    fmr, fnmr = _halves(joined)
    return np.asarray(WEIGHT * equity.ginis(fmr) + (1 - WEIGHT) * equity.ginis(fnmr))


def _discrepancy(joined: Array) -> Array:
    fmr, fnmr = _halves(joined)
    return np.asarray(1 - (WEIGHT * equity.spans(fmr) + (1 - WEIGHT) * equity.spans(fnmr)))


def _inequity(joined: Array) -> Array:
    fmr, fnmr = _halves(joined)
    return np.asarray(equity.ratios(fmr) ** WEIGHT * equity.ratios(fnmr) ** (1 - WEIGHT))


def _least_impact(rates: Array) -> Array:
    return np.asarray(rates.min(axis=-1) / rates.max(axis=-1))


def _log(values: Array) -> Array:
    return np.asarray(np.log(values))


ONE = (
    Measure("accuracy_std", "standard deviation of the groups' rates; 0 is even", lambda r: r.std(axis=-1), _same,
            _same, equity.accuracy_std),
    Measure("skewed_error_ratio", "largest over smallest error rate; 1 is even", _error(equity.ratios), _log,
            math.exp, equity.skewed_error_ratio),
    Measure("max_geomean_ratio", "largest error rate over the geometric mean of all; 1 is even",
            _error(equity.geomean_ratios), _log, math.exp, lambda r: equity.max_geomean_ratio(1 - r)),
    Measure("impact_ratio", "smallest rate over the highest; below 0.8 is the four-fifths line", _least_impact,
            lambda v: -np.log(v), lambda u: math.exp(-u), equity.impact_ratio),
)  # fmt: skip
"""Of the rate at which a group is served well."""
ERRORS = (
    Measure("max_min_ratio", "largest over smallest rate; 1 is even", equity.ratios, _log, math.exp,
            equity.max_min_ratio),
    Measure("max_geomean_ratio", "largest rate over the geometric mean of all; 1 is even", equity.geomean_ratios, _log,
            math.exp, equity.max_geomean_ratio),
)  # fmt: skip
"""Of FMR, and of FNMR."""
BOTH = (
    Measure("fairness_discrepancy_rate", "1 less the mean of the largest differences of FMR and of FNMR; 1 is even",
            _discrepancy, lambda v: 1 - v, lambda u: 1 - u,
            lambda j: equity.fairness_discrepancy_rate(*_halves(j), WEIGHT)),
    Measure("inequity_rate", "geometric mean of the largest ratios of FMR and of FNMR; 1 is even", _inequity, _log,
            math.exp, lambda j: equity.inequity_rate(*_halves(j), WEIGHT)),
    Measure("garbe", "mean of the Gini coefficients of FMR and of FNMR; 0 is even", _garbe, _same, _same,
            lambda j: equity.garbe(*_halves(j), WEIGHT)),
)  # fmt: skip


def equity_of(work: Work) -> list[Equity]:
    """Every measure of every attribute that was named."""
    found: list[Equity] = []
    for grouping in work.groupings:
        if grouping.named and len(grouping.cells) > 1:
            found += _Attribute(work, grouping).measures()
    return found


class _Attribute:
    """One attribute's groups: their rates, the noise of these, and rates of a fair system."""

    def __init__(self, work: Work, grouping: Grouping) -> None:
        self.work, self.grouping, self.settings = work, grouping, work.settings
        self.columns = [column for column in work.rows.columns if work.bounded[column.name]]
        self.members = grouping.members(work.rows.attributes, work.rows.size)
        units = work.rows.units
        way = Units(units.codes[:1], units.ways[:1], units.asked)  # people, where people and images cross
        self.sums = work.sums if len(units.codes) < 2 else RowSums(work.rows.attributes, way, work.rows.size)
        self.layout = self.sums.layouts[0]
        steps = max(1, self.layout.count * max(1, len(self.columns)))
        self.draws = int(min(DRAWS, max(FEWEST, MOST_STEPS // steps)))
        sides = [work.sums.of(grouping, self.members, column).cells for column in self.columns]
        self.units = [np.asarray(side.units, dtype=float) for side in sides]
        self.rates = [np.asarray(side.mean, dtype=float) for side in sides]

    def measures(self) -> list[Equity]:
        """All measures; rates are of being served well, whichever way the metric is written."""
        found: list[Equity] = []
        names = [column.name for column in self.columns]
        pair = next(((a, b) for a, b in PAIRS if {a, b} <= {name.lower() for name in names}), None)
        lowered = [name.lower() for name in names]
        for index, name in enumerate(names):
            if pair is None or name.lower() not in pair:
                flip = self.work.judged[name].better == LOWER
                found += [self._one(measure, name, [(index, flip)]) for measure in ONE]
        if pair is not None:
            one, two = lowered.index(pair[0]), lowered.index(pair[1])
            flips = (one, False), (two, pair == PAIRS[0])
            found += [self._one(measure, "FMR and FNMR", list(flips)) for measure in BOTH]
            for what, part in (("FMR", flips[0]), ("FNMR", flips[1])):
                found += [self._one(measure, what, [part]) for measure in ERRORS]
        return found

    def _one(self, measure: Measure, metric: str, parts: Sequence[tuple[int, bool]]) -> Equity:
        enough = np.logical_and.reduce([self.units[i] >= self.settings.min_n for i, _ in parts])
        if measure.name == "impact_ratio":  # categories under 2 % of the people are reported apart
            enough &= ~equity.small_categories(self.units[parts[0][0]])
        cells = np.flatnonzero(enough)
        names = self.grouping.cells
        said: dict[str, Any] = {
            "attribute": self.grouping.name, "metric": metric, "measure": measure.name, "meaning": measure.meaning,
            "left_out": [name for name, kept in zip(names, enough, strict=True) if not kept],
        }  # fmt: skip
        if len(cells) < 2:
            few = f"fewer than two groups have {self.settings.min_n} {self.work.nouns[1]}"
            return Equity(**said, undefined=f"{measure.name}: {few}")
        rates = np.concatenate([self._turned(self.rates[i][cells], flip) for i, flip in parts])
        told = {
            names[g] if len(parts) == 1 else f"{what} {names[g]}": float(rate)
            for what, own in zip(("FMR", "FNMR"), np.split(rates, len(parts)), strict=False)
            for g, rate in zip(cells, own, strict=True)
        }
        try:
            value = measure.checked(rates)
        except equity.Undefined as why:
            return Equity(**said, groups=told, undefined=str(why))
        if measure.name == "impact_ratio":
            told = {names[g]: float(one) for g, one in zip(cells, value, strict=True)}
        observed = float(measure.unfair(measure.of(rates)))
        units = np.concatenate([self.units[i][cells] for i, _ in parts])
        noise = self._noise(parts, cells, units, rates)
        low, high = _held(measure, rates, units, noise, observed, self.settings.alpha, len(parts))
        fair = [self._turned(self._fair[i][:, cells], flip) for i, flip in parts]
        with np.errstate(all="ignore"):
            shown = measure.of(np.concatenate(fair, axis=1))
            null = measure.unfair(shown)
        kept = np.isfinite(null)
        shown, null = shown[kept], null[kept]
        ends = sorted((measure.back(low), measure.back(high)))
        return Equity(
            **said, groups=told, value=measure.back(observed), low=ends[0], high=ends[1],
            fair=float(shown.mean()) if len(shown) else NAN,
            fair_limit=measure.back(float(np.quantile(null, 0.95))) if len(null) else NAN,
            p=(1 + float((null >= observed - 1e-12).sum())) / (1 + len(null)) if len(null) else NAN,
        )  # fmt: skip

    @staticmethod
    def _turned(rates: Array, flip: bool) -> Array:
        return 1 - rates if flip else rates

    def _noise(self, parts: Sequence[tuple[int, bool]], cells: Array, units: Array, rates: Array) -> Array:
        """How the log odds of the rates move in a bootstrap of units, a row for each draw."""
        drawn = [self._turned(self._resampled[i][:, cells], flip) for i, flip in parts]
        joined = np.concatenate(drawn, axis=1)
        joined = np.where(np.isfinite(joined), joined, rates)  # a group of which no unit was drawn stays as it is
        return _log_odds(joined, units) - _log_odds(rates, units)

    @cached_property
    def _resampled(self) -> list[Array]:
        """The rates of the groups in a bootstrap of units."""
        size = len(self.grouping.cells)
        each = [_by_unit(self.layout, self.members, column, size) for column in self.columns]
        totals = resampled(np.concatenate(each, axis=1), self.draws, self.settings.seed)
        with np.errstate(all="ignore"):
            return [
                totals[:, 2 * i * size : (2 * i + 1) * size] / totals[:, (2 * i + 1) * size : (2 * i + 2) * size]
                for i in range(len(self.columns))
            ]

    @cached_property
    def _fair(self) -> list[Array]:
        """The rates of the groups when labels are shuffled over units."""
        size = len(self.grouping.cells)
        nobody = np.full(size, -1)
        wanted = [
            WantedComparisons(column, np.zeros(size, np.int64), np.arange(size), nobody) for column in self.columns
        ]
        drawn = Permutations(self.sums, [self.grouping], wanted, self.settings.seed)
        parts = [[np.asarray(one.one.mean) for one in samples] for samples in drawn.draw(self.draws)]
        return [np.concatenate([part[i] for part in parts]) for i in range(len(self.columns))]


def _by_unit(layout: Layout, members: Members, column: Column, size: int) -> Array:
    """For every unit, the sum of a metric in each cell and then how many rows it has there."""
    values = column.values + column.centre
    rows = np.arange(len(values)) if members.rows is None else members.rows
    cells = members.cells
    keep = (cells >= 0) & ~np.isnan(values[rows])
    rows, cells = rows[keep], cells[keep]
    if layout.alone:
        unit = rows
    else:
        code = np.empty(layout.total, dtype=np.int64)
        code[slice(None) if layout.order is None else layout.order] = layout.codes
        unit = code[rows]
    key = unit * size + cells
    total = np.bincount(key, values[rows], minlength=layout.count * size).reshape(layout.count, size)
    count = np.bincount(key, minlength=layout.count * size).reshape(layout.count, size)
    return np.concatenate([total, count], axis=1)


def _log_odds(rates: Array, units: Array) -> Array:
    smooth = (rates * units + 0.5) / (units + 1)
    return np.asarray(np.log(smooth / (1 - smooth)))


def _held(
    measure: Measure, rates: Array, units: Array, noise: Array, observed: float, alpha: float, parts: int
) -> tuple[float, float]:
    """The smallest and the largest true measure, on the scale where more is less fair, that the observed one fits."""
    odds = _log_odds(rates, units)
    weights = 1 / np.maximum(noise.var(axis=0), 1e-9)
    pooled = np.concatenate(
        [
            np.full(len(part), (part * weight).sum() / weight.sum())
            for part, weight in zip(np.split(odds, parts), np.split(weights, parts), strict=True)
        ]
    )
    away = odds - pooled
    if not away.any():
        away = np.tile(np.linspace(-0.01, 0.01, len(odds) // parts), parts)

    def unfair(log_odds: Array) -> Array:
        return measure.unfair(measure.of(1 / (1 + np.exp(-log_odds))))

    def seen(factor: float) -> Array:
        return unfair(pooled + factor * away + noise)

    def search(fits: Callable[[float], bool], inside: float, outside: float) -> float:
        for _ in range(14):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if fits(middle) else (inside, middle)
        return inside

    def not_too_small(factor: float) -> bool:
        return bool(np.mean(seen(factor) >= observed - 1e-12) >= alpha / 2)

    def not_too_large(factor: float) -> bool:
        return bool(np.mean(seen(factor) <= observed + 1e-12) >= alpha / 2)

    least = 0.0 if not_too_small(0.0) else search(not_too_small, 1.0, 0.0)
    outside = 1.0
    while not_too_large(outside) and outside < 64:
        outside *= 2
    most = search(not_too_large, least, outside) if not_too_large(least) else least
    low, high = (float(unfair(pooled + factor * away)) for factor in (least, most))
    return min(low, observed), max(high, observed)
