"""From a loss to two heads: what the network methods' `fit` does."""

from collections.abc import Callable
from typing import Any

import numpy as np

from countenance.suites.happyfaces.interface import Floats, Heads, Labels, Pictures
from countenance.suites.happyfaces.networks.training import Network, Settings, UnlabelledLoss, to_tensor, train_network


def fit_network(
    labelled: Pictures | Any,
    labels: Labels,
    unlabelled: Pictures | Any,
    loss: UnlabelledLoss | None,
    settings: Settings | None,
    seed: int,
) -> Heads:
    """One network with two heads."""
    used = settings or Settings()
    network = train_network(labelled, labels, unlabelled, loss, used, seed)
    return Heads(network.predict, {"network": network.name, "settings": used.as_dict()})


def fit_against(
    labelled: Pictures | Any,
    labels: Labels,
    unlabelled: Pictures | Any,
    loss: Callable[[Any, Any], Any],
    settings: Settings | None,
    seed: int,
    first: Network | None = None,
) -> Heads:
    """Two networks: the first learns the labels, the second also to disagree with the first (`loss(p₁, logits₂)`).

    `first` is an ERM network of the same seed, where one was trained before.
    """
    used = settings or Settings()
    others = unlabelled if not isinstance(unlabelled, np.ndarray) else to_tensor(unlabelled, used)
    one = first or train_network(labelled, labels, others, None, used, seed)
    two = train_network(labelled, labels, others, against(one, others, loss), used, seed + 1)

    def predict(pictures: Pictures) -> Floats:
        return np.stack([one.predict(pictures)[:, 0], two.predict(pictures)[:, 0]], 1)

    return Heads(predict, {"network": one.name, "settings": used.as_dict()})


def against(first: Network, unlabelled: Any, loss: Callable[[Any, Any], Any]) -> UnlabelledLoss:
    """The loss of a second network, given what the first says about each unlabelled photo."""
    said = first.torch.as_tensor(first.predict_tensor(unlabelled)[:, 0], device=first.device).float()

    def second(logits: Any, done: float, rows: Any) -> Any:
        return loss(said[rows][:, None], logits)

    return second
