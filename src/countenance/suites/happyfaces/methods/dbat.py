"""D-BAT (Pagliardini et al., 2022): a second model that agrees on labelled photos and disagrees on unlabelled ones."""

from collections.abc import Sequence
from typing import Any, ClassVar

from countenance.suites.happyfaces.networks.fitting import NetworkMethod, train_against
from countenance.suites.happyfaces.networks.heads import TwoHeads
from countenance.suites.happyfaces.networks.settings import Settings


def dbat_loss(first: Any, second: Any) -> Any:
    """−E log[p₁(1 − p₂) + (1 − p₁)p₂] for the first model's probabilities and the second's logits, … × photos × 2.

    >>> import torch
    >>> first, second = torch.tensor([[1.0], [0.0]]), torch.tensor([[-9.0], [9.0]])
    >>> round(float(dbat_loss(first, second)), 3)
    0.0
    """
    p = second.sigmoid()
    return -(first * (1 - p) + (1 - first) * p + 1e-7).log().mean((-1, -2))


class DBat(NetworkMethod):
    """Two heads, one after the other."""

    name = "dbat"
    tuned: ClassVar[dict[str, Any]] = {"weight": 0.3, "decay": 0.01, "smoothing": 0.1}

    def train(self, known: Any, labels: Any, others: Any, settings: Settings, seeds: Sequence[int]) -> TwoHeads:
        """The first head is ERM's; the second is trained against it."""
        return train_against(known, labels, others, dbat_loss, settings, seeds)

    def own_loss(self, logits: Any) -> Any:
        """The second head's loss, given the first."""
        return dbat_loss(logits[..., :1].sigmoid(), logits[..., 1:])
