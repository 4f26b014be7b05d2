"""Room: audit. Normal and Student tails. `ndtr(-x)` is what `scipy.stats.norm.sf(x)` calls."""

from __future__ import annotations

import math


def tail(x: float, df: float = math.inf) -> float:
    """The upper tail of the normal (or Student's t) distribution, exact far out (never 1 - cdf).

    >>> round(2 * tail(1.959964), 6), tail(30.0) > 0
    (0.05, True)
    """
    from scipy import special

    if math.isnan(x):
        return math.nan
    return float(special.ndtr(-x) if math.isinf(df) else special.stdtr(df, -x))


def quantile(p: float, df: float = math.inf) -> float:
    """The value below which a share p lies.

    >>> round(quantile(0.975), 6), round(quantile(0.975, 10), 6)
    (1.959964, 2.228139)
    """
    from scipy import special

    return float(special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p))


def both(x: float, df: float = math.inf) -> float:
    """The two-sided p of a statistic.

    >>> round(both(1.650523), 6)
    0.098836
    """
    return min(1.0, 2 * tail(abs(x), df))
