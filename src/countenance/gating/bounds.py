"""A number with its interval, held against a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from countenance.audit.verdict import plural, shown
from countenance.gating.needed import units_for_distance, units_for_rate
from countenance.gating.outcome import FAIL, INSUFFICIENT, PASS, RuleCheck


@dataclass(frozen=True)
class Limits:
    """What a number must keep; None: no limit on that side."""

    at_least: float | None = None
    at_most: float | None = None

    def words(self) -> str:
        """The limits as a policy says them."""
        parts = [] if self.at_least is None else [f"at least {self.at_least:g}"]
        return " and ".join(parts + ([] if self.at_most is None else [f"at most {self.at_most:g}"]))

    def nearest(self, value: float) -> float:
        """The limit that a number is nearest to."""
        known = [limit for limit in (self.at_least, self.at_most) if limit is not None]
        return min(known, key=lambda limit: abs(value - limit))


@dataclass(frozen=True)
class Measurement:
    """A number with two intervals: at the level of the rule, and at that level shared by all checks of the rule."""

    about: str
    value: float
    low: float
    high: float
    low_shared: float
    high_shared: float
    n: int = 0
    units: int = 0
    nouns: tuple[str, str] = ("row", "rows")
    kind: str = "mean"
    deff: float = 1.0

    def evidence(self, limits: Limits) -> str:
        """Pass: the interval keeps the limits. Fail: the shared one lies beyond a limit. Insufficient: neither.

        A rule passes when all of its checks do, which needs no correction for how many they are; it fails when one of
        them does, so failing is decided at the level shared by all.

        >>> Measurement("m", .95, .92, .97, .91, .98).evidence(Limits(at_least=.9))
        'pass'
        >>> Measurement("m", .85, .82, .88, .81, .89).evidence(Limits(at_least=.9))
        'fail'
        >>> Measurement("m", .89, .86, .92, .85, .93).evidence(Limits(at_least=.9))
        'insufficient'
        """
        if any(math.isnan(x) for x in (self.value, self.low, self.high)):
            return INSUFFICIENT
        least = -math.inf if limits.at_least is None else limits.at_least
        most = math.inf if limits.at_most is None else limits.at_most
        if self.low >= least and self.high <= most:
            return PASS
        return FAIL if self.high_shared < least or self.low_shared > most else INSUFFICIENT

    def check(self, limits: Limits, alpha: float, words: str | None = None) -> RuleCheck:
        """The number held against its limits, in words; `words` replaces those for the limits."""
        evidence = self.evidence(limits)
        needed = self._needed(limits, alpha) if evidence == INSUFFICIENT else None
        wanted = words or limits.words()
        if math.isnan(self.value):
            said = f"no number: {plural(self.n, 'row', 'rows')}; wanted {wanted}"
        elif math.isnan(self.low):
            said = f"{shown(self.value)} without an interval; wanted {wanted}"
        else:
            said = f"{shown(self.value)} ({shown(self.low)} to {_end(self.high)}); wanted {wanted}"
        if evidence == INSUFFICIENT:
            said += f"; {_takes(self.units, needed, self.nouns)}"
        return RuleCheck(
            about=self.about, evidence=evidence, reason=said, value=self.value, low=self.low, high=self.high, n=self.n,
            units=self.units, unit=self.nouns[1], needed=needed,
        )  # fmt: skip

    def _needed(self, limits: Limits, alpha: float) -> int | None:
        if math.isnan(self.value) or not self.units or not self.n:
            return None
        limit = limits.nearest(self.value)
        if self.kind == "rate":
            found = units_for_rate(self.value, limit, self.deff, self.n / self.units, alpha)
        else:
            found = units_for_distance(self.units, self.low, self.high, self.value - limit, alpha)
        return None if found is None else max(found, self.units + 1)


def without_spread(value: float, units: int, alpha: float) -> tuple[float, float]:
    """The interval of a mean of units that all have the same value, where that lies between 0 and 1.

    Units that differ may exist although none was drawn: of n draws none differs with a probability of alpha / 2 when
    their share is 1 - (alpha / 2) ** (1 / n), and at worst each of them is 0 or 1. Of other metrics nothing can be
    said about a unit that was not drawn.

    >>> low, high = without_spread(0.8, 3, 0.05)
    >>> round(low, 2), round(high, 2), [round(x, 3) for x in without_spread(0.8, 1000, 0.05)]
    (0.23, 0.94, [0.797, 0.801])
    >>> without_spread(5.0, 3, 0.05)
    (nan, nan)
    """
    if not 0 <= value <= 1:
        return math.nan, math.nan
    kept = (alpha / 2) ** (1 / units)
    return value * kept, value + (1 - value) * (1 - kept)


def _end(high: float) -> str:
    return "any" if math.isinf(high) else shown(high)


def _takes(units: int, needed: int | None, nouns: tuple[str, str]) -> str:
    have = f"with {plural(units, *nouns)} this cannot be decided"
    if needed is None:
        return f"{have}, and how many it takes cannot be said"
    return f"{have}; if it is as it looks, it takes about {plural(needed, *nouns)}"
