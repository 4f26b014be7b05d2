"""Fixed features of a portrait, not learned: colours of skin and around the head, edge directions.

As modules they can be part of a network; `portrait_features` gives one row of numbers for each picture. Needs PyTorch.

Skin is recognised by warm colours near the middle of the picture. Its chroma (the logarithms of R/G and G/B in linear
light) hardly depends on how bright the light is, so ten tones can be distinguished; the brightest spot near the face
represents the light.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Tensor = Any
SIZE = 64
"""Features are read from pictures of SIZE × SIZE pixels; colours too, unless told otherwise."""
PLACES: tuple[tuple[float, float, float], ...] = (
    (0.5, 0.18, 0.05),
    (0.5, 0.26, 0.04),
    (0.36, 0.30, 0.04),
    (0.36, 0.45, 0.04),
    (0.36, 0.6, 0.04),
    (0.30, 0.5, 0.04),
    (0.5, 0.56, 0.03),
)
"""Where hair, its length, lips and beard show: x, y, size in shares of the picture; each with its mirror image."""


def _blob(x: float, y: float, across: float, down: float, field: int) -> Tensor:
    place = (torch.arange(field) + 0.5) / field
    rows = torch.exp(-(((place - y) / down) ** 2) / 2)
    return rows[:, None] * torch.exp(-(((place - x) / across) ** 2) / 2)[None]


class Colours(nn.Module):  # type: ignore[misc]
    """Numbers of skin (6) and of places around the head (3 each), not learned."""

    def __init__(self, field: int = SIZE) -> None:
        super().__init__()
        middle = _blob(0.5, 0.42, 0.11, 0.132, field)
        self.register_buffer("middle", middle / middle.sum())
        blobs = torch.stack([_blob(x, y, s, s, field) + _blob(1 - x, y, s, s, field) for x, y, s in PLACES])
        self.register_buffer("places", blobs / blobs.sum(dim=(1, 2), keepdim=True))

    def forward(self, linear: Tensor) -> tuple[Tensor, Tensor]:
        """Skin (N × 6) and places (N × 3·len(PLACES)) of pictures in linear light, field × field."""
        logs = torch.log(linear + 0.004)
        warm, yellow, light = logs[:, 0] - logs[:, 1], logs[:, 1] - logs[:, 2], logs[:, 1]
        grey = linear.mean(dim=1)
        weight = self.middle * torch.sigmoid((warm - 0.12) * 25) * torch.sigmoid((yellow - 0.02) * 25) + 1e-7
        weight = weight / weight.sum(dim=(1, 2), keepdim=True)

        def mean(values: Tensor, under: Tensor = weight) -> Tensor:
            return (under * values).sum(dim=(1, 2))

        skin = [mean(warm), mean(yellow), mean(light)]
        spread = torch.sqrt(mean((light - skin[2][:, None, None]) ** 2) + 1e-4)
        # Ratios of high moments weight the brightest pixels most: those of the skin, and of everything near the face.
        bright = torch.log(mean(grey**4) / (mean(grey**3) + 1e-9) + 0.01)
        lamp = torch.log(mean(grey**6, self.middle) / (mean(grey**5, self.middle) + 1e-9) + 0.01)
        around = [(self.places * values[:, None]).sum(dim=(2, 3)) for values in (warm, yellow, light)]
        return torch.stack([*skin, bright, lamp, spread], dim=1), torch.stack(around, dim=2).flatten(1)


SKIN, AROUND = 6, 3 * len(PLACES)


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
        # Chroma separates skin tones; brightness mostly depends on the light.
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
    """The mean and the leading axes, half-whitened, so that a small component counts for more than its size."""
    mean = values.mean(dim=0)
    _, spread, axes = torch.linalg.svd(values - mean, full_matrices=False)
    keep = min(components, len(spread))
    return mean, axes[:keep].T / (spread[:keep] / len(values) ** 0.5).clamp(min=1e-6).sqrt()


@torch.no_grad()  # type: ignore[untyped-decorator]
def portrait_features(pixels: Tensor, components: int = 40) -> Tensor:
    """A row of standardised features for each picture (N × 3 × SIZE × SIZE, 0 to 255).

    >>> generator = torch.Generator().manual_seed(0)
    >>> portrait_features(torch.rand(50, 3, SIZE, SIZE, generator=generator) * 255, components=4).shape
    torch.Size([50, 31])
    """
    skin, around, shape = Features()(pixels)
    mean, axes = principal(shape, components)
    values = torch.cat([skin, around, (shape - mean) @ axes], dim=1).double()
    return (values - values.mean(dim=0)) / (values.std(dim=0) + 1e-6)


def trimmed_whitening(values: Tensor, share: float, rounds: int = 20) -> tuple[Tensor, Tensor]:
    """Mean and whitening matrix of the `share` of rows that lie closest together (concentration steps)."""
    rows = values.double()
    off = (rows - rows.median(dim=0).values).abs()
    away = (off / (off.median(dim=0).values + 1e-6)).norm(dim=1)  # a start that outliers do not move
    central = away <= torch.quantile(away, share)
    for _ in range(rounds):
        centre = rows[central].mean(dim=0)
        covariance = torch.cov(rows[central].T)
        covariance = covariance + 1e-3 * torch.diag(covariance.diag() + 1e-6)  # invertible with few rows too
        whitening = torch.linalg.cholesky(torch.linalg.inv(covariance))
        away = ((rows - centre) @ whitening).norm(dim=1)
        central = away <= torch.quantile(away, share)
    return centre.to(values.dtype), whitening.to(values.dtype)


def k_means(values: Tensor, clusters: int, generator: Any, rounds: int = 50) -> Tensor:
    """Centres by k-means++ and Lloyd's rounds."""
    clusters = min(clusters, len(values))
    centres = values[torch.randint(len(values), (1,), generator=generator, device=values.device)]
    while len(centres) < clusters:
        nearest = torch.cdist(values, centres).amin(dim=1) ** 2 + 1e-12
        centres = torch.cat([centres, values[torch.multinomial(nearest, 1, generator=generator)]])
    for _ in range(rounds):
        owner = torch.cdist(values, centres).argmin(dim=1)
        member = F.one_hot(owner, clusters).to(values.dtype)
        size = member.sum(dim=0)
        centres = torch.where((size > 0)[:, None], (member.T @ values) / size.clamp(min=1)[:, None], centres)
    return centres
