"""How a 0/1 score changed between two models on the same rows: intervals of the change, and of two groups' changes.

A row's change is -1 (right to wrong), 0 or 1 (wrong to right). Most rows do not change, so a standard error estimated
from those that do is too small when they are few: no change among 31 rows would rule out a change of .05. Tango's
score interval (1998) has no such gap; a claim that a change is smaller than δ must also hold by the limits of Clopper
and Pearson.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countenance.audit import tests
from countenance.audit._dist import quantile
from countenance.audit.effects import Limits, mover
from countenance.audit.estimates import clopper_pearson_limits
from countenance.audit.sums import Numbers, Side
from countenance.audit.table import Array

STEPS = 50


def tango_limits(gained: Numbers, lost: Numbers, n: Numbers, t: Numbers) -> tuple[Array, Array]:
    """Tango's limits of (gained - lost) / n, t standard errors away; counts may be effective ones.

    >>> low, high = tango_limits(9.0, 2.0, 50.0, 1.959964)
    >>> round(float(low), 3), round(float(high), 3)
    (0.012, 0.278)
    """
    gained, lost, n, t = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (gained, lost, n, t)))
    return -_upper(lost, gained, n, t), _upper(gained, lost, n, t)


def _upper(gained: Array, lost: Array, n: Array, t: Array) -> Array:
    """The largest change that the counts do not reject, by halving."""
    with np.errstate(all="ignore"):
        low, high = (gained - lost) / n, np.ones(np.shape(n))
        for _ in range(STEPS):
            middle = (low + high) / 2
            inside = _score(gained, lost, n, middle) > -t
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.asarray(np.where(n > 0, np.maximum(high, (gained - lost) / n), np.nan))


def _score(gained: Array, lost: Array, n: Array, change: Array) -> Array:
    """How many standard errors the counts are away from a change, with the likeliest share of losses under it."""
    linear = -gained - lost + (2 * n - gained + lost) * change
    constant = -lost * change * (1 - change)
    share = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
    variance = n * (2 * np.maximum(share, 0.0) + change * (1 - change))
    away = gained - lost - n * change
    return np.asarray(
        np.where(variance > 0, away / np.sqrt(np.where(variance > 0, variance, 1.0)), np.sign(away) * math.inf)
    )


@dataclass(frozen=True)
class Change:
    """Shares of (effective) rows that were gained and lost: intervals of their difference."""

    gained: Numbers
    lost: Numbers
    n: Numbers
    df: Numbers = math.inf

    @classmethod
    def of(cls, side: Side, iccs: list[Numbers]) -> Change:
        """The change of one side, from its sums over rows of -1, 0 and 1 (not centred)."""
        n = np.asarray(side.n, dtype=float)
        with np.errstate(all="ignore"):
            gained = (side.squares + np.asarray(side.total)) / (2 * n)
            lost = (side.squares - np.asarray(side.total)) / (2 * n)
        df = np.where(np.asarray(side.alone), np.inf, np.maximum(side.effective - 1, 0.5))
        return cls(gained, lost, n / tests.design_effect(side, iccs), df)

    @property
    def gap(self) -> Numbers:
        """The change."""
        return self.gained - self.lost

    def difference(self, alpha: float | Array) -> tuple[Array, Array]:
        """Tango's interval on the effective size."""
        t = quantile(1 - alpha / 2, self.df)
        return tango_limits(self.gained * self.n, self.lost * self.n, self.n, t)

    def cautious(self, alpha: float | Array) -> tuple[Array, Array]:
        """The interval made of Clopper and Pearson's limits of both shares, which are correlated."""
        t = quantile(1 - alpha / 2, self.df)
        first, second = (clopper_pearson_limits(share, self.n, t) for share in (self.gained, self.lost))
        with np.errstate(all="ignore"):
            odds = self.gained / (1 - self.gained) * self.lost / (1 - self.lost)
        rho = -np.sqrt(np.where(np.isfinite(odds), np.clip(odds, 0.0, 1.0), 0.0))
        return mover(self.gained, first, self.lost, second, rho)

    def within(self, delta: Numbers, alpha: float | Array) -> Array:
        """Whether the 1 - 2·alpha interval lies inside ±delta, by Tango's and by the cautious limits."""
        return _inside(self, delta, alpha)


@dataclass(frozen=True)
class ChangeGap:
    """Two groups' changes, and the correlation of the two: intervals of their difference."""

    one: Change
    two: Change
    rho: Numbers = 0.0

    def _joined(self, one: Limits, two: Limits) -> tuple[Array, Array]:
        return mover(self.one.gap, one, self.two.gap, two, self.rho)

    def difference(self, alpha: float | Array) -> tuple[Array, Array]:
        """The interval recovered from the two of Tango."""
        return self._joined(self.one.difference(alpha), self.two.difference(alpha))

    def cautious(self, alpha: float | Array) -> tuple[Array, Array]:
        """The interval recovered from the two of Clopper and Pearson."""
        return self._joined(self.one.cautious(alpha), self.two.cautious(alpha))

    def within(self, delta: Numbers, alpha: float | Array) -> Array:
        """Whether the 1 - 2·alpha interval lies inside ±delta, by both intervals."""
        return _inside(self, delta, alpha)


def _inside(gap: Change | ChangeGap, delta: Numbers, alpha: float | Array) -> Array:
    bounds = gap.difference(2 * alpha), gap.cautious(2 * alpha)
    inside = [np.asarray((low > -delta) & (high < delta)) for low, high in bounds]
    return np.asarray(inside[0] & inside[1])
