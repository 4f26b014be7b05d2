"""Room: audit. How large a difference is: Cohen's h, rank-biserial correlation, Newcombe's interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countenance.audit._dist import quantile
from countenance.audit.estimates import wilson
from countenance.audit.table import Array


def cohen_h(p1: float, p2: float) -> float:
    """The difference of two rates on the arcsine scale.

    >>> round(cohen_h(0.8, 0.733945), 6)
    0.156599
    """
    return 2 * math.asin(math.sqrt(p1)) - 2 * math.asin(math.sqrt(p2))


def cohen_h_interval(p1: float, p2: float, n1: float, n2: float, alpha: float = 0.05) -> tuple[float, float]:
    """h ± z·sqrt(1/n1 + 1/n2); the sizes are effective sizes when rows are clustered.

    >>> [round(x, 4) for x in cohen_h_interval(0.8, 0.733945, 150, 545)]
    [-0.0241, 0.3373]
    """
    h = cohen_h(p1, p2)
    half = quantile(1 - alpha / 2) * math.sqrt(1 / n1 + 1 / n2)
    return h - half, h + half


def newcombe(k1: float, n1: float, k2: float, n2: float, alpha: float = 0.05) -> tuple[float, float]:
    """Newcombe's interval of p1 - p2 from the two Wilson intervals.

    >>> [round(x, 6) for x in newcombe(120, 150, 400, 545)]
    [-0.013393, 0.134225]
    """
    p1, p2 = k1 / n1, k2 / n2
    (low1, high1), (low2, high2) = wilson(k1, n1, alpha), wilson(k2, n2, alpha)
    d = p1 - p2
    return d - math.hypot(p1 - low1, high2 - p2), d + math.hypot(high1 - p1, p2 - low2)


@dataclass(frozen=True)
class RankBiserial:
    """P(first > second) - P(first < second), its variances with and without clusters, U of the first."""

    r: float
    u: float
    variance: float
    simple: float
    ties: float


def rank_biserial(
    ranks1: Array, ranks2: Array, clusters1: Array | None = None, clusters2: Array | None = None
) -> RankBiserial:
    """The rank-biserial correlation from integer ranks; the variance is that of DeLong, summed over clusters.

    >>> round(rank_biserial(np.array([1, 2, 3]), np.array([0, 1, 1])).r, 6)
    0.777778
    """
    n1, n2 = len(ranks1), len(ranks2)
    top = int(max(ranks1.max(), ranks2.max())) + 1
    count1, count2 = np.bincount(ranks1, minlength=top), np.bincount(ranks2, minlength=top)
    place1 = ((np.cumsum(count2) - count2 / 2) / n2)[ranks1]  # share of the second side below each of the first
    place2 = 1 - ((np.cumsum(count1) - count1 / 2) / n1)[ranks2]
    auc = float(place1.mean())
    e1, e2 = (place1 - auc) / n1, (place2 - auc) / n2
    simple = _spread(e1) + _spread(e2)
    ties = float(((count1 + count2).astype(float) ** 3 - (count1 + count2)).sum())
    variance = simple
    if clusters1 is not None and clusters2 is not None:
        size = int(max(clusters1.max(), clusters2.max())) + 1
        sums = np.bincount(clusters1, e1, minlength=size) + np.bincount(clusters2, e2, minlength=size)
        used = len(np.union1d(clusters1, clusters2))
        variance = float(used / max(used - 1, 1) * (sums**2).sum())
    return RankBiserial(2 * auc - 1, auc * n1 * n2, 4 * variance, 4 * simple, ties)


def _spread(e: Array) -> float:
    return float(len(e) / max(len(e) - 1, 1) * (e**2).sum())


def z_of_u(found: RankBiserial, n1: int, n2: int) -> float:
    """U as a standard normal value under the null, corrected for ties (no continuity correction).

    >>> round(z_of_u(rank_biserial(np.array([2, 3]), np.array([0, 1])), 2, 2), 6)
    1.549193
    """
    total = n1 + n2
    variance = n1 * n2 / 12 * (total + 1 - found.ties / (total * (total - 1)))
    return (found.u - n1 * n2 / 2) / math.sqrt(variance) if variance > 0 else math.nan
