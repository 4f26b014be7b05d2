"""Candidates for slices, made on the search half alone: values to depth three, clusters, a shallow tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing._dist import both, tail
from countenance.auditing.table import Array
from countenance.discovering.rows import FEWEST_PEOPLE, Literal, SearchRows

DEEPEST = 3
BEAM = 30
"""How many slices of one depth are refined further."""
MOST = 10
"""The most candidates that are tested on the other half."""
LOOKED_AT = 80
ALIKE = 0.6
"""If two slices overlap by this much, only the better one is tested."""
SMALLEST = 1e-100
"""Vectors of smaller numbers, or of larger ones than its inverse, are scaled."""
DIMENSIONS, CLUSTERS, LEAVES, LEAF_ROWS = 16, 25, 12, 60


@dataclass(frozen=True)
class Candidate:
    """A slice: which rows are in it, and the values that define it, if any do."""

    rows: Array
    literals: tuple[Literal, ...] = ()
    found_by: str = "attributes"


def clustered(badness: Array, inside: Array, people: Array, *, one_sided: bool) -> tuple[float, float, float, int]:
    """Difference, standard error, p and people of the rows inside against the others, clustered by person."""
    owners = np.unique(people[inside])
    if len(owners) < 2 or inside.all():
        return 0.0, np.inf, 1.0, len(owners)
    size = int(people.max()) + 1
    means = badness[inside].mean(), badness[~inside].mean()
    f = np.where(inside, (badness - means[0]) / inside.sum(), -(badness - means[1]) / (~inside).sum())
    error = float(np.sqrt((np.bincount(people, f, size) ** 2).sum() * len(owners) / (len(owners) - 1)))
    gap = float(means[0] - means[1])
    if not error > 0:
        return gap, error, 1.0, len(owners)
    t = gap / error
    p = tail(t, len(owners) - 1) if one_sided else both(t, len(owners) - 1)
    return gap, error, float(p), len(owners)


def candidates(rows: SearchRows, embeddings: Array | None, seed: int) -> list[Candidate]:
    """At most ten slices that do worst on the search half, none much like another."""
    here = rows.search
    badness, people = rows.badness[here], rows.people[here]
    one_sided = rows.better is not None
    every = _lattice(rows)
    if embeddings is not None:
        every += _of_embeddings(rows, embeddings, seed)
    scored = []
    for candidate in every:
        inside = candidate.rows[here]
        _, _, p, owners = clustered(badness, inside, people, one_sided=one_sided)
        if owners >= FEWEST_PEOPLE and p < 0.5:
            scored.append((p, len(candidate.literals), candidate))
    scored.sort(key=lambda item: (item[0], item[1]))
    chosen: list[Candidate] = []
    for _, _, candidate in scored:
        inside = candidate.rows[here]
        if all((inside & other.rows[here]).sum() <= ALIKE * (inside | other.rows[here]).sum() for other in chosen):
            chosen.append(candidate)
        if len(chosen) == MOST:
            break
    return chosen


def _scores(masks: Array, badness: Array, *, one_sided: bool) -> Array:
    """How far the rows of each mask are from the rest, in standard errors of independent rows."""
    n = masks.sum(1)
    total = masks @ badness
    rest = len(badness) - n
    spread = badness.std() or 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = total / n - (badness.sum() - total) / rest
        z = gap / (spread * np.sqrt(1 / n + 1 / rest))
    z = np.where((n >= FEWEST_PEOPLE) & (rest >= FEWEST_PEOPLE), z, -np.inf)
    return z if one_sided else np.where(np.isfinite(z), np.abs(z), -np.inf)


def _lattice(rows: SearchRows) -> list[Candidate]:
    """Values, and intersections of up to three, extending the best of each depth."""
    if not rows.literals:
        return []
    here, one_sided = rows.search, rows.better is not None
    badness = rows.badness[here]
    single = np.array([literal.rows[here] for literal in rows.literals])
    names = [literal.attribute for literal in rows.literals]
    level: list[tuple[int, ...]] = [(i,) for i in range(len(single))]
    scores = _scores(single.astype(np.float64), badness, one_sided=one_sided)
    best = {chosen: float(z) for chosen, z in zip(level, scores, strict=True) if np.isfinite(z)}
    for _ in range(DEEPEST - 1):
        top = sorted((c for c in best if len(c) == len(level[0])), key=lambda c: -best[c])[:BEAM]
        if not top:
            break
        deeper: dict[tuple[int, ...], float] = {}
        for chosen in top:
            mask = np.asarray(np.logical_and.reduce(single[list(chosen)]))
            further = [i for i in range(len(single)) if names[i] not in {names[c] for c in chosen}]
            if not further:
                continue
            z = _scores((single[further] & mask).astype(np.float64), badness, one_sided=one_sided)
            deeper |= {tuple(sorted((*chosen, i))): float(v) for i, v in zip(further, z, strict=True) if np.isfinite(v)}
        best |= deeper
        level = list(deeper) or level
        if not deeper:
            break
    top = sorted(best, key=lambda c: -best[c])[:LOOKED_AT]
    return [
        Candidate(
            np.asarray(np.logical_and.reduce([rows.literals[i].rows for i in chosen])),
            tuple(rows.literals[i] for i in chosen),
        )
        for chosen in top
    ]


def _of_embeddings(rows: SearchRows, embeddings: Array, seed: int) -> list[Candidate]:
    """Clusters and leaves of a shallow tree, over the first principal components of the search half."""
    known: Array = np.asarray(np.isfinite(embeddings).all(1))
    here = rows.search & known
    if here.sum() < 2 * LEAF_ROWS:
        return []
    largest = float(np.abs(embeddings[known]).max())
    if not SMALLEST < largest < 1 / SMALLEST and largest > 0:  # squares of them would not be numbers
        embeddings = embeddings / largest
    mean = embeddings[here].mean(0)
    centred = np.where(known[:, None], embeddings - mean, 0.0)
    axes = np.linalg.svd(centred[here].T @ centred[here], hermitian=True)[0][:, :DIMENSIONS]
    points = centred @ axes
    rng = np.random.default_rng([seed, 41])
    clusters = []
    centres = k_means(points[here], min(CLUSTERS, int(here.sum()) // LEAF_ROWS), rng)
    nearest = _nearest(points, centres)
    clusters += [Candidate((nearest == k) & known, found_by="clusters") for k in range(len(centres))]
    leaves = _leaves(points, rows.badness, here)
    return clusters + [Candidate(leaf & known, found_by="tree") for leaf in leaves]


def _nearest(points: Array, centres: Array) -> Array:
    distance = (centres**2).sum(1) - 2 * points @ centres.T
    return np.asarray(distance.argmin(1))


def k_means(points: Array, count: int, rng: np.random.Generator, starts: int = 3, steps: int = 40) -> Array:
    """Centres of clusters: seeded far apart, moved to their means; the tightest of several starts.

    >>> k_means(np.array([[0.0], [0.1], [9.0], [9.1]]), 2, np.random.default_rng(0)).round(2).ravel().tolist()
    [9.05, 0.05]
    """
    best, tightest = points[:1], np.inf
    for _ in range(starts):
        centres = points[[rng.integers(len(points))]]
        distance = ((points - centres[0]) ** 2).sum(1)
        while len(centres) < count and distance.sum() > 0:
            centres = np.concatenate([centres, points[[rng.choice(len(points), p=distance / distance.sum())]]])
            distance = np.minimum(distance, ((points - centres[-1]) ** 2).sum(1))
        for _ in range(steps):
            nearest = _nearest(points, centres)
            size = np.bincount(nearest, minlength=len(centres))
            moved = np.column_stack([np.bincount(nearest, column, len(centres)) for column in points.T])
            moved = np.where(size[:, None] > 0, moved / np.maximum(size, 1)[:, None], centres)
            if np.allclose(moved, centres):
                break
            centres = moved
        cost = float(((points - centres[_nearest(points, centres)]) ** 2).sum())
        if cost < tightest:
            best, tightest = centres, cost
    return best


def _leaves(points: Array, badness: Array, here: Array) -> list[Array]:
    """The leaves of a regression tree grown on the search half, the best split first, as masks of all rows."""
    leaves = [(np.ones(len(points), dtype=bool), _split(points, badness, here))]
    while len(leaves) < LEAVES:
        place = max(range(len(leaves)), key=lambda i: leaves[i][1][0])
        mask, (gain, axis, cut) = leaves[place]
        if gain <= 0:
            break
        low = mask & (points[:, axis] <= cut)
        high = mask & (points[:, axis] > cut)
        leaves[place : place + 1] = [
            (low, _split(points, badness, here & low)),
            (high, _split(points, badness, here & high)),
        ]
    return [mask for mask, _ in leaves] if len(leaves) > 1 else []


def _split(points: Array, badness: Array, rows: Array) -> tuple[float, int, float]:
    """The best cut of some rows: how much it gains, the axis and the place."""
    x, y = points[rows], badness[rows]
    best = (0.0, 0, 0.0)
    if len(y) < 2 * LEAF_ROWS:
        return best
    total, n = y.sum(), np.arange(1, len(y))
    inside = slice(LEAF_ROWS - 1, len(y) - LEAF_ROWS)
    for axis in range(x.shape[1]):
        order = np.argsort(x[:, axis], kind="stable")
        left = np.cumsum(y[order])[:-1]
        gain = left**2 / n + (total - left) ** 2 / (len(y) - n) - total**2 / len(y)
        gain = gain[inside]
        if len(gain) and float(gain.max()) > best[0] + 1e-12:
            place = int(gain.argmax()) + LEAF_ROWS - 1
            best = (float(gain.max()), axis, float(x[order[place], axis]))
    return best


def lifts(rows: SearchRows, inside: Array, most: int = 3) -> list[tuple[Literal, float, float]]:
    """The values that are more frequent in a slice of the search half than outside: share in it, and in the rest."""
    here = rows.search
    lifted = []
    for literal in rows.literals:
        own, rest = literal.rows[here & inside].mean(), literal.rows[here & ~inside].mean()
        if own >= 0.4 and own > 1.3 * rest + 0.05:
            lifted.append((literal, float(own), float(rest)))
    lifted.sort(key=lambda item: -(item[1] - item[2]))
    return lifted[:most]


def described(rows: SearchRows, candidate: Candidate, number: int) -> str:
    """A slice in words: the values that define it, or those most over-represented in it."""
    if candidate.literals:
        return " and ".join(literal.words for literal in candidate.literals)
    named: Sequence[tuple[Literal, float, float]] = lifts(rows, candidate.rows)
    if not named:
        return f"pictures that look alike ({candidate.found_by} {number})"
    shares = ", ".join(f"{literal.words} ({own:.0%} against {rest:.0%})" for literal, own, rest in named)
    return f"pictures that look alike, mostly {shares}"
