"""Choosing a threshold for an open set: the wanted number of false identifications, and how far it can be trusted."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from countenance.audit.estimates import interval
from countenance.audit.sums import clustered
from countenance.errors import InputError
from countenance.metrics.curves import thresholds_at
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.lines import Floats, Ints

ROUNDS = 500


@dataclass(frozen=True)
class ScoreCalibration:
    """A threshold with what it does here, and what it does on images that did not choose it."""

    wanted: float
    """False alarms asked for, over all images."""
    threshold: float
    false_alarms: int
    found: int
    total: int
    threshold_low: float
    threshold_high: float
    """Where the threshold lies in 95 % of resamplings of the images."""
    elsewhere_low: float
    elsewhere_high: float
    """False alarms for every one wanted, on the half of the images that did not choose the threshold (95 %)."""
    rate_low: float
    rate_high: float

    @property
    def stable(self) -> bool:
        """On other images the threshold keeps within half and double of what was asked for."""
        return self.elsewhere_low >= 0.5 and self.elsewhere_high <= 2.0

    def sentences(self, what: str = "false identifications") -> list[str]:
        """The calibration in words."""
        rate = self.found / self.total
        trust = (
            "The threshold is stable."
            if self.stable
            else "The threshold is not stable: ask for more false alarms, or calibrate on more images."
        )
        return [
            f"Threshold {self.threshold:.6g}: {self.false_alarms} {what} here ({self.wanted:g} were allowed), "
            f"{self.found} of {self.total} found ({rate:.3f}; "
            f"95 % interval {self.rate_low:.3f} to {self.rate_high:.3f}).",
            "Drawing the images again moves the threshold between "
            f"{self.threshold_low:.6g} and {self.threshold_high:.6g}.",
            f"On images that did not choose it, a threshold gives {self.elsewhere_low:.2f} to "
            f"{self.elsewhere_high:.2f} times the {what} that were asked for (95 % of random halves).",
            trust,
        ]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"stable": self.stable}


def calibrate(evaluation: UccsEvaluation, wanted: float, *, rounds: int = ROUNDS, seed: int = 0) -> ScoreCalibration:
    """The threshold for a wanted number of false alarms over all images, with its stability."""
    n = len(evaluation.negatives)
    if not 0 < wanted <= max(n, 1):
        raise InputError(
            f"{wanted:g} false identifications asked for, expected more than 0 and at most {n} (all there are)"
        )
    if n == 0:
        raise InputError(f"{evaluation.label}: no false alarm at all, so no threshold can be chosen by their number")
    order = np.argsort(-evaluation.negatives, kind="stable")  # once: what is in order already is sorted fast
    negatives, negative_image = evaluation.negatives[order], evaluation.negative_image[order]
    threshold = float(thresholds_at(negatives, np.array([wanted]))[0])
    hit = evaluation.hit(threshold)
    random = np.random.default_rng(seed)
    images = len(evaluation.protocol.images)
    thresholds, elsewhere = [], []
    for _ in range(rounds):
        weight = np.bincount(random.integers(0, images, images), minlength=images)
        thresholds.append(weighted_threshold(negatives, weight[negative_image], wanted))
        half = random.permutation(images) < images // 2
        inside = half[negative_image]
        chosen = weighted_threshold(negatives, inside.astype(np.int64), wanted / 2)
        share = (images - images // 2) / images
        elsewhere.append(np.count_nonzero((negatives >= chosen) & ~inside) / (wanted * share))
    finite = [t for t in thresholds if np.isfinite(t)] or [threshold]
    moved, passing = (np.quantile(drawn, [0.025, 0.975]).tolist() for drawn in (finite, elsewhere))
    low, high, _ = interval(clustered(hit.astype(np.float64), evaluation.unit_image), "rate")
    return ScoreCalibration(
        float(wanted), threshold, int(np.count_nonzero(negatives >= threshold)), int(hit.sum()), evaluation.total,
        threshold_low=moved[0], threshold_high=moved[1], elsewhere_low=passing[0], elsewhere_high=passing[1],
        rate_low=low, rate_high=high,
    )  # fmt: skip


def weighted_threshold(negatives: Floats, weight: Ints, wanted: float) -> float:
    """The lowest threshold that at most `wanted` of the weighted negatives reach."""
    order = np.argsort(-negatives, kind="stable")
    scores, passed = negatives[order], np.cumsum(weight[order])
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    index = int(np.searchsorted(passed[ends], wanted, side="right")) - 1
    if index < 0:
        return float(np.nextafter(scores[0], np.inf))
    return float(scores[ends[index]])
