"""Batches of decoded pictures, made ahead of the model: by a thread, by decode processes, or by a GPU's decoder."""

import math
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from countenance.data import Sample
from countenance.data.conditions import load_points
from countenance.data.points import PointPixels
from countenance.models.inputs import Prepared

Pixels = NDArray[np.uint8]


class Decoded(NamedTuple):
    """A picture that was read: its pixels (None if they are in the batch as the network's input) and metadata."""

    pixels: Pixels | None
    digest: str
    """The hash of its file."""
    points: PointPixels | None = None
    """The pixels from which its conditions are computed; None where its pixels were never in this memory."""


Outcome = Decoded | Exception | None
"""A picture, or why it cannot be read; None for a model that needs no pixels."""
AHEAD = 2
"""Batches decoded before the model is ready for them."""
BUDGET = 256 * 2**20
"""Bytes of pixels that may wait for the model: of large pictures fewer batches are decoded ahead."""
PACKED, LEAST = 16.0, 2**20
"""A picture whose size is not known is expected to have this many times the bytes of its file, and at least so many."""

T = TypeVar("T")


@dataclass
class FedGroup:
    """The samples of one batch, and their owner."""

    samples: Sequence[Sample]
    owner: Any = None
    last: bool = False
    """Whether its owner has no more samples after these."""


@dataclass
class FedBatch:
    """A group with its pictures."""

    group: FedGroup
    pictures: list[Outcome]
    prepared: Prepared | None = None
    """The pictures that could be read, as the network's input, where the model declares one."""
    free: Callable[[], None] = field(default=lambda: None)
    """Called once, when the pixels are no longer used."""

    def drop_pixels(self) -> None:
        """Release the pixels, so that the next batch is decoded into their memory; hashes and failures stay."""
        self.pictures = [
            picture._replace(pixels=None) if isinstance(picture, Decoded) else picture for picture in self.pictures
        ]
        self.prepared = None
        self.free()


class Feed(Protocol):
    """Turns groups into batches, in their order."""

    def __call__(self, groups: Iterable[FedGroup]) -> Iterator[FedBatch]: ...


def without_pixels(groups: Iterable[FedGroup]) -> Iterator[FedBatch]:
    """Batches for a model that uses no pictures."""
    for group in groups:
        yield FedBatch(group, [None] * len(group.samples))


def by_thread(groups: Iterable[FedGroup]) -> Iterator[FedBatch]:
    """Batches decoded by one thread beside the model."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[tuple[FedGroup, Future[list[Outcome]]]] = deque()
        for group in groups:
            size = pixel_bytes(group.samples)
            while waiting and (len(waiting) > AHEAD or sum(pixel_bytes(g.samples) for g, _ in waiting) + size > BUDGET):
                yield _ready(waiting)
            waiting.append((group, pool.submit(decode_all, group.samples)))
        while waiting:
            yield _ready(waiting)


def _ready(waiting: deque[tuple[FedGroup, Future[list[Outcome]]]]) -> FedBatch:
    group, future = waiting.popleft()
    return FedBatch(group, future.result())


def pixel_bytes(samples: Sequence[Sample], packed: float = PACKED, least: int = LEAST) -> int:
    """Bytes of the pixels of some samples; `packed` times their file, and at least `least`, where no size is known."""
    sizes = ((sample, sample.known_size) for sample in samples)
    return sum(math.prod(size) * 3 if size else max(int(file_size(sample) * packed), least) for sample, size in sizes)


def file_size(sample: Sample) -> int:
    """About how many bytes a sample's file has; one that turns out larger is read by the model's own process."""
    path = getattr(sample.image, "path", None)
    if path is not None:
        with suppress(OSError):
            return max(Path(path).stat().st_size, 1)
    content = getattr(sample.image, "content", None)
    if content or sample.known_size is None:
        return len(content or ()) or int(LEAST / PACKED)
    return max(pixel_bytes([sample]) // 2, 4096)


def decode_all(samples: Sequence[Sample]) -> list[Outcome]:
    """The pictures of some samples, decoded here."""
    return [decode_one(sample) for sample in samples]


def decode_one(sample: Sample) -> Outcome:
    """A sample's picture, or the reason why it cannot be read."""
    try:
        return Decoded(*load_points(sample))
    except Exception as error:  # one unreadable image is a failure of that image, not of the run
        return error


def ahead(source: Callable[[], Iterator[T]], most: int) -> Iterator[T]:
    """The values of an iterator that runs in a thread, at most this many ahead.

    >>> list(ahead(lambda: iter(range(4)), 2))
    [0, 1, 2, 3]
    """
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(most)
    stopped = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put((kind, value), timeout=0.2)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for value in source():
                if not put("value", value):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            kind, value = ready.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stopped.set()
