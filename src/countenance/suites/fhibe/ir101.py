"""The backbone of CurricularFace (IR-101: a residual network for faces of 112 × 112), with its weights by path.

The architecture is that of the published weights, so that their names fit; loading executes nothing from the file.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError, MissingExtra

STAGES = ((64, 3), (128, 13), (256, 30), (512, 3))
"""Channels and blocks of the four stages."""
SIDE = 112


def build() -> Any:
    """The network without weights."""
    try:
        from torch import nn
    except ImportError:
        raise MissingExtra("CurricularFace's IR-101", "torch") from None

    class Block(nn.Module):  # type: ignore[misc]
        """Two convolutions beside a shortcut; the first block of a stage halves the picture."""

        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            if inputs == outputs:
                self.shortcut_layer: Any = nn.MaxPool2d(1, stride)
            else:
                self.shortcut_layer = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )
            self.res_layer = nn.Sequential(
                nn.BatchNorm2d(inputs),
                nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False),
                nn.PReLU(outputs),
                nn.Conv2d(outputs, outputs, 3, stride, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )

        def forward(self, x: Any) -> Any:
            return self.res_layer(x) + self.shortcut_layer(x)

    class Network(nn.Module):  # type: ignore[misc]
        """Input layer, body and output layer, named as in the published weights."""

        def __init__(self) -> None:
            super().__init__()
            self.input_layer = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.PReLU(64))
            blocks: list[Any] = []
            inputs = 64
            for outputs, count in STAGES:
                for i in range(count):
                    blocks.append(Block(inputs, outputs, 2 if i == 0 else 1))
                    inputs = outputs
            self.body = nn.Sequential(*blocks)
            self.output_layer = nn.Sequential(
                nn.BatchNorm2d(512), nn.Dropout(0.4), nn.Flatten(), nn.Linear(512 * 7 * 7, 512), nn.BatchNorm1d(512)
            )

        def forward(self, x: Any) -> Any:
            return self.output_layer(self.body(self.input_layer(x)))

    return Network().eval()


class Ir101:
    """Embeds face pictures: resized to 112 × 112, values from -1 to 1, 512 numbers each."""

    def __init__(self, weights: Path) -> None:
        network = build()
        import torch

        if not weights.is_file():
            raise InputError(f"{weights}: no such weights of IR-101")
        try:
            state = torch.load(weights, map_location="cpu", weights_only=True)
        except Exception as error:
            raise InputError(f"{weights}: not readable weights ({type(error).__name__})") from error
        state = state.get("state_dict", state) if isinstance(state, dict) else state
        try:
            network.load_state_dict(state)
        except (RuntimeError, AttributeError, TypeError) as error:
            raise InputError(f"{weights}: not the weights of IR-101 ({str(error).splitlines()[0]})") from None
        self.network = network

    def __call__(self, images: Any) -> list[NDArray[np.float64]]:
        import torch
        from PIL import Image

        batch = []
        for image in images:
            small = Image.fromarray(image).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            batch.append(np.asarray(small, dtype=np.float32).transpose(2, 0, 1) / 127.5 - 1)
        with torch.no_grad():
            vectors = self.network(torch.from_numpy(np.stack(batch)))
        return [np.asarray(vector, dtype=np.float64) for vector in vectors.numpy()]
