"""Permutations of labels over units of few kinds, for which only the counts of kinds by labels are drawn.

A hundred thousand independent rows of a rate are of two kinds, right and wrong. Shuffling their labels and adding up is
the same, in distribution, as drawing the table of kinds by labels with its margins fixed (multivariate hypergeometric),
whose cost does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing.codes import combined, firsts_of
from countenance.auditing.table import Array

SAMPLE = 2000
"""Units in the sample that is examined before all units are."""
SAVING = 4
"""Counts are drawn instead of units if that takes this many times fewer random numbers than there are units."""


@dataclass(frozen=True)
class Contingency:
    """Units by kind and by label: `kinds` of each unit, `first` an example of each kind, and the two margins."""

    first: Array
    units: Array
    labels: Array
    kinds: Array | None = None

    @classmethod
    def of(cls, columns: Sequence[Array], codes: Array, patterns: int) -> Contingency | None:
        """The margins of units whose columns are equal, by label; None where drawing them would save nothing.

        >>> right = np.repeat([1.0, 0.0], [9000, 1000])
        >>> table = Contingency.of([right], np.tile([0, 1], 5000), 2)
        >>> table.units.tolist(), table.labels.tolist()
        ([1000, 9000], [5000, 5000])
        """
        count = len(codes)
        most = count // (SAVING * patterns)
        if count <= SAMPLE or _kinds([column[:SAMPLE] for column in columns]).max() >= most:
            return None
        kinds = _kinds(columns)
        units = np.bincount(kinds)
        if len(units) > most:
            return None
        first = firsts_of(kinds)
        order = np.argsort(units, kind="stable")  # the commonest kind takes what the others leave
        place = np.argsort(order, kind="stable")
        return cls(first[order], units[order], np.bincount(codes, minlength=patterns), place[kinds])

    def observed(self, codes: Array) -> Array:
        """The table of kinds by labels as it is."""
        assert self.kinds is not None
        cells = self.kinds * len(self.labels) + codes
        return np.bincount(cells, minlength=self.cells).reshape(len(self.units), len(self.labels)).astype(float)

    @property
    def cells(self) -> int:
        """How many numbers one permutation holds."""
        return len(self.units) * len(self.labels)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Tables of kinds by labels, `size` of them.

        >>> table = Contingency(np.array([0, 1]), np.array([3, 7]), np.array([4, 6]))
        >>> drawn = table.draw(np.random.default_rng(0), 5)
        >>> drawn.sum(axis=2).tolist()[0], drawn.sum(axis=1).tolist()[0]
        ([3.0, 7.0], [4.0, 6.0])
        """
        tables = np.empty((size, len(self.units), len(self.labels)))
        left = np.repeat(self.labels[None], size, axis=0)
        for kind, count in enumerate(self.units[:-1]):
            needed = np.full(size, count)
            others = left.sum(axis=1)
            for label in range(len(self.labels)):
                others = others - left[:, label]
                drawn = rng.hypergeometric(left[:, label], others, needed)
                tables[:, kind, label] = drawn
                left[:, label] -= drawn
                needed = needed - drawn
        tables[:, -1] = left
        return tables

    def summed(self, met: Array, column: Array) -> Array:
        """A column of the units added up by label, a row for each table that was drawn."""
        sums: Array = np.einsum("bkl,k->bl", met, column[self.first])
        return sums


def _kinds(columns: Sequence[Array]) -> Array:
    """A code for each unit, equal where all columns are."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        code = combined(code, np.unique(column, return_inverse=True)[1])
    return code
