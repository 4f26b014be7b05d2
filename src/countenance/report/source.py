"""The sources of a report: the files of a run directory, or a table, read once."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from countenance.auditing import Audit, Estimate
from countenance.auditing.conditions import kept_rows
from countenance.auditing.settings import parse_where
from countenance.auditing.source import Source as Columns
from countenance.data.vocabulary import in_order
from countenance.report.missing_answers import Unanswered
from countenance.report.names import Names
from countenance.run import Run, metrics_of, read_audit
from countenance.run.auditing import WHOLE, with_everyone
from countenance.tasks import Metric, Result, Task, metric_of

EVERYONE = "(everyone)"
COMPUTED = {("error", "truth_known"): "squared error"}
"""The words of a page for metrics that the audit computed from predictions, by name and the rows that count."""


@dataclass(frozen=True)
class Audited(ABC):
    """Scores and their audit: the data behind the figures of a page."""

    audit: Audit
    task: Task | None

    @property
    @abstractmethod
    def scores(self) -> Any:
        """The score table, or the part of it that was audited."""

    @property
    @abstractmethod
    def known_metrics(self) -> Sequence[Metric]:
        """The metrics of which more than the name is known."""

    @property
    def results(self) -> list[Result]:
        """The results of the whole run."""
        return []

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The images without a prediction."""
        return []

    @cached_property
    def names(self) -> Names:
        """The names of the groups."""
        return Names.of(self.audit)

    @cached_property
    def metrics(self) -> list[Metric]:
        """The audited metrics, with their meaning where the task gives one."""
        names = [str(name) for name in self.audit.settings.get("metrics", [])]
        stated = self.audit.settings.get("better") or {}
        among = self.audit.settings.get("denominators") or {}
        computed = {name: COMPUTED.get((name, among.get(name, "")), "") for name in names}
        described = self.known_metrics
        metrics = [metric_of(name, described) or Metric(name, "", None, noun=computed[name]) for name in names]
        return [replace(metric, better=stated.get(metric.name) or metric.better) for metric in metrics]

    @cached_property
    def better(self) -> dict[str, str | None]:
        """Which way each metric is better."""
        return {metric.name: metric.better for metric in self.metrics}

    @cached_property
    def overall(self) -> dict[str, Estimate]:
        """Each audited metric over everybody, as the audit has it."""
        return {estimate.metric: estimate for estimate in self.audit.overall if estimate.n}

    def estimates(self, metric: str, attribute: str) -> list[Estimate]:
        """The groups of one attribute, in their natural order; the unknown group is left out when it is empty."""
        here = [e for e in self.audit.groups if e.metric == metric and e.attribute == attribute]
        order = {value: i for i, value in enumerate(self.names.levels.get(attribute, ()))}
        here.sort(key=lambda e: order.get(e.group, len(order)))
        return [e for e in here if e.n or e.group != "(unknown)"]


@dataclass(frozen=True)
class ReportSource(Audited):
    """A run, its audit, and what its task says about the metrics."""

    run: Run
    gallery: str = field(default="off", kw_only=True)
    """How a suite's own sections show pictures, as requested for the report."""

    @classmethod
    def of(cls, run: Run) -> "ReportSource":
        """Read a run directory; without the task's plugin only the explanations are missing."""
        run.require_complete()
        return cls(read_audit(run).without_given(), run.task(), run)

    @cached_property
    def scores(self) -> Any:
        """The score table, or the part of it that was audited."""
        return _audited_part(self.run.scores(), self.audit, self.run.place)

    @property
    def known_metrics(self) -> Sequence[Metric]:
        """The task's metrics, or those that the run recorded."""
        return (*(self.task.metrics if self.task else ()), *metrics_of(self.run))

    @cached_property
    def results(self) -> list[Result]:
        """The results of the whole run."""
        return self.run.results()

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """The images without a prediction."""
        rows: list[dict[str, Any]] = self.run.failures().to_pylist()
        return rows

    @cached_property
    def in_numbers(self) -> Unanswered:
        """How many images have no answer, and how many of them are in the numbers."""
        failed = {str(row["sample"]) for row in self.failures}
        return Unanswered.of(failed, self.scores, [metric.name for metric in self.metrics])

    def unanswered(self) -> list[tuple[str, list[tuple[str, int, int]]]]:
        """By audited attribute: each value with how many of its people have no answer, and how many it has.

        Empty if no image failed, or if the run does not record the people in failed images.
        """
        tables = []
        for attribute in self.names.levels:
            column = f"attr.{attribute}"
            if not self.failures or column not in self.failures[0] or column not in self.scores.column_names:
                continue
            failed = Counter(str(v) for row in self.failures for v in row[column] or () if v is not None)
            people = self._answered[column].to_pylist()
            answered = Counter(str(v) for value in people for v in (value if isinstance(value, list) else [value]))
            order = in_order(attribute, [v for v in {*failed, *answered} if v != "None"])
            tables.append((attribute, [(value, failed[value], failed[value] + answered[value]) for value in order]))
        return tables

    @cached_property
    def _answered(self) -> Any:
        """The rows of people in images that have an answer."""
        import pyarrow as pa
        import pyarrow.compute as pc

        failed = pa.array([str(row["sample"]) for row in self.failures], pa.string())
        known = "subject" in self.scores.column_names
        scores = self.scores.filter(self.scores["subject"].is_valid()) if known else self.scores
        return scores.filter(pc.invert(pc.is_in(scores["sample"].cast(pa.string()), value_set=failed)))


@dataclass(frozen=True)
class TableSource(Audited):
    """A table of scores that is not a run, and its audit."""

    table: Any

    @cached_property
    def scores(self) -> Any:
        """The table, or the part of it that was audited, as an Arrow table."""
        import pyarrow as pa

        columns = Columns(self.table)
        ratios = {finding.metric for finding in self.audit.findings if finding.metric_kind == "ratio"}
        of_rows = [
            metric.name for metric in self.metrics if metric.name not in ratios
        ]  # ratios are of groups, not rows
        measured = {columns.resolve(name, "m.", "metric") for name in of_rows}
        texts = [name for name in columns.names if name not in measured and columns.kind(name) == "text"]
        read = columns.read(texts, [name for name in columns.names if name not in texts])
        return _audited_part(pa.table(read), self.audit, columns.label)

    @property
    def known_metrics(self) -> Sequence[Metric]:
        """No metrics: a table does not describe its metrics."""
        return ()


@dataclass(frozen=True)
class AuditSource(Audited):
    """An audit alone: no rows, so people are counted and not shown."""

    recorded: Sequence[Metric] = ()
    """The metrics as the run recorded them."""

    @classmethod
    def of(cls, audit: Audit) -> "AuditSource":
        """An audit with what its run, where it is of one, says about task and metrics."""
        run = audit.audited
        return cls(audit, run.task(), metrics_of(run)) if isinstance(run, Run) else cls(audit, None)

    @cached_property
    def scores(self) -> Any:
        """No rows."""
        import pyarrow as pa

        return pa.table({})

    @property
    def known_metrics(self) -> Sequence[Metric]:
        """The task's metrics, or those that the run recorded; a table says nothing about its own."""
        return (*(self.task.metrics if self.task else ()), *self.recorded)


def _audited_part(scores: Any, audit: Audit, label: str) -> Any:
    import pyarrow as pa

    if audit.settings.get("by") == [WHOLE]:
        scores = with_everyone(scores)
    chosen = kept_rows(Columns(scores, label=label), parse_where(audit.settings.get("where")))
    return scores if chosen is None else scores.filter(pa.array(chosen))
