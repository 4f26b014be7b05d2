"""Room: audit. What these sizes can see, how many rows an effect needs, is a difference negligible."""

from __future__ import annotations

import math

from countenance.audit._dist import quantile, tail


def reach(alpha: float, power: float, df: float = math.inf) -> float:
    """Standard errors an effect must be away from zero to be found with this power.

    >>> round(reach(0.05, 0.8), 6)
    2.801585
    """
    return quantile(1 - alpha / 2, df) + quantile(power, df)


def detectable_h(n1: float, n2: float, alpha: float = 0.05, power: float = 0.8, df: float = math.inf) -> float:
    """The smallest Cohen's h two (effective) sizes can see.

    >>> round(detectable_h(150, 545), 4)
    0.2583
    """
    return reach(alpha, power, df) * math.sqrt(1 / n1 + 1 / n2) if n1 > 0 and n2 > 0 else math.nan


def shifted(p: float, h: float) -> float:
    """The rate a Cohen's h from p, away from the nearer end (down from .9, up from .1); NaN: none is.

    >>> round(shifted(0.95, 0.2), 4)
    0.8977
    """
    angle = 2 * math.asin(math.sqrt(p))
    moved = angle - h if p >= 0.5 else angle + h
    return math.sin(moved / 2) ** 2 if 0 <= moved <= math.pi else math.nan


def rank_from_d(d: float) -> float:
    """The rank-biserial correlation of two normal distributions d standard deviations apart.

    >>> round(rank_from_d(0.5), 4)
    0.2763
    """
    return 1 - 2 * tail(d / math.sqrt(2))


def rows_needed(n: int, mde: float, target: float) -> int:
    """Rows this side needs to see `target` when both sides grow alike.

    >>> rows_needed(150, 0.2583, 0.2)
    251
    """
    return math.ceil(n * (mde / target) ** 2) if target > 0 and math.isfinite(mde) else 0


def equivalent(difference: float, se: float, delta: float, df: float = math.inf) -> float:
    """TOST: the larger p of the two one-sided tests against -δ and +δ.

    >>> round(equivalent(0.01, 0.02, 0.05), 6)
    0.02275
    """
    if se <= 0:
        return 0.0 if abs(difference) < delta else 1.0
    return max(tail((difference + delta) / se, df), tail((delta - difference) / se, df))
