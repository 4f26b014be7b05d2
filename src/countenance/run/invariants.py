"""Relations between numbers of one run that must hold, whatever the model: checked whenever a run is written.

A contradiction is an error of the task's code, never of the model. The run keeps its numbers, and its notes say which
of them contradict each other.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.tasks.results import Curve, Line, Matrix, Number, Result

TOLERANCE = 1e-9
RISING = ("CMC", "ROC")
"""Curves whose values do not fall from left to right."""
FALLING = ("DET", "FNIR by FPIR", "miss rate")
"""Curves whose values do not rise from left to right."""
CONTAINED = {"found": "found_at_all", "identified": "identified_at_all"}
"""A 0/1 metric of a row, and the 0/1 metric that is 1 wherever the first one is."""
COMPLEMENTS = (("recall", "miss_rate"), ("found", "missed"))
"""Two metrics of a row that add up to 1 where both are shares."""
MEANS = {"rank-1": ("rank_1", False), "FNIR": ("identified", True), "FPIR": ("false_alarm", False)}
"""A number over everybody, the metric of which it is the mean, and whether it is 1 less that mean."""
_AT_RATE = re.compile(r"^(?P<name>[^@]+)@(?P<key>[A-Za-z]+)=(?P<rate>[0-9.e-]+)$")
_AT_OVERLAP = re.compile(r"^m\.(?P<name>.+)@(?P<overlap>[0-9.]+)$")
_AT_RANK = re.compile(r"^rank-(?P<rank>\d+)$")


class RowChecks:
    """The relations between the metrics of a row, counted while the score table is written block by block.

    >>> import pyarrow as pa
    >>> checks = RowChecks()
    >>> checks.add(pa.table({"m.recall@0.5": [1.0, 0.0], "m.recall@0.75": [1.0, 1.0]}))
    >>> checks.sentences()
    ['recall@0.75 is above recall@0.5 in 1 row']
    """

    def __init__(self) -> None:
        self._broken: dict[str, int] = {}
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, table: Any) -> None:
        """Count the rows of a block that break a relation."""
        columns = {
            name: np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
            for name in table.column_names
            if name.startswith("m.")
        }
        for sentence, broken in _broken_rows(columns):
            self._broken[sentence] = self._broken.get(sentence, 0) + int(np.count_nonzero(broken))
        for name, values in columns.items():
            known = values[~np.isnan(values)]
            total, rows = self._sums.get(name, (0.0, 0))
            self._sums[name] = total + float(known.sum()), rows + known.size

    def mean(self, metric: str) -> float | None:
        """The mean of a metric over the rows that have it; None where no row has."""
        total, rows = self._sums.get(f"m.{metric}", (0.0, 0))
        return total / rows if rows else None

    def sentences(self) -> list[str]:
        """A sentence for each relation that any row breaks."""
        return [
            f"{sentence} in {rows:,} row{'s' if rows > 1 else ''}" for sentence, rows in self._broken.items() if rows
        ]


def _broken_rows(columns: Mapping[str, NDArray[np.float64]]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    by_overlap: dict[str, list[tuple[float, str]]] = {}
    for column in columns:
        if (match := _AT_OVERLAP.match(column)) and match["name"].split(".")[-1] in ("recall", "PCK"):
            by_overlap.setdefault(match["name"], []).append((float(match["overlap"]), column))
    for name, steps in by_overlap.items():
        # a keypoint within a larger distance is found more often, a box with a larger overlap less often
        ordered = sorted(steps, reverse=name.endswith("PCK"))
        for (_, wide), (_, narrow) in itertools.pairwise(ordered):
            yield f"{narrow[2:]} is above {wide[2:]}", columns[narrow] > columns[wide] + TOLERANCE
    for inner, outer in CONTAINED.items():
        if f"m.{inner}" in columns and f"m.{outer}" in columns:
            yield f"{inner} is above {outer}", columns[f"m.{inner}"] > columns[f"m.{outer}"] + TOLERANCE
    for metric, other in COMPLEMENTS:
        if f"m.{metric}" in columns and f"m.{other}" in columns:
            both = np.stack([columns[f"m.{metric}"], columns[f"m.{other}"]])
            shares = np.all((both >= 0) & (both <= 1), axis=0)
            yield f"{metric} and {other} do not add up to 1", shares & (np.abs(both.sum(axis=0) - 1) > TOLERANCE)


def contradictions(results: Iterable[Result], rows: RowChecks | None = None) -> list[str]:
    """A sentence for each relation that the results of a run break; none for a consistent run.

    >>> contradictions([Number(name="rank-1", value=0.9), Number(name="rank-5", value=0.8)])
    ['rank-5 (0.800) is below rank-1 (0.900)']
    """
    every = list(results)
    numbers = [result for result in every if isinstance(result, Number)]
    curves = [result for result in every if isinstance(result, Curve)]
    sentences = [sentence for number in numbers for sentence in _interval(number)]
    sentences += _rates(numbers) + _ranks(numbers, curves)
    sentences += [sentence for curve in curves for sentence in _lines(curve)]
    sentences += _opposite(curves)
    sentences += [sentence for result in every if isinstance(result, Matrix) for sentence in _shape(result)]
    if rows is not None:
        sentences += rows.sentences() + _means(numbers, rows)
    return sentences


def _label(result: Number) -> str:
    return result.name if result.group is None else f"{result.name} of {result.attribute} {result.group}"


def _interval(number: Number) -> Iterator[str]:
    slack = TOLERANCE * max(1.0, abs(number.value))
    if number.low > number.value + slack or number.high < number.value - slack:
        yield f"{_label(number)} ({number.value:.4g}) lies outside its interval [{number.low:.4g}, {number.high:.4g}]"


def _rates(numbers: Sequence[Number]) -> list[str]:
    """Checks of FNMR@FMR=…, FNIR@FPIR=…: an error rate must not rise when more of the other error is allowed."""
    by_name: dict[tuple[str, str, str | None, str | None], list[tuple[float, Number]]] = {}
    for number in numbers:
        if (match := _AT_RATE.match(number.name)) and not np.isnan(number.value):
            key = (match["name"], match["key"], number.attribute, number.group)
            by_name.setdefault(key, []).append((float(match["rate"]), number))
    return [
        f"{_label(looser)} ({looser.value:.4g}) is above {_label(stricter)} ({stricter.value:.4g})"
        for steps in by_name.values()
        for (_, stricter), (_, looser) in itertools.pairwise(sorted(steps, key=lambda step: step[0]))
        if looser.value > stricter.value + TOLERANCE and not (looser.bound or stricter.bound)
    ]


def _ranks(numbers: Sequence[Number], curves: Sequence[Curve]) -> list[str]:
    """Checks that rank-k rates do not fall with k, and that the curve over ranks has their values."""
    ranks = {int(match["rank"]): number for number in numbers if (match := _AT_RANK.match(number.name))}
    ordered = [ranks[rank] for rank in sorted(ranks) if not np.isnan(ranks[rank].value)]
    sentences = [
        f"{more.name} ({more.value:.3f}) is below {fewer.name} ({fewer.value:.3f})"
        for fewer, more in itertools.pairwise(ordered)
        if more.value < fewer.value - TOLERANCE
    ]
    for line in (line for curve in curves if curve.name == "CMC" for line in curve.lines if not line.label):
        for rank, share in zip(line.x, line.y, strict=False):  # lengths have their own check
            number = ranks.get(int(rank))
            if number is not None and abs(number.value - share) > TOLERANCE:
                sentences.append(f"{number.name} is {number.value:.4f} and the CMC at rank {int(rank)} is {share:.4f}")
    return sentences


def _lines(curve: Curve) -> Iterator[str]:
    for line in curve.lines:
        label = f"{curve.name} ({line.label})" if line.label else curve.name
        if any(len(values) not in (0, len(line.x)) for values in (line.low, line.high)) or len(line.y) != len(line.x):
            yield f"{label}: its line, band and axis have different lengths"
            continue
        x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
        steps = np.diff(y[np.argsort(x, kind="stable")])
        if curve.name in RISING and np.any(steps < -TOLERANCE):
            yield f"{label} falls somewhere from left to right"
        if curve.name in FALLING and np.any(steps > TOLERANCE):
            yield f"{label} rises somewhere from left to right"
        if line.low and (np.any(np.asarray(line.low) > y + TOLERANCE) or np.any(np.asarray(line.high) < y - TOLERANCE)):
            yield f"{label} leaves its own band"


def _opposite(curves: Sequence[Curve]) -> list[str]:
    """Checks that ROC is 1 − DET, point for point."""
    by_name: dict[str, dict[str, Line]] = {
        curve.name: {line.label: line for line in curve.lines} for curve in curves if curve.name in ("DET", "ROC")
    }
    sentences = []
    for label, det in by_name.get("DET", {}).items():
        roc = by_name.get("ROC", {}).get(label)
        if roc is None or det.x != roc.x:
            continue
        # a rate of 0 is drawn at the DET curve's bound
        distance = np.abs(np.asarray(det.y) + np.asarray(roc.y) - 1)[np.asarray(roc.y) < 1]
        if distance.size and distance.max() > TOLERANCE:
            sentences.append(f"ROC and DET{f' ({label})' if label else ''} do not add up to 1")
    return sentences


def _shape(matrix: Matrix) -> Iterator[str]:
    shape = (len(matrix.rows), len(matrix.columns))
    for what, cells in (("values", matrix.values), ("counts", matrix.counts), ("low", matrix.low)):
        if cells and (len(cells) != shape[0] or any(len(row) != shape[1] for row in cells)):
            yield f"{matrix.name}: {what} are not {shape[0]} × {shape[1]}"


def _means(numbers: Sequence[Number], rows: RowChecks) -> list[str]:
    """Results over everybody that should be the mean of a column and are not, as sentences."""
    by_name = {number.name: number for number in numbers if number.group is None and not number.bound}
    sentences = []
    for name, (metric, opposite) in MEANS.items():
        number, mean = by_name.get(name), rows.mean(metric)
        if number is None or mean is None or np.isnan(number.value):
            continue
        share = 1 - mean if opposite else mean
        if abs(number.value - share) > TOLERANCE:
            sentences.append(f"{name} is {number.value:.4f} but the mean of the rows' {metric} is {share:.4f}")
    return sentences


def notes_on_contradictions(results: Iterable[Result], rows: RowChecks) -> list[str]:
    """The note of a run on its own numbers that contradict each other, or nothing."""
    sentences = contradictions(results, rows)
    if not sentences:
        return []
    return [
        f"numbers of this run contradict each other: {'; '.join(sentences)}. This is an error in the code of the task, "
        "not of the model: do not publish these numbers, and report it"
    ]
