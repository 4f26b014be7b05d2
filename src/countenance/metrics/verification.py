"""Face verification: validation rate at a false acceptance rate, exact over all pairs; ROC and equal error rate.

Pairs are never materialised: similarities are computed block by block, and all results come from those of same pairs, a
histogram of those of different pairs, and the highest of these.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.pairs.roc import equal_error_rate
from countenance.metrics.pairs.tail import sure_cut
from countenance.metrics.pairs.vectors import reach_of

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BINS = 16_384
BLOCK = 512
SPARE = 64
"""Extra pairs that are compared in double precision, since single precision may swap neighbours."""
CELLS = 4_000_000
"""Numbers of a bootstrap that are in memory at once."""
PAIRS_PER_ALLOWED, EXTRA, FURTHER = 2, 256, 4
"""Different pairs kept: twice as many as the rate allows and some more; four times as many where a fold needs it."""


class Verification(NamedTuple):
    """The result of `validation_rate`. A pair is accepted if its similarity is above the threshold."""

    val: float
    low: float
    high: float
    threshold: float
    far: float
    """The false acceptance rate that the threshold has over all different pairs."""
    eer: float
    same_pairs: int
    different_pairs: int
    identities: int
    images: int
    sufficient: bool
    """Whether the different pairs can resolve the requested rate: at least 3 / rate of them."""
    roc_far: Array
    roc_val: Array


class Tail(NamedTuple):
    """All same-pair similarities, a histogram of the different pairs and the highest of them, best first."""

    same: Array
    same_identity: Ints
    different: Array
    first: Ints
    second: Ints
    histogram: Ints
    edges: Array


def pair_similarities(embeddings: Array, identity: Ints, keep: int) -> Tail:
    """Similarities (dot products) of all pairs; `keep` of the highest different-pair ones with their identities.

    Blocks are computed in single precision, which suffices to select pairs; the kept pairs are then computed in double
    precision.

    >>> tail = pair_similarities(np.eye(3), np.array([0, 0, 1]), 1)
    >>> tail.same, tail.different
    (array([0.]), array([0.]))
    """
    order = np.argsort(identity, kind="stable")
    rows, ids = np.ascontiguousarray(embeddings[order]), identity[order]
    coarse = rows.astype(np.float32)
    n = len(ids)
    ends = np.searchsorted(ids, ids, side="right")
    reach = reach_of(float((rows * rows).sum(axis=1).max(initial=0.0)))
    histogram, scale = np.zeros(BINS, dtype=np.int64), np.float32(BINS / (2 * reach))
    edges = np.linspace(-reach, reach, BINS + 1)
    own: list[tuple[Ints, Ints]] = []
    pairs: list[tuple[NDArray[np.float32], Ints, Ints]] = []
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        block = coarse[a:b] @ coarse[a:].T
        near = int(ends[b - 1]) - a  # columns that can hold genuine pairs
        column, row = np.arange(near)[None, :], np.arange(b - a)[:, None]
        upper, same_person = column > row, column < (ends[a:b] - a)[:, None]
        i, j = np.nonzero(upper & same_person)
        own.append((a + i, a + j))
        i, j = np.nonzero(upper & ~same_person)
        for values, first, second in (
            (block[i, j], a + i, a + j),
            (block[:, near:], None, None),
        ):
            if values.size == 0:
                continue
            level = ((values.ravel() + np.float32(reach)) * scale).astype(np.int32)
            histogram += np.bincount(level, minlength=BINS)
            cut = sure_cut(histogram, edges, keep)
            if first is None or second is None:
                p, q = np.nonzero(values >= cut)
                pairs.append((values[p, q], a + p, a + near + q))
            else:
                chosen = values >= cut
                pairs.append((values[chosen], first[chosen], second[chosen]))
    empty = np.zeros(0, dtype=np.int64)
    values = np.concatenate([k[0] for k in pairs]) if pairs else np.zeros(0, np.float32)
    first = np.concatenate([k[1] for k in pairs]) if pairs else empty
    second = np.concatenate([k[2] for k in pairs]) if pairs else empty
    compared = keep + SPARE
    some = np.argpartition(-values, compared)[:compared] if len(values) > compared else np.arange(len(values))
    first, second = first[some], second[some]
    exact = _dots(rows, first, second)
    best = np.argsort(-exact, kind="stable")[:keep]
    i = np.concatenate([pair[0] for pair in own]) if own else empty
    j = np.concatenate([pair[1] for pair in own]) if own else empty
    return Tail(_dots(rows, i, j), ids[i], exact[best], ids[first[best]], ids[second[best]], histogram, edges)


def _dots(rows: Array, first: Ints, second: Ints) -> Array:
    """The dot products of pairs of rows, some at a time."""
    out = np.empty(len(first))
    for a in range(0, len(first), BLOCK):
        part = slice(a, a + BLOCK)
        out[part] = np.einsum("ij,ij->i", rows[first[part]], rows[second[part]])
    return out


def validation_rate(
    embeddings: Array,
    identity: Ints,
    *,
    far: float = 1e-3,
    folds: int = 10,
    replicates: int = 2000,
    seed: int = 0,
) -> Verification:
    """Share of same pairs accepted at the largest threshold whose false acceptance rate is at most `far`.

    Exact over all pairs of the images given. Folds hold whole identities: the threshold for a person's pairs comes from
    different pairs in which neither person of that fold takes part. The interval is a cluster bootstrap over
    identities, with the threshold chosen again in each replicate. NaN without same or without different pairs.

    >>> points = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    >>> validation_rate(points, np.array([0, 0, 1, 1])).val
    1.0
    """
    names, identity = np.unique(identity, return_inverse=True)
    people = len(names)
    sizes = np.bincount(identity).astype(np.float64)
    different = int(_different(sizes))
    folds = min(folds, people)
    fold = np.random.default_rng(seed).permutation(people) % folds
    keep = PAIRS_PER_ALLOWED * int(far * different) + EXTRA
    while True:
        tail = pair_similarities(embeddings, identity, keep)
        thresholds = _fold_thresholds(tail, sizes, fold, folds, far)
        if not np.isnan(thresholds).any() or len(tail.different) >= different:
            break
        keep *= FURTHER
    n_same = len(tail.same)
    nan = float("nan")
    if not n_same or not different:
        empty = np.zeros(0)
        return Verification(nan, nan, nan, nan, nan, nan, n_same, different, people, len(identity), False, empty, empty)
    thresholds = np.where(np.isnan(thresholds), -np.inf, thresholds)
    accepted = tail.same > thresholds[fold[tail.same_identity]]
    overall = _threshold(tail.different, np.ones(len(tail.different)), different, far)
    rate = float(accepted.mean())
    low, high = _bootstrap(tail, sizes, far, replicates, seed)
    roc_far, roc_val = _roc(tail)
    return Verification(
        rate,
        min(low, rate),  # each fold has its own threshold; with few people no replicate may accept as many pairs
        max(high, rate),
        overall,
        float((tail.different > overall).sum() / different),
        equal_error_rate(roc_far, roc_val),
        n_same,
        different,
        people,
        len(identity),
        different >= 3 / far,
        roc_far,
        roc_val,
    )


def accepted_shares(embeddings: Array, identity: Ints, threshold: float) -> tuple[Array, Array]:
    """For each image the share of its same pairs, and of its different pairs, above one threshold for everybody.

    A share of no pairs is NaN.

    >>> genuine, impostor = accepted_shares(np.array([[1.0, 0], [1, 0], [0, 1]]), np.array([0, 0, 1]), 0.5)
    >>> genuine, impostor
    (array([ 1.,  1., nan]), array([0., 0., 0.]))
    """
    n = len(identity)
    genuine, impostor = np.full(n, np.nan), np.full(n, np.nan)
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        above = embeddings[a:b] @ embeddings.T > threshold
        same = identity[a:b, None] == identity[None, :]
        own = (above & same).sum(axis=1) - above[np.arange(b - a), np.arange(a, b)]
        pairs, others = same.sum(axis=1) - 1, (~same).sum(axis=1)
        np.divide(own, pairs, out=genuine[a:b], where=pairs > 0)
        np.divide((above & ~same).sum(axis=1), others, out=impostor[a:b], where=others > 0)
    return genuine, impostor


def _different(sizes: Array) -> float:
    return float((sizes.sum() ** 2 - (sizes * sizes).sum()) / 2)


def _threshold(ranked: Array, weights: Array, total: float, far: float) -> float:
    """The highest similarity that must be refused; NaN when the ranked ones do not reach that far."""
    over = np.cumsum(weights) > np.floor(far * total + 1e-9)
    return float(ranked[int(np.argmax(over))]) if over.any() else float("nan")


def _fold_thresholds(tail: Tail, sizes: Array, fold: Ints, folds: int, far: float) -> Array:
    out = np.empty(folds)
    for f in range(folds):
        others = fold != f
        if not others.any():  # one fold: nothing is left to train on
            others = np.ones_like(others)
        train = others[tail.first] & others[tail.second]
        total = _different(sizes[others])
        if total == 0:  # fewer than two people outside the fold: take all pairs
            train, total = np.ones(len(tail.first), dtype=bool), _different(sizes)
        out[f] = _threshold(tail.different[train], np.ones(int(train.sum())), total, far)
    return out


def _bootstrap(tail: Tail, sizes: Array, far: float, replicates: int, seed: int) -> tuple[float, float]:
    people = len(sizes)
    generator = np.random.default_rng([seed, 1])
    order = np.argsort(-tail.same, kind="stable")
    same, owner = tail.same[order], tail.same_identity[order]
    values = np.full(replicates, np.nan)
    step = CELLS // (len(tail.different) + len(same)) + 1
    for a in range(0, replicates, step):
        b = min(a + step, replicates)
        draws = generator.integers(0, people, (b - a, people)) + np.arange(b - a)[:, None] * people
        weight = np.bincount(draws.ravel(), minlength=(b - a) * people).reshape(b - a, people).astype(np.uint16)
        scaled = weight * sizes[None, :]
        total = (scaled.sum(axis=1) ** 2 - (scaled * scaled).sum(axis=1)) / 2
        allowed = np.floor(far * total + 1e-9)
        pairs = weight.take(tail.first, axis=1) * weight.take(tail.second, axis=1)
        impostors = np.cumsum(pairs, axis=1, dtype=np.int32)
        # The replicate's threshold is the first impostor beyond the allowance, or the last stored impostor.
        at = (impostors <= allowed[:, None]).sum(axis=1)
        threshold = tail.different[np.minimum(at, len(tail.different) - 1)]
        reach = np.searchsorted(-same, -threshold, side="left")
        genuine = np.cumsum(weight.take(owner, axis=1), axis=1, dtype=np.int32)
        whole = genuine[:, -1]
        hits = np.where(reach > 0, genuine[np.arange(b - a), reach - 1], 0.0)
        values[a:b] = np.divide(hits, whole, out=np.full(b - a, np.nan), where=(whole > 0) & (total > 0))
    if np.isnan(values).all():
        return float("nan"), float("nan")
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)


def _roc(tail: Tail) -> tuple[Array, Array]:
    different = np.cumsum(tail.histogram[::-1])
    ranked = np.sort(tail.same)
    val = 1 - np.searchsorted(ranked, tail.edges[:-1][::-1], side="left") / len(ranked)
    return np.append(0.0, different / tail.histogram.sum()), np.append(0.0, val)
