"""Open-set identification: each probe is searched in a gallery of people, block by block.

A probe of somebody in the gallery is identified when that person has the highest score and the score reaches the
threshold. A probe of anybody else causes a false alarm when any score reaches it. A person's score is the best of their
gallery pictures. Equal scores count against the model.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.intervals import LEVEL
from countenance.metrics.pairs.blocks import Step
from countenance.metrics.pairs.comparisons import between
from countenance.metrics.pairs.influence import RateBand
from countenance.metrics.pairs.vectors import Array, Ints

BLOCK = 512
REPLICATES = 500


class Search(NamedTuple):
    """The result of searching the gallery, for each probe."""

    own: Array
    """The score of the probe's own person; -inf where that person is not in the gallery."""
    other: Array
    """The highest score of anybody else."""
    candidate: Ints
    """The person with that score, as a code of the gallery; -1 in a gallery of nobody else."""
    rank: Ints
    """The place of the probe's own person among all candidates, from 1; 0 where that person is not in the gallery."""


def search(
    probes: NDArray[Any],
    person: Ints,
    gallery: NDArray[Any],
    owner: Ints,
    similarity: str = "cosine",
    step: Step | None = None,
) -> Search:
    """Search probes in a gallery; `person` and `owner` are codes of the same people.

    >>> ranks = search(np.array([[1.0, 0.1]]), np.array([7]), np.eye(2), np.array([7, 8]))
    >>> int(ranks.rank[0]), ranks.own.round(3), int(ranks.candidate[0])
    (1, array([0.995]), 8)
    """
    order = np.argsort(owner, kind="stable")
    people, starts = np.unique(owner[order], return_index=True)
    right = _ready(gallery[order], similarity)
    n = len(probes)
    own, other = np.full(n, -np.inf), np.empty(n)
    candidate, rank = np.empty(n, np.int64), np.zeros(n, np.int64)
    for a in range(0, n, BLOCK):
        here = slice(a, min(a + BLOCK, n))
        left = _ready(probes[here], similarity)
        scores = left @ right.T
        if similarity == "euclidean":
            scores = 2 * scores - (left**2).sum(axis=1)[:, None] - (right**2).sum(axis=1)[None, :]
        best = np.maximum.reduceat(scores, starts, axis=1)
        place = np.searchsorted(people, person[here])
        row = np.flatnonzero(people[np.minimum(place, len(people) - 1)] == person[here])
        mine = best[row, place[row]].copy()
        best[row, place[row]] = -np.inf
        own[a + row], rank[a + row] = mine, 1 + (best[row] >= mine[:, None]).sum(axis=1)
        top = best.argmax(axis=1)
        other[here] = best[np.arange(len(best)), top]
        candidate[here] = np.where(np.isfinite(other[here]), people[top], -1)
        if step is not None:
            step(len(best))
    return Search(own, other, candidate, rank)


def _ready(rows: NDArray[Any], similarity: str) -> Array:
    values = np.asarray(rows, dtype=np.float64)
    if similarity != "cosine":
        return values
    length = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(length > 0, length, 1.0))


def threshold_at(alarms: Array, fpir: float) -> float:
    """The smallest threshold that at most a share `fpir` of the probes of unknown people reach.

    >>> threshold_at(np.array([0.1, 0.2, 0.3, 0.5]), 0.25)
    0.4
    """
    falling = np.sort(alarms)[::-1]
    allowed = int(fpir * len(falling) + 1e-9)
    if allowed >= len(falling):
        return -np.inf
    refused = float(falling[allowed])
    above = falling[falling > refused]
    if not np.isfinite(refused):
        return float(above[-1]) if len(above) else 0.0
    return between(refused, float(above[-1]) if len(above) else np.inf)


def open_set_curve(
    hits: Array,
    hit_person: Ints,
    alarms: Array,
    alarm_person: Ints,
    fpir: Array,
    *,
    seed: int = 0,
    level: float = LEVEL,
) -> RateBand:
    """FNIR at each FPIR with a band over people drawn again (known and unknown ones apart).

    `hits` are the scores of probes whose own person is ranked first, -inf for all other probes of known people;
    `alarms` the highest scores of probes of unknown people.
    """
    value = np.array([float((hits < threshold_at(alarms, float(rate))).mean()) for rate in fpir])
    ordered, falling = np.argsort(hits), np.argsort(-alarms)
    random, drawn = np.random.default_rng([seed, 11]), np.empty((REPLICATES, len(fpir)))
    known, unknown = (np.unique(codes, return_inverse=True)[1] for codes in (hit_person, alarm_person))
    for k in range(REPLICATES):
        known_weights, unknown_weights = (_weights(random, codes) for codes in (known, unknown))
        below = np.append(0.0, np.cumsum(known_weights[ordered]))
        reach = np.cumsum(unknown_weights[falling])
        place = np.searchsorted(reach, fpir * reach[-1] + 1e-9, side="right")  # the highest score that is refused
        last = np.minimum(place, len(alarms) - 1)
        refused = np.where(place < len(alarms), alarms[falling][last], -np.inf)
        drawn[k] = below[np.searchsorted(hits[ordered], refused, side="right")] / below[-1]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RateBand(value, np.minimum(low, value), np.maximum(high, value))


def _weights(random: np.random.Generator, codes: Ints) -> Array:
    people = int(codes.max()) + 1
    return np.bincount(random.integers(0, people, people), minlength=people).astype(np.float64)[codes]
