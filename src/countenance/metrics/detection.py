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


@dataclass(frozen=True)
class RankedDetections:
    """The input of average precision by group, a block at a time, so that it need not fit into memory."""

    images: int
    ranked: Callable[[], Iterator[tuple[Ints, Ints]]]
    """Predicted boxes, best score first: the image of each, and which kind of true box it finds.

    One that finds nobody has -1 in an image without people, and -1 - k where column k of `shares` tells who is there.
    """
    truths: Callable[[], Iterator[tuple[Ints, Ints]]]
    """True boxes in any order: the image and the kind of each."""
    members: Bools
    """Groups × kinds: which kinds belong to which group."""
    shares: Array
    """Groups × company: the group's share of the people in an image. Column 0, for images without people, is not read:
    there the group's share of all people counts."""


@dataclass(frozen=True)
class PrecisionEstimate:
    """Average precision of a group with its 95 % interval, and the number of its true boxes."""

    value: float
    low: float
    high: float
    n: int


def average_precisions(
    detections: RankedDetections, *, replicates: int = 1000, seed: int = 0
) -> list[PrecisionEstimate]:
    """COCO's average precision of each group, with intervals from resampling whole images.

    Boxes that find somebody of another group are left out. A false positive counts by the group's share of the people
    in its image, without people by the group's share of all people, so that groups which are found equally well have
    equal values whatever their sizes. People in one image are found or missed together, and all groups share the
    resamples. No truth: NaN. Memory: a byte an image and resample, for as many resamples at once as `MOST_WEIGHTS`
    allows, and the blocks. Time: false positives of one image between two hits are added up once, before images are
    resampled, so a model that predicts 200,000 boxes for every image costs little more than one that predicts a few.

    >>> ranked, truths = (np.array([0, 1]), np.array([0, -1])), (np.array([0, 1]), np.array([0, 0]))
    >>> shares = np.ones((1, 1))
    >>> two = RankedDetections(2, lambda: iter([ranked]), lambda: iter([truths]), shares.astype(bool), shares)
    >>> average_precisions(two, replicates=20)[0].n
    2
    """
    people, values = _weighted(detections, np.ones((1, detections.images), np.uint8))
    generator, resampled = np.random.default_rng(seed), [values[:0]]
    at_once = MOST_WEIGHTS // (detections.images + 1) + 1
    for start in range(0, replicates if detections.images else 0, at_once):
        weights = resampled_images(generator, min(at_once, replicates - start), detections.images)
        resampled.append(_weighted(detections, weights)[1])
    spans = [
        np.nanpercentile(column, [2.5, 97.5]) if not np.isnan(column).all() else (np.nan, np.nan)
        for column in np.concatenate(resampled).T
    ]
    return [
        PrecisionEstimate(float(value), float(low), float(high), int(n))
        for value, (low, high), n in zip(values[0], spans, people[0], strict=True)
    ]


def resampled_images(generator: np.random.Generator, replicates: int, n: int) -> NDArray[np.uint8]:
    """How often each of n images is drawn in each resample; drawn in parts, which gives the same numbers."""
    weights = np.zeros((replicates, n), np.uint8)  # an image drawn 256 times would need 10^500 resamples
    for row in weights:
        for start in range(0, n, DRAWN_AT_ONCE):
            np.add.at(row, generator.integers(0, n, min(DRAWN_AT_ONCE, n - start)), 1)
    return weights


def _weighted(detections: RankedDetections, weights: NDArray[np.uint8]) -> tuple[Array, Array]:
    """True boxes and average precision (resamples × groups) with these weights of images."""
    groups, kinds = detections.members.shape
    by_kind = np.zeros((len(weights), kinds))
    for image, kind in detections.truths():
        for r, weight in enumerate(weights):
            by_kind[r] += np.bincount(kind, weight[image], minlength=kinds)
    truths = by_kind @ detections.members.T.astype(np.float64)
    everybody = by_kind.sum(axis=1)
    best = np.zeros((len(weights), groups, len(RECALLS)))
    hits_before, alarms_before = np.zeros((2, len(weights), groups))
    empty_before = np.zeros(len(weights))
    for image, kind in detections.ranked():
        block = _Block.of(image, kind)
        own = [
            _Own.of(block, member, share) for member, share in zip(detections.members, detections.shares, strict=True)
        ]
        for r, weight in enumerate(weights):
            without_people = empty_before[r] + _running(weight[block.empty.image] * block.empty.count)
            empty_before[r] = without_people[-1]
            for g in np.flatnonzero(truths[r] > 0):
                group = own[g]
                wrong = alarms_before[r, g] + _running(weight[group.alarms] * group.shares)
                alarms_before[r, g] = wrong[-1]
                if not len(group.hits):
                    continue
                # Precision falls at false positives alone, so its envelope is made of the values at hits.
                right = hits_before[r, g] + np.cumsum(weight[group.hits], dtype=np.float64)
                hits_before[r, g] = right[-1]
                others = without_people[group.empty_before] * (truths[r, g] / everybody[r])
                total = right + (wrong[group.alarms_before] + others)
                precision = np.divide(right, total, out=np.zeros_like(right), where=total > 0)
                envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
                here = envelope[np.searchsorted(right / truths[r, g], RECALLS, side="left")]
                np.maximum(best[r, g], here, out=best[r, g])
    return truths, np.where(truths > 0, best.mean(axis=-1), np.nan)


@dataclass(frozen=True)
class _Alarms:
    """False positives of a block, added up by image between each hit and the next."""

    gap: Ints
    """The number of hits of any group before them; it never falls."""
    image: Ints
    kind: Ints
    count: Array

    @classmethod
    def of(cls, chosen: Bools, gap: Ints, image: Ints, kind: Ints) -> "_Alarms":
        gap, image, kind = gap[chosen], image[chosen], kind[chosen]
        key = gap.astype(np.int64) * (int(image.max(initial=0)) + 1) + image
        _, first, count = np.unique(key, return_index=True, return_counts=True)
        return cls(gap[first], image[first], kind[first], count.astype(np.float64))


@dataclass(frozen=True)
class _Block:
    """A block of predicted boxes: those that find somebody, and false positives beside people and without any."""

    hit_image: Ints
    hit_kind: Ints
    beside: _Alarms
    empty: _Alarms

    @classmethod
    def of(cls, image: Ints, kind: Ints) -> "_Block":
        hit = kind >= 0
        gap = np.cumsum(hit)
        beside, empty = (_Alarms.of(chosen, gap, image, kind) for chosen in (kind < -1, kind == -1))
        return cls(image[hit], kind[hit], beside, empty)


@dataclass(frozen=True)
class _Own:
    """The boxes that count for one group in a block of predicted boxes."""

    hits: Ints
    """The images of boxes that find somebody of the group."""
    alarms: Ints
    """The images of false positives beside people of the group."""
    shares: Array
    """What each of these counts."""
    alarms_before: Ints
    """For each hit, the number of these before it."""
    empty_before: Ints
    """For each hit, the number of sums of false positives in images without people before it."""

    @classmethod
    def of(cls, block: _Block, member: Bools, share: Array) -> "_Own":
        hit = np.flatnonzero(member[block.hit_kind])
        counted = share[-1 - block.beside.kind] * block.beside.count
        own = counted > 0
        alarms_before = np.searchsorted(block.beside.gap[own], hit, side="right")
        empty_before = np.searchsorted(block.empty.gap, hit, side="right")
        return cls(block.hit_image[hit], block.beside.image[own], counted[own], alarms_before, empty_before)


def _running(values: NDArray[Any]) -> Array:
    """Running sums of the first 0, 1, 2, … values."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
