"""One group's number and its interval, with rows of one cluster not taken as independent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.far_ends import Ends, FarEnds
from countenance.auditing.sums import Numbers, Side, simple
from countenance.auditing.table import Array
from countenance.auditing.tests import design_effect as _larger_effect
from countenance.auditing.tests import implied, own_effect
from countenance.metrics import intervals

__all__ = ["Side", "bootstrap", "design_effect", "interval", "resampled", "simple", "wilson"]

TRUSTED = 0.3
"""The relative error up to which a group's own variance is trusted. It is about sqrt((kurtosis - 1) / clusters)."""


def wilson(count: float, nobs: float, alpha: float = 0.05) -> tuple[float, float]:
    """Wilson's score interval; `count` and `nobs` may be effective sizes.

    >>> [round(bound, 6) for bound in wilson(120, 150)]
    [0.728859, 0.856159]
    """
    if nobs <= 0:
        return math.nan, math.nan
    low, high = wilson_limits(count / nobs, nobs, quantile(1 - alpha / 2))
    return float(low), float(high)


def wilson_limits(p: Numbers, n: Numbers, t: Numbers) -> tuple[Array, Array]:
    """Wilson's limits of a rate p of n (effective) rows, t standard errors away.

    >>> [round(float(bound), 6) for bound in wilson_limits(0.8, 150, 1.959964)]
    [0.728859, 0.856159]
    """
    return intervals.wilson(p, n, t)


def clopper_pearson_limits(p: Numbers, n: Numbers, t: Numbers) -> tuple[Array, Array]:
    """Clopper and Pearson's limits of a rate p of n (effective) rows, at the level at which a normal value is t.

    >>> [round(float(bound), 6) for bound in clopper_pearson_limits(0.8, 150, 1.959964)]
    [0.726964, 0.860806]
    """
    from scipy import special

    p, n = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(n, dtype=float))
    level = special.ndtr(-np.asarray(t))
    count = p * n
    with np.errstate(all="ignore"):
        low = special.betaincinv(np.maximum(count, 1e-9), n - count + 1, level)
        high = special.betaincinv(count + 1, np.maximum(n - count, 1e-9), 1 - level)
    return np.where(count < 1e-9, 0.0, np.minimum(low, p)), np.where(n - count < 1e-9, 1.0, np.maximum(high, p))


def design_effect(side: Side, icc: float = 0.0) -> float:
    """Variance over the variance of independent rows, never below 1.

    A side without variance says nothing about its own design effect; it takes 1 + (m - 1)·icc, m the mean size of a
    row's cluster, from the correlation found elsewhere. One cluster alone: its n (effective size 1).

    >>> design_effect(simple(np.array([1.0, 0.0, 1.0])))
    1.0
    """
    return float(_larger_effect(side, [icc])) if side.n else 1.0


def interval(
    side: Side,
    kind: str,
    alpha: float = 0.05,
    iccs: Any = 0.0,
    row: Numbers = 0.0,
    kurtosis: float = 3.0,
    ends: Ends | None = None,
) -> tuple[Any, Any, Any]:
    """Low, high and design effect of a group's estimate, or of many.

    `iccs` and `row` are the correlation within clusters and the variance of a row, pooled over all groups. A rate's
    design effect is at least what the correlation implies. A mean keeps its own variance unless that comes from too few
    people to be trusted, as the kurtosis of the metric shows; then it has at least the pooled one. The mean of one
    person alone has no interval (NaN) where nothing else says how people vary. A metric with `ends` allows for one
    further person at the far end, see `FarEnds`, and stays within them.

    >>> [round(x, 6) for x in interval(simple(np.repeat([1.0, 0.0], [120, 30])), "rate")]
    [0.728859, 0.856159, 1.0]
    """
    iccs = iccs if isinstance(iccs, list) else [iccs]
    n = np.asarray(side.n, dtype=float)
    with np.errstate(all="ignore"):
        deff = np.fmax(own_effect(side), np.where(side.constant, implied(side, iccs), 1.0))
        deff = np.where((np.asarray(side.units) < 2) & ~np.asarray(side.alone), n, np.maximum(deff, 1.0))
        df = np.maximum(side.effective - 1, 0.5)
        if kind == "rate":
            t = quantile(1 - alpha / 2, np.where(np.asarray(side.alone), np.inf, df))
            low, high = wilson_limits(side.total / n, n / _larger_effect(side, iccs), t)
        else:
            few = side.effective * TRUSTED**2 < kurtosis - 1
            variance = np.where(few, np.fmax(side.variance, row * implied(side, iccs) / n), side.variance)
            variance = np.where((np.asarray(side.units) < 2) & ~(variance > 0), np.nan, variance)
            half = quantile(1 - alpha / 2, df) * np.sqrt(variance)
            low, high = side.mean - half, side.mean + half
        if ends is not None:
            low, high = FarEnds(side, ends, of_trials=kind in ("rate", "change")).widened(low, high, alpha)
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        limits = [np.where(n > 0, part, np.nan) for part in (low, high, deff)]
    if np.ndim(n) == 0:
        return float(limits[0]), float(limits[1]), float(limits[2])
    return limits[0], limits[1], limits[2]


def bootstrap(
    sums: Array,
    statistic: Callable[[Array], Array],
    *,
    replicates: int = 2000,
    alpha: float = 0.05,
    seed: int = 0,
) -> tuple[Array, Array, Array]:
    """Percentile cluster bootstrap of any function of sums: low, high, and the replicates themselves.

    `sums` has a row per cluster (or, for several terms each, shape clusters × terms); `statistic` turns
    summed terms (replicates × terms) into values (replicates, or replicates × outputs).

    >>> sums = np.array([[3.0, 4.0], [1.0, 2.0], [0.0, 1.0], [2.0, 2.0]])  # successes, rows
    >>> low, high, _ = bootstrap(sums, lambda s: s[:, 0] / s[:, 1], replicates=500)
    >>> bool(low < 6 / 9 < high)
    True
    """
    values = statistic(resampled(sums, replicates, seed))
    finite = values[np.isfinite(values).all(axis=tuple(range(1, values.ndim)))] if values.size else values
    if not len(finite):
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing, values
    low, high = np.quantile(finite, [alpha / 2, 1 - alpha / 2], axis=0)
    return low, high, values


def resampled(sums: Array, replicates: int, seed: int, cells: int = 200_000) -> Array:
    """Sums over clusters drawn with replacement, a row per replicate, in blocks that fit into the cache.

    >>> resampled(np.ones((5, 2)), 3, 0)
    array([[5., 5.], [5., 5.], [5., 5.]])
    """
    rng = np.random.default_rng(seed)
    sums = np.asarray(sums, dtype=float)
    count = len(sums)
    if count == 0:
        return np.full((replicates, int(np.prod(sums.shape[1:]))), np.nan)
    sums = sums.reshape(count, -1)
    out = np.zeros((replicates, sums.shape[1]))
    # Equal clusters are exchangeable: draw how often each kind occurs instead of which cluster.
    kinds, sizes = np.unique(sums, axis=0, return_counts=True) if sums.shape[1] <= 8 else (sums, None)
    if sizes is not None and len(kinds) * 4 <= count:
        return np.asarray(rng.multinomial(count, sizes / count, size=replicates) @ kinds)
    block = max(1, cells // count)
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        drawn = rng.integers(0, count, size=(size, count), dtype=np.int64)
        drawn += np.arange(size)[:, None] * count
        weights = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        out[start : start + size] = weights @ sums
    return out
