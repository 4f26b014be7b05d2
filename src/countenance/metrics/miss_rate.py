"""The log-average miss rate of detectors of people, MR⁻² (Dollár et al., Pedestrian Detection, PAMI 34, 2012).

The share of people missed is taken at nine numbers of false positives per image, evenly spaced in the logarithm from
.01 to 1, and averaged geometrically. A detection in an ignore region, or on somebody who is not counted, is neither
right nor wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.detection import MOST_WEIGHTS, RankedDetections, resampled_images
from countenance.metrics.localization import hits

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
FALSE_POSITIVES: Array = np.logspace(-2, 0, 9)
"""The false positives per image at which the miss rate is taken."""
SMALLEST = 1e-10
"""What stands for a miss rate of 0, which has no logarithm."""
IGNORED, NOBODY = -2, -1
SLACK = 1.25
"""Detections are kept that are higher or lower than the requested heights by up to this factor."""


class MissRate(NamedTuple):
    """The log-average miss rate of a group with its 95 % interval, its number of people, and the curve behind it."""

    value: float
    low: float
    high: float
    n: int
    curve: Array
    """The miss rate at each of `FALSE_POSITIVES`."""


def log_average(misses: Array) -> Array:
    """The geometric mean over the last axis.

    >>> log_average(np.array([0.25, 1.0]))
    np.float64(0.5)
    """
    return np.exp(np.log(np.maximum(misses, SMALLEST)).mean(axis=-1))  # type: ignore[no-any-return]


def assigned(truth: Array, ignored: Array, boxes: Array, scores: Array) -> Ints:
    """What each box of one image finds: the number of a true box, `NOBODY` (a false positive), or `IGNORED`.

    A box that finds nobody, and of which half or more lies in an ignored box, is ignored; one ignored box may hold
    many.

    >>> person, crowd = np.array([[0, 0, 4, 8.0]]), np.array([[10, 0, 30, 10.0]])
    >>> assigned(person, crowd, np.array([[0, 0, 4, 8], [12, 1, 16, 9], [50, 0, 54, 8.0]]), np.array([0.9, 0.8, 0.7]))
    array([ 0, -2, -1])
    """
    person = hits(truth, np.zeros(len(truth), np.int64), boxes, scores, np.array([len(boxes)]))
    if len(ignored) and len(boxes):
        person[(person == NOBODY) & (covered(boxes, ignored) >= 0.5)] = IGNORED
    return person


def covered(boxes: Array, regions: Array) -> Array:
    """The largest share of each box that lies in one of the regions; a box without area has 0.

    >>> covered(np.array([[0, 0, 2, 2.0]]), np.array([[1, 0, 9, 9.0]]))
    array([0.5])
    """
    low = np.maximum(boxes[:, None, :2], regions[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], regions[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(axis=-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(axis=-1)[:, None]
    shares = np.divide(both, area, out=np.zeros_like(both), where=area > 0)
    return np.asarray(shares.max(axis=1, initial=0.0))


def heights(boxes: Array) -> Array:
    """The height of each box."""
    return np.asarray(boxes[:, 3] - boxes[:, 1])


def log_average_miss_rates(detections: RankedDetections, *, replicates: int = 1000, seed: int = 0) -> list[MissRate]:
    """The log-average miss rate of each group, with intervals from resampling whole images.

    Detections that find somebody of another group are left out; false positives count for every group. No people: NaN.

    >>> ranked, truths = (np.array([0, 1]), np.array([0, -1])), (np.array([0, 1]), np.array([0, 0]))
    >>> shares = np.ones((1, 1))
    >>> two = RankedDetections(2, lambda: iter([ranked]), lambda: iter([truths]), shares.astype(bool), shares)
    >>> log_average_miss_rates(two, replicates=20)[0].curve
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    people, curves = _curves(detections, np.ones((1, detections.images), np.uint8))
    generator, drawn = np.random.default_rng(seed), [log_average(curves)[:0]]
    at_once = MOST_WEIGHTS // (detections.images + 1) + 1
    for start in range(0, replicates if detections.images else 0, at_once):
        weights = resampled_images(generator, min(at_once, replicates - start), detections.images)
        drawn.append(log_average(_curves(detections, weights)[1]))
    spans = [
        np.nanpercentile(column, [2.5, 97.5]) if not np.isnan(column).all() else (np.nan, np.nan)
        for column in np.concatenate(drawn).T
    ]
    return [
        MissRate(float(log_average(curve)), float(low), float(high), int(n), curve)
        for curve, (low, high), n in zip(curves[0], spans, people[0], strict=True)
    ]


def _curves(detections: RankedDetections, weights: NDArray[np.uint8]) -> tuple[Array, Array]:
    """Numbers of people (resamples × groups) and miss rates (resamples × groups × points) with these weights of
    images."""
    kinds = detections.members.shape[1]
    people = np.zeros((len(weights), kinds))
    for image, kind in detections.truths():
        for r, weight in enumerate(weights):
            people[r] += np.bincount(kind, weight[image], minlength=kinds)
    limits = FALSE_POSITIVES * weights.sum(axis=1, dtype=np.float64)[:, None] + 1e-9
    right = np.zeros((len(weights), len(FALSE_POSITIVES), kinds))
    alarms = np.zeros(len(weights))
    for image, kind in detections.ranked():
        if (alarms > limits[:, -1]).all():  # predictions after this many false positives are on no curve
            break
        hit = kind >= 0
        for r, weight in enumerate(weights if len(image) else ()):
            own = weight[image].astype(np.float64)
            wrong = alarms[r] + np.cumsum(own * ~hit)
            alarms[r] = wrong[-1]
            for k, cut in enumerate(np.searchsorted(wrong, limits[r], side="right")):
                chosen = hit[:cut]
                right[r, k] += np.bincount(kind[:cut][chosen], own[:cut][chosen], minlength=kinds)
    groups = detections.members.T.astype(np.float64)
    of_group, of_people = right @ groups, people @ groups
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = of_group.transpose(0, 2, 1) / of_people[:, :, None]
    return of_people, np.where(of_people[:, :, None] > 0, 1 - shares, np.nan)
