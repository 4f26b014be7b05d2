"""How pictures become a network's input.

The work has two parts, which a pipeline does in different places: `resized` is done beside the decoder, in other
processes; `normalised` where the network runs. `prepare` does both for one picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from countenance.data.jpeg import installed
from countenance.data.resizing import resize_linear
from countenance.models.model import Images

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float64]


class Strict(BaseModel):
    """A declaration: frozen, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class InputSpec(Strict):
    """The conversion of an image to the network's input."""

    size: tuple[int, int]
    """Width and height that the network takes."""
    resize: Literal["stretch", "letterbox"] = "stretch"
    pad: float = 114.0
    colour: Literal["RGB", "BGR"] = "RGB"
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: float = 1.0
    """input = (pixel − mean) × scale / std"""
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def shape(self) -> tuple[int, int, int]:
        """The shape of a picture that has the network's size: height, width, colours."""
        return self.size[1], self.size[0], 3


class Resized(NamedTuple):
    """A picture of the network's size; input position = picture position × scale + offset."""

    pixels: Pixels
    scale: Floats
    offset: Floats


def resized(image: Pixels, spec: InputSpec) -> Resized:
    """A picture, stretched or letterboxed to the network's size.

    >>> resized(np.zeros((4, 2, 3), np.uint8), InputSpec(size=(4, 4))).scale
    array([2., 1.])
    """
    height, width = image.shape[:2]
    target_w, target_h = spec.size
    if spec.resize == "stretch":
        pixels = _linear(image, target_w, target_h)
        return Resized(np.asarray(pixels, np.uint8), np.array([target_w / width, target_h / height]), np.zeros(2))
    ratio, (new_w, new_h), (left, top) = letterbox(width, height, spec)
    inner = _linear(image, new_w, new_h)
    padded = np.full((target_h, target_w, 3), spec.pad, dtype=np.uint8)
    padded[top : top + new_h, left : left + new_w] = inner
    return Resized(padded, np.array([ratio, ratio]), np.array([left, top], dtype=np.float64))


def _linear(image: Pixels, width: int, height: int) -> Pixels:
    """The picture at another size: by OpenCV where it is installed, forty times faster with the same result."""
    cv2 = installed()
    if cv2 is None:
        return resize_linear(image, width, height)
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def letterbox(width: int, height: int, spec: InputSpec) -> tuple[float, tuple[int, int], tuple[int, int]]:
    """The scale at which a picture fits, its new size, and the place of its corner."""
    target_w, target_h = spec.size
    ratio = min(target_w / width, target_h / height)
    new_w, new_h = max(1, round(width * ratio)), max(1, round(height * ratio))
    return ratio, (new_w, new_h), ((target_w - new_w) // 2, (target_h - new_h) // 2)


def normalised(pixels: Pixels, spec: InputSpec) -> NDArray[np.float32]:
    """The network's input from one picture of its size, with a first axis of length 1."""
    ordered = pixels[:, :, ::-1] if spec.colour == "BGR" else pixels
    values = (ordered.astype(np.float32) - np.array(spec.mean, np.float32)) * np.float32(spec.scale)
    values = np.asarray(values / np.array(spec.std, np.float32), np.float32)
    if spec.layout == "NCHW":
        values = values.transpose(2, 0, 1)
    return np.ascontiguousarray(values[None])


def prepare(image: Pixels, spec: InputSpec) -> tuple[NDArray[np.float32], Floats, Floats]:
    """The network's input, and scale and offset such that input = pixel position × scale + offset."""
    small, scale, offset = resized(image, spec)
    return normalised(small, spec), scale, offset


@dataclass(frozen=True)
class Prepared:
    """A batch of pictures that have the network's size."""

    pixels: Any
    """Pictures × height × width × 3, 8 bits: an array, or a tensor on the device where it was decoded."""
    scale: Sequence[Floats]
    offset: Sequence[Floats]
    shape: Sequence[tuple[int, int]]
    """Height and width of each picture before."""

    @classmethod
    def of(cls, images: Images, spec: InputSpec) -> "Prepared":
        """The batch from whole pictures."""
        output = [resized(np.asarray(image), spec) for image in images]
        pixels = np.stack([item.pixels for item in output]) if output else np.zeros((0, *spec.shape()), np.uint8)
        shapes = [(int(image.shape[0]), int(image.shape[1])) for image in images]
        return cls(pixels, [item.scale for item in output], [item.offset for item in output], shapes)

    def __len__(self) -> int:
        return len(self.shape)

    def copied(self) -> "Prepared":
        """The same batch with its own copy of the pixels."""
        copy = self.pixels.copy() if isinstance(self.pixels, np.ndarray) else self.pixels.clone()
        return Prepared(copy, self.scale, self.offset, self.shape)

    def taken(self, chosen: Sequence[int]) -> "Prepared":
        """Some pictures of the batch."""
        return Prepared(
            self.pixels[list(chosen)],
            [self.scale[i] for i in chosen],
            [self.offset[i] for i in chosen],
            [self.shape[i] for i in chosen],
        )
