"""Scores of a whole set that are no means of rows (a challenge's points): a pair of a ranking as a change."""

from __future__ import annotations

from countenance.auditing.ranking import Ranking
from countenance.comparing.result import BETTER, CANNOT_TELL, WORSE, Change


def change_of(ranking: Ranking, metric: str, a: str, b: str, *, n: int, clusters: int) -> Change:
    """How a score changed from `a` to `b`; higher is better, and differences are b - a whoever is ahead.

    >>> import numpy as np
    >>> from countenance.auditing.ranking import rank_paired
    >>> draws = np.random.default_rng(0).normal(size=(500, 2))
    >>> change = change_of(rank_paired(["x", "y"], np.array([5.0, 4.0]), draws), "points", "x", "y", n=9, clusters=9)
    >>> change.difference, change.low < -1.0 < change.high, change.verdict
    (-1.0, True, 'cannot tell')
    """
    pair = ranking.pair(a, b)
    values = dict(zip(ranking.names, ranking.estimates, strict=True))
    difference, low, high = pair.difference, pair.low, pair.high
    if pair.better != b:
        difference, low, high = -difference, -high, -low
    way = BETTER if difference > 0 else WORSE if difference < 0 else ""
    return Change(
        metric=metric,
        a=a,
        b=b,
        n=n,
        clusters=clusters,
        estimate_a=values[a],
        estimate_b=values[b],
        difference=difference,
        low=low,
        high=high,
        p=pair.p,
        p_adjusted=pair.adjusted,
        verdict=way if pair.decided and way else CANNOT_TELL,
        direction=way,
        better="higher",
        kind="score",
        test="paired numerical bootstrap",
    )
