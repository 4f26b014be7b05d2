"""Two heads on the local layer's evidence, for many runs at once: the runs of a sweep are one batch on the accelerator.

A head is a weight for each place and a bias. Training sees all photos in every step: the losses on unlabelled photos
are about shares of the whole set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.settings import NetworkSettings

UnlabelledLoss = Callable[[Any, float], Any]
"""Logits of the unlabelled photos (… × photos × 2) and the share of the loss's own time done (0 to 1), to … losses."""


@dataclass(frozen=True)
class TwoHeads:
    """Runs × 2 × places weights, runs × 2 biases, and the training objective that each run ended with."""

    weights: Any
    biases: Any
    objective: Any

    def logits(self, evidence: Any) -> Any:
        """Runs × photos × 2, from runs × photos × places."""
        torch = need_torch()
        return torch.einsum("mnq,mhq->mnh", evidence, self.weights) + self.biases[:, None]


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
    target = (labels.float() * (1 - 2 * s.smoothing) + s.smoothing)[:, None]
    optimiser = torch.optim.Adam([weights, biases], lr=s.rate, betas=(0.9, 0.98))

    def logits(evidence: Any) -> Any:
        return torch.einsum("mnq,mrhq->mrnh", evidence, weights) + biases[:, :, None]

    def objective(done: float) -> Any:
        z = logits(known)
        total = (torch.nn.functional.softplus(z) - z * target).sum(-1).mean(-1)
        total = total + s.decay * weights.square().sum((-1, -2))
        if loss is not None and done > s.warm:
            total = total + s.weight * loss(logits(others), (done - s.warm) / (1 - s.warm))
        return total

    for step in range(s.steps):
        done = step / s.steps
        rise, fall = min(1.0, 20 * (step + 1) / s.steps), 0.5 * (1 + np.cos(np.pi * done))
        optimiser.param_groups[0]["lr"] = s.rate * rise * fall
        optimiser.zero_grad(set_to_none=True)
        objective(done).sum().backward()
        optimiser.step()
    with torch.no_grad():
        reached = objective(1.0)
        best = reached.argmin(1)
        rows = torch.arange(runs, device=known.device)
        return TwoHeads(weights[rows, best].detach(), biases[rows, best].detach(), reached[rows, best])
