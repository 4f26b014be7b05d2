"""Step-down min-p: how often the smallest p of all comparisons is as small as this one when labels are shuffled.

A comparison has one or more statistics, each a number that orders tables like a p (it need not be a valid p:
permutations calibrate it). Permutations are joint over all attributes and metrics, so comparisons that say nearly the
same thing are corrected for about once, and not several times as in Holm's method. A statistic that cannot be computed
from shuffled labels may have draws of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing.codes import rounded_up
from countenance.auditing.groups import Grouping
from countenance.auditing.permutations import Permutations, Sampled
from countenance.auditing.row_labels import ComparisonRequest
from countenance.auditing.row_sums import RowSums
from countenance.auditing.settings import AuditSettings
from countenance.auditing.table import Array

PERMUTATIONS = 2000
MORE_PERMUTATIONS = 10_000
FEWEST_UNITS = 20
MOST_CLUSTER_STEPS = 1_000_000_000
MOST_ROW_STEPS = 300_000_000
MOST_VALUES = 200_000_000
NEAR = 1 + 1e-9
TYPICAL = 4
"""The weight of the family's average when the level of one statistic is estimated from shuffled tables."""
COARSE = 1.5
"""If ties at the bound make the level more than this many times as large, a p at the bound is no estimate of it."""
NOT_FOR = "min-p is for comparisons with the rest or with a named group, not for {}"


@dataclass(frozen=True)
class Statistic:
    """One statistic of some comparisons, and how it is computed when labels are shuffled.

    `comparisons` are places among all comparisons of the audit. Statistics of one `block` are ranked together, so that
    one that is badly calibrated does not distort the others. Either `request` and `evaluate` give the statistic of
    labels as they are and shuffled, or `observed` is the statistic and `draw` gives as many draws from its own null
    distribution as are requested.
    """

    name: str
    block: tuple[str, ...]
    comparisons: Array
    request: ComparisonRequest | None = None
    evaluate: Callable[[Sampled], Array] | None = None
    observed: Array | None = None
    draw: Callable[[int], Array] | None = None


@dataclass(frozen=True)
class Adjusted:
    """For each comparison: its own p by permutation, the adjusted p, and which levels it must reach at the first step.

    `levels` are in terms of the first statistic's p, `raw_levels` of the last one's by permutation; `decided` is the
    name of the statistic that is smallest; `permutations`: how many there were.
    """

    raw: Array
    p: Array
    levels: Array
    raw_levels: Array
    decided: Array
    permutations: int


def permutations_needed(alpha: float, metrics: int) -> int:
    """The least number of permutations for a level and a number of metrics.

    >>> permutations_needed(0.05, 2), permutations_needed(0.01, 2), permutations_needed(0.05, 20)
    (2000, 10000, 4000)
    """
    return max(PERMUTATIONS, rounded_up(100 / alpha), 200 * metrics)


def why_not(settings: AuditSettings, sums: RowSums, groupings: Sequence[Grouping], scene: str) -> str:
    """Why labels cannot be shuffled here at any cost; empty if they can."""
    if settings.comparison != "rest" and not (settings.comparison == "reference" and _named(settings, groupings)):
        what = settings.comparison if settings.comparison != "reference" else "a reference that is chosen by looking"
        return NOT_FOR.format(what)
    if len(sums.layouts) > 1:
        return "people and images cross, so neither can be shuffled alone"
    if scene:
        return scene
    if sums.layouts[0].count < FEWEST_UNITS:
        return f"{sums.layouts[0].count} units are too few to shuffle (fewer than {FEWEST_UNITS})"
    return ""


def _named(settings: AuditSettings, groupings: Sequence[Grouping]) -> bool:
    """Whether the reference was named, or is the largest group: neither choice depends on the metric."""
    if settings.reference != "best":
        return True
    return all("best" in grouping.cells for grouping in groupings)


@dataclass(frozen=True)
class Shuffling:
    """Labels that are shuffled between the units of a table, and what that costs for some statistics."""

    sums: RowSums
    groupings: Sequence[Grouping]
    statistics: Sequence[Statistic]
    metrics: int
    strata: Array | None = None

    @property
    def _costs(self) -> list[tuple[int, int, str]]:
        """For each part of the work: the cost of one permutation, the most that all may cost, and what is counted."""
        shuffled = [statistic for statistic in self.statistics if statistic.request is not None]
        split = [grouping for grouping in self.groupings if self.sums.splits(grouping)]
        columns = len({id(statistic.request.column) for statistic in shuffled if statistic.request is not None})
        values = sum(len(statistic.comparisons) for statistic in self.statistics)
        return [
            (self.sums.layouts[0].count * self.metrics, MOST_CLUSTER_STEPS, "units"),
            (self.sums.total * len(split) * columns, MOST_ROW_STEPS, "rows with labels that differ within a unit"),
            (values, MOST_VALUES, "comparisons"),
        ]

    def too_much(self, alpha: float) -> str:
        """Why shuffling would take too long; empty where it does not."""
        count = permutations_needed(alpha, self.metrics)
        for cost, most, what in self._costs:
            if cost * count > most:
                return f"too many {what} to shuffle {count:,} times"
        return ""

    def adjust(self, families: Sequence[Array], comparisons: int, settings: AuditSettings) -> Adjusted:
        """Adjust all comparisons; `families` are lists of places among them, and use the same permutations."""
        shuffled = [statistic for statistic in self.statistics if statistic.request is not None]
        requests = [statistic.request for statistic in shuffled if statistic.request is not None]
        stream = Permutations(self.sums, self.groupings, requests, settings.seed, self.strata) if requests else None
        count = permutations_needed(settings.alpha, self.metrics)
        first, *others = self._costs
        more = [first[1] // 2 // max(first[0], 1), *(most // cost for cost, most, _ in others if cost)]
        most = min(MORE_PERMUTATIONS, *more)
        observed = self._observed(stream, shuffled)
        values = np.empty((0, len(observed)))
        while True:
            values = np.vstack([values, *self._drawn(stream, shuffled, len(values), count, settings)])
            adjusted = _adjusted(self.statistics, observed, values, families, comparisons, settings.alpha)
            close = (adjusted.p > settings.alpha / 2) & (adjusted.p < 2 * settings.alpha)
            if not close.any() or count >= most:
                return adjusted
            count = most

    def _observed(self, stream: Permutations | None, shuffled: Sequence[Statistic]) -> Array:
        """Every statistic of the labels as they are."""
        samples = [] if stream is None else stream.observed()
        by_statistic = {id(statistic): sample for statistic, sample in zip(shuffled, samples, strict=True)}
        return np.concatenate(
            [
                statistic.observed if statistic.observed is not None else _values(statistic, by_statistic, 1)[0]
                for statistic in self.statistics
            ]
        )

    def _drawn(
        self, stream: Permutations | None, shuffled: Sequence[Statistic], done: int, count: int, settings: AuditSettings
    ) -> list[Array]:
        """Further values of all statistics, a row for each permutation."""
        parts = []
        left = count - done
        for samples in stream.draw(left) if stream is not None else [[]]:
            size = len(samples[0].first.n) if samples else left
            by_statistic = {id(statistic): sample for statistic, sample in zip(shuffled, samples, strict=True)}
            parts.append(np.hstack([_values(statistic, by_statistic, size) for statistic in self.statistics]))
            done += size
            if settings.progress is not None:
                settings.progress(done, count)
        return parts


def _values(statistic: Statistic, samples: dict[int, Sampled], size: int) -> Array:
    if statistic.draw is not None:
        return statistic.draw(size)
    if statistic.evaluate is None:
        raise ValueError(f"the statistic {statistic.name} has no null distribution")
    return statistic.evaluate(samples[id(statistic)])


def _adjusted(
    statistics: Sequence[Statistic],
    p: Array,
    values: Array,
    families: Sequence[Array],
    comparisons: int,
    alpha: float,
) -> Adjusted:
    place = np.concatenate([statistic.comparisons for statistic in statistics])
    sizes = [len(statistic.comparisons) for statistic in statistics]
    names = np.repeat([statistic.name for statistic in statistics], sizes)
    blocks = {block: i for i, block in enumerate(dict.fromkeys(statistic.block for statistic in statistics))}
    block = np.repeat([blocks[statistic.block] for statistic in statistics], sizes)
    raw, adjusted, levels, raw_levels = (np.full(comparisons, np.nan) for _ in range(4))
    decided = np.full(comparisons, "", dtype=object)
    for family in families:
        entries = np.flatnonzero(np.isin(place, family))
        if not len(entries):
            continue
        entries = entries[np.argsort(place[entries], kind="stable")]
        own, shuffled = balanced(p[entries], values[:, entries], block[entries])
        members, starts = np.unique(place[entries], return_index=True)
        smallest, smallest_shuffled = np.minimum.reduceat(own, starts), np.minimum.reduceat(shuffled, starts, axis=1)
        raw[members] = (1 + (smallest_shuffled <= smallest * NEAR).sum(axis=0)) / (len(values) + 1)
        adjusted[members] = step_down(smallest, smallest_shuffled)
        bound = _bound(smallest_shuffled, alpha)
        ends = np.append(starts[1:], len(entries))
        by_permutation, coarse = levels_by_permutation(shuffled, bound, alpha)
        raw_levels[members] = by_permutation[ends - 1]
        levels[members] = critical(p[entries], values[:, entries], block[entries], bound)[starts]
        if coarse:
            levels[members] = raw_levels[members]
        for member, start, end in zip(members, starts, ends, strict=True):
            decided[member] = names[entries[start + int(np.argmin(own[start:end]))]]
    return Adjusted(raw, np.minimum(adjusted, 1.0), levels, raw_levels, decided, len(values))


def balanced(p: Array, values: Array, block: Array) -> tuple[Array, Array]:
    """Within each block, p replaced by its rank among all observed and shuffled p of the block.

    Otherwise one badly calibrated metric would distort the others.

    >>> own, shuffled = balanced(np.array([0.01]), np.array([[0.5], [0.2], [0.01]]), np.array([0]))
    >>> own.tolist(), shuffled[:, 0].tolist()
    ([0.5], [1.0, 0.75, 0.5])
    """
    own, shuffled = np.empty_like(p), np.empty_like(values)
    for number in np.unique(block):
        here = block == number
        every = np.sort(np.append(values[:, here].ravel(), p[here]))
        own[here] = np.searchsorted(every, p[here] * NEAR, side="right") / len(every)
        shuffled[:, here] = np.searchsorted(every, values[:, here] * NEAR, side="right") / len(every)
    return own, shuffled


def step_down(own: Array, shuffled: Array) -> Array:
    """Step-down adjusted p: each is compared with the smallest p that is at least as large; the result never falls.

    >>> step_down(np.array([0.01, 0.3]), np.array([[0.5, 0.2], [0.005, 0.9], [0.4, 0.6]])).tolist()
    [0.5, 0.5]
    """
    order = np.argsort(own, kind="stable")
    smallest = np.minimum.accumulate(shuffled[:, order][:, ::-1], axis=1)[:, ::-1]
    counted = (1 + (smallest <= own[order] * NEAR).sum(axis=0)) / (len(shuffled) + 1)
    adjusted = np.empty(len(own))
    adjusted[order] = np.maximum.accumulate(counted)
    return adjusted


def _bound(shuffled: Array, alpha: float) -> float:
    """The bound that the smallest value of a shuffled table is below in a share alpha of the tables."""
    smallest = np.sort(shuffled.min(axis=1))
    place = math.floor(alpha * (len(shuffled) + 1)) - 1
    return float(smallest[min(max(place, 0), len(smallest) - 1)])


def levels_by_permutation(shuffled: Array, bound: float, alpha: float) -> tuple[Array, bool]:
    """The p by permutation that each statistic must reach, and whether the values are too coarse to say.

    It is the share of shuffled tables in which the statistic reaches `bound`, for a share alpha in which any does.
    Where few cases leave few different tables, more of them than alpha tie at the bound, and a p at the bound is no
    level. Statistics that seldom reach it are taken to be partly like the others.

    >>> single = np.repeat([[0.1], [0.6]], [30, 70], axis=0)
    >>> levels_by_permutation(single, 0.1, 0.05)
    (array([0.05]), True)
    >>> ten = (np.arange(20_000).reshape(2000, 10) * 7919 % 20_000) / 20_000
    >>> levels, coarse = levels_by_permutation(ten, 0.005, 0.05)
    >>> levels.round(3).tolist()[:3], coarse
    ([0.005, 0.005, 0.005], False)
    """
    reached = shuffled <= bound * NEAR
    any_reached = float(reached.any(axis=1).mean())
    counts = reached.sum(axis=0)
    share = (counts + TYPICAL) / (1 + TYPICAL / counts.mean()) / len(shuffled)
    return np.minimum(alpha * share / any_reached, alpha), any_reached > COARSE * alpha


def critical(p: Array, values: Array, block: Array, bound: float) -> Array:
    """The p that each statistic must stay below at the first step, as the shuffled tables show it."""
    levels = np.empty(len(p))
    for number in np.unique(block):
        here = block == number
        every = np.sort(np.append(values[:, here].ravel(), p[here]))
        levels[here] = every[max(math.floor(bound * len(every) + 1e-9) - 1, 0)]
    return np.clip(levels, 1e-12, 0.999)
