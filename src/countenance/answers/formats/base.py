"""What a format is: a name, the files it recognises, and how they are read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.types import Answer, Boxes
from countenance.data.names import ImageNames
from countenance.metrics.readings import CORNERS, Form, Reading, Units, guessed_units

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What the reader of a file is asked for."""

    kind: type[Any]
    """The answer type of the task."""
    names: ImageNames
    """The images of the dataset."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the user said about the file, by the names that its format lists."""
    units: Units | None = None
    """What the numbers of boxes are, where the user said it."""
    categories: Mapping[Any, str] = field(default_factory=dict)
    """What each category number of the dataset's own file shows (see `Dataset.categories`)."""

    def reading(self, form: Form, answers: Iterable[Any]) -> Reading:
        """How the boxes of a file are read: as the user says, else as shares of the picture when they look so."""
        boxes = [answer.xyxy for answer in answers if isinstance(answer, Boxes) and len(answer)]
        return Reading(form, self.units or (guessed_units(np.concatenate(boxes)) if boxes else "pixels"))

    def reading_note(self, reading: Reading, place: str) -> tuple[str, ...]:
        """A sentence where numbers of a format in pixels were taken for shares and nobody had said so."""
        if self.units is not None or reading.units == "pixels":
            return ()
        return (f"{place}: no box has a number above 1.5, so boxes are read as {reading} ({reading.numbers_are})",)


@dataclass(frozen=True)
class TableRows:
    """The rows of a table, whatever it came from, each with its number."""

    place: str
    header: Sequence[str]
    rows: Iterable[tuple[int, Row]]
    unit: str = "row"


@dataclass(frozen=True)
class Predictions:
    """What a file holds: a raw prediction for each image that it names, under the dataset's own sample id."""

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
    """What its class numbers were taken for; empty where it names its classes."""


def unlabelled_note(found: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """A sentence on images not all of whose boxes have a label, in a file that has labels: they have none."""
    bare = [name for name, boxes in found.items() if isinstance(boxes, Boxes) and len(boxes) and boxes.labels is None]
    images = f"1 image ({bare[0]})" if len(bare) == 1 else f"{len(bare)} images ({', '.join(bare[:3])}, …)"
    return (f"{place}: {images} with boxes that have no label; all boxes there count as unlabelled",) if bare else ()


@dataclass(frozen=True)
class Format:
    """A kind of file that predictions come in."""

    name: str
    meaning: str
    kinds: tuple[type[Any], ...]
    detects: Callable[[Path], bool]
    read: Callable[[Path, Wanted], Predictions]
    write: Callable[[Path, Iterable[tuple[str, Answer]]], None] | None = None
    options: Sequence[str] = ()
    read_rows: Callable[[TableRows, Wanted], Predictions | None] | None = None
    """Reads the same columns of a DataFrame; returns None where they are not in this format."""
