"""Settings chosen without validation labels: labelled cross-validation plus the method's own unlabelled loss."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.training import Settings, UnlabelledLoss, train_network

LossMaker = Callable[[Any, Any, Any, Settings, int], UnlabelledLoss | None]
"""Labelled photos, labels, all unlabelled photos, settings, seed to a loss; D-BAT trains its first network here."""

WEIGHTS = (0.3, 1.0, 3.0)
BACKBONE_RATES = (3e-4, 1e-3)


def candidates(settings: Settings) -> list[Settings]:
    """The settings that compete: weight of the unlabelled loss × learning rate of the backbone."""
    pairs = itertools.product(WEIGHTS, BACKBONE_RATES)
    return [settings.but(weight=weight, backbone_rate=rate) for weight, rate in pairs]


def held_out_loss(
    labelled: Any, labels: Any, unlabelled: Any, make_loss: "LossMaker", settings: Settings, seed: int
) -> float:
    """Train on one half of both sets, measure on the other, twice; the unlabelled loss counts with weight 1.

    The same weight for every candidate: otherwise the candidate with the smallest weight would always look best.
    """
    torch = need_torch()
    rng = np.random.default_rng(seed)
    halves = [np.array_split(rng.permutation(len(some)), 2) for some in (labelled, unlabelled)]
    total = 0.0
    for fold in (0, 1):
        (fit_l, test_l), (fit_u, test_u) = ((half[fold], half[1 - fold]) for half in halves)
        loss = make_loss(labelled[fit_l], labels[fit_l], unlabelled, settings, seed + fold)
        part = loss and on_rows(loss, fit_u)
        network = train_network(labelled[fit_l], labels[fit_l], unlabelled[fit_u], part, settings, seed + fold)
        with torch.no_grad():
            known = network.logits(labelled[test_l])
            target = torch.as_tensor(np.asarray(labels)[test_l], device=known.device).float()[:, None].expand(-1, 2)
            value = torch.nn.functional.binary_cross_entropy_with_logits(known, target)
            if loss is not None:
                value = value + loss(network.logits(unlabelled[test_u]), 1.0, test_u)
        total += float(value) / 2
    return total


def on_rows(loss: UnlabelledLoss, rows: Any) -> UnlabelledLoss:
    """The loss for a network that sees some of the unlabelled photos only, renumbered from 0."""

    def some(logits: Any, done: float, which: Any) -> Any:
        return loss(logits, done, rows[which.cpu().numpy()])

    return some
