"""A run as input of the report's sections, with an audit that was computed for a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from countenance.auditing import Audit, Estimate, Finding
from countenance.auditing.attributes import choose
from countenance.auditing.groups import SPLIT
from countenance.auditing.headline import deltas_of
from countenance.auditing.settings import DELTA, parse_delta
from countenance.auditing.table import flat
from countenance.report.harms import TWINS, harms
from countenance.report.names import CROSS, Names
from countenance.report.source import ReportSource
from countenance.report.words import failed_side
from countenance.tasks import Metric
from countenance.view.open_run import OpenRun
from countenance.view.question import Question
from countenance.view.rows import Selection

MOST_FAILED = 4


@dataclass(frozen=True)
class Live(ReportSource):
    """An audited run whose rows are already in memory."""

    opened: OpenRun
    question: Question

    @classmethod
    def tested(cls, opened: OpenRun, question: Question, audit: Audit) -> Live:
        """The run with the verdicts of an audit."""
        return cls(audit=audit, task=opened.task, run=opened.run, opened=opened, question=question)

    @classmethod
    def untested(cls, opened: OpenRun, question: Question, groups: Sequence[Estimate]) -> Live:
        """The run with estimates alone, as shown before the tests are done."""
        settings = dict(question.stored) | {
            "by": list(question.by),
            "metrics": list(question.metrics),
            "levels": {},
            "bins": {},
        }
        settings |= {"where": dict(question.where), "alpha": question.alpha, "notes": [], "crosses": []}
        settings["delta"] = deltas(question, settings)
        audit = Audit(verdict="", reason="", findings=[], excluded=[], settings=settings, groups=list(groups))
        return cls(audit=audit, task=opened.task, run=opened.run, opened=opened, question=question)

    @cached_property
    def names(self) -> Names:
        """The names of the groups."""
        return Names.of(self.audit) if self.audit.verdict else self.opened.names(self.audit.groups)

    @cached_property
    def scores(self) -> Any:
        """The columns that the figures need, for the rows of the question."""
        import pyarrow as pa

        rows = self.opened.rows(self.question)
        columns = {
            f"attr.{choice.name}": choice.column for choice in choose(list(self.question.by), rows, []).attributes
        }
        columns |= {choice.column: choice.column for choice in choose(list(self.question.by), rows, []).attributes}
        finer = [self.task.curve_of] if self.task and self.task.curve_of else []
        metrics = [name for name in (*self.question.metrics, *finer) if name in rows.metrics]
        columns |= {f"m.{name}": f"m.{name}" for name in metrics}
        twins = self.audit.settings.get("paired_by") or {}
        of_twins = {*twins.values(), *(f.attribute for f in self.audit.findings if f.kind == TWINS)} if twins else set()
        columns |= {f"attr.{name}": f"attr.{name}" for name in sorted(of_twins) if f"attr.{name}" in rows.names}
        who = ("subject", "sample", "identity")
        columns |= {name: name for name in who if name in rows.names}
        return pa.table({name: flat(rows.read([column], [])[column]) for name, column in columns.items()})

    @cached_property
    def overall(self) -> dict[str, Estimate]:
        """Each metric over everybody, computed as in the audit."""
        return self.opened.overall(self.question)

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metrics requested, with their meaning if the task gives one."""
        known = {metric.name: metric for metric in self.opened.metrics}
        return [known[name] for name in self.question.metrics if name in known]

    def failed(self) -> list[Finding]:
        """The disparities to a group's disadvantage, the largest harm first, as on the first screen."""
        return [harm.finding for harm in harms(self) if harm.finding.kind in ("group", SPLIT)][:MOST_FAILED]

    def pictures(self, finding: Finding) -> str:
        """The address of the pictures of the group that a disparity puts at a disadvantage."""
        address = self.link("failed", "samples")
        return address(finding.metric, finding.attribute, failed_side(finding))

    def link(self, show: str = "all", page: str = "rows") -> Callable[..., str]:
        """A function from a number (its metric, attribute and group; `rest` for everyone else) to its rows' address."""
        rows = self.opened.rows(self.question)
        written = {}
        for text in self.question.by:
            chosen = choose([text], rows, [])
            for choice, part in zip(chosen.attributes, text.split("*") if chosen.crosses else [text], strict=True):
                written[choice.name] = part.strip()

        splits = {(f.attribute, side) for f in self.audit.findings if f.kind == SPLIT for side in (f.group, f.versus)}

        @cache
        def address(metric: str, attribute: str, group: str, side: str = "") -> str:
            if (attribute, group) in splits:  # several groups together: all rows of the metric
                everybody = Selection(self.opened, self.question, metric, "", "", show)
                return f"/runs/{self.opened.id}/{page}?{everybody.query()}"
            parts = [attribute] if attribute in written else attribute.split(CROSS)
            by = "*".join(written.get(part, part) for part in parts)
            chosen = Selection(self.opened, self.question, metric, by, group, show, side=side)
            return f"/runs/{self.opened.id}/{page}?{chosen.query()}"

        return address


def deltas(question: Question, settings: Mapping[str, Any]) -> dict[str, float | None]:
    """Each metric's smallest difference that matters: as requested, or from the stored audit."""
    stored = deltas_of(settings)
    common, by_metric = parse_delta(question.delta or None)
    usual = {name: stored.get(name, DELTA) for name in question.metrics}
    return {name: by_metric.get(name, common if common and size else size) for name, size in usual.items()}
