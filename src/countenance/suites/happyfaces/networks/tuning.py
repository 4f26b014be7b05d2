"""Settings chosen without validation labels: labelled cross-validation plus the method's own unlabelled loss."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.learning.training import need_torch
from countenance.suites.happyfaces.networks.heads import NetworkMethod
from countenance.suites.happyfaces.networks.training import NetworkSettings

WEIGHTS = (0.3, 1.0, 3.0)
DECAYS = (0.01, 0.03, 0.1, 0.3)
SMOOTHINGS = (0.0, 0.1)
GATE = 0.95
"""Settings are excluded if a head is right on fewer held-out labelled photos than this: it ignores the label."""


def candidates(settings: NetworkSettings) -> list[NetworkSettings]:
    """The candidate settings: weight of the unlabelled loss × weight decay × label smoothing."""
    every = itertools.product(WEIGHTS, DECAYS, SMOOTHINGS)
    return [replace(settings, weight=weight, decay=decay, smoothing=smoothing) for weight, decay, smoothing in every]


@dataclass(frozen=True)
class HeldOut:
    """The results of some settings on photos left out of training, means over runs."""

    cross_entropy: float
    """The mean cross-entropy of both heads on labelled photos."""
    accuracy: float
    """The worse head's accuracy on labelled photos."""
    own_loss: float
    """The method's own loss on unlabelled photos."""

    @property
    def value(self) -> float:
        """The value to minimise; the own loss has weight 1 for all settings, or the smallest weight would seem best."""
        return self.cross_entropy + self.own_loss


def held_out(
    method: NetworkMethod, known: Any, labels: Any, others: Any, settings: NetworkSettings, seeds: Sequence[int]
) -> HeldOut:
    """Train on one half of the labelled and of the unlabelled photos, measure on the others, twice."""
    torch = need_torch()
    rng = np.random.default_rng(list(seeds))
    halves = [
        [torch.as_tensor(half, device=known.device) for half in np.array_split(rng.permutation(some.shape[1]), 2)]
        for some in (known, others)
    ]
    outcome = []
    for fold in (0, 1):
        (fit_l, test_l), (fit_u, test_u) = ((half[fold], half[1 - fold]) for half in halves)
        heads = method.train(known[:, fit_l], labels[fit_l], others[:, fit_u], settings, seeds)
        with torch.no_grad():
            z, target = heads.logits(known[:, test_l]), labels[test_l].float()[:, None]
            cross_entropy = (torch.nn.functional.softplus(z) - z * target).sum(-1).mean()
            accuracy = ((z > 0) == (target > 0)).float().mean((0, 1)).min()
            own_loss = method.own_loss(heads.logits(others[:, test_u])).mean()
        outcome.append([float(cross_entropy), float(accuracy), float(own_loss)])
    return HeldOut(*(float(v) for v in np.mean(outcome, 0)))


def choose(tried: Iterable[tuple[NetworkSettings, HeldOut]]) -> NetworkSettings:
    """The settings with the lowest value among those that pass the gate; the most accurate if none does.

    >>> gave_up = (NetworkSettings(weight=3.0), HeldOut(0.1, 0.5, 0.1))
    >>> choose([gave_up, (NetworkSettings(weight=1.0), HeldOut(0.2, 0.99, 0.3))]).weight
    1.0
    """
    every = list(tried)
    passed = [pair for pair in every if pair[1].accuracy >= GATE]
    if passed:
        return min(passed, key=lambda pair: pair[1].value)[0]
    return max(every, key=lambda pair: pair[1].accuracy)[0]
