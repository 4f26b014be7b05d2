"""The networks of the three entries; each takes images of 0 to 255 (N × 3 × S × S, RGB)."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES
from countenance.suites.bias_bounty.training.fixed_features import AROUND, SKIN, Colours

Tensor = Any
MIDDLE, SPREAD = 127.5, 60.0


def _conv(ins: int, outs: int, stride: int = 1) -> Any:
    convolution = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outs), nn.ReLU(inplace=True))


class Plain(nn.Module):  # type: ignore[misc]
    """The baseline's network for one attribute: a small plain CNN at full resolution."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _conv(3, 16, 2),
            _conv(16, 32),
            nn.MaxPool2d(2),
            _conv(32, 48),
            nn.MaxPool2d(2),
            _conv(48, 64),
            nn.MaxPool2d(2),
            _conv(64, 128),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(128, classes))

    def forward(self, images: Tensor) -> tuple[Tensor]:
        return (self.head(self.body((images - MIDDLE) / SPREAD)),)


class Residual(nn.Module):  # type: ignore[misc]
    """x + conv(conv(x)), narrow in the middle."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = _conv(width, width // 2)
        self.second = nn.Sequential(nn.Conv2d(width // 2, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.second(self.first(x)))


class Shared(nn.Module):  # type: ignore[misc]
    """The better entry's network: one backbone, maps that learn where to sample colours, four heads.

    Skin tone is a colour relative to the light. Each map is a soft choice of places (skin, the white of an eye, cloth);
    the logarithm of the mean linear colour under each goes to the heads, where differences between maps cancel the
    light. The fixed colours of the skin and around the head are further inputs.
    """

    def __init__(
        self, size: int, maps: int = 12, dropout: float = 0.3, widths: tuple[int, ...] = (24, 48, 96, 160)
    ) -> None:
        super().__init__()
        a, b, c, d = widths
        self.stem = _conv(3, a, 2)
        self.early = nn.Sequential(_conv(a, b, 2), Residual(b))
        self.middle = nn.Sequential(_conv(b, c, 2), Residual(c))
        self.deep = nn.Sequential(_conv(c, d, 2), Residual(d))
        self.where = nn.ModuleList([nn.Conv2d(width, maps, 1) for width in widths])
        self.seen = nn.Sequential(nn.Linear(d + c, 96), nn.ReLU(), nn.Dropout(dropout))
        self.fixed = Colours(size // 2)
        inputs = maps * 4 + SKIN + AROUND
        self.colours = nn.Sequential(nn.BatchNorm1d(inputs), nn.Linear(inputs, 96), nn.ReLU(), nn.Dropout(dropout / 3))
        self.heads = nn.ModuleDict({name: nn.Linear(192, len(CLASSES[name])) for name in ATTRIBUTES})
        self.face = nn.Linear(96, 1)

    def read_colours(self, linear: Tensor, where: Tensor) -> Tensor:
        """N × maps × 4: the logarithm of the mean linear colour, and of its spread, under each map."""
        share, colour = where.float().flatten(2).softmax(dim=2), linear.flatten(2).transpose(1, 2)
        # Mixed precision would round these products to 8 bits, and neighbouring tones with them.
        with torch.autocast(linear.device.type, enabled=False) if self.training else nullcontext():
            mean = torch.bmm(share, colour)
            square = torch.bmm(share, (colour**2).mean(dim=2, keepdim=True))
        spread = (square - (mean**2).mean(dim=2, keepdim=True)).clamp(min=0)
        return torch.cat([torch.log(mean + 0.003), torch.log((spread + 1e-6).sqrt() + 0.01)], dim=2)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        stem = self.stem((images - MIDDLE) / SPREAD)
        early = self.early(stem)
        middle = self.middle(early)
        deep = self.deep(middle)
        # Coarse features classify a region and fine features locate its edge: the white of an eye is a few pixels wide.
        where = self.where[0](stem)
        for conv, features in zip(self.where[1:], (early, middle, deep), strict=True):
            where = where + F.interpolate(conv(features), size=where.shape[-2:], mode="nearest")
        seen = self.seen(torch.cat([deep.mean(dim=(2, 3)), middle.amax(dim=(2, 3))], dim=1))
        linear = F.avg_pool2d(images / 255, 2) ** 2.2  # among four pixels the order hardly matters
        colours = self.colours(torch.cat([self.read_colours(linear, where).flatten(1), *self.fixed(linear)], dim=1))
        both = torch.cat([seen, colours], dim=1)
        return (*(self.heads[name](both) for name in ATTRIBUTES), self.face(seen))
