"""Numbers that results rest on: what a function does when nothing is said, and the limits of the method."""

import importlib
import inspect
import pkgutil

import pytest

import countenance.metrics
from countenance.metrics import (
    boxes,
    calibration,
    detection,
    equity,
    equity_measures,
    identification,
    images,
    intervals,
    perceptual,
    reading_trials,
    readings,
    topk,
    two_views,
)
from countenance.metrics.bounty import score
from countenance.metrics.pairs import comparisons, curves, distributions, genuine, tail, vectors
from countenance.metrics.pairs import equity as pairs_equity

randomness = importlib.import_module("countenance.metrics.bounty.randomness")  # the package has a function of that name


def functions():
    for found in pkgutil.walk_packages(countenance.metrics.__path__, "countenance.metrics."):
        module = importlib.import_module(found.name)
        for one in vars(module).values():
            members = vars(one).values() if inspect.isclass(one) else [one]
            for member in members:
                member = getattr(member, "__func__", member)
                if inspect.isfunction(member) and member.__module__ == found.name:
                    yield member


DEFAULTS = {
    "seed": {0, 7789, 11},
    "level": {0.95},
    "rounds": {500},
    "strict": {False},
    "numbers": {False},
    "strict_rubric": {False},
    "icc": {0.0},
    "alpha": {0.5},
    "share": {0.02, 1.0},
    "used": {1},
    "window": {7},
    "epsilon": {1e-8},
    "far": {1e-3},
    "far_target": {1e-3},
    "folds": {10},
    "limit": {3000},
    "points": {60},
    "k": {10},
    "deff": {1.0},
    "fmr": {0.0},
    "number": {0},
    "overlap": {0.5},
    "top": {1.0},
}
"""By the name of a parameter, what it is when a caller does not say."""


def test_what_functions_do_when_nothing_is_said():
    found = {}
    for function in functions():
        for name, parameter in inspect.signature(function).parameters.items():
            if isinstance(parameter.default, int | float):
                found.setdefault(name, set()).add(parameter.default)
    assert {name: found.get(name) for name in DEFAULTS} == DEFAULTS
    assert found["replicates"] == {500, 1000, 2000, 10_000, 99_999}


@pytest.mark.parametrize(
    ("function", "replicates"),
    [
        (detection.average_precisions, 1000),
        (calibration.bootstrap_interval, 500), (score.fair_disparity, 10_000), (randomness.uniformity_p, 99_999),
    ],
)  # fmt: skip
def test_how_often_people_are_drawn_again(function, replicates):
    assert inspect.signature(function).parameters["replicates"].default == replicates


def test_the_most_that_is_shown_and_the_least_that_is_compared():
    assert inspect.signature(reading_trials.reading_note).parameters["most"].default == 3
    assert inspect.signature(reading_trials.step).parameters["most"].default == 500
    assert inspect.signature(genuine.genuine_pairs).parameters["most"].default == genuine.MOST == 1_000_000
    assert inspect.signature(distributions.impostor_scores).parameters["most"].default == 200_000
    assert inspect.signature(topk.cosine_top_k).parameters["k"].default == 10


def test_numbers_of_the_method():
    assert (intervals.LEVEL, intervals.LEAST_DF) == (0.95, 3)
    assert (calibration.BINS, calibration.DRAWN, identification.REPLICATES) == (10, 200, 500)
    assert (equity.FOUR_FIFTHS, equity.SMALL_SHARE, equity_measures.WEIGHT) == (0.8, 0.02, 0.5)
    assert (readings.LARGEST_NORMALISED, readings.LARGEST_SHARE_OUTSIDE) == (1.5, 0.05)
    limits = (reading_trials.NEAR_ZERO, reading_trials.WORTH_TRYING, reading_trials.WORTH_NAMING)
    assert (*limits, reading_trials.MOST_OUTSIDE, reading_trials.MOST_TRIED) == (0.05, 0.8, 0.2, 0.2, 500)
    assert (two_views.ROUNDS, two_views.LEAST, two_views.MOST) == (4, 0.005, 0.5)
    assert (curves.POINTS, curves.LEAST_FMR, curves.SUBSET) == (61, 1e-6, 2000)
    assert (tail.BINS, tail.EXACT) == (2**13, 2**19)
    assert (comparisons.LEAST_KEPT, comparisons.MOST_KEPT) == (2**22, 2**23)
    assert (pairs_equity.DRAWS, pairs_equity.FEWEST, pairs_equity.LEAST_PEOPLE) == (1000, 200, 20)
    assert (pairs_equity.MOST_PAIRS, pairs_equity.MOST_STEPS, pairs_equity.ALPHA) == (2**22, 200_000_000, 0.05)
    assert 2e-6 < vectors.HALVES < 5e-6 and vectors.ROUNDING == 2**-23
    assert (boxes.AR_THRESHOLDS * 100).round(9).tolist() == list(range(50, 100, 5))
    assert detection.RECALLS.tolist() == pytest.approx([k / 100 for k in range(101)])


def test_numbers_of_the_bounty():
    assert dict(score.CLASS_COUNTS) == {"skin_tone": 10, "age": 4, "gender": 2}
    assert dict(score.POWERS) == {"skin_tone": 5, "age": 2, "gender": 1} and score.MAXIMUM == 16
    assert randomness.MULTIPLIERS == {"skin_tone": 1.3, "age": 1.2, "gender": 1.1}
    assert (randomness.ALPHA, randomness.TOO_EVEN, randomness.FEWEST_PER_CLASS) == (0.05, 0.999, 5)
    assert pytest.approx(0.857375) == randomness.HONEST_PASS


def test_numbers_of_lpips():
    assert perceptual.SHIFT.tolist() == pytest.approx([-0.03, -0.088, -0.188])
    assert perceptual.SCALE.tolist() == pytest.approx([0.458, 0.448, 0.45])
    assert perceptual.LAYERS == (
        (64, 3, 11, 4, 2, False), (192, 64, 5, 1, 2, True), (384, 192, 3, 1, 1, True), (256, 384, 3, 1, 1, False),
        (256, 256, 3, 1, 1, False),
    )  # fmt: skip
    assert inspect.signature(images.ssim).parameters["window"].default == 7
