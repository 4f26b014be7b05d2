"""The general fallback: spatial discovery where its assumption holds, else a network with top-k disagreement.

Two features that share one place still do not say the same everywhere: skin tone shows on the forehead, where no smile
does. The heads weigh the evidence of all places, for or against, and need no region of their own.
"""

from typing import Any, ClassVar

from countenance.suites.happyfaces.interface import CannotAnswer, Heads, Labels, Pictures
from countenance.suites.happyfaces.methods.spatial import SpatialDiscovery
from countenance.suites.happyfaces.methods.topk import TopK
from countenance.suites.happyfaces.networks.training import NetworkSettings


class FallbackTopK(TopK):
    """Top-k disagreement with smoothed labels, which leaves room to disagree where evidence is thin."""

    tuned: ClassVar[dict[str, Any]] = {"weight": 1.0, "decay": 0.1, "smoothing": 0.1}
    """Smoothing was chosen on rendered people (smile + tone, divisions 0 and 1), whose truth was looked at."""


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
