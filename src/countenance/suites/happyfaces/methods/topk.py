"""Top-k disagreement (ACE): the heads must disagree on at least a few unlabelled photos of each cross type."""

from typing import Any, ClassVar

from countenance.suites.happyfaces.networks.heads import TogetherMethod

LOWER_BOUND = 0.1
"""The final lower bound of the mix rate, which rises linearly from 0: the lowest rate of the benchmark."""
RAMP = 0.5
"""Share of the time after which the bound, or the exponential form's weight, stays where it is."""


def pair_losses(logits: Any, first: bool) -> Any:
    """For each photo CE(f₁, g₁) + CE(f₂, g₂), for g = 10 (`first`) or g = 01, smallest first."""
    import torch

    sign = torch.tensor([1.0 if first else -1.0, -1.0 if first else 1.0], device=logits.device)
    return torch.nn.functional.softplus(-logits * sign).sum(-1).sort(-1).values


def topk_loss(logits: Any, done: float, prior: float = 0.5) -> Any:
    """Σ over g ∈ {01, 10} of the mean of the k_g smallest losses, k_g = N · r_lb / 2; nothing while k_g is below ½.

    >>> import torch
    >>> logits = torch.tensor([[9.0, -9], [-9, 9], *[[9.0, 9]] * 18])
    >>> round(float(topk_loss(logits, 1.0)), 3), round(float(topk_loss(logits[2:], 1.0)), 1)
    (0.0, 18.0)
    """
    k = round(logits.shape[-2] * LOWER_BOUND * min(1.0, done / RAMP) / 2)
    if k < 1:
        return logits.sum((-1, -2)) * 0
    return pair_losses(logits, True)[..., :k].mean(-1) + pair_losses(logits, False)[..., :k].mean(-1)


def exponential_loss(logits: Any, done: float, prior: float = 0.5) -> Any:
    """Σ over g of Σ_j e^(−j) · (j-th smallest loss): `topk_loss` with decaying weights, without a k to choose.

    >>> import torch
    >>> round(float(exponential_loss(torch.tensor([[9.0, -9], [-9, 9]] * 20), 1.0)), 2)
    0.0
    """
    import torch

    fading = torch.exp(-torch.arange(logits.shape[-2], device=logits.device, dtype=logits.dtype))
    both = (pair_losses(logits, True) * fading).sum(-1) + (pair_losses(logits, False) * fading).sum(-1)
    return min(1.0, done / RAMP) * both


class TopK(TogetherMethod):
    """ACE with a rising lower bound of the mix rate."""

    name = "topk"
    tuned: ClassVar[dict[str, Any]] = {"weight": 3.0, "decay": 0.1, "smoothing": 0.0}

    loss = staticmethod(topk_loss)


class TopKExponential(TogetherMethod):
    """ACE with exponentially fading weights."""

    name = "topk-exp"
    tuned: ClassVar[dict[str, Any]] = {"weight": 1.0, "decay": 0.01, "smoothing": 0.0}

    loss = staticmethod(exponential_loss)
