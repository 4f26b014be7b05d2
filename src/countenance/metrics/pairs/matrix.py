"""FMR between groups with intervals, from counts of accepted impostor pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from countenance.metrics.intervals import LEVEL, freedom, student, wilson
from countenance.metrics.pairs.groups import AcceptedCounts
from countenance.metrics.pairs.vectors import Array, Ints


class FmrMatrix(NamedTuple):
    """FMR between groups with intervals, and the counts behind it; all groups × groups."""

    value: Array
    low: Array
    high: Array
    accepted: Ints
    pairs: Ints
    people: Ints
    """For each group, the people who have pictures in it."""
    log_error: Array
    """The standard error of the logarithm; NaN where no pair was accepted."""


def fmr_by_group(counts: AcceptedCounts, number: int = 0, level: float = LEVEL) -> FmrMatrix:
    """FMR between every two groups of one grouping. The diagonal is the FMR among impostors of the same group.

    The variance of a cell is at least what the cells on (or off) the diagonal together imply, so that a small group
    whose few people happen to be alike does not look too certain. Without an accepted pair the interval is 0 to
    3 / pairs of people.

    >>> from countenance.metrics.pairs.groups import Groups
    >>> counts = AcceptedCounts(np.array([0, 1, 2]), [Groups.of([("a",), ("a",), ("b",)], ["a", "b"])])
    >>> counts.add(np.array([0]), np.array([1]))
    >>> fmr_by_group(counts).value
    array([[ 1.,  0.], [ 0., nan]])
    """
    matrix = _Cells(counts, number)
    total = len(counts.groups[number].names)
    shape = (total, total)
    value, low, high, log_error = (np.full(shape, np.nan) for _ in range(4))
    accepted, pairs = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for diagonal in (True, False):
        cells = [matrix.cell(g, h) for g in range(total) for h in range(g, total) if (g == h) is diagonal]
        alike, within = _pooled(cells)
        for cell in cells:
            g, h = cell.place
            bounds = cell.interval(alike, within, level)
            for a, b in {(g, h), (h, g)}:
                value[a, b] = cell.rate if cell.pairs else np.nan
                low[a, b], high[a, b] = bounds
                log_error[a, b] = cell.log_error(alike, within)
                accepted[a, b], pairs[a, b] = round(cell.accepted), round(cell.pairs)
    return FmrMatrix(value, low, high, accepted, pairs, matrix.people, log_error)


@dataclass(frozen=True)
class _Cell:
    """The impostor pairs of two groups, as sums over people."""

    place: tuple[int, int]
    accepted: float
    pairs: float
    residual: Array
    dyads: float
    """Σ e_ab² over pairs of people."""
    people: float
    """Effective people of the scarcer side."""
    weight: float
    """The weight of differences between people: 4/P within a group, 1/P + 1/Q between two."""
    persons: float
    """The number of pairs of people."""

    @property
    def rate(self) -> float:
        return self.accepted / self.pairs if self.pairs else np.nan

    @property
    def spread(self) -> float:
        """The variance that comes from people rather than from pairs of people; chance can make it negative."""
        used = 2 if self.place[0] == self.place[1] else 1
        factor = self.people / (self.people - used) if self.people > used else 1.0
        return (factor * float((self.residual**2).sum()) - 2 * self.dyads) / self.pairs**2

    def interval(self, alike: float, within: float, level: float) -> tuple[float, float]:
        p = self.rate
        if self.pairs == 0 or self.people < 2:
            return np.nan, np.nan
        if self.accepted == 0:
            return 0.0, min(1.0, 3 / self.persons)
        size = p * (1 - p) / self.variance(alike, within) if p < 1 else self.people
        used = 2 if self.place[0] == self.place[1] else 1
        low, high = wilson(p, size, student(freedom(self.residual, self.people, used), level))
        return float(low), float(high)

    def variance(self, alike: float, within: float) -> float:
        """The variance of the rate: of people and of pairs of people, at least what all cells together imply."""
        p, pair = self.rate, self.dyads / self.pairs**2
        own = max(self.spread, 0) + pair
        pooled = alike * p * p * self.weight + max(pair, within * p / self.pairs)
        return max(own, pooled, p * (1 - p) / self.pairs)

    def log_error(self, alike: float, within: float) -> float:
        """The standard error of the rate's logarithm; NaN where no pair was accepted."""
        return float(np.sqrt(self.variance(alike, within)) / self.rate) if self.accepted else np.nan


def _pooled(cells: Sequence[_Cell]) -> tuple[float, float]:
    """How much rates of people vary (relative variance), and how correlated pairs of the same two people are."""
    used = [cell for cell in cells if cell.pairs and cell.people > 2]
    squares = sum(cell.rate**2 for cell in used)
    accepted = sum(cell.accepted for cell in used)
    alike = max(sum(cell.spread / cell.weight for cell in used) / squares, 0.0) if squares else 0.0
    return alike, sum(cell.dyads for cell in used) / accepted if accepted else 0.0


class _Cells:
    """Cells of one grouping."""

    def __init__(self, counts: AcceptedCounts, number: int) -> None:
        groups, units, owner = counts.groups[number], counts.units[number], counts.identity
        fold = groups.member.astype(np.float64)
        self.member = groups.pictures.astype(np.float64)
        self.taken = counts.by_picture[number] @ fold
        self.starts = np.unique(owner, return_index=True)[1]
        own = self._by_person(self.member)
        self.people = (own > 0).sum(axis=0)
        self.others = self.member.sum(axis=0) - own[owner]
        once = [counts.squares[number], counts.weighed[number]]
        both = [table + table.T - np.diag(np.diag(table)) for table in once]
        self.within, self.between = ([fold.T @ table @ fold for table in tables] for tables in (once, both))
        power = fold[units.cell] * (units.size.astype(np.float64) ** 2)[:, None]
        begin = np.unique(units.owner, return_index=True)[1]
        self.powers = np.add.reduceat(power, begin, axis=0) if len(begin) else power
        """People × groups: the squares of the numbers of pictures."""

    def _by_person(self, values: Array) -> Array:
        return np.add.reduceat(values, self.starts, axis=0) if len(self.starts) else values

    def cell(self, g: int, h: int) -> _Cell:
        """The cell of pairs of one person in g and one in h."""
        same, half = g == h, 2.0 if g == h else 1.0
        sides = np.array([self._side(a, b) for a, b in ([(g, h)] if same else [(g, h), (h, g)])])
        accepted, pairs = sides[0].sum(axis=0) / half
        rate = accepted / pairs if pairs else 0.0
        mine, all_mine = sides.sum(axis=0).T
        residual = (mine - rate * all_mine)[all_mine > 0]
        squares, weighed = (table[g, h] for table in (self.within if same else self.between))
        left, right = self.powers[:, g], self.powers[:, h]
        products = (left.sum() * right.sum() - (left * right).sum()) / half
        dyads = ((left > 0).sum() * (right > 0).sum() - ((left > 0) & (right > 0)).sum()) / half
        people = [_effective(side[:, 1]) for side in sides]
        weight = 4 / max(people[0], 1) if same else sum(1 / max(count, 1) for count in people)
        error = max(float(squares - 2 * rate * weighed + rate * rate * products), 0.0)
        return _Cell((g, h), float(accepted), float(pairs), residual, error, min(people), weight, max(float(dyads), 1))

    def _side(self, a: int, b: int) -> Array:
        """For each person, accepted and all pairs of a picture in a with somebody else's picture in b."""
        return self._by_person(self.member[:, a, None] * np.column_stack([self.taken[:, b], self.others[:, b]]))


def _effective(weights: Array) -> float:
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0
