"""An open run: its manifest, its columns, its audit, and cached computations."""

from __future__ import annotations

import inspect
import math
import shutil
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from countenance.auditing import Audit, Estimate, audit, estimates
from countenance.auditing.attributes import MOST_VALUES, NEVER
from countenance.data.tables import near
from countenance.data.vocabulary import in_order
from countenance.decoding import open_parquet
from countenance.errors import InputError
from countenance.report.missing_answers import Unanswered
from countenance.report.names import CROSS, Names
from countenance.run.auditing import (
    EVERYONE,
    WHOLE,
    audit_source,
    check_names,
    comparable,
    default_metrics,
    metrics_of,
    read_audit,
)
from countenance.run.file_names import AUDIT, FAILURES, MANIFEST, SCORES
from countenance.run.hashes import FILES
from countenance.run.ledger import noted
from countenance.run.rows import check_scores
from countenance.run.run import Run
from countenance.scratch import scratch_folder
from countenance.storage import Missing
from countenance.tasks import Metric, Task, metric_of
from countenance.view.columns import Columns
from countenance.view.parameters import Parameters
from countenance.view.question import Question
from countenance.view.scope import ScopedStorage
from countenance.view.tables import tables

MOST_AUDITS = 16
MOST_ROWS = 2000
"""Rows of the score table that are kept as they were last shown."""
ROUNDING = 1e-12
"""Two figures that differ by at most this are the same number, summed in another order."""


class Unknown(InputError):
    """No run, row or picture has that id."""


class OpenRun:
    """One run below the named folders. Computed values are cached until a file of the run changes."""

    def __init__(self, key: str, storage: ScopedStorage, **how: Any) -> None:
        self.id = key
        self.storage = storage
        self.stamp = stamp_of(self.storage)
        self.run = Run(self.storage, **how)
        self._audits: dict[Any, Audit] = {}
        self._auditing = threading.Lock()
        self._loading = threading.Lock()
        self._table: str | None = None
        self._rows: dict[int, dict[str, Any]] = {}

    @property
    def place(self) -> str:
        """The folder or the URL."""
        return self.storage.place

    @property
    def name(self) -> str:
        """The last part of the place."""
        return self.place.rpartition("/")[2]

    @property
    def title(self) -> str:
        return f"{self.run.model_label} on {self.run.dataset_label}"

    @cached_property
    def columns(self) -> Columns:
        """The score table."""
        if not self.run.complete:
            raise InputError(f"{self.place}: the run has not finished; its numbers come when it has")
        folder = scratch_folder("view")
        try:
            columns = Columns([self._copied(name, folder) for name in self.run.store.score_files()], self.place)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(columns, shutil.rmtree, folder, ignore_errors=True)
        return columns

    def _copied(self, name: str, folder: Path) -> Path:
        """A verified copy of a score file in the private folder of this process, since it is opened repeatedly."""
        place = f"{self.place}/{name}"
        try:
            path = self.run.store.copied(name, folder / name.rpartition("/")[2])
        except Missing:
            raise InputError(
                f"{self.place}: {name} is missing; the same `countenance run` command makes it again"
            ) from None
        check_scores(open_parquet(path, place).schema_arrow.empty_table(), place)
        return path

    @cached_property
    def audit(self) -> Audit | None:
        """The stored audit; None if it is missing or damaged."""
        try:
            return read_audit(self.run).without_given()
        except InputError:
            return None

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """The images without a prediction; empty if the file is damaged."""
        try:
            return list(self.run.failures().to_pylist())
        except InputError:
            return []

    @cached_property
    def in_numbers(self) -> Unanswered:
        """How many images have no prediction, and whether the numbers count them."""
        import pyarrow as pa

        failed = {str(row["sample"]) for row in self.failures}
        metrics = [name for name in default_metrics(self.run) if name in self.columns.metrics]
        scores = self.columns.read(["sample"], [f"m.{name}" for name in metrics]) if failed else {}
        return Unanswered.of(failed, pa.table(scores), metrics)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of the score table, with their meaning if the task gives one."""
        known = metrics_of(self.run)
        directions = (self.audit.settings.get("better") or {}) if self.audit else {}
        metrics = [metric_of(name, known) or Metric(name, "", None) for name in self.columns.metrics]
        return tuple(replace(metric, better=directions.get(metric.name) or metric.better) for metric in metrics)

    @cached_property
    def of_groups(self) -> frozenset[str]:
        """Metrics that groups have but rows do not: an audit has their numbers."""
        return frozenset(metric.name for metric in metrics_of(self.run) if metric.of_groups)

    @cached_property
    def groupable(self) -> list[str]:
        """The attributes that make groups without being cut into bins."""
        known = []
        for name in self.columns.attributes:
            if name not in NEVER and self.columns.kind(f"attr.{name}") in ("text", "boolean", "list"):
                count = self.columns.keep(("distinct", name), partial(self.columns.distinct, f"attr.{name}"))
                if 2 <= count <= MOST_VALUES:
                    known.append(name)
        return known

    def question(self, parameters: Sequence[tuple[str, str]] = ()) -> Question:
        """The question of an address about this run, checked."""
        metrics = tuple(self.of_rows(default_metrics(self.run)))
        usual = Question(by=tuple(self.groupable[:3]) or (WHOLE,), metrics=metrics, depth=1)
        question = Question.of(Parameters(parameters), self.audit, usual)
        known = comparable(self.columns.names)
        check_names(self.place, question.by, [*known, WHOLE], dict(question.where))
        check_names(self.place, question.given, known)
        for name in question.metrics:
            if name not in self.of_groups:
                self.metric(name)
        if not question.metrics:
            raise InputError(f"{self.place}: the run has no metric to compare")
        return question

    def metric(self, name: str) -> str:
        """The name of a metric of the score table; other columns are refused."""
        known = self.columns.metrics
        if name not in known:
            raise InputError(f"{self.place}: no metric {name[:80]!r}{near(name, known)}; there are {', '.join(known)}")
        return name

    def rows(self, question: Question) -> Columns:
        """The rows that a question is about."""
        return self.columns.about(self.of_rows(question.about)).where(dict(question.where))

    def of_rows(self, metrics: Sequence[str]) -> list[str]:
        """The metrics that rows have."""
        return [name for name in metrics if name not in self.of_groups]

    def estimates(self, question: Question) -> list[Estimate]:
        """Every group's number with its interval, computed as in the audit."""
        known: list[Estimate] = self.columns.keep_latest(
            ("estimates", *question.figures(), question.about), lambda: self._estimates(question, question.by)
        )
        return known

    def overall(self, question: Question) -> dict[str, Estimate]:
        """Each metric of a question over everybody."""
        known: list[Estimate] = self.columns.keep_latest(
            ("overall", *question.figures()[1:], question.about), lambda: self._estimates(question, (WHOLE,))
        )
        return {estimate.metric: estimate for estimate in known if estimate.n}

    def _estimates(self, question: Question, by: Sequence[str]) -> list[Estimate]:
        known = estimates(
            self.rows(question),
            by=list(by),
            metrics=self.of_rows(question.metrics),
            cluster=question.cluster,
            depth=question.depth,
            alpha=question.alpha,
            denominators=question.stored.get("denominators") or None,
        )
        stored = self.audit.groups if self.audit else []
        of_groups = [
            estimate for estimate in stored if estimate.metric in self.of_groups and estimate.metric in question.metrics
        ]
        return [
            *(self._settled(estimate) for estimate in known),
            *(estimate for estimate in of_groups if estimate.attribute in by),
        ]

    def _settled(self, estimate: Estimate) -> Estimate:
        """An estimate with the digits of the stored audit if it is equal up to rounding.

        Sums of the same rows in another order may differ in their last bit, and pages must not show two values of one
        number. An estimate that differs by more is not changed.
        """
        known = self._known.get((estimate.metric, estimate.attribute, estimate.group))
        if known is None or (known.n, known.clusters, known.metric_kind) != (
            estimate.n,
            estimate.clusters,
            estimate.metric_kind,
        ):
            return estimate
        pairs = [(getattr(known, name), getattr(estimate, name)) for name in ("estimate", "low", "high", "deff")]
        same = all(a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=ROUNDING) for a, b in pairs)
        return known if same else estimate

    @cached_property
    def _known(self) -> dict[tuple[str, str, str], Estimate]:
        if self.audit is None:
            return {}
        whole = {(estimate.metric, WHOLE, EVERYONE): estimate for estimate in self.audit.overall}
        return whole | {
            (estimate.metric, estimate.attribute, estimate.group): estimate for estimate in self.audit.groups
        }

    def tested(self, question: Question, progress: Callable[[int, int], None] | None = None) -> Audit:
        """The whole audit of a question; one at a time, since each takes seconds of CPU time."""
        if question.as_stored and self.audit is not None:
            return self.audit
        key = question.key()
        with self._auditing:
            if key not in self._audits:
                answer = audit_source(
                    self.run,
                    self._about(question),
                    list(question.by),
                    list(question.metrics),
                    dict(question.where) or None,
                    progress=progress,
                    **self._settings(question),
                )
                while len(self._audits) >= MOST_AUDITS:
                    del self._audits[next(iter(self._audits))]
                self._audits[key] = noted(self.run, answer).without_given()
            return self._audits[key]

    def _about(self, question: Question) -> Columns:
        """The rows of a question's audit: those with a score, and those without one that should have it."""
        known = [metric for metric in self.metrics if metric.name in question.metrics and metric.answered]
        if any(metric.answered == metric.name for metric in known):
            return self.columns
        return self.columns.about([*self.of_rows(question.about), *(str(metric.answered) for metric in known)])

    def _settings(self, question: Question) -> dict[str, Any]:
        """The settings of the stored audit, overridden by the address."""
        known = set(inspect.signature(audit).parameters) - {"table", "by", "metrics", "where", "progress", "better"}
        settings = {name: value for name, value in question.stored.items() if name in known and value is not None}
        delta: Any = question.delta or settings.get("delta")
        if isinstance(delta, Mapping):
            delta = {name: value for name, value in delta.items() if value is not None and name in question.metrics}
        settings |= {
            "cluster": question.cluster,
            "depth": question.depth,
            "alpha": question.alpha,
            "delta": delta or None,
        }
        return settings | {"adjust": question.adjust or "minp", "given": list(question.given) or None}

    def names(self, groups: Sequence[Estimate]) -> Names:
        """The names of the groups in some estimates."""
        levels: dict[str, dict[str, None]] = {}
        for estimate in sorted(groups, key=lambda e: e.depth):
            parts = [estimate.attribute] if estimate.depth == 1 else estimate.attribute.split(CROSS)
            values = [estimate.group] if estimate.depth == 1 else estimate.group.split(CROSS)
            for name, value in zip(parts, values, strict=False) if len(parts) == len(values) else ():
                levels.setdefault(name, {})[value] = None
        depth = max([1, *(estimate.depth for estimate in groups)])
        return Names(list(levels), {name: in_order(name, list(values)) for name, values in levels.items()}, depth)

    @cached_property
    def task(self) -> Task | None:
        """The task: registered here, or described by the run; no code of a run is imported."""
        return self.run.task()

    def rows_at(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """Rows of the score table by their places; the latest are cached, since their pictures are requested next."""
        with self._loading:
            if self._table is None:
                self._table = tables().load(self.columns.files, self.place)
                weakref.finalize(self, tables().drop, self._table)
            if missing := [place for place in places if place not in self._rows]:
                self._rows |= {row["place"]: row for row in tables().rows(self._table, missing)}
            known = [self._rows[place] for place in places if place in self._rows]
            if len(self._rows) > MOST_ROWS:
                self._rows = {row["place"]: row for row in known[-MOST_ROWS:]}
            return known


def stamp_of(storage: ScopedStorage) -> tuple[Any, ...]:
    """A stamp that changes with a run: the versions of its manifest, audit, scores, failures and hashes."""
    return tuple(storage.stamp(name) for name in (MANIFEST, AUDIT, SCORES, FAILURES, FILES))
