"""Answers of the size of the picture, or places in it: masks, keypoints, a class for each pixel, a picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countenance.answers.base import Answer, Array, real


@dataclass(frozen=True)
class Masks(Answer):
    """Boolean masks of the image's size, one for each person found, with scores.

    >>> len(Masks(np.ones((2, 4, 6), dtype=bool), scores=[0.9, 0.8]).scores)
    2
    """

    masks: NDArray[np.bool_]
    scores: Array

    def __init__(self, masks: ArrayLike, scores: ArrayLike | None = None) -> None:
        stack = np.asarray(masks, dtype=bool)
        if stack.ndim == 2:
            stack = stack[None]
        if stack.size and stack.ndim != 3:
            raise ValueError(f"masks of shape {stack.shape}, expected N × height × width")
        object.__setattr__(self, "masks", stack if stack.size else np.zeros((0, 0, 0), dtype=bool))
        values = np.ones(len(self.masks)) if scores is None else real(scores).ravel()
        object.__setattr__(self, "scores", values)

    def to_row(self) -> dict[str, Any]:
        from countenance.data.sample import Rle

        return {
            "size": list(self.masks.shape[1:]),
            "counts": [Rle.encode(mask).counts for mask in self.masks],
            "scores": self.scores.tolist(),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Masks":
        from countenance.data.sample import Rle

        height, width = row["size"]
        masks = [Rle(height, width, counts).decode() for counts in row["counts"]]
        return cls(np.array(masks, dtype=bool).reshape(len(masks), height, width), row["scores"])

    def problem(self, width: int, height: int) -> str | None:
        if len(self.masks) and self.masks.shape[1:] != (height, width):
            return f"masks of {self.masks.shape[2]}×{self.masks.shape[1]}, the image is {width}×{height}"
        if len(self.scores) != len(self.masks):
            return f"{len(self.scores)} scores for {len(self.masks)} masks"
        return None


@dataclass(frozen=True)
class Keypoints(Answer):
    """17 COCO keypoints for each person found: N × 17 × 3 (x, y, confidence).

    >>> Keypoints(np.zeros((2, 17, 2))).points.shape
    (2, 17, 3)
    """

    points: Array
    scores: Array

    def __init__(self, points: ArrayLike, scores: ArrayLike | None = None) -> None:
        array = real(points)
        if array.size == 0:
            array = np.zeros((0, 17, 3))
        if array.ndim == 3 and array.shape[2] == 2:
            array = np.concatenate([array, np.ones((*array.shape[:2], 1))], axis=2)
        if array.ndim != 3 or array.shape[2] != 3:
            raise ValueError(f"keypoints of shape {array.shape}, expected N × 17 × 2 or 3")
        object.__setattr__(self, "points", array)
        values = np.ones(len(array)) if scores is None else real(scores).ravel()
        object.__setattr__(self, "scores", values)

    def to_row(self) -> dict[str, Any]:
        flat = [person.ravel().tolist() for person in self.points]
        return {"points": flat, "scores": self.scores.tolist()}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Keypoints":
        people = [np.reshape(person, (len(person) // 3, 3)) for person in row["points"]]
        return cls(np.array(people), row["scores"])

    def problem(self, width: int, height: int) -> str | None:
        if not np.isfinite(self.points).all():
            return "a keypoint that is not finite"
        return None


@dataclass(frozen=True)
class LabelMap(Answer):
    """A class for every pixel, as a height × width array of small integers.

    >>> LabelMap(np.zeros((4, 6), dtype=np.uint8)).problem(width=4, height=4)
    'a label map of 6×4, the image is 4×4; scale it to the image without mixing labels (nearest neighbour)'
    """

    classes: NDArray[np.uint8]

    def to_row(self) -> dict[str, Any]:
        from countenance.data.image import encode_png

        return {"png": encode_png(self.classes)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "LabelMap":
        from countenance.data.image import decode

        return cls(np.ascontiguousarray(decode(row["png"])[:, :, 0]))

    def problem(self, width: int, height: int) -> str | None:
        if self.classes.shape != (height, width):
            size = f"{self.classes.shape[1]}×{self.classes.shape[0]}"
            remedy = "scale it to the image without mixing labels (nearest neighbour)"
            return f"a label map of {size}, the image is {width}×{height}; {remedy}"
        return None


@dataclass(frozen=True)
class Picture(Answer):
    """A picture that a model made: height × width × 3, 8 bits.

    >>> Picture(np.zeros((4, 6, 3), dtype=np.uint8)).problem(width=6, height=4) is None
    True
    """

    pixels: NDArray[np.uint8]

    def to_row(self) -> dict[str, Any]:
        from countenance.data.image import encode_png

        return {"png": encode_png(self.pixels)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Picture":
        from countenance.data.image import decode

        return cls(decode(row["png"]))

    def problem(self, width: int, height: int) -> str | None:
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or self.pixels.dtype != np.uint8:
            return f"a picture of shape {self.pixels.shape} and type {self.pixels.dtype}, expected 8-bit RGB"
        return None
