"""The numbers of an audited run that are published: of everybody and of each group, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from countenance.auditing import Estimate
from countenance.report import sentences
from countenance.report.page import DEFAULTS, too_many_failed
from countenance.report.source import ReportSource
from countenance.run import Run
from countenance.run.file_names import AUDIT
from countenance.tasks import Metric, Number


@dataclass(frozen=True)
class PublishedNumber:
    """One number with its interval: of everybody, or of one group."""

    metric: str
    meaning: str
    value: float
    low: float
    high: float
    level: float
    n: int
    unit: str
    better: str
    attribute: str | None = None
    group: str | None = None
    share: bool = False
    """Whether the metric is bounded by 0 and 1."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, if there is one."""
        return (self.low, self.high) if math.isfinite(self.low) and math.isfinite(self.high) else None

    @property
    def who(self) -> str:
        """The group of the number, as `attribute=group`; empty for everybody.

        >>> PublishedNumber("ok", "", 1.0, 1.0, 1.0, 0.95, 9, "rows", "higher", "gender", "female").who
        'gender=female'
        """
        return "" if self.attribute is None else f"{self.attribute}={self.group}"


def source_of(run: Run | Path | str) -> ReportSource:
    """A run with its stored audit; the default audit is made and stored where there is none."""
    finished = run if isinstance(run, Run) else Run(run)
    if not finished.store.storage.entries(AUDIT):
        finished.audit()
    return ReportSource.of(finished)


def published(source: ReportSource) -> list[PublishedNumber]:
    """The audited metrics of everybody and of each group, then the task's own numbers; without NaN."""
    candidates = [*_audited(source), *(_of_run(number) for number in source.results if isinstance(number, Number))]
    return [number for number in candidates if math.isfinite(number.value)]


def sentence(source: ReportSource) -> str:
    """The verdict in the words of the report's first line."""
    manifest = DEFAULTS | source.run.manifest.plain()
    failed = too_many_failed(manifest)
    return sentences.sentence(source, source.run.model_label, too_many_failed=failed)


def _audited(source: ReportSource) -> Iterator[PublishedNumber]:
    level = 1 - float(source.audit.settings.get("alpha", 0.05))
    for metric in source.metrics:
        if overall := source.overall.get(metric.name):
            yield _of_estimate(overall, metric, level, None, None)
        for attribute in source.names.by:
            for estimate in source.estimates(metric.name, attribute):
                if estimate.n:
                    yield _of_estimate(estimate, metric, level, attribute, estimate.group)


def _of_estimate(
    estimate: Estimate, metric: Metric, level: float, attribute: str | None, group: str | None
) -> PublishedNumber:
    return PublishedNumber(
        metric.name,
        metric.meaning,
        estimate.estimate,
        estimate.low,
        estimate.high,
        level,
        estimate.n,
        "rows",
        metric.better or "",
        attribute,
        group,
        estimate.metric_kind == "rate",
    )


def _of_run(number: Number) -> PublishedNumber:
    return PublishedNumber(
        number.name,
        number.meaning,
        number.value,
        number.low,
        number.high,
        number.level,
        number.n,
        number.unit,
        number.better,
        number.attribute,
        number.group,
    )
