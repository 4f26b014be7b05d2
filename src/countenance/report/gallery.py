"""The worst failures, with truth and answer drawn; rendered people are shown, real people only on request."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from countenance.answers import Answer, Picture
from countenance.data import Dataset, Sample
from countenance.errors import InputError
from countenance.report import drawing, numbers, pictures
from countenance.report.names import attribute_label, phrase, value_label
from countenance.report.source import ReportSource
from countenance.report.words import DISPARITY
from countenance.run.pictures import is_dataset_of
from countenance.tasks import Task

if TYPE_CHECKING:
    from countenance.report.album import Album

CHOICES = ("auto", "off", "blurred", "full")
SHOWN = 18
PER_IDENTITY = 2
MOST_ROWS = 5000
"""The worst rows among which the gallery is chosen."""
PLAIN = ("skin_tone", "age_group", "gender")
"""Attributes whose values are clear without their name; in a caption they come first."""
MOST_ABOUT = 4
"""The most attributes that a caption names; the rows and the viewer have all."""


@dataclass(frozen=True)
class Failure:
    """One picture of the gallery."""

    sample: str
    picture: Markup
    overlay: Markup
    about: list[tuple[str, str]]
    scores: list[tuple[str, str]]
    words: str
    alt: str
    answered: Markup | None = None
    """The picture that the model made, if its answer is a picture."""


@dataclass(frozen=True)
class Gallery:
    """The pictures, or the sentence that says why there are none."""

    mode: str
    sentence: str
    failures: list[Failure] = field(default_factory=list)
    metric: str = ""
    total: int = 0


def mode_for(choice: str, real_people: bool) -> str:
    """The display of pictures: `auto` shows rendered people but no real ones.

    >>> mode_for("auto", real_people=True), mode_for("auto", real_people=False), mode_for("blurred", True)
    ('off', 'full', 'blurred')
    """
    if choice not in CHOICES:
        raise InputError(f"gallery {choice!r}, expected one of {', '.join(CHOICES)}")
    if choice == "auto":
        return "off" if real_people else "full"
    return choice


def why_off(choice: str) -> str:
    """The reason why no picture is shown."""
    if choice != "auto":
        return "No picture is shown: the gallery is off."
    return (
        'The pictures show real people, so none is shown here. gallery="blurred" or gallery="full" shows them, and the '
        "page then says so."
    )


def gallery(source: ReportSource, album: "Album") -> Gallery:
    """The gallery of a run; without pictures, and with the reason, if the dataset is gone or has changed."""
    mode = album.mode
    if mode == "off":
        return Gallery(mode, album.sentence)
    rows, metric, total = worst_rows(source)
    if not rows:
        return Gallery(mode, "No failure to show.", metric=metric)
    if not album.samples:
        return Gallery(mode, album.sentence, metric=metric)
    chosen = choose(rows, source)
    by_id = album.samples
    answers = _answers(source, {row["sample"] for row in chosen})
    failures = []
    for row in chosen:
        sample = by_id.get(row["sample"])
        if sample is None:
            continue
        try:
            failures.append(failure(row, sample, answers.get(sample.id), source, blurred=mode == "blurred"))
        except InputError:
            continue  # the run's list of failures already has unreadable pictures
    if not failures:
        return Gallery(mode, "The pictures of the failures cannot be read again.", metric=metric, total=total)
    return Gallery(mode, "", failures, metric, total)


def loaded(source: ReportSource) -> tuple[Dataset | None, str]:
    """The dataset of a run loaded again, or the reason why it cannot be shown."""
    try:
        dataset = source.run.dataset()
        problem = has_changed(source, dataset)
    except InputError as error:
        problem = f"the dataset cannot be loaded again ({error})"
    except OSError as error:
        problem = f"the dataset cannot be read again ({error.strerror or error})"
    return (None, problem) if problem else (dataset, "")


def has_changed(source: ReportSource, dataset: Dataset) -> str:
    """The reason why a dataset's pictures must not be shown for a run; empty where they may."""
    return "" if is_dataset_of(source.run, dataset) else "the dataset has changed since this run"


def worst_rows(source: ReportSource) -> tuple[list[dict[str, Any]], str, int]:
    """The rows that failed by the first audited metric, worst first, the metric's name and how many failed.

    For a rate these are all misses, for any other metric the worst tenth of the rows.
    """
    if not source.metrics:
        return [], "", 0
    metric, table = source.metrics[0], source.scores
    column = f"m.{metric.name}" if f"m.{metric.name}" in table.column_names else metric.name
    if column not in table.column_names or metric.better is None:
        return [], metric.name, 0
    sign = 1.0 if metric.better == "lower" else -1.0
    badness = sign * _numbers(table, column)
    known = np.isfinite(badness)
    if not known.any():
        return [], metric.name, 0
    values = badness[known]
    rate = metric.better == "higher" and bool(np.isin(values, (0.0, -1.0)).all())
    cut = 0.0 if rate else max(float(np.quantile(values, 0.9)), float(np.nextafter(values.min(), np.inf)))
    failed = np.flatnonzero(known & (badness >= cut))
    ties = [f"m.{other.name}" for other in source.metrics[1:] if other.better == metric.better]
    if source.task and source.task.curve_of:
        ties.append(f"m.{source.task.curve_of}")
    keys = [np.nan_to_num(_numbers(table, name)[failed] * sign) for name in ties if name in table.column_names]
    order = np.lexsort([*(-key for key in reversed(keys)), -badness[failed]])
    rows: list[dict[str, Any]] = table.take(failed[order][:MOST_ROWS]).to_pylist()
    return [row for row in rows if row.get("sample") is not None], metric.name, len(failed)


def _numbers(table: Any, column: str) -> NDArray[np.float64]:
    return np.asarray(table.column(column).to_numpy(zero_copy_only=False), dtype=np.float64)


def choose(rows: Sequence[dict[str, Any]], source: ReportSource, most: int = SHOWN) -> list[dict[str, Any]]:
    """At most `most` rows, worst first, in turn from the groups of the attribute with the largest disparity.

    No identity is shown more than twice while others remain.
    """
    attribute = _telling_attribute(source)
    queues: dict[str, list[dict[str, Any]]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    later = []
    for row in rows:
        identity = row.get("identity") or row["sample"]
        seen[identity] += 1
        if seen[identity] > PER_IDENTITY:
            later.append(row)
        else:
            queues[str(row.get(f"attr.{attribute}"))].append(row)
    chosen: list[dict[str, Any]] = []
    while len(chosen) < most and any(queues.values()):
        for queue in queues.values():
            if queue and len(chosen) < most:
                chosen.append(queue.pop(0))
    chosen += later[: most - len(chosen)]
    place = {id(row): i for i, row in enumerate(rows)}
    return sorted(chosen, key=lambda row: place[id(row)])


def _telling_attribute(source: ReportSource) -> str:
    groups = [f for f in source.audit.findings if f.kind == "group" and f.depth == 1]
    disparities = [f for f in groups if f.verdict == DISPARITY and math.isfinite(f.effect)]
    if disparities:
        return max(disparities, key=lambda f: abs(f.effect)).attribute
    return source.names.by[0] if source.names.by else ""


def _answers(source: ReportSource, samples: set[str]) -> dict[str, Answer]:
    return dict(source.run.store.answers(samples))


def failure(
    row: dict[str, Any],
    sample: Sample,
    answer: Answer | None,
    source: ReportSource,
    *,
    blurred: bool,
    before: Answer | None = None,
) -> Failure:
    """One picture with truth and answer drawn, and the other model's answer `before` in a comparison."""
    pixels = sample.load()  # a dataset of saved predictions may not know the size
    shown = window_of(row, sample, pixels.shape[1], pixels.shape[0], task=source.task)
    size = max(shown.width, shown.height)
    drawn = drawing.truth_of(sample, drawing.truth_kinds(source.task), size)
    drawn += drawing.answer_of(before, size, "before") + drawing.answer_of(answer, size)
    about = about_row(row, source.names.by)[:MOST_ABOUT]
    telling = [source.task.curve_of] if source.task and source.task.curve_of else [m.name for m in source.metrics]
    scores = [(name, _number(row.get(f"m.{name}"))) for name in telling]
    answered = drawing.answer_words(answer)
    person = ", ".join(f"{name} {value}".strip() for name, value in about)
    alt = "; ".join(part for part in (sample.id, person, f"answered {answered}" if answered else "") if part)
    return Failure(
        sample.id,
        pictures.embedded(pixels, shown, longest=240, blurred=blurred, quality=76),
        drawing.overlay(drawn, shown.view_box, alt),
        about,
        scores,
        answered,
        alt,
        pictures.whole_picture(answer.pixels, blurred=blurred) if isinstance(answer, Picture) else None,
    )


def window_of(
    row: dict[str, Any], sample: Sample, width: int = 0, height: int = 0, *, task: Task | None = None
) -> pictures.Window:
    """The part of a picture that a row is about: around a small person, else the whole picture.

    For tasks about whole people it shows the person, else the face.
    """
    subject = next((s for s in sample.subjects if s.id == row.get("subject")), None)
    boxes = [] if subject is None else [subject.face_box, subject.person_box]
    if task is not None and drawing.about_bodies(task):
        boxes.reverse()
    matters = next((box for box in boxes if box is not None), None)
    size = (width or sample.width, height or sample.height)
    return pictures.window(*size, None if matters is None else matters.tolist())


def about_row(row: dict[str, Any], by: Sequence[str]) -> list[tuple[str, str]]:
    """The person of a row as pairs of attribute and value: tone, age and gender first.

    The attribute is empty where the value needs none.
    """
    by = sorted(by, key=lambda name: PLAIN.index(name) if name in PLAIN else len(PLAIN))
    return [
        ("" if name in PLAIN or phrase(name, value) else attribute_label(name), value_label(name, value))
        for name, value in ((name, _text(row[f"attr.{name}"])) for name in by if f"attr.{name}" in row)
    ]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "(unknown)" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _number(value: float | None) -> str:
    return numbers.NOTHING if value is None else f"{value:.3g}"
