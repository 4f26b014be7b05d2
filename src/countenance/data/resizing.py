"""Resizes pictures exactly as OpenCV does, byte for byte, without OpenCV.

Detectors were trained on pictures that OpenCV resized, and their scores depend on every pixel. Both methods here follow
its arithmetic: sums of 32-bit floats in its order where a picture shrinks (`INTER_AREA`), weights of 11 bits where it
is interpolated (`INTER_LINEAR`, and `INTER_AREA` where a picture grows). A test compares them with OpenCV itself.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
BITS = 11
"""The bits of an interpolation weight."""
LEAST = 1e-3
"""A smaller part of a source pixel is ignored."""
Weights = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]


def resize_area(image: Pixels, width: int, height: int) -> Pixels:
    """The picture (rows × columns × channels) at another size; each new pixel is the mean of the area it covers.

    Where the picture grows in either direction, pixels are interpolated instead.

    >>> resize_area(np.arange(16, dtype=np.uint8).reshape(4, 4, 1), 2, 2)[..., 0]
    array([[ 3,  5],
           [11, 13]], dtype=uint8)
    """
    rows, columns, channels = image.shape
    if width > columns or height > rows:
        return _interpolated(image, _weights(columns, width, area=True), _weights(rows, height, area=True))
    if columns % width == 0 and rows % height == 0:
        return _block_means(image, columns // width, rows // height)
    across, down = _shares(columns, width), _shares(rows, height)
    narrow = _turned((across @ _turned(image).reshape(columns, -1).astype(np.float32)).reshape(width, rows, channels))
    return _bytes(np.rint(down @ narrow.reshape(rows, -1))).reshape(height, width, channels)


def resize_linear(image: Pixels, width: int, height: int) -> Pixels:
    """The picture at another size, each new pixel interpolated between the four around its centre.

    >>> resize_linear(np.array([[[0], [100]]], dtype=np.uint8), 4, 1)[0, :, 0]
    array([  0,  25,  75, 100], dtype=uint8)
    """
    across = _weights(image.shape[1], width, clamped=True)
    return _interpolated(image, across, _weights(image.shape[0], height))


def _turned(picture: NDArray[Any]) -> NDArray[Any]:
    """Rows and columns exchanged. Whole pixels are moved at once, which is several times faster."""
    rows, columns, channels = picture.shape
    whole = np.ascontiguousarray(picture).view(f"V{picture.itemsize * channels}")[..., 0]
    return np.ascontiguousarray(whole.T).view(picture.dtype).reshape(columns, rows, channels)


def _bytes(values: Any) -> Pixels:
    return np.asarray(values, dtype=np.uint8)


def _block_means(image: Pixels, wide: int, high: int) -> Pixels:
    """Means of whole blocks of pixels."""
    rows, columns, channels = image.shape
    blocks = image.reshape(rows // high, high, columns // wide, wide, channels)
    sums = blocks.sum(axis=(1, 3), dtype=np.int32)
    if wide == high == 2:
        return _bytes((sums + 2) >> 2)
    return _bytes(np.rint(sums.astype(np.float32) * np.float32(1 / (wide * high))))


@lru_cache(256)
def _shares(source: int, target: int) -> Any:
    """The share of each of `source` pixels in each of fewer `target` pixels: a sparse matrix."""
    from scipy.sparse import csr_matrix

    scale = 1 / (target / source)
    rows, columns, values = [], [], []
    for number in range(target):
        first, last = number * scale, number * scale + scale
        whole = min(scale, source - first)
        end = min(math.floor(last), source - 1)
        start = min(math.ceil(first), end)
        parts = [(start - 1, start - first)] if start - first > LEAST else []
        parts += [(place, 1.0) for place in range(start, end)]
        parts += [(end, min(last - end, 1.0, whole))] if last - end > LEAST else []
        rows += [number] * len(parts)
        columns += [place for place, _ in parts]
        values += [part / whole for _, part in parts]
    return csr_matrix((np.array(values, np.float32), (rows, columns)), shape=(target, source))


@lru_cache(256)
def _weights(source: int, target: int, *, area: bool = False, clamped: bool = False) -> Weights:
    """The two source pixels of each target pixel and their weights.

    At the edges both are the same pixel. OpenCV gives the first all the weight along a row (`clamped`), and shares it
    along a column, which rounds differently.
    """
    inverse = target / source
    scale, place = 1 / inverse, np.arange(target)
    if area:
        left = np.floor(place * scale).astype(np.intp)
        share = ((place + 1) - (left + 1) * inverse).astype(np.float32)
        share = np.where(share <= 0, np.float32(0), share - np.floor(share))
    else:
        centre = ((place + 0.5) * scale - 0.5).astype(np.float32)
        left = np.floor(centre).astype(np.intp)
        share = centre - left.astype(np.float32)
    if clamped:
        share[(left < 0) | (left >= source - 1)] = 0
    item = np.float32(1 << BITS)
    weights = [np.rint(part * item).astype(np.int32) for part in (np.float32(1) - share, share)]
    return np.clip(left, 0, source - 1), np.clip(left + 1, 0, source - 1), weights[0], weights[1]


def _interpolated(image: Pixels, across: Weights, down: Weights) -> Pixels:
    left, right, near, far = across
    upper, lower, above, below = down
    needed, place = np.unique(np.concatenate([upper, lower]), return_inverse=True)
    rows = image[needed].astype(np.int32)
    mixed = (rows[:, left] * near[:, None] + rows[:, right] * far[:, None]) >> 4
    first, second = mixed[place[: len(upper)]], mixed[place[len(upper) :]]
    out = ((above[:, None, None] * first >> 16) + (below[:, None, None] * second >> 16) + 2) >> 2
    return _bytes(np.clip(out, 0, 255))
