"""Memory that decode processes write pictures into and the model's process reads them from, without a copy."""

import math
import mmap
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.scratch import temporary_file


class Arena:
    """Shared memory without a name, allocated in order and freed in the same order.

    It is released with the last process that holds it, however that ends.

    >>> arena = Arena(100)
    >>> arena.take(60), arena.take(60), arena.free(), arena.take(60)
    (0, None, None, 0)
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.handle = _anonymous()
        os.ftruncate(self.handle, size)
        self.memory = mmap.mmap(self.handle, size)
        self.bytes: NDArray[np.uint8] = np.frombuffer(self.memory, np.uint8)
        self.used: deque[tuple[int, int]] = deque()
        self.lock = threading.Lock()
        self.on_free: Callable[[], None] = lambda: None

    def take(self, size: int) -> int | None:
        """Allocate a block of this many bytes and return its place; None while no memory is free."""
        with self.lock:
            start = self._place(max(size, 1))
            if start is not None:
                self.used.append((start, start + max(size, 1)))
            return start

    def _place(self, size: int) -> int | None:
        if not self.used:
            return 0 if size <= self.size else None
        first, last = self.used[0][0], self.used[-1][1]
        if last > first:  # the used part is one range: allocate behind it, otherwise before it
            return last if last + size <= self.size else 0 if size < first else None
        return last if last + size < first else None

    def free(self) -> None:
        """Free the oldest block."""
        with self.lock:
            self.used.popleft()
        self.on_free()

    def view(self, start: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """The bytes of a block as an array."""
        return self.bytes[start : start + math.prod(shape)].reshape(shape)

    def pin(self, torch: Any) -> None:
        """Let a GPU copy from here directly."""
        code = torch.cuda.cudart().cudaHostRegister(self.bytes.ctypes.data, self.size, 0)
        if int(code) != 0:
            raise RuntimeError(f"the shared memory cannot be pinned (CUDA error {int(code)})")


def _anonymous() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("countenance-pictures", 0)
    with temporary_file() as file:  # unlinked at once, so that no file remains
        return os.dup(file.fileno())
