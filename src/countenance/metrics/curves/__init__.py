"""Curves of open-set detection and recognition: FROC, DIR and O-ROC, from boxes and scores to points.

The steps are the same for every curve. Boxes become overlapping pairs (`pairs`), pairs become outcomes
(`outcomes`: a score for each face or probe that was found, and the scores of the false alarms), outcomes
become points (`rates`), and resampled images give the points a band (`bands`).
"""

from countenance.metrics.curves.bands import Band, ImageScores, band_of, resampled_rates
from countenance.metrics.curves.outcomes import (
    MISSED,
    Identification,
    ListedIdentities,
    best_detection,
    detection_outcomes,
    identification_outcomes,
    keep_last_label,
    match_one_to_one,
)
from countenance.metrics.curves.pairs import (
    challenge_overlap,
    corners,
    intersection_over_union,
    overlapping_pairs,
)
from countenance.metrics.curves.rates import (
    RateCurve,
    dir_curve,
    false_alarm_targets,
    froc_curve,
    per_image_curve,
    thresholds_at,
)

Curve, Labels = RateCurve, ListedIdentities  # former names, which stay importable

__all__ = [
    "MISSED",
    "Band",
    "Curve",
    "Identification",
    "ImageScores",
    "Labels",
    "ListedIdentities",
    "RateCurve",
    "band_of",
    "best_detection",
    "challenge_overlap",
    "corners",
    "detection_outcomes",
    "dir_curve",
    "false_alarm_targets",
    "froc_curve",
    "identification_outcomes",
    "intersection_over_union",
    "keep_last_label",
    "match_one_to_one",
    "overlapping_pairs",
    "per_image_curve",
    "resampled_rates",
    "thresholds_at",
]
