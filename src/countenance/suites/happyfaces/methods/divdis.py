"""DivDis (Lee, Yao and Finn, 2022): heads that agree on labelled photos and are independent on unlabelled ones."""

from typing import Any, ClassVar

from countenance.suites.happyfaces.networks.heads import TogetherMethod

PRIOR_WEIGHT = 1.0
"""λ₂ in units of λ₁: how strongly each head's share of "happy" is pulled towards the prior."""
RAMP = 0.25
"""Share of the time after which the loss has its full weight, to which it rises linearly."""


def divdis_loss(logits: Any, done: float, prior: float = 0.5) -> Any:
    """KL(p(ŷ₁, ŷ₂) ‖ p(ŷ₁) p(ŷ₂)) + λ₂ Σ KL(p(ŷᵢ) ‖ prior) for logits of … × photos × 2.

    >>> import torch
    >>> same = torch.tensor([[9.0, 9], [9, 9], [-9, -9], [-9, -9]])
    >>> apart = torch.tensor([[9.0, 9], [9, -9], [-9, 9], [-9, -9]])
    >>> round(float(divdis_loss(same, 1)), 2), round(float(divdis_loss(apart, 1)), 2)
    (0.69, 0.0)
    """
    import torch

    p = logits.sigmoid()
    both = torch.stack([p, 1 - p], -1)  # … × photos × heads × outcomes
    joint = torch.einsum("...ni,...nj->...ij", both[..., 0, :], both[..., 1, :]) / p.shape[-2]
    alone = both.mean(-3)
    apart = alone[..., 0, :, None] * alone[..., 1, None, :]
    information = (joint * ((joint + 1e-8).log() - (apart + 1e-8).log())).sum((-1, -2))
    expected = torch.tensor([prior, 1 - prior], device=p.device)
    off = (alone * ((alone + 1e-8).log() - expected.log())).sum((-1, -2))
    return min(1.0, done / RAMP) * (information + PRIOR_WEIGHT * off)


class DivDis(TogetherMethod):
    """Diversify and disambiguate; here only its first step, two diverse heads."""

    name = "divdis"
    tuned: ClassVar[dict[str, Any]] = {"weight": 1.0, "decay": 0.1, "smoothing": 0.0}
    loss = staticmethod(divdis_loss)
