"""The gaps that moved: how much more a metric changed in a group than for the others."""

from __future__ import annotations

import math

import numpy as np

from countenance.auditing.audit import audited
from countenance.auditing.effects import cohen_h
from countenance.auditing.finding import Finding
from countenance.auditing.groups import GROUP
from countenance.auditing.result import Audit
from countenance.auditing.verdict import DISPARITY
from countenance.comparing.result import NARROWED, REVERSED, WIDENED, Gap
from countenance.comparing.sides import Sides


def gaps(sides: Sides) -> tuple[list[Gap], Audit]:
    """How much more each metric changed in a group than in the others: an audit of the differences of rows."""
    audit = audited(sides.work)
    every_gap = []
    for finding in (f for f in audit.findings if f.kind == GROUP and f.comparison == "rest"):
        gap = _gap(sides, finding, *_gap_before(sides, finding))
        every_gap.append(gap)
        if finding.versus != "rest":
            other = {"mirrors": gap.group, "clusters_needed": None}
            every_gap.append(gap.mirrored().model_copy(update=other))
    place = {(g.name, cell): i for i, (g, cell) in enumerate((g, c) for g in sides.work.groupings for c in g.cells)}
    order = {(contrast.metric, contrast.a, contrast.b): i for i, contrast in enumerate(sides.contrasts.values())}
    every_gap.sort(key=lambda gap: (place[gap.attribute, gap.group], order[gap.metric, gap.a, gap.b]))
    return every_gap, audit


def _gap_before(sides: Sides, finding: Finding) -> tuple[float, float, float]:
    """The gap between a group and the other side in a and in b, on the rows of both, and the group's number in b."""
    old_scores, new_scores = sides.contrasts[finding.metric].old, sides.contrasts[finding.metric].new
    use = ~np.isnan(old_scores) & ~np.isnan(new_scores)
    grouping = next(g for g in sides.work.groupings if g.name == finding.attribute)
    members = grouping.members(sides.work.rows.attributes, sides.work.rows.total)
    place = grouping.cells.index(finding.group)
    if members.rows is None:
        inside = members.cells == place
    else:
        inside = np.zeros(len(old_scores), dtype=bool)
        inside[members.rows[members.cells == place]] = True
    others = members.known(len(old_scores)) & ~inside & use
    inside &= use
    if not inside.any() or not others.any():
        return math.nan, math.nan, math.nan
    old, new = (values[inside].mean() - values[others].mean() for values in (old_scores, new_scores))
    return float(old), float(new), float(new_scores[inside].mean())


def _severity(sides: Sides, finding: Finding, new: float) -> str | None:
    """The severity; for rates by Cohen's h between a group's new rate and its rate had it changed like the others.

    The audit knows the rows' differences alone, and a difference of rates counts for more near 0 and 1.
    """
    if finding.verdict != DISPARITY or sides.contrasts[finding.metric].kind != "rate":
        return finding.severity
    effect = cohen_h(new, min(max(new - finding.difference, 0.0), 1.0))
    return "severe" if abs(effect) > sides.work.settings.h0 else "minor"


def _gap(sides: Sides, finding: Finding, before: float, after: float, new: float) -> Gap:
    contrast = sides.contrasts[finding.metric]
    return Gap(
        metric=contrast.metric,
        attribute=finding.attribute,
        group=finding.group,
        versus=finding.versus,
        a=contrast.a,
        b=contrast.b,
        n=finding.n,
        clusters=finding.clusters,
        n_versus=finding.n_versus,
        clusters_versus=finding.clusters_versus,
        gap_a=before,
        gap_b=after,
        change=finding.estimate,
        change_versus=finding.estimate_versus,
        difference=finding.difference,
        low=finding.diff_low,
        high=finding.diff_high,
        p=finding.p,
        p_adjusted=finding.p_adjusted,
        verdict=finding.verdict,
        severity=_severity(sides, finding, new),
        direction=finding.direction,
        moved=moved(before, after, sides.work.judged[finding.metric].delta) if finding.verdict == DISPARITY else "",
        delta=sides.work.judged[finding.metric].delta,
        scale=sides.scale(finding.metric),
        mde=finding.mde_difference,
        clusters_needed=finding.clusters_needed,
        depth=finding.depth,
        reason=finding.reason,
    )


def moved(before: float, after: float, delta: float | None = None) -> str:
    """How a gap moved: narrowed, widened or reversed; a gap smaller than delta before cannot be reversed.

    >>> moved(-0.10, -0.04), moved(-0.10, -0.15), moved(-0.1, 0.12, 0.05), moved(0.01, -0.1, 0.05)
    ('narrowed', 'widened', 'reversed', 'widened')
    """
    if before * after < 0 and abs(after) >= abs(before) >= (delta or 0.0):
        return REVERSED
    return NARROWED if abs(after) < abs(before) else WIDENED
