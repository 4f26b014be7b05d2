"""How metrics changed between two models: for everyone, for each group, and by how much more than for the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.audit.audit import audited, work_of
from countenance.audit.comparisons import Draft, direction
from countenance.audit.finding import Audit, Finding
from countenance.audit.groups import Grouping
from countenance.audit.multiplicity import benjamini_hochberg, family_of, holm
from countenance.audit.paired import Pairs, Pooled
from countenance.audit.settings import LOWER as LOWER_IS_BETTER
from countenance.audit.settings import Judged
from countenance.audit.source import Source
from countenance.audit.table import UNKNOWN, Array
from countenance.audit.verdict import DISPARITY, concluded, plural
from countenance.audit.work import Work
from countenance.compare.result import (
    BETTER,
    CANNOT_TELL,
    HIGHER,
    LOWER,
    NARROWED,
    REVERSED,
    WIDENED,
    WORSE,
    Change,
    Gap,
    no_larger,
)

POINTS = "points"
NOT_TESTED = "unknown values are shown, not tested"


@dataclass(frozen=True)
class Contrast:
    """Two models by one metric: their scores on the same rows."""

    metric: str
    a: str
    b: str
    old: Array
    new: Array
    kind: str

    @property
    def bounded(self) -> bool:
        """Whether all scores of both lie between 0 and 1."""
        return is_bounded(np.concatenate([self.old, self.new]))


@dataclass(frozen=True)
class Sides:
    """Models on the same rows, two by two, in the order in which the audit keeps the rows.

    All contrasts are of one audit, so that its families hold every metric and every two models.
    """

    work: Work
    contrasts: dict[str, Contrast]
    """By the column that holds their differences."""
    bounded: dict[str, bool]

    @classmethod
    def of(
        cls, table: Any, contrasts: Sequence[Contrast], judged: dict[str, Judged], by: Sequence[str] | None,
        settings: dict[str, Any], place: str = "table",
    ) -> Sides:  # fmt: skip
        """Set up an audit of the differences of rows; `table`, read from `place`, has the groups and units."""
        import pyarrow as pa

        several = len({(one.a, one.b) for one in contrasts}) > 1
        named = {f"{one.metric} ({one.b} - {one.a})" if several else one.metric: one for one in contrasts}
        bounded = {name: one.bounded for name, one in named.items()}
        told = {
            name: "change" if one.kind == "rate" else "bounded" if bounded[name] else "mean"
            for name, one in named.items()
        }  # fmt: skip
        for name, one in named.items():
            table = table.append_column(f"m.{name}", pa.array(one.new - one.old, pa.float64(), from_pandas=True))
        known = {name: judged[one.metric] for name, one in named.items()}
        work = work_of(
            Source(table, label=place), by, list(named), kinds=told,
            delta={name: one.delta for name, one in known.items() if one.delta is not None},
            better={name: one.better for name, one in known.items() if one.better is not None},
            **settings | {"families": _by_column(settings["families"], named)},
        )  # fmt: skip
        order = work.rows.order
        arranged = {name: replace(one, old=one.old[order], new=one.new[order]) for name, one in named.items()}
        return cls(work, arranged, bounded)

    def scale(self, column: str) -> str:
        """How changes of a metric are told: in points where it lies between 0 and 1."""
        return POINTS if self.bounded[column] else ""

    def pairs(self, column: str, rows: Array | None = None, pooled: Pooled | None = None) -> Pairs:
        """The pairs of scores that both models have, b first."""
        one = self.contrasts[column]
        use = ~np.isnan(one.old) & ~np.isnan(one.new)
        place = np.flatnonzero(use if rows is None else use & rows)
        own = [codes[place] for codes in self.work.rows.units.codes]
        return Pairs(one.new[place], one.old[place], one.kind, own, pooled)

    def cells(self) -> Iterator[tuple[Grouping, str, Array]]:
        """Every group with its rows, the unknown of single attributes last."""
        total = self.work.rows.total
        for grouping in self.work.groupings:
            members = grouping.members(self.work.rows.attributes, total)
            for place, name in enumerate(grouping.cells):
                rows = np.zeros(total, dtype=bool)
                if members.rows is None:
                    rows = members.cells == place
                else:
                    rows[members.rows[members.cells == place]] = True
                yield grouping, name, rows
            unknown = ~members.known(total)
            if grouping.depth == 1 and unknown.any():
                yield grouping, UNKNOWN, unknown


def _by_column(families: Any, named: dict[str, Contrast]) -> Any:
    """Families that name metrics, by the columns that hold these metrics for every two models."""
    columns: dict[str, list[str]] = {}
    for name, one in named.items():
        columns.setdefault(one.metric, []).append(name)
    if all(own == [metric] for metric, own in columns.items()):
        return families
    if isinstance(families, Mapping):
        return {
            family: [name for member in members for name in columns.get(member, [member])]
            for family, members in families.items()
        }
    listed = [families] if isinstance(families, str) else list(families or ())
    if listed == ["metric"]:
        return columns
    return [name for name in listed if name != "metric"] or None  # one family for all metrics: never too small


def is_bounded(values: Array) -> bool:
    """Whether all known values lie between 0 and 1."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(known.min() >= 0) and bool(known.max() <= 1)


def overall(sides: Sides) -> list[Change]:
    """How each metric changed over all rows."""
    return [_change(sides, *one) for one in _concluded(sides, _whole(sides))]


def by_group(sides: Sides) -> list[Change]:
    """How each metric changed in each group."""
    return [_change(sides, *one) for one in _concluded(sides, _parts(sides))]


def paired_findings(sides: Sides, groups: bool = True) -> list[tuple[str, str, Finding]]:
    """Attribute, group and finding in the audit's own words, over all rows ("", "") and, with `groups`, in each group.

    All of them are one family, unlike `overall` and `by_group`, which are two.
    """
    parts = _parts(sides) if groups else []
    drafts = [*_whole(sides), *(one for one in parts if one[2] != UNKNOWN)]
    return [(attribute, group, finding) for _, finding, attribute, group, *_ in _concluded(sides, drafts)]


Drafts = list[tuple[Draft, str, str, int]]
"""Each with its attribute, its group, and how many attributes are crossed."""


def _whole(sides: Sides) -> Drafts:
    return [(_draft(sides, name, sides.pairs(name)), "", "", 1) for name in sides.contrasts]


def _parts(sides: Sides) -> Drafts:
    pooled = {name: sides.pairs(name).together() for name in sides.contrasts}
    drafts = []
    for grouping, group, rows in sides.cells():
        for name in sides.contrasts:
            draft = _draft(sides, name, sides.pairs(name, rows, pooled[name]))
            draft.untestable = NOT_TESTED if group == UNKNOWN else draft.untestable
            drafts.append((draft, grouping.name, group, grouping.depth))
    return drafts


def _draft(sides: Sides, column: str, pairs: Pairs) -> Draft:
    judged, settings, one = sides.work.judged[column], sides.work.settings, sides.contrasts[column]
    draft = pairs.draft(column, "", (one.b, one.a), judged, settings, sides.bounded[column])
    if pairs.units < settings.min_n and len(pairs.change):
        draft.untestable = f"{plural(pairs.units, *sides.work.nouns)}, fewer than {settings.min_n}"
    elif not len(pairs.change):
        draft.untestable = "no row has a score in both"
    if len(pairs.change):
        draft.values["lost"] = int((pairs.change < 0).sum())
        draft.values["gained"] = int((pairs.change > 0).sum())
        gap = pairs.gap(Draft({}, judged), sides.bounded[column])
        bounds = [gap.difference(2 * settings.alpha)]
        bounds += [gap.cautious(2 * settings.alpha)] if hasattr(gap, "cautious") else []
        draft.values["bounds"] = min(float(low) for low, _ in bounds), max(float(high) for _, high in bounds)
    return draft


def _concluded(sides: Sides, drafts: Drafts) -> list[tuple[Draft, Finding, str, str, int, dict[str, Any]]]:
    """Every draft as a finding, adjusted for all of them, with what only a change has."""
    settings = sides.work.settings
    values = [draft.values | {"attribute": attribute, "depth": depth} for draft, attribute, _, depth in drafts]
    families = [family_of(one, settings.families) for one in values]
    p = np.array([math.nan if d.untestable else d.values.get("p", math.nan) for d, *_ in drafts], dtype=float)
    adjusted, sizes = np.full(len(p), math.nan), {}
    for family in dict.fromkeys(families):
        here = np.array([one == family for one in families])
        adjusted[here] = (benjamini_hochberg if settings.adjust == "bh" else holm)(p[here])
        sizes[family] = max(int((~np.isnan(p[here])).sum()), 1)
    made = []
    for (draft, attribute, group, depth), family, each in zip(drafts, families, adjusted, strict=True):
        extra: dict[str, Any] = {
            name: draft.values.pop(name) for name in ("gained", "lost", "bounds") if name in draft.values
        }
        level = settings.alpha / sizes[family]
        finding = concluded(draft, float(each), level, family, sizes[family], settings, sides.work.nouns)
        made.append((draft, finding, attribute, group, depth, extra))
    return made


def _change(
    sides: Sides, draft: Draft, finding: Finding, attribute: str, group: str, depth: int, extra: dict[str, Any]
) -> Change:
    judged, one = draft.judged, sides.contrasts[finding.metric]
    small = draft.smaller and judged.delta is not None and not draft.untestable
    way = direction(finding.difference, judged.better)
    verdict = CANNOT_TELL
    if finding.p_adjusted < sides.work.settings.alpha and finding.difference:
        verdict = {"better": BETTER, "worse": WORSE}.get(way, HIGHER if finding.difference > 0 else LOWER)
    elif small:
        verdict = no_larger(judged.delta)
    return Change(
        metric=one.metric, attribute=attribute, group=group, a=one.a, b=one.b, n=finding.n,
        clusters=finding.clusters, estimate_a=finding.estimate_versus, estimate_b=finding.estimate,
        difference=finding.difference, low=finding.diff_low, high=finding.diff_high, p=finding.p,
        p_adjusted=finding.p_adjusted, verdict=verdict, direction=way, small=small,
        not_worse=not draft.untestable and _not_worse(extra.get("bounds"), judged), delta=judged.delta,
        better=judged.better, kind=finding.kind, scale=sides.scale(finding.metric), test=finding.test,
        gained=extra.get("gained") if finding.kind == "rate" else None,
        lost=extra.get("lost") if finding.kind == "rate" else None, mde=finding.mde_difference,
        clusters_needed=finding.clusters_needed, depth=depth, reason=finding.reason,
    )  # fmt: skip


def _not_worse(bounds: tuple[float, float] | None, judged: Judged) -> bool:
    """Whether a loss of δ or more is ruled out, by the one-sided test at α."""
    if bounds is None or judged.delta is None or judged.better is None:
        return False
    return bounds[1] < judged.delta if judged.better == LOWER_IS_BETTER else bounds[0] > -judged.delta


def gaps(sides: Sides) -> tuple[list[Gap], Audit]:
    """By how much more each metric changed in a group than in the others: an audit of the differences of rows."""
    found = audited(sides.work)
    made = []
    for finding in found.findings:
        before, after = _gap_before(sides, finding)
        one = _gap(sides, finding, before, after)
        made.append(one)
        if finding.versus != "rest":
            made.append(_mirrored(one))
    place = {(g.name, cell): i for i, (g, cell) in enumerate((g, c) for g in sides.work.groupings for c in g.cells)}
    order = {(one.metric, one.a, one.b): i for i, one in enumerate(sides.contrasts.values())}
    made.sort(key=lambda gap: (place[gap.attribute, gap.group], order[gap.metric, gap.a, gap.b]))
    return made, found


def _gap_before(sides: Sides, finding: Finding) -> tuple[float, float]:
    """The gap between a group and the other side in a and in b, on the rows that both models have."""
    one, two = sides.contrasts[finding.metric].old, sides.contrasts[finding.metric].new
    use = ~np.isnan(one) & ~np.isnan(two)
    grouping = next(g for g in sides.work.groupings if g.name == finding.attribute)
    members = grouping.members(sides.work.rows.attributes, sides.work.rows.total)
    place = grouping.cells.index(finding.group)
    if members.rows is None:
        inside = members.cells == place
    else:
        inside = np.zeros(len(one), dtype=bool)
        inside[members.rows[members.cells == place]] = True
    others = members.known(len(one)) & ~inside & use
    inside &= use
    if not inside.any() or not others.any():
        return math.nan, math.nan
    return float(one[inside].mean() - one[others].mean()), float(two[inside].mean() - two[others].mean())


def _gap(sides: Sides, finding: Finding, before: float, after: float) -> Gap:
    one = sides.contrasts[finding.metric]
    return Gap(
        metric=one.metric, attribute=finding.attribute, group=finding.group, versus=finding.versus, a=one.a, b=one.b,
        n=finding.n, clusters=finding.clusters, n_versus=finding.n_versus,
        clusters_versus=finding.clusters_versus, gap_a=before, gap_b=after, change=finding.estimate,
        change_versus=finding.estimate_versus, difference=finding.difference, low=finding.diff_low,
        high=finding.diff_high, p=finding.p, p_adjusted=finding.p_adjusted, verdict=finding.verdict,
        severity=finding.severity, direction=finding.direction,
        moved=moved(before, after, sides.work.judged[finding.metric].delta) if finding.verdict == DISPARITY else "",
        delta=sides.work.judged[finding.metric].delta, scale=sides.scale(finding.metric), mde=finding.mde_difference,
        clusters_needed=finding.clusters_needed, depth=finding.depth, reason=finding.reason,
    )  # fmt: skip


def moved(before: float, after: float, delta: float | None = None) -> str:
    """What became of a gap; one that was smaller than delta before cannot be reversed, it widened.

    >>> moved(-0.10, -0.04), moved(-0.10, -0.15), moved(-0.1, 0.12, 0.05), moved(0.01, -0.1, 0.05)
    ('narrowed', 'widened', 'reversed', 'widened')
    """
    if before * after < 0 and abs(after) >= abs(before) >= (delta or 0.0):
        return REVERSED
    return NARROWED if abs(after) < abs(before) else WIDENED


def _mirrored(gap: Gap) -> Gap:
    """The same comparison seen from the other group."""
    flipped = {"better": "worse", "worse": "better", "": ""}
    return gap.model_copy(
        update={
            "group": gap.versus, "versus": gap.group, "n": gap.n_versus, "clusters": gap.clusters_versus,
            "n_versus": gap.n, "clusters_versus": gap.clusters, "gap_a": -gap.gap_a, "gap_b": -gap.gap_b,
            "change": gap.change_versus, "change_versus": gap.change, "difference": -gap.difference,
            "low": -gap.high, "high": -gap.low, "direction": flipped[gap.direction], "mirrors": gap.group,
            "clusters_needed": None,
        }
    )  # fmt: skip
