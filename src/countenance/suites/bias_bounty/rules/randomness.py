"""Randomness on non-faces: tests whether the classes that a model gives to pictures without a face are spread evenly.

The test passes when it fails to reject evenness (p > .05). An honest uniform guesser passes each test 95 % of the time
and all three 85.7 % of the time; a p above .999, too even to be random, is flagged.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MULTIPLIERS = {"skin_tone": 1.3, "age": 1.2, "gender": 1.1}
ALPHA = 0.05
TOO_EVEN = 0.999
HONEST_PASS = (1 - ALPHA) ** 3
"""How often an honest uniform guesser passes all three tests."""
FEWEST_PER_CLASS = 5
MONTE_CARLO = 99_999


class Randomness(NamedTuple):
    """One attribute's test."""

    p: float
    """NaN when there are no non-faces: not applicable."""
    passed: bool | None
    multiplier: float
    too_even: bool
    statistic: float
    method: str
    counts: tuple[int, ...]


def uniformity_p(counts: ArrayLike, *, seed: int = 0, replicates: int = MONTE_CARLO) -> tuple[float, float, str]:
    """The chi-squared statistic against equal shares, its p, and the method of p; empty classes count.

    With fewer than 5 expected in a class, p is by Monte Carlo (seeded, including the observed table).

    >>> statistic, p, method = uniformity_p([30, 20, 25, 25])
    >>> round(statistic, 12), round(p, 6), method
    (2.0, 0.572407, 'chi-squared')
    """
    table = np.asarray(counts, dtype=np.int64)
    n, k = int(table.sum()), len(table)
    if n == 0:
        return float("nan"), float("nan"), "not applicable"
    expected = n / k
    statistic = float(((table - expected) ** 2 / expected).sum())
    if expected >= FEWEST_PER_CLASS:
        from scipy.special import chdtrc  # the tail of the chi-squared distribution, without scipy.stats

        return statistic, float(chdtrc(k - 1, statistic)), "chi-squared"
    drawn = np.random.default_rng(seed).multinomial(n, np.full(k, 1 / k), size=replicates)
    # For fixed n and K the statistic rises with the sum of squares, an integer: ties are exact.
    as_uneven = int(((drawn**2).sum(axis=1) >= int((table**2).sum())).sum())
    return statistic, (1 + as_uneven) / (replicates + 1), "Monte Carlo"


def randomness(predicted: ArrayLike, attribute: str, classes: int, *, seed: int = 0) -> Randomness:
    """The test of one attribute from the classes predicted for non-faces.

    >>> randomness([0, 1] * 20, "gender", 2).too_even
    True
    >>> randomness([], "gender", 2)[:3]
    (nan, None, 1.0)
    """
    codes: NDArray[np.int64] = np.asarray(predicted, dtype=np.int64)
    counts = np.bincount(codes, minlength=classes)
    if len(counts) > classes:
        raise ValueError(f"class {len(counts) - 1} of {attribute}, which has {classes} classes")
    statistic, p, method = uniformity_p(counts, seed=seed)
    passed = None if np.isnan(p) else bool(p > ALPHA)
    return Randomness(
        p=p,
        passed=passed,
        multiplier=MULTIPLIERS[attribute] if passed else 1.0,
        too_even=bool(p > TOO_EVEN),
        statistic=statistic,
        method=method,
        counts=tuple(int(count) for count in counts),
    )
