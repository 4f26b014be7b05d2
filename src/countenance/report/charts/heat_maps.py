"""Heat maps of every pair of attributes: tables whose cells are tinted by how far each group falls behind."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from countenance.auditing import Estimate, Finding
from countenance.report import numbers, words
from countenance.report.harms import shown_kind
from countenance.report.metric_words import words_of
from countenance.report.names import CROSS, Names, attribute_label, value_label
from countenance.report.source import Audited
from countenance.tasks import Metric

STEPS = 9
LEAST_RANGE = 0.2
"""The smallest range that tints cover, so that a negligible difference does not stand out."""


@dataclass(frozen=True)
class HeatmapCell:
    """One intersection. `step` 0 is the best tint, 8 the worst, None for nobody or too few to tint."""

    text: str
    n: int
    interval: str
    step: int | None
    mark: str | None
    verdict: str
    key: tuple[str, str, str] | None = None
    """Metric, attribute and group, as the audit names them."""

    @property
    def size(self) -> str:
        """How many units the cell is computed from; empty for none."""
        return f"n {numbers.count(self.n)}" if self.n else ""


@dataclass(frozen=True)
class HeatMap:
    """A table of tinted cells: of one pair of attributes, or a matrix of the results."""

    title: str
    """The metric, or the name of the matrix."""
    rows_name: str
    columns_name: str
    columns: list[str]
    rows: list[tuple[str, list[HeatmapCell]]]
    best: str = ""
    worst: str = ""
    """The texts of both ends of the tints."""
    noun: str = ""
    """The metric in words."""

    @property
    def corner(self) -> str:
        """The label of the corner: the attributes of rows and columns."""
        return " \\ ".join(part for part in (self.rows_name, self.columns_name) if part)

    @property
    def sides(self) -> str:
        """The attributes for a title: "skin tone by age group"."""
        return " by ".join(part for part in (self.rows_name, self.columns_name) if part)


def tint(estimate: float, low: float, high: float, better: str | None) -> int:
    """The step of a value between the best and the worst; between highest and lowest if the direction is unknown.

    >>> tint(1.0, 0.8, 1.0, "higher"), tint(0.8, 0.8, 1.0, "higher"), tint(0.8, 0.8, 1.0, "lower")
    (0, 8, 0)
    """
    share = (estimate - low) / (high - low)
    behind = share if better == "lower" else 1 - share
    return min(STEPS - 1, max(0, int(behind * STEPS)))


def heat_map(
    metric: str,
    pair: tuple[str, str],
    estimates: Mapping[tuple[str, str], Estimate],
    findings: Mapping[tuple[str, str], Finding],
    names: Names,
    *,
    better: str | None = "higher",
    settings: Mapping[str, Any],
    domain: tuple[float, float] | None = None,
) -> HeatMap:
    """The heat map of two attributes, the longer one on the vertical axis; empty cells are included."""
    first, second = pair
    levels = {name: [value for value in names.levels.get(name, []) if value != "(unknown)"] for name in (first, second)}
    turned = len(levels[second]) > len(levels[first])
    down, across = (second, first) if turned else (first, second)
    min_n = least_compared(settings)
    low, high = domain or value_range(list(estimates.values()), min_n)
    kind = next((estimate.metric_kind for estimate in estimates.values()), "mean")
    rows = []
    for level in levels[down]:
        cells = []
        for other in levels[across]:
            key = (other, level) if turned else (level, other)
            cells.append(_cell(estimates.get(key), findings.get(key), low, high, better, settings))
        rows.append((value_label(down, level), cells))
    ends = (numbers.value(high, kind), numbers.value(low, kind))
    return HeatMap(
        metric,
        attribute_label(down),
        attribute_label(across),
        [value_label(across, value) for value in levels[across]],
        rows,
        best=ends[1] if better == "lower" else ends[0],
        worst=ends[0] if better == "lower" else ends[1],
    )


def value_range(estimates: Sequence[Estimate], min_n: int) -> tuple[float, float]:
    """The range of the tints: of the groups large enough to be tested, and never narrower than LEAST_RANGE."""
    known = [e.estimate for e in estimates if e.clusters >= min_n and math.isfinite(e.estimate)]
    known = known or [e.estimate for e in estimates if math.isfinite(e.estimate)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if high - low < LEAST_RANGE:
        low = high - LEAST_RANGE
        if low < 0 <= min(known):
            low, high = 0.0, LEAST_RANGE
    return low, high


def _cell(
    estimate: Estimate | None,
    finding: Finding | None,
    low: float,
    high: float,
    better: str | None,
    settings: Mapping[str, Any],
) -> HeatmapCell:
    if estimate is None or not estimate.n or not math.isfinite(estimate.estimate):
        return HeatmapCell("nobody", 0, "", None, None, "nobody in the data")
    kind = None if finding is None else words.mark_of(finding, estimate.group)
    few = estimate.clusters < least_compared(settings)
    return HeatmapCell(
        numbers.value(estimate.estimate, estimate.metric_kind),
        estimate.n,
        numbers.span(estimate.low, estimate.high, estimate.metric_kind),
        None if few else tint(estimate.estimate, low, high, better),
        kind,
        "not compared"
        if finding is None
        else words.finding_label(finding, settings, estimate.group, estimate.metric_kind),
        (estimate.metric, estimate.attribute, estimate.group),
    )


def least_compared(settings: Mapping[str, Any]) -> int:
    """The size from which a group is tinted: from which the audit compares it.

    >>> least_compared({"min_n": 30}), least_compared({})
    (30, 20)
    """
    return int(settings.get("min_n", 20))


def heat_maps(source: Audited) -> list[tuple[Metric, list[HeatMap]]]:
    """A heat map for each metric and each pair of attributes, tinted alike within a metric."""
    by_metric = []
    min_n = least_compared(source.audit.settings)
    for metric in source.metrics:
        here = [e for e in source.audit.groups if e.metric == metric.name and e.depth == 2]
        domain = value_range(here, min_n) if here else None
        wording = words_of(metric, source.task)
        shown = [e.model_copy(update={"metric_kind": shown_kind(e.metric_kind, wording)}) for e in here]
        own = [f for f in source.audit.findings if f.metric == metric.name and f.kind == "group"]
        findings = {(f.attribute, f.group): f for f in own}
        maps = []
        named = [tuple(cross) for cross in source.audit.settings.get("crosses") or [] if len(cross) == 2]
        for pair in dict.fromkeys([*itertools.combinations(source.names.by, 2), *named]):
            name = CROSS.join(pair)
            cells = {_values(source, e): e for e in shown if e.attribute == name}
            if not cells:
                continue
            tested = {key: findings[name, e.group] for key, e in cells.items() if (name, e.group) in findings}
            drawn = heat_map(
                metric.name,
                pair,
                cells,
                tested,
                source.names,
                better=metric.better,
                settings=source.audit.settings,
                domain=domain,
            )
            maps.append(replace(drawn, noun=wording.noun))
        if maps:
            by_metric.append((metric, maps))
    return by_metric


def _values(source: Audited, estimate: Estimate) -> tuple[str, str]:
    parts = source.names.parts(estimate.attribute, estimate.group)
    return (parts[0][1], parts[-1][1])
