"""A number with its interval, held against a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from countenance.auditing.verdict import plural, shown
from countenance.gating.needed import units_for_distance, units_for_rate, units_with_one_further
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
    missing: Lacking = field(default_factory=lambda: Lacking())

    def evidence(self, limits: Limits) -> str:
        """Pass: the interval keeps the limits. Fail: the shared one lies beyond a limit. Insufficient: neither.

        A rule passes when all of its checks do, which needs no correction for how many they are; it fails when one of
        them does, so failing is decided at the level shared by all. Nothing passes unless it also does with every
        missing score as wrong.

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
            return PASS if self.missing.keep(least, most) else INSUFFICIENT
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
        decides = self._decides(evidence)
        said += self._deciding_words(evidence, decides)
        if evidence == INSUFFICIENT:
            said += f"; {_takes(self.units, needed, self.nouns)}"
        return RuleCheck(
            about=self.about, evidence=evidence, reason=said, value=self.value, low=self.low, high=self.high, n=self.n,
            units=self.units, unit=self.nouns[1], needed=needed, low_decides=decides[0], high_decides=decides[1],
        )  # fmt: skip

    def _decides(self, evidence: str) -> tuple[float, float]:
        """The interval that decided; NaN where it is the one shown."""
        shared = self.low_shared, self.high_shared
        if evidence == FAIL and shared != (self.low, self.high):
            return shared
        return (self.missing.low, self.missing.high) if evidence != FAIL else (math.nan, math.nan)

    def _deciding_words(self, evidence: str, decides: tuple[float, float]) -> str:
        """Which interval decided, where it is not the one shown."""
        if evidence == FAIL:
            if math.isnan(decides[0]):
                return ""
            return f"; at the level shared by all checks, which decides, {shown(decides[0])} to {_end(decides[1])}"
        return self.missing.words()

    def _needed(self, limits: Limits, alpha: float) -> int | None:
        if math.isnan(self.value) or not self.units or not self.n:
            return None
        limit = limits.nearest(self.value)
        if self.kind != "rate":
            units = units_for_distance(self.units, self.low, self.high, self.value - limit, alpha)
        else:
            units = units_for_rate(self.value, limit, self.deff, self.n / self.units, alpha)
            if self.n > self.units and units is not None:
                units = max(units, units_with_one_further(limit, limit == limits.at_least, alpha) or 0)
        return None if units is None else max(units, self.units + 1)


@dataclass(frozen=True)
class Lacking:
    """Scores that are missing: how many, the interval if each were wrong, and whether there is a worst score at all."""

    count: int = 0
    low: float = math.nan
    high: float = math.nan
    too_many: bool = False
    """More than can be passed over are missing from a metric that has no worst score."""

    def keep(self, least: float, most: float) -> bool:
        """Whether limits are kept with every missing score as wrong."""
        if self.too_many:
            return False
        return math.isnan(self.low) or (self.low >= least and self.high <= most)

    def words(self) -> str:
        """What missing scores would change, for a reason.

        >>> Lacking(3, 0.85, 0.95).words(), Lacking().words()
        ('; with 3 missing scores as wrong 0.850 to 0.950', '')
        """
        if self.too_many:
            return f"; {plural(self.count, 'score is', 'scores are')} missing, and nothing can be put in their place"
        if math.isnan(self.low):
            return ""
        scores = plural(self.count, "missing score", "missing scores")
        return f"; with {scores} as wrong {shown(self.low)} to {_end(self.high)}"


def _end(high: float) -> str:
    return "any" if math.isinf(high) else shown(high)


def _takes(units: int, needed: int | None, nouns: tuple[str, str]) -> str:
    have = f"with {plural(units, *nouns)} this cannot be decided"
    if needed is None:
        return f"{have}, and how many it takes cannot be said"
    return f"{have}; if it is as it looks, it takes about {plural(needed, *nouns)}"
