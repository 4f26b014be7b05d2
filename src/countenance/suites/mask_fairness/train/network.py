"""The network: depthwise convolutions down to a 32nd, back up to an 8th, one head, no anchors.

Each cell of the last map predicts whether a face is centred there, whether it wears a mask, and the distances to the
face's sides. About 0.2 million weights, so that it trains on two cores in minutes and ships with the package. It learns
on windows of 160×160 and, being convolutions alone, takes pictures of any size that 32 divides.
"""

from typing import Any

SIDE = 160
"""The side of the training windows in pixels."""
STRIDE = 8
CELLS = SIDE // STRIDE
OUTPUTS = 6
"""Logit of a face, logit of a mask, log-distances to the left, top, right and bottom sides (in strides)."""


def make_network() -> Any:
    """The untrained network: N × 3 × H × W (0 to 1) to N × 6 × H/8 × W/8."""
    import torch
    from torch import nn

    def conv(inputs: int, outputs: int, stride: int = 1) -> Any:
        layers = [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    def separable(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, inputs, size, stride, size // 2, groups=inputs, bias=False),
            nn.BatchNorm2d(inputs),
            nn.Conv2d(inputs, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        )

    class MaskNetwork(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(conv(3, 16, 2), separable(16, 32, 2), separable(32, 32))
            self.eighth = nn.Sequential(separable(32, 64, 2), separable(64, 64), separable(64, 64))
            self.sixteenth = nn.Sequential(separable(64, 128, 2, 5), separable(128, 128, 1, 5), separable(128, 128))
            self.thirtysecond = nn.Sequential(separable(128, 192, 2, 5), separable(192, 192, 1, 5))
            self.up16 = nn.Conv2d(192, 96, 1)
            self.side16 = nn.Conv2d(128, 96, 1)
            self.merge16 = separable(96, 96)
            self.side8 = nn.Conv2d(64, 96, 1)
            self.merge8 = nn.Sequential(separable(96, 96, 1, 5), separable(96, 96, 1, 5))
            self.head = nn.Conv2d(96, OUTPUTS, 1)
            with torch.no_grad():  # at first nearly every cell is predicted empty
                self.head.bias.zero_()
                self.head.bias[0] = -4.0
                self.head.bias[2:] = 1.2

        def forward(self, pixels: Any) -> Any:
            eighth = self.eighth(self.stem((pixels - 0.5) * 4))
            sixteenth = self.sixteenth(eighth)
            deep = self.up16(self.thirtysecond(sixteenth))
            up = nn.functional.interpolate(deep, scale_factor=2.0, mode="nearest")
            middle = self.merge16(self.side16(sixteenth) + up)
            up = nn.functional.interpolate(middle, scale_factor=2.0, mode="nearest")
            return self.head(self.merge8(self.side8(eighth) + up))

    return MaskNetwork()
