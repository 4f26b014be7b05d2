"""Power: what these sizes can detect, and how many more rows or people an effect needs."""

from __future__ import annotations

import math

import numpy as np

from countenance.auditing import tests
from countenance.auditing._dist import both, quantile, tail
from countenance.auditing.sums import Cross, Side
from countenance.auditing.table import Array

FEW_CASES = 12
"""With fewer expected rare cases than this, power is summed over single outcomes instead of a normal curve."""


def reach(alpha: float, power: float, df: float = math.inf) -> float:
    """The distance from zero, in standard errors, at which an effect is found with this power.

    >>> round(reach(0.05, 0.8), 6)
    2.801585
    """
    return float(quantile(1 - alpha / 2, df) + quantile(power, df))


def shifted(p: float, h: float) -> float:
    """The rate at a Cohen's h from p, away from the nearer end (down from .9, up from .1); NaN if there is none.

    >>> round(shifted(0.95, 0.2), 4)
    0.8977
    """
    angle = 2 * math.asin(math.sqrt(min(max(p, 0.0), 1.0)))
    moved = angle - h if p >= 0.5 else angle + h
    return math.sin(moved / 2) ** 2 if 0 <= moved <= math.pi else math.nan


def detectable_rate(
    versus: float,
    n1: float,
    n2: float,
    alpha: float = 0.05,
    power: float = 0.8,
    df: float = math.inf,
    *,
    exact: float = math.nan,
) -> float:
    """The rate of n1 rows that can be distinguished from the rate `versus` of n2 rows with this power.

    It lies away from the nearer end, 0 or 1; NaN if there is no such rate. With enough expected cases the arcsine
    approximation is used; with few, the outcomes that the test rejects are added up. `exact` is the level of a test by
    permutation: with few cases that is Fisher's test at this level whatever the sizes, where z may serve otherwise.

    >>> round(detectable_rate(0.9, 500, 500), 3), round(detectable_rate(0.999, 60, 1000), 3)
    (0.841, 0.951)
    >>> round(detectable_rate(0.99, 200, 200), 3), round(detectable_rate(0.99, 200, 200, exact=0.05), 3)
    (0.941, 0.935)
    """
    rough = shifted(versus, reach(alpha, power, df) * math.sqrt(1 / n1 + 1 / n2))
    rare = min(versus, 1 - versus)
    guess = 1.0 if math.isnan(rough) else (rough if versus < 0.5 else 1 - rough)
    small, large = round(n1), round(n2)
    if min(small, large) * guess >= FEW_CASES:
        return rough
    middle, far = large * rare, 4 * math.sqrt(large * rare * (1 - rare)) + 2
    other = np.unique(np.linspace(max(0.0, middle - far), min(float(large), middle + far), 31).round())
    weight = _binomial(other, large, rare)
    cases = np.arange(min(small, math.ceil(2 * small * min(guess, 2 * FEW_CASES / small) + 20)) + 1.0)
    shape = (len(cases), len(other))
    first = np.asarray(np.broadcast_to(cases[:, None], shape))
    second = np.asarray(np.broadcast_to(other, shape))
    sides = [
        Side(np.full(shape, n), k, np.full(shape, n), np.full(shape, n), k, k, k)
        for n, k in ((float(small), first), (float(large), second))
    ]
    least = tests.SMALLEST_EXPECTED_FAR_OUT if alpha < 0.01 else tests.SMALLEST_EXPECTED
    tested = tests.rates(sides[0], sides[1], Cross(), math.inf if math.isfinite(exact) else least)
    p = np.asarray(tested.p)
    if math.isfinite(exact):
        alpha = exact
    elif math.isfinite(df):
        p = np.where(np.asarray(tested.exact), p, np.asarray(both(tested.z, df)))
    seen = ((p < alpha) & (first / small > second / large)) @ (weight / weight.sum())

    def chance(rate: float) -> float:
        outcome = _binomial(cases, small, rate)
        return float(outcome @ seen + max(0.0, 1 - outcome.sum()) * seen[-1])

    low, high = rare, 1.0
    if chance(high) < power:
        return math.nan
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high if versus < 0.5 else 1 - high


def _binomial(k: Array, n: int, p: float) -> Array:
    """Binomial probabilities, computed faster than by scipy.stats."""
    from scipy import special

    choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    density: Array = np.exp(choose + special.xlogy(k, p) + special.xlog1py(n - k, -p))
    return density


def rank_from_d(d: float) -> float:
    """The rank-biserial correlation of two normal distributions d standard deviations apart.

    >>> round(rank_from_d(0.5), 4)
    0.2763
    """
    return float(1 - 2 * tail(d / math.sqrt(2)))


def growth(share: float, ratio: float) -> tuple[float, bool]:
    """How many times as large a group must be, and whether the other side must grow by the same factor.

    `ratio` is the effect that can be seen over the one that must be; `share` is how much of the variance is the
    group's own. The group grows alone where that is enough with at most twice what both growing would take.

    >>> round(growth(0.9, 2.0)[0], 6), growth(0.9, 2.0)[1]
    (6.0, False)
    >>> growth(0.5, 2.0)
    (4.0, True)
    """
    together = ratio**2
    if ratio <= 1:
        return together, False
    left = 1 / ratio**2 - (1 - share)  # the share of today's variance that may remain with the group
    if left > 0 and share / left <= 2 * together:
        return share / left, False
    return together, True
