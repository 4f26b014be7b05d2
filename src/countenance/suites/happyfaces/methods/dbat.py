"""D-BAT (Pagliardini et al., 2022): a second model agrees on labelled and disagrees on unlabelled photos."""

from collections.abc import Sequence
from typing import Any, ClassVar

from countenance.learning.training import need_torch
from countenance.suites.happyfaces.networks.heads import NetworkMethod, TwoHeads, train_heads
from countenance.suites.happyfaces.networks.training import NetworkSettings


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

    def train(self, known: Any, labels: Any, others: Any, settings: NetworkSettings, seeds: Sequence[int]) -> TwoHeads:
        """Heads of many runs at once: the first trained as in ERM, the second against it."""
        first_head = train_heads(known, labels, others, None, settings, seeds)
        certain = first_head.logits(others)[:, None, :, :1].sigmoid()
        others_seeds = [seed + 10_000 for seed in seeds]  # start values that differ from the first head's
        two = train_heads(known, labels, others, lambda logits, *_: dbat_loss(certain, logits), settings, others_seeds)
        weights = need_torch().stack([first_head.weights[:, 0], two.weights[:, 0]], 1)
        biases = need_torch().stack([first_head.biases[:, 0], two.biases[:, 0]], 1)
        return TwoHeads(weights, biases, two.objective)

    def own_loss(self, logits: Any) -> Any:
        """The second head's loss, given the first."""
        return dbat_loss(logits[..., :1].sigmoid(), logits[..., 1:])
