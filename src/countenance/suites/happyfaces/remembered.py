"""What a method computed of a photo, kept by the photo's hash: the runs of a sweep share the work."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from countenance.suites.happyfaces.interface import Pictures

MOST = 1500
"""Photos that are remembered: more than the benchmark has."""


class Remembered:
    """A function of photos that computes each photo once, a few at a time.

    >>> import numpy as np
    >>> seen = Remembered(lambda photos: [len(photos)] * len(photos), batch=2)
    >>> photos = np.arange(3, dtype=np.uint8)[:, None]
    >>> seen(photos), seen(photos[::-1])
    ([2, 2, 1], [1, 2, 2])
    """

    def __init__(self, compute: Callable[[Pictures], Iterable[Any]], batch: int) -> None:
        self.compute, self.batch = compute, batch
        self._known: dict[bytes, Any] = {}

    def __call__(self, pictures: Pictures) -> list[Any]:
        """A value for each photo."""
        keys = [hashlib.blake2b(picture.tobytes(), digest_size=16).digest() for picture in pictures]
        found = {key: self._known[key] for key in keys if key in self._known}
        new = [i for i, key in enumerate(keys) if key not in found]
        for start in range(0, len(new), self.batch):
            some = new[start : start + self.batch]
            found |= zip((keys[i] for i in some), self.compute(pictures[some]), strict=True)
        self._known |= found
        for key in list(self._known)[: max(0, len(self._known) - MOST)]:
            self._known.pop(key, None)  # another thread may have been faster
        return [found[key] for key in keys]
