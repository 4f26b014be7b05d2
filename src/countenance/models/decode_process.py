"""A decode process: reads pictures, checks them, decodes them into shared memory, and resizes them if declared.

`countenance.run.engine.decoding` starts it with four numbers: the size and the handle of the shared memory, and the
handles of two pipes.
"""

import mmap
import os
import pickle  # between our own two processes only
import struct
import sys
from typing import IO, Any

import numpy as np

from countenance.data.conditions import load_points
from countenance.data.jpeg import installed, upright
from countenance.models.inputs import InputSpec, resized
from countenance.worker_process import die_with_parent

NICE = 3
"""Lower priority than the model's process, because everything waits for the model."""


def receive(stream: IO[bytes]) -> Any:
    """The next message of a pipe; None at its end."""
    head = _exactly(stream, 8)
    content = None if head is None else _exactly(stream, struct.unpack("<Q", head)[0])
    return None if content is None else pickle.loads(content)  # noqa: S301 - written by our own process


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    parts = b""
    while len(parts) < size:
        part = stream.read(size - len(parts))
        if not part:
            return None
        parts += part
    return parts


def packed(message: Any) -> bytes:
    """A message as it goes through a pipe."""
    content = pickle.dumps(message)
    return struct.pack("<Q", len(content)) + content


def read(sample: Any, room: Any) -> dict[str, Any]:
    """Read a sample's file, undecoded, into the buffer `room` for a GPU; returns its description for the parent."""
    content, digest = sample.read_checked()
    if len(content) > len(room):
        return {"large": True}
    room[: len(content)] = np.frombuffer(content, np.uint8)
    return {"digest": digest, "length": len(content), "upright": upright(content)}


def decoded(sample: Any, spec: InputSpec | None, room: Any) -> dict[str, Any]:
    """Decode a sample's picture into the buffer `room`; returns its description for the parent."""
    pixels, digest, points = load_points(sample)
    shape = (int(pixels.shape[0]), int(pixels.shape[1]))
    message: dict[str, Any] = {"digest": digest, "shape": shape, "points": points}
    if spec is not None:
        pixels, message["scale"], message["offset"] = resized(pixels, spec)
    if pixels.size > len(room):  # larger than the dataset says: the parent process decodes it
        return {"large": True}
    room[: pixels.size] = np.ascontiguousarray(pixels).reshape(-1)
    return message


def main() -> None:
    """Process messages until the parent closes the pipe."""
    die_with_parent()
    os.nice(NICE)
    if (cv2 := installed()) is not None:
        cv2.setNumThreads(1)  # there are as many processes as there are cores to use
    size, arena, commands, replies = (int(word) for word in sys.argv[1:5])
    memory = np.frombuffer(mmap.mmap(arena, size), np.uint8)
    orders = os.fdopen(commands, "rb")
    request = receive(orders)
    spec: InputSpec | None = request["input"]
    while (order := receive(orders)) is not None:
        message = []
        for start, room, sample in order:
            try:
                place = memory[start : start + room]
                message.append(read(sample, place) if request["files"] else decoded(sample, spec, place))
            except Exception as error:  # one unreadable image is a failure of that image
                message.append({"error": str(error)})
        os.write(replies, packed(message))


if __name__ == "__main__":
    main()
