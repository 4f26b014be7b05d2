"""Without pretrained weights: a small ResNet for each of two folds, trained from scratch with a loss at every place."""

from typing import Any

import numpy as np

from countenance.learning.efficientnet import shrunk
from countenance.learning.training import minimise, need_torch, training_device
from countenance.suites.happyfaces.interface import Labels, Pictures
from countenance.suites.happyfaces.networks.training import NetworkSettings

FOLDS = 2
BATCH = 24
RATE = 1e-3
DECAY = 1e-2
SHIFT = 4
"""Photos are moved by up to this many pixels while training."""


def small_resnet() -> Any:
    """A ResNet of eight layers: photos × 3 × height × width to a logit for each place, a sixteenth in each direction.

    Group normalisation, because batches are small.
    """
    torch = need_torch()
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inward: int, outward: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(inward, outward, 3, 2, 1, bias=False)
            self.second = nn.Conv2d(outward, outward, 3, 1, 1, bias=False)
            self.skip = nn.Conv2d(inward, outward, 1, 2, bias=False)
            self.norms = nn.ModuleList(nn.GroupNorm(8, outward) for _ in range(3))

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norms[0](self.first(x)))
            return functional.relu(self.norms[1](self.second(y)) + self.norms[2](self.skip(x)))

    stem = nn.Sequential(nn.Conv2d(3, 32, 5, 2, 2, bias=False), nn.GroupNorm(8, 32), nn.ReLU())
    return nn.Sequential(stem, Block(32, 64), Block(64, 128), Block(128, 256), nn.Conv2d(256, 1, 1))


def train_from_scratch(
    labelled: Pictures, labels: Labels, fold: Any, settings: NetworkSettings, seed: int
) -> tuple[Any, Any]:
    """A function from photos to scores (photos × places), and left-out scores of the labelled photos."""
    torch, device, side = need_torch(), training_device(settings.device), settings.size // 2
    pixels, fold = shrunk(labelled, side).to(device), torch.as_tensor(fold, device=device)
    target = torch.as_tensor(labels, device=device).float()
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
    network = small_resnet().to(pixels.device)

    def loss(done: float) -> Any:
        rows = torch.as_tensor(rng.permutation(len(pixels))[:BATCH], device=pixels.device)
        moved = torch.roll(pixels[rows], tuple(rng.integers(-SHIFT, SHIFT + 1, 2).tolist()), (2, 3))
        logits = network(moved.flip(3) if rng.random() < 0.5 else moved).flatten(1)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, target[rows][:, None].expand_as(logits))

    minimise(torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY), steps, loss)
    return network.eval()


def _scores(network: Any, pixels: Any) -> Any:
    """Photos × places, mean of photo and mirror image."""
    torch = need_torch()
    with torch.no_grad():
        parts = [network(part) + network(part.flip(3)) for part in pixels.split(100)]
    return torch.cat(parts).flatten(1) / 2
