"""One task of one model as it is scored: the rows, where the outputs are, and what scoring adds to them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers.formats.fhibe import FIELDS
from countenance.data.reading.entries import read_entries
from countenance.errors import InputError
from countenance.suites.fhibe.groups import AttributeLabels, label
from countenance.suites.fhibe.outputs import FILE, MISSING, Images
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.table import FhibeTable
from countenance.tasks.results import Result

Array = NDArray[np.float64]
Step = Callable[[int], None]


@dataclass(frozen=True)
class Stored:
    """A prediction in the form that runs store, which need not be decoded first."""

    row: Mapping[str, Any]

    def to_row(self) -> dict[str, Any]:
        """The stored form."""
        return dict(self.row)


@dataclass
class FhibeEvaluation:
    """Scores, one for each row of `table`; NaN: this row has no such score."""

    settings: FhibeSettings
    table: FhibeTable
    people: FhibeTable
    """All people of the table's images, its own rows first: the truth that answers are matched with."""
    step: Step = lambda n: None
    """Called as rows are done, for a progress bar."""
    rows: dict[str, Array] = field(default_factory=dict)
    parts: dict[str, dict[str, Array]] = field(default_factory=dict)
    """For body parts: metric, part, scores."""
    results: list[Result] = field(default_factory=list)
    """What belongs to the whole run: curves, average precision, error rates."""
    files: dict[str, Any] = field(default_factory=dict)
    """The published per-row files, made only when asked for."""
    of_group: dict[str, Callable[[NDArray[np.intp]], dict[str, Any] | None]] = field(default_factory=dict)
    """Metrics that only a whole group has (VAL): from its rows to its entry, None for no entry."""
    whole: Callable[[], None] | None = None
    """Adds results and columns that are costly, called only when a run is stored."""
    stored: Callable[[], Iterable[tuple[int, Any]]] = tuple
    """The predictions in the form that runs store, each with a row of its image."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Metrics that were not computed, with the reason."""
    notes: list[str] = field(default_factory=list)
    missing: list[list[int]] = field(default_factory=list)
    """The rows of each image without an answer: counted as not found, and reported."""

    @cached_property
    def folder(self) -> Path:
        """Where model_outputs.json is."""
        return self.settings.outputs

    @property
    def strict(self) -> bool:
        return self.settings.strict

    @property
    def problems(self) -> list[str]:
        """What a reader of the numbers should know."""
        return [*self.table.problems, *self.notes]

    @property
    def computed(self) -> list[str]:
        """The metrics that were computed."""
        return [metric for metric in self.settings.metrics if metric not in self.skipped]

    @cached_property
    def labels(self) -> list[AttributeLabels]:
        """The values that each row has of each attribute."""
        return [label(self.table, name, self.settings.compat) for name in self.settings.attributes]

    def finish(self) -> None:
        """Add what is costly, once."""
        if self.whole is not None:
            self.whole()
            self.whole = None

    def report_missing(self, images: Images, answered: Sequence[bool] | NDArray[np.bool_], path: Path) -> None:
        """Say which images have no answer; none at all is refused."""
        absent = [i for i, there in enumerate(answered) if not there]
        if len(absent) == len(images.names):
            raise InputError(f"{path}: no answer for any of {len(absent):,} images, the first {images.names[0]}")
        if absent:
            rows = images.rows()
            self.missing += [[row for row in rows[i] if row < len(self.table)] for i in absent]
            self.notes.append(
                f"{path}: no answer for {len(absent)} of {len(images.names)} images, the first "
                f"{images.names[absent[0]]}; counted as not found"
            )

    def answers(self, images: Images, kind: type[Any], report: bool = True) -> Iterator[tuple[int, str, Any, Any]]:
        """The number, the place (for messages), the entry and the answer's field of each image that has one.

        Images without an answer are reported in the end, and so are entries that are of no image.
        """
        path, about = self.folder / FILE, FIELDS[kind]
        answered = np.zeros(len(images.names), dtype=bool)
        others: list[str] = []
        matched = 0
        for key, entry in read_entries(path, MISSING):
            if (i := images.find(key)) is None:
                others.append(key)
                continue
            matched += 1
            value = about.read(entry, place := f"{path}: {key}")
            answered[i] |= value is not None or about.null == "answer"
            if value is not None:
                yield i, place, entry, value
        if not matched:
            found = f"none of its {len(others):,} entries is of an image of the dataset" if others else "no entry"
            shown = f" (the first is {others[0]:.200})" if others else ""
            raise InputError(f"{path}: {found}{shown}; expected names such as {images.names[0]}")
        if report:
            self.report_missing(images, answered, path)
            self._report_others(others, path)

    def _report_others(self, others: Sequence[str], path: Path) -> None:
        """Say which entries are of no image; outputs of the whole dataset serve a part of it."""
        if others and self.settings.mini is None and not self.settings.without:
            entries = "1 entry is" if len(others) == 1 else f"{len(others):,} entries are"
            self.notes.append(f"{path}: {entries} of no image of the dataset ({others[0]:.200})")
