"""Equity measures of FMR among impostors of the same group and of FNMR, with intervals and values of a fair system.

People are resampled: a bootstrap gives each person a weight, and a pair counts with the product of the weights of both.
What a fair system shows comes from shuffling the groups over people (over a person's pictures too, where these differ
in the attribute). Both need every accepted pair, so `AcceptedPairs` keeps them, up to a limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from countenance.metrics.equity import Undefined
from countenance.metrics.equity_measures import BOTH, ERRORS, GroupRates, Measure, MeasuredEquity
from countenance.metrics.pairs.genuine import Genuine
from countenance.metrics.pairs.groups import Groups
from countenance.metrics.pairs.vectors import Array, Index, Ints

MOST_PAIRS = 4_194_304
DRAWS, FEWEST, MOST_STEPS = 1000, 200, 200_000_000
LEAST_PEOPLE = 20
ALPHA = 0.05


@dataclass
class AcceptedPairs:
    """Accepted impostor pairs, collected as they come; none are kept above `MOST_PAIRS`."""

    count: int = 0
    blocks: list[tuple[Index, Index]] = field(default_factory=list)

    def add(self, first: Index, second: Index) -> None:
        """Add some pairs."""
        self.count += len(first)
        self.blocks = [*self.blocks, (first, second)] if self.count <= MOST_PAIRS else []

    @property
    def complete(self) -> bool:
        """Whether all pairs were kept."""
        return self.count <= MOST_PAIRS

    def pairs(self) -> tuple[Ints, Ints]:
        """All pairs: rows of the first and of the second picture."""
        if not self.blocks:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        first, second = (np.concatenate([block[k] for block in self.blocks]).astype(np.int64) for k in range(2))
        return first, second


class EquityEstimate(NamedTuple):
    """A measure over groups with its interval, or the reason why it is undefined."""

    of: str
    measure: Measure
    measured: MeasuredEquity | None
    undefined: str = ""


@dataclass(frozen=True)
class WithinGroups:
    """Pictures sorted by person, their groups, and the pairs on which a threshold errs."""

    identity: Ints
    """Codes 0, 1, …, ascending."""
    groups: Groups
    accepted: tuple[Ints, Ints]
    genuine: Genuine
    refused: Array
    """For each genuine pair, 1 where it is refused."""
    seed: int = 0

    @cached_property
    def draws(self) -> int:
        pairs = len(self.accepted[0]) + len(self.genuine.first) + len(self.identity)
        return int(min(DRAWS, max(FEWEST, MOST_STEPS // max(pairs, 1))))

    @cached_property
    def people(self) -> Ints:
        """For each group, the people who have a picture in it."""
        return np.asarray((self._sizes(self.groups.cell) > 0).sum(axis=0))

    @cached_property
    def large(self) -> Ints:
        """The groups that are compared: those with enough people."""
        return np.flatnonzero(self.people >= LEAST_PEOPLE)

    def _sizes(self, cell: Ints) -> Array:
        """People × groups: how many pictures a person has in a group."""
        kinds, total = len(self.groups.member), int(self.identity[-1]) + 1
        table = np.bincount(self.identity * kinds + cell, minlength=total * kinds).reshape(total, kinds)
        return np.asarray(table @ self.groups.member.astype(np.float64))

    def rates(self, cell: Ints | None = None, weight: Array | None = None) -> Array:
        """FMR of each group and then FNMR of each group, for other groups of the pictures, or with weights of people.

        >>> pairs = np.array([0]), np.array([2])
        >>> two = Genuine(np.array([0.5]), np.array([0]), np.array([1]), 0)
        >>> groups = Groups.of([("a",)] * 3, ["a"])
        >>> WithinGroups(np.array([0, 0, 1]), groups, pairs, two, np.array([1.0])).rates()
        array([0.5, 1. ])
        """
        cell = self.groups.cell if cell is None else cell
        sizes = self._sizes(cell)
        weight = np.ones(len(sizes)) if weight is None else weight
        sizes = sizes * weight[:, None]
        impostors = (sizes.sum(axis=0) ** 2 - (sizes**2).sum(axis=0)) / 2
        left, right = (weight[self.identity[side]] for side in self.accepted)
        own = weight[self.identity[self.genuine.first]]
        genuine = self.genuine.first, self.genuine.second
        with np.errstate(divide="ignore", invalid="ignore"):
            fmr = self._within(cell, self.accepted, left * right) / impostors
            fnmr = self._within(cell, genuine, own * self.refused) / self._within(cell, genuine, own)
        return np.concatenate([fmr, fnmr])

    def _within(self, cell: Ints, pairs: tuple[Index, Index], weight: Array) -> Array:
        """The weight of the pairs of which both pictures are in a group, for each group."""
        kinds, fold = len(self.groups.member), self.groups.member.astype(np.float64)
        key = cell[pairs[0]] * kinds + cell[pairs[1]]
        table = np.bincount(key, weight, minlength=kinds * kinds).reshape(kinds, kinds)
        return np.asarray(np.einsum("cg,cd,dg->g", fold, table, fold))

    @cached_property
    def _resampled(self) -> Array:
        random, total = np.random.default_rng([self.seed, 11]), int(self.identity[-1]) + 1
        even = np.full(total, 1 / total)
        return np.array([self.rates(weight=random.multinomial(total, even).astype(float)) for _ in range(self.draws)])

    @cached_property
    def _narrower(self) -> Array:
        """For each group, the ratio of FMR's true spread to its spread over draws with products of weights.

        With r_a a person's residual and e_ab that of two people, products vary by Σ r_a² + Σ e_ab², the rate by
        Σ r_a² - Σ e_ab² (see `influence`).
        """
        sizes, fmr = self._sizes(self.groups.cell), self.rates()
        pictures = self.groups.pictures
        (first, second), total, factors = self.accepted, len(sizes), []
        for g in range(len(self.groups.names)):
            both = pictures[first, g] & pictures[second, g]
            left, right = self.identity[first[both]], self.identity[second[both]]
            key, count = np.unique(np.minimum(left, right) * total + np.maximum(left, right), return_counts=True)
            a, b, own, rate = key // total, key % total, sizes[:, g], fmr[g]
            residual = np.bincount(a, count, total) + np.bincount(b, count, total) - rate * own * (own.sum() - own)
            products = ((own**2).sum() ** 2 - (own**4).sum()) / 2
            squares = (count**2).sum() - 2 * rate * (count * own[a] * own[b]).sum() + rate**2 * products
            people = float((residual**2).sum())
            factors.append(np.sqrt(max(people - squares, squares) / (people + squares)) if people else 1.0)
        return np.array(factors)

    @cached_property
    def _fair(self) -> Array:
        random = np.random.default_rng([self.seed, 12])
        return np.array([self.rates(self._shuffled(random)) for _ in range(self.draws)])

    def _shuffled(self, random: np.random.Generator) -> Ints:
        """The groups of the pictures, moved between people; where a person has several, between their pictures too."""
        cell, sizes = self.groups.cell, np.bincount(self.identity)
        first = np.cumsum(sizes) - sizes
        if np.array_equal(cell, cell[first][self.identity]):  # each person has one value
            return np.asarray(random.permutation(cell[first])[self.identity])
        out = cell.copy()
        for size in np.unique(sizes):
            places = first[sizes == size][:, None] + np.arange(size)
            out[places] = random.permuted(random.permutation(cell[places]), axis=1)
        return out

    def estimates(self) -> list[EquityEstimate]:
        """Every measure of both rates, and of each alone."""
        if len(self.large) < 2:
            return []
        size = len(self.groups.names)
        fmr, fnmr = self.large, size + self.large
        estimates = [self._estimate("FMR and FNMR", measure, [fmr, fnmr]) for measure in BOTH]
        for of, part in (("FMR", fmr), ("FNMR", fnmr)):
            estimates += [self._estimate(of, measure, [part]) for measure in ERRORS]
        return estimates

    def _estimate(self, of: str, measure: Measure, parts: Sequence[Ints]) -> EquityEstimate:
        columns = np.concatenate(parts)
        rates = self.rates()[columns]
        try:
            if not np.isfinite(rates).all():
                raise Undefined(f"{measure.name}: a group has no pair to compare")
            measure.checked(rates)
        except Undefined as why:
            return EquityEstimate(of, measure, None, str(why))
        people = np.tile(self.people[self.large], len(parts)).astype(float)
        narrower = np.concatenate([self._narrower, np.ones(len(self.groups.names))])[columns]
        whole = GroupRates(rates, self._resampled[:, columns], self._fair[:, columns], people, len(parts), narrower)
        return EquityEstimate(of, measure, whole.measured(measure, ALPHA))
