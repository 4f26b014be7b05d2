"""A number with its interval, compared with a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from countenance.auditing.units import plural
from countenance.auditing.verdict import shown
from countenance.gating.outcome import FAIL, INSUFFICIENT, PASS, RuleCheck
from countenance.gating.sample_sizes import (
    COLLECTABLE,
    units_for_distance,
    units_for_rate,
    units_with_one_further,
)

MISSING_DECIDE = "it would pass without the missing scores"


@dataclass(frozen=True)
class Limits:
    """The limits of a number; None means no limit on that side."""

    at_least: float | None = None
    at_most: float | None = None

    def words(self) -> str:
        """The limits in a policy's words."""
        parts = [] if self.at_least is None else [f"at least {self.at_least:g}"]
        return " and ".join(parts + ([] if self.at_most is None else [f"at most {self.at_most:g}"]))

    def beyond(self, value: float) -> float:
        """How far a number lies beyond its limits; negative within them.

        >>> round(Limits(at_least=0.9).beyond(0.85), 3), round(Limits(-0.05, 0.05).beyond(-0.01), 3)
        (0.05, -0.04)
        """
        below = -math.inf if self.at_least is None else self.at_least - value
        return max(below, -math.inf if self.at_most is None else value - self.at_most)

    def hold(self, low: float, high: float) -> bool:
        """Whether a whole interval lies within the limits.

        >>> Limits(at_least=0.9).hold(0.92, 1.0), Limits(at_least=0.9).hold(0.88, 1.0)
        (True, False)
        """
        return max(self.beyond(low), self.beyond(high)) <= 0

    def exclude(self, low: float, high: float) -> bool:
        """Whether a whole interval lies beyond one of the limits.

        >>> Limits(at_least=0.9).exclude(0.8, 0.88), Limits(at_least=0.9).exclude(0.8, 0.92)
        (True, False)
        """
        below = self.at_least is not None and high < self.at_least
        return below or (self.at_most is not None and low > self.at_most)

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
    attribute: str = ""
    group: str = ""
    versus: str = ""
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
        if self._keeps(limits):
            return PASS if self.missing.keep(limits) else INSUFFICIENT
        return FAIL if limits.exclude(self.low_shared, self.high_shared) else INSUFFICIENT

    def _keeps(self, limits: Limits) -> bool:
        """Whether the interval keeps the limits, missing scores aside."""
        return limits.hold(self.low, self.high)

    def check(self, limits: Limits, alpha: float, words: str | None = None) -> RuleCheck:
        """The number compared with its limits, in words; `words` replaces those for the limits."""
        evidence = self.evidence(limits)
        open_question = evidence == INSUFFICIENT and math.isfinite(self.value)
        for_missing = open_question and self._keeps(limits)  # more people would not bring these scores
        needed = self._needed(limits, alpha) if open_question and not for_missing else None
        required = words or limits.words()
        low, high, which = self._deciding(evidence)
        if math.isnan(self.value):
            reason = f"no number: {plural(self.n, 'row', 'rows')}; wanted {required}"
        elif math.isnan(low):
            reason = f"{shown(self.value)} without an interval; wanted {required}"
        else:
            reason = f"{shown(self.value)} ({shown(low)} to {_end(high)}{which}); wanted {required}"
        if self.missing.too_many and evidence != FAIL:
            reason += f"; {self.missing.words()}"
        left_open = ""
        if open_question:
            left_open = MISSING_DECIDE if for_missing else undecided(self.units, needed, self.nouns)
            reason += f"; {left_open}"
        return RuleCheck(
            about=self.about,
            attribute=self.attribute,
            group=self.group,
            versus=self.versus,
            evidence=evidence,
            reason=reason,
            value=self.value,
            low=low,
            high=high,
            interval_words=which.removeprefix(", "),
            beyond=limits.beyond(self.value),
            n=self.n,
            units=self.units,
            unit=self.nouns[1],
            needed=needed,
            left_open=left_open if needed is None else "",
        )

    def _deciding(self, evidence: str) -> tuple[float, float, str]:
        """The interval that decides, with words that distinguish it from the interval at the level of the rule."""
        if evidence == FAIL:
            shared = (self.low_shared, self.high_shared) != (self.low, self.high)
            return self.low_shared, self.high_shared, ", at the level shared by all groups" if shared else ""
        if math.isnan(self.missing.low):
            return self.low, self.high, ""
        return self.missing.low, self.missing.high, f", with {self.missing.words()} as wrong"

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
    """Too many scores are missing from a metric that has no worst value."""

    def keep(self, limits: Limits) -> bool:
        """Whether the limits hold with every missing score as wrong."""
        if self.too_many:
            return False
        return math.isnan(self.low) or limits.hold(self.low, self.high)

    def words(self) -> str:
        """The missing scores, in words for a reason.

        >>> Lacking(3, 0.85, 0.95).words(), Lacking(1, too_many=True).words()
        ('3 missing scores', '1 score is missing, and nothing can be put in its place')
        """
        if self.too_many:
            their = "its" if self.count == 1 else "their"
            return f"{plural(self.count, 'score is', 'scores are')} missing, and nothing can be put in {their} place"
        return plural(self.count, "missing score", "missing scores")


def _end(high: float) -> str:
    return "any" if math.isinf(high) else shown(high)


def undecided(units: int, needed: int | None, nouns: tuple[str, str]) -> str:
    """The number of units of an undecided rule, and how many would decide it.

    >>> undecided(49, 380, ("person", "people"))
    'undecided with 49 people; about 380 would decide'
    >>> undecided(49, 175_238, ("person", "people"))
    'undecided with 49 people; it sits almost on the limit, so more data will hardly settle it'
    """
    have = f"undecided with {plural(units, *nouns)}"
    if needed is None or needed > COLLECTABLE:
        return f"{have}; it sits almost on the limit, so more data will hardly settle it"
    return f"{have}; about {needed:,} would decide"
