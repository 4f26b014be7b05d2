"""A faster decoder for JPEG files, used only where it gives the pixels that Pillow gives.

OpenCV, an extra, decodes with the same library as Pillow and takes about a quarter less time. It is used for files
that are whole and ordinary; whatever Pillow might refuse (stray markers, a missing end) goes to Pillow, so that the
same files fail. Before its first use both decode a test picture, and an OpenCV with other pixels is not used.
"""

import base64
import hashlib
import io
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import MissingExtra, opencv

Pixels = NDArray[np.uint8]

TEST_PICTURE = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYV"
    "pQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAX"
    "ACUDASIAAhEBAxEB/8QAGAABAAMBAAAAAAAAAAAAAAAAAAMFBgT/xAAuEAACAQMDAwEFCQAAAAAAAAABAgMABBEFEiETIkGhFCVigbExMjRRUm"
    "FxwvD/xAAYAQEBAAMAAAAAAAAAAAAAAAAFBAABA//EACcRAAIABAQFBQAAAAAAAAAAAAECAAMEESExQVESIqGx4QUyYdHw/9oADAMBAAIRAxEA"
    "PwDHacASqvwR5PmtxocSoBI7KqKMlicAD881l7Sz7xxWj2vaaJdOqk5j2Yzj73bn1q2qrJ4USpq30uM4mdBMso1iPSo0h0e5aQ4BhZc48kYHqR"
    "Vlb2/fpfH6/wCtccB2aBKsgXLFAvOCx3A/QGrATwWd8l3Mr9O3s+qwAySFLE4/fijqh5M4sQ1jc54aeYalKeZvk9vMZXXp5YbDTordtpUPuOAe"
    "Tt45H+zSoryQ3CW6SMmBH1Ac85YkY/jtFKulUKKtiRrtvBjep1DszK5AJNgCRhfDpHfZ2zhwQx+Zq11XrxaOiqy7ZZlVgQORgn6gUpWqmVwTV4"
    "WOe8cqc3mpfeJJo/dFtlAT7Qv2H4Wrn164DNdWxXCrbFMgeAm7n5t6UpRQnuHxxzzA3EJVRIo5hH67KOxinlhh3Q9w/Dr4+JqUpWGuN/YvX7gN"
    "ByjGP//Z"
)
"""A pattern of 37 × 23 pixels with half the colours' resolution, which decoders decode differently."""

_AFTER_FF = np.zeros(256, bool)
_AFTER_FF[[0x00, *range(0xD0, 0xD8), 0xC4, 0xDA, 0xDB, 0xDD, 0xD9]] = True
"""What may follow the byte FF in the compressed data: a literal FF, restarts, tables, the next scan, the end."""


def whole(content: bytes) -> bool:
    """Whether a JPEG file is whole and has no marker where none belongs.

    >>> whole(sample_file()), whole(sample_file()[:-100])
    (True, False)
    """
    if content[:2] != b"\xff\xd8" or content[-2:] != b"\xff\xd9":
        return False
    start = _scan(content)
    if start is None or start > len(content):
        return False
    data = np.frombuffer(content, np.uint8, offset=start)
    after = data[np.flatnonzero(data[:-1] == 0xFF) + 1]
    return bool(_AFTER_FF[after].all()) and int((after == 0xD9).sum()) == 1


def upright(content: bytes) -> bool:
    """Whether a file is a whole JPEG in RGB or grey that no EXIF entry turns: what a GPU's decoder can take.

    >>> upright(sample_file()), upright(b"GIF89a")
    (True, False)
    """
    if not whole(content):
        return False
    if _plain(content):
        return True
    from PIL import Image

    from countenance.data.image import turned

    with Image.open(io.BytesIO(content)) as picture:
        return picture.format == "JPEG" and picture.mode in ("RGB", "L") and not turned(picture)


def _plain(content: bytes) -> bool:
    """Whether the segments alone show that a file is `upright`: one or three colours, no Adobe or EXIF segment."""
    place, colours = 2, 0
    while place + 10 <= len(content) and content[place] == 0xFF and content[place + 1] != 0xDA:
        kind = content[place + 1]
        if kind in (0xE1, 0xEE):
            return False
        if kind in (0xC0, 0xC1, 0xC2):
            colours = content[place + 9]
        place += 2 + int.from_bytes(content[place + 2 : place + 4], "big")
    return colours in (1, 3)


def _scan(content: bytes) -> int | None:
    """Where the compressed data begin; None where the segments before them are damaged."""
    place = 2
    while place + 4 <= len(content) and content[place] == 0xFF:
        size = int.from_bytes(content[place + 2 : place + 4], "big")
        if content[place + 1] == 0xDA:
            return place + 2 + size
        place += 2 + size
    return None


def fast_pixels(content: bytes) -> Pixels | None:
    """The pixels of an upright RGB or grey JPEG file; None where Pillow must decide.

    >>> fast_pixels(sample_file()[:-100]) is None
    True
    """
    if not same_as_pillow() or not whole(content):
        return None
    return _opencv(content)


def installed() -> Any:
    """OpenCV, or None: it is an extra, and everything here works without it."""
    try:
        return opencv("fast decoding")
    except MissingExtra:
        return None


def _opencv(content: bytes) -> Pixels | None:
    cv2 = installed()
    flags = getattr(cv2, "IMREAD_COLOR_RGB", None)
    if cv2 is None or flags is None:  # absent, or before 4.11
        return None
    try:
        result = cv2.imdecode(np.frombuffer(content, np.uint8), flags | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        return None
    return None if result is None else np.asarray(result, np.uint8)


def sample_file() -> bytes:
    """The test file on which decoders are compared."""
    return base64.b64decode(TEST_PICTURE)


def _pillow(content: bytes) -> Pixels:
    import io

    from PIL import Image

    with Image.open(io.BytesIO(content)) as picture:
        return np.asarray(picture.convert("RGB"))


@cache
def same_as_pillow() -> bool:
    """Whether OpenCV's pixels equal Pillow's on this machine."""
    result = _opencv(sample_file())
    return result is not None and np.array_equal(result, _pillow(sample_file()))


@cache
def pixels_id() -> str:
    """A short hash of the test picture's pixels on this machine; decoders with the same hash give the same pixels.

    >>> len(pixels_id())
    8
    """
    return hashlib.sha256(_pillow(sample_file()).tobytes()).hexdigest()[:8]
