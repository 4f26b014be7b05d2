"""Two heads on the local layer's evidence, for many runs at once: the runs of a sweep are one batch on the accelerator.

A head is a weight for each place and a bias. Training sees all photos in every step: the losses on unlabelled photos
need the whole set.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from countenance.learning.training import minimise, need_torch
from countenance.suites.happyfaces.interface import Floats, Heads, Labels, Pictures
from countenance.suites.happyfaces.networks.evidence import gather
from countenance.suites.happyfaces.networks.training import NetworkSettings

UnlabelledLoss = Callable[[Any, float, float], Any]
"""A function from logits of the unlabelled photos (… × photos × 2), the share of the loss's time that has passed, and
the share of "happy" among the labels, to … losses."""


@dataclass(frozen=True)
class TwoHeads:
    """Runs × 2 × places weights, runs × 2 biases, and the final objective of each run."""

    weights: Any
    biases: Any
    objective: Any

    def logits(self, evidence: Any) -> Any:
        """Runs × photos × 2, from runs × photos × places."""
        return need_torch().einsum("mnq,mhq->mnh", evidence, self.weights) + self.biases[:, None]


def train_heads(
    known: Any, labels: Any, others: Any, loss: UnlabelledLoss | None, settings: NetworkSettings, seeds: Sequence[int]
) -> TwoHeads:
    """Cross-entropy of both heads on labelled photos, the weighted unlabelled loss, and weight decay.

    `known` is runs × photos × places, `labels` one for each of those photos, `others` like `known`. Every run starts
    from several random heads of its own seed, and keeps those with the lowest objective.
    """
    torch = need_torch()
    s, (runs, _, places) = settings, known.shape
    starts = [
        torch.randn(s.restarts, 2, places, generator=torch.Generator().manual_seed(seed)) * s.start / places**0.5
        for seed in seeds
    ]
    weights = torch.stack(starts).to(known.device).requires_grad_()
    biases = torch.zeros(runs, s.restarts, 2, device=known.device, requires_grad=True)
    target, prior = (labels.float() * (1 - 2 * s.smoothing) + s.smoothing)[:, None], float(labels.float().mean())

    def logits(evidence: Any) -> Any:
        return torch.einsum("mnq,mrhq->mrnh", evidence, weights) + biases[:, :, None]

    def objective(done: float) -> Any:
        z = logits(known)
        total = (torch.nn.functional.softplus(z) - z * target).sum(-1).mean(-1)
        total = total + s.decay * weights.square().sum((-1, -2))
        if loss is not None and done > s.warm:
            total = total + s.weight * loss(logits(others), (done - s.warm) / (1 - s.warm), prior)
        return total

    adam = torch.optim.Adam([weights, biases], lr=s.rate, betas=(0.9, 0.98))
    minimise(adam, s.steps, lambda done: objective(done).sum(), rise=0.05)
    with torch.no_grad():
        reached = objective(1.0)
        best = reached.argmin(1)
        rows = torch.arange(runs, device=known.device)
        return TwoHeads(weights[rows, best].detach(), biases[rows, best].detach(), reached[rows, best])


class NetworkMethod(ABC):
    """A trunk, a local layer, two heads; methods differ in the training of the heads."""

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
        evidence = gather(labelled, labels, self.settings, self.seed)
        target = need_torch().as_tensor(labels, device=evidence.labelled.device)
        heads = self.train(evidence.labelled[None], target, evidence(unlabelled)[None], self.settings, [self.seed])

        def predict(pictures: Pictures) -> Floats:
            return np.asarray(heads.logits(evidence(pictures)[None])[0].sigmoid().double().cpu().numpy())

        return Heads(predict, {"network": evidence.name, "settings": asdict(self.settings)})


class TogetherMethod(NetworkMethod):
    """A method that trains both heads at once, with or without a loss on unlabelled photos."""

    loss: Any = None
    """An `UnlabelledLoss`."""

    def train(self, known: Any, labels: Any, others: Any, settings: NetworkSettings, seeds: Sequence[int]) -> TwoHeads:
        """Heads of many runs at once."""
        return train_heads(known, labels, others, self.loss, settings, seeds)

    def own_loss(self, logits: Any) -> Any:
        """The loss at the end of training, with even classes; 0 without one."""
        return logits.sum((-1, -2)) * 0 if self.loss is None else self.loss(logits, 1.0, 0.5)
