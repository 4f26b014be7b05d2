"""Without pretrained weights: a small ResNet for each of two folds, trained from scratch with a loss at every place."""

from typing import Any

import numpy as np

from countenance.suites.happyfaces.interface import Labels, Pictures
from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.backbone import small_resnet
from countenance.suites.happyfaces.networks.evidence import folds_of
from countenance.suites.happyfaces.networks.settings import NetworkSettings, device_of
from countenance.suites.happyfaces.networks.trunk import shrunk

FOLDS = 2
BATCH = 24
RATE = 1e-3
DECAY = 1e-2
SHIFT = 4
"""Photos are moved by up to this many pixels while training."""


def train_from_scratch(labelled: Pictures, labels: Labels, settings: NetworkSettings, seed: int) -> tuple[Any, Any]:
    """A function from photos to scores (photos × places), and left-out scores of the labelled photos."""
    torch = need_torch()
    device = device_of(settings)
    side = settings.size // 2
    pixels = shrunk(labelled, side).to(device)
    target = torch.as_tensor(labels, device=device).float()
    fold = torch.as_tensor(folds_of(labels, FOLDS, seed), device=device)
    networks = [
        _train(pixels[fold != k], target[fold != k], settings.resnet_steps, seed * FOLDS + k) for k in range(FOLDS)
    ]
    left_out = torch.stack([_scores(network, pixels) for network in networks])[fold, torch.arange(len(fold))]

    def scores(pictures: Pictures) -> Any:
        some = shrunk(pictures, side).to(device)
        return torch.stack([_scores(network, some) for network in networks]).mean(0)

    return scores, left_out


def _train(pixels: Any, target: Any, steps: int, seed: int) -> Any:
    torch = need_torch()
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 3])
    network = small_resnet(places=True).to(pixels.device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
        rows = torch.as_tensor(rng.permutation(len(pixels))[:BATCH], device=pixels.device)
        moved = torch.roll(pixels[rows], tuple(rng.integers(-SHIFT, SHIFT + 1, 2).tolist()), (2, 3))
        logits = network(moved.flip(3) if rng.random() < 0.5 else moved).flatten(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target[rows][:, None].expand_as(logits))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return network.eval()


def _scores(network: Any, pixels: Any) -> Any:
    """Photos × places, mean of photo and mirror image."""
    torch = need_torch()
    with torch.no_grad():
        parts = [network(part) + network(part.flip(3)) for part in pixels.split(100)]
    return torch.cat(parts).flatten(1) / 2
