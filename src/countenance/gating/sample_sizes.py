"""How many units would decide an undecided rule, if the number stays as it is."""

from __future__ import annotations

import math

from countenance.auditing._dist import quantile
from countenance.auditing.effects import cohen_h
from countenance.auditing.power import reach

MOST = 100_000_000
POWER = 0.8
COLLECTABLE = 10_000
"""Units that a study can collect; a larger number is not printed."""
TOO_MANY = "more than a study can collect"


def needed_words(needed: int, unit: str) -> str:
    """The needed number of units in words, or that it is more than a study can collect.

    >>> needed_words(818, "people"), needed_words(175_238, "people")
    ('about 818 people', 'more than a study can collect')
    """
    return f"about {needed:,} {unit}" if needed <= COLLECTABLE else TOO_MANY


def units_for_rate(rate: float, limit: float, deff: float, rows_per_unit: float, alpha: float) -> int | None:
    """Units at which a rate is separated from its limit 80 % of the time; None: it is too near.

    >>> units_for_rate(0.93, 0.9, 1.0, 1.0, 0.05), units_for_rate(0.9, 0.9, 1.0, 1.0, 0.05)
    (674, None)
    """
    away = abs(cohen_h(rate, limit)) if 0 <= limit <= 1 else math.nan
    return _counted((reach(alpha, POWER) / away) ** 2 * deff / rows_per_unit if away > 0 else math.inf)


def units_with_one_further(limit: float, at_least: bool, alpha: float) -> int | None:
    """People who must all be right in all of their pictures so that a limit is kept, see `auditing.far_ends`.

    >>> units_with_one_further(0.95, True, 0.05), units_with_one_further(0.05, False, 0.05)
    (72, 72)
    """
    share = limit if at_least else 1 - limit
    return _counted(math.log(alpha / 2) / math.log(share)) if 0 < share < 1 else None


def units_for_distance(units: int, low: float, high: float, away: float, alpha: float) -> int | None:
    """Units at which an interval is so narrow that it excludes a limit this far `away` 80 % of the time.

    >>> units_for_distance(100, -0.06, 0.06, 0.03, 0.05)
    818
    """
    error = (high - low) / 2 / float(quantile(1 - alpha / 2))
    away = abs(away)
    return _counted(units * (reach(alpha, POWER) * error / away) ** 2 if away > 0 and error > 0 else math.inf)


def _counted(number: float) -> int | None:
    return math.ceil(number - 1e-9) if math.isfinite(number) and number <= MOST else None
