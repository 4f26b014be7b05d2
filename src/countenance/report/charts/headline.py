"""The numbers of the whole run, with their intervals."""

from dataclasses import dataclass

from countenance.auditing import Estimate
from countenance.report import numbers, words
from countenance.report.harms import shown_kind
from countenance.report.metric_words import words_of
from countenance.report.source import Audited
from countenance.tasks import Number


@dataclass(frozen=True)
class Headline:
    """A number of the whole run."""

    name: str
    meaning: str
    value: str
    interval: str
    n: str
    key: tuple[str, str, str] | None = None
    """The metric whose rows the number is computed from; None if the run has no metric."""


def _size(estimate: Estimate, source: Audited) -> str:
    """How many rows, and how many people or images, if that differs."""
    rows = numbers.plural(estimate.n, "row")
    noun, many = words.cluster_noun(source.audit.settings)
    return rows if estimate.clusters == estimate.n else f"{rows} of {numbers.plural(estimate.clusters, noun, many)}"


def _counted(n: int, unit: str) -> str:
    """The count behind a number; for a similarity, the number of comparisons.

    >>> _counted(19437, "cosine similarity"), _counted(1, "images"), _counted(3, "impostor pairs")
    ('19,437 comparisons', '1 image', '3 impostor pairs')
    """
    return numbers.plural(n, "comparison" if unit in ("cosine similarity", "distance") else unit.removesuffix("s"))


def headline_numbers(source: Audited) -> list[Headline]:
    """The audited metrics over everybody, then the task's own numbers of the whole run."""
    lines = []
    for metric in source.metrics:
        if estimate := source.overall.get(metric.name):
            wording = words_of(metric, source.task)
            kind = shown_kind(estimate.metric_kind, wording)
            lines.append(
                Headline(
                    wording.noun,
                    (wording.meaning or metric.meaning) + (" (lower is better)" if metric.better == "lower" else ""),
                    numbers.value(estimate.estimate, kind),
                    numbers.span(estimate.low, estimate.high, kind),
                    _size(estimate, source),
                    (metric.name, "", ""),
                )
            )
    for row in source.results:
        if isinstance(row, Number) and row.group is None:
            interval, value = numbers.span(row.low, row.high), f"{row.bound} {numbers.value(row.value)}".strip()
            meaning = f"{row.meaning} ({row.note})" if row.note else row.meaning
            n = _counted(row.n, row.unit or "images")
            everybody = (source.metrics[0].name, "", "") if source.metrics else None
            lines.append(Headline(row.name, meaning, value, interval, n, everybody))
    return lines
