"""The uncertainty of rates over pairs when people, not pairs, were sampled.

A genuine pair involves one person, an impostor pair two: pairs that share a person are not independent. With e_ab the
impostor pairs of persons a and b that were accepted beyond what was expected, and r_a = Σ_b e_ab, the variance of their
sum is Σ_a r_a² − Σ_ab e_ab² (two-way clusters: Cameron, Gelbach and Miller; dyads: Aronow, Samii and Assenova). Where a
number rests on genuine pairs too, a person's own residual is added to r_a before it is squared.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from countenance.metrics.intervals import LEVEL, freedom, student, wilson
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.vectors import Array, Ints


class RateBand(NamedTuple):
    """Rates with their intervals."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Influence:
    """The contribution of each person to FMR and FNMR at some thresholds (persons × thresholds)."""

    fmr: Array
    fnmr: Array
    genuine: Array
    """A person's residual of refused genuine pairs, over all genuine pairs."""
    impostor: Array
    """A person's residual of accepted impostor pairs, over all impostor pairs."""
    dyads: Array
    """Σ e_ab² / N² at each threshold."""
    pairs: tuple[int, int]
    """Genuine and impostor pairs."""
    effective: float
    """The effective number of people: fewer if some have many more pictures than others."""
    share: float = 1.0
    """The number of people here, as a share of all people of the rate."""

    def scaled(self, share: float) -> "Influence":
        """These contributions as a sample of this share of all people, to estimate the variance for all."""
        return replace(self, share=share)

    @classmethod
    def at(cls, compared: Comparisons, thresholds: Array) -> "Influence":
        """Contributions at thresholds, which the kept pairs must reach and which are passed from the highest down.

        >>> from countenance.metrics.pairs.vectors import Vectors
        >>> comparisons = Comparisons.of(Vectors.of(np.eye(4)), np.array([0, 0, 1, 1]))
        >>> Influence.at(comparisons, np.array([0.5])).fnmr
        array([1.])
        """
        sizes = compared.sizes.astype(np.float64)
        refused, own = _refused(compared, thresholds)
        taken, squares, weighed = _accepted(compared, thresholds)
        genuine, impostors = len(compared.genuine.score), compared.impostors
        with np.errstate(divide="ignore", invalid="ignore"):
            fnmr = refused.sum(axis=0) / genuine
            fmr = taken.sum(axis=0) / 2 / impostors
            mine = (refused - own[:, None] * fnmr) / genuine
            others = sizes * (sizes.sum() - sizes)
            both = (taken - others[:, None] * fmr) / impostors
            products = (float((sizes**2).sum()) ** 2 - float((sizes**4).sum())) / 2  # Σ over dyads of N_ab²
            dyads = (squares - 2 * fmr * weighed + fmr**2 * products) / float(impostors) ** 2
        effective = float(others.sum() ** 2 / (others**2).sum()) if others.any() else float(len(sizes))
        return cls(fmr, fnmr, mine, both, dyads, (genuine, impostors), effective)

    def band(self, genuine: Array, impostor: Array, value: Array, level: float = LEVEL) -> RateBand:
        """The interval of a rate that changes by genuine·δFNMR + impostor·δFMR (each weight has a value for each
        threshold)."""
        own = genuine * self.genuine + impostor * self.impostor
        people = max(self.effective, 2.5)
        dyads = impostor**2 * self.dyads
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = people / (people - 2) * (own**2).sum(axis=0) - dyads
            alone = genuine**2 * self.fnmr * (1 - self.fnmr) / self.pairs[0] if self.pairs[0] else 0.0
            alone = alone + (impostor**2 * self.fmr * (1 - self.fmr) / self.pairs[1] if self.pairs[1] else 0.0)
            variance = np.maximum(np.maximum(variance, dyads), alone) * self.share
            certain = (value <= 0) | (value >= 1) | (variance <= 0)  # nothing varies: each person counts as one trial
            size = np.where(certain, people, value * (1 - value) / variance)
        return RateBand(value, *wilson(value, size, student(freedom(own.T, people, 2), level)))


def _refused(compared: Comparisons, thresholds: Array) -> tuple[Array, Array]:
    """Genuine pairs of each person below each threshold, and all genuine pairs of each person."""
    people, count = len(compared.sizes), len(thresholds)
    score = compared.genuine.score
    owner = compared.identity[compared.genuine.first]
    last = np.searchsorted(-thresholds, -score, side="left")  # this many thresholds are above the score
    cells = np.bincount(owner * (count + 1) + last, minlength=people * (count + 1)).reshape(people, count + 1)
    below = cells[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return below.astype(np.float64), cells.sum(axis=1).astype(np.float64)


def _accepted(compared: Comparisons, thresholds: Array) -> tuple[Array, Array, Array]:
    """Impostor pairs of each person at or above each threshold; Σ A_ab² and Σ A_ab·N_ab over pairs of people."""
    people, count, tail = len(compared.sizes), len(thresholds), compared.tail
    level = np.searchsorted(-thresholds, -tail.score.astype(np.float64), side="left")
    accepted = level < count
    level, left, right = (
        level[accepted],
        compared.identity[tail.first[accepted]],
        compared.identity[tail.second[accepted]],
    )
    cells = np.zeros(people * count, np.int64)
    for owner in (left, right):
        cells += np.bincount(owner * count + level, minlength=people * count)
    taken = cells.reshape(people, count).cumsum(axis=1).astype(np.float64)
    sizes = compared.sizes
    # The k-th accepted pair of two people raises A² by 2k - 1; pairs come with falling scores.
    steps = 2.0 * _rank(left * people + right) - 1
    products = (sizes[left] * sizes[right]).astype(np.float64)
    squares, weighed = (np.bincount(level, w, minlength=count)[:count].cumsum() for w in (steps, products))
    return taken, squares, weighed


def _rank(key: Ints) -> Ints:
    """For each element, its rank among equal elements, counted from 1.

    >>> _rank(np.array([5, 3, 5, 5]))
    array([1, 1, 2, 3])
    """
    order = np.argsort(key, kind="stable")
    begin = np.searchsorted(key[order], key[order])
    out = np.empty(len(key), np.int64)
    out[order] = np.arange(len(key)) - begin + 1
    return out
