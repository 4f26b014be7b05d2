"""Room: audit. From a table of rows to a verdict: read, group, compare, adjust, conclude."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countenance.audit.comparisons import COMPARISONS, REST, Draft, compare, which
from countenance.audit.estimates import correlation, interval
from countenance.audit.finding import Audit, Estimate, Finding
from countenance.audit.groups import Grouping, group
from countenance.audit.paired import paired
from countenance.audit.rows import Rows
from countenance.audit.sides import Members, Sides, side_of
from countenance.audit.spread import spread
from countenance.audit.table import UNKNOWN, Attribute
from countenance.audit.verdict import UNTESTABLE, Rules, conclude, overall
from countenance.errors import InputError

MAX_COMPARISONS = 50_000


def audit(
    table: Any,
    by: Sequence[str],
    metrics: Sequence[str],
    *,
    cluster: str | None = "auto",
    comparison: str = "rest",
    reference: Any = None,
    depth: int = 2,
    alpha: float = 0.05,
    delta: float = 0.05,
    h0: float = 0.2,
    min_n: int = 20,
    adjust: str = "holm",
    families: Any = None,
    seed: int = 0,
    replicates: int = 2000,
    pair: str | Sequence[str] | None = None,
    denominators: Mapping[str, str] | None = None,
    max_groups: int = 1000,
    r0: float = 0.2,
    power: float = 0.8,
) -> Audit:
    """Compare groups of any table of rows and say what the evidence shows.

    `by` names attributes, `metrics` the columns to compare (rows with null are outside a metric's
    denominator, as are rows where the column `denominators[metric]` is not true). `cluster`: "auto"
    (identity, else sample), a column, or None. `comparison`: rest, pairs, reference (with `reference`),
    spread, or paired (with `pair`).

    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
    >>> found = audit(rows, by=["sex"], metrics=["found"])
    >>> found.verdict, found.findings[0].severity, round(found.findings[0].difference, 3)
    ('disparity', 'severe', -0.45)
    """
    by, metrics = _names("by", by), _names("metrics", metrics)
    if comparison not in COMPARISONS:
        raise InputError(f"comparison {comparison!r}, expected one of {', '.join(COMPARISONS)}")
    if adjust not in ("holm", "bh"):
        raise InputError(f"adjust {adjust!r}, expected holm or bh")
    for name, value, top in (
        ("alpha", alpha, 1.0),
        ("delta", delta, math.inf),
        ("h0", h0, 4.0),
        ("power", power, 1.0),
    ):
        if not 0 < value < top:
            raise InputError(
                f"{name} {value!r}, expected a number above 0" + (f" and below {top:g}" if top < 5 else "")
            )
    if depth < 1 or replicates < 100 or min_n < 1:
        raise InputError("depth and min_n must be at least 1, replicates at least 100")
    rules = Rules(alpha, delta, h0, r0, adjust, power)
    rows = Rows(table, by, metrics, cluster, pair, dict(denominators or {}), max_groups)
    if comparison == "paired" and rows.pairs is None:
        raise InputError("comparison 'paired' needs pair: the column(s) that tell which rows belong together")
    work = _Work(rows, rules, comparison, reference, min_n, seed, replicates)
    work.run(1 if comparison == "paired" else depth, max_groups)
    findings = conclude(work.drafts, rules, families)
    excluded = work.excluded + [_left_out(f, min_n) for f in findings if f.verdict == UNTESTABLE]
    verdict, reason = overall(findings, excluded, rules)
    if not rows.total:
        reason = "the table has no rows"
    settings = {
        "by": by,
        "metrics": metrics,
        "cluster": rows.cluster_name,
        "comparison": comparison,
        "reference": dict(reference) if isinstance(reference, Mapping) else reference,
        "depth": depth,
        "alpha": alpha,
        "delta": delta,
        "h0": h0,
        "r0": r0,
        "min_n": min_n,
        "adjust": adjust,
        "power": power,
        "families": families if families is None or isinstance(families, str | list | dict) else list(families),
        "seed": seed,
        "replicates": replicates,
        "pair": rows.pair_names,
        "denominators": dict(denominators or {}),
        "rows": rows.total,
        "comparisons": len(findings),
    }
    return Audit(
        verdict=verdict,
        reason=reason,
        findings=findings,
        excluded=excluded,
        settings=settings,
        groups=work.groups,
    )


def _names(what: str, names: Sequence[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if not listed:
        raise InputError(f"{what}: nothing named, expected at least one column")
    return listed


def _left_out(finding: Finding, min_n: int) -> dict[str, Any]:
    """The side that is at fault: the other one, where it has a name and only it is too small."""
    other = finding.clusters >= min_n > finding.clusters_versus and finding.versus != REST
    return {
        "metric": finding.metric,
        "attribute": finding.attribute,
        "group": finding.versus if other else finding.group,
        "n": finding.n_versus if other else finding.n,
        "clusters": finding.clusters_versus if other else finding.clusters,
        "why": finding.reason,
    }


class _Work:
    """The comparisons of one audit as they are made."""

    def __init__(
        self,
        rows: Rows,
        rules: Rules,
        comparison: str,
        reference: Any,
        min_n: int,
        seed: int,
        replicates: int,
    ) -> None:
        self.rows, self.rules, self.comparison, self.reference = rows, rules, comparison, reference
        self.min_n, self.seed, self.replicates = min_n, seed, replicates
        self.drafts: list[Draft] = []
        self.excluded: list[dict[str, Any]] = []
        self.groups: list[Estimate] = []

    def run(self, depth: int, max_groups: int) -> None:
        """Make every comparison, attribute by attribute, then intersections; metrics in the order named."""
        rows = self.rows
        groupings = group(rows.attributes, rows.values, rows.kinds, depth, 10 * max_groups)
        self._limit(groupings)
        for grouping in groupings:
            members = Members.of(grouping, rows.attributes, rows.total, rows.clusters)
            for index, name in enumerate(rows.metrics):
                if grouping.depth == 1:
                    self._unknown(rows.attributes[grouping.attributes[0]], index)
                counted = grouping.n[index], grouping.k[index]
                sides = Sides(members, rows.values[index], rows.kinds[index], counted)
                self._estimates(sides, grouping, name)
                self._compare(sides, grouping, index)

    def _limit(self, groupings: list[Grouping]) -> None:
        sizes = [len(g.cells) for g in groupings]
        each = [n * (n - 1) // 2 if self.comparison == "pairs" else n for n in sizes]
        if (count := sum(each) * len(self.rows.metrics)) > MAX_COMPARISONS and self.comparison != "spread":
            raise InputError(
                f"{count:,} comparisons, more than {MAX_COMPARISONS:,}; lower depth, name fewer attributes "
                "or metrics, or merge groups"
            )

    def _estimates(self, sides: Sides, grouping: Grouping, name: str) -> None:
        cells = [sides.cell(g) for g in range(len(grouping.cells))]
        icc = correlation(cells)
        for called, cell in zip(grouping.cells, cells, strict=True):
            low, high, deff = interval(cell, sides.kind, self.rules.alpha, icc)
            self.groups.append(
                Estimate(
                    metric=name,
                    kind=sides.kind,
                    attribute=grouping.name,
                    group=called,
                    n=cell.n,
                    clusters=cell.clusters,
                    estimate=cell.mean,
                    low=low,
                    high=high,
                    deff=deff,
                    depth=grouping.depth,
                    note="" if cell.n else "no units",
                )
            )

    def _unknown(self, one: Attribute, index: int) -> None:
        rows = self.rows
        known = one.codes >= 0 if one.rows is None else np.isin(np.arange(rows.total), one.rows)
        if known.all():
            return
        side = side_of(np.flatnonzero(~known), rows.values[index], rows.clusters)
        kind, name = rows.kinds[index], rows.metrics[index]
        low, high, deff = interval(side, kind, self.rules.alpha)
        self.groups.append(
            Estimate(
                metric=name,
                kind=kind,
                attribute=one.name,
                group=UNKNOWN,
                n=side.n,
                clusters=side.clusters,
                estimate=side.mean,
                low=low,
                high=high,
                deff=deff,
                note="" if side.n else "no units",
            )
        )
        self._exclude(name, one.name, UNKNOWN, side.n, side.clusters, "unknown values are shown, not tested")

    def _exclude(self, metric: str, attribute: str, group: str, n: int, clusters: int, why: str) -> None:
        self.excluded.append(
            {
                "metric": metric,
                "attribute": attribute,
                "group": group,
                "n": n,
                "clusters": clusters,
                "why": why,
            }
        )

    def _compare(self, sides: Sides, grouping: Grouping, index: int) -> None:
        rows, name = self.rows, self.rows.metrics[index]
        if len(grouping.cells) < 2:
            only = grouping.cells[0] if grouping.cells else UNKNOWN
            cell = sides.cell(0) if grouping.cells else None
            what = "one group only" if cell else "no known values"
            why = f"{grouping.name} has {what}: nothing to compare with"
            self._exclude(name, grouping.name, only, cell.n if cell else 0, cell.clusters if cell else 0, why)
            return
        common: dict[str, Any] = {"metric": name, "alpha": self.rules.alpha, "min_n": self.min_n}
        if self.comparison in ("spread", "paired"):
            random: dict[str, Any] = {"replicates": self.replicates, "seed": self.seed}
            if self.comparison == "spread":
                draft, out = spread(sides, grouping, delta=self.rules.delta, **common, **random)
                drafts = [draft] if draft else []
            else:
                assert rows.pairs is not None
                drafts, out = paired(
                    rows.attributes[grouping.attributes[0]],
                    rows.values[index],
                    rows.kinds[index],
                    rows.pairs,
                    rows.clusters,
                    **common,
                    **random,
                )
            for called, n, count, why in out:
                self._exclude(name, grouping.name, called, n, count, why)
            self.drafts += drafts
            return
        for g, h, weight in which(sides, grouping, self.comparison, self.reference):
            draft = compare(sides, grouping, g, h, comparison=self.comparison, **common)
            draft.weight = weight
            self.drafts.append(draft)
