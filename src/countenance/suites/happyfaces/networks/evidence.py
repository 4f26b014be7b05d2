"""The local layer: every place of the photo gives its own evidence on the label.

One logistic unit for each window of the trunk's map, each trained on the labelled photos with its own loss (deep
supervision). A network with a single output stops learning as soon as the easiest feature, the word, explains the
labels, so its heads cannot disagree about another feature.

The units are trained in folds. Scores on left-out photos measure the information of each place and set its weight:
places without information only memorise the labels and are random on unlabelled photos, and methods that maximise
disagreement would choose them. The evidence on a labelled photo comes from units fitted without it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from countenance.data.picture_cache import PictureCache
from countenance.learning.efficientnet import efficientnet_weights, pretrained_network, shrunk
from countenance.learning.training import minimise, need_torch, training_device
from countenance.suites.happyfaces.interface import Labels, Pictures
from countenance.suites.happyfaces.networks import resnet
from countenance.suites.happyfaces.networks.training import NetworkSettings

_CHUNK = 100


@dataclass(frozen=True)
class Evidence:
    """The evidence of each place: `labelled` from units fitted without the photo, and a call for any other photos."""

    name: str
    labelled: Any
    of: Callable[[Pictures], Any]

    def __call__(self, pictures: Pictures) -> Any:
        """Photos × places."""
        return self.of(pictures)


def gather(labelled: Pictures, labels: Labels, settings: NetworkSettings, seed: int) -> Evidence:
    """Train the local layer on the labelled photos; with no pretrained trunk, a small ResNet for each fold."""
    trunk = trunk_for(settings)
    if trunk is not None:
        name, fold = trunk.name, folds_of(labels, settings.folds, seed)
        scores, left_out = train_on_trunk(trunk, labelled, labels, fold, settings)
    else:
        name, fold = "small-resnet", folds_of(labels, resnet.FOLDS, seed)
        scores, left_out = resnet.train_from_scratch(labelled, labels, fold, settings, seed)
    calibrated = calibrate(left_out, need_torch().as_tensor(labels == 1, device=left_out.device), settings.ceiling)
    return Evidence(name, calibrated(left_out), lambda pictures: calibrated(scores(pictures)))


def calibrate(scores: Any, happy: Any, ceiling: float) -> Callable[[Any], Any]:
    """Raw scores to log-odds up to a ceiling, by both classes' means and common variance on left-out photos.

    Scores are photos × places; those of a place without information become nearly 0.

    >>> import torch
    >>> scores = torch.tensor([[2.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-2.0, -0.1]])
    >>> calibrate(scores, torch.tensor([True, True, False, False]), 3.0)(scores)[0].round(decimals=2)
    tensor([3., 0.])
    """
    up, down = scores[happy], scores[~happy]
    variance = (up.var(0, correction=0) + down.var(0, correction=0)) / 2
    gain = (up.mean(0) - down.mean(0)).clamp(min=0) / (variance + 1e-6)
    centre = (up.mean(0) + down.mean(0)) / 2
    return lambda some: ceiling * ((some - centre) * gain / ceiling).tanh()


def folds_of(labels: Labels, folds: int, seed: int) -> Labels:
    """A fold for each photo, both classes spread evenly."""
    rng = np.random.default_rng([seed, 2])
    out = np.zeros(len(labels), np.int64)
    for value in (0, 1):
        rows = rng.permutation(np.nonzero(labels == value)[0])
        out[rows] = np.arange(len(rows)) % folds
    return out


def train_on_trunk(
    trunk: Callable[[Pictures], Any], labelled: Pictures, labels: Labels, fold: Labels, settings: NetworkSettings
) -> tuple[Any, Any]:
    """A function from photos to scores (photos × places), and left-out scores of the labelled photos."""
    torch = need_torch()
    maps = trunk(labelled)
    mean, scale = maps.mean((0, 1)), maps.std((0, 1, 3, 4))[:, None, None] + 1e-6

    def windows(some: Any) -> Any:  # places × (photos, then their mirror images) × inputs
        both = ((some - mean) / scale).transpose(0, 1).flatten(0, 1)
        wide = torch.nn.functional.unfold(both, settings.window)
        return wide.permute(2, 0, 1) / wide.shape[1] ** 0.5

    def both_sides(raw: Any) -> Any:  # the mean of each photo's and its mirror image's scores
        return raw.unflatten(0, (2, -1)).mean(0)

    seen = windows(maps)
    of_unit = torch.as_tensor(fold, device=maps.device).repeat(2)
    target = torch.as_tensor(labels, device=maps.device).float().repeat(2)
    weights, biases = _train_units(seen, target, of_unit, settings)
    raw = torch.einsum("pnd,fpd->nfp", seen, weights) + biases
    left_out = both_sides(raw[torch.arange(len(of_unit), device=maps.device), of_unit])
    weight, bias = weights.mean(0), biases.mean(0)

    def scores(pictures: Pictures) -> Any:
        parts = [windows(trunk(pictures[i : i + _CHUNK])) for i in range(0, len(pictures), _CHUNK)]
        return torch.cat([both_sides(torch.einsum("pnd,pd->np", part, weight) + bias) for part in parts])

    return scores, left_out


def _train_units(seen: Any, target: Any, fold: Any, settings: NetworkSettings) -> tuple[Any, Any]:
    """Folds × places × inputs and folds × places: logistic units, each fold's trained on the other folds."""
    torch = need_torch()
    places, _, inputs = seen.shape
    weights = torch.zeros(settings.folds, places, inputs, device=seen.device, requires_grad=True)
    biases = torch.zeros(settings.folds, places, device=seen.device, requires_grad=True)
    used = (fold[None] != torch.arange(settings.folds, device=fold.device)[:, None]).float()
    used = (used / used.sum(1, keepdim=True))[:, None]

    def loss(done: float) -> Any:
        logits = torch.einsum("pnd,fpd->fpn", seen, weights) + biases[..., None]
        losses = torch.nn.functional.softplus(logits) - logits * target
        return (losses * used).sum() + settings.local_decay * weights.square().sum()

    adam = torch.optim.Adam([weights, biases], lr=settings.local_rate, betas=(0.9, 0.98))
    minimise(adam, settings.local_steps, loss)
    return weights.detach(), biases.detach()


_BATCH = {"cpu": 4}
"""Photos per batch; few on a CPU, where larger arrays are returned to the system after every layer."""


class Trunk:
    """Photos to maps of photo and mirror image, photos × 2 × channels × height × width, about 60 kB a photo."""

    name = "efficientnet-lite0"

    def __init__(self, blocks: int, size: int, device: str) -> None:
        self.torch, self.blocks, self.size, self.device = need_torch(), blocks, size, device
        self.form = {"memory_format": self.torch.channels_last}
        self.network = pretrained_network("a pretrained network", device, **self.form)
        self._maps = PictureCache(self._compute, _BATCH.get(device, 250))

    def __call__(self, pictures: Pictures) -> Any:
        return self.torch.stack(self._maps(pictures)).float()

    def _compute(self, pictures: Pictures) -> Any:
        with self.torch.no_grad():
            x = shrunk(pictures, self.size).to(self.device, **self.form)
            return self.torch.stack([self.network(side, self.blocks)[0] for side in (x, x.flip(3))], 1).half()


trunk_of = lru_cache(maxsize=2)(Trunk)
"""One trunk for the whole program."""


def trunk_for(settings: NetworkSettings) -> Trunk | None:
    """The pretrained trunk by the settings; None for the small ResNet (by name, or as `auto` without weights)."""
    if settings.backbone == "resnet" or (settings.backbone == "auto" and efficientnet_weights() is None):
        return None
    return trunk_of(settings.blocks, settings.size, training_device(settings.device))
