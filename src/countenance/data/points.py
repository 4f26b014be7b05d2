"""The pixels of a picture that are measured, and their sums over parts of many pictures at once.

A picture has a grid of 24 points along its longer side. `point_pixels` copies the pixels of these points while the
picture is decoded, which takes a few microseconds; everything else is computed later, for many pictures together, since
the cost of each call of a library is then shared. All sums are exact, so that they are the same on every machine and
whichever pictures are measured together.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.data.sample import Floats

GRID = 24
"""Points of the grid along the longer side."""
SCALE = 128
"""The Laplacian is computed from the picture scaled to this many pixels along the longer side."""
WEIGHTS = np.array([306 / 1024, 601 / 1024, 117 / 1024])
"""Of red, green and blue in the luminance: .299, .587 and .114 as fractions of 1024, so that sums are exact."""
LUMINANCE, EDGES, LUMINANCE_SQUARED, EDGES_SQUARED, WARMTH, GRAIN, POINTS = range(7)
"""What is summed over points: luminance, Laplacian, the square of each, red less blue, second difference; and 1."""
TAPS = 9
IN_CACHE = 16
"""Pictures whose pixels are summed together; those of more do not fit into the processor's cache."""
STANDARD_SUM = 3688
"""Sum of the luminance table of the JPEG standard, which stands for quality 50."""


class PointPixels(NamedTuple):
    """The pixels of a picture's points, and what else is known from its file."""

    height: int
    width: int
    values: NDArray[np.uint8] | None
    """The nine values of each point (`_taps`) × rows × columns; None where the picture is too small to have points."""
    jpeg_quality: float | None


def point_pixels(pixels: NDArray[np.uint8], content: bytes = b"") -> PointPixels:
    """The pixels that are measured of a picture; `content` is its file, of which the JPEG quality is read.

    >>> point_pixels(np.zeros((48, 24, 3), np.uint8)).values.shape
    (9, 23, 11)
    """
    height, width = pixels.shape[:2]
    taps = _taps(height, width)
    values = None if taps is None else pixels.reshape(-1).take(taps)
    return PointPixels(height, width, values, jpeg_quality(content))


@lru_cache(maxsize=4096)
def spacing(height: int, width: int) -> tuple[int, int]:
    """The distance between the points of a picture, and how far the first ones are from its edges.

    The second is also the distance of the neighbours from which the Laplacian is computed.

    >>> spacing(256, 192)
    (11, 2)
    """
    largest = max(height, width)
    return -(-largest // GRID), max(round(largest / SCALE), 1)


@lru_cache(maxsize=64)
def _taps(height: int, width: int) -> NDArray[np.intp] | None:
    """Where the values of each point lie in the flat picture: red, green and blue of its pixel, green of the four
    pixels at the Laplacian's distance, green of the two pixels beside it.
    """
    step, reach = spacing(height, width)
    if min(height, width) <= 2 * reach:
        return None
    rows, columns = np.arange(reach, height - reach, step), np.arange(reach, width - reach, step)
    red = 3 * (rows[:, None] * width + columns)
    up, left = 3 * width * reach, 3 * reach
    offsets = np.array([0, 1, 2, 1 - up, 1 + up, 1 - left, 1 + left, 1 - 3, 1 + 3])
    result: NDArray[np.intp] = red + offsets[:, None, None]
    return result


def sums_of_parts(pictures: Sequence[NDArray[np.uint8]], parts: NDArray[np.bool_]) -> Floats:
    """For pictures with equally many points the sums over each of their parts: `POINTS` + 1 × pictures × parts.

    `parts` says which points belong to a part: pictures × parts × rows × columns.

    >>> pixels = point_pixels(np.full((48, 48, 3), 7, np.uint8)).values
    >>> sums_of_parts([pixels], np.ones((1, 1, 23, 23), np.bool_))[[LUMINANCE, POINTS], 0, 0].tolist()
    [3703.0, 529.0]
    """
    parts = parts.reshape(*parts.shape[:2], -1)
    sums = np.empty((*parts.shape[:2], POINTS + 1))
    terms = np.empty((min(len(parts), IN_CACHE), POINTS, parts.shape[2]))
    for start in range(0, len(parts), IN_CACHE):
        some = slice(start, start + IN_CACHE)
        values = np.array(pictures[some]).reshape(-1, TAPS, parts.shape[2])
        of_some = terms[: len(values)]
        _fill(of_some, values)
        weights = parts[some].astype(np.float64)
        np.matmul(of_some[:, None], weights[..., None], out=sums[some, :, :POINTS, None])
        np.sum(weights, axis=2, out=sums[some, :, POINTS])
    return sums.transpose(2, 0, 1)


def _fill(terms: Floats, values: NDArray[np.uint8]) -> None:
    """Compute what is summed from the pixels of points: pictures × `POINTS` × points."""
    np.matmul(WEIGHTS, values[:, :3].astype(np.float64), out=terms[:, LUMINANCE])
    np.subtract(values[:, 0], values[:, 2], out=terms[:, WARMTH], dtype=np.int16)
    green = values[:, 1:].astype(np.int16)
    twice = green[:, 0] * 2
    edges = green[:, 2] + green[:, 3]
    edges += green[:, 4]
    edges += green[:, 5]
    edges -= twice
    np.subtract(edges, twice, out=terms[:, EDGES], dtype=np.int16)
    grain = green[:, 6] + green[:, 7]
    grain -= twice
    terms[:, GRAIN] = np.abs(grain, out=grain)
    np.multiply(terms[:, :2], terms[:, :2], out=terms[:, LUMINANCE_SQUARED:WARMTH])


def jpeg_quality(content: bytes) -> float | None:
    """The quality setting that a JPEG file's first quantisation table corresponds to; None for other files.

    >>> from countenance.data.jpeg import sample_file
    >>> jpeg_quality(sample_file()), jpeg_quality(b"RIFF")
    (60.0, None)
    """
    if content[:2] != b"\xff\xd8":
        return None
    place = content.find(b"\xff\xdb", 0, 65536)
    if place < 0 or len(content) < place + 69 or content[place + 4] & 0xF0:
        return None
    return _quality_of(content[place + 5 : place + 69])


@lru_cache(maxsize=64)
def _quality_of(table: bytes) -> float:
    scale = 100 * sum(table) / STANDARD_SUM
    return float(round(min(max((200 - scale) / 2 if scale <= 100 else 5000 / scale, 1), 100)))
