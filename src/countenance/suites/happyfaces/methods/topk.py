"""Top-k disagreement (ACE): at least a few unlabelled photos of each cross type must be told apart by the heads."""

from collections.abc import Callable
from typing import Any

from countenance.suites.happyfaces.interface import Heads, Labels, Pictures

LOWER_BOUND = 0.1
"""Where the lower bound of the mix rate ends, which is raised linearly from 0: the lowest the benchmark asks for."""
RAMP = 0.5
"""Share of training after which the bound, or the exponential form's weight, stays where it is."""


def pair_losses(logits: Any, first: int) -> Any:
    """For each photo CE(f₁, g₁) + CE(f₂, g₂), for g = 10 (`first` 1) or g = 01 (`first` 0), smallest first."""
    import torch

    sign = torch.tensor([1.0 if first else -1.0, -1.0 if first else 1.0], device=logits.device)
    return torch.nn.functional.softplus(-logits * sign).sum(1).sort().values


def topk_loss(logits: Any, done: float, lower_bound: float = LOWER_BOUND) -> Any:
    """Σ over g ∈ {01, 10} of the mean of the k_g smallest losses, k_g = N · r_lb / 2; nothing while k_g is below ½.

    >>> import torch
    >>> logits = torch.tensor([[9.0, -9], [-9, 9], *[[9.0, 9]] * 18])
    >>> round(float(topk_loss(logits, 1.0)), 3), round(float(topk_loss(logits[2:], 1.0)), 1)
    (0.0, 18.0)
    """
    k = round(len(logits) * lower_bound * min(1.0, done / RAMP) / 2)
    if k < 1:
        return logits.sum() * 0
    return pair_losses(logits, 1)[:k].mean() + pair_losses(logits, 0)[:k].mean()


def exponential_loss(logits: Any, done: float) -> Any:
    """Σ over g of Σ_j e^(−j) · (j-th smallest loss): the same with weights that die away, and no k to choose.

    >>> import torch
    >>> round(float(exponential_loss(torch.tensor([[9.0, -9], [-9, 9]] * 20), 1.0)), 2)
    0.0
    """
    import torch

    fading = torch.exp(-torch.arange(len(logits), device=logits.device, dtype=logits.dtype))
    return min(1.0, done / RAMP) * ((pair_losses(logits, 1) * fading).sum() + (pair_losses(logits, 0) * fading).sum())


class TopK:
    """ACE with a rising lower bound of the mix rate."""

    name = "topk"
    loss: Callable[..., Any] = staticmethod(topk_loss)

    def __init__(self, seed: int = 0, settings: Any = None) -> None:
        self.seed, self.settings = seed, settings

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads on one network."""
        from countenance.suites.happyfaces.networks.fitting import fit_network

        def loss(logits: Any, done: float, rows: Any) -> Any:
            return self.loss(logits, done)

        return fit_network(labelled, labels, unlabelled, loss, self.settings, self.seed)


class TopKExponential(TopK):
    """ACE with exponentially fading weights."""

    name = "topk-exp"
    loss = staticmethod(exponential_loss)
