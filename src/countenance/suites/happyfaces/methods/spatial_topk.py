"""The general fallback: spatial discovery where its assumption holds, else a network with top-k disagreement.

Two features at one place still differ in detail: skin tone shows on the forehead, a smile does not. The heads weight
the evidence of all places and need no separate regions.
"""

from typing import Any, ClassVar

from countenance.suites.happyfaces.interface import CannotAnswer, Heads, Labels, Pictures
from countenance.suites.happyfaces.methods.spatial import SpatialDiscovery
from countenance.suites.happyfaces.methods.topk import TopK
from countenance.suites.happyfaces.networks.training import NetworkSettings


class FallbackTopK(TopK):
    """Top-k disagreement with smoothed labels, so that heads can disagree where evidence is thin."""

    tuned: ClassVar[dict[str, Any]] = {"weight": 1.0, "decay": 0.1, "smoothing": 0.1}
    """Smoothing was chosen on rendered people (smile + tone, divisions 0 and 1), whose truth was used for that."""


class SpatialThenTopK:
    """Spatial discovery first; top-k disagreement where it declines to answer."""

    name = "spatial-topk"

    def __init__(self, seed: int = 0, settings: NetworkSettings | None = None) -> None:
        self.seed, self.settings = seed, settings

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads; the notes say which of the two ways was taken, and why."""
        try:
            heads = SpatialDiscovery(self.seed).fit(labelled, labels, unlabelled)
            return Heads(heads.predict, {**heads.notes, "way": "spatial discovery"})
        except CannotAnswer as reason:
            why = str(reason)
        heads = FallbackTopK(self.seed, self.settings).fit(labelled, labels, unlabelled)
        return Heads(heads.predict, {**heads.notes, "way": "top-k disagreement", "why": why})
