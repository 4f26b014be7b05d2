"""Groups that are intervals of a number (`20-29`, `[18, 30)`, `61+`), so that they can be joined at cut points."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from countenance.auditing.table import UNKNOWN, Array, is_text
from countenance.errors import InputError
from countenance.words import is_missing

_NUMBER = r"(\d+(?:\.\d+)?)"
_RANGE = re.compile(rf"([\[(]?)\s*{_NUMBER}\s*(?:-|–|—|_|,|\.\.|to|bis)\s*(?:{_NUMBER}|\+|inf|∞)\s*([\])]?)")
_BELOW = re.compile(rf"(?:<|under|below|less than|younger than)\s*{_NUMBER}")
_UP_TO = re.compile(rf"(?:<=|≤|up to)\s*{_NUMBER}|{_NUMBER}\s*(?:or|and) (?:younger|under|less|below)")
_FROM = re.compile(
    rf"(?:>=|≥|>|over|above|more than|older than|from)\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:\+|(?:or|and) (?:older|over|more|above|up))"
)
_EXACT = re.compile(_NUMBER)
_YEARS = re.compile(r"\s*(?:years? old|years?|yrs?\.?|y/?o)$")


class Interval(NamedTuple):
    """Numbers from `low` on and below `high`."""

    low: float
    high: float


def interval_of(text: str) -> Interval | None:
    """The interval in a group's name; None without one.

    >>> interval_of("20-29"), interval_of("[18, 30)"), interval_of("more than 70")
    (Interval(low=20.0, high=30.0), Interval(low=18.0, high=30.0), \
Interval(low=70.0, high=inf))
    >>> interval_of("0_17"), interval_of("under 18"), interval_of("0.5 to 1.5"), interval_of("young")
    (Interval(low=0.0, high=18.0), Interval(low=-inf, high=18.0), \
Interval(low=0.5, high=1.5), None)
    """
    plain = _YEARS.sub("", text.strip().casefold())
    whole = "." not in plain.replace("..", "")
    step = 1.0 if whole else 0.0
    if match := _RANGE.fullmatch(plain):
        opening, low, high, closing = match.groups()
        start = float(low) + (step if opening == "(" else 0.0)
        end = math.inf if high is None else float(high) + (0.0 if closing == ")" else step)
        return Interval(start, end) if start < end else None
    if match := _BELOW.fullmatch(plain):
        return Interval(-math.inf, float(match[1]))
    if match := _UP_TO.fullmatch(plain):
        return Interval(-math.inf, float(match[1] or match[2]) + step)
    if match := _FROM.fullmatch(plain):
        return Interval(float(match[1] or match[2]), math.inf)
    if match := _EXACT.fullmatch(plain):
        return Interval(float(match[1]), float(match[1]) + step)
    return None


def intervals_of(levels: Sequence[str]) -> dict[str, Interval] | None:
    """The interval of each group, none of which overlap; None where a group is not an interval or two overlap.

    Neighbours that are written with one shared end (18-30, 30-40) share it: it belongs to the second.

    >>> intervals_of(["30-40", "18-30"])["18-30"].high, intervals_of(["18-30", "20-40"]), intervals_of(["young"])
    (30.0, None, None)
    """
    known: dict[str, Interval] = {}
    for level in levels:
        interval = interval_of(level)
        if interval is None:
            return None
        known[level] = interval
    starts = {interval.low for interval in known.values()}
    for level, (low, high) in known.items():
        if low < high - 1 and high - 1 in starts:
            known[level] = Interval(low, high - 1)
    ordered = sorted(known.values())
    overlap = any(first.high > second.low for first, second in itertools.pairwise(ordered))
    return None if overlap or not known else known


def lows_of(name: str, column: Any, cuts: Sequence[float]) -> Array | None:
    """The low end of each row's interval, NaN where it is not known; None if a column's values are not intervals.

    A cut point inside an interval is refused with those that are possible.

    >>> import pyarrow as pa
    >>> lows_of("age", pa.array(["3-9", None, "10-19"]), [10])
    array([ 3., nan, 10.])
    >>> lows_of("age", pa.array(["10-19", "20-29"]), [18])
    Traceback (most recent call last):
    countenance.errors.InputError: attribute 'age': its values are groups (10-19, 20-29), and 18 lies inside 10-19; \
cut points at 10, 20, 30 keep the groups whole
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_text(kind):
        return None
    levels = column.unique().to_pylist()
    known = [level for level in levels if level is not None and level != UNKNOWN and not is_missing(level)]
    intervals = intervals_of(known)
    if intervals is None:
        return None
    _check_cuts(name, intervals, cuts)
    lows = [intervals[level].low if level in intervals else math.nan for level in levels]
    places = pc.index_in(column, value_set=pa.array(levels, kind))
    ends: Array = np.array(lows, dtype=float)[np.asarray(places)]
    return ends


def _check_cuts(name: str, intervals: dict[str, Interval], cuts: Sequence[float]) -> None:
    inside = [
        f"{cut:g} lies inside {level}" for cut in cuts for level, (low, high) in intervals.items() if low < cut < high
    ]
    if not inside:
        return
    groups = ", ".join(sorted(intervals, key=lambda level: intervals[level]))
    ends = sorted({end for interval in intervals.values() for end in interval if math.isfinite(end)})
    raise InputError(
        f"attribute {name!r}: its values are groups ({groups}), and {', '.join(inside)}; cut points at "
        f"{', '.join(f'{end:g}' for end in ends)} keep the groups whole"
    )
