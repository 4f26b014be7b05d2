"""Fixed features of a picture, nothing learned from labels: colours of skin and around the head, edge directions."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from countenance.suites.bias_bounty.training.colours import AROUND, FIELD, Colours

SIZE = FIELD
"""The features are read from pictures of SIZE × SIZE pixels."""

Tensor = Any


class Features(nn.Module):  # type: ignore[misc]
    """Three groups of numbers: colours of skin, colours around the head, edge directions in cells of 8 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.colours = Colours()
        across = torch.tensor([[-1.0, 0.0, 1.0]]) / 2
        self.register_buffer("across", across.reshape(1, 1, 1, 3))
        self.register_buffer("down", across.reshape(1, 1, 3, 1))
        angles = torch.arange(8) * torch.pi / 8
        self.register_buffer("directions", torch.stack([torch.cos(angles), torch.sin(angles)], 1).reshape(8, 2, 1, 1))
        # Chroma tells tones apart, brightness mostly tells the light.
        self.register_buffer("skin_scale", torch.tensor([2.0, 2.0, 1.0, 1.0, 0.5, 0.0]))
        self.register_buffer("around_scale", torch.tensor([1.0, 1.0, 0.7]).repeat(AROUND // 3))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        linear = (images / 255) ** 2.2
        skin, around = self.colours(linear)
        grey = torch.log(linear.mean(dim=1, keepdim=True) + 0.01)
        edges = torch.cat(
            [F.conv2d(F.pad(grey, (1, 1, 0, 0)), self.across), F.conv2d(F.pad(grey, (0, 0, 1, 1)), self.down)], 1
        )
        strength = F.conv2d(edges, self.directions).abs()
        cells = F.avg_pool2d(strength, 8)
        shape = torch.sqrt(cells / (cells.mean(dim=(1, 2, 3), keepdim=True) + 1e-4))
        return skin * self.skin_scale, around * self.around_scale, shape.flatten(1)


def principal(values: Tensor, components: int) -> tuple[Tensor, Tensor]:
    """The mean and the leading axes, half-whitened: a small component counts for more than its size."""
    mean = values.mean(dim=0)
    _, spread, axes = torch.linalg.svd(values - mean, full_matrices=False)
    keep = min(components, len(spread))
    return mean, axes[:keep].T / (spread[:keep] / len(values) ** 0.5).clamp(min=1e-6).sqrt()
