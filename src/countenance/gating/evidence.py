"""The data on which rules are decided: the rows, results and manifest of a run, read once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from countenance.auditing.conditions import kept_rows
from countenance.auditing.directions import inferred
from countenance.auditing.finding import Estimate
from countenance.auditing.levels import estimates_at
from countenance.auditing.missing_scores import TOLERATED
from countenance.auditing.result import Audit
from countenance.auditing.settings import DELTA, AuditSettings
from countenance.auditing.source import Source
from countenance.data.tables import near
from countenance.data.vocabulary import UNKNOWN, in_order
from countenance.errors import InputError
from countenance.gating.bounds import Lacking, Measurement
from countenance.gating.outcome import RuleCheck
from countenance.gating.questions import AnsweredQuestion, RuleQuestion, questions_of
from countenance.run.auditing import (
    WHOLE,
    audit_run,
    audited_run,
    check_names,
    comparable,
    metrics_of,
    own_names,
    read_audit,
    with_everyone,
    work_of_run,
)
from countenance.run.file_names import AUDIT
from countenance.run.ledger import noted
from countenance.run.run import Run
from countenance.tasks.results import Number

if TYPE_CHECKING:
    from countenance.gating.policy import Policy


USUAL = ("comparison", "reference", "cluster", "min_n", "h0", "r0", "families", "pair", "max_groups")
"""Settings of an audit that change its verdict and that no rule names."""


@dataclass(frozen=True)
class RunEvidence:
    """A run with everything that a policy can refer to."""

    run: Run
    policy: Policy
    baseline: Run | None = None
    _answered: dict[RuleQuestion, AnsweredQuestion] = field(default_factory=dict, compare=False)
    _audits: dict[str, Audit] = field(default_factory=dict, compare=False)

    @property
    def alpha(self) -> float:
        return self.policy.alpha

    @cached_property
    def scores(self) -> Any:
        """The rows that the policy is about."""
        scores = self.every_score
        check_names(self.run.place, None, self._attributes(scores), self.policy.where)
        mask = kept_rows(Source(scores, label=self.run.place), self.policy.where)
        return scores if mask is None else scores.filter(pa.array(mask))

    @cached_property
    def every_score(self) -> Any:
        """The score table of the run, read once."""
        return self.run.scores()

    @staticmethod
    def _attributes(scores: Any) -> list[str]:
        return comparable(scores.column_names)

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that rows have."""
        return [name.removeprefix("m.") for name in self.scores.column_names if name.startswith("m.")]

    @cached_property
    def numbers(self) -> list[Number]:
        """The numbers of the whole run."""
        return [result for result in self.run.results() if isinstance(result, Number)]

    def better(self, metric: str) -> str | None:
        """Which way a metric is better; None: that is not known."""
        known = {direction.name: direction.better for direction in metrics_of(self.run)}
        return known[metric] if metric in known else inferred(metric)

    @property
    def column_notes(self) -> list[str]:
        """Notes that are stored with the attributes that rules name: a slice that was searched for, say."""
        named = [getattr(rule.wants, "by", None) or [] for rule in self.policy.rules]
        names = [name for by in named for name in ([by] if isinstance(by, str) else by)]
        return [Source(self.every_score).note_of(f"attr.{part}") for name in names for part in name.split("*")]

    def need_metric(self, metric: str, *, results: bool = False) -> None:
        """Refuse a metric that the run does not have."""
        known = [*self.metrics, *(number.name for number in self.numbers if results)]
        if metric not in known:
            names = ", ".join(dict.fromkeys(known))
            raise InputError(f"{self.run.place}: no metric {metric!r}{near(metric, known)}; there are {names}")

    def need_attribute(self, by: str) -> None:
        """Refuse an attribute that the run does not have."""
        check_names(self.run.place, [by], self._attributes(self.scores))

    # numbers

    def measured(self, metric: str, by: str | None, group: str | None = None) -> list[Measurement]:
        """A metric of everybody, of each group or of one group, with its intervals."""
        self.need_metric(metric, results=True)
        if metric not in self.metrics:
            return self._of_results(metric, by, group)
        alone = self.estimates(metric, by, self.alpha)
        if group is not None:
            levels = [estimate.group for estimate in alone]
            if group not in levels:
                raise InputError(
                    f"{self.run.place}: {by} has no group {group!r}{near(group, levels)}; there are {', '.join(levels)}"
                )
        chosen = [i for i, e in enumerate(alone) if group in (None, e.group)]
        shared = self.estimates(metric, by, self.alpha / max(len(chosen), 1))
        nouns = self.nouns(metric, by)
        return [
            Measurement(
                _about(metric, by, alone[i].group),
                alone[i].estimate if alone[i].n else math.nan,
                *_bounds(alone[i]),
                *_bounds(shared[i]),
                alone[i].n,
                alone[i].clusters,
                nouns,
                alone[i].metric_kind,
                alone[i].deff,
                by or "",
                "" if by is None else alone[i].group,
                missing=_lacking(alone[i]),
            )
            for i in chosen
        ]

    def estimates(self, metric: str, by: str | None, alpha: float) -> list[Estimate]:
        """The groups of an attribute (without one, everybody) with intervals at a level; never the unknown group."""
        known = [e for e in self._groups(metric, by, alpha) if e.group != UNKNOWN]
        if by is None or ":" in by:  # bins have the order in which they were cut
            return known
        order = in_order(by, [e.group for e in known])
        return sorted(known, key=lambda e: order.index(e.group))

    def unknown(self, metric: str, by: str | None) -> int:
        """How many rows with the metric have no known value of an attribute, and so are in no group of a rule."""
        if by is None or metric not in self.metrics:
            return 0
        return sum(e.n for e in self._groups(metric, by, self.alpha) if e.group == UNKNOWN)

    def nouns(self, metric: str, by: str | None) -> tuple[str, str]:
        """The nouns for the units of a metric, singular and plural."""
        return self.answer(RuleQuestion(by, (metric,))).work.nouns

    def _groups(self, metric: str, by: str | None, alpha: float) -> list[Estimate]:
        work = self.answer(RuleQuestion(by, (metric,))).work
        return [e for e in estimates_at(work, alpha) if e.metric == metric]

    def _of_results(self, name: str, by: str | None, group: str | None) -> list[Measurement]:
        """A number of the whole run, which has one interval, made by its task."""
        here = [n for n in self.numbers if n.name == name and n.attribute == by and (group in (None, n.group))]
        if not here:
            known = sorted({n.attribute or "everybody" for n in self.numbers if n.name == name})
            raise InputError(
                f"{self.run.place}: {name} is not given by {by or 'everybody'}; there is {', '.join(known)}"
            )
        measurements = []
        for n in here:
            noun = n.unit or "rows"
            singular = "person" if noun == "people" else noun.removesuffix("s")
            measurements.append(
                Measurement(
                    _about(name, by, n.group),
                    n.value,
                    n.low,
                    n.high,
                    n.low,
                    n.high,
                    n.n,
                    n.n,
                    (singular, noun),
                    attribute=by or "",
                    group=(n.group or "") if by else "",
                )
            )
        return measurements

    # audits

    @cached_property
    def questions(self) -> list[RuleQuestion]:
        """The questions of the policy's rules about the rows."""
        return questions_of(self.policy, self.metrics, twins=self._twins)

    @property
    def _twins(self) -> bool:
        return bool(self.run.manifest.dataset.card.paired_by)

    def answer(self, question: RuleQuestion) -> AnsweredQuestion:
        """The answer to a question of a rule: one computation for all rules that ask the same."""
        apart = self._twins and not question.compares
        every = [other for other in self.questions if not (apart and other.compares)]
        planned = next((other for other in every if other.answers(question)), question)
        if planned not in self._answered:
            self._answered[planned] = self._compute(planned)
        return self._answered[planned]

    def _compute(self, question: RuleQuestion) -> AnsweredQuestion:
        if question.by is not None:
            self.need_attribute(question.by)
        options: dict[str, Any] = {"comparison": question.comparison, "equity": question.equity, "depth": 1}
        options["twins"] = question.compares
        options |= {"alpha": self.alpha, "adjust": "holm", "seed": int(self.run.manifest["seed"])}
        by, where = [question.by or WHOLE], self.policy.where or None
        table = self.every_score if question.by is not None else with_everyone(self.every_score)
        source = Source(table, label=self.run.place)
        with work_of_run(self.run, source, by, list(question.metrics), where, **options) as work:
            if not question.compares:
                work.estimates()
                return AnsweredQuestion(work)
            return AnsweredQuestion(work, noted(self.run, audited_run(self.run, work, equity=question.equity)))

    def audit(self, by: Sequence[str] | None, metrics: Sequence[str] | None, **settings: Any) -> Audit:
        """An audit of the run at the policy's level: the stored one where it answers the same question."""
        key = repr((by, metrics, sorted(settings.items())))
        if key not in self._audits:
            stored = None if settings else self._stored(by, metrics)
            settings = {"alpha": self.alpha, "seed": int(self.run.manifest["seed"])} | settings
            self._audits[key] = stored or noted(
                self.run, audit_run(self.run, by, metrics, self.policy.where or None, **settings)
            )
        return self._audits[key].without_given()

    def _stored(self, by: Sequence[str] | None, metrics: Sequence[str] | None) -> Audit | None:
        """The audit that the run keeps, where it is of these attributes and metrics, of the same rows and level."""
        if not self.run.store.storage.entries(AUDIT):
            return None
        stored = read_audit(self.run)
        settings = stored.settings
        same = settings.get("alpha", 0.05) == self.alpha and (settings.get("where") or {}) == self.policy.where
        if by is not None or metrics is not None:  # a rule that names groups or metrics uses the usual settings
            same = same and (by is None or list(by) == settings["by"]) and self._is_usual(settings)
            same = same and (metrics is None or own_names(self.run, metrics) == settings["metrics"])
        return stored if same else None

    def _is_usual(self, settings: Mapping[str, Any]) -> bool:
        """Whether the comparison and the smallest difference that matters have their defaults."""
        usual = AuditSettings()
        chosen = [name for name in USUAL if settings.get(name) != getattr(usual, name)]
        own = {metric.name: metric.delta for metric in metrics_of(self.run) if metric.delta}
        deltas = settings["delta"].items()
        named = [name for name, delta in deltas if delta is not None and delta != own.get(name, DELTA)]
        return not chosen and not named and settings.get("adjust_asked") == usual.adjust

    # people

    def people(self, by: str | None) -> dict[str, int] | None:
        """How many different people there are in each group; None where the run does not say who is who."""
        from countenance.auditing.attributes import choose, coded
        from countenance.auditing.units import codes_of

        rows = self.scores
        if "identity" not in rows.column_names or not rows.num_rows:
            return None
        identity = codes_of(rows["identity"].combine_chunks())
        if not (identity >= 0).any():
            return None
        if by is None:
            return {"everybody": len(np.unique(identity[identity >= 0]))}
        self.need_attribute(by)
        source = Source(rows, label=self.run.place)
        choices = choose([by], source, []).attributes
        attributes = [
            coded(attribute, source.read([attribute.column], [])[attribute.column], 10_000) for attribute in choices
        ]
        if len(attributes) > 1 and any(attribute.rows is not None for attribute in attributes):
            raise InputError(f"{by}: people with several values of an attribute cannot be counted by intersections")
        counts: dict[str, int] = {}
        for codes in itertools.product(*(range(len(attribute.levels)) for attribute in attributes)):
            names = [attribute.levels[code] for attribute, code in zip(attributes, codes, strict=True)]
            if UNKNOWN in names:
                continue
            member = np.logical_and.reduce(
                [attribute.codes == code for attribute, code in zip(attributes, codes, strict=True)]
            )
            owner = identity if attributes[0].rows is None else identity[attributes[0].rows]
            counts[" × ".join(names)] = len(np.unique(owner[member & (owner >= 0)]))
        return counts


def _bounds(e: Estimate) -> tuple[float, float]:
    """An interval; NaN where all units of a metric without ends are equal, since nothing is known then."""
    return (math.nan, math.nan) if e.n and e.low == e.high else (e.low, e.high)


def _lacking(e: Estimate) -> Lacking:
    """The missing scores of a group's number."""
    return Lacking(e.missing, e.low_wrong, e.high_wrong, too_many_missing(e))


def too_many_missing(e: Estimate) -> bool:
    """Whether more is missing from a metric without a worst score than can be ignored."""
    return e.missing > TOLERATED * (e.n + e.missing) and math.isnan(e.low_wrong)


def missing(about: str, reason: str) -> RuleCheck:
    """A check that cannot be made."""
    return RuleCheck(about=about, evidence="insufficient", reason=reason)


def _about(metric: str, by: str | None, group: str | None) -> str:
    return metric if by is None else f"{metric} of {by} = {group}"
