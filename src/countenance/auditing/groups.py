"""Groups and their intersections: which cells occur, and which rows are in which cell.

A row is a member of a group when its value equals the group's (never a substring); a list column makes it a member of
each of its groups. Rows unknown in an attribute are outside every cell that uses the attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing.codes import size_of
from countenance.auditing.table import Array, Attribute
from countenance.errors import InputError

CROSS = " × "
GROUP, SPLIT, UNKNOWN_OR_NOT = "group", "split", "unknown"
DENSE = 4_000_000
"""Up to this many possible cells are counted directly; more are sorted."""


@dataclass(frozen=True)
class Members:
    """Which rows are in which cell: `cells[i]` of row i (-1: none), or `cells[j]` of row `rows[j]` with lists."""

    cells: Array
    rows: Array | None = None

    @property
    def overlap(self) -> bool:
        """Whether a row may be in several cells."""
        return self.rows is not None

    def known(self, total: int) -> Array:
        """Whether each row is in some cell."""
        if self.rows is None:
            return self.cells >= 0
        known = np.zeros(total, dtype=bool)
        known[self.rows] = True
        return known


@dataclass(frozen=True)
class Grouping:
    """One attribute, or an intersection of several, with the cells that occur, in the order of their values."""

    attributes: tuple[int, ...]
    name: str
    cells: list[str]
    keys: Array
    named: bool = True
    """Whether it was requested by name, not formed by crossing requested attributes."""
    kind: str = GROUP
    """What its cells are: groups, the two parts of an ordered attribute, or unknown and known."""
    derived_from: int | None = None
    """For a derived attribute, the attribute whose unknown values are in no cell."""

    @property
    def depth(self) -> int:
        """How many attributes are crossed."""
        return len(self.attributes)

    def members(self, attributes: Sequence[Attribute], total: int) -> Members:
        """Place every row of the table."""
        rows, keys = membership(attributes, self.attributes, total)
        if not len(self.keys):
            return Members(np.full(total, -1, dtype=np.int32))
        span = int(self.keys[-1]) + 1
        if span <= DENSE:
            place = np.full(span + 1, -1, dtype=np.int32)
            place[self.keys] = np.arange(len(self.keys))
            cells = place[keys]  # unknown rows have the key -1, the last place
        else:
            cells = np.searchsorted(self.keys, keys).astype(np.int32)
            cells[keys < 0] = -1
        return Members(cells, rows)


def subsets(single: Sequence[int], depth: int) -> list[tuple[int, ...]]:
    """Attributes and their intersections up to a depth.

    >>> subsets([0, 1, 2], 2)
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    return [s for size in range(1, min(depth, len(single)) + 1) for s in itertools.combinations(single, size)]


def membership(attributes: Sequence[Attribute], chosen: Sequence[int], total: int) -> tuple[Array | None, Array]:
    """The key of each row's cell (-1: unknown), numbered in the order of values; with lists, pairs of row and key.

    >>> a = Attribute("a", ["x", "y"], np.array([0, 1, -1]))
    >>> b = Attribute("b", ["u", "v"], np.array([1, 0, 0]))
    >>> membership([a, b], [0, 1], 3)[1].tolist()
    [1, 2, -1]
    """
    rows: Array | None = None
    span = math.prod(len(attributes[index].levels) for index in chosen)
    kind = np.int32 if span < 2**31 else np.int64
    if len(chosen) == 1 and attributes[chosen[0]].rows is None:  # nothing to combine: a code is a key
        return None, np.asarray(attributes[chosen[0]].codes, dtype=kind)
    keys: Array = np.zeros(total, dtype=kind)
    for index in chosen:
        attribute = attributes[index]
        width = len(attribute.levels)
        if attribute.rows is None:
            codes = attribute.codes if rows is None else attribute.codes[rows]
            keys = np.where((codes < 0) | (keys < 0), -1, keys * width + codes)
        else:
            rows = np.arange(total) if rows is None else rows
            start = np.searchsorted(attribute.rows, rows, side="left")
            count = np.searchsorted(attribute.rows, rows, side="right") - start
            offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            codes = attribute.codes[np.repeat(start, count) + offset]
            rows, keys = np.repeat(rows, count), np.repeat(keys, count)
            keys = np.where(keys < 0, -1, keys * width + codes)
    if rows is not None and (keys < 0).any():
        rows, keys = rows[keys >= 0], keys[keys >= 0]
    return rows, keys


def group(
    attributes: Sequence[Attribute],
    subsets: Sequence[tuple[int, ...]],
    named: set[tuple[int, ...]],
    total: int,
    max_cells: int,
) -> list[Grouping]:
    """The cells that occur in each requested attribute and intersection.

    >>> a = Attribute("a", ["x", "y"], np.array([0, 1, 1]))
    >>> group([a], [(0,)], {(0,)}, 3, 100)[0].cells
    ['x', 'y']
    """
    groupings = []
    for chosen in subsets:
        if len(chosen) > 1 and any(len(attributes[i].levels) < 2 for i in chosen):
            continue
        keys = _occurring(attributes, chosen, total)
        name = CROSS.join(attributes[i].name for i in chosen)
        if len(keys) > max_cells:
            raise InputError(
                f"{name}: {len(keys)} groups occur, more than {max_cells}; "
                "merge values, lower depth, or raise max_groups"
            )
        labels = [label(attributes, chosen, int(key)) for key in keys]
        groupings.append(Grouping(tuple(chosen), name, labels, keys, tuple(chosen) in named))
    return groupings


def _occurring(attributes: Sequence[Attribute], chosen: Sequence[int], total: int) -> Array:
    _, keys = membership(attributes, chosen, total)
    span = size_of(keys)
    if span <= DENSE:
        return np.flatnonzero(np.bincount(keys + 1, minlength=span + 1)[1:])  # -1 is counted first, and left out
    return np.unique(keys[keys >= 0])


def label(attributes: Sequence[Attribute], chosen: Sequence[int], key: int) -> str:
    """The name of a cell.

    >>> label([Attribute("a", ["x", "y"], np.array([])), Attribute("b", ["u", "v"], np.array([]))], [0, 1], 2)
    'y × u'
    """
    parts: list[str] = []
    for index in reversed(chosen):
        key, code = divmod(key, len(attributes[index].levels))
        parts.append(attributes[index].levels[code])
    return CROSS.join(reversed(parts))
