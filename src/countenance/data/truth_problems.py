"""Validation of the truths of a dataset: one line per problem, with its place."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from countenance.data.card import DatasetCard
from countenance.data.sample import Dataset, Floats, Sample, Subject, Value
from countenance.data.vocabulary import VOCABULARIES
from countenance.errors import InputError
from countenance.metrics.readings import guessed_units

MOST_OF_A_KIND = 10
"""Problems of a kind that are shown one by one."""
MOST_WORDS = 8
NEARLY_SPELLED = 0.85
TOLERANCE = 0.5
"""A box may extend half a pixel beyond the image, because of rounding."""


@dataclass(frozen=True)
class Problem:
    """One problem of a dataset."""

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
    problems += [Problem("duplicate id", f"sample {name}: this id appears more than once") for name in repeated]
    for sample in dataset:
        problems += _sample_problems(sample, dataset.card)
        if progress:
            progress()
    return problems + list(_mistyped_values(dataset)) + list(_unit_problems(dataset))


def _unit_problems(dataset: Dataset) -> Iterator[Problem]:
    """Problems of boxes whose numbers seem to be shares of the picture: all would lie in its first pixels."""
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
        yield Problem("duplicate id", f"{place}: subject {name} appears more than once")
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


def _value_problems(attributes: Mapping[str, Value], card: DatasetCard, place: str) -> Iterator[Problem]:
    """Values that the dataset's own card does not allow; without a card any value is a group."""
    for name, value in attributes.items():
        declared = card.attributes.get(name)
        allowed = declared.values if declared else None
        if not allowed or value is None:
            continue
        for word in value if isinstance(value, tuple) else (value,):
            if word not in allowed:
                yield Problem(
                    "unknown attribute value",
                    f"{place}: {name} is {word!r}, expected one of {', '.join(allowed)} (card.json)",
                )


def unfamiliar_values(dataset: Dataset) -> list[str]:
    """A sentence for each attribute whose values are not the words that this package has for it.

    >>> from countenance.data.image import ArrayImage
    >>> subjects = (Subject("0", attributes={"gender": "F"}), Subject("1", attributes={"gender": "female"}))
    >>> sample = Sample("a", ArrayImage(np.zeros((2, 2, 3), np.uint8)), 2, 2, subjects)
    >>> unfamiliar_values(Dataset(DatasetCard(name="mine"), [sample]))
    ['gender: F is not among the usual words (female, male); it is a group of its own']
    """
    others = {
        name: [word for word in words if word not in VOCABULARIES[name]] for name, words in _words(dataset).items()
    }
    return [_unfamiliar(name, words, VOCABULARIES[name]) for name, words in others.items() if words]


def _words(dataset: Dataset) -> dict[str, dict[str, list[str]]]:
    """The values, with their places, of attributes whose card lists no words, so that the package's words apply."""
    values: dict[str, dict[str, list[str]]] = {}
    for sample in dataset:
        for about, place in [
            (sample.attributes, f"sample {sample.id}"),
            *((subject.attributes, f"sample {sample.id} subject {subject.id}") for subject in sample.subjects),
        ]:
            for name, value in about.items():
                declared = dataset.card.attributes.get(name)
                if name not in VOCABULARIES or value is None or (declared is not None and declared.values):
                    continue
                for word in value if isinstance(value, tuple) else (value,):
                    values.setdefault(name, {}).setdefault(str(word), []).append(place)
    return values


def _mistyped_values(dataset: Dataset) -> Iterator[Problem]:
    """Values that are almost one of the usual words, where the other values are such words: monk_11 among tones."""
    for name, words in _words(dataset).items():
        known = VOCABULARIES[name]
        others = [word for word in words if word not in known]
        if len(others) * 2 >= len(words):
            continue
        for word in others:
            alike = difflib.get_close_matches(word, known, n=1, cutoff=NEARLY_SPELLED)
            if alike:
                message = f"{name} is {word!r} (did you mean {alike[0]}?), and the others are {', '.join(known)}"
                yield from (Problem("unknown attribute value", f"{place}: {message}") for place in words[word])


def _unfamiliar(name: str, words: Sequence[str], known: Sequence[str]) -> str:
    shown = ", ".join(sorted(words)[:MOST_WORDS]) + (
        f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
    )
    verb, kind = ("is", "it is a group of its own") if len(words) == 1 else ("are", "they are groups of their own")
    return f"{name}: {shown} {verb} not among the usual words ({', '.join(known)}); {kind}"


def grouped(problems: Sequence[Problem]) -> list[str]:
    """Problems as lines: the first of each kind in full, how many like it there are, and a summary.

    >>> grouped([Problem("empty box", "a: empty"), Problem("empty box", "b: empty")])
    ['a: empty', 'b: empty', '2 problems: 2 × empty box']
    """
    if not problems:
        return []
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        kinds.setdefault(problem.kind, []).append(problem.message)
    lines = []
    for kind, messages in kinds.items():
        lines += messages[:MOST_OF_A_KIND]
        if len(messages) > MOST_OF_A_KIND:
            lines.append(f"… and {len(messages) - MOST_OF_A_KIND:,} more of this kind ({kind})")
    counted = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    ranked = sorted(kinds, key=lambda kind: -len(kinds[kind]))
    return [*lines, f"{counted}: " + ", ".join(f"{len(kinds[kind])} × {kind}" for kind in ranked)]
