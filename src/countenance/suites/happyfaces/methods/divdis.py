"""DivDis (Lee, Yao and Finn, 2022): heads that agree on labelled photos and are independent on unlabelled ones."""

from typing import Any

from countenance.suites.happyfaces.interface import Heads, Labels, Pictures

PRIOR_WEIGHT = 1.0
"""λ₂ in units of λ₁: how strongly each head's share of "happy" is held at the prior."""


def divdis_loss(logits: Any, done: float, prior: float = 0.5) -> Any:
    """KL(p(ŷ₁, ŷ₂) ‖ p(ŷ₁) p(ŷ₂)) + λ₂ Σ KL(p(ŷᵢ) ‖ prior), all of it estimated on the batch.

    >>> import torch
    >>> same = torch.tensor([[9.0, 9], [9, 9], [-9, -9], [-9, -9]])
    >>> apart = torch.tensor([[9.0, 9], [9, -9], [-9, 9], [-9, -9]])
    >>> round(float(divdis_loss(same, 0)), 2), round(float(divdis_loss(apart, 0)), 2)
    (0.69, 0.0)
    """
    import torch

    p = logits.sigmoid()
    both = torch.stack([p, 1 - p], -1)  # photos × heads × outcomes
    joint = torch.einsum("ni,nj->ij", both[:, 0], both[:, 1]) / len(p)
    alone = both.mean(0)
    information = (joint * ((joint + 1e-8).log() - (alone[0][:, None] * alone[1][None] + 1e-8).log())).sum()
    wanted = torch.tensor([prior, 1 - prior], device=p.device)
    off = (alone * ((alone + 1e-8).log() - wanted.log())).sum()
    return information + PRIOR_WEIGHT * off


class DivDis:
    """Diversify and disambiguate; here the first half, two diverse heads."""

    name = "divdis"

    def __init__(self, seed: int = 0, settings: Any = None) -> None:
        self.seed, self.settings = seed, settings

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads on one network; the prior is the share of "happy" among the labels."""
        from countenance.suites.happyfaces.networks.fitting import fit_network

        prior = float(labels.mean())

        def loss(logits: Any, done: float, rows: Any) -> Any:
            return divdis_loss(logits, done, prior)

        return fit_network(labelled, labels, unlabelled, loss, self.settings, self.seed)
