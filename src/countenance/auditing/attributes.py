"""The attributes to compare: by name, numbers cut into bins, chosen intersections; and those left out, with reasons.

`"age:18,40,65"` cuts a column of numbers, or joins groups that are intervals (`20-29`) where no cut point divides one;
`"age:quantiles4"` makes four groups of about equal size; `"skin_tone*masked"` is an intersection.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countenance.auditing.interval_groups import lows_of
from countenance.auditing.source import Source
from countenance.auditing.table import Array, Attribute, attribute, numbers_of
from countenance.errors import InputError
from countenance.words import plain_float

NEVER = ("split", "part")
"""Columns that say how data was divided, not who is in it."""
IN_PAIRS = "twins: compared in pairs with their base"
MOST_VALUES = 30
_BINS = re.compile(r"^(?P<column>.+):(?P<cuts>[^:]+)$")
_QUANTILES = re.compile(r"^quantiles(\d+)$")


class NothingToCompare(InputError):
    """No attribute was named, and no column of the table makes groups."""


@dataclass(frozen=True)
class Choice:
    """One attribute to compare by: a column, whole or cut into bins."""

    name: str
    column: str
    cuts: tuple[float, ...] = ()
    quantiles: int = 0
    asked_as: str = field(default="", compare=False)
    """The name under which it was requested, if it differs: `age` for groups of ages."""


@dataclass(frozen=True)
class Chosen:
    """The attributes of an audit, the named intersections, and the attributes that are not compared."""

    attributes: list[Choice]
    single: list[int]
    """Which attributes are compared by themselves; the others only as parts of a named intersection."""
    crosses: list[tuple[int, ...]]
    not_compared: list[dict[str, str]]


def split_names(text: str) -> list[str]:
    """A list written with commas; the cut points of a bin stay together.

    >>> split_names("gender, age:18,40,65, skin_tone*masked")
    ['gender', 'age:18,40,65', 'skin_tone*masked']
    """
    names: list[str] = []
    for part in (piece.strip() for piece in text.split(",")):
        if names and _number(part) is not None and ":" in names[-1].rpartition("*")[2]:
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    return names


def choose(
    by: Sequence[str] | None,
    source: Source,
    taken: Sequence[str],
    paired: Collection[str] = (),
    option: str = "by",
    most_quantiles: int = MOST_VALUES,
) -> Chosen:
    """Find the attributes that were named, or, if none was named, every column that can be an attribute.

    `taken` are columns with another role: metrics, clusters, pairs. `paired` are columns whose values are compared only
    in pairs of twins. `option` is what errors call the list of names. `most_quantiles` limits the bins of equal size.
    """
    known = _attribute_columns(source, taken)
    in_pairs = [{"attribute": bare(name), "why": IN_PAIRS} for name in source.names if name in paired]
    if by is None:
        return _every([name for name in known if name not in paired], source, in_pairs)
    listed = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    if not listed:
        raise InputError(f"{option}: nothing named, expected at least one column")
    listed = [text for text in listed if not {text, f"attr.{text}"} & set(paired)]
    known = [name for name in known if name not in paired]
    attributes: dict[Choice, int] = {}
    single: list[int] = []
    crosses: list[tuple[int, ...]] = []
    for text in listed:
        parts = [text] if _is_column(text, source) else [part.strip() for part in text.split("*")]
        places = [
            attributes.setdefault(_choice(part, source, option, most_quantiles), len(attributes)) for part in parts
        ]
        if len(set(places)) < len(places):
            raise InputError(f"{option}: {text!r} names one attribute twice")
        if len(places) == 1:
            single.append(places[0])
        else:
            crosses.append(tuple(places))
    columns = {choice.column for choice in attributes}
    left = [{"attribute": bare(name), "why": "not named"} for name in known if name not in columns] + in_pairs
    return Chosen(_told_apart(list(attributes)), list(dict.fromkeys(single)), list(dict.fromkeys(crosses)), left)


def _every(known: list[str], source: Source, in_pairs: list[dict[str, str]]) -> Chosen:
    attributes, left = [], list(in_pairs)
    for column in known:
        why = _why_not(column, source)
        if why:
            left.append({"attribute": bare(column), "why": why})
        else:
            attributes.append(Choice(bare(column), column))
    if not attributes and not in_pairs:
        reasons = "; ".join(f"{entry['attribute']}: {entry['why']}" for entry in left) or "there is no such column"
        raise NothingToCompare(
            f"{source.label}: no attribute to compare by was found among its columns of text or true/false ({reasons})"
            "; name some with by= (numbers are cut into bins: age:18,40,65)"
        )
    return Chosen(attributes, list(range(len(attributes))), [], left)


def _why_not(column: str, source: Source) -> str:
    if bare(column) in NEVER:
        return "says how the data was divided"
    kind = source.kind(column)
    if kind == "number":
        return f"numbers; name it with cut points ({bare(column)}:10,20 or {bare(column)}:quantiles4)"
    if kind == "other":
        return "values of a kind that makes no groups"
    count = source.distinct(column)
    if count < 2:
        return "no variation"
    return f"too many values ({count:,}, at most {MOST_VALUES} are compared unasked)" if count > MOST_VALUES else ""


def _attribute_columns(source: Source, taken: Sequence[str]) -> list[str]:
    """The columns that are neither metrics nor clusters: `attr.*` if there are any, else all others."""
    free = [name for name in source.names if name not in taken and not name.startswith("m.")]
    free = [name for name in free if name not in ("identity", "sample", "subject")]
    marked = [name for name in free if name.startswith("attr.")]
    return marked or [name for name in free if source.names.count(name) == 1]


def _is_column(text: str, source: Source) -> bool:
    return f"attr.{text}" in source.names or text in source.names


def _choice(text: str, source: Source, option: str, most_quantiles: int) -> Choice:
    if _is_column(text, source):
        return Choice(text, source.resolve(text, "attr.", "attribute"))
    match = _BINS.match(text)
    if not match:
        column = source.resolve(text, "attr.", "attribute")  # the error lists similar names
        return Choice(bare(column), column, asked_as=text)
    name, cuts = match["column"].strip(), match["cuts"].strip()
    column = source.resolve(name, "attr.", "attribute")
    other_name = "" if _is_column(name, source) else name
    name = bare(column) if other_name else name
    if parts := _QUANTILES.match(cuts):
        count = int(parts[1])
        if not 2 <= count <= most_quantiles:
            raise InputError(f"{option}: {text!r}, expected quantiles2 to quantiles{most_quantiles}")
        return Choice(name, column, quantiles=count, asked_as=other_name)
    points = [_number(part) for part in cuts.split(",")]
    if any(point is None for point in points):
        raise InputError(f"{option}: {text!r}, expected cut points such as {name}:18,40,65, or {name}:quantiles4")
    ordered = tuple(float(point) for point in points if point is not None)
    if list(ordered) != sorted(set(ordered)):
        raise InputError(f"{option}: {text!r}, the cut points must rise")
    return Choice(name, column, cuts=ordered, asked_as=other_name)


def _told_apart(choices: list[Choice]) -> list[Choice]:
    """Choices that cut one column in two ways, under different names."""
    names = [choice.name for choice in choices]
    return [
        replace(choice, name=written(choice))
        if names.count(choice.name) > 1 and written(choice) != choice.name
        else choice
        for choice in choices
    ]


def written(choice: Choice) -> str:
    """An attribute as the user writes it.

    >>> written(Choice("age", "attr.age", cuts=(18.0, 40.0))), written(Choice("age", "age", quantiles=4))
    ('age:18,40', 'age:quantiles4')
    """
    if choice.quantiles:
        return f"{choice.name}:quantiles{choice.quantiles}"
    return f"{choice.name}:{','.join(f'{cut:g}' for cut in choice.cuts)}" if choice.cuts else choice.name


def coded(choice: Choice, column: Any, max_groups: int, counts: Array | None = None) -> Attribute:
    """An attribute's groups, cut into bins if requested; `counts`: how often each value occurs.

    >>> import pyarrow as pa
    >>> attribute = coded(Choice("age", "age", cuts=(18.0, 65.0)), pa.array([3, 18, 70, None]), 100)
    >>> attribute.levels, attribute.codes.tolist()
    (['<18', '18–64', '65+'], [0, 1, 2, -1])
    """
    if not (choice.cuts or choice.quantiles):
        return attribute(choice.name, column, max_groups)
    values = numbers_to_cut(choice, column)
    known = ~np.isnan(values)
    cuts = choice.cuts or quantile_cuts(values[known], choice.quantiles, None if counts is None else counts[known])
    whole = bool((values[known] == np.floor(values[known])).all()) and all(cut == math.floor(cut) for cut in cuts)
    codes = np.where(known, np.searchsorted(np.array(cuts), values, side="right"), -1).astype(np.int32)
    return Attribute(choice.name, bin_labels(cuts, whole), codes, cuts=tuple(cuts))


def numbers_to_cut(choice: Choice, column: Any) -> Array:
    """A column's numbers; for groups that are intervals their low ends, if each cut point lies between groups.

    >>> import pyarrow as pa
    >>> numbers_to_cut(Choice("age", "age", cuts=(18.0,)), pa.array(["0-17", "18 or older"])).tolist()
    [0.0, 18.0]
    """
    values = numbers_of(column)
    if values is None:
        values = lows_of(choice.name, column, choice.cuts)
    if values is None:
        raise InputError(
            f"attribute {choice.column!r}: cannot be cut into bins, its values are not numbers, and not intervals of "
            "numbers (20-29, 65+) either"
        )
    return values


def quantile_cuts(values: Array, count: int, counts: Array | None = None) -> tuple[float, ...]:
    """Cut points that make about equal groups; fewer where values repeat. `counts`: how often each value occurs.

    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    (3.0,)
    """
    if not len(values):
        return ()
    if counts is None:
        ordered = np.sort(values)
        places = np.ceil(np.arange(1, count) * len(values) / count).astype(np.int64)
        cuts = ordered[np.minimum(places, len(ordered) - 1)]  # there may be fewer values than groups
    else:
        order = np.argsort(values, kind="stable")
        ordered, ends = values[order], np.cumsum(counts[order])
        places = np.ceil(np.arange(1, count) * int(ends[-1]) / count).astype(np.int64)
        cuts = ordered[np.minimum(np.searchsorted(ends, places, side="right"), len(ordered) - 1)]
    return tuple(float(cut) for cut in np.unique(cuts) if cut > ordered[0])


def bin_labels(cuts: Sequence[float], whole: bool) -> list[str]:
    """Names of bins, in order: each from a cut point (included) up to the next (not included).

    >>> bin_labels((18, 40, 65), True), bin_labels((0.5,), False)
    (['<18', '18–39', '40–64', '65+'], ['<0.5', '0.5+'])
    """
    if not cuts:
        return ["all"]
    labels = [f"<{cuts[0]:g}"]
    for low, high in itertools.pairwise(cuts):
        top = high - 1 if whole else high
        labels.append(f"{low:g}" if top == low else f"{low:g}–{top:g}")
    return [*labels, f"{cuts[-1]:g}+"]


def bare(column: str) -> str:
    """A column's name without our prefix.

    >>> bare("attr.age")
    'age'
    """
    return column.removeprefix("attr.")


def _number(text: str) -> float | None:
    try:
        value = plain_float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
