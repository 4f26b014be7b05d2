"""Decode processes: pictures become pixels in shared memory, so that the model's process only has to use them.

Pictures go to the process with the least to do; batches are passed on in order. A process that dies is replaced and its
pictures are assigned again; a picture on which two processes died is a failed image. Pictures that do not fit into the
shared memory are decoded by the model's own process.
"""

import math
import os
import selectors
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countenance.data import Sample
from countenance.data.image import EncodedImage
from countenance.data.jpeg import upright
from countenance.data.manifest import StoredImage
from countenance.errors import InputError
from countenance.models.decode_process import packed, receive
from countenance.models.inputs import InputSpec, Prepared, resized
from countenance.run.engine.arena import Arena
from countenance.run.feeding import (
    LEAST,
    PACKED,
    Decoded,
    FedBatch,
    FedGroup,
    Outcome,
    ahead,
    decode_one,
    file_size,
    pixel_bytes,
)
from countenance.worker_process import child

ARENA = 512 * 2**20
"""Bytes of pictures that may wait for the model."""
AT_ONCE = 2
"""Orders that a process has at once, so that it never waits for the next."""
MOST = 8
"""Pictures in an order; fewer where few are left, so that all processes have something to do."""
WAITING = 64
"""The most batches that are ready; of large pictures the shared memory holds fewer."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(256 * 2**20),
}
"""The environment of a decode process. The last two variables keep the memory of one picture for the next: returning it
to the system and requesting it again for every picture took a fifth of the processors' time."""
READ_AHEAD = 4
"""Batches whose samples are read before the shared memory has space for their pictures."""


@dataclass
class _DecodeWork:
    """A batch that is being decoded."""

    group: FedGroup
    start: int | None
    """Where its block of the shared memory begins; None: it is too large and was decoded here."""
    left: int
    replies: list[dict[str, Any]]
    places: list[tuple[int, int]] = field(default_factory=list)
    """For each picture, where its part of the shared memory begins, and its size."""


@dataclass
class _Picture:
    """A picture to be decoded: its place in the batch, and its part of the shared memory."""

    work: _DecodeWork
    index: int
    start: int
    room: int
    deaths: int = 0

    def note(self, reply: dict[str, Any]) -> None:
        """Store a process's message about it."""
        self.work.replies[self.index] = reply
        self.work.left -= 1


@dataclass(eq=False)
class _Process:
    """A decode process, seen from its parent."""

    popen: Any
    commands: int
    replies: Any
    orders: deque[list[_Picture]] = field(default_factory=deque)
    """Its orders, the one that it works on first."""


@dataclass(frozen=True)
class EncodedFile:
    """A picture's file: its bytes (in shared memory, or a copy), its hash, and whether a GPU's decoder can take it."""

    content: Any
    digest: str
    upright: bool


FileOutcome = EncodedFile | Exception


@dataclass
class FileBatch:
    """A group with the files of its pictures."""

    group: FedGroup
    files: list[FileOutcome]
    free: Callable[[], None] = lambda: None
    """Called once, when the bytes are no longer used."""


def read_file(sample: Sample) -> FileOutcome:
    """A sample's file, read in this process."""
    try:
        content, digest = sample.read_checked()
    except Exception as error:  # one unreadable image is a failure of that image
        return error
    return EncodedFile(np.frombuffer(bytearray(content), np.uint8), digest, upright(content))


class Decoders:
    """Several decode processes and their shared memory; use it as a feed, and close it.

    With `files` the processes read and check files without decoding them; `read` then returns their bytes.
    """

    def __init__(
        self, count: int, spec: InputSpec | None, size: int = ARENA, pin: Any = None, *, files: bool = False
    ) -> None:
        self.spec, self.arena, self.files = spec, Arena(size), files
        self.packed, self.least = PACKED, LEAST
        """How many times the bytes of its file a picture of unknown size is expected to have, and at least how many."""
        self._unstated = (0, 0, 0)
        """Pictures so far whose dataset states no size, the bytes of their pixels, and those of their files."""
        if pin is not None:
            self.arena.pin(pin)
        self.selector = selectors.DefaultSelector()
        self.bell, self._bell = os.pipe()
        os.set_blocking(self.bell, False)
        os.set_blocking(self._bell, False)
        self.selector.register(self.bell, selectors.EVENT_READ, None)
        self.arena.on_free = self._ring
        self.processes = [self._start() for _ in range(count)]
        self.todo: deque[_Picture] = deque()

    def __call__(self, groups: Iterable[FedGroup]) -> Iterator[FedBatch]:
        """The batches of some groups, in order."""
        yield from ahead(lambda: self._batches(ahead(lambda: iter(groups), READ_AHEAD)), WAITING)

    def read(self, groups: Iterable[FedGroup]) -> Iterator[FileBatch]:
        """The files of some groups, in order."""
        yield from ahead(lambda: self._batches(ahead(lambda: iter(groups), READ_AHEAD)), WAITING)

    def _batches(self, groups: Iterator[FedGroup]) -> Iterator[Any]:
        works: deque[_DecodeWork] = deque()
        sized = ((group, [self._size(sample) for sample in group.samples]) for group in groups)
        waiting = next(sized, None)
        while waiting is not None or works:
            while waiting is not None and (begun := self._begin(*waiting)) is not None:
                works.append(begun)
                waiting = next(sized, None)
            self._give()
            while works and works[0].left == 0:
                yield self._read(works.popleft()) if self.files else self._finished(works.popleft())
            if works or waiting is not None:
                self._listen()

    def _begin(self, group: FedGroup, sizes: list[int]) -> _DecodeWork | None:
        """Allocate memory for a batch; None while there is too little."""
        if sum(sizes) > self.arena.size // 2:
            return _DecodeWork(group, None, 0, [])
        start = self.arena.take(sum(sizes))
        if start is None:
            return None
        work = _DecodeWork(group, start, len(sizes), [{} for _ in sizes])
        for index, size in enumerate(sizes):
            self.todo.append(_Picture(work, index, start, size))
            work.places.append((start, size))
            start += size
        return work

    def _size(self, sample: Sample) -> int:
        if self.files:
            return file_size(sample)
        if self.spec is not None:
            return math.prod(self.spec.shape())
        return max(pixel_bytes([sample], self.packed, self.least), 1)

    def _give(self) -> None:
        """Give pictures to the processes with the least to do."""
        while self.todo:
            process = min(self.processes, key=lambda candidate: len(candidate.orders))
            if len(process.orders) >= AT_ONCE:
                return
            order = self._order(min(len(self.todo) // len(self.processes), MOST))
            if order:
                process.orders.append([picture for picture, _ in order])
                self._send(process, packed([(picture.start, picture.room, sample) for picture, sample in order]))

    def _order(self, most: int) -> list[tuple[_Picture, Sample]]:
        """The next pictures; a picture on which a process may have died comes alone."""
        order: list[tuple[_Picture, Sample]] = []
        while self.todo and (not order or (len(order) < most and not self.todo[0].deaths)):
            picture = self.todo.popleft()
            sample = _alone(picture.work.group.samples[picture.index])
            if isinstance(sample, Exception):
                picture.note({"error": str(sample)})
                continue
            order.append((picture, sample))
            if picture.deaths:
                break
        return order

    def _send(self, process: _Process, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(process.commands, data) :]
        except BrokenPipeError:
            return  # its end is noticed where its replies are read

    def _listen(self) -> None:
        for key, _ in self.selector.select(timeout=0.5):
            if key.data is None:
                os.read(self.bell, 4096)
                continue
            process: _Process = key.data
            message = receive(process.replies)
            if message is None:
                self._replace(process)
                continue
            for picture, reply in zip(process.orders.popleft(), message, strict=True):
                picture.note(reply)

    def _replace(self, process: _Process) -> None:
        """Start another process in place of one that died; each picture of its order is tried once more, alone."""
        code = self._end(process)
        self.processes[self.processes.index(process)] = self._start()
        if process.orders:
            for picture in process.orders[0]:
                picture.deaths += 1
            if process.orders[0][0].deaths > 1:  # it was alone
                process.orders.popleft()[0].note({"error": f"a decode process ended on this picture twice ({code})"})
        self.todo.extendleft(reversed([picture for order in process.orders for picture in order]))

    def _read(self, work: _DecodeWork) -> "FileBatch":
        if work.start is None:
            return FileBatch(work.group, [read_file(sample) for sample in work.group.samples])
        outcomes: list[FileOutcome] = []
        for sample, reply, (start, _) in zip(work.group.samples, work.replies, work.places, strict=True):
            if "error" in reply:
                outcomes.append(InputError(reply["error"]))
            elif "large" in reply:
                outcomes.append(read_file(sample))
            else:
                view = self.arena.view(start, (reply["length"],))
                outcomes.append(EncodedFile(view, reply["digest"], reply["upright"]))
        return FileBatch(work.group, outcomes, self.arena.free)

    def _finished(self, work: _DecodeWork) -> FedBatch:
        samples = work.group.samples
        if work.start is None:
            return self._here(work.group)
        pictures: list[Outcome] = []
        for sample, reply, (start, _) in zip(samples, work.replies, work.places, strict=True):
            pictures.append(self._picture(sample, reply, start))
        prepared = None
        if self.spec is not None:
            block = self.arena.view(work.start, (len(samples), *self.spec.shape()))
            prepared = self._prepared(block, pictures, work.replies)
        return FedBatch(work.group, pictures, prepared, self.arena.free)

    def _picture(self, sample: Sample, reply: dict[str, Any], start: int) -> Outcome:
        if "error" in reply:
            return InputError(reply["error"])
        if "large" in reply:
            outcome = decode_one(sample)
            self._learn(sample)
            return outcome
        height, width = reply["shape"]
        sample.note_size(width, height)
        self._learn(sample)
        pixels = None if self.spec is not None else self.arena.view(start, (height, width, 3))
        return Decoded(pixels, reply["digest"], reply["points"])

    def _learn(self, sample: Sample) -> None:
        """Expect of other pictures what those so far had on average, and a quarter more.

        The most that any had may be that of one blank picture, and no memory holds photographs of so many bytes.
        """
        if self.spec is None and None in sample.stated_size and sample.known_size is not None:
            count, pixels, files = self._unstated
            count, pixels, files = count + 1, pixels + math.prod(sample.known_size) * 3, files + file_size(sample)
            self._unstated = (count, pixels, files)
            self.packed = max(1.25 * pixels / files, PACKED)
            self.least = max(int(1.25 * pixels / count), LEAST)

    @staticmethod
    def _prepared(block: Any, pictures: list[Outcome], replies: list[dict[str, Any]]) -> Prepared:
        fine = [i for i, picture in enumerate(pictures) if isinstance(picture, tuple)]
        readable = [replies[i] for i in fine]
        pixels = block if len(fine) == len(pictures) else block[fine]
        return Prepared(
            pixels,
            [reply["scale"] for reply in readable],
            [reply["offset"] for reply in readable],
            [reply["shape"] for reply in readable],
        )

    def _here(self, group: FedGroup) -> FedBatch:
        """A batch that is larger than the shared memory, decoded in this process."""
        pictures = [decode_one(sample) for sample in group.samples]
        if self.spec is None:
            return FedBatch(group, pictures)
        fine = [picture.pixels for picture in pictures if isinstance(picture, Decoded) and picture.pixels is not None]
        hidden: list[Outcome] = [
            picture._replace(pixels=None) if isinstance(picture, Decoded) else picture for picture in pictures
        ]
        inputs = [resized(pixels, self.spec) for pixels in fine]
        pixels = (
            np.stack([picture.pixels for picture in inputs]) if inputs else np.zeros((0, *self.spec.shape()), np.uint8)
        )
        shapes = [(int(picture.shape[0]), int(picture.shape[1])) for picture in fine]
        return FedBatch(
            group,
            hidden,
            Prepared(pixels, [picture.scale for picture in inputs], [picture.offset for picture in inputs], shapes),
        )

    def _start(self) -> _Process:
        orders, commands = os.pipe()
        replies, answers = os.pipe()
        popen = child(
            "countenance.models.decode_process",
            (self.arena.handle, orders, answers),
            ENVIRONMENT,
            words=(str(self.arena.size),),
        )
        os.close(orders)
        os.close(answers)
        process = _Process(popen, commands, os.fdopen(replies, "rb", buffering=0))
        self.selector.register(process.replies, selectors.EVENT_READ, process)
        self._send(process, packed({"input": self.spec, "files": self.files}))
        return process

    def _end(self, process: _Process) -> int:
        self.selector.unregister(process.replies)
        process.popen.kill()
        code: int = process.popen.wait()
        os.close(process.commands)
        process.replies.close()
        return code

    def _ring(self) -> None:
        try:
            os.write(self._bell, b"!")
        except BlockingIOError:
            return  # the process has not received the last requests either

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            self._end(process)
        self.processes = []


def _alone(sample: Sample) -> Sample | Exception:
    """The parts of a sample that a decode process needs: its picture (from a table, its file)."""
    image = sample.image
    if isinstance(image, StoredImage):
        try:
            image = EncodedImage(image.read_bytes(), image.name)
        except Exception as error:  # one unreadable image is a failure of that image
            return error
    return sample.having(image=image, subjects=(), attributes={})
