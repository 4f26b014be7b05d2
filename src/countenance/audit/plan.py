"""Room: audit. Before the data: how many rows a comparison needs; what a table at hand can see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from countenance.audit._dist import quantile
from countenance.audit.effects import cohen_h
from countenance.audit.power import reach, shifted
from countenance.errors import InputError


class Plan(BaseModel):
    """How many rows each group needs, and what was assumed."""

    model_config = ConfigDict(frozen=True)

    metric: str
    baseline: float
    effect: float
    effect_name: str
    difference: float
    groups: int
    comparisons: int
    deff: float
    alpha: float
    alpha_each: float
    power: float
    n_per_group: int
    n_effective: int
    n_total: int
    reason: str


def plan(
    metric: str = "rate",
    *,
    baseline: float = 0.95,
    effect: str | float = "h=.2",
    groups: int = 2,
    deff: float = 1.0,
    alpha: float = 0.05,
    power: float = 0.8,
    sd: float = 1.0,
    comparison: str = "rest",
) -> Plan:
    """Rows each of `groups` equal groups needs so that one group's effect is seen with the given power.

    `effect` is "h=.2" (Cohen's h), "diff=.05" (a gap in the metric's units) or "d=.3" (standard deviations,
    means). Each group is compared with the rest (or with each other: `comparison="pairs"`), at α over the
    number of comparisons; two groups are one comparison.

    >>> plan(baseline=0.95, effect="h=.2", groups=2).n_per_group
    393
    >>> plan(baseline=0.95, effect="h=.2", groups=9, deff=4).n_per_group
    1470
    """
    kind, size = _effect(effect)
    _check(metric, kind, baseline, groups, deff, alpha, power)
    if metric == "rate":
        if kind == "diff":
            lower = baseline - size if baseline >= 0.5 else baseline + size
            if not 0 <= lower <= 1:
                raise InputError(f"plan: a rate {size:g} away from {baseline:g} does not exist; choose a smaller diff")
            gap, standard = size, abs(cohen_h(lower, baseline))
        else:
            gap, standard = abs(shifted(baseline, size) - baseline), size
    else:
        gap, standard = (size, size / sd) if kind == "diff" else (size * sd, size)
    count = _comparisons(groups, comparison)
    each = alpha / count
    others = 1 if comparison == "pairs" else groups - 1
    effective = (reach(each, power) / standard) ** 2 * (1 + 1 / others)
    n = math.ceil(effective * deff - 1e-9)
    reason = (
        f"{n:,} rows in each of {groups} groups ({n * groups:,} in all) show an effect of {kind} = {size:g} "
        f"({power:.0%} power, level {alpha:g} over {count} comparison{'s' if count > 1 else ''}, "
        f"design effect {deff:g})"
    )
    return Plan(
        metric=metric,
        baseline=baseline,
        effect=standard,
        effect_name="h" if metric == "rate" else "d",
        difference=gap,
        groups=groups,
        comparisons=count,
        deff=deff,
        alpha=alpha,
        alpha_each=each,
        power=power,
        n_per_group=n,
        n_effective=math.ceil(effective - 1e-9),
        n_total=n * groups,
        reason=reason,
    )


def _effect(effect: str | float) -> tuple[str, float]:
    name, _, number = str(effect).rpartition("=")
    try:
        size = float(number)
    except ValueError:
        size = math.nan
    name = name.strip() or "h"
    if name not in ("h", "diff", "d") or not size > 0 or math.isinf(size):
        raise InputError(f"plan: effect {effect!r}, expected h=NUMBER, diff=NUMBER or d=NUMBER with a positive number")
    return name, size


def _check(metric: str, kind: str, baseline: float, groups: int, deff: float, alpha: float, power: float) -> None:
    problems = [
        (metric not in ("rate", "mean"), f"metric {metric!r}, expected rate or mean"),
        (
            metric == "rate" and not 0 < baseline < 1,
            f"baseline {baseline:g}, expected a rate between 0 and 1",
        ),
        (metric == "rate" and kind == "d", "effect d is for means; for a rate give h or diff"),
        (metric == "mean" and kind == "h", "effect h is for rates; for a mean give d or diff"),
        (groups < 2, f"groups {groups}, expected at least 2"),
        (not deff >= 1, f"deff {deff:g}, expected at least 1"),
        (not 0 < alpha < 1, f"alpha {alpha:g}, expected a number between 0 and 1"),
        (not 0.5 <= power < 1, f"power {power:g}, expected a number from .5 up to 1"),
    ]
    for wrong, words in problems:
        if wrong:
            raise InputError(f"plan: {words}")


def _comparisons(groups: int, comparison: str) -> int:
    if comparison == "pairs":
        return groups * (groups - 1) // 2
    return 1 if groups == 2 else groups


def plan_for(
    table: Any,
    by: Sequence[str],
    metric: str,
    *,
    effect: str | float = "h=.2",
    alpha: float = 0.05,
    power: float = 0.8,
    **options: Any,
) -> list[dict[str, Any]]:
    """What a table at hand can see, group by group, and whether `effect` is within reach.

    >>> rows = {"sex": ["f"] * 150 + ["m"] * 545, "found": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    >>> [(r["group"], r["versus"], round(r["mde"], 3), r["sees"]) for r in plan_for(rows, ["sex"], "found")]
    [('f', 'm', 0.258, False)]
    """
    from countenance.audit.audit import audit

    kind, size = _effect(effect)
    found = audit(table, by, [metric], alpha=alpha, power=power, **options)
    answer = []
    for f in found.findings:
        if f.kind == "rate" and kind == "d":
            raise InputError("plan: effect d is for means; for a rate give h or diff")
        own = f.mde_difference if kind == "diff" else f.mde
        if kind == "d":
            own = math.sqrt(2) * quantile((1 + f.mde) / 2) if f.mde < 1 else math.nan
        sees = bool(own <= size)
        needed = math.ceil(f.n * (own / size) ** 2) if math.isfinite(own) else None
        answer.append(
            {
                "attribute": f.attribute,
                "group": f.group,
                "versus": f.versus,
                "n": f.n,
                "clusters": f.clusters,
                "n_versus": f.n_versus,
                "deff": f.deff,
                "effect_name": f.effect_name,
                "mde": f.mde,
                "mde_difference": f.mde_difference,
                "alpha": f.mde_alpha,
                "target": size,
                "target_name": kind,
                "sees": sees,
                "n_needed": needed,
                "why": f.reason if f.verdict == "untestable" else "",
            }
        )
    return answer
