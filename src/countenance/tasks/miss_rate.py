"""The log-average miss rate over a whole run: of everybody, of each group, and of people of some heights.

People and boxes in ignored regions (`countenance.tasks.ignored_regions`) are not counted; for a range of heights,
people outside it are such regions too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample
from countenance.metrics.miss_rate import (
    FALSE_POSITIVES,
    IGNORED,
    SLACK,
    MissRate,
    assigned,
    heights,
    log_average_miss_rates,
)
from countenance.tasks.ignored_regions import ignored_boxes
from countenance.tasks.precision import REPLICATES, Group, collected
from countenance.tasks.reduce import Reduced, Shard, State, Whole
from countenance.tasks.results import Axis, Curve, Line, Number, Result
from countenance.tasks.states import Spool

Array = NDArray[np.float64]
Heights = tuple[float, float]
ALL: Heights = (0.0, np.inf)
NAME = "log_average_miss_rate"
MEANING = "share of people missed, averaged geometrically over nine numbers of false positives per image, .01 to 1"


def miss_rate_state(shard: Shard, strata: Sequence[Heights]) -> State:
    """The state for the miss rates of some ranges of heights; the arrays of the k-th begin with its number."""
    images = [(_people(sample), ignored_boxes(sample), answer) for sample, answer in shard.answered()]
    return {f"{k}.{name}": values for k, limits in enumerate(strata) for name, values in _state(images, limits).items()}


def _people(sample: Sample) -> Array:
    boxes = [subject.person_box for subject in sample.people if subject.person_box is not None]
    return np.array(boxes, dtype=np.float64).reshape(len(boxes), 4)


def _state(images: Iterable[tuple[Array, Array, Boxes]], limits: Heights) -> dict[str, NDArray[Any]]:
    """The state of one range, in the form that `countenance.tasks.precision.collected` reads."""
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in ("score", "truth", "image", "owner", "counted")}
    before = number = 0
    for number, (truth, regions, answer) in enumerate(images, 1):
        counted = (heights(truth) >= limits[0]) & (heights(truth) < limits[1])
        tall = heights(answer.xyxy)
        in_range = (tall >= limits[0] / SLACK) & (tall < limits[1] * SLACK)
        boxes, scores = answer.xyxy[in_range], answer.scores[in_range]
        person = assigned(truth[counted], np.concatenate([regions, truth[~counted]]), boxes, scores)
        rows = np.append(np.flatnonzero(counted) + before, -1)  # a true box's number among all of the state
        judged = person != IGNORED
        parts["score"].append(scores[judged])
        parts["truth"].append(rows[person[judged]].astype(np.int32))
        parts["image"].append(np.full(int(judged.sum()), number - 1, np.int32))
        parts["owner"].append(np.full(len(truth), number - 1, np.int32))
        parts["counted"].append(counted)
        before += len(truth)
    kinds = {"score": np.float64, "truth": np.int32, "image": np.int32, "owner": np.int32, "counted": bool}
    joined = {name: np.concatenate([np.zeros(0, kinds[name]), *arrays]) for name, arrays in parts.items()}
    return joined | {"images": np.array([number])}


def miss_rates(state: State, whole: Whole, strata: Sequence[Heights]) -> Reduced:
    """The log-average miss rate of each range of heights, of everybody and of each group, and everybody's curves."""
    results: list[Result] = []
    lines: list[Line] = []
    for k, limits in enumerate(strata):
        with collected(_of_stratum(state, k), whole) as (detections, groups):
            if detections is None:
                continue
            rates = log_average_miss_rates(detections, replicates=REPLICATES, seed=whole.seed)
        results += _numbers(rates, groups, limits)
        lines.append(Line(label=in_words(limits), x=FALSE_POSITIVES.tolist(), y=rates[0].curve.tolist()))
    if lines:
        meaning = "share of people missed, at nine numbers of false positives per image"
        x, y = Axis(label="false positives per image", log=True), Axis(label="share of people missed")
        results.append(Curve(name="miss rate", meaning=meaning, x=x, y=y, lines=lines))
    return Reduced(results)


def _of_stratum(state: State, k: int) -> Iterator[State]:
    prefix = f"{k}."
    for part in state.states() if isinstance(state, Spool) else [state]:
        yield {name.removeprefix(prefix): values for name, values in part.items() if name.startswith(prefix)}


def in_words(limits: Heights) -> str:
    """A range of heights in words.

    >>> in_words(ALL), in_words((50, np.inf)), in_words((50, 75)), in_words((0, 50))
    ('everybody', 'height 50 or more', 'height 50 to 75', 'height below 50')
    """
    low, high = limits
    if limits == ALL:
        return "everybody"
    if np.isinf(high):
        return f"height {low:g} or more"
    return f"height below {high:g}" if low == 0 else f"height {low:g} to {high:g}"


def _numbers(rates: Sequence[MissRate], groups: Sequence[Group], limits: Heights) -> list[Result]:
    name = NAME if limits == ALL else f"{NAME} ({in_words(limits)})"
    about: list[tuple[str | None, str | None]] = [(None, None), *groups]
    return [
        Number(
            name=name,
            meaning=MEANING,
            value=rate.value,
            low=rate.low,
            high=rate.high,
            n=rate.n,
            unit="boxes",
            better="lower",
            attribute=attribute,
            group=group,
        )
        for (attribute, group), rate in zip(about, rates, strict=True)
    ]
