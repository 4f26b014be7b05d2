"""Which pictures are faces, learned from the randomness of the labels alone.

A face's labels can be predicted from its picture, a non-face's cannot: they were drawn at random. For each picture,
models that have not seen it say how much better its labels are predicted from it than by the classes' shares; the
logarithm of that ratio is the evidence. It is noisy for a single picture. A second model, π(x), makes one probability
of being a face out of it for pictures that look alike, by maximum likelihood of the mixture

    p(labels | x) = π(x) · p(labels | x, a face) + (1 − π(x)) · p(labels)

Nobody says which pictures are faces, how many are not, or which have no labels.
"""

from typing import Any

import torch
from torch.nn import functional as F

from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES
from countenance.suites.bias_bounty.training.features import Features, principal

FOLDS = 5
ROUNDS = 3
"""Times that the label models are fitted again, weighted by what the last round takes for faces."""
COMPONENTS = 40
LABEL_PENALTY, FACE_PENALTY = 0.03, 0.02
LEAST_WEIGHT = 0.01

Tensor = Any


@torch.no_grad()  # type: ignore[untyped-decorator]
def described(pixels: Tensor) -> Tensor:
    """One row of standardised fixed features for each picture (N × 3 × SIZE × SIZE, 0 to 255)."""
    skin, around, shape = Features()(pixels)
    mean, axes = principal(shape, COMPONENTS)
    values = torch.cat([skin, around, (shape - mean) @ axes], dim=1).double()
    return (values - values.mean(dim=0)) / (values.std(dim=0) + 1e-6)


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


def label_evidence(values: Tensor, targets: dict[str, Tensor], weights: Tensor, fold: Tensor) -> Tensor:
    """log p(labels | picture) − log p(labels) of each row, by models fitted without its fold; 0 without labels."""
    evidence = torch.zeros(len(values), dtype=values.dtype)
    for name in ATTRIBUTES:
        codes, classes = targets[name], len(CLASSES[name])
        known = codes >= 0
        shares = torch.bincount(codes[known], minlength=classes).to(values.dtype).clamp(min=1)
        usual = (shares / shares.sum()).log()
        for number in range(FOLDS):
            fitted, left = known & (fold != number), known & (fold == number)
            if not bool(fitted.any()) or not bool(left.any()):
                continue
            slopes, level = _classifier(values[fitted], codes[fitted], classes, weights[fitted])
            told = F.log_softmax(values[left] @ slopes + level, dim=1)
            own = codes[left]
            evidence[left] += told.gather(1, own[:, None])[:, 0] - usual[own]
    return evidence


def face_logits(values: Tensor, evidence: Tensor, labelled: Tensor) -> Tensor:
    """The logit of π(x) for each row: a ridge-penalised logistic model, maximum likelihood of the mixture."""
    slopes = torch.zeros(values.shape[1], dtype=values.dtype, requires_grad=True)
    level = torch.ones((), dtype=values.dtype, requires_grad=True)

    def loss() -> Tensor:
        logits = values @ slopes + level
        mixture = torch.logaddexp(F.logsigmoid(logits) + evidence, F.logsigmoid(-logits))
        return -mixture[labelled].mean() + FACE_PENALTY * (slopes**2).sum() / 2

    _minimise([slopes, level], loss)
    return (values @ slopes + level).detach()


def face_posterior(pixels: Tensor, targets: dict[str, Tensor], seed: int) -> Tensor:
    """The probability that each picture is a face, from its looks and from how well its labels fit them."""
    values = described(pixels)
    generator = torch.Generator().manual_seed(seed)
    fold = torch.randperm(len(values), generator=generator) % FOLDS
    labelled = torch.stack([targets[name] >= 0 for name in ATTRIBUTES]).any(dim=0)
    posterior = torch.ones(len(values), dtype=values.dtype)
    for _ in range(ROUNDS):
        evidence = label_evidence(values, targets, posterior.clamp(min=LEAST_WEIGHT), fold)
        posterior = torch.sigmoid(face_logits(values, evidence, labelled) + evidence)
    return posterior.float()
