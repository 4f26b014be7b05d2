"""Label maps on disk: pictures in which the value of a pixel is its class."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import EncodedImage
from countenance.errors import DataError, InputError, opencv


def label_map_of(content: bytes, path: Path, classes: int, place: str) -> NDArray[np.uint8]:
    """The classes of a picture's pixels, each below `classes`; the path and the place are named in errors."""
    cv2 = opencv("reading label maps")
    try:
        EncodedImage(content, path.name).size()  # refuses what is too large before any pixel is decoded
    except InputError as error:
        raise DataError(f"{path}: not a readable mask ({place}): {error}") from None
    picture = cv2.imdecode(np.frombuffer(content, dtype=np.uint8), cv2.IMREAD_GRAYSCALE)
    if picture is None:
        raise DataError(f"{path}: not a readable mask ({place})")
    if int(picture.max()) >= classes:
        raise DataError(f"{path}: label {int(picture.max())}, expected 0 to {classes - 1}")
    return np.asarray(picture, dtype=np.uint8)


def outlines(mask: NDArray[np.bool_], what: str = "outlines of masks") -> list[NDArray[np.int32]]:
    """The outer outlines of a mask, each as its corners (x, y); `what`, for errors, is what needs them.

    >>> outlines(np.ones((2, 2), bool))[0].tolist()
    [[0, 0], [0, 1], [1, 1], [1, 0]]
    """
    cv2 = opencv(what)
    result, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    return [outline[:, 0] for outline in result]
