"""Learned perceptual image patch similarity (LPIPS, Zhang et al. 2018) with AlexNet, in plain numpy.

The weights are arguments; no file is read here. Lower means more similar; identical pictures have 0.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

SHIFT = np.array([-0.030, -0.088, -0.188], dtype=np.float32)
SCALE = np.array([0.458, 0.448, 0.450], dtype=np.float32)
LAYERS = (
    # output channels, input channels, kernel, stride, padding, pooled before
    (64, 3, 11, 4, 2, False),
    (192, 64, 5, 1, 2, True),
    (384, 192, 3, 1, 1, True),
    (256, 384, 3, 1, 1, False),
    (256, 256, 3, 1, 1, False),
)


def weight_shapes() -> dict[str, tuple[int, ...]]:
    """The arrays that `lpips` needs: a kernel, a bias and a head for each of AlexNet's five layers.

    >>> weight_shapes()["conv1.weight"], weight_shapes()["head5"]
    ((64, 3, 11, 11), (256,))
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (outputs, inputs, kernel, _, _, _) in enumerate(LAYERS, start=1):
        shapes[f"conv{i}.weight"] = (outputs, inputs, kernel, kernel)
        shapes[f"conv{i}.bias"] = (outputs,)
        shapes[f"head{i}"] = (outputs,)
    return shapes


def lpips(a: NDArray[np.uint8], b: NDArray[np.uint8], weights: Mapping[str, Array]) -> float:
    """The perceptual distance of two 8-bit RGB pictures of one size (FHIBE: 256 × 256).

    >>> zeros = {name: np.zeros(shape, np.float32) for name, shape in weight_shapes().items()}
    >>> lpips(np.zeros((64, 64, 3), np.uint8), np.full((64, 64, 3), 255, np.uint8), zeros)
    0.0
    """
    if a.shape != b.shape:
        raise ValueError(f"pictures of shapes {a.shape} and {b.shape}, expected the same")
    total = 0.0
    for i, (x, y) in enumerate(zip(_features(a, weights), _features(b, weights), strict=True), start=1):
        difference = (_unit(x) - _unit(y)) ** 2
        total += float(np.tensordot(weights[f"head{i}"], difference, axes=(0, 0)).mean(dtype=np.float64))
    return total


def _features(picture: NDArray[np.uint8], weights: Mapping[str, Array]) -> list[Array]:
    value = (picture.astype(np.float32) / np.float32(127.5) - np.float32(1) - SHIFT) / SCALE
    layer: Array = np.ascontiguousarray(value.transpose(2, 0, 1), dtype=np.float32)
    out: list[Array] = []
    for i, (_, _, kernel, stride, padding, pooled) in enumerate(LAYERS, start=1):
        if pooled:
            layer = _pool(layer)
        layer = _convolve(layer, weights[f"conv{i}.weight"], weights[f"conv{i}.bias"], kernel, stride, padding)
        layer = np.maximum(layer, np.float32(0))
        out.append(layer)
    return out


def _convolve(x: Array, weight: Array, bias: Array, kernel: int, stride: int, padding: int) -> Array:
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(1, 2))[:, ::stride, ::stride]
    height, width = windows.shape[1:3]
    columns = windows.transpose(0, 3, 4, 1, 2).reshape(weight[0].size, height * width)
    product = weight.reshape(len(weight), weight[0].size) @ columns + bias[:, None]
    return np.asarray(product.reshape(len(weight), height, width), dtype=np.float32)


def _pool(x: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2]
    return np.asarray(windows.max(axis=(3, 4)), dtype=np.float32)


def _unit(x: Array) -> Array:
    norm = np.sqrt((x * x).sum(axis=0, keepdims=True))
    return np.asarray(x / (norm + np.float32(1e-10)), dtype=np.float32)
