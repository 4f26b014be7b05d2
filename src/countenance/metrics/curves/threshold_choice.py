"""The choice of a threshold by a requested number of false alarms, and how reliable it is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.curves.rates import thresholds_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 500


@dataclass(frozen=True)
class ThresholdChoice:
    """A threshold with its result here, and on images that did not choose it."""

    threshold: float
    false_alarms: int
    threshold_low: float
    threshold_high: float
    """Where the threshold lies in 95 % of resamplings of the images."""
    elsewhere_low: float
    elsewhere_high: float
    """False alarms per allowed false alarm, on the half of the images that did not choose the threshold (95 %)."""

    @property
    def stable(self) -> bool:
        """Whether the threshold stays within half and double of the wanted number on other images."""
        return self.elsewhere_low >= 0.5 and self.elsewhere_high <= 2.0


def choose_threshold(
    negatives: Floats, image: Ints, images: int, alarms: float, *, rounds: int = ROUNDS, seed: int = 0
) -> ThresholdChoice:
    """The lowest threshold that at most `alarms` false alarms reach, with its stability.

    There is at least one false alarm; `image` is the image of each false alarm, as a number below `images`.

    >>> choose_threshold(np.linspace(0, 1, 101), np.arange(101), 101, 50, rounds=20).threshold
    0.51
    """
    order = np.argsort(-negatives, kind="stable")
    negatives, image = negatives[order], image[order]
    ends = _ends(negatives)
    threshold = float(thresholds_at(negatives, np.array([alarms]))[0])
    random = np.random.default_rng(seed)
    thresholds, elsewhere = [], []
    for _ in range(rounds):
        weight = np.bincount(random.integers(0, images, images), minlength=images)
        thresholds.append(_lowest(negatives, ends, weight[image], alarms))
        half = random.permutation(images) < images // 2
        inside = half[image]
        chosen = _lowest(negatives, ends, inside.astype(np.int64), alarms / 2)
        share = (images - images // 2) / images
        elsewhere.append(np.count_nonzero((negatives >= chosen) & ~inside) / (alarms * share))
    finite = [t for t in thresholds if np.isfinite(t)] or [threshold]
    moved, passing = (np.quantile(drawn, [0.025, 0.975]).tolist() for drawn in (finite, elsewhere))
    return ThresholdChoice(threshold, int(np.count_nonzero(negatives >= threshold)), *moved, *passing)


def _ends(falling: Floats) -> Ints:
    """The end of each run of equal scores."""
    return np.flatnonzero(np.append(falling[1:] != falling[:-1], True))


def _lowest(falling: Floats, ends: Ints, weight: Ints, alarms: float) -> float:
    index = int(np.searchsorted(np.cumsum(weight)[ends], alarms, side="right")) - 1
    if index < 0:
        return float(np.nextafter(falling[0], np.inf))
    return float(falling[ends[index]])
