"""Step e: both heads learn from the unlabelled photos by expectation and maximisation.

A photo's two features agree with probability 1 − r; r, the mix rate, is estimated and never given.
"""

from collections.abc import Callable, Sequence

import numpy as np

from countenance.suites.happyfaces.interface import Floats, Labels
from countenance.suites.happyfaces.spatial.ridge import Platt, Ridge, fit_platt, fit_ridge, soft_targets

ROUNDS = 4
LEAST, MOST = 0.005, 0.5


Learnt = Callable[[Floats], Floats]
"""A head after EM: the kernel of new photos with all that were learnt from, to their probabilities."""


def posteriors(first: Floats, second: Floats, mix_rate: float) -> tuple[Floats, float]:
    """Posterior of each feature, q(f, t) ∝ p₁(f) p₂(t) [(1 − r) if f = t else r], and the expected disagreement.

    >>> q, disagree = posteriors(np.array([0.9]), np.array([0.5]), 0.1)
    >>> q.round(2), round(disagree, 2)
    (array([[0.9 , 0.82]]), 0.1)
    """
    both, neither = first * second * (1 - mix_rate), (1 - first) * (1 - second) * (1 - mix_rate)
    one, other = first * (1 - second) * mix_rate, (1 - first) * second * mix_rate
    whole = both + neither + one + other
    q = np.stack([(both + one) / whole, (both + other) / whole], 1)
    return q, float(((one + other) / whole).mean())


def estimate_mix_rate(first: Floats, second: Floats, start: float, most: float = MOST) -> float:
    """The mix rate that equals the disagreement it implies, at least .005 and at most `most`."""
    rate = start
    for _ in range(200):
        _, disagree = posteriors(first, second, rate)
        new = float(np.clip(disagree, LEAST, most))
        if abs(new - rate) < 1e-6:
            break
        rate = new
    return rate


def learn(
    kernels: Sequence[Floats], labels: Sequence[Labels], ridges: Sequence[float], most: float = MOST
) -> tuple[list[Learnt], float]:
    """Both heads and the mix rate: fit on labelled photos, then `ROUNDS` times on unlabelled posteriors as well.

    Each kernel is over labelled photos first, unlabelled ones after; `labels` are each head's labels of the former.
    Posteriors come from leave-one-out scores, so that no photo confirms its own guess.
    """
    n, rate = len(labels[0]), 0.1
    hard = [np.where(own == 1, 1.0, -1.0) for own in labels]
    targets, soft = hard, [soft_targets(own) for own in labels]
    for _ in range(ROUNDS + 1):
        fits = [
            fit_ridge(kernel[: len(target), : len(target)], target, ridge)
            for kernel, target, ridge in zip(kernels, targets, ridges, strict=True)
        ]
        platts = [fit_platt(ridge.left_out[:n], own) for ridge, own in zip(fits, soft, strict=True)]
        scores = [ridge.left_out[n:] for ridge in fits]
        if targets is hard:
            scores = [ridge.score(kernel[n:, :n]) for ridge, kernel in zip(fits, kernels, strict=True)]
        first, second = (platt(score) for platt, score in zip(platts, scores, strict=True))
        rate = estimate_mix_rate(first, second, rate, most)
        q, _ = posteriors(first, second, rate)
        targets = [np.concatenate([own, 2 * guess - 1]) for own, guess in zip(hard, q.T, strict=True)]
    return [_head(*pair) for pair in zip(fits, platts, strict=True)], rate


def _head(ridge: Ridge, platt: Platt) -> Learnt:
    return lambda kernel: platt(ridge.score(kernel))
