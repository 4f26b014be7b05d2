"""What a scorer is given and what it returns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.suites.fhibe.outputs import FILE, Matcher, read_entries
from countenance.suites.fhibe.table import Table
from countenance.suites.fhibe.vocabulary import Compat

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Step = Callable[[int], None]


@dataclass
class Job:
    """One task on one table: where the outputs lie, what to compute and how."""

    task: str
    table: Table
    folder: Path
    """Where model_outputs.json lies."""
    metrics: tuple[str, ...]
    thresholds: Mapping[str, Array]
    compat: Compat = "default"
    options: Mapping[str, Any] = field(default_factory=dict)
    step: Step = lambda n: None
    """Called as rows are done, for a progress bar."""
    everyone: Table | None = None
    """All people of the table's images, its own rows first; None: the table has them all."""
    drawn_outputs: bool = False
    """Whether the outputs were made for the drawn rows of a mini dataset, not for the whole dataset."""

    @property
    def strict(self) -> bool:
        return self.compat == "strict"

    @property
    def people(self) -> Table:
        """All people of the table's images: the truth that answers are matched with."""
        return self.table if self.everyone is None else self.everyone

    def images(self, table: Table | None = None) -> tuple[Matcher, Ints]:
        """The images and the image of each row, of the table or of `people` (whose images are the same)."""
        keys = (self.table if table is None else table).keys()
        matcher = Matcher(keys)
        return matcher, np.array([matcher.index[key] for key in keys], dtype=np.int64)

    def entries(self, matcher: Matcher) -> Iterator[tuple[int, str, Any]]:
        """The number, the place (for messages) and the answer of each image of the table that has one."""
        path = self.folder / FILE
        for name, value in read_entries(path):
            i = matcher.find(name)
            if i is not None:
                yield i, f"{path}: {name}", value


@dataclass
class Scored:
    """A task's scores, one for each row of `table`; NaN: this row has no such score."""

    table: Table
    rows: dict[str, Array] = field(default_factory=dict)
    parts: dict[str, dict[str, Array]] = field(default_factory=dict)
    """For body parts: metric, part, scores."""
    curves: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    """For metrics with thresholds: the thresholds and the share that passes each."""
    files: dict[str, Any] = field(default_factory=dict)
    """The published per-row files, made only when asked for."""
    overall: dict[str, dict[str, float]] = field(default_factory=dict)
    """Numbers that no row has by itself: average precision, equal error rate, with their intervals."""
    of_group: dict[str, Callable[[NDArray[np.intp]], dict[str, Any] | None]] = field(default_factory=dict)
    """Metrics that only a whole group has (VAL): from its rows to its entry, None for no entry."""
    whole: Callable[[], None] | None = None
    """Fills `overall` and `curves` where that is costly, called only when they are wanted."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Metrics that were not computed, with the reason."""
    problems: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Images without an answer: counted as not found, and reported."""

    def report_missing(self, matcher: Matcher, answered: Sequence[bool] | NDArray[np.bool_], path: Path) -> None:
        absent = [name for name, there in zip(matcher.names, answered, strict=True) if not there]
        if absent:
            self.missing.extend(absent)
            self.problems.append(
                f"{path}: no answer for {len(absent)} of {len(matcher.names)} images, the first {absent[0]}; "
                "counted as not found"
            )


def threshold_keys(thresholds: Array, strict: bool) -> dict[str, float]:
    """Thresholds by the name that results give them; two that print alike are one in strict mode, as published.

    >>> threshold_keys(np.array([0.501, 0.504]), True), threshold_keys(np.array([0.501, 0.504]), False)
    ({'0.50': 0.504}, {'0.501': 0.501, '0.504': 0.504})
    """
    short = {f"{value:.2f}": float(value) for value in thresholds}
    if strict or len(short) == len(thresholds):
        return short
    return {f"{value:g}": float(value) for value in thresholds}


def passes(values: Array, keys: Mapping[str, float]) -> Array:
    """For each row the share of the thresholds that its value reaches (NaN reaches none)."""
    levels = np.array(list(keys.values()))
    return np.asarray((values[:, None] >= levels[None, :]).sum(axis=1) / len(levels))


def curve(values: Array, keys: Mapping[str, float]) -> tuple[list[float], list[float]]:
    """The share of rows that reach each threshold."""
    known = values[~np.isnan(values)]
    return list(keys.values()), [float((known >= t).mean()) if known.size else float("nan") for t in keys.values()]


def threshold_files(table: Table, values: Array, keys: Mapping[str, float], name: str) -> dict[str, Any]:
    """The published per-row files of a metric with thresholds."""
    results: dict[str, Any] = {}
    detailed: dict[str, Any] = {}
    names = list(zip(table.text("image_id"), table.text("subject_id"), table.keys(), strict=True))
    numbers = values.tolist()
    index = [str(i) for i in range(len(numbers))]
    for key, threshold in keys.items():
        accept = (values >= threshold).astype(int).tolist()
        results[key] = dict(zip(index, accept, strict=True))
        detailed[key] = {
            "summary": f"{sum(accept) / len(accept):.2f}",
            "individual_results": [
                {"idx": i, "val": v, "accept": a, "image_id": n[0], "subject_id": n[1], "filepath": n[2]}
                for i, (v, a, n) in enumerate(zip(numbers, accept, names, strict=True))
            ],
        }
    return {f"results_{name}_threshold.json": results, f"detailed_results_{name}_threshold.json": detailed}


def require(condition: bool, message: str) -> None:
    """Raise the user's error unless the condition holds."""
    if not condition:
        raise InputError(message)
