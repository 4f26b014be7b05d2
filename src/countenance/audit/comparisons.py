"""Which comparisons are made, and what each of them shows before its family is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.audit._dist import quantile
from countenance.audit.effects import cohen_h
from countenance.audit.groups import CROSS, Grouping
from countenance.audit.power import detectable_rate, rank_from_d, reach
from countenance.audit.settings import LOWER, Judged, Settings
from countenance.audit.sums import GroupSums, Side
from countenance.audit.table import Array
from countenance.errors import InputError

REST = "rest"


@dataclass
class Draft:
    """A finding before its family is known: the columns so far, and what the verdict will need."""

    values: dict[str, Any]
    judged: Judged
    untestable: str = ""
    note: str = ""
    alarming: bool = False
    """Too few to test, but its interval excludes what the other side shows, to its disadvantage."""
    se: float = math.nan
    df: float = math.inf
    unit: float = math.nan
    """The standard error of the effect: the minimum detectable effect is reach · unit."""
    sizes: tuple[float, float] = (math.nan, math.nan)
    """The effective sizes of the two sides (rates)."""
    sd: float = math.nan
    """The standard deviation of a row, to turn a difference into a rank-biserial correlation."""
    share: float = 0.5
    """How much of the variance of the difference is the group's own."""
    critical: float | None = None
    """The critical value of the test, where it is not that of a normal or t distribution."""
    severity_effect: float = math.nan
    smaller: bool = False
    """The difference is shown to be smaller than what matters."""
    p_equivalence: float = math.nan
    weight: float = 1.0
    """How many comparisons this one stands for: choosing the best group looks at all pairs."""
    named: bool = True

    def detectable(self, alpha: float, power: float) -> tuple[float, float]:
        """The minimum detectable effect, in the effect's units and in the metric's."""
        far = reach(alpha, power, self.df) if self.critical is None else self.critical + quantile(power, self.df)
        name = self.values["effect_name"]
        if name == "h":
            versus = self.values["estimate_versus"]
            rate = detectable_rate(versus, *self.sizes, alpha, power, self.df)
            if math.isnan(rate):
                return far * self.unit, math.nan
            return abs(cohen_h(rate, versus)), abs(rate - versus)
        if name == "rank-biserial":
            if math.isfinite(self.unit):
                return min(far * self.unit, 1.0), far * self.se
            return rank_from_d(far * self.se / self.sd) if self.sd > 0 else math.nan, far * self.se
        return far * self.unit, far * self.unit


def which(sums: GroupSums, grouping: Grouping, settings: Settings, judged: Judged) -> Iterator[tuple[int, int, float]]:
    """The comparisons to make: a cell, the other (-1: the rest), and how many comparisons it stands for."""
    count = len(grouping.cells)
    if settings.comparison == "rest":
        if count == 2:  # one comparison, not two: the first in the order of values, against the other
            yield 0, (1 if disjoint(sums) else -1), 1.0
        else:
            yield from ((g, -1, 1.0) for g in range(count))
    elif settings.comparison == "pairs":
        yield from ((g, h, 1.0) for g, h in itertools.combinations(range(count), 2))
    else:
        chosen, weight = referred(sums.cells, grouping, settings, judged)
        yield from ((g, chosen, weight) for g in range(count) if g != chosen)


def disjoint(sums: GroupSums) -> bool:
    """Whether no row is in two cells."""
    return bool(np.sum(sums.cells.n) == sums.whole.n)


def referred(cells: Side, grouping: Grouping, settings: Settings, judged: Judged) -> tuple[int, float]:
    """The reference cell: named, 'largest' (also when nothing is said), or 'best'; and what choosing it costs.

    The best and the largest are looked for among the groups that are large enough to be tested, where there are any.
    """
    reference = settings.reference
    if isinstance(reference, Mapping):
        parts = grouping.name.split(CROSS)
        if missing := [part for part in parts if part not in reference]:
            raise InputError(f"reference: none given for {', '.join(map(repr, missing))}")
        reference = CROSS.join(str(reference[part]) for part in parts)
    if reference in grouping.cells:
        return grouping.cells.index(reference), 1.0
    large = np.asarray(cells.units) >= settings.min_n
    large = large if large.any() else np.asarray(cells.n) > 0
    if reference in (None, "largest"):
        return int(np.argmax(np.where(large, cells.n, -1.0))), 1.0
    if reference == "best":
        mean = np.asarray(cells.mean)
        good = -mean if judged.better == LOWER else mean
        return int(np.argmax(np.where(large, good, -np.inf))), max(large.sum() / 2, 1.0)
    raise InputError(
        f"reference {reference!r} is not a group of {grouping.name!r}; the groups are "
        f"{', '.join(map(repr, grouping.cells[:12]))} (or 'best', 'largest', or a mapping by attribute)"
    )


def why_untestable(one: Side, two: Side, names: list[tuple[str, str]], min_n: int, many: str) -> list[str]:
    """Why each comparison cannot be tested; empty where it can."""
    found = []
    rows = zip(names, *(np.atleast_1d(part) for part in (one.n, two.n, one.units, two.units)), strict=True)
    for (name, versus), n1, n2, units1, units2 in rows:
        told = "" if n1 or n2 else "no units: no row has a value of the metric"
        for called, n in ((name, n1), (versus, n2)):
            told = told or ("" if n else f"no units in {called}")
        for called, units in ((name, units1), (versus, units2)):
            told = told or ("" if units >= min_n else f"{int(units)} {many} in {called}, fewer than {min_n}")
        found.append(told)
    return found


def direction(difference: float, better: str | None) -> str:
    """Whether a group with this difference from the other side is served worse or better; empty: neither, or not known.

    >>> direction(-0.1, "higher"), direction(-5.0, "lower"), direction(3.0, None)
    ('worse', 'better', '')
    """
    if better is None or not math.isfinite(difference) or difference == 0:
        return ""
    return "better" if (difference > 0) == (better != LOWER) else "worse"


def is_alarming(one: Side, low: Array, high: Array, versus: Array, judged: Judged) -> Array:
    """Whether a group's own interval excludes what the other side shows, to its disadvantage."""
    with np.errstate(all="ignore"):
        below, above = np.asarray(high < versus), np.asarray(low > versus)
    found = {None: below | above, LOWER: above}.get(judged.better, below)
    return found & (np.asarray(one.n) > 0)
