"""A commented policy made from a run, as a starting point."""

from __future__ import annotations

import json
import math

from countenance.auditing.attributes import choose
from countenance.auditing.directions import words_of
from countenance.auditing.source import Source
from countenance.errors import InputError
from countenance.gating.evidence import RunEvidence
from countenance.gating.policy import Policy
from countenance.run.auditing import default_metrics
from countenance.run.licences import names_in
from countenance.run.run import Run

MOST_METRICS = 3
MOST_ATTRIBUTES = 3


def template(run: Run) -> str:
    """A policy as YAML with the run's number beside every limit; it is valid as it is."""
    evidence = RunEvidence(run, Policy())
    metrics = [name for name in default_metrics(run) if name in evidence.metrics][:MOST_METRICS]
    by = _attributes(run, evidence)
    lines = [
        f"# A policy for `countenance gate`, made from {_comment(run.model_label)} on {_comment(run.dataset_name)}.",
        "# Limits are what this run shows, rounded to the safe side: replace them by what you need.",
        "# A rule passes when its interval keeps the limit and fails when the interval lies beyond it. Otherwise the",
        "# evidence is insufficient, and `insufficient` says what happens: fail, warn or pass. There is no default.",
        "alpha: 0.05",
        "",
        "# Data or weights with other licences do not start (`countenance run --policy`) and do not pass.",
        "licences:",
        f"  allow: {_list(_licences(run))}",
        "",
        "rules:",
    ]
    for metric in metrics:
        lines += _estimates(evidence, metric, by)
        lines += _gaps(metric, by)
    lines += [
        "  # The audit's verdict, as the report gives it.",
        "  - verdict: {forbid: severe}",
        "    insufficient: warn",
    ]
    people = evidence.people(None)
    if people is not None:
        lines += [
            f"  # There are {people['everybody']:,} different people.",
            f"  - people: {{at_least: {people['everybody']}}}",
            "    insufficient: fail",
        ]
    failed = run.manifest.failed
    lines += [
        f"  # {failed:,} of {run.manifest.dataset.images:,} images have no prediction.",
        f"  - failed_images: {{at_most: {run.manifest.max_failures:g}}}",
        "    insufficient: fail",
    ]
    if metrics:
        lines += [
            "  # Needs a baseline: how much worse than that run this one may be, on the same rows.",
            f"  # - regression: {{metric: {_text(metrics[0])}, at_most: 0.01}}",
            "  #   insufficient: warn",
        ]
    return "\n".join(lines) + "\n"


def _estimates(evidence: RunEvidence, metric: str, by: list[str]) -> list[str]:
    overall = next(iter(evidence.measured(metric, None)), None)
    if overall is None or math.isnan(overall.low):
        return []
    key, limit = _limit(evidence.better(metric), overall.low, overall.high)
    lines = [
        f"  # Everybody: {overall.value:.3f} ({overall.low:.3f} to {overall.high:.3f}).",
        f"  - estimate: {{metric: {_text(metric)}, {key}: {limit:g}}}",
        "    insufficient: fail",
    ]
    for name in by[:1]:
        groups = [group for group in evidence.measured(metric, name) if not math.isnan(group.low)]
        if not groups:
            continue
        key, limit = _limit(evidence.better(metric), min(g.low for g in groups), max(g.high for g in groups))
        if key == "at_least" and limit <= 0:
            continue
        seen = [group.value for group in groups]
        lines += [
            f"  # Each group of {_comment(name)}: from {min(seen):.3f} to {max(seen):.3f}.",
            f"  - estimate: {{metric: {_text(metric)}, by: {_text(name)}, {key}: {limit:g}}}",
            "    insufficient: warn",
        ]
    return lines


def _limit(better: str | None, low: float, high: float) -> tuple[str, float]:
    """The limit that a run just meets."""
    return ("at_most", -_down(-high, 2)) if better == "lower" else ("at_least", _down(low, 2))


def _gaps(metric: str, by: list[str]) -> list[str]:
    """Rules on gaps, limited by the usual smallest difference that matters: such a limit is chosen, not measured."""
    lines = []
    for name in by:
        lines += [
            f"  - gap: {{metric: {_text(metric)}, by: {_text(name)}, at_most: 0.05}}",
            "    insufficient: warn",
        ]
    return lines


FIRST = ("skin", "age", "gender", "sex", "pronoun")
"""Words in the names of attributes that a policy lists first: those that describe people."""


def _attributes(run: Run, evidence: RunEvidence) -> list[str]:
    """Skin tone, age and gender where the run has them, then the attributes of its audit."""
    audit = evidence.audit(None, None)
    audited = [str(name) for name in audit.settings.get("by", []) if "*" not in str(name)]
    columns = evidence.scores.column_names
    usable = [name for name in audited if f"attr.{name.partition(':')[0]}" in columns]
    people = [
        next((name for name in [*usable, *_texts(evidence)] if word in words_of(name.partition(":")[0])), None)
        for word in FIRST
    ]
    return list(dict.fromkeys([*filter(None, people), *usable]))[:MOST_ATTRIBUTES]


def _texts(evidence: RunEvidence) -> list[str]:
    """Attributes of text that make groups."""
    source = Source(evidence.scores, label=evidence.run.place)
    try:
        return [choice.name for choice in choose(None, source, []).attributes]
    except InputError:  # no attribute has two groups
        return []


def _licences(run: Run) -> list[str]:
    names: list[str] = []
    for text in (run.manifest.dataset.card.licence, run.manifest.model.licence):
        names += names_in(text) or [text]
    return list(dict.fromkeys(names))


def _down(value: float, digits: int) -> float:
    scale = 10.0**digits
    return math.floor(value * scale + 1e-9) / scale


def _text(text: str) -> str:
    """Text as a YAML scalar; JSON strings are YAML."""
    return json.dumps(text, ensure_ascii=True)


def _list(texts: list[str]) -> str:
    return json.dumps(texts, ensure_ascii=True)


def _comment(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
