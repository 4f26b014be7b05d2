"""The comparisons to make, and the numbers of each before its family is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.directions import LOWER
from countenance.auditing.effects import cohen_h
from countenance.auditing.groups import CROSS, Grouping
from countenance.auditing.power import detectable_rate, rank_from_d, reach
from countenance.auditing.settings import AuditSettings, Judged
from countenance.auditing.sums import GroupSums, Side
from countenance.auditing.table import Array
from countenance.auditing.units import too_few
from countenance.errors import InputError

REST = "rest"
UNKNOWN_DIRECTION = "unknown"


@dataclass(frozen=True)
class Test:
    """One test of a comparison: its name, its statistic as a number, z where it has one, degrees of freedom, and p."""

    name: str
    value: float
    p: float
    z: float = math.nan
    df: float = math.nan
    sign: float = math.nan
    """The difference, or the rank-biserial correlation; its sign says which side is better."""

    def with_p(self, p: float) -> Test:
        """The same test with its p."""
        return replace(self, p=p)


@dataclass
class Draft:
    """A finding before its family is known: its columns so far, and the data for the verdict."""

    values: dict[str, Any]
    judged: Judged
    untestable: str = ""
    note: str = ""
    small: bool = False
    """Too few people for an approximation or an all-clear, and enough for a permutation."""
    tests: dict[str, Test] = field(default_factory=dict)
    """The tests of the comparison by name (mean, rank, people); none where neither side varies."""
    se: float = math.nan
    df: float = math.inf
    unit: float = math.nan
    """The standard error of the effect: the minimum detectable effect is reach · unit."""
    sizes: tuple[float, float] = (math.nan, math.nan)
    """The effective sizes of the two sides (rates)."""
    sd: float = math.nan
    """The standard deviation of a row, to turn a difference into a rank-biserial correlation."""
    tail: float = 0.0
    """By how much the variance grows with the difference, if the difference comes from more rows in a long tail."""
    share: float = 0.5
    """The share of the difference's variance that comes from the group."""
    critical: float | None = None
    """The critical value of the test, where it is not that of a normal or t distribution."""
    raw_level: float = math.nan
    """The p by permutation that the rate, or the ranks beside a mean, must reach; NaN where labels are not shuffled."""
    severity_effect: float = math.nan
    smaller: bool = False
    """The difference is shown to be smaller than what matters."""
    rare: bool = False
    """Failures are rare and differ so much that a small difference in points does not clear them."""
    unclear: str = ""
    """Why a difference cannot be shown to be small although its interval is."""
    p_equivalence: float = math.nan
    attainable: Array | None = None
    """Every p that the test can give, rising, where it is exact; None: p can be any number."""
    repeats: Draft | None = None
    """An earlier comparison of the same rows under another name; the two are counted once."""
    weight: float = 1.0
    """How many comparisons this one counts as: choosing the best group compares all pairs of groups."""
    named: bool = True
    ranks_decided: bool = False
    """Whether the test of ranks decided, not that of the mean."""

    def decide(self, name: str, p: float) -> None:
        """Set the test that decides, and the p of the comparison."""
        test = self.tests[name]
        self.values |= {
            "statistic": "rank" if name == "rank" else "mean",
            "test": test.name,
            "test_statistic": test.value,
            "p": p,
            "z": test.z,
            "df": test.df,
        }
        self.values["direction"] = direction(test.sign, self.judged.better)
        self.ranks_decided = name == "rank"

    def hold_with(self, other: Draft) -> None:
        """Call the difference small only if it is also small in another view, such as with missing scores as wrong."""
        self.smaller = self.smaller and other.smaller
        for name, wider in (("low_equivalence", min), ("high_equivalence", max)):
            if name in self.values and name in other.values:
                self.values[name] = wider(self.values[name], other.values[name])

    @property
    def doubled(self) -> tuple[str, float]:
        """The smallest of the tests, and its p times how many there are: the p where labels are not shuffled."""
        name = min(self.tests, key=lambda test: self.tests[test].p)
        return name, min(1.0, len(self.tests) * self.tests[name].p)

    def detectable(self, alpha: float, power: float) -> tuple[float, float]:
        """The minimum detectable effect, in the effect's units and in the metric's."""
        far = reach(alpha, power, self.df) if self.critical is None else self.critical + quantile(power, self.df)
        name = self.values["effect_name"]
        if name == "ratio":
            return math.exp(min(far * self.unit, 700.0)) if math.isfinite(self.unit) else math.nan, math.nan
        if name == "h":
            versus = self.values["estimate_versus"]
            rate = detectable_rate(versus, *self.sizes, alpha, power, self.df, exact=self.raw_level)
            if math.isnan(rate):
                return far * self.unit, math.nan
            return abs(cohen_h(rate, versus)), abs(rate - versus)
        if name == "rank-biserial":
            if not self.se > 0:  # no row differs from another, and nothing says how they might
                return math.nan, math.nan
            if math.isfinite(self.unit):
                ranks_far = far if math.isnan(self.raw_level) else reach(self.raw_level, power, self.df)
                return min(ranks_far * self.unit, 1.0), self._difference_in_tail(far, power)
            return rank_from_d(far * self.se / self.sd) if self.sd > 0 else math.nan, far * self.se
        if self.unit == 0:  # all rows differ alike
            return math.nan, math.nan
        return far * self.unit, far * self.unit

    def _difference_in_tail(self, far: float, power: float) -> float:
        """The detectable difference if it comes from more rows in a long tail, which widens the group's spread.

        Permutation tests use the spread without the tail's part (`tests.unskewed`).
        """
        wide = far if math.isnan(self.raw_level) else float(quantile(power, self.df))
        start = (far - wide) * self.se
        # difference = start + wide · sqrt(se² + tail · difference)
        half = start + wide * wide * self.tail / 2
        return half + math.sqrt(max(half * half - start * start + wide * wide * self.se * self.se, 0.0))


def which(
    sums: GroupSums, grouping: Grouping, settings: AuditSettings, judged: Judged
) -> Iterator[tuple[int, int, float]]:
    """The comparisons to make: a cell, the other cell (-1: the rest), and how many comparisons it counts as."""
    count = len(grouping.cells)
    if settings.comparison == "rest":
        if count == 2:  # two groups are one comparison: the first in the order of values, against the other
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


def referred(cells: Side, grouping: Grouping, settings: AuditSettings, judged: Judged) -> tuple[int, float]:
    """The reference cell: named, 'largest' (the default), or 'best'; and what choosing it costs.

    The best and the largest are chosen among the groups that are large enough to be tested, where there are any.
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
        if judged.better is None:
            raise InputError("reference 'best': it is not known which way a metric is better; name it with better=")
        mean = np.asarray(cells.mean)
        good = -mean if judged.better == LOWER else mean
        return int(np.argmax(np.where(large, good, -np.inf))), max(large.sum() / 2, 1.0)
    raise InputError(
        f"reference {reference!r} is not a group of {grouping.name!r}; the groups are "
        f"{', '.join(map(repr, grouping.cells[:12]))} (or 'best', 'largest', or a mapping by attribute)"
    )


def why_untestable(
    side1: Side, side2: Side, names: list[tuple[str, str]], least: int, nouns: tuple[str, str]
) -> list[str]:
    """Why each comparison cannot be tested; empty where it can."""
    reasons = []
    rows = zip(names, *(np.atleast_1d(part) for part in (side1.n, side2.n, side1.units, side2.units)), strict=True)
    for (name, versus), n1, n2, units1, units2 in rows:
        reason = "" if n1 or n2 else "no units: no row has a value of the metric"
        for called, n in ((name, n1), (versus, n2)):
            reason = reason or ("" if n else f"no units in {called}")
        for called, units in ((name, units1), (versus, units2)):
            reason = reason or ("" if units >= least else too_few(int(units), nouns, least, called))
        reasons.append(reason)
    return reasons


def direction(difference: float, better: str | None) -> str:
    """Whether a group with this difference from the other side is served worse or better.

    Unknown if the metric's better direction is not known or the sides do not differ.

    >>> direction(-0.1, "higher"), direction(-5.0, "lower"), direction(3.0, None)
    ('worse', 'better', 'unknown')
    """
    if better is None or not math.isfinite(difference) or difference == 0:
        return UNKNOWN_DIRECTION
    return "better" if (difference > 0) == (better != LOWER) else "worse"
