"""Bias bounty: Score₁ (accuracy and disparity), randomness on non-faces, efficiency, Score₂.

The rubric of the Bias Buccaneers image recognition challenge (2022), where it contradicts itself in the reading
of docs/suites/bias_bounty.md.
"""

from countenance.suites.bias_bounty.rules.efficiency import efficiency
from countenance.suites.bias_bounty.rules.randomness import HONEST_PASS, Randomness, randomness, uniformity_p
from countenance.suites.bias_bounty.rules.score import (
    CLASS_COUNTS,
    MAXIMUM,
    accuracy,
    class_sums,
    confusion,
    disparity,
    fair_disparity,
    per_class_accuracy,
    score1,
    score2,
    scores_from_sums,
)

__all__ = [
    "CLASS_COUNTS",
    "HONEST_PASS",
    "MAXIMUM",
    "Randomness",
    "accuracy",
    "class_sums",
    "confusion",
    "disparity",
    "efficiency",
    "fair_disparity",
    "per_class_accuracy",
    "randomness",
    "score1",
    "score2",
    "scores_from_sums",
    "uniformity_p",
]
