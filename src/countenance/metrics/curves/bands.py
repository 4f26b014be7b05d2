"""How far a curve would move with other images: a bootstrap over images."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from countenance.metrics.curves.pairs import Floats, Ints


@dataclass(frozen=True)
class Band:
    """Lower and upper limits of y at each x of a curve."""

    x: Floats
    low: Floats
    high: Floats


class ImageScores(NamedTuple):
    """Scores, and the image that each comes from."""

    score: Floats
    image: Ints


def band_of(rates: Floats, targets: Floats, level: float = 0.95) -> Band:
    """Percentile limits of the rate at each number of false alarms, from the rates of `resampled_rates`.

    >>> units = ImageScores(np.array([0.9, 0.8, 0.1]), np.array([0, 1, 2]))
    >>> alarms, targets = ImageScores(np.array([0.5]), np.array([2])), np.array([1.0])
    >>> band = band_of(resampled_rates(units, alarms, images=3, targets=targets, rounds=50), targets)
    >>> bool(band.low[0] <= 1 <= band.high[0])
    True
    """
    tail = (1 - level) / 2
    drawn = rates[~np.isnan(rates).any(axis=1)]
    if not len(drawn):
        nothing = np.full(len(targets), np.nan)
        return Band(targets, nothing, nothing)
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return Band(targets, low, high)


def resampled_rates(
    hits: ImageScores,
    alarms: ImageScores,
    *,
    images: int,
    targets: Floats,
    rounds: int = 500,
    seed: int = 0,
    strict: bool = False,
) -> Floats:
    """The rate at each number of false alarms (columns) in each draw of the images (rows); NaN where nobody was drawn.

    Faces of one image share light, blur and crowd, so the image is what is drawn, with replacement. `targets` are
    numbers of false alarms. `strict`: a target that even the highest false alarm exceeds counts as a rate of 0, as in
    FROC. The draws depend on `images` and `seed` alone, so two evaluations of the same images can be compared draw by
    draw.

    >>> units, alarms = ImageScores(np.array([0.9, 0.1]), np.array([0, 1])), ImageScores(np.array([0.5]), np.array([0]))
    >>> resampled_rates(units, alarms, images=2, targets=np.array([9.0]), rounds=3)
    array([[1.], [1.], [1.]])
    """
    random = np.random.default_rng(seed)
    order = np.argsort(-alarms.score, kind="stable")
    negatives, negative_image = alarms.score[order], alarms.image[order]
    ends = np.flatnonzero(
        np.append(negatives[1:] != negatives[:-1], True)[: negatives.size]
    )  # the last of equal scores
    distinct = negatives[ends]
    order = np.argsort(-hits.score, kind="stable")
    units, unit_image = hits.score[order], hits.image[order]
    # How many units reach each distinct threshold; without a threshold, all that were detected.
    reach = np.searchsorted(-units, -distinct, side="right")
    detected = int(np.count_nonzero(units > -np.inf))
    strictest = 0 if strict else int(np.count_nonzero(units > distinct[0])) if distinct.size else detected
    rates = np.full((rounds, len(targets)), np.nan)
    for r in range(rounds):
        weight = np.bincount(random.integers(0, images, images), minlength=images)
        unit_weight = np.concatenate([[0], np.cumsum(weight[unit_image])])
        if not unit_weight[-1]:
            continue
        passed = np.cumsum(weight[negative_image])[ends]
        index = np.searchsorted(passed, targets, side="right") - 1
        upto = np.where(index >= 0, np.append(reach, 0)[index], strictest)
        upto = np.where(targets >= (passed[-1] if passed.size else 0), detected, upto)
        rates[r] = unit_weight[upto] / unit_weight[-1]
    return rates
