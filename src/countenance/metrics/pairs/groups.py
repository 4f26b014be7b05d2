"""Accepted impostor pairs by the groups of both people, and refused genuine pairs by group."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.intervals import IntervalEstimate, by_cluster, clustered_rate, correlation
from countenance.metrics.pairs.genuine import Genuine
from countenance.metrics.pairs.vectors import Array, Index, Ints

FEW = 4_194_304
"""Up to this many counters are laid out in full; beyond that equal keys are found by sorting."""


@dataclass(frozen=True)
class Groups:
    """The groups of pictures. A picture may be in no group (unknown) or in several."""

    names: tuple[str, ...]
    cell: Ints
    """For each picture, which combination of groups it has."""
    member: NDArray[np.bool_]
    """Combinations × groups."""

    @classmethod
    def of(cls, values: Sequence[tuple[str, ...]], names: Sequence[str]) -> "Groups":
        """Groups from each picture's values.

        >>> Groups.of([("a",), (), ("a", "b")], ["a", "b"]).pictures.astype(int)
        array([[1, 0], [0, 0], [1, 1]])
        """
        kinds = {kind: i for i, kind in enumerate(dict.fromkeys(values))}
        return cls.of_kinds(list(kinds), np.array([kinds[value] for value in values], dtype=np.int64), names)

    @classmethod
    def of_kinds(cls, kinds: Sequence[tuple[str, ...]], cell: Ints, names: Sequence[str]) -> "Groups":
        """Groups from the distinct combinations of values, and the combination of each picture."""
        member = np.array([[name in kind for name in names] for kind in kinds], dtype=bool)
        return cls(tuple(names), cell, member.reshape(len(kinds), len(names)))

    @classmethod
    def everybody(cls, n: int) -> "Groups":
        """One group with all pictures."""
        return cls(("",), np.zeros(n, np.int64), np.ones((1, 1), bool))

    @property
    def pictures(self) -> NDArray[np.bool_]:
        """Pictures × groups."""
        return np.asarray(self.member[self.cell])

    def taken(self, rows: Index) -> "Groups":
        """The groups of some pictures."""
        return Groups(self.names, self.cell[rows], self.member)


class PersonPictures(NamedTuple):
    """A person's pictures of one combination of groups; the pairs of two units are dependent."""

    of_picture: Ints
    owner: Ints
    cell: Ints
    size: Ints

    @classmethod
    def of(cls, identity: Ints, groups: Groups) -> "PersonPictures":
        """The units of pictures whose identities are given."""
        kinds = len(groups.member)
        key, unit, size = np.unique(identity * kinds + groups.cell, return_inverse=True, return_counts=True)
        return cls(unit, key // kinds, key % kinds, size)


@dataclass
class AcceptedCounts:
    """Accepted impostor pairs, counted as they come, by picture and by the other picture's groups."""

    identity: Ints
    """Codes 0, 1, …, ascending."""
    groups: Sequence[Groups]
    by_picture: list[Ints] = field(init=False)
    """For each grouping, pictures × combinations: accepted pairs with a picture of that combination."""
    squares: list[Array] = field(init=False)
    """For each grouping, combinations × combinations: Σ A² over pairs of people."""
    weighed: list[Array] = field(init=False)
    """The same for Σ A·N."""

    def __post_init__(self) -> None:
        n = len(self.identity)
        kinds = [len(groups.member) for groups in self.groups]
        self.by_picture = [np.zeros((n, k), np.int64) for k in kinds]
        self.squares, self.weighed = ([np.zeros((k, k)) for k in kinds] for _ in range(2))
        self.units = [PersonPictures.of(self.identity, groups) for groups in self.groups]

    def add(self, first: Index, second: Index) -> None:
        """Count some accepted pairs; all pairs of two people come in one call, else their variance is overstated."""
        if not len(first):
            return
        for k, groups in enumerate(self.groups):
            for picture, other in ((first, second), (second, first)):
                _count(self.by_picture[k], picture, groups.cell[other])
            units = self.units[k]
            a, b, count = _distinct(units.of_picture[first], units.of_picture[second])
            place = units.cell[a] * len(groups.member) + units.cell[b]
            shape, size = self.squares[k].shape, units.size
            for total, weight in ((self.squares[k], count**2), (self.weighed[k], count * size[a] * size[b])):
                total += np.bincount(place, weight.astype(np.float64), minlength=total.size).reshape(shape)


def _count(table: Ints, row: Index, column: Ints) -> None:
    """Add 1 to the table at each row and column."""
    low, wide = int(row.min()), table.shape[1]
    counts = np.bincount((row.astype(np.int64) - low) * wide + column)
    table.ravel()[low * wide : low * wide + len(counts)] += counts


def _distinct(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct pairs of two lists and how often each occurs.

    >>> _distinct(np.array([4, 4, 5]), np.array([7, 7, 7]))
    (array([4, 5]), array([7, 7]), array([2, 1]))
    """
    a, b = int(first.min()), int(second.min())
    wide = int(second.max()) - b + 1
    key = (first - a) * wide + (second - b)
    if (int(first.max()) - a + 1) * wide <= FEW:
        count = np.bincount(key)
        pair = np.flatnonzero(count)
        count = count[pair]
    else:
        pair, count = np.unique(key, return_counts=True)
    return pair // wide + a, pair % wide + b, count


def fnmr_by_group(genuine: Genuine, identity: Ints, groups: Groups, threshold: float) -> list[IntervalEstimate]:
    """FNMR of each group: genuine pairs of two pictures in it, clustered by person."""
    member = groups.pictures
    refused = (genuine.score < threshold).astype(np.float64)
    owner = identity[genuine.first]
    tables = []
    for g in range(len(groups.names)):
        both = member[genuine.first, g] & member[genuine.second, g]
        tables.append(by_cluster(refused[both], owner[both]))
    icc = correlation(tables)
    return [clustered_rate(errors, trials, icc=icc) for errors, trials in tables]
