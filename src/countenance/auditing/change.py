"""How a 0/1 score changed between two models on the same rows: intervals of the change, and of two groups' changes.

A row's change is -1 (right to wrong), 0 or 1 (wrong to right). Most rows do not change, so a standard error estimated
from those that do is too small when they are few: no change among 31 rows would rule out a change of .05. Tango's
score interval (1998) has no such gap; a claim that a change is smaller than δ must also hold by the limits of Clopper
and Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from countenance.auditing import tests
from countenance.auditing._dist import quantile
from countenance.auditing.effects import Limits, in_common, mover
from countenance.auditing.estimates import clopper_pearson_limits
from countenance.auditing.far_ends import CHANGE, FarEnds, widened
from countenance.auditing.sums import Numbers, Side
from countenance.auditing.table import Array

STEPS = 14
"""Steps of the search for a limit; its error is then below 1e-9 (tests/audit/test_change.py)."""


def tango_limits(gained: Numbers, lost: Numbers, n: Numbers, t: Numbers) -> tuple[Array, Array]:
    """Tango's limits of (gained - lost) / n, t standard errors away; counts may be effective ones.

    >>> low, high = tango_limits(9.0, 2.0, 50.0, 1.959964)
    >>> round(float(low), 3), round(float(high), 3)
    (0.012, 0.278)
    """
    gained, lost, n, t = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (gained, lost, n, t)))
    below, above = _upper(np.stack([lost, gained]), np.stack([gained, lost]), n, t)  # both ends in one search
    return np.asarray(-below), np.asarray(above)


def _upper(gained: Array, lost: Array, n: Array, t: Array) -> Array:
    """The largest change that the counts do not reject: the root of `_excess`, by the Illinois method."""
    with np.errstate(all="ignore"):
        change = (gained - lost) / n
        low, high = change + 1e-9 * (1 - change), np.ones(np.shape(n))  # without discordant rows 0 is a root as well
        over, under = _excess(gained, lost, n, low, t), _excess(gained, lost, n, high, t)
        was_inside = was_outside = np.zeros(np.shape(n), dtype=bool)
        for _ in range(STEPS):
            step = over - under
            guess = np.where(step > 0, (low * -under + high * over) / step, high)
            excess = _excess(gained, lost, n, guess, t)
            inside = excess > 0
            # Illinois rule: where an end stays twice, its value is halved; otherwise the search converges slowly.
            under = np.where(inside, np.where(was_inside, under / 2, under), excess)
            over = np.where(inside, excess, np.where(was_outside, over / 2, over))
            low, high = np.where(inside, guess, low), np.where(inside, high, guess)
            was_inside, was_outside = inside, ~inside
        return np.asarray(np.where(n > 0, np.maximum(high, change), np.nan))


def _excess(gained: Array, lost: Array, n: Array, change: Numbers, t: Numbers) -> Array:
    """Positive where the counts are less than t standard errors below a change, at the likeliest losses for it."""
    linear = -gained - lost + (2 * n - gained + lost) * change
    constant = -lost * change * (1 - change)
    share = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
    variance = n * (2 * np.maximum(share, 0.0) + change * (1 - change))
    return np.asarray(gained - lost - n * change + t * np.sqrt(np.maximum(variance, 0.0)))


@dataclass(frozen=True)
class GainAndLoss:
    """Intervals of the difference between the shares of (effective) rows gained and lost.

    `far` is for limits with one further person, where people have several rows, see `FarEnds`.
    """

    gained: Numbers
    lost: Numbers
    n: Numbers
    df: Numbers = math.inf
    far: FarEnds | None = None

    @classmethod
    def of(cls, side: Side, iccs: list[Numbers]) -> GainAndLoss:
        """The change of one side, from its sums over rows of -1, 0 and 1 (not centred)."""
        n = np.asarray(side.n, dtype=float)
        with np.errstate(all="ignore"):
            gained = (side.squares + np.asarray(side.total)) / (2 * n)
            lost = (side.squares - np.asarray(side.total)) / (2 * n)
        df = np.where(np.asarray(side.alone), np.inf, np.maximum(side.effective - 1, 0.5))
        return cls(gained, lost, n / tests.design_effect(side, iccs), df, FarEnds(side, CHANGE, of_trials=True))

    @property
    def gap(self) -> Numbers:
        """The change."""
        return self.gained - self.lost

    def tango(self, alpha: float | Array) -> Limits:
        """Tango's interval on the effective size."""
        t = quantile(1 - np.asarray(alpha) / 2, self.df)
        return tango_limits(self.gained * self.n, self.lost * self.n, self.n, t)

    def clopper_pearson(self, alpha: float | Array) -> Limits:
        """The interval made of Clopper and Pearson's limits of both shares, which are correlated."""
        t = quantile(1 - np.asarray(alpha) / 2, self.df)
        first, second = (clopper_pearson_limits(share, self.n, t) for share in (self.gained, self.lost))
        with np.errstate(all="ignore"):
            odds = self.gained / (1 - self.gained) * self.lost / (1 - self.lost)
            rho = -np.sqrt(np.where(odds > 0, odds, 0.0))
        return mover(self.gained, first, self.lost, second, in_common(self.gained, first, self.lost, second, rho))

    def difference(self, alpha: float | Array) -> Limits:
        """Tango's interval, with one further person."""
        return widened(self.far, self.tango(alpha), alpha)

    def decisive(self, alpha: float | Array) -> Limits:
        """The 1 - 2·alpha interval that must lie inside ±delta: Tango's and the cautious one together."""
        wide = 2 * np.asarray(alpha)
        score, exact = self.difference(wide), self.clopper_pearson(wide)
        return np.fmin(score[0], exact[0]), np.fmax(score[1], exact[1])


@dataclass(frozen=True)
class ChangeGap:
    """Two groups' changes, and the correlation of the two: intervals of their difference."""

    change1: GainAndLoss
    change2: GainAndLoss
    rho: Numbers = 0.0

    def _joined(self, of: Callable[[GainAndLoss], Limits], alpha: float | Array) -> Limits:
        first, second = of(self.change1), of(self.change2)
        shared = in_common(self.change1.gap, first, self.change2.gap, second, self.rho)
        wide = widened(self.change1.far, first, alpha), widened(self.change2.far, second, alpha)
        return mover(self.change1.gap, wide[0], self.change2.gap, wide[1], shared)

    def difference(self, alpha: float | Array) -> Limits:
        """The interval recovered from the two of Tango."""
        return self._joined(lambda side: side.tango(alpha), alpha)

    def decisive(self, alpha: float | Array) -> Limits:
        """The 1 - 2·alpha interval that must lie inside ±delta: also from the limits of Clopper and Pearson."""
        wide = 2 * np.asarray(alpha)
        score, exact = self.difference(wide), self._joined(lambda side: side.clopper_pearson(wide), wide)
        return np.fmin(score[0], exact[0]), np.fmax(score[1], exact[1])
