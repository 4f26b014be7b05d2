"""The general fallback: spatial discovery where its assumption holds, else a network with top-k disagreement.

Where discovery finds two groups that are not clean, its heads still say something about the unlabelled photos; the
network starts from that instead of from nothing.
"""

from typing import Any

import numpy as np

from countenance.suites.happyfaces.interface import CannotAnswer, Floats, Heads, Labels, Pictures
from countenance.suites.happyfaces.methods.spatial import SpatialDiscovery
from countenance.suites.happyfaces.methods.topk import topk_loss

START = 0.4
"""Share of training in which the network follows the ranking of the discovery, fading out linearly."""


class SpatialThenTopK:
    """Spatial discovery first; top-k disagreement, initialised by discovery, where it declines to answer."""

    name = "spatial-topk"

    def __init__(self, seed: int = 0, settings: Any = None) -> None:
        self.seed, self.settings = seed, settings

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads; the notes say which of the two ways was taken, and why."""
        try:
            heads = SpatialDiscovery(self.seed).fit(labelled, labels, unlabelled)
            return Heads(heads.predict, {**heads.notes, "way": "spatial discovery"})
        except CannotAnswer as reason:
            why = str(reason)
        guess = self._guess(labelled, labels, unlabelled)
        heads = self._train(labelled, labels, unlabelled, guess)
        return Heads(heads.predict, {**heads.notes, "way": "top-k disagreement", "why": why})

    def _guess(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Floats | None:
        """Discovery's own answers on the unlabelled photos, if it has any at all."""
        try:
            insisting = SpatialDiscovery(self.seed, insist=True).fit(labelled, labels, unlabelled)
        except CannotAnswer:
            return None
        return insisting.predict(unlabelled)

    def _train(self, labelled: Pictures, labels: Labels, unlabelled: Pictures, guess: Floats | None) -> Heads:
        from countenance.suites.happyfaces.networks import need_torch
        from countenance.suites.happyfaces.networks.fitting import fit_network

        torch = need_torch()
        said = None if guess is None else torch.as_tensor(np.asarray(guess), dtype=torch.float32)

        def loss(logits: Any, done: float, rows: Any) -> Any:
            value = topk_loss(logits, done)
            if said is None or done >= START:
                return value
            target = said.to(logits.device)[rows]
            follow = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
            return value + (1 - done / START) * follow

        return fit_network(labelled, labels, unlabelled, loss, self.settings, self.seed)
