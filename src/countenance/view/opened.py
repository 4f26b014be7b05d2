"""A run that is looked at: its manifest, its columns, its audit, and what was computed before."""

from __future__ import annotations

import inspect
import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from countenance.auditing import Audit, Estimate, audit, estimates
from countenance.auditing.attributes import MOST_VALUES, NEVER
from countenance.data.tables import near
from countenance.data.vocabulary import in_order
from countenance.decoding import open_parquet
from countenance.errors import InputError
from countenance.report.names import CROSS, Names
from countenance.report.unanswered import Unanswered
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
from countenance.run.hashes import FILES
from countenance.run.ledger import noted
from countenance.run.rows import check_scores
from countenance.run.run import Run
from countenance.run.store import AUDIT, FAILURES, MANIFEST, SCORES
from countenance.tasks import Metric, Task
from countenance.view.columns import Columns
from countenance.view.parameters import Parameters
from countenance.view.question import Question
from countenance.view.scope import ScopedStorage
from countenance.view.tables import tables

MOST_AUDITS = 16
MOST_ROWS = 2000
"""Rows of the score table that are kept as they were last shown."""
ROUNDING = 1e-12
"""Up to so much, two figures are one number that was added up in another order."""


class Unknown(InputError):
    """There is no run, row or picture of that id."""


class OpenRun:
    """One run below the named folders. What is computed is kept until a file of the run changes."""

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
        return f"{self.run.model_name} on {self.run.dataset_name}"

    @cached_property
    def columns(self) -> Columns:
        """The score table."""
        if not self.run.complete:
            raise InputError(f"{self.place}: the run has not finished; its numbers come when it has")
        files = {name: self.storage.path(name) for name in self.run.store.score_files()}
        for name, path in files.items():
            if not path.is_file():
                raise InputError(f"{self.place}: {name} is missing; the same `countenance run` command makes it again")
            self.run.store.check_file(name, path)
            check_scores(open_parquet(path, path).schema_arrow.empty_table(), f"{self.place}/{name}")
        return Columns(list(files.values()), self.place)

    @cached_property
    def audit(self) -> Audit | None:
        """The stored audit; None where the run has none, or a damaged one."""
        try:
            return read_audit(self.run).without_given()
        except InputError:
            return None

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """The images without a prediction; none where the file is damaged."""
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
        """The metrics of the score table, with their meaning where the task gives one."""
        known = {metric.name: metric for metric in metrics_of(self.run)}
        told = (self.audit.settings.get("better") or {}) if self.audit else {}
        made = [known.get(name, Metric(name, "", None)) for name in self.columns.metrics]
        return tuple(replace(one, better=told.get(one.name) or one.better) for one in made)

    @cached_property
    def of_groups(self) -> frozenset[str]:
        """Metrics that rows do not have, but groups: an audit has their numbers."""
        return frozenset(metric.name for metric in metrics_of(self.run) if metric.of_groups)

    @cached_property
    def groupable(self) -> list[str]:
        """The attributes that make groups without being cut into bins."""
        found = []
        for name in self.columns.attributes:
            if name not in NEVER and self.columns.kind(f"attr.{name}") in ("text", "boolean", "list"):
                count = self.columns.keep(("distinct", name), partial(self.columns.distinct, f"attr.{name}"))
                if 2 <= count <= MOST_VALUES:
                    found.append(name)
        return found

    def question(self, parameters: Sequence[tuple[str, str]] = ()) -> Question:
        """What an address asks of this run, checked."""
        metrics = tuple(self.of_rows(default_metrics(self.run)))
        usual = Question(by=tuple(self.groupable[:3]) or (WHOLE,), metrics=metrics, depth=1)
        asked = Question.of(Parameters(parameters), self.audit, usual)
        known = comparable(self.columns.names)
        check_names(self.place, asked.by, [*known, WHOLE], dict(asked.where))
        check_names(self.place, asked.given, known)
        for name in asked.metrics:
            if name not in self.of_groups:
                self.metric(name)
        if not asked.metrics:
            raise InputError(f"{self.place}: the run has no metric to compare")
        return asked

    def metric(self, name: str) -> str:
        """The name of a metric of the score table; other columns are refused."""
        known = self.columns.metrics
        if name not in known:
            raise InputError(f"{self.place}: no metric {name[:80]!r}{near(name, known)}; there are {', '.join(known)}")
        return name

    def rows(self, asked: Question) -> Columns:
        """The rows that a question is about."""
        return self.columns.about(self.of_rows(asked.about)).where(dict(asked.where))

    def of_rows(self, metrics: Sequence[str]) -> list[str]:
        """The metrics that rows have."""
        return [name for name in metrics if name not in self.of_groups]

    def estimates(self, asked: Question) -> list[Estimate]:
        """Every group's number with its interval, by the audit's own arithmetic."""
        found: list[Estimate] = self.columns.keep_latest(
            ("estimates", *asked.figures(), asked.about), lambda: self._estimates(asked, asked.by)
        )
        return found

    def overall(self, asked: Question) -> dict[str, Estimate]:
        """Each metric of a question over everybody."""
        found: list[Estimate] = self.columns.keep_latest(
            ("overall", *asked.figures()[1:], asked.about), lambda: self._estimates(asked, (WHOLE,))
        )
        return {one.metric: one for one in found if one.n}

    def _estimates(self, asked: Question, by: Sequence[str]) -> list[Estimate]:
        found = estimates(
            self.rows(asked),
            by=list(by),
            metrics=self.of_rows(asked.metrics),
            cluster=asked.cluster,
            depth=asked.depth,
            alpha=asked.alpha,
            denominators=asked.stored.get("denominators") or None,
        )
        stored = self.audit.groups if self.audit else []
        of_groups = [one for one in stored if one.metric in self.of_groups and one.metric in asked.metrics]
        return [*(self._settled(one) for one in found), *(one for one in of_groups if one.attribute in by)]

    def _settled(self, one: Estimate) -> Estimate:
        """An estimate with the digits of the stored audit where that says the same.

        Sums of the same rows in another order may differ in their last bit; two figures for one number would only
        raise the question which is right. One that differs by more is given as it was computed.
        """
        known = self._known.get((one.metric, one.attribute, one.group))
        if known is None or (known.n, known.clusters, known.metric_kind) != (one.n, one.clusters, one.metric_kind):
            return one
        pairs = [(getattr(known, name), getattr(one, name)) for name in ("estimate", "low", "high", "deff")]
        same = all(a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=ROUNDING) for a, b in pairs)
        return known if same else one

    @cached_property
    def _known(self) -> dict[tuple[str, str, str], Estimate]:
        if self.audit is None:
            return {}
        whole = {(one.metric, WHOLE, EVERYONE): one for one in self.audit.overall}
        return whole | {(one.metric, one.attribute, one.group): one for one in self.audit.groups}

    def tested(self, asked: Question, progress: Callable[[int, int], None] | None = None) -> Audit:
        """The whole audit of a question; one at a time, since each takes a processor for seconds."""
        if asked.as_stored and self.audit is not None:
            return self.audit
        key = asked.key()
        with self._auditing:
            if key not in self._audits:
                answer = audit_source(
                    self.run, self._about(asked), list(asked.by), list(asked.metrics), dict(asked.where) or None,
                    progress=progress, **self._settings(asked),
                )  # fmt: skip
                while len(self._audits) >= MOST_AUDITS:
                    del self._audits[next(iter(self._audits))]
                self._audits[key] = noted(self.run, answer).without_given()
            return self._audits[key]

    def _about(self, asked: Question) -> Columns:
        """The rows that a question's audit looks at: those with a score, or with none although they should."""
        known = [one for one in self.metrics if one.name in asked.metrics and one.answered]
        if any(one.answered == one.name for one in known):
            return self.columns
        return self.columns.about([*self.of_rows(asked.about), *(str(one.answered) for one in known)])

    def _settings(self, asked: Question) -> dict[str, Any]:
        """The settings of the stored audit, with what the address says instead."""
        known = set(inspect.signature(audit).parameters) - {"table", "by", "metrics", "where", "progress", "better"}
        kept = {name: value for name, value in asked.stored.items() if name in known and value is not None}
        delta: Any = asked.delta or kept.get("delta")
        if isinstance(delta, Mapping):
            delta = {name: value for name, value in delta.items() if value is not None and name in asked.metrics}
        kept |= {"cluster": asked.cluster, "depth": asked.depth, "alpha": asked.alpha, "delta": delta or None}
        return kept | {"adjust": asked.adjust or "minp", "given": list(asked.given) or None}

    def names(self, groups: Sequence[Estimate]) -> Names:
        """What the groups of some estimates are called."""
        levels: dict[str, dict[str, None]] = {}
        for one in sorted(groups, key=lambda e: e.depth):
            parts = [one.attribute] if one.depth == 1 else one.attribute.split(CROSS)
            values = [one.group] if one.depth == 1 else one.group.split(CROSS)
            for name, value in zip(parts, values, strict=False) if len(parts) == len(values) else ():
                levels.setdefault(name, {})[value] = None
        depth = max([1, *(one.depth for one in groups)])
        return Names(list(levels), {name: in_order(name, list(values)) for name, values in levels.items()}, depth)

    @cached_property
    def task(self) -> Task | None:
        """The task, where it is registered here, or what the run says of its own; no code of a run is imported."""
        return self.run.task()

    def rows_at(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """Rows of the score table by their places; the latest are kept, since their pictures are asked for next."""
        with self._loading:
            if self._table is None:
                self._table = tables().load(self.columns.files)
                weakref.finalize(self, tables().drop, self._table)
            if missing := [place for place in places if place not in self._rows]:
                self._rows |= {row["place"]: row for row in tables().rows(self._table, missing)}
            found = [self._rows[place] for place in places if place in self._rows]
            if len(self._rows) > MOST_ROWS:
                self._rows = {row["place"]: row for row in found[-MOST_ROWS:]}
            return found


def stamp_of(storage: ScopedStorage) -> tuple[Any, ...]:
    """What changes when a run changes: the versions of its manifest, audit, scores, failures and hashes."""
    return tuple(storage.stamp(name) for name in (MANIFEST, AUDIT, SCORES, FAILURES, FILES))
