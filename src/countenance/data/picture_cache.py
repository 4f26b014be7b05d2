"""A cache in memory of values computed from pictures, by the picture's hash."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pictures = NDArray[np.uint8]

MOST = 1500
"""The most pictures whose results are in memory; the oldest are dropped first."""


class PictureCache:
    """A function of pictures that computes each picture once, a few at a time.

    >>> seen = PictureCache(lambda pictures: [len(pictures)] * len(pictures), batch=2)
    >>> pictures = np.arange(3, dtype=np.uint8)[:, None]
    >>> seen(pictures), seen(pictures[::-1])
    ([2, 2, 1], [1, 2, 2])
    """

    def __init__(self, compute: Callable[[Pictures], Iterable[Any]], batch: int) -> None:
        self.compute, self.batch = compute, batch
        self._known: dict[bytes, Any] = {}

    def __call__(self, pictures: Pictures) -> list[Any]:
        """A value for each picture."""
        keys = [hashlib.blake2b(picture.tobytes(), digest_size=16).digest() for picture in pictures]
        result = {key: self._known[key] for key in keys if key in self._known}
        new = [i for i, key in enumerate(keys) if key not in result]
        for start in range(0, len(new), self.batch):
            some = new[start : start + self.batch]
            result |= zip((keys[i] for i in some), self.compute(pictures[some]), strict=True)
        self._known |= result
        for key in list(self._known)[: max(0, len(self._known) - MOST)]:
            self._known.pop(key, None)  # another thread may have been faster
        return [result[key] for key in keys]
