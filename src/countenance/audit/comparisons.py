"""Room: audit. The comparisons of two sides: `rest`, `pairs`, `reference`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countenance.audit import effects, tests
from countenance.audit._dist import quantile
from countenance.audit.estimates import Side, correlation, interval
from countenance.audit.groups import CROSS, Grouping
from countenance.audit.power import rank_from_d, reach, shifted
from countenance.audit.sides import Cross, Sides
from countenance.errors import InputError

COMPARISONS = ("rest", "pairs", "reference", "spread", "paired")
REST = "rest"


@dataclass
class Draft:
    """A finding before its family is known: the columns so far, and what the verdict will need."""

    values: dict[str, Any]
    untestable: str = ""
    se: float = math.nan
    df: float = math.inf
    unit: float = math.nan  # standard error of the effect: the minimum detectable effect is reach · unit
    sd: float = math.nan  # standard deviation of a row, to turn a difference into a rank-biserial correlation
    severity_effect: float = math.nan
    tost: float = math.nan
    weight: float = 1.0  # how many comparisons this one stands for (choosing the best group looks at all pairs)
    notes: list[str] = field(default_factory=list)

    def detectable(self, alpha: float, power: float) -> tuple[float, float]:
        """The minimum detectable effect, in the effect's units and in the metric's."""
        far = reach(alpha, power, self.df)
        name = self.values["effect_name"]
        if name == "h":
            h = far * self.unit
            return h, abs(shifted(self.values["estimate_versus"], h) - self.values["estimate_versus"])
        if name == "rank-biserial":
            if math.isfinite(self.unit):
                return min(far * self.unit, 1.0), far * self.se
            return rank_from_d(far * self.se / self.sd) if self.sd > 0 else math.nan, far * self.se
        return far * self.unit, far * self.unit


def which(sides: Sides, grouping: Grouping, comparison: str, reference: Any) -> Iterator[tuple[int, int | None, float]]:
    """The comparisons to make: cell, the other (None: the rest), how many comparisons it stands for."""
    count = len(grouping.cells)
    if comparison == "rest":
        if count == 2:  # one comparison, not two: the first in the order of values, against the other
            yield 0, (None if grouping.overlap else 1), 1.0
        else:
            yield from ((g, None, 1.0) for g in range(count))
    elif comparison == "pairs":
        yield from ((g, h, 1.0) for g, h in itertools.combinations(range(count), 2))
    else:
        chosen = referred(sides, grouping, reference)
        weight = count / 2 if reference == "best" and "best" not in grouping.cells else 1.0
        yield from ((g, chosen, weight) for g in range(count) if g != chosen)


def referred(sides: Sides, grouping: Grouping, reference: Any) -> int:
    """The reference cell: named, 'largest' (also when nothing is said), or 'best' (the highest estimate)."""
    if isinstance(reference, Mapping):
        parts = grouping.name.split(CROSS)
        if missing := [part for part in parts if part not in reference]:
            raise InputError(f"reference: none given for {', '.join(map(repr, missing))}")
        reference = CROSS.join(str(reference[part]) for part in parts)
    if reference in grouping.cells:
        return grouping.cells.index(reference)
    cells = [sides.cell(g) for g in range(len(grouping.cells))]
    if reference in (None, "largest"):
        return int(np.argmax([cell.n for cell in cells]))
    if reference == "best":
        return int(np.argmax([cell.mean if cell.n else -math.inf for cell in cells]))
    raise InputError(
        f"reference {reference!r} is not a group of {grouping.name!r}; the groups are "
        f"{', '.join(map(repr, grouping.cells[:12]))} (or 'best', 'largest', or a mapping by attribute)"
    )


def compare(
    sides: Sides,
    grouping: Grouping,
    g: int,
    h: int | None,
    *,
    metric: str,
    comparison: str,
    alpha: float,
    min_n: int,
) -> Draft:
    """Compare cell g with cell h, or with everybody else."""
    one = sides.cell(g)
    if h is None:
        two, cross = sides.rest(g), sides.cross_rest(g)
    else:
        two, cross = sides.cell(h), sides.cross(g, h)
    icc = correlation([one, two])
    low, high, deff = interval(one, sides.kind, alpha, icc)
    low2, high2, deff2 = interval(two, sides.kind, alpha, icc)
    versus = REST if h is None else grouping.cells[h]
    draft = Draft(
        {
            "metric": metric,
            "attribute": grouping.name,
            "group": grouping.cells[g],
            "versus": versus,
            "comparison": comparison,
            "n": one.n,
            "clusters": one.clusters,
            "n_versus": two.n,
            "clusters_versus": two.clusters,
            "estimate": one.mean,
            "low": low,
            "high": high,
            "estimate_versus": two.mean,
            "low_versus": low2,
            "high_versus": high2,
            "deff": deff,
            "deff_versus": deff2,
            "kind": sides.kind,
            "depth": grouping.depth,
            "effect_name": "h" if sides.kind == "rate" else "rank-biserial",
        }
    )
    if one.n and two.n:
        draft.values["difference"] = one.mean - two.mean
    draft.untestable = untestable(one, two, grouping.cells[g], versus, sides.kind, min_n, sides.clusters is not None)
    if one.n and two.n and not (one.constant and two.constant and one.mean == two.mean):
        (_rates if sides.kind == "rate" else _means)(draft, sides, g, h, one, two, cross, alpha)
    return draft


def untestable(one: Side, two: Side, name: str, versus: str, kind: str, min_n: int, clustered: bool) -> str:
    """Why a comparison cannot be tested; empty when it can."""
    for side, called in ((one, name), (two, versus)):
        if side.n == 0:
            return f"no units in {called}"
    for side, called in ((one, name), (two, versus)):
        if side.clusters < min_n:
            units = "clusters" if clustered else "rows"
            return f"{side.clusters} {units} in {called}, fewer than {min_n}"
    if one.constant and two.constant and (kind == "mean" or one.mean == two.mean):
        same = f"every row is {one.mean:g}" if one.mean == two.mean else "each side has one value only"
        return f"no variance on either side ({same})"
    return ""


def _rates(draft: Draft, sides: Sides, g: int, h: int | None, one: Side, two: Side, cross: Cross, alpha: float) -> None:
    sizes = tests.effective(one, two, cross)
    test = tests.two_rates(one, two, sizes)
    p1, p2, n1, n2 = one.mean, two.mean, sizes.n1, sizes.n2
    diff_low, diff_high = effects.newcombe(p1 * n1, n1, p2 * n2, n2, alpha)
    effect_low, effect_high = effects.cohen_h_interval(p1, p2, n1, n2, alpha)
    # A side all right or all wrong has no Wald variance; it borrows Agresti and Caffo's added rows.
    q1, q2 = (p if 0 < p < 1 else (p * n + 1) / (n + 2) for p, n in ((p1, n1), (p2, n2)))
    draft.se = math.sqrt(q1 * (1 - q1) / n1 + q2 * (1 - q2) / n2)
    draft.df, draft.unit = sizes.df, math.sqrt(1 / n1 + 1 / n2)
    effect = effects.cohen_h(p1, p2)
    draft.severity_effect = abs(effect)
    _record(draft, test, diff_low, diff_high, effect, effect_low, effect_high)


def _means(draft: Draft, sides: Sides, g: int, h: int | None, one: Side, two: Side, cross: Cross, alpha: float) -> None:
    rows1 = sides.members(g)
    rows2 = sides.others(g) if h is None else sides.members(h)
    own = (None, None) if sides.clusters is None else (sides.clusters[rows1], sides.clusters[rows2])
    ranks = effects.rank_biserial(sides.ranks[rows1], sides.ranks[rows2], *own)
    test, draft.se = tests.two_means(one, two, cross)
    draft.df = test.df
    draft.sd = math.sqrt((one.n * one.spread + two.n * two.spread) / (one.n + two.n))
    half = quantile(1 - alpha / 2, test.df) * draft.se
    d = one.mean - two.mean
    if draft.values["comparison"] == "pairs":
        alone = one.alone and two.alone and not cross.nn
        test = tests.mann_whitney(sides.values[rows1], sides.values[rows2], ranks, math.inf if alone else test.df)
        deff = max(1.0, ranks.variance / ranks.simple) if ranks.simple > 0 and not alone else 1.0
        draft.unit = math.sqrt((one.n + two.n + 1) / (3 * one.n * two.n) * deff)
        draft.df = test.df
    width = quantile(1 - alpha / 2) * math.sqrt(ranks.variance)
    draft.severity_effect = abs(ranks.r)
    _record(draft, test, d - half, d + half, ranks.r, max(-1.0, ranks.r - width), min(1.0, ranks.r + width))


def _record(
    draft: Draft, test: tests.Test, diff_low: float, diff_high: float, effect: float, low: float, high: float
) -> None:
    draft.values |= {
        "diff_low": diff_low,
        "diff_high": diff_high,
        "test": test.name,
        "statistic": test.statistic,
        "p": test.p,
        "z": test.z,
        "df": draft.df,
        "se": draft.se,
        "effect": effect,
        "effect_low": low,
        "effect_high": high,
    }
