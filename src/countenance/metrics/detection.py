"""Detection beyond recall: average precision and false positives per image, so that false alarms are not free."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[Any]
"""Whole numbers of any width."""
RECALLS = np.linspace(0, 1, 101)
MOST_WEIGHTS = 33_554_432
"""Bytes of weights of images that are held at once."""
DRAWN_AT_ONCE = 262_144
"""Images that are drawn at once."""


def precision_recall(scores: Array, hit: Bools, n_truth: int, weights: Array | None = None) -> tuple[Array, Array]:
    """Precision and recall after each answer, best score first; ties keep their order.

    `hit` says whether an answer found a true box that no better answer had found.

    >>> precision, recall = precision_recall(np.array([0.9, 0.8]), np.array([True, False]), 2)
    >>> precision, recall
    (array([1. , 0.5]), array([0.5, 0.5]))
    """
    order = np.argsort(-scores, kind="stable")
    weight = np.ones(len(scores)) if weights is None else weights[order]
    hits = np.cumsum(weight * hit[order])
    total = np.cumsum(weight)
    precision = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0)
    return precision, hits / n_truth if n_truth else np.full(hits.shape, np.nan)


def average_precision(scores: Array, hit: Bools, n_truth: int) -> float:
    """COCO's average precision at one overlap: precision made monotone, sampled at 101 recalls. No truth: NaN.

    >>> average_precision(np.array([0.9, 0.8]), np.array([True, True]), 2)
    1.0
    """
    if not n_truth:
        return float("nan")
    precision, recall = precision_recall(scores, hit, n_truth)
    envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(envelope[np.searchsorted(recall, RECALLS, side="left")].mean())


@dataclass(frozen=True)
class RankedDetections:
    """Everything that average precision by group needs, a block at a time, so that it need not fit into memory."""

    images: int
    ranked: Callable[[], Iterator[tuple[Ints, Ints]]]
    """Predicted boxes, best score first: the image of each, and which kind of true box it finds (-1: none)."""
    truths: Callable[[], Iterator[tuple[Ints, Ints]]]
    """True boxes in any order: the image and the kind of each."""
    members: Bools
    """Groups × kinds: which kinds belong to which group."""


@dataclass(frozen=True)
class PrecisionEstimate:
    """Average precision of a group with its 95 % interval, and the number of its true boxes."""

    value: float
    low: float
    high: float
    n: int


def average_precisions(found: RankedDetections, *, replicates: int = 1000, seed: int = 0) -> list[PrecisionEstimate]:
    """COCO's average precision of each group, with intervals from resampling whole images.

    Boxes that find somebody of another group are left out; false positives count for every group. People in one image
    stand or fall together, and all groups share the resamples. No truth: NaN. Memory: a byte an image and resample,
    for as many resamples at once as `MOST_WEIGHTS` allows, and the blocks.

    >>> ranked, truths = (np.array([0, 1]), np.array([0, -1])), (np.array([0, 1]), np.array([0, 0]))
    >>> two = RankedDetections(2, lambda: iter([ranked]), lambda: iter([truths]), np.ones((1, 1), dtype=bool))
    >>> average_precisions(two, replicates=20)[0].n
    2
    """
    people, values = _weighted(found, np.ones((1, found.images), np.uint8))
    generator, made = np.random.default_rng(seed), [values[:0]]
    at_once = MOST_WEIGHTS // (found.images + 1) + 1
    for start in range(0, replicates if found.images else 0, at_once):
        weights = _resampled(generator, min(at_once, replicates - start), found.images)
        made.append(_weighted(found, weights)[1])
    spans = [
        np.nanpercentile(column, [2.5, 97.5]) if not np.isnan(column).all() else (np.nan, np.nan)
        for column in np.concatenate(made).T
    ]  # fmt: skip
    return [
        PrecisionEstimate(float(value), float(low), float(high), int(n))
        for value, (low, high), n in zip(values[0], spans, people[0], strict=True)
    ]


def _resampled(generator: np.random.Generator, replicates: int, n: int) -> NDArray[np.uint8]:
    """How often each of n images is drawn in each resample; drawn in parts, which gives the same numbers."""
    weights = np.zeros((replicates, n), np.uint8)  # an image drawn 256 times would need 10^500 resamples
    for row in weights:
        for start in range(0, n, DRAWN_AT_ONCE):
            np.add.at(row, generator.integers(0, n, min(DRAWN_AT_ONCE, n - start)), 1)
    return weights


def _weighted(found: RankedDetections, weights: NDArray[np.uint8]) -> tuple[Array, Array]:
    """True boxes and average precision (resamples × groups) with images that count so many times."""
    groups, kinds = found.members.shape
    by_kind = np.zeros((len(weights), kinds))
    for image, kind in found.truths():
        for r, weight in enumerate(weights):
            by_kind[r] += np.bincount(kind, weight[image], minlength=kinds)
    truths = by_kind @ found.members.T.astype(np.float64)
    best = np.zeros((len(weights), groups, len(RECALLS)))
    hits_before, alarms_before = np.zeros((len(weights), groups)), np.zeros(len(weights))
    for image, kind in found.ranked():
        hit = kind >= 0
        alarms, before = image[~hit], np.cumsum(~hit)
        own = [np.flatnonzero(hit)[one[kind[hit]]] for one in found.members]
        places = [(before[at], image[at]) for at in own]
        for r, weight in enumerate(weights):
            wrong = alarms_before[r] + np.concatenate([[0.0], np.cumsum(weight[alarms], dtype=np.float64)])
            alarms_before[r] = wrong[-1]
            for g in np.flatnonzero(truths[r] > 0):
                # Precision falls at false positives alone, so its envelope is made of the values at hits.
                alarmed, images = places[g]
                if not len(images):
                    continue
                right = hits_before[r, g] + np.cumsum(weight[images], dtype=np.float64)
                hits_before[r, g] = right[-1]
                total = right + wrong[alarmed]
                precision = np.divide(right, total, out=np.zeros_like(right), where=total > 0)
                envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
                here = envelope[np.searchsorted(right / truths[r, g], RECALLS, side="left")]
                np.maximum(best[r, g], here, out=best[r, g])
    return truths, np.where(truths > 0, best.mean(axis=-1), np.nan)


def false_positives_per_image(hit: Bools, n_images: int) -> float:
    """Answers that hit nobody, for each image. No images: NaN.

    >>> false_positives_per_image(np.array([True, False, False]), 4)
    0.5
    """
    return float(np.count_nonzero(~hit) / n_images) if n_images else float("nan")
