"""The printed words: HAPPY and SAD in red, as the benchmark printed them.

The strokes are kept as two small masks, DejaVu Sans Bold at 50 px in Pillow's basic layout, so that a build needs no
font and comes out the same everywhere. A word is centred and its middle lies at 8/9 of the height. The benchmark took
the word's height from the top of the font's line; so do we, and the origin falls on (29, 198) and (66, 198) in a photo
of 250 × 250.
"""

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import decode

WORDS = ("HAPPY", "SAD")
RED = np.array([255, 0, 0], np.float64)
REFERENCE = 250
"""Side of the benchmark's photos in px; larger and smaller photos get a larger and smaller word."""


@cache
def strokes(word: str) -> NDArray[np.float64]:
    """How much of each pixel the word covers, 0 to 1, from the top of its line.

    >>> strokes("HAPPY").shape, strokes("SAD").shape
    ((47, 192), (48, 117))
    """
    content = files("countenance.suites.happyfaces").joinpath("lettering", f"{word}.png").read_bytes()
    return decode(content, f"{word}.png")[:, :, 0] / 255.0


def print_word(photo: NDArray[np.uint8], word: str) -> NDArray[np.uint8]:
    """A copy of the photo with the word printed on it in red.

    >>> printed = print_word(np.zeros((250, 250, 3), np.uint8), "SAD")
    >>> bool(printed[:198].any()), int(printed[..., 0].max()), bool(printed[..., 1:].any())
    (False, 255, False)
    """
    height, width = photo.shape[:2]
    cover = _scaled(strokes(word), min(height, width) / REFERENCE)
    y, x = int(height * 8 / 9 - cover.shape[0] / 2), int((width - cover.shape[1]) / 2)
    out = photo.astype(np.float64)
    place = out[y : y + cover.shape[0], x : x + cover.shape[1]]
    cover = cover[: place.shape[0], : place.shape[1], None]
    place[:] = place * (1 - cover) + RED * cover
    return np.rint(out).astype(np.uint8)


def _scaled(cover: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    if factor == 1:
        return cover
    from PIL import Image

    size = (max(1, round(cover.shape[1] * factor)), max(1, round(cover.shape[0] * factor)))
    picture = Image.fromarray(np.rint(cover * 255).astype(np.uint8)).resize(size, Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float64) / 255
