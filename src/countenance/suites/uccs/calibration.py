"""Chooses a threshold for an open set, for a number of false identifications, and measures its stability."""

from dataclasses import dataclass
from typing import Any

from countenance.errors import InputError
from countenance.metrics.curves.threshold_choice import ROUNDS, ThresholdChoice, choose_threshold
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.operating import EVERYBODY, json_fields, shares


@dataclass(frozen=True, kw_only=True)
class ScoreCalibration(ThresholdChoice):
    """A threshold for this many false alarms over all images, its stability, and the faces that it finds."""

    allowed: float
    hits: int
    total: int
    rate_low: float
    rate_high: float

    def sentences(self, what: str = "false identifications") -> list[str]:
        """The calibration in words."""
        rate = self.hits / self.total
        trust = (
            "The threshold is stable."
            if self.stable
            else "The threshold is not stable: ask for more false alarms, or calibrate on more images."
        )
        return [
            f"Threshold {self.threshold:.6g}: {self.false_alarms} {what} here ({self.allowed:g} were allowed), "
            f"{self.hits} of {self.total} found ({rate:.3f}; "
            f"95 % interval {self.rate_low:.3f} to {self.rate_high:.3f}).",
            "Drawing the images again moves the threshold between "
            f"{self.threshold_low:.6g} and {self.threshold_high:.6g}.",
            f"On images that did not choose it, a threshold gives {self.elsewhere_low:.2f} to "
            f"{self.elsewhere_high:.2f} times the requested {what} (95 % of random halves).",
            trust,
        ]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `countenance uccs calibrate`."""
        return json_fields(self) | {"stable": self.stable}


def calibrate(evaluation: UccsEvaluation, allowed: float, *, rounds: int = ROUNDS, seed: int = 0) -> ScoreCalibration:
    """The threshold for a number of false alarms over all images, with its stability."""
    n, images = len(evaluation.negatives), len(evaluation.protocol.images)
    if not 0 < allowed <= max(n, 1):
        raise InputError(
            f"{allowed:g} false identifications requested, expected more than 0 and at most {n} (all there are)"
        )
    if n == 0:
        raise InputError(f"{evaluation.label}: no false alarm at all, so no threshold can be chosen by their number")
    negatives, image = evaluation.negatives, evaluation.negative_image
    chosen = choose_threshold(negatives, image, images, allowed, rounds=rounds, seed=seed)
    hit = evaluation.hit(chosen.threshold)
    share = shares(evaluation, [hit])[0][EVERYBODY, EVERYBODY]
    return ScoreCalibration(
        **vars(chosen),
        allowed=float(allowed),
        hits=int(hit.sum()),
        total=evaluation.total,
        rate_low=share.low,
        rate_high=share.high,
    )
