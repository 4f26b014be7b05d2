"""The regression rule: a run against a baseline, on the rows that both have."""

from __future__ import annotations

import math
from typing import Any

from countenance.audit import audit, paired_tables
from countenance.audit.source import Source
from countenance.audit.units import nouns as unit_nouns
from countenance.errors import InputError
from countenance.gating import kinds
from countenance.gating.bounds import Limits, Measured
from countenance.gating.evidence import Evidence, missing
from countenance.gating.outcome import Check
from countenance.run.auditing import rows_about
from countenance.run.run import Run

NEW, OLD = "this run", "baseline"
PAIR = ["sample", "subject"]


def same_question(run: Run, baseline: Run) -> None:
    """Refuse a baseline that is about something else: another task, other data, other pixels."""
    one, two = run.manifest, baseline.manifest
    for what, new, old in (
        ("task", one.task, two.task),
        ("task options", one.options, two.options),
        ("dataset", one.dataset.card.name, two.dataset.card.name),
        ("data (fingerprint)", one.dataset.fingerprint, two.dataset.fingerprint),
        ("image decoder", one.decoder, two.decoder),
    ):
        if new != old:
            raise InputError(
                f"{baseline.place}: not comparable with {run.place}: another {what} ({_short(old)}, not "
                f"{_short(new)}); take a baseline that was evaluated on the same data"
            )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:12]}…"


def paired_changes(rule: kinds.Regression, evidence: Evidence, baseline: Run) -> list[Check]:
    """A check for everybody, or for each group."""
    same_question(evidence.run, baseline)
    column = f"m.{rule.metric}"
    old = baseline.scores()
    if column not in old.column_names:
        raise InputError(f"{baseline.place}: no metric {rule.metric!r}; the baseline has other metrics than this run")
    table = paired_tables(
        rows_about(old, [rule.metric]), rows_about(evidence.scores, [rule.metric]), PAIR, names=(OLD, NEW)
    )
    groups: list[str | None] = [None]
    if rule.by is not None:
        groups = [e.group for e in evidence.estimates(rule.metric, rule.by, evidence.alpha) if e.n]
    return [_check(rule, evidence, table, group, evidence.alpha / len(groups)) for group in groups]


def _check(rule: kinds.Regression, evidence: Evidence, table: Any, group: str | None, shared: float) -> Check:
    where = dict(evidence.policy.where) | ({} if group is None else {str(rule.by): [group]})
    about = rule.metric if group is None else f"{rule.metric} of {rule.by} = {group}"

    def found(alpha: float) -> Any:
        return audit(
            Source(table, label=evidence.run.place), by=["model"], metrics=[rule.metric], comparison="paired",
            pair=PAIR, alpha=alpha, where=where, adjust="holm", min_n=1, delta={rule.metric: max(rule.at_most, 1e-9)},
        )  # fmt: skip

    made = found(evidence.alpha)
    (f,) = made.findings
    (s,) = (found(shared) if shared != evidence.alpha else made).findings
    flip = -1.0 if f.group == OLD else 1.0  # new − old
    worse = flip * (1.0 if evidence.better(rule.metric) == "lower" else -1.0)  # how much worse the new one is
    if math.isnan(f.diff_low):
        return missing(about, f.reason)
    ends = sorted((worse * f.diff_low, worse * f.diff_high))
    ends_shared = sorted((worse * s.diff_low, worse * s.diff_high))
    measured = Measured(
        f"{about}, worse by", worse * f.difference, ends[0], ends[1], ends_shared[0], ends_shared[1], f.n, f.clusters,
        unit_nouns(made.settings.get("ways", [])),
    )  # fmt: skip
    return measured.check(Limits(at_most=rule.at_most), evidence.alpha)
