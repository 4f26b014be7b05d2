"""An intersection heat map: a real table whose cells are tinted by how far each group falls behind."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from countenance.auditing import Estimate, Finding
from countenance.report import numbers, words
from countenance.report.names import Names, attribute_label, value_label

STEPS = 9
LEAST_RANGE = 0.2
"""Tints are spread over at least this much, so that a difference that means nothing does not shout."""


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


@dataclass(frozen=True)
class HeatMap:
    """The table of one pair of attributes."""

    metric: str
    rows_name: str
    columns_name: str
    columns: list[str]
    rows: list[tuple[str, list[HeatmapCell]]]
    best: str
    worst: str


def tint(estimate: float, low: float, high: float, better: str | None) -> int:
    """The step of a value between the best and the worst; between highest and lowest where neither is better.

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
    min_n: int = 20,
    domain: tuple[float, float] | None = None,
) -> HeatMap:
    """The heat map of two attributes, the longer one down the side; who is in no picture is a cell, too."""
    first, second = pair
    levels = {name: [value for value in names.levels.get(name, []) if value != "(unknown)"] for name in (first, second)}
    turned = len(levels[second]) > len(levels[first])
    down, across = (second, first) if turned else (first, second)
    low, high = domain or value_range(list(estimates.values()), min_n)
    kind = next((estimate.metric_kind for estimate in estimates.values()), "mean")
    rows = []
    for level in levels[down]:
        cells = []
        for other in levels[across]:
            key = (other, level) if turned else (level, other)
            cells.append(_cell(estimates.get(key), findings.get(key), low, high, better, min_n))
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
    estimate: Estimate | None, finding: Finding | None, low: float, high: float, better: str | None, min_n: int
) -> HeatmapCell:
    if estimate is None or not estimate.n or not math.isfinite(estimate.estimate):
        return HeatmapCell("nobody", 0, "", None, None, "nobody in the data")
    kind = None if finding is None else words.mark_of(finding, estimate.group)
    few = estimate.clusters < min_n
    return HeatmapCell(
        numbers.value(estimate.estimate, estimate.metric_kind),
        estimate.n,
        numbers.span(estimate.low, estimate.high, estimate.metric_kind),
        None if few else tint(estimate.estimate, low, high, better),
        kind,
        "not compared" if finding is None else words.finding_label(finding, estimate.group),
        (estimate.metric, estimate.attribute, estimate.group),
    )
