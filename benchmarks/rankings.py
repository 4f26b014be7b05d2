"""Simulators of rankings and of the bias bounty's scores; the lines are part of `benchmarks/calibration.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import bounty_intervals as bounty
import numpy as np
from surfaces import ALARM, WIDE, SurfaceRow

import countenance as ct
from countenance.auditing.ranking import Ranking, numerical_bootstrap, rank_against_best, rank_paired
from countenance.suites.bias_bounty import rules
from countenance.suites.bias_bounty.scoring import SPREADS, Draws, degrees_of_freedom, score_intervals

Rng = np.random.Generator
SURFACE = "ranking"
SKIN_TONE, SCORE1 = 0, 3
"""Places of two of the scores that have intervals."""
PROFILES = {"even": "EVEN", "mixed": "MIXED", "one class fails": "UNEVEN"}


def _profile(name: str) -> bounty.Profile:
    return dict(getattr(bounty, PROFILES[name]))


@cache
def _expected(name: str) -> np.ndarray:
    """The mean of each score over many holdouts of the simulated size."""
    rng = np.random.default_rng(7)
    drawn = [bounty.holdout([_profile(name)], rng)[:, 0].sum(axis=0, keepdims=True) for _ in range(3000)]
    return np.asarray(rules.scores_from_sums(np.concatenate(drawn))[:, SPREADS].mean(axis=0))


def covers_score(name: str, place: int, tables: int, rng: Rng) -> float:
    """How often the interval of a score contains its expected value."""
    held = 0
    for _ in range(tables):
        sums = bounty.holdout([_profile(name)], rng)[:, 0]
        low, high = score_intervals(sums, Draws(replicates=500, seed=int(rng.integers(1 << 31))))[place]
        held += low <= _expected(name)[place] <= high
    return held / tables


def ranks_apart(rank: Callable[..., Ranking], entries: int, name: str, tables: int, rng: Rng) -> float:
    """How often some of several entries that are equally good are called different."""
    names = [f"entry {i}" for i in range(entries)]
    alarms = 0
    for _ in range(tables):
        sums = bounty.holdout([_profile(name)] * entries, rng)

        def scores(summed: np.ndarray) -> np.ndarray:
            return np.stack([rules.scores_from_sums(summed[:, i])[:, -1] for i in range(entries)], axis=1)

        estimates, drawn = numerical_bootstrap(sums, scores, draws=500, seed=int(rng.integers(1 << 31)))
        ranking = rank(names, estimates, drawn, df=degrees_of_freedom(sums[:, 0]))
        alarms += any(pair.decided for pair in ranking.pairs)
    return alarms / tables


def leaderboard_alarms(models: int, people: int, tables: int, rng: Rng) -> float:
    """How often `ct.leaderboard` gives models that are equally good different ranks."""
    who = np.repeat(np.arange(people), 3)
    alarms = 0
    for _ in range(tables):
        ease = rng.beta(9, 1, people)[who]
        entries = [
            {"sample": np.arange(len(who)), "identity": who, "ok": (rng.random(len(who)) < ease).astype(float)}
            for _ in range(models)
        ]
        board = ct.leaderboard(entries, metrics="ok", names=[f"model {i}" for i in range(models)])
        alarms += any(standing.rank > 1 for standing in board.ranking)
    return alarms / tables


def guesser_fails(classes: int, pictures: int, tables: int, rng: Rng) -> float:
    """How often a model that guesses evenly fails the randomness test of one attribute."""
    tests = [
        rules.randomness(rng.integers(0, classes, pictures), "skin_tone", classes, seed=i).passed for i in range(tables)
    ]
    return tests.count(False) / tables


def rows() -> Iterator[SurfaceRow]:
    """Every line about rankings and scores."""
    size = f"{bounty.PEOPLE} people with {bounty.SHOTS} pictures, {bounty.OTHERS} non-faces"
    for name in PROFILES:
        for place, what in ((SCORE1, "Score₁"), (SKIN_TONE, "disparity of skin tone")):
            share = partial(covers_score, name, place)
            yield SurfaceRow(SURFACE, "ranking", f"coverage of {what}: {name}, {size}", WIDE, share)
    for rank, entries in ((rank_paired, 2), (rank_paired, 4), (rank_against_best, 4)):
        share = partial(ranks_apart, rank, entries, "even")
        how = "all pairs" if rank is rank_paired else "against the best"
        yield SurfaceRow(SURFACE, "ranking", f"false alarms: {entries} equal entries, {how}, {size}", ALARM, share)
    for models, people in ((2, 60), (4, 200)):
        share = partial(leaderboard_alarms, models, people)
        name = f"false alarms: leaderboard of {models} equal models, {people} people with 3 pictures"
        yield SurfaceRow(SURFACE, "ranking", name, ALARM, share)
    for classes, pictures in ((10, 30), (10, 200), (2, 40)):
        share = partial(guesser_fails, classes, pictures)
        name = f"false alarms: randomness of an even guesser, {classes} classes, {pictures} pictures"
        yield SurfaceRow(SURFACE, "ranking", name, ALARM, share)
