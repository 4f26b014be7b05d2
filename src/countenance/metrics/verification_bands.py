"""The uncertainty of a ROC and an equal error rate: a cluster bootstrap over identities that never lists pairs.

A pair (i, j) has weight w_i·w_j in a resample; to first order that is w_i + w_j - 1, so that each identity's own counts
of accepted pairs are all a replicate needs (the projection of a U-statistic).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.pairs.vectors import reach_of
from countenance.metrics.verification import BLOCK

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS = 1024


class Bands(NamedTuple):
    """The equal error rate with its interval, and the ROC with a band, at some false acceptance rates."""

    eer: float
    eer_low: float
    eer_high: float
    far: Array
    val: Array
    val_low: Array
    val_high: Array


def roc_bands(embeddings: Array, identity: Ints, *, points: int = 60, replicates: int = 500, seed: int = 0) -> Bands:
    """ROC and equal error rate over all pairs, with 95 % intervals by resampling identities.

    >>> bands = roc_bands(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), np.array([0, 0, 1, 1]))
    >>> bands.eer, bands.eer_high
    (0.0, 0.0)
    """
    names, identity = np.unique(identity, return_inverse=True)
    genuine, impostor = _counts(embeddings, identity, len(names))
    if not genuine[:, -1].any() or not impostor[:, -1].any():
        empty = np.zeros(0)
        return Bands(np.nan, np.nan, np.nan, empty, empty, empty, empty)
    generator = np.random.default_rng([seed, 2])
    people = len(names)
    draws = generator.integers(0, people, (replicates, people)) + np.arange(replicates)[:, None] * people
    weight = np.bincount(draws.ravel(), minlength=replicates * people).reshape(replicates, people).astype(np.float64)
    far, val = _rates(np.ones((1, people)), genuine, impostor)
    fars, vals = _rates(weight, genuine, impostor)
    finite = np.isfinite(fars).all(axis=1) & np.isfinite(vals).all(axis=1)
    errors = _crossings(fars[finite], vals[finite])
    low, high = np.percentile(errors, [2.5, 97.5]) if finite.any() else (np.nan, np.nan)
    grid = np.geomspace(max(1.0 / (impostor[:, -1].sum() / 2), 1e-6), 1, points)
    at = np.array([np.interp(grid, f, v) for f, v in zip(fars[finite], vals[finite], strict=True)]).reshape(
        int(finite.sum()), points
    )
    band = np.percentile(at, [2.5, 97.5], axis=0) if finite.any() else np.full((2, points), np.nan)
    eer = float(_crossings(far, val)[0])
    return Bands(eer, float(low), float(high), grid, np.interp(grid, far[0], val[0]), band[0], band[1])


def _counts(embeddings: Array, identity: Ints, people: int) -> tuple[Array, Array]:
    """For each identity and threshold, from the highest down: its number of same and of different pairs above it."""
    rows = embeddings.astype(np.float32)
    reach = np.float32(reach_of(float((rows * rows).sum(axis=1).max())))
    genuine, impostor = (np.zeros(people * BINS, dtype=np.int64) for _ in range(2))
    n = len(rows)
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        level = ((rows[a:b] @ rows.T + reach) * np.float32(BINS / (2 * reach))).astype(np.int32)
        place = level + (identity[a:b] * BINS).astype(np.int32)[:, None]
        same = identity[a:b, None] == identity[None, :]
        impostor += np.bincount(place[~same], minlength=people * BINS)
        same[np.arange(b - a), np.arange(a, b)] = False  # a picture is not a pair with itself
        genuine += np.bincount(place[same], minlength=people * BINS)
    both = (counts.reshape(people, BINS)[:, ::-1].cumsum(axis=1).astype(np.float64) for counts in (genuine, impostor))
    same_pairs, different_pairs = both
    return same_pairs, different_pairs


def _rates(weight: Array, genuine: Array, impostor: Array) -> tuple[Array, Array]:
    """False acceptance and validation rate of each replicate at each threshold, beginning at (0, 0)."""
    half = weight - 0.5  # every different pair was counted from both of its ends
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.clip((half @ impostor) / (half @ impostor[:, -1:]), 0, 1)
        val = np.clip((weight @ genuine) / (weight @ genuine[:, -1:]), 0, 1)
    start = np.zeros((len(weight), 1))
    return np.maximum.accumulate(np.hstack([start, far]), axis=1), np.hstack([start, val])


def _crossings(far: Array, val: Array) -> Array:
    """The equal error rate of each row, on a straight line between thresholds."""
    gap = far - (1 - val)
    i = np.maximum((gap >= 0).argmax(axis=1), 1)
    row = np.arange(len(far))
    before, after = gap[row, i - 1], gap[row, i]
    share = np.divide(-before, after - before, out=np.zeros_like(before), where=after != before)
    return np.asarray(far[row, i - 1] + share * (far[row, i] - far[row, i - 1]))
