"""The definition of a format: a name, the files it recognises, and how they are read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.base import Answer
from countenance.answers.boxes import Boxes
from countenance.answers.shapes import Keypoints, Masks
from countenance.answers.values import Embedding
from countenance.data.names import ImageNames
from countenance.metrics.readings import CORNERS, Reading, guessed_units
from countenance.settings.box_words import Form, Units

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PredictionRequest:
    """What the reader of a prediction file should return.

    >>> request = PredictionRequest(Boxes, ImageNames(["images/s1.png", "images/s2.png"]))
    >>> request.names.find("s1"), request.names.find("s3")
    ('images/s1.png', None)
    """

    kind: type[Any]
    """The answer type of the task."""
    names: ImageNames
    """The images of the dataset."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the user specified about the file, by the names of the format's options."""
    units: Units | None = None
    """The units of the boxes, where the user named them."""
    categories: Mapping[Any, str] = field(default_factory=dict)
    """What each category number of the dataset's own file shows (see `Dataset.categories`)."""
    people: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """For each image the ids of its people, in each order in which a file may list its answers for them."""

    def reading(self, form: Form) -> Reading:
        """How the boxes of a file are read: in pixels unless the user says otherwise."""
        return Reading(form, self.units or "px")


def units_of(answers: Iterable[Any]) -> Units:
    """The likely units of boxes: shares of the picture if (almost) no number is above 1.5, else pixels."""
    boxes = [answer.xyxy for answer in answers if isinstance(answer, Boxes) and len(answer)]
    return guessed_units(np.concatenate(boxes)) if boxes else "px"


@dataclass(frozen=True)
class TableRows:
    """The rows of a table of any format, each with its number."""

    place: str
    header: Sequence[str]
    rows: Iterable[tuple[int, Row]]
    unit: str = "row"


@dataclass(frozen=True)
class Predictions:
    """The content of a file: a raw prediction for each image that it names, by the sample id of the dataset.

    >>> Predictions("mine.boxes", "lines", {"s00000": Boxes([[16, 13, 39, 36]])}).by_id["s00000"].xyxy.tolist()
    [[16.0, 13.0, 39.0, 36.0]]
    """

    place: str
    format: str
    by_id: Mapping[str, Any]
    absent: str | None = None
    """What an image without an entry means: a sentence when it counts as a prediction of nothing, None when it is
    a failure."""
    empty: Callable[[], Any] | None = None
    """The prediction of an image without an entry, where that counts as a prediction of nothing."""
    notes: tuple[str, ...] = ()
    """What a reader of the numbers should know about the file."""
    reading: Reading = CORNERS
    """What the four numbers of its boxes are; they are kept as the file has them."""
    classes: Mapping[int, str] = field(default_factory=dict)
    """How its class numbers were read; empty if it names its classes."""
    files: tuple[Path, ...] = ()
    """Further files that hold its predictions, such as pictures."""


EMPTY: Mapping[type[Any], Callable[[], Any]] = {
    Boxes: lambda: Boxes([]),
    Masks: lambda: Masks([]),
    Keypoints: lambda: Keypoints([]),
    Embedding: lambda: Embedding(None),
}
"""The prediction of an image that a file does not name, for kinds where that means that nothing was found."""


def by_image(
    entries: Iterable[tuple[str, Any]], request: PredictionRequest, place: str
) -> tuple[dict[str, list[Any]], str | None]:
    """The entries of each image of the dataset, and a sentence on names that match no image."""
    result: dict[str, list[Any]] = {}
    unknown = []
    for name, entry in entries:
        image = request.names.find(name)
        if image is None:
            unknown.append(name)
        else:
            result.setdefault(image, []).append(entry)
    return result, request.names.unmatched(unknown, place)


def absence(answers: Mapping[str, Any], request: PredictionRequest, place: str, means: str) -> str | None:
    """A sentence on images without an entry, for kinds that have an empty prediction; `means` is how they count."""
    left, total = len(request.names.ids) - len(answers), len(request.names.ids)
    return f"{place}: {left} of {total} images have {means}" if left and request.kind in EMPTY else None


@dataclass(frozen=True)
class Format:
    """A file format of saved predictions.

    `detects` says whether a file is in this format, `read` reads it; `kinds` are the answer types that it can hold.

    >>> nothing = lambda path, request: Predictions(str(path), "lines", {})
    >>> lines = Format("lines", "a line for each box", (Boxes,), lambda path: path.suffix == ".boxes", nothing)
    >>> lines.detects(Path("mine.boxes"))
    True
    """

    name: str
    meaning: str
    kinds: tuple[type[Any], ...]
    detects: Callable[[Path], bool]
    read: Callable[[Path, PredictionRequest], Predictions]
    write: Callable[[Path, Iterable[tuple[str, Answer]]], None] | None = None
    options: Sequence[str] = ()
    read_rows: Callable[[TableRows, PredictionRequest], Predictions | None] | None = None
    """Reads the same columns of a DataFrame; returns None where they are not in this format."""
