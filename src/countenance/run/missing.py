"""Who lacks a score in a run: people of images that failed, and people without an answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countenance.run.run import Run
from countenance.tasks import Metric

ANSWERED = "answered."
"""Prefix of the columns that are 0 for the people of failed images."""
FIRST = ("sample", "subject", "identity")


@dataclass(frozen=True)
class UnansweredPeople:
    """What an audit of a run needs besides its scores.

    `rows` are the people (and images) of failed images, without scores: None where no image failed. `answered` has, by
    metric, the column that is 0 where a score is missing, or "" without such a column.
    """

    rows: Any
    answered: dict[str, str]


def unanswered(
    run: Run,
    types: Mapping[str, Any],
    metrics: Sequence[Metric],
    of_images: Callable[[str], bool],
    are_named: Callable[[], bool],
) -> UnansweredPeople:
    """The people without a score in a run; `types` are its columns' types, `of_images` identifies image metrics.

    `are_named` says whether scores name people; otherwise failures name them by their place in the image, which is no
    identity.
    """
    failed = _failed(run, types, are_named()) if int(run.manifest["failed"]) else []
    columns = {metric.name: _column(metric, types, bool(failed)) for metric in metrics}
    answered = {name: column for name, column in columns.items() if column is not None}
    if not failed:
        return UnansweredPeople(None, answered)
    for metric in metrics:
        column, images = columns[metric.name] or "", of_images(metric.name)
        for row in failed:
            about = (row["subject"] is None) == images and _is_among(metric, row)
            row[column] = 0.0 if about else row.get(column)
    return UnansweredPeople(_table(failed, types, [column for column in answered.values() if column]), answered)


def _column(metric: Metric, types: Mapping[str, Any], failed: bool) -> str | None:
    """The column that says whether a metric was answered, or ""; None if every row without a score is missing."""
    if metric.answered == metric.name:
        return None
    if metric.answered is not None and f"m.{metric.answered}" in types:
        return f"m.{metric.answered}"
    return f"{ANSWERED}{metric.name}" if failed else ""


def _is_among(metric: Metric, row: Mapping[str, Any]) -> bool:
    if metric.among is None:
        return True
    attribute, values = metric.among
    value = row.get(f"attr.{attribute}")
    return value is None or value in values


def _failed(run: Run, types: Mapping[str, Any], named: bool) -> list[dict[str, Any]]:
    """A row for every person of a failed image, and one for the image."""
    rows = []
    for failure in run.failures().to_pylist():
        people = failure["people"] or []
        for place in range(len(people)):
            about = {name: _value(values, place, types[name]) for name, values in failure.items() if name in types}
            rows.append(
                about
                | {"sample": failure["sample"], "subject": str(place), "identity": people[place] if named else None}
            )
        shared = {name: _value(values, 0, types[name]) for name, values in failure.items() if name in types}
        rows.append(shared | {"sample": failure["sample"], "subject": None, "identity": None})
    return rows


def _value(values: Any, place: int, kind: Any) -> Any:
    """One person's value of an attribute, as text in the score table."""
    import pyarrow as pa

    if not isinstance(values, list) or place >= len(values) or values[place] is None:
        return None
    if pa.types.is_list(kind):
        return str(values[place]).split(", ")
    return str(values[place]) if pa.types.is_string(kind) else None


def _table(rows: Sequence[Mapping[str, Any]], types: Mapping[str, Any], flags: Sequence[str]) -> Any:
    import pyarrow as pa

    known = {name: kind for name, kind in types.items() if name in FIRST or name.startswith("attr.") or name in flags}
    kinds = known | {flag: pa.float64() for flag in flags if flag not in types}
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in kinds.items()})
