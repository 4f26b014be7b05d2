"""Every number that the metrics name: what the methods define, and how much is worked on at once."""

import pytest
from tests.listed_numbers import constants, defaults

PUBLISHED = {
    "bounty.randomness.MULTIPLIERS": {"skin_tone": 1.3, "age": 1.2, "gender": 1.1},
    "bounty.randomness.ALPHA": 0.05, "bounty.randomness.TOO_EVEN": 0.999, "bounty.randomness.FEWEST_PER_CLASS": 5,
    "bounty.randomness.HONEST_PASS": pytest.approx(0.857375),
    "bounty.score.CLASS_COUNTS": {"skin_tone": 10, "age": 4, "gender": 2},
    "bounty.score.POWERS": {"skin_tone": 5, "age": 2, "gender": 1}, "bounty.score.MAXIMUM": 16,
    "boxes.AR_THRESHOLDS": [k / 100 for k in range(50, 100, 5)],
    "detection.RECALLS": pytest.approx([k / 100 for k in range(101)]),
    "equity.FOUR_FIFTHS": 0.8, "equity.SMALL_SHARE": 0.02, "equity_measures.WEIGHT": 0.5,
    "keypoints.COCO_SIGMAS": [.026, .025, .025, .035, .035, .079, .079, .072, .072, .062, .062, .107, .107, .087, .087,
                              .089, .089],
    "keypoints.PCK_THRESHOLDS": [.1, .2, .3, .4, .5, .6, .7, .8, .9],
    "parsing.LABELS": 256,
    "perceptual.SHIFT": [-.03, -.088, -.188], "perceptual.SCALE": [.458, .448, .45],
    "perceptual.LAYERS": ((64, 3, 11, 4, 2, False), (192, 64, 5, 1, 2, True), (384, 192, 3, 1, 1, True),
                          (256, 384, 3, 1, 1, False), (256, 256, 3, 1, 1, False)),
    "verification_strict.PAIR_SEED": 7789, "verification_strict.SHUFFLE_SEED": 11,
}  # fmt: skip
"""From papers, COCO, FHIBE and the bounty: another number would be another metric."""

CHOSEN = {
    "intervals.LEVEL": 0.95, "intervals.LEAST_DF": 3,
    "calibration.BINS": 10, "calibration.DRAWN": 200, "identification.REPLICATES": 500,
    "bounty.randomness.MONTE_CARLO": 99_999, "curves.threshold_choice.ROUNDS": 500,
    "hog.FINE": 4, "hog.ORIENTATIONS": 9, "hog.BLOCK": 2, "hog.CLIP": 0.2, "hog.PAD": 4,
    "hog._GREY": [.299, .587, .114],
    "readings.LARGEST_NORMALISED": 1.5, "readings.LARGEST_SHARE_OUTSIDE": 0.05,
    "reading_trials.NEAR_ZERO": 0.05, "reading_trials.WORTH_TRYING": 0.8, "reading_trials.WORTH_NAMING": 0.2,
    "reading_trials.MOST_OUTSIDE": 0.2, "reading_trials.MOST_TRIED": 500,
    "two_views.ROUNDS": 4, "two_views.LEAST": 0.005, "two_views.MOST": 0.5,
    "pairs.curves.POINTS": 61, "pairs.curves.LEAST_FMR": 1e-6, "pairs.curves.SUBSET": 2000, "pairs.curves.STREAM": 5,
    "pairs.equity.DRAWS": 1000, "pairs.equity.FEWEST": 200, "pairs.equity.LEAST_PEOPLE": 20, "pairs.equity.ALPHA": 0.05,
    "pairs.distributions.MOST": 200_000, "pairs.genuine.MOST": 1_000_000,
}  # fmt: skip
"""Ours: results move with them, so they are changed on purpose only."""

RESOLUTION = {
    "pairs.tail.BINS": 2**13, "pairs.tail.EXACT": 2**19, "verification.BINS": 2**14, "verification_bands.BINS": 2**10,
    "pairs.vectors.ROUNDING": 2**-23, "pairs.vectors.HALVES": 3e-6, "pairs.device_count.EXACT_COUNT": 2**24,
}  # fmt: skip
"""Bins of histograms, the rounding of single precision, and the largest number that it counts to."""

AT_ONCE = {
    "curves.outcomes.PIECE": 2**17, "curves.outcomes.ROUNDS": 16, "curves.pairs.BUDGET": 2**21,
    "detection.MOST_WEIGHTS": 2**25, "detection.DRAWN_AT_ONCE": 2**18, "identification.BLOCK": 512,
    "pairs.blocks.ROWS": 256, "pairs.blocks.COLUMNS": 4096, "pairs.vectors.CHUNK": 4096, "pairs.groups.FEW": 2**22,
    "pairs.comparisons.LEAST_KEPT": 2**22, "pairs.comparisons.MOST_KEPT": 2**23, "pairs.tail.SAMPLE": 2**22,
    "pairs.tail.TWICE": 2, "pairs.tail.EXTRA": 50, "pairs.comparisons.MORE": 1.05, "pairs.comparisons.EXTRA": 1000,
    "pairs.comparisons.FURTHER": 64,
    "pairs.equity.MOST_PAIRS": 2**22, "pairs.equity.MOST_STEPS": 200_000_000,
    "pairs.device.ROWS": 8192, "pairs.device.COLUMNS": 16_384, "pairs.device.WORTH": 10**9,
    "pairs.device_count.ROOM": 2**24, "pairs.device_count.MOST_BINS": 8192, "pairs.device_count.THREADS": 512,
    "pairs.device_count.GROUPS": 4,
    "topk.PROBES": 1024, "topk.GALLERY": 8192, "topk.FIRST": 128, "topk.WIDER": 3, "topk.FEW": 12,
    "verification.BLOCK": 512, "verification.SPARE": 64, "verification.CELLS": 4_000_000,
    "verification.KEPT": 2, "verification.EXTRA": 256, "verification.FURTHER": 4,
}  # fmt: skip
"""How much is worked on together, measured on 2 cores and on an H200; tests elsewhere make them small."""

MARKS = {"bounty.score.UNLABELLED": -1, "curves.outcomes.NOBODY": -1, "curves.outcomes.MISSED": -float("inf")}
"""Codes that stand for nothing."""


def test_numbers_of_the_methods_and_of_their_memory():
    assert constants("metrics") == {**PUBLISHED, **CHOSEN, **RESOLUTION, **AT_ONCE, **MARKS}


def test_what_functions_do_when_nothing_is_said():
    found = defaults("metrics")
    seeds = found.pop("seed")
    assert seeds.pop("draw_pairs") == 7789 and seeds.pop("shuffled") == 11 and set(seeds.values()) == {0}
    assert found.pop("replicates") == {
        "average_precisions": 1000, "bootstrap_interval": 500, "fair_disparity": 10_000, "roc_bands": 500,
        "uniformity_p": 99_999, "validation_rate": 2000,
    }  # fmt: skip
    assert found.pop("most") == {
        "estimate_mix_rate": 0.5, "learn": 0.5, "genuine_pairs": 1_000_000, "impostor_scores": 200_000,
        "reading_note": 3, "step": 500,
    }  # fmt: skip
    assert found.pop("share") == {"Influence": 1.0, "small_categories": 0.02}
    assert found == {
        "alpha": 0.5, "deff": 1.0, "epsilon": 1e-8, "far": 1e-3, "far_target": 1e-3, "fmr": 0.0, "folds": 10,
        "icc": 0.0, "k": 10, "labels": 256, "level": 0.95, "limit": 3000, "narrower": 1.0, "number": 0,
        "numbers": False, "overlap": 0.5, "parts": 1, "points": 60, "rank": 1, "rounds": 500, "strict": False,
        "strict_rubric": False, "top": 1.0, "used": 1, "window": 7,
        "count": 0, "held": 0,
    }  # fmt: skip
