"""The changes of metrics between two models: for everyone, and for each group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from countenance.auditing.comparisons import Draft, direction
from countenance.auditing.directions import LOWER as LOWER_IS_BETTER
from countenance.auditing.finding import Finding
from countenance.auditing.missing_scores import LACKING, TOLERATED
from countenance.auditing.multiplicity import benjamini_hochberg, family_of, holm
from countenance.auditing.pairs import Pooled
from countenance.auditing.settings import Judged
from countenance.auditing.table import UNKNOWN, Array
from countenance.auditing.units import plural
from countenance.auditing.verdict import concluded
from countenance.comparing.result import BETTER, CANNOT_TELL, HIGHER, LOWER, WORSE, Change, no_larger
from countenance.comparing.sides import Sides

NOT_TESTED = "unknown values are shown, not tested"


def overall(sides: Sides) -> list[Change]:
    """How each metric changed over all rows."""
    return [_change(sides, *conclusion) for conclusion in _concluded(sides, _whole(sides))]


def by_group(sides: Sides) -> list[Change]:
    """How each metric changed in each group."""
    return [_change(sides, *conclusion) for conclusion in _concluded(sides, _parts(sides))]


def paired_findings(sides: Sides, groups: bool = True) -> list[tuple[str, str, Finding]]:
    """Attribute, group and the change as an audit's finding: over all rows ("", "") and, with `groups`, in each group.

    All of them are one family, unlike `overall` and `by_group`, which are two.
    """
    parts = _parts(sides) if groups else []
    drafts = [*_whole(sides), *(part for part in parts if part[2] != UNKNOWN)]
    return [(attribute, group, finding) for _, finding, attribute, group, *_ in _concluded(sides, drafts)]


Drafts = list[tuple[Draft, str, str, int]]
"""Drafts with their attribute, group and number of crossed attributes."""


def _whole(sides: Sides) -> Drafts:
    return [(_draft(sides, name), "", "", 1) for name in sides.contrasts]


def _parts(sides: Sides) -> Drafts:
    pooled = {name: sides.pairs(name).together() for name in sides.contrasts}
    drafts = []
    for grouping, group, rows in sides.cells():
        for name in sides.contrasts:
            draft = _draft(sides, name, rows, pooled[name])
            draft.untestable = NOT_TESTED if group == UNKNOWN else draft.untestable
            drafts.append((draft, grouping.name, group, grouping.depth))
    return drafts


def _draft(sides: Sides, column: str, rows: Array | None = None, pooled: Pooled | None = None) -> Draft:
    judged, settings, contrast = sides.work.judged[column], sides.work.settings, sides.contrasts[column]
    pairs = sides.pairs(column, rows, pooled)
    draft = pairs.draft(column, "", (contrast.b, contrast.a), judged, settings, sides.ends[column])
    if pairs.units < settings.min_n and len(pairs.change):
        draft.untestable = f"{plural(pairs.units, *sides.work.nouns)}, fewer than {settings.min_n}"
    elif not len(pairs.change):
        draft.untestable = "no row has a score in both"
    if len(pairs.change):
        draft.values["lost"] = int((pairs.change < 0).sum())
        draft.values["gained"] = int((pairs.change > 0).sum())
    lacking = sides.missing(column, rows)
    draft.values["lacking"] = lacking
    if len(pairs.change) and lacking:
        _count_missing(sides, column, rows, draft, pooled)
    return draft


def _count_missing(sides: Sides, column: str, rows: Array | None, draft: Draft, pooled: Pooled | None) -> None:
    """Let a change be small, or no loss, only if it also is with every missing score counted as wrong."""
    settings, ends = sides.work.settings, sides.ends[column]
    if sides.contrasts[column].as_wrong(draft.judged.better) is None:
        allowed = ends is None and draft.values["lacking"] <= TOLERATED * (draft.values["n"] + draft.values["lacking"])
        draft.unclear = "" if allowed else LACKING.format(sides.contrasts[column].metric)
        draft.smaller = draft.smaller and allowed
        return
    wrong = sides.pairs(column, rows, pooled, wrong=True)
    contrast = sides.contrasts[column]
    other = wrong.draft(column, "", (contrast.b, contrast.a), draft.judged, settings, ends)
    draft.values |= {"low_wrong": other.values["diff_low"], "high_wrong": other.values["diff_high"]}
    draft.hold_with(other)


def _concluded(sides: Sides, drafts: Drafts) -> list[tuple[Draft, Finding, str, str, int, dict[str, Any]]]:
    """Every draft as a finding, adjusted for all of them, with the fields that only changes have."""
    settings = sides.work.settings
    values = [draft.values | {"attribute": attribute, "depth": depth} for draft, attribute, _, depth in drafts]
    families = [family_of(row, settings.families) for row in values]
    p = np.array([math.nan if d.untestable else d.values.get("p", math.nan) for d, *_ in drafts], dtype=float)
    adjusted, sizes = np.full(len(p), math.nan), {}
    for family in dict.fromkeys(families):
        here = np.array([name == family for name in families])
        adjusted[here] = (benjamini_hochberg if settings.adjust == "bh" else holm)(p[here])
        sizes[family] = max(int((~np.isnan(p[here])).sum()), 1)
    conclusions = []
    for (draft, attribute, group, depth), family, each in zip(drafts, families, adjusted, strict=True):
        extra: dict[str, Any] = {
            name: draft.values.pop(name)
            for name in ("gained", "lost", "lacking", "low_wrong", "high_wrong")
            if name in draft.values
        }
        level = settings.alpha / sizes[family]
        finding = concluded(draft, float(each), level, (family, sizes[family]), sides.work.question())
        conclusions.append((draft, finding, attribute, group, depth, extra))
    return conclusions


def _change(
    sides: Sides, draft: Draft, finding: Finding, attribute: str, group: str, depth: int, extra: dict[str, Any]
) -> Change:
    judged, contrast = draft.judged, sides.contrasts[finding.metric]
    small = draft.smaller and judged.delta is not None and not draft.untestable
    way = direction(finding.difference, judged.better)
    low, high = _interval(finding, sides.work.settings.alpha)
    verdict = CANNOT_TELL
    if finding.p_adjusted < sides.work.settings.alpha and (low > 0 or high < 0):
        verdict = {"better": BETTER, "worse": WORSE}.get(way, HIGHER if finding.difference > 0 else LOWER)
    elif small:
        verdict = no_larger(judged.delta)
    return Change(
        metric=contrast.metric,
        attribute=attribute,
        group=group,
        a=contrast.a,
        b=contrast.b,
        n=finding.n,
        clusters=finding.clusters,
        estimate_a=finding.estimate_versus,
        estimate_b=finding.estimate,
        difference=finding.difference,
        low=low,
        high=high,
        p=finding.p,
        p_adjusted=finding.p_adjusted,
        verdict=verdict,
        direction=way,
        small=small,
        not_worse=not draft.untestable and not draft.unclear and _not_worse(finding, judged),
        delta=judged.delta,
        missing=int(extra.get("lacking", 0)),
        low_wrong=extra.get("low_wrong", math.nan),
        high_wrong=extra.get("high_wrong", math.nan),
        better=judged.better,
        kind=finding.metric_kind,
        scale=sides.scale(finding.metric),
        test=finding.test,
        gained=extra.get("gained") if finding.metric_kind == "rate" else None,
        lost=extra.get("lost") if finding.metric_kind == "rate" else None,
        mde=finding.mde_difference,
        clusters_needed=finding.clusters_needed,
        depth=depth,
        reason=finding.reason,
    )


def _interval(finding: Finding, alpha: float) -> tuple[float, float]:
    """The interval of a change; it holds zero where the deciding test does not rule out that nothing changed.

    The test of 0/1 scores is exact and the interval is not, so either may be the more cautious: models differ only
    where both show it.
    """
    if finding.p >= alpha:
        return min(finding.diff_low, 0.0), max(finding.diff_high, 0.0)
    return finding.diff_low, finding.diff_high


def _not_worse(finding: Finding, judged: Judged) -> bool:
    """Whether a loss of δ or more is ruled out, by the one-sided test at α."""
    if judged.delta is None or judged.better is None:
        return False
    low, high = finding.low_equivalence, finding.high_equivalence
    return high < judged.delta if judged.better == LOWER_IS_BETTER else low > -judged.delta
