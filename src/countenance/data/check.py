"""Validating every truth of a dataset: one line a problem, with its place."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from countenance.data.card import DatasetCard
from countenance.data.sample import Dataset, Floats, Sample, Subject
from countenance.data.vocabulary import VOCABULARIES
from countenance.errors import InputError
from countenance.metrics.readings import guessed_units

TOLERANCE = 0.5
"""A box may leave the image by half a pixel: rounding, not an error."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a dataset."""

    kind: str
    message: str


def check(dataset: Dataset, progress: Callable[[], None] | None = None) -> list[Problem]:
    """Every problem of a dataset: unreadable images, boxes outside, duplicate ids, unknown attribute values.

    >>> from countenance.data.card import DatasetCard
    >>> check(Dataset(DatasetCard(name="empty"), []))
    [Problem(kind='empty dataset', message='empty: holds no image')]
    """
    problems: list[Problem] = []
    if not len(dataset):
        problems.append(Problem("empty dataset", f"{dataset.name}: holds no image"))
    repeated = [name for name, n in Counter(sample.id for sample in dataset).items() if n > 1]
    problems += [Problem("duplicate id", f"sample {name}: this id stands more than once") for name in repeated]
    for sample in dataset:
        problems += _sample_problems(sample, dataset.card)
        if progress:
            progress()
    return problems + list(_unit_problems(dataset))


def _unit_problems(dataset: Dataset) -> Iterator[Problem]:
    """Boxes whose numbers are shares of the picture would all lie in its first pixels."""
    for name in ("person_box", "face_box"):
        boxes = [box for s in dataset for subject in s.subjects if (box := getattr(subject, name)) is not None]
        if boxes and guessed_units(np.array(boxes)) == "rel":
            shown = ", ".join(f"{v:g}" for v in boxes[0])
            message = f"{dataset.name}: {name} [{shown}] and (almost) all others have no number above 1.5"
            yield Problem("normalised boxes", f"{message}; boxes are x0, y0, x1, y1 in pixels")


def _sample_problems(sample: Sample, card: DatasetCard) -> Iterator[Problem]:
    yield from _image_problems(sample)
    place = f"sample {sample.id}"
    yield from _value_problems(sample.attributes, card, place)
    repeated = [name for name, n in Counter(subject.id for subject in sample.subjects).items() if n > 1]
    for name in repeated:
        yield Problem("duplicate id", f"{place}: subject {name} stands more than once")
    for subject in sample.subjects:
        yield from _subject_problems(subject, sample, card, f"{place} subject {subject.id}")


def _image_problems(sample: Sample) -> Iterator[Problem]:
    try:
        height, width = sample.load().shape[:2]
        wrong_name = sample.image.format_problem()
    except InputError as error:
        missing = "no such image" in str(error)
        yield Problem("missing image" if missing else "unreadable image", f"sample {sample.id}: {error}")
        return
    if wrong_name:
        yield Problem("wrong extension", f"sample {sample.id}: {wrong_name}")
    if (width, height) != (sample.width, sample.height):
        yield Problem(
            "wrong size",
            f"sample {sample.id}: the picture is {width}×{height}, the truth says {sample.width}×{sample.height}",
        )
    import hashlib

    if sample.sha256 and hashlib.sha256(sample.image.read_bytes()).hexdigest() != sample.sha256:
        yield Problem("changed image", f"sample {sample.id}: the picture is not the one whose hash is stored")


def _subject_problems(subject: Subject, sample: Sample, card: DatasetCard, place: str) -> Iterator[Problem]:
    for name, box in (("person_box", subject.person_box), ("face_box", subject.face_box)):
        if box is not None:
            yield from _box_problems(box, name, sample, place)
    if subject.keypoints is not None:
        seen = subject.keypoints[subject.keypoints[:, 2] > 0]
        outside = (seen[:, :2] < -TOLERANCE).any(axis=1)
        outside |= (seen[:, 0] > sample.width + TOLERANCE) | (seen[:, 1] > sample.height + TOLERANCE)
        if outside.any():
            yield Problem("keypoint outside the image", f"{place}: {int(outside.sum())} labelled keypoints lie outside")
    yield from _value_problems(subject.attributes, card, place)


def _box_problems(box: Floats, name: str, sample: Sample, place: str) -> Iterator[Problem]:
    x0, y0, x1, y1 = (float(v) for v in box)
    shown = f"{name} [{x0:g}, {y0:g}, {x1:g}, {y1:g}]"
    if x1 <= x0 or y1 <= y0:
        yield Problem("empty box", f"{place}: {shown} has no area; corners are x0, y0, x1, y1")
    elif min(x0, y0) < -TOLERANCE or x1 > sample.width + TOLERANCE or y1 > sample.height + TOLERANCE:
        yield Problem("box outside the image", f"{place}: {shown} leaves the {sample.width}×{sample.height} picture")


def _value_problems(attributes: object, card: DatasetCard, place: str) -> Iterator[Problem]:
    assert hasattr(attributes, "items")
    for name, value in attributes.items():
        declared = card.attributes.get(name)
        allowed = (declared.values if declared else None) or VOCABULARIES.get(name)
        if allowed is None or value is None:
            continue
        for word in value if isinstance(value, tuple) else (value,):
            if word not in allowed:
                yield Problem(
                    "unknown attribute value",
                    f"{place}: {name} is {word!r}, expected one of {', '.join(allowed)}",
                )
