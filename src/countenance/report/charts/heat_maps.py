"""Heat maps: every pair of attributes."""

import itertools

from countenance.auditing import Estimate
from countenance.report.figures.heatmap import HeatMap, heat_map, value_range
from countenance.report.names import CROSS
from countenance.report.source import Audited
from countenance.tasks import Metric


def heat_maps(source: Audited) -> list[tuple[Metric, list[HeatMap]]]:
    """A heat map for each metric and each pair of attributes, tinted alike within a metric."""
    by_metric = []
    min_n = int(source.audit.settings.get("min_n", 20))
    for metric in source.metrics:
        here = [e for e in source.audit.groups if e.metric == metric.name and e.depth == 2]
        domain = value_range(here, min_n) if here else None
        own = [f for f in source.audit.findings if f.metric == metric.name and f.kind == "group"]
        findings = {(f.attribute, f.group): f for f in own}
        maps = []
        named = [tuple(cross) for cross in source.audit.settings.get("crosses") or [] if len(cross) == 2]
        for pair in dict.fromkeys([*itertools.combinations(source.names.by, 2), *named]):
            name = CROSS.join(pair)
            cells = {_values(source, e): e for e in here if e.attribute == name}
            if not cells:
                continue
            tested = {key: findings[name, e.group] for key, e in cells.items() if (name, e.group) in findings}
            maps.append(
                heat_map(
                    metric.name, pair, cells, tested, source.names, better=metric.better, min_n=min_n, domain=domain
                )
            )
        if maps:
            by_metric.append((metric, maps))
    return by_metric


def _values(source: Audited, estimate: Estimate) -> tuple[str, str]:
    parts = source.names.parts(estimate.attribute, estimate.group)
    return (parts[0][1], parts[-1][1])
