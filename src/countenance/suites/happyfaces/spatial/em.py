"""Step e: both heads learn from the unlabelled photos by expectation and maximisation.

A photo's two features agree with probability 1 − r; r, the mix rate, is estimated and never given.
"""

from dataclasses import dataclass

import numpy as np

from countenance.suites.happyfaces.interface import Floats, Labels
from countenance.suites.happyfaces.spatial.ridge import Platt, Ridge, fit_platt, fit_ridge, soft_targets

ROUNDS = 4
LEAST, MOST = 0.005, 0.5


@dataclass(frozen=True)
class Learnt:
    """A head after EM: regression over labelled and unlabelled photos, and its calibration."""

    ridge: Ridge
    platt: Platt

    def __call__(self, kernel: Floats) -> Floats:
        """Probabilities of new photos, given their kernel with the photos learnt from."""
        return self.platt(self.ridge.score(kernel))


@dataclass(frozen=True)
class MixtureFit:
    """Both heads and the estimated mix rate."""

    heads: tuple[Learnt, Learnt]
    mix_rate: float


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
    kernels: tuple[Floats, Floats],
    labels: tuple[Labels, Labels],
    ridges: tuple[float, float],
    rounds: int = ROUNDS,
    most: float = MOST,
) -> MixtureFit:
    """Fit both heads on labelled photos, then `rounds` times on labelled photos and unlabelled posteriors.

    Each kernel is over labelled photos first, unlabelled ones after; `labels` are each head's labels of the former.
    Posteriors come from leave-one-out scores, so that no photo confirms its own guess.
    """
    n = len(labels[0])
    hard = tuple(np.where(own == 1, 1.0, -1.0) for own in labels)
    soft = tuple(soft_targets(own) for own in labels)
    heads = []
    guess = []
    for k in (0, 1):
        ridge = fit_ridge(kernels[k][:n, :n], hard[k], ridges[k])
        platt = fit_platt(ridge.left_out, soft[k])
        heads.append(Learnt(ridge, platt))
        guess.append(platt(ridge.score(kernels[k][n:, :n])))
    rate = 0.1
    for _ in range(rounds):
        rate = estimate_mix_rate(guess[0], guess[1], rate, most)
        q, _ = posteriors(guess[0], guess[1], rate)
        for k in (0, 1):
            ridge = fit_ridge(kernels[k], np.concatenate([hard[k], 2 * q[:, k] - 1]), ridges[k])
            platt = fit_platt(ridge.left_out[:n], soft[k])
            heads[k] = Learnt(ridge, platt)
            guess[k] = platt(ridge.left_out[n:])
    return MixtureFit((heads[0], heads[1]), estimate_mix_rate(guess[0], guess[1], rate, most))
