"""A mask, less light, a smaller face, a blur and compression, made to any picture of a face by image operations.

Used by `does_it_measure.py` on photographs and on rendered people alike.
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from countenance.suites.mask_fairness.train.augmented_pictures import draw_mask

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float64]
STOPS = 4.0
"""How much light the dark picture loses."""
SCALE = 0.31
"""Size of the small face: the ratio that the twins of distance have."""
RADIUS = 3.0
"""Of the blur, in pixels: that of the twins of blur."""
QUALITY = 10
"""Of the JPEG: that of the twins of compression."""


class Picture(NamedTuple):
    """Pixels, the square in which the face lies, and the detector's box and five points in the unchanged picture."""

    name: str
    pixels: Pixels
    square: Floats
    box: Floats | None
    points: Floats | None


def masked(picture: Picture) -> Picture | None:
    """With a mask from the bridge of the nose to the chin; None where no points of the face are known."""
    if picture.points is None or picture.box is None:
        return None
    pixels = picture.pixels.copy()
    draw_mask(pixels, picture.box, picture.points, np.random.default_rng(zlib.crc32(picture.name.encode())))
    return picture._replace(pixels=pixels)


def darkened(picture: Picture) -> Picture:
    """With a sixteenth of the light, in 8 bits as a camera stores it."""
    encoded = np.arange(256) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4) / 2**STOPS
    dark = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return picture._replace(pixels=np.round(dark * 255).astype(np.uint8)[picture.pixels])


def shrunk(picture: Picture) -> Picture:
    """The whole picture smaller, in the middle of a plain one of the old size in its mean colour."""
    height, width = picture.pixels.shape[:2]
    size = np.array([round(width * SCALE), round(height * SCALE)])
    left, top = (width - size[0]) // 2, (height - size[1]) // 2
    pixels = np.empty_like(picture.pixels)
    pixels[:] = picture.pixels.reshape(-1, 3).mean(axis=0)
    pixels[top : top + size[1], left : left + size[0]] = cv2.resize(
        picture.pixels, (int(size[0]), int(size[1])), interpolation=cv2.INTER_AREA
    )
    ratio, shift = size / (width, height), np.array([left, top])
    return picture._replace(
        pixels=pixels,
        square=picture.square * np.tile(ratio, 2) + np.tile(shift, 2),
        box=None if picture.box is None else picture.box * np.tile(ratio, 2) + np.tile(shift, 2),
        points=None if picture.points is None else picture.points * ratio + shift,
    )


def blurred(picture: Picture) -> Picture:
    """Out of focus: each point becomes a disc."""
    steps = np.arange(-int(RADIUS) - 1, int(RADIUS) + 2)
    disc = np.clip(RADIUS + 0.5 - np.hypot(steps[:, None], steps[None]), 0, 1)
    return picture._replace(pixels=cv2.filter2D(picture.pixels, -1, disc / disc.sum()))


def compressed(picture: Picture) -> Picture:
    """Through JPEG at a low quality and back."""
    _, data = cv2.imencode(".jpg", picture.pixels[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return picture._replace(pixels=np.ascontiguousarray(cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1]))


CHANGES: dict[str, Callable[[Picture], Picture | None]] = {
    "mask": masked,
    "dark": darkened,
    "small": shrunk,
    "blur": blurred,
    "jpeg": compressed,
}
