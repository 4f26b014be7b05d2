"""Two binary classifiers ("heads") that look at different features of the same items.

The module assigns heads to questions, gives the accuracy of the worse head, finds where they disagree, and trains both
on unlabelled items by expectation and maximisation: the two features agree with probability 1 − r, where the mix rate r
is always estimated.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from countenance.suites.happyfaces.formulas.kernel_ridge import Platt, Ridge, fit_platt, fit_ridge, soft_targets

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROUNDS = 4
LEAST, MOST = 0.005, 0.5

Learnt = Callable[[Floats], Floats]
"""A head after EM: a function from the kernel between new and training items to probabilities."""


def assign_heads(predicted: Bools, truth: Bools) -> tuple[int, int]:
    """Which head is about the first question and which about the second: the better of the two ways.

    Both arrays are items × 2. The better way has the higher worst-head accuracy, then the higher mean.

    >>> truth = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    >>> assign_heads(truth[:, ::-1], truth)
    (1, 0)
    """

    def value(ways: tuple[int, int]) -> tuple[float, float]:
        right = predicted[:, ways] == truth
        return float(right.mean(0).min()), float(right.mean())

    return max(((0, 1), (1, 0)), key=value)


def worst_head(predicted: Bools, truth: Bools) -> float:
    """Accuracy of the worse head, heads assigned to questions in the better of the two ways; NaN without items.

    >>> truth = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    >>> worst_head(truth, truth), worst_head(truth[:, [1, 1]], truth)
    (1.0, 0.5)
    """
    if not len(truth):
        return float("nan")
    return float((predicted[:, assign_heads(predicted, truth)] == truth).mean(0).min())


def disagreement(probabilities: Floats) -> Floats:
    """The probability that the two heads' answers differ, p₁(1 − p₂) + (1 − p₁)p₂, for each item.

    >>> disagreement(np.array([[1.0, 0.0], [0.5, 0.5], [0.9, 0.9]])).round(2)
    array([1.  , 0.5 , 0.18])
    """
    first, second = probabilities[:, 0], probabilities[:, 1]
    return np.asarray(first * (1 - second) + (1 - first) * second)


def posteriors(first: Floats, second: Floats, mix_rate: float) -> tuple[Floats, float]:
    """Posterior of each feature, q(f, t) ∝ p₁(f) p₂(t) [(1 − r) if f = t else r], and the expected disagreement.

    >>> q, disagree = posteriors(np.array([0.9]), np.array([0.5]), 0.1)
    >>> q.round(2), round(disagree, 2)
    (array([[0.9 , 0.82]]), 0.1)
    """
    both, neither = first * second * (1 - mix_rate), (1 - first) * (1 - second) * (1 - mix_rate)
    first_only, other = first * (1 - second) * mix_rate, (1 - first) * second * mix_rate
    whole = both + neither + first_only + other
    q = np.stack([(both + first_only) / whole, (both + other) / whole], 1)
    return q, float(((first_only + other) / whole).mean())


def estimate_mix_rate(
    first: Floats, second: Floats, start: float, most: float = MOST, known: tuple[int, int] = (0, 0)
) -> float:
    """The mix rate that equals the disagreement it implies, at least .005 and at most `most`.

    `known` are the items of the same draw with known truth: how many disagree, and their number.

    >>> unsure = np.full(10, 0.5)
    >>> estimate_mix_rate(unsure, unsure, 0.1), round(estimate_mix_rate(unsure, unsure, 0.1, known=(5, 10)), 2)
    (0.1, 0.5)
    """
    rate, (crossed, count) = start, known
    for _ in range(200):
        _, disagree = posteriors(first, second, rate)
        new = float(np.clip((disagree * len(first) + crossed) / (len(first) + count), LEAST, most))
        if abs(new - rate) < 1e-6:
            break
        rate = new
    return rate


def learn(
    kernels: Sequence[Floats],
    labels: Sequence[NDArray[np.int64]],
    ridges: Sequence[float],
    most: float = MOST,
    labelled_first: int | None = None,
) -> tuple[list[Learnt], float]:
    """Both heads and the mix rate: fit on labelled items, then `ROUNDS` times on unlabelled posteriors as well.

    Each kernel is over labelled items first, unlabelled ones after; `labels` are each head's labels of the former.
    Posteriors come from leave-one-out scores, so that no item confirms its own guess.

    The first `labelled_first` labelled items (default: all) were labelled from the start; the others are unlabelled
    items with answers, asked about because they are hard. Scores become probabilities by the former alone, since hard
    items would flatten the scale and move the threshold. The mix rate is that of all unlabelled items,
    including the hard ones: these mostly disagree, and without them the rest would seem to agree.
    """
    n, rate = len(labels[0]), 0.1
    m = n if labelled_first is None else labelled_first
    known = int((labels[0][m:] != labels[1][m:]).sum()), n - m
    hard = [np.where(own == 1, 1.0, -1.0) for own in labels]
    targets, soft = hard, [soft_targets(own[:m]) for own in labels]
    for _ in range(ROUNDS + 1):
        fits = [
            fit_ridge(kernel[: len(target), : len(target)], target, ridge)
            for kernel, target, ridge in zip(kernels, targets, ridges, strict=True)
        ]
        platts = [fit_platt(ridge.left_out[:m], own) for ridge, own in zip(fits, soft, strict=True)]
        scores = [ridge.left_out[n:] for ridge in fits]
        if targets is hard:
            scores = [ridge.score(kernel[n:, :n]) for ridge, kernel in zip(fits, kernels, strict=True)]
        first, second = (platt(score) for platt, score in zip(platts, scores, strict=True))
        rate = estimate_mix_rate(first, second, rate, most, known)
        q, _ = posteriors(first, second, rate)
        targets = [np.concatenate([own, 2 * guess - 1]) for own, guess in zip(hard, q.T, strict=True)]
    return [_head(*pair) for pair in zip(fits, platts, strict=True)], rate


def _head(ridge: Ridge, platt: Platt) -> Learnt:
    return lambda kernel: platt(ridge.score(kernel))
