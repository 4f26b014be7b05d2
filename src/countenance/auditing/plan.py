"""How many rows or people a comparison needs before there are data, and what a table at hand can show."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from countenance.auditing._dist import quantile
from countenance.auditing.codes import rounded_up
from countenance.auditing.effects import cohen_h
from countenance.auditing.groups import GROUP
from countenance.auditing.power import detectable_rate, reach, shifted
from countenance.auditing.settings import AuditSettings
from countenance.errors import InputError

MOST_ROWS = 10**9
NEAR, CLOSE, WIDER = 0.02, 0.002, 1.5
"""A size is searched for where the approximation is off by more than the first share, until the error is at most the
second; the range of the search grows by the third until it contains the size."""
STATISTICS = {"rate": 1, "mean": 2}
"""A real metric is compared by its mean and by its ranks; the smaller p of the two counts twice."""
STEPS = 8
"""How often a size is recomputed from its own degrees of freedom; two or three rounds are enough."""


class Plan(BaseModel):
    """How many rows (and people) each group needs, and what was assumed."""

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
    rows_per_unit: float = 1.0
    units_per_group: int = 0


def plan(
    metric: str = "rate",
    *,
    rate: float = 0.95,
    effect: str | float = "h=.2",
    groups: int = 2,
    deff: float | None = None,
    rows_per_unit: float = 1.0,
    icc: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    sd: float = 1.0,
    comparison: str = "rest",
    min_n: int = 20,
    baseline: float | None = None,
) -> Plan:
    """Returns the people and rows that each of `groups` equal groups needs to show an effect on one of them.

    The effect is shown with this `power`. `metric` is a mean, or a rate whose value in the other groups is `rate`.
    `effect` is "h=.2" (Cohen's h), "diff=.05" (a gap in the metric's units) or "d=.3" (standard deviations, means).
    Each group is compared with the rest (or with each other: `comparison="pairs"`), at `alpha` divided by the number of
    comparisons, the strictest level of Holm; two groups are one comparison, and a mean takes two tests (mean and
    ranks). Rows of one person are not independent: give the design effect `deff`, or `rows_per_unit` and their
    correlation `icc` (deff = 1 + (rows - 1)·icc). `sd` is the standard deviation of a mean's rows; if a group that is
    served worse also varies more, use that of this group. No group is smaller than `min_n` people, the least that an
    audit needs. `baseline` is the former name of `rate`, and warns. An impossible effect is an `InputError`.

    >>> plan(rate=0.95, effect="h=.2", groups=2).n_per_group
    393
    >>> plan(rate=0.95, effect="h=.2", groups=9, deff=4).n_per_group
    1470
    >>> plan(metric="mean", effect="diff=5", sd=20, rows_per_unit=4, icc=0.5).units_per_group
    191
    """
    if baseline is not None:
        warnings.warn("plan(baseline=) is now called plan(rate=)", DeprecationWarning, stacklevel=2)
        rate = baseline
    kind, size = parse_effect(effect)
    deff = _deff(deff, rows_per_unit, icc)
    _check(metric, kind, rate, groups, deff, alpha, power, sd)
    count = _comparisons(groups, comparison)
    each = alpha / count / STATISTICS[metric]
    others = 1 if comparison == "pairs" else groups - 1
    if metric == "rate":
        gap, standard = _rate_gap(kind, size, rate)
    else:
        gap, standard = (size, size / sd) if kind == "diff" else (size * sd, size)
    effective = (reach(each, power) / standard) ** 2 * (1 + 1 / others)
    if metric == "rate":
        effective = _with_few_cases(effective, rate, gap, others, each, power)
    else:
        effective = _with_few_rows(effective, standard, others, each, power)
    n = rounded_up(effective * deff)
    units = max(rounded_up(n / rows_per_unit), min_n)
    n = max(n, min_n) if rows_per_unit == 1 else math.ceil(units * rows_per_unit)
    rates = rate, rate - gap if rate >= 0.5 else rate + gap
    reason = " ".join(
        (
            _groups_words(_people(units, n, deff), groups, n * groups, together=units == n),
            f"They show {_effect_words(kind, size, rates if metric == 'rate' else None)}.",
            f"Power {power:.0%}, level {alpha:g}, adjusted for {count} comparison{'s' if count > 1 else ''}"
            + ("." if deff == 1 else f"; design effect {deff:g}."),
        )
    )
    return Plan(
        metric=metric,
        baseline=rate,
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
        n_effective=rounded_up(effective),
        n_total=n * groups,
        reason=reason,
        rows_per_unit=rows_per_unit,
        units_per_group=units,
    )


def _groups_words(people: str, groups: int, rows: int, *, together: bool) -> str:
    """How large the groups are; at most three numbers in a sentence.

    >>> _groups_words("63 people", 2, 126, together=True), _groups_words("9 people with 36 rows", 2, 72, together=False)
    ('63 people in each of 2 groups (126 rows in all).', '9 people with 36 rows in each of 2 groups. 72 rows in all.')
    """
    if together:
        return f"{people} in each of {groups} groups ({rows:,} rows in all)."
    return f"{people} in each of {groups} groups. {rows:,} rows in all."


def _effect_words(kind: str, size: float, rates: tuple[float, float] | None) -> str:
    """The effect that a study shows, with both rates: gaps of rates in points, others in the metric's units.

    >>> _effect_words("diff", 0.05, (0.95, 0.9)), _effect_words("h", 0.2, (0.95, 0.898)), _effect_words("d", 0.3, None)
    ('a gap of 5 points: 0.95 against 0.9', "Cohen's h = 0.2: 0.95 against 0.898", "Cohen's d = 0.3")
    """
    sides = "" if rates is None else f": {rates[0]:g} against {rates[1]:.3g}"
    if kind != "diff":
        return f"Cohen's {kind} = {size:g}{sides}"
    return f"a gap of {size:g}" if rates is None else f"a gap of {100 * size:g} points{sides}"


def _people(units: int, rows: int, deff: float) -> str:
    """A sample size in words: people, and rows where these are more; rows alone where rows per person are unknown.

    >>> _people(157, 628, 2.5), _people(63, 63, 1.0), _people(1470, 1470, 4.0)
    ('157 people with 628 rows', '63 people', '1,470 rows')
    """
    if units != rows:
        return f"{units:,} people with {rows:,} rows"
    return f"{units:,} people" if deff == 1 else f"{rows:,} rows"


def _rate_gap(kind: str, size: float, baseline: float) -> tuple[float, float]:
    if kind == "diff":
        moved = baseline - size if baseline >= 0.5 else baseline + size
        if not 0 <= moved <= 1:
            raise InputError(f"plan: a rate {size:g} away from {baseline:g} does not exist; choose a smaller diff")
        return size, abs(cohen_h(moved, baseline))
    return abs(shifted(baseline, size) - baseline), size


def _with_few_cases(n: float, baseline: float, gap: float, others: int, alpha: float, power: float) -> float:
    """The n at which the gap is seen, where so few cases are expected that the arcsine approximation is off."""

    def seen(size: float) -> bool:
        rate = detectable_rate(baseline, size, size * others, alpha, power)
        return not math.isnan(rate) and abs(rate - baseline) <= gap

    rough = detectable_rate(baseline, n, n * others, alpha, power)
    if math.isnan(gap) or abs(abs(rough - baseline) - gap) <= NEAR * gap:
        return n
    low, high = n / 4, n
    while not seen(high):
        low, high = high, high * WIDER
        if high > MOST_ROWS:
            return n
    while high - low > max(0.5, CLOSE * high):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def _with_few_rows(n: float, standard: float, others: int, alpha: float, power: float) -> float:
    """The n at which Welch's t sees a difference in standard deviations whose error is estimated from n rows.

    >>> round(_with_few_rows(63.0, 0.5, 1, 0.05, 0.8)), round(_with_few_rows(16.0, 1.0, 1, 0.05, 0.8))
    (64, 17)
    """
    for _ in range(STEPS):
        first, second = 1 / n, 1 / (n * others)
        df = (first + second) ** 2 / (first**2 / max(n - 1, 1) + second**2 / max(n * others - 1, 1))
        n = (reach(alpha, power, df) / standard) ** 2 * (1 + 1 / others)
    return n


def parse_effect(effect: str | float) -> tuple[str, float]:
    """The kind and the size of an effect.

    >>> parse_effect("diff=.05"), parse_effect(0.2)
    (('diff', 0.05), ('h', 0.2))
    """
    name, _, number = str(effect).rpartition("=")
    try:
        size = float(number)
    except ValueError:
        size = math.nan
    name = name.strip() or "h"
    if name not in ("h", "diff", "d") or not size > 0 or math.isinf(size):
        raise InputError(f"plan: effect {effect!r}, expected h=NUMBER, diff=NUMBER or d=NUMBER with a positive number")
    return name, size


def _deff(deff: float | None, rows_per_unit: float, icc: float | None) -> float:
    if not rows_per_unit >= 1:
        raise InputError(f"plan: rows per unit {rows_per_unit:g}, expected at least 1")
    if icc is not None and not 0 <= icc <= 1:
        raise InputError(f"plan: icc {icc:g}, expected a number from 0 to 1")
    if deff is not None and icc is not None:
        raise InputError("plan: give the design effect, or rows per unit with their correlation, not both")
    if icc is not None:
        return 1 + (rows_per_unit - 1) * icc
    return 1.0 if deff is None else deff


def _check(
    metric: str, kind: str, rate: float, groups: int, deff: float, alpha: float, power: float, sd: float
) -> None:
    problems = [
        (metric not in ("rate", "mean"), f"metric {metric!r}, expected rate or mean"),
        (metric == "rate" and not 0 < rate < 1, f"rate {rate:g}, expected a number between 0 and 1"),
        (metric == "rate" and kind == "d", "effect d is for means; for a rate give h or diff"),
        (metric == "mean" and kind == "h", "effect h is for rates; for a mean give d or diff"),
        (groups < 2, f"groups {groups}, expected at least 2"),
        (not deff >= 1, f"deff {deff:g}, expected at least 1"),
        (not 0 < alpha < 1, f"alpha {alpha:g}, expected a number between 0 and 1"),
        (not 0.5 <= power < 1, f"power {power:g}, expected a number from .5 up to 1"),
        (not 0 < sd < math.inf, f"sd {sd:g}, expected a number above 0"),
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
    by: Sequence[str] | None,
    metric: str,
    *,
    effect: str | float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    **options: Any,
) -> list[dict[str, Any]]:
    """The detectable gap of a table, group by group, and how many more people it needs to see `effect`.

    Without an effect, the smallest difference that matters (δ) is what must be seen. `options` are those of `audit`.

    >>> rows = {"sex": ["f"] * 150 + ["m"] * 545, "found": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    >>> [row] = plan_for(rows, ["sex"], "found", effect="h=.2")
    >>> row["group"], row["versus"], round(row["mde"], 2), row["sees"]
    ('f', 'm', 0.26, False)
    """
    from countenance.auditing.audit import work_of
    from countenance.auditing.verdict import Needed

    kind, size = ("delta", math.nan) if effect is None else parse_effect(effect)
    work = work_of(table, by, [metric], AuditSettings(alpha=alpha, power=power, **options))
    work.findings()
    least = work.settings.min_n
    smallest = min((level for level in work.levels if math.isfinite(level)), default=alpha)
    answer = []
    for draft, level in zip(work.drafts, work.levels, strict=True):
        values = draft.values
        if values["kind"] != GROUP:
            continue
        if values["metric_kind"] == "rate" and kind == "d":
            raise InputError("plan: effect d is for means; for a rate give h or diff")
        if kind == "delta" and draft.judged.delta is None:
            raise InputError(f"plan: which difference matters is not known for {metric!r}; give an effect or delta")
        there = bool(values["n"] and values["n_versus"])
        mde, seen = draft.detectable(level if math.isfinite(level) else smallest, power) if there else (math.nan,) * 2
        target = _gap_of(kind, size, draft)
        needed = Needed(draft, seen, mde, target) if there and math.isfinite(target) else None
        units = None if needed is None or needed.units is None else max(needed.units, least)
        each = values["n"] / values["clusters"] if values["clusters"] else 1.0
        rows = None if needed is None or needed.rows is None else max(needed.rows, rounded_up(least * each))
        answer.append(
            {
                "attribute": values["attribute"],
                "group": values["group"],
                "versus": values["versus"],
                "n": values["n"],
                "clusters": values["clusters"],
                "n_versus": values["n_versus"],
                "clusters_versus": values["clusters_versus"],
                "unit": work.nouns[0],
                "units": work.nouns[1],
                "deff": values["deff"],
                "effect_name": values["effect_name"],
                "mde": mde,
                "mde_difference": seen,
                "alpha": float(level),
                "target": target if kind == "delta" else size,
                "target_name": kind,
                "sees": units is not None and units <= values["clusters"],
                "n_needed": rows,
                "clusters_needed": units,
                "more": None if units is None else max(units - int(values["clusters"]), 0),
                "both_sides": needed is not None and needed.both,
                "why": draft.untestable,
            }
        )
    return answer


def _gap_of(kind: str, size: float, draft: Any) -> float:
    """An effect as a difference in the metric's units."""
    if kind == "delta":
        return float(draft.judged.delta)
    if kind == "diff":
        return size
    if draft.values["effect_name"] == "h":
        versus = draft.values["estimate_versus"]
        return float(abs(shifted(versus, size) - versus))
    # a rank-biserial correlation, or standard deviations, of a normal metric
    d = size if kind == "d" else math.sqrt(2) * quantile((1 + size) / 2) if size < 1 else math.nan
    return float(d * draft.sd) if draft.sd > 0 else math.nan
