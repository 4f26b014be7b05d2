"""Further divisions of an attribute in two: unknown against known, and an ordered attribute at each place.

Each is an attribute of two values, made of the codes of another, so that sums and permutations treat it as any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from countenance.auditing.groups import SPLIT, UNKNOWN_OR_NOT, Grouping
from countenance.auditing.ordering import order_of
from countenance.auditing.table import UNKNOWN, Attribute

KNOWN = "known"
RANGE = "–"


def with_derived(
    attributes: Sequence[Attribute], single: Sequence[int], ordered: Mapping[str, Sequence[str]], total: int
) -> tuple[list[Attribute], list[Grouping]]:
    """The attributes with those derived from them, and the derived groupings; `single` are those to derive from."""
    extended, groupings = list(attributes), []
    for index in single:
        source = attributes[index]
        parts = [(_unknown(source, total), UNKNOWN_OR_NOT), *((split, SPLIT) for split in _splits(source, ordered))]
        for attribute, kind in parts:
            if attribute is not None:
                base = index if kind == SPLIT else None
                groupings.append(
                    Grouping((len(extended),), source.name, attribute.levels, np.arange(2), False, kind, base)
                )
                extended.append(attribute)
    return extended, groupings


def _unknown(attribute: Attribute, total: int) -> Attribute | None:
    """Rows with an unknown value against all others; None if all values are known, or all unknown."""
    known = np.zeros(total, dtype=bool)
    if attribute.rows is None:
        known = attribute.codes >= 0
    else:
        known[attribute.rows] = True
    if known.all() or not known.any():
        return None
    return Attribute(attribute.name, [UNKNOWN, KNOWN], known.astype(np.int32))


def values_in_order(attribute: Attribute, ordered: Mapping[str, Sequence[str]]) -> list[int]:
    """The codes of an ordered attribute that occur, in their order; empty where it is not ordered."""
    if attribute.rows is not None:
        return []
    levels = attribute.levels if attribute.cuts else order_of(attribute.name, attribute.levels, ordered)
    occurring = set((np.flatnonzero(np.bincount(attribute.codes + 1)) - 1).tolist())
    return [code for code in (attribute.levels.index(level) for level in levels or ()) if code in occurring]


def _splits(attribute: Attribute, ordered: Mapping[str, Sequence[str]]) -> list[Attribute]:
    """The cumulative splits that differ from a single group against the rest: not the first, not the last."""
    codes = values_in_order(attribute, ordered)
    return [_split(attribute, codes, place) for place in range(2, len(codes) - 1)]


def _split(attribute: Attribute, codes: Sequence[int], place: int) -> Attribute:
    side = np.full(len(attribute.levels) + 1, -1, dtype=np.int32)
    side[list(codes[:place])], side[list(codes[place:])] = 0, 1
    names = [range_name([attribute.levels[code] for code in part]) for part in (codes[:place], codes[place:])]
    return Attribute(attribute.name, names, side[attribute.codes])  # unknown rows have the code -1, the last place


def range_name(levels: Sequence[str]) -> str:
    """The name of several values that follow each other.

    >>> range_name(["monk_1", "monk_2", "monk_3"]), range_name(["<18", "18–39"]), range_name(["old"])
    ('monk_1–monk_3', '<18 to 18–39', 'old')
    """
    if len(levels) == 1:
        return levels[0]
    simple = not any(sign in levels[i] for i in (0, -1) for sign in "-–<+ ")
    return f"{levels[0]}{RANGE if simple else ' to '}{levels[-1]}"
