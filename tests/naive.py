"""Slow, plain versions that the tests compare the package's own with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countenance.auditing.codes import size_of
from countenance.auditing.ranking import DRAWS, Ranking, effective_df, numerical_bootstrap, rank_paired
from countenance.metrics.detection import RECALLS

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def rank_scores(
    names: Sequence[str],
    scores: Array,
    *,
    clusters: Sequence[object] | None = None,
    alpha: float = 0.05,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Entries ranked by the mean of their scores on the same units, units of one cluster drawn together."""
    table = np.asarray(scores, dtype=float)
    _, own = np.unique(np.arange(len(table)) if clusters is None else np.asarray(clusters), return_inverse=True)
    count = size_of(own)
    rows = np.bincount(own, minlength=count).astype(float)
    sums = np.stack([np.bincount(own, column, minlength=count) for column in table.T], axis=1)
    terms = np.stack([sums, np.broadcast_to(rows[:, None], sums.shape)], axis=2)
    estimates, replicates = numerical_bootstrap(terms, _means, draws=draws, seed=seed)
    return rank_paired(names, estimates, replicates, df=effective_df(rows), alpha=alpha)


def _means(sums: Array) -> Array:
    total, rows = sums[..., 0], sums[..., 1]
    return np.asarray(np.divide(total, rows, out=np.full(total.shape, np.nan), where=rows > 0))


def precision_recall(scores: Array, hit: Bools, n_truth: int, weights: Array | None = None) -> tuple[Array, Array]:
    """Precision and recall after each answer, best score first; ties keep their order.

    `hit` says whether an answer found a true box that no better answer had found.
    """
    order = np.argsort(-scores, kind="stable")
    weight = np.ones(len(scores)) if weights is None else weights[order]
    hits = np.cumsum(weight * hit[order])
    total = np.cumsum(weight)
    precision = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0)
    return precision, hits / n_truth if n_truth else np.full(hits.shape, np.nan)


def average_precision(scores: Array, hit: Bools, n_truth: int) -> float:
    """COCO's average precision at one overlap: precision made monotone, sampled at 101 recalls. No truth: NaN."""
    if not n_truth:
        return float("nan")
    precision, recall = precision_recall(scores, hit, n_truth)
    envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(envelope[np.searchsorted(recall, RECALLS, side="left")].mean())
