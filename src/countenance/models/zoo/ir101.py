"""IR-101, the backbone of CurricularFace: a residual network for faces of 112 × 112, with its weights by path.

The architecture is that of the published weights, so that their names fit; loading executes nothing from the file.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.models.model import Images
from countenance.models.torch_model import import_torch, load_state

STAGES = ((64, 3), (128, 13), (256, 30), (512, 3))
"""Channels and blocks of the four stages."""
SIDE = 112


def build(device: str = "meta") -> Any:
    """The network without weights; on the device `meta` even without memory for them, until they are loaded."""
    torch = import_torch()
    nn = torch.nn

    class ResidualBlock(nn.Module):  # type: ignore[misc,name-defined]
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

    class Backbone(nn.Module):  # type: ignore[misc,name-defined]
        """Input layer, body and output layer, named as in the published weights."""

        def __init__(self) -> None:
            super().__init__()
            self.input_layer = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.PReLU(64))
            blocks: list[Any] = []
            inputs = 64
            for outputs, count in STAGES:
                for i in range(count):
                    blocks.append(ResidualBlock(inputs, outputs, 2 if i == 0 else 1))
                    inputs = outputs
            self.body = nn.Sequential(*blocks)
            self.output_layer = nn.Sequential(
                nn.BatchNorm2d(512), nn.Dropout(0.4), nn.Flatten(), nn.Linear(512 * 7 * 7, 512), nn.BatchNorm1d(512)
            )

        def forward(self, x: Any) -> Any:
            return self.output_layer(self.body(self.input_layer(x)))

    with torch.device(device):
        return Backbone().eval()


class Ir101:
    """Embeds face pictures as they are: resized to 112 × 112, values from -1 to 1, 512 numbers each."""

    def __init__(self, weights: Path, device: str = "cpu") -> None:
        self.torch, self.device = import_torch(), device
        self.network = load_state(build(), weights, device)

    def __call__(self, images: Images) -> list[NDArray[np.float64]]:
        from PIL import Image

        batch = []
        for image in images:
            small = Image.fromarray(np.asarray(image)).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            batch.append(np.asarray(small, dtype=np.float32).transpose(2, 0, 1) / 127.5 - 1)
        with self.torch.inference_mode():
            vectors = self.network(self.torch.from_numpy(np.stack(batch)).to(self.device))
        return [np.asarray(vector, dtype=np.float64) for vector in vectors.cpu().numpy()]
