"""The page of a dataset: its card, its counts, the balance of its attributes, and pictures with their truth."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.data import Dataset, Sample
from countenance.data.balance import balance
from countenance.data.vocabulary import NUMERIC
from countenance.errors import InputError
from countenance.report import drawing, pictures, render
from countenance.report.draw.svg import bars
from countenance.report.names import attribute_label, phrase, value_label
from countenance.report.spread import spread_evenly

TRUTHS = ("person", "face", "keypoints", "landmarks")
FIRST = ("skin_tone", "age_group", "gender")
UNTOLD = ("part", "person", "split", "base", "masked", "role")
QUIET = ("no", "none", "")
"""Values that a caption leaves out: nobody needs to read "glasses none" a hundred times."""


@dataclass(frozen=True)
class Thumbnail:
    """A picture with its truth and attributes."""

    sample: str
    part: str
    picture: Markup
    overlay: Markup
    who: str
    about: str


@dataclass(frozen=True)
class Bar:
    """One value of an attribute, counted."""

    label: str
    n: int
    bar: Markup


def write_sheet(dataset: Dataset, out: Path | str, *, thumbnails: int = 96, faces: bool = False) -> Path:
    """Write the page of a dataset as one self-contained HTML file and return its path.

    Pictures of real people are left out unless `faces` is true; either way the page says so.
    """
    hidden = dataset.card.real_people and not faces
    shown, unreadable = ([], 0) if hidden else _thumbnails(dataset, thumbnails)
    subjects = [subject for sample in dataset for subject in sample.people]
    counts = {
        "images": len(dataset),
        "subjects": len(subjects),
        "identities": len({s.identity for s in subjects if s.identity is not None}),
    }
    text = render.page(
        "sheet.html.j2",
        card=dataset.card.model_dump(),
        counts=counts,
        balance=[(attribute_label(name), _bars(name, values)) for name, values in balance(dataset).items()],
        parts=[(name, list(some)) for name, some in itertools.groupby(shown, key=lambda picture: picture.part)],
        shown=len(shown),
        unreadable=unreadable,
        hidden=hidden,
        faces=faces,
    )
    return render.write(Path(out), text)


def _bars(name: str, values: list[tuple[str, int]]) -> list[Bar]:
    most = max((n for _, n in values), default=0)
    return [Bar(value_label(name, value), n, bars.bar(n, most)) for value, n in values]


def _thumbnails(dataset: Dataset, most: int) -> tuple[list[Thumbnail], int]:
    thumbnails, unreadable = [], 0
    for sample in spread_evenly(dataset.samples, most):
        try:
            thumbnails.append(_thumbnail(sample))
        except InputError:
            unreadable += 1
    return thumbnails, unreadable


def _thumbnail(sample: Sample) -> Thumbnail:
    shown = pictures.window(sample.width, sample.height)
    size = max(sample.width, sample.height)
    drawn = Markup("")
    for subject in sample.subjects:
        drawn += drawing.subject_truth(subject, size, TRUTHS)
    people = len(sample.people)
    who = "no people" if not people else f"{people} people" if people > 1 else _who(sample.people[0].attributes)
    about = [dict(sample.attributes)] + ([dict(sample.people[0].attributes)] if people == 1 else [])
    return Thumbnail(
        sample.id,
        str(sample.attributes.get("part", "")),
        pictures.embedded(sample.load(), shown, longest=240, quality=78),
        drawing.overlay(drawn, shown.view_box, f"Truth of {sample.id}: {who}"),
        who,
        ", ".join(word for person in about for word in _words(person)),
    )


def _who(attributes: Any) -> str:
    known = [value_label(name, str(attributes[name])) for name in FIRST if attributes.get(name) is not None]
    return " · ".join(known) or "one person"


def _words(attributes: dict[str, Any]) -> list[str]:
    labels = []
    for name, value in attributes.items():
        words = value if isinstance(value, tuple) else (value,)
        if value is None or name in NUMERIC or name in (*FIRST, *UNTOLD):
            continue
        if not isinstance(value, float) and all(str(word) in QUIET for word in words):
            continue
        values = [f"{word:g}" if isinstance(word, float) else str(word) for word in words]
        alone = [phrase(name, word) for word in values]
        label = attribute_label(name)
        labels += [
            phrase_of or f"{label} {value_label(name, word)}" for phrase_of, word in zip(alone, values, strict=True)
        ]
    return labels
