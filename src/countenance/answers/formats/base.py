"""What a format is: a name, the files it recognises, and how they are read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.answers.formats.names import ImageNames
from countenance.answers.types import Answer
from countenance.metrics.readings import CORNERS, Reading


@dataclass(frozen=True)
class Wanted:
    """What the reader of a file is asked for."""

    kind: type[Any]
    """The answer type of the task."""
    names: ImageNames
    """The images of the dataset."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the user said about the file: `box_format`, `units`, `classes`, …"""


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
