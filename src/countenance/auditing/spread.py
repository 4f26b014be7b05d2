"""`spread`: tests whether the largest minus the smallest group estimate is more than chance.

Even a perfectly fair model shows a spread, so the spread minus its mean under the null is given as well. The test is
of the largest studentised difference of two groups: the plain spread of groups that differ in cluster sizes or in
variance does not stay the same when labels are shuffled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing import tests
from countenance.auditing._dist import quantile
from countenance.auditing.comparisons import Draft
from countenance.auditing.effects import cohen_h
from countenance.auditing.estimates import clopper_pearson_limits, wilson_limits
from countenance.auditing.far_ends import Ends, FarEnds, widened
from countenance.auditing.groups import Grouping
from countenance.auditing.layout import Column
from countenance.auditing.measured_metric import MeasuredMetric, Summed
from countenance.auditing.missing_scores import LACKING, TOLERATED
from countenance.auditing.permutations import Permutations
from countenance.auditing.power import rank_from_d
from countenance.auditing.row_labels import ComparisonRequest
from countenance.auditing.row_sums import RowSums
from countenance.auditing.settings import AuditSettings
from countenance.auditing.sums import GroupSums, Side, way_residual
from countenance.auditing.table import Array
from countenance.auditing.units import too_few

MOST_STEPS = 2_000_000_000
NOT_SHUFFLED = "labels could not be shuffled here; the test draws group means from normal distributions instead"


@dataclass
class Spread:
    """The groups of one attribute under one metric that are large enough, as the test sees them."""

    grouping: Grouping
    summed: Summed
    measured: MeasuredMetric
    chosen: Array

    @property
    def cells(self) -> Side:
        """The sums of the chosen groups."""
        return self.summed.sums.cells.take(self.chosen)

    @property
    def column(self) -> Column:
        """The metric's values."""
        return self.measured.column


def chosen_cells(
    grouping: Grouping, sums: GroupSums, least: int, nouns: tuple[str, str]
) -> tuple[Array, list[tuple[str, int, int, str]]]:
    """The groups that are large enough, and the others with the reason."""
    units = np.asarray(sums.cells.units)
    out = []
    for g in np.flatnonzero(units < least):
        n = int(sums.cells.n[g])
        why = too_few(int(units[g]), nouns, least) if n else "no units"
        out.append((grouping.cells[g], n, int(units[g]), why))
    return np.flatnonzero(units >= least), out


def variances(cells: Side, kind: str) -> Array:
    """The variances of group estimates (groups on the last axis) if all groups were alike.

    A rate has the variance of the pooled rate, with the group's design effect. A mean has its own variance, at least
    what the rows of all groups imply; where no group varies at all, what all rows together imply.
    """
    with np.errstate(all="ignore"):
        n = np.asarray(cells.n, dtype=float)
        rows = n.sum(axis=-1, keepdims=True)
        varied = ~np.asarray(cells.constant)
        iccs = []
        for _, way in cells.ways[:2]:
            excess = np.where(varied, way_residual(cells, way) - n * cells.spread, 0.0)
            most = np.where(varied, n * cells.spread * (way.nn / n - 1), 0.0)
            excess, most = (part.sum(axis=-1, keepdims=True) for part in (excess, most))
            iccs.append(np.where(most > 0, np.clip(excess / most, 0.0, 1.0), 0.0))
        pooled = np.asarray(cells.total).sum(axis=-1, keepdims=True) / rows
        whole = np.asarray(cells.squares).sum(axis=-1, keepdims=True) / rows - pooled**2
        if kind == "rate":
            return np.asarray(whole * tests.design_effect(cells, iccs) / n)
        within = (n * cells.spread).sum(axis=-1, keepdims=True) / rows
        row = np.where(varied.any(axis=-1, keepdims=True), within, whole)
        return np.asarray(np.fmax(cells.variance, row * tests.implied(cells, iccs) / n))


def studentised(means: Array, variance: Array) -> Array:
    """The largest difference of two groups in standard errors.

    >>> round(float(studentised(np.array([0.0, 1.0, 3.0]), np.array([0.5, 0.5, 0.5]))), 6)
    3.0
    """
    first, second = np.triu_indices(means.shape[-1], 1)
    with np.errstate(all="ignore"):
        gap = np.abs(means[..., first] - means[..., second]) / np.sqrt(variance[..., first] + variance[..., second])
    return np.asarray(np.nan_to_num(gap, nan=0.0).max(axis=-1))


def needed(settings: AuditSettings, family: int) -> int:
    """The number of permutations with which p can fall well below the level that must be reached."""
    return max(settings.replicates, math.ceil(4 * family / settings.alpha))


def shuffled(
    spreads: Sequence[Spread],
    sums: RowSums,
    settings: AuditSettings,
    family: int,
) -> tuple[list[tuple[Array, Array]], str]:
    """For each attribute and metric, the statistic and the plain spread under the null; a note if not by shuffling."""
    count = needed(settings, family)
    groupings = list({id(spread.grouping): spread.grouping for spread in spreads}.values())
    columns = list({id(spread.column): spread.column for spread in spreads}.values())
    cells = sum(len(spread.chosen) ** 2 for spread in spreads)
    steps = count * (sums.layouts[0].count * len(columns) + cells)
    split = sum(sums.splits(grouping) for grouping in groupings)
    if len(sums.layouts) > 1 or steps + 10 * count * sums.total * split * len(columns) > MOST_STEPS:
        return [_drawn(spread, count, settings.seed) for spread in spreads], NOT_SHUFFLED
    number = {id(grouping): i for i, grouping in enumerate(groupings)}
    requests, places = [], []
    for column in columns:
        mine = sorted(
            (spread for spread in spreads if spread.column is column), key=lambda spread: number[id(spread.grouping)]
        )
        place = np.concatenate([np.full(len(spread.chosen), number[id(spread.grouping)]) for spread in mine])
        g = np.concatenate([spread.chosen for spread in mine])
        requests.append(ComparisonRequest(column, place, g, np.full(len(g), -1)))
        places.append(mine)
    nulls: dict[int, list[tuple[Array, Array]]] = {id(spread): [] for spread in spreads}
    done = 0
    for samples in Permutations(sums, groupings, requests, settings.seed).draw(count):
        for sample, mine in zip(samples, places, strict=True):
            start = 0
            for spread in mine:
                here = sample.first.take((slice(None), slice(start, start + len(spread.chosen))))
                start += len(spread.chosen)
                with np.errstate(all="ignore"):  # a shuffled table may leave a small group without a value
                    means = np.asarray(here.total) / np.asarray(here.n)
                plain = np.nan_to_num(np.fmax.reduce(means, axis=-1) - np.fmin.reduce(means, axis=-1))
                nulls[id(spread)].append((studentised(means, variances(here, spread.column.kind)), plain))
        done += len(samples[0].first.n)
        if settings.progress is not None:
            settings.progress(done, count)
    return [tuple(np.concatenate(part) for part in zip(*nulls[id(spread)], strict=True)) for spread in spreads], ""  # type: ignore[misc]


def _drawn(spread: Spread, count: int, seed: int) -> tuple[Array, Array]:
    """Group means drawn from one normal distribution each, with the variances that the groups have."""
    rng = np.random.default_rng(seed)
    cells = spread.cells
    variance = variances(cells, spread.column.kind)
    df = np.maximum(cells.effective - 1, 1.0)
    means = rng.standard_normal((count, len(spread.chosen))) * np.sqrt(variance)
    estimated = variance * rng.chisquare(df, size=means.shape) / df
    return studentised(means, estimated), means.max(axis=1) - means.min(axis=1)


def draft(spread: Spread, null: tuple[Array, Array], settings: AuditSettings, level: float) -> Draft:
    """The comparison of all groups that are large enough."""
    alpha, cells, kind = settings.alpha, spread.cells, spread.column.kind
    means, variance = np.asarray(cells.mean), variances(cells, kind)
    top, bottom = int(means.argmax()), int(means.argmin())
    columns: dict[str, Any] = {}
    for place, end in ((top, ""), (bottom, "_versus")):
        side = cells.take(place)
        low, high, deff = (float(part[spread.chosen[place]]) for part in spread.summed.intervals.cells)
        columns |= {
            f"n{end}": int(side.n),
            f"clusters{end}": int(side.units),
            f"estimate{end}": float(side.mean),
            f"low{end}": low,
            f"high{end}": high,
            f"deff{end}": deff,
        }
    observed, judged = float(means.max() - means.min()), spread.measured.judged
    names = spread.grouping.cells[spread.chosen[top]], spread.grouping.cells[spread.chosen[bottom]]
    result = Draft(
        columns
        | {
            "metric": spread.measured.metric,
            "attribute": spread.grouping.name,
            "group": names[0],
            "versus": names[1],
            "comparison": "spread",
            "kind": spread.measured.kind,
            "metric_kind": kind,
            "depth": spread.grouping.depth,
            "effect_name": "spread",
            "difference": observed,
            "effect": observed,
        },
        judged,
        named=spread.grouping.named,
    )
    statistic = float(studentised(means, variance))
    largest, plain = null
    p = float((1 + (largest >= statistic * (1 - 1e-9)).sum()) / (len(largest) + 1))
    if observed == 0 and bool(np.asarray(cells.constant).all()):
        p = math.nan
    critical = float(np.quantile(largest, 1 - alpha))
    ends = spread.measured.ends
    low, high = _interval(cells, means, variance, kind, critical, alpha, ends)
    delta = math.nan if judged.delta is None else judged.delta
    views = [cells, *(wrong.cells.take(spread.chosen) for wrong in spread.summed.wrong)]
    decides = max(_largest(side, kind, alpha, ends) for side in views)
    result.unclear = _unclear(spread)
    result.smaller = decides < delta and not result.unclear
    result.values |= {"direction": "unknown", "low_equivalence": low, "high_equivalence": decides}
    result.severity_effect = abs(
        cohen_h(float(means[top]), float(means[bottom]))
        if kind == "rate"
        else rank_from_d(observed / math.sqrt(float(spread.summed.sums.whole.spread)))
        if float(spread.summed.sums.whole.spread) > 0
        else 0.0
    )
    result.se = result.unit = math.sqrt(float(variance[top] + variance[bottom]))
    result.critical = float(np.quantile(largest, 1 - min(level, 0.5)))
    mean = float(plain.mean())
    result.values |= {
        "diff_low": low,
        "diff_high": high,
        "effect_low": low,
        "effect_high": high,
        "test_statistic": statistic,
        "p": p,
        "test": "studentised permutation of labels",
        "null_mean": mean,
        "excess": observed - mean,
        "se": result.se,
    }
    return result


def _unclear(spread: Spread) -> str:
    """The reason why nothing can be ruled out: a metric without ends lacks many scores of a group."""
    lacking = spread.summed.missing
    if lacking is None or spread.measured.ends is not None:
        return ""
    shares = np.asarray(lacking.cells.mean)[spread.chosen]
    return LACKING.format(spread.measured.metric) if (shares > TOLERATED).any() else ""


def _pairs(
    cells: Side, means: Array, variance: Array, kind: str, alpha: float, cautious: bool, ends: Ends | None
) -> Array:
    """Upper limits of the differences of every two groups, each one-sided at alpha, with one further person in each."""
    df = np.maximum(cells.effective - 1, 0.5)
    far = None if ends is None else FarEnds(cells, ends, of_trials=kind == "rate")
    gap = means[:, None] - means[None, :]
    if kind == "rate":
        t = quantile(1 - alpha, np.where(np.asarray(cells.alone), np.inf, df))
        with np.errstate(all="ignore"):
            size = np.where(np.asarray(cells.constant), 0.0, cells.spread / variance)
        size = np.where(
            size > 0, size, np.asarray(cells.n, dtype=float) / tests.implied(cells, tests.correlations([cells]))
        )
        limits = (clopper_pearson_limits if cautious else wilson_limits)(means, np.minimum(size, cells.n), t)
        return np.asarray(gap + _reach(means, widened(far, limits, 2 * alpha)))
    joint = variance[:, None] + variance[None, :]
    with np.errstate(all="ignore"):
        free = joint**2 / (variance[:, None] ** 2 / df[:, None] + variance[None, :] ** 2 / df[None, :])
    t = quantile(1 - alpha, np.where(np.isfinite(free), free, 1.0))
    return np.asarray(gap + np.maximum(t * np.sqrt(joint), _reach(means, widened(far, (means, means), 2 * alpha))))


def _reach(means: Array, limits: tuple[Array, Array]) -> Array:
    """How far the difference of every two groups may be above its estimate, from the limits of each."""
    low, high = limits
    return np.asarray(np.hypot((high - means)[:, None], (means - low)[None, :]))


def _interval(
    cells: Side, means: Array, variance: Array, kind: str, critical: float, alpha: float, ends: Ends | None
) -> tuple[float, float]:
    """The interval of the largest difference: from what all pairs together exceed to what the true extremes stay below.

    The lower end is above 0 exactly where the test says so; a plain interval of resampled spreads never holds 0.
    """
    gap = np.abs(means[:, None] - means[None, :]) - critical * np.sqrt(variance[:, None] + variance[None, :])
    upper = _pairs(cells, means, variance, kind, alpha / 2, cautious=False, ends=ends)
    return max(0.0, float(gap.max())), float(upper.max())


def _largest(cells: Side, kind: str, alpha: float, ends: Ends | None) -> float:
    """The largest upper limit of the differences of two groups, each one-sided at alpha."""
    means, variance = np.asarray(cells.mean), variances(cells, kind)
    off = ~np.eye(len(means), dtype=bool)
    ways = (False, True) if kind == "rate" else (False,)
    return max(float(_pairs(cells, means, variance, kind, alpha, way, ends)[off].max()) for way in ways)
