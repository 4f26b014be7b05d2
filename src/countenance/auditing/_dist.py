"""Normal and Student tails, for numbers and arrays. `ndtr(-x)` equals `scipy.stats.norm.sf(x)`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def tail(x: Any, df: Any = math.inf) -> Any:
    """The upper tail of the normal (df infinite) or Student's t distribution, exact far out (never 1 - cdf).

    >>> round(2 * tail(1.959964), 6), tail(30.0) > 0
    (0.05, True)
    """
    from scipy import special

    if np.ndim(df) == 0:
        share = special.ndtr(-np.asarray(x)) if math.isinf(df) else special.stdtr(df, -np.asarray(x))
    else:
        normal = np.isinf(df)
        student = special.stdtr(np.where(normal, 1.0, df), -np.asarray(x))
        share = np.where(normal, special.ndtr(-np.asarray(x)), student) if normal.any() else student
    return float(share) if np.ndim(share) == 0 else share


def quantile(p: Any, df: Any = math.inf) -> Any:
    """The value below which a share p lies.

    >>> round(quantile(0.975), 6), round(quantile(0.975, 10), 6)
    (1.959964, 2.228139)
    """
    from scipy import special

    if np.ndim(df) == 0:
        value = special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p)
    else:
        normal = np.isinf(df)
        value = np.where(normal, special.ndtri(p), special.stdtrit(np.where(normal, 1.0, df), p))
    return float(value) if np.ndim(value) == 0 else value


def both(x: Any, df: Any = math.inf) -> Any:
    """The two-sided p of a statistic.

    >>> round(both(1.650523), 6)
    0.098836
    """
    share = 2 * np.asarray(tail(np.abs(x), df))
    return float(share) if np.ndim(share) == 0 else share
