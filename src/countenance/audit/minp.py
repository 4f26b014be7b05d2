"""Step-down min-p: how often the smallest p of all comparisons is as small as this one when labels are shuffled.

The statistic is each comparison's own p. Permutations are joint over all attributes and metrics, so what the
comparisons have in common is not paid for again and again, as it is with Holm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.audit import tests
from countenance.audit.batch import Batch
from countenance.audit.codes import rounded_up
from countenance.audit.from_rows import RowSums
from countenance.audit.permute import Permutations
from countenance.audit.permute_rows import WantedComparisons
from countenance.audit.settings import Settings
from countenance.audit.table import Array

PERMUTATIONS = 2000
MORE_PERMUTATIONS = 10_000
FEWEST_UNITS = 20
MOST_CLUSTER_STEPS = 1_000_000_000
MOST_ROW_STEPS = 300_000_000
MOST_VALUES = 200_000_000
NEAR = 1 + 1e-9
NOT_FOR = "min-p is for comparisons with the rest or with a named group, not for {}"


@dataclass(frozen=True)
class Adjusted:
    """Adjusted p values in the order of the comparisons, the level that each must reach, and how many permutations."""

    p: Array
    levels: Array
    permutations: int


def permutations_needed(alpha: float, metrics: int) -> int:
    """How many permutations there are at least.

    >>> permutations_needed(0.05, 2), permutations_needed(0.01, 2), permutations_needed(0.05, 20)
    (2000, 10000, 4000)
    """
    return max(PERMUTATIONS, rounded_up(100 / alpha), 200 * metrics)


def why_not(settings: Settings, sums: RowSums, batches: Sequence[Batch], scene: str) -> str:
    """Why permutations cannot be used here; empty where they can."""
    if settings.comparison != "rest" and not (settings.comparison == "reference" and _named(settings, batches)):
        what = settings.comparison if settings.comparison != "reference" else "a reference that is chosen by looking"
        return NOT_FOR.format(what)
    if len(sums.layouts) > 1:
        return "people and images cross, so neither can be shuffled alone"
    if scene:
        return scene
    if sums.layouts[0].count < FEWEST_UNITS:
        return f"{sums.layouts[0].count} units are too few to shuffle (fewer than {FEWEST_UNITS})"
    return _too_much(permutations_needed(settings.alpha, len(batches)), sums, batches)


def _named(settings: Settings, batches: Sequence[Batch]) -> bool:
    """Whether the reference was named, or is the largest group: neither looks at the metric."""
    if settings.reference != "best":
        return True
    return all("best" in grouping.cells for batch in batches for grouping in batch.groupings)


def _too_much(count: int, sums: RowSums, batches: Sequence[Batch]) -> str:
    comparisons = sum(int(batch.tested.sum()) for batch in batches)
    split = {
        grouping.name for batch in batches for grouping in batch.groupings if sums.splits(grouping)
    }  # fmt: skip
    work = [
        (sums.layouts[0].count * len(batches) * count, MOST_CLUSTER_STEPS, "units"),
        (sums.total * len(split) * len(batches) * count, MOST_ROW_STEPS, "rows with labels that differ within a unit"),
        (count * comparisons, MOST_VALUES, "comparisons"),
    ]
    for steps, most, what in work:
        if steps > most:
            return f"too many {what} to shuffle {count:,} times"
    return ""


def adjust(
    batches: Sequence[Batch],
    sums: RowSums,
    families: Sequence[Array],
    settings: Settings,
) -> Adjusted:
    """Adjust the p of all tested comparisons of all metrics.

    `families` are lists of places among the tested comparisons (metric by metric); all use the same permutations.
    """
    groupings = list({id(g): g for batch in batches for g in batch.groupings}.values())
    number = {id(grouping): i for i, grouping in enumerate(groupings)}
    wanted, observed, least = [], [], []
    for batch in batches:
        use = np.flatnonzero(batch.tested)
        place = np.array([number[id(batch.groupings[batch.place[i]])] for i in use], dtype=np.int64)
        other = np.full(len(use), -1) if settings.comparison == "rest" else np.array(batch.h)[use]
        order = np.argsort(place, kind="stable")
        back = np.argsort(order, kind="stable")
        wanted.append(
            (WantedComparisons(batch.column, place[order], np.array(batch.g)[use][order], other[order]), back)
        )
        observed.append(np.asarray(batch.found.p)[use])
        least.append(np.asarray(batch.least)[use][order])
    some = [i for i, p in enumerate(observed) if len(p)]
    p = np.concatenate(observed)
    metric = np.repeat(np.arange(len(batches)), [len(one) for one in observed])
    drawn = Permutations(sums, groupings, [wanted[i][0] for i in some], settings.seed)
    count = permutations_needed(settings.alpha, len(batches))
    more = min(MORE_PERMUTATIONS, _most(sums, batches, len(p)))
    values = np.empty((0, len(p)))
    while True:
        parts = [values]
        done = len(values)
        for samples in drawn.draw(count - done):
            columns = []
            for i, sample in zip(some, samples, strict=True):
                found = tests.compare(batches[i].column.kind, sample.one, sample.two, sample.cross, least[i])
                columns.append(np.asarray(found.p)[:, wanted[i][1]])
            parts.append(np.hstack(columns))
            done += len(parts[-1])
            if settings.progress is not None:
                settings.progress(done, count)
        values = np.vstack(parts)
        del parts
        adjusted = _families(p, values, metric, families, settings.alpha)
        close = (adjusted.p > settings.alpha / 2) & (adjusted.p < 2 * settings.alpha)
        if not close.any() or count >= more:
            return adjusted
        count = more


def _most(sums: RowSums, batches: Sequence[Batch], comparisons: int) -> int:
    """How far the stream of permutations may go on."""
    split = {grouping.name for batch in batches for grouping in batch.groupings if sums.splits(grouping)}
    most = [MOST_CLUSTER_STEPS // 2 // (sums.layouts[0].count * len(batches)), MOST_VALUES // comparisons]
    if split:
        most.append(MOST_ROW_STEPS // (sums.total * len(split) * len(batches)))
    return min(most)


def _families(p: Array, values: Array, metric: Array, families: Sequence[Array], alpha: float) -> Adjusted:
    adjusted, levels = np.full(len(p), np.nan), np.full(len(p), np.nan)
    for family in families:
        if not len(family):
            continue
        own, shuffled = balanced(p[family], values[:, family], metric[family])
        adjusted[family] = np.maximum(step_down(own, shuffled), p[family])
        levels[family] = critical(p[family], values[:, family], metric[family], own, shuffled, alpha)
    return Adjusted(np.minimum(adjusted, 1.0), levels, len(values))


def balanced(p: Array, values: Array, metric: Array) -> tuple[Array, Array]:
    """Within each metric, p replaced by its rank among all observed and shuffled p of the metric.

    Otherwise one badly calibrated metric would drag the others down.

    >>> own, shuffled = balanced(np.array([0.01]), np.array([[0.5], [0.2], [0.01]]), np.array([0]))
    >>> own.tolist(), shuffled[:, 0].tolist()
    ([0.5], [1.0, 0.75, 0.5])
    """
    own, shuffled = np.empty_like(p), np.empty_like(values)
    for one in np.unique(metric):
        here = metric == one
        every = np.sort(np.append(values[:, here].ravel(), p[here]))
        own[here] = np.searchsorted(every, p[here] * NEAR, side="right") / len(every)
        shuffled[:, here] = np.searchsorted(every, values[:, here] * NEAR, side="right") / len(every)
    return own, shuffled


def step_down(own: Array, shuffled: Array) -> Array:
    """Step-down adjusted p: each against the smallest of those that are no smaller than it, never falling.

    >>> step_down(np.array([0.01, 0.3]), np.array([[0.5, 0.2], [0.005, 0.9], [0.4, 0.6]])).tolist()
    [0.5, 0.5]
    """
    order = np.argsort(own, kind="stable")
    smallest = np.minimum.accumulate(shuffled[:, order][:, ::-1], axis=1)[:, ::-1]
    found = (1 + (smallest <= own[order] * NEAR).sum(axis=0)) / (len(shuffled) + 1)
    adjusted = np.empty(len(own))
    adjusted[order] = np.maximum.accumulate(found)
    return adjusted


def critical(p: Array, values: Array, metric: Array, own: Array, shuffled: Array, alpha: float) -> Array:
    """The p that each comparison must stay below at the first step, as the shuffled tables show it."""
    smallest = np.sort(shuffled.min(axis=1))
    place = math.floor(alpha * (len(shuffled) + 1)) - 1
    bound = smallest[min(max(place, 0), len(smallest) - 1)]
    levels = np.empty(len(p))
    for one in np.unique(metric):
        here = metric == one
        every = np.sort(np.append(values[:, here].ravel(), p[here]))
        levels[here] = every[max(math.floor(bound * len(every) + 1e-9) - 1, 0)]
    return np.minimum(levels, alpha)
