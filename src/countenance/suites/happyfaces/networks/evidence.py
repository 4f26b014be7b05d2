"""The local layer: every place of the photo says, by itself, what it knows about the label.

One logistic unit for each window of the trunk's map, each trained on the labelled photos with its own loss (deep
supervision). A network that is trained through one output instead stops learning as soon as the easiest feature, the
word, explains the labels, and its heads then have nothing else to disagree with.

The units are trained in folds. Scores on left-out photos say how much each place really knows, and so how loud it may
speak: places that know nothing agree with the labels by heart and with nothing on unlabelled photos, which is just what
methods that look for disagreement would choose. A labelled photo's evidence is that of units that never saw it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.suites.happyfaces.interface import Labels, Pictures
from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.settings import NetworkSettings
from countenance.suites.happyfaces.networks.trunk import Trunk, pretrained, trunk_for

_CHUNK = 100


@dataclass(frozen=True)
class HeadCalibration:
    """Raw scores of each place to log-odds, by the two classes' means and common variance on left-out photos."""

    centre: Any
    gain: Any
    ceiling: float

    def __call__(self, scores: Any) -> Any:
        """Photos × places; bounded by the ceiling."""
        return self.ceiling * ((scores - self.centre) * self.gain / self.ceiling).tanh()


def calibrate(scores: Any, happy: Any, ceiling: float) -> HeadCalibration:
    """From left-out scores (photos × places). A place that knows nothing gets a gain near 0.

    >>> import torch
    >>> scores = torch.tensor([[2.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-2.0, -0.1]])
    >>> calibrate(scores, torch.tensor([True, True, False, False]), 3.0).gain.tolist()[1]
    0.0
    """
    up, down = scores[happy], scores[~happy]
    variance = (up.var(0, correction=0) + down.var(0, correction=0)) / 2
    gain = (up.mean(0) - down.mean(0)).clamp(min=0) / (variance + 1e-6)
    return HeadCalibration((up.mean(0) + down.mean(0)) / 2, gain, ceiling)


def folds_of(labels: Labels, folds: int, seed: int) -> Any:
    """A fold for each photo, both classes spread evenly."""
    rng = np.random.default_rng([seed, 2])
    out = np.zeros(len(labels), np.int64)
    for value in (0, 1):
        rows = rng.permutation(np.nonzero(labels == value)[0])
        out[rows] = np.arange(len(rows)) % folds
    return out


@dataclass(frozen=True)
class Evidence:
    """What each place says: `labelled` from units that did not see the photo, and a call for any other photo."""

    name: str
    labelled: Any
    _scores: Any
    _calibration: HeadCalibration

    def __call__(self, pictures: Pictures) -> Any:
        """Photos × places."""
        return self._calibration(self._scores(pictures))


def gather(labelled: Pictures, labels: Labels, settings: NetworkSettings, seed: int) -> Evidence:
    """Train the local layer on the labelled photos; with no pretrained trunk, a small ResNet for each fold."""
    if pretrained(settings):
        return _on_trunk(trunk_for(settings), labelled, labels, settings, seed)
    from countenance.suites.happyfaces.networks.scratch import train_from_scratch

    scores, left_out = train_from_scratch(labelled, labels, settings, seed)
    return _calibrated("small-resnet", scores, left_out, labels, settings)


def _on_trunk(trunk: Trunk, labelled: Pictures, labels: Labels, settings: NetworkSettings, seed: int) -> Evidence:
    torch = need_torch()
    maps = trunk(labelled)
    mean, scale = maps.mean((0, 1)), maps.std((0, 1, 3, 4))[:, None, None] + 1e-6

    def windows(some: Any) -> Any:  # places × (photos, then their mirror images) × inputs
        both = ((some - mean) / scale).transpose(0, 1).flatten(0, 1)
        wide = torch.nn.functional.unfold(both, settings.window)
        return wide.permute(2, 0, 1) / wide.shape[1] ** 0.5

    seen = windows(maps)
    fold = torch.as_tensor(folds_of(labels, settings.folds, seed), device=maps.device).repeat(2)
    target = torch.as_tensor(labels, device=maps.device).float().repeat(2)
    weights, biases = _train_units(seen, target, fold, settings)
    raw = torch.einsum("pnd,fpd->nfp", seen, weights) + biases
    left_out = _both_sides(raw[torch.arange(len(fold), device=fold.device), fold])
    weight, bias = weights.mean(0), biases.mean(0)

    def scores(pictures: Pictures) -> Any:
        parts = [windows(trunk(pictures[i : i + _CHUNK])) for i in range(0, len(pictures), _CHUNK)]
        return torch.cat([_both_sides(torch.einsum("pnd,pd->np", part, weight) + bias) for part in parts])

    return _calibrated(trunk.name, scores, left_out, labels, settings)


def _both_sides(scores: Any) -> Any:
    """The mean of each photo's and its mirror image's scores."""
    return scores.unflatten(0, (2, -1)).mean(0)


def _train_units(seen: Any, target: Any, fold: Any, settings: NetworkSettings) -> tuple[Any, Any]:
    """Folds × places × inputs and folds × places: logistic units, each fold's trained on the other folds."""
    torch = need_torch()
    places, _, inputs = seen.shape
    weights = torch.zeros(settings.folds, places, inputs, device=seen.device, requires_grad=True)
    biases = torch.zeros(settings.folds, places, device=seen.device, requires_grad=True)
    used = (fold[None] != torch.arange(settings.folds, device=fold.device)[:, None]).float()
    used = (used / used.sum(1, keepdim=True))[:, None]
    optimiser = torch.optim.Adam([weights, biases], lr=settings.local_rate, betas=(0.9, 0.98))
    for step in range(settings.local_steps):
        optimiser.param_groups[0]["lr"] = settings.local_rate * 0.5 * (1 + np.cos(np.pi * step / settings.local_steps))
        logits = torch.einsum("pnd,fpd->fpn", seen, weights) + biases[..., None]
        losses = torch.nn.functional.softplus(logits) - logits * target
        total = (losses * used).sum() + settings.local_decay * weights.square().sum()
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        optimiser.step()
    return weights.detach(), biases.detach()


def _calibrated(name: str, scores: Any, left_out: Any, labels: Labels, settings: NetworkSettings) -> Evidence:
    torch = need_torch()
    happy = torch.as_tensor(labels == 1, device=left_out.device)
    calibration = calibrate(left_out, happy, settings.ceiling)
    return Evidence(name, calibration(left_out), scores, calibration)
