"""Face verification as FHIBE published it: drawn pairs, contiguous folds, a threshold grid that narrows.

Kept for comparison with published numbers; `verification` holds the measure to use. Each deviation is deliberate: the
grid of thresholds found in one fold replaces the grid of all later folds, and with few different pairs the rate tends
to 0.
"""

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

PAIR_SEED, SHUFFLE_SEED = 7789, 11


def draw_pairs(
    names: Sequence[str], people: Sequence[str], limit: int = 3000, seed: int = PAIR_SEED
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Up to `limit` same and different pairs, drawn from the sorted lists of name pairs, as row numbers.

    The draw depends on the lists' lengths only, so positions are drawn and turned into pairs without building the
    lists.

    >>> draw_pairs(["b", "a", "c"], ["x", "x", "y"])
    ([(1, 0)], [(0, 2), (1, 2)])
    """
    generator = random.Random(seed)  # noqa: S311 - the published draw, not a secret
    if len(set(names)) < len(names):
        return _draw_from_lists(names, people, limit, generator)
    order = sorted(range(len(names)), key=names.__getitem__)
    _, code = np.unique(np.array(people, dtype=object).astype(str), return_inverse=True)
    code = code[order]
    n = len(order)
    after_same = np.zeros(n, dtype=np.int64)
    members: dict[int, list[int]] = {}
    for i in range(n):
        members.setdefault(int(code[i]), []).append(i)
    for group in members.values():
        after_same[group] = np.arange(len(group))[::-1]
    after_different = np.arange(n)[::-1] - after_same
    same_ends, different_ends = np.cumsum(after_same), np.cumsum(after_different)
    n_same, n_different = int(after_same.sum()), int(after_different.sum())

    def same_pair(position: int) -> tuple[int, int]:
        i = int(np.searchsorted(same_ends, position, side="right"))
        nth = position - int(same_ends[i] - after_same[i])
        group = members[int(code[i])]
        return order[i], order[group[group.index(i) + 1 + nth]]

    def different_pair(position: int) -> tuple[int, int]:
        i = int(np.searchsorted(different_ends, position, side="right"))
        nth = position - int(different_ends[i] - after_different[i])
        j = i + 1 + nth
        for skip in members[int(code[i])]:
            if i < skip <= j:
                j += 1
        return order[i], order[j]

    same = [same_pair(p) for p in generator.sample(range(n_same), min(limit, n_same))]
    different = [different_pair(p) for p in generator.sample(range(n_different), min(limit, n_different))]
    return same, different


def _draw_from_lists(
    names: Sequence[str], people: Sequence[str], limit: int, generator: random.Random
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The same draw as `draw_pairs`, from complete lists, for names that occur more than once."""
    row = {name: i for i, name in enumerate(names)}
    same: set[tuple[str, str]] = set()
    different: set[tuple[str, str]] = set()
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            pair = (min(names[i], names[j]), max(names[i], names[j]))
            (same if people[i] == people[j] else different).add(pair)
    drawn = [generator.sample(sorted(pairs), min(limit, len(pairs))) for pairs in (same, different)]
    return [(row[a], row[b]) for a, b in drawn[0]], [(row[a], row[b]) for a, b in drawn[1]]


def shuffled(n: int, seed: int = SHUFFLE_SEED) -> list[int]:
    """The published order of `n` pairs.

    >>> sorted(shuffled(4))
    [0, 1, 2, 3]
    """
    positions = list(range(n))
    random.Random(seed).shuffle(positions)  # noqa: S311 - the published order, not a secret
    return positions


def fold_validation_rate(
    distance: Array, same: Bools, far_target: float = 1e-3, folds: int = 10, thresholds: Array | None = None
) -> tuple[float, float, float]:
    """Mean and population deviation of the validation rate over folds, and the mean false acceptance rate.

    >>> fold_validation_rate(np.array([-0.99, 0.16]), np.array([True, False]), folds=2)
    (0.0, 0.0, 0.0)
    """
    grid = np.arange(-1, 1, 0.001) if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    n = len(distance)
    bounds = np.concatenate([[0], np.cumsum(n // folds + (np.arange(folds) < n % folds))])
    val, far = np.full(folds, np.nan), np.full(folds, np.nan)
    for fold in range(folds):
        test = np.zeros(n, dtype=bool)
        test[bounds[fold] : bounds[fold + 1]] = True
        threshold = 0.0
        negatives = np.sort(distance[~test & ~same])
        if len(negatives):
            rate = np.searchsorted(negatives, grid, side="left") / len(negatives)
            if rate.max() >= far_target and rate.min() <= far_target:
                rate, first = np.unique(rate, return_index=True)
                grid = grid[first]
                threshold = _interpolate(rate, grid, far_target)
        accepted = distance[test] < threshold
        truth = same[test]
        if truth.any():
            val[fold] = np.count_nonzero(accepted & truth) / np.count_nonzero(truth)
        if not truth.all():
            far[fold] = np.count_nonzero(accepted & ~truth) / np.count_nonzero(~truth)
    return float(np.nanmean(val)), float(np.nanstd(val)), float(np.nanmean(far))


def _interpolate(rate: Array, grid: Array, at: float) -> float:
    """The grid's value where the (sorted) rate reaches `at`, on a straight line between neighbours."""
    if len(rate) == 1:
        return float(grid[0])
    i = int(np.clip(np.searchsorted(rate, at, side="right") - 1, 0, len(rate) - 2))
    share = (at - rate[i]) / (rate[i + 1] - rate[i])
    return float(grid[i] * (1 - share) + grid[i + 1] * share)


def rates_of_pairs(
    embeddings: Array, same: list[tuple[int, int]], different: list[tuple[int, int]]
) -> tuple[float, float, float, int]:
    """The published number for drawn pairs: mean, deviation, false acceptance rate and folds.

    A row of NaN (a face that could not be aligned) is never accepted, and counts.

    >>> rates_of_pairs(np.eye(3), [(0, 0)], [(0, 1)])
    (1.0, 0.0, 0.0, 2)
    """
    pairs = np.array(same + different, dtype=np.int64).reshape(len(same) + len(different), 2)
    distance = -(embeddings[pairs[:, 0]] * embeddings[pairs[:, 1]]).sum(axis=1)
    order = shuffled(len(pairs))
    is_same = np.arange(len(pairs)) < len(same)
    folds = min(len(pairs), 10)
    val, deviation, far = fold_validation_rate(distance[order], is_same[order], folds=folds)
    return val, deviation, far, folds
