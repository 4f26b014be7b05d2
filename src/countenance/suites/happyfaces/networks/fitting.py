"""From a method's loss to two heads: what the network methods have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from countenance.suites.happyfaces.interface import Floats, Heads, Labels, Pictures
from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.evidence import Evidence, gather
from countenance.suites.happyfaces.networks.heads import TwoHeads, UnlabelledLoss, train_heads
from countenance.suites.happyfaces.networks.settings import NetworkSettings


class NetworkMethod(ABC):
    """A trunk, a local layer, two heads; a method is the way its heads are trained."""

    name: str
    tuned: ClassVar[dict[str, Any]] = {}
    """What tuning without validation labels chose; see docs/results/happyfaces_networks.json."""

    def __init__(self, seed: int = 0, settings: NetworkSettings | None = None) -> None:
        self.seed, self.settings = seed, settings or NetworkSettings(**self.tuned)

    @abstractmethod
    def train(self, known: Any, labels: Any, others: Any, settings: NetworkSettings, seeds: Sequence[int]) -> TwoHeads:
        """Heads of many runs at once, from evidence about labelled and unlabelled photos (runs × photos × places)."""

    @abstractmethod
    def own_loss(self, logits: Any) -> Any:
        """The method's loss for logits of … × photos × 2 unlabelled photos, as it is at the end of training."""

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads."""
        torch = need_torch()
        evidence = gather(labelled, labels, self.settings, self.seed)
        target = torch.as_tensor(labels, device=evidence.labelled.device)
        heads = self.train(evidence.labelled[None], target, evidence(unlabelled)[None], self.settings, [self.seed])
        notes = {"network": evidence.name, "settings": asdict(self.settings)}
        return Heads(_predictor(evidence, heads), notes)


class TogetherMethod(NetworkMethod):
    """Both heads are trained at once with one loss on unlabelled photos."""

    @abstractmethod
    def unlabelled_loss(self, prior: float) -> UnlabelledLoss | None:
        """The loss, given the share of "happy" among the labels."""

    def train(self, known: Any, labels: Any, others: Any, settings: NetworkSettings, seeds: Sequence[int]) -> TwoHeads:
        """Heads of many runs at once."""
        return train_heads(known, labels, others, self.unlabelled_loss(float(labels.float().mean())), settings, seeds)

    def own_loss(self, logits: Any) -> Any:
        """The loss at the end of training, with even classes; 0 where there is none."""
        loss = self.unlabelled_loss(0.5)
        return logits.sum((-1, -2)) * 0 if loss is None else loss(logits, 1.0)


def _predictor(evidence: Evidence, heads: TwoHeads) -> Callable[[Pictures], Floats]:
    def predict(pictures: Pictures) -> Floats:
        p = heads.logits(evidence(pictures)[None])[0].sigmoid()
        return np.asarray(p.double().cpu().numpy())

    return predict
