"""D-BAT (Pagliardini et al., 2022): a second model that agrees on labelled photos and disagrees on unlabelled ones."""

from typing import Any

from countenance.suites.happyfaces.interface import Heads, Labels, Pictures


def dbat_loss(first: Any, second: Any) -> Any:
    """−E log[p₁(1 − p₂) + (1 − p₁)p₂] for the first model's probabilities and the second's logits.

    >>> import torch
    >>> round(float(dbat_loss(torch.tensor([1.0, 0.0]), torch.tensor([-9.0, 9.0]))), 3)
    0.0
    """
    p = second.sigmoid()
    return -(first * (1 - p) + (1 - first) * p + 1e-7).log().mean()


class DBat:
    """Two networks, one after the other."""

    name = "dbat"

    def __init__(self, seed: int = 0, settings: Any = None) -> None:
        self.seed, self.settings = seed, settings

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """The first head is ERM's; the second is trained against it."""
        from countenance.suites.happyfaces.networks.fitting import fit_against

        return fit_against(labelled, labels, unlabelled, dbat_loss, self.settings, self.seed)
