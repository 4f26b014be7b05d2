"""Estimates which rows have meaningful labels, from the randomness of the other labels alone. Needs PyTorch.

Labels that were drawn at random (pictures that show nobody, annotators who guessed) cannot be predicted from the
features of their row. For each row, models that were fitted without it show how much better its features predict its
labels than the classes' shares do; the logarithm of that ratio is the evidence. It is noisy for a single row. A second
model, π(x), makes one probability out of it for rows that look alike, by maximum likelihood of the mixture

    p(labels | x) = π(x) · p(labels | x, they mean something) + (1 − π(x)) · p(labels)

The input does not say which rows these are, or how many.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional as F

FOLDS = 5
ROUNDS = 3
"""How often the label models are fitted again, weighted by which labels the last round considers intended."""
LABEL_PENALTY, MEANT_PENALTY = 0.03, 0.02
LEAST_WEIGHT = 0.01

Tensor = Any


def _minimise(parameters: list[Tensor], loss: Any) -> None:
    optimiser = torch.optim.LBFGS(parameters, max_iter=80, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss()
        value.backward()
        return value

    optimiser.step(closure)


def _classifier(values: Tensor, codes: Tensor, classes: int, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted multinomial logistic regression with a ridge penalty: slopes and intercepts."""
    slopes = torch.zeros(values.shape[1], classes, dtype=values.dtype, requires_grad=True)
    level = torch.zeros(classes, dtype=values.dtype, requires_grad=True)

    def loss() -> Tensor:
        losses = F.cross_entropy(values @ slopes + level, codes, reduction="none")
        return (weights * losses).sum() / weights.sum() + LABEL_PENALTY * (slopes**2).sum() / 2

    _minimise([slopes, level], loss)
    return slopes.detach(), level.detach()


def label_evidence(
    values: Tensor, targets: Mapping[str, Tensor], classes: Mapping[str, int], weights: Tensor, fold: Tensor
) -> Tensor:
    """log p(labels | row) − log p(labels) of each row, by models fitted without its fold; 0 without labels.

    `targets` are class codes of each attribute (−1: no label), `classes` the number of classes of each.
    """
    evidence = torch.zeros(len(values), dtype=values.dtype)
    for name, codes in targets.items():
        known = codes >= 0
        shares = torch.bincount(codes[known], minlength=classes[name]).to(values.dtype).clamp(min=1)
        usual = (shares / shares.sum()).log()
        for number in range(FOLDS):
            fitted, left = known & (fold != number), known & (fold == number)
            if not bool(fitted.any()) or not bool(left.any()):
                continue
            slopes, level = _classifier(values[fitted], codes[fitted], classes[name], weights[fitted])
            likelihood = F.log_softmax(values[left] @ slopes + level, dim=1)
            own = codes[left]
            evidence[left] += likelihood.gather(1, own[:, None])[:, 0] - usual[own]
    return evidence


def _meant_logits(values: Tensor, evidence: Tensor, labelled: Tensor) -> Tensor:
    """The logit of π(x) for each row: a ridge-penalised logistic model, maximum likelihood of the mixture."""
    slopes = torch.zeros(values.shape[1], dtype=values.dtype, requires_grad=True)
    level = torch.ones((), dtype=values.dtype, requires_grad=True)

    def loss() -> Tensor:
        logits = values @ slopes + level
        mixture = torch.logaddexp(F.logsigmoid(logits) + evidence, F.logsigmoid(-logits))
        return -mixture[labelled].mean() + MEANT_PENALTY * (slopes**2).sum() / 2

    _minimise([slopes, level], loss)
    return (values @ slopes + level).detach()


def meant_labels(values: Tensor, targets: Mapping[str, Tensor], classes: Mapping[str, int], seed: int = 0) -> Tensor:
    """The probability that each row's labels are meaningful, from its features and how well they predict the labels.

    `values` are standardised features (rows × features, 64-bit); the rest as in `label_evidence`.

    >>> values = torch.randn(200, 3, generator=torch.Generator().manual_seed(1)).double()
    >>> labels = (values[:, 0] > 0).long()
    >>> labels[:40], values[:40, 2] = torch.arange(40) % 2, 4.0  # the first 40 look alike, and have labels at random
    >>> labelled = meant_labels(values, {"smiles": labels}, {"smiles": 2})
    >>> bool(labelled[:40].mean() < 0.5), bool(labelled[40:].mean() > 0.9)
    (True, True)
    """
    generator = torch.Generator().manual_seed(seed)
    fold = torch.randperm(len(values), generator=generator) % FOLDS
    labelled = torch.stack([codes >= 0 for codes in targets.values()]).any(dim=0)
    posterior = torch.ones(len(values), dtype=values.dtype)
    for _ in range(ROUNDS):
        evidence = label_evidence(values, targets, classes, posterior.clamp(min=LEAST_WEIGHT), fold)
        posterior = torch.sigmoid(_meant_logits(values, evidence, labelled) + evidence)
    return posterior.float()
