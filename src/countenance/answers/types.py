"""The answers: one type per kind, each with its stored form. Shapes are checked here, meaning by the task.

Every type has `to_row()` (plain values for a table), `from_row()` and `problem(width, height)`, which says what
is wrong with an answer in one phrase, or None.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countenance.answers.libraries import FromLibraries
from countenance.metrics.readings import CORNERS, Reading, fitting, listed

Array = NDArray[np.float64]


class Answer(Protocol):
    """What every answer type can do."""

    def to_row(self) -> dict[str, Any]: ...
    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self: ...
    def problem(self, width: int, height: int) -> str | None: ...


def real(values: Any) -> Array:
    """Numbers as an array; complex ones are a ValueError, not cut to their real part.

    >>> real([1, 2])
    array([1., 2.])
    """
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise ValueError("complex numbers, expected real ones")
    if hasattr(values, "detach"):  # a tensor, perhaps with gradients or on a GPU
        values = values.detach().cpu()
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("an array with masked numbers, expected all of them")
    return np.asarray(values, dtype=np.float64)


def _no_text(words: Iterable[str]) -> str | None:
    """What to say where a word cannot be stored as text (half of a surrogate pair)."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            return f"the word {word!a}, which is no text"
    return None


def _rows(values: ArrayLike, columns: int, what: str) -> Array:
    array = real(values)
    if array.size == 0:
        return np.zeros((0, columns))
    if array.ndim == 1 and array.size == columns:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{what} of shape {array.shape}, expected N × {columns}")
    return array


@dataclass(frozen=True)
class Boxes(FromLibraries):
    """Boxes x0, y0, x1, y1 in pixels, best first or not, with scores and optional class labels.

    >>> Boxes([[0, 0, 4, 4]], [0.9]).to_row()
    {'boxes': [[0.0, 0.0, 4.0, 4.0]], 'scores': [0.9], 'labels': None}
    """

    xyxy: Array
    scores: Array
    labels: tuple[str, ...] | None = None
    landmarks: Array | None = field(default=None, compare=False)
    """N × 5 × 2, where the model gives them; used by face alignment, not stored."""

    def __init__(
        self,
        xyxy: ArrayLike,
        scores: ArrayLike | None = None,
        labels: Sequence[str] | None = None,
        landmarks: ArrayLike | None = None,
    ) -> None:
        boxes = _rows(xyxy, 4, "boxes")
        values = np.ones(len(boxes)) if scores is None else real(scores).ravel()
        if len(values) != len(boxes):
            raise ValueError(f"{len(values)} scores for {len(boxes)} boxes")
        if labels is not None and len(labels) != len(boxes):
            raise ValueError(f"{len(labels)} labels for {len(boxes)} boxes")
        object.__setattr__(self, "xyxy", boxes)
        object.__setattr__(self, "scores", values)
        object.__setattr__(self, "labels", None if labels is None else tuple(str(label) for label in labels))
        points = None if landmarks is None else np.asarray(landmarks, dtype=np.float64).reshape(len(boxes), 5, 2)
        object.__setattr__(self, "landmarks", points)

    def __len__(self) -> int:
        return len(self.xyxy)

    @classmethod
    def from_xywh(
        cls, xywh: ArrayLike, scores: ArrayLike | None = None, labels: Sequence[str] | None = None
    ) -> "Boxes":
        """Boxes from x, y, width, height (COCO).

        >>> Boxes.from_xywh([[1, 2, 3, 4]]).xyxy
        array([[1., 2., 4., 6.]])
        """
        boxes = _rows(xywh, 4, "boxes")
        return cls(np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]), scores, labels)

    @classmethod
    def from_coco(cls, rows: Sequence[Mapping[str, Any]], categories: Mapping[int, str] | None = None) -> "Boxes":
        """Boxes of one image from COCO result rows (`bbox`, `score`, `category_id`)."""
        labels = None if categories is None else [categories[row["category_id"]] for row in rows]
        return cls.from_xywh([row["bbox"] for row in rows], [row.get("score", 1.0) for row in rows], labels)

    def read_as(self, reading: Reading, width: int, height: int) -> "Boxes":
        """The same boxes when the numbers given as `xyxy` are to be read in another way.

        >>> Boxes([[0.5, 0.5, 0.2, 0.4]]).read_as(Reading("cxcywh", "rel"), 100, 50).xyxy
        array([[40., 15., 60., 35.]])
        """
        corners = reading.corners(self.xyxy, np.array([[float(width), float(height)]]))
        return Boxes(corners, self.scores, self.labels, self.landmarks)

    def to_row(self) -> dict[str, Any]:
        return {
            "boxes": self.xyxy.tolist(),
            "scores": self.scores.tolist(),
            "labels": None if self.labels is None else list(self.labels),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Boxes":
        return cls(row["boxes"] or [], row["scores"], row["labels"])

    def problem(self, width: int, height: int) -> str | None:
        if not np.isfinite(self.xyxy).all():
            return "a box with a number that is not finite"
        if not np.isfinite(self.scores).all():
            return "a score that is not finite"
        outside = (self.scores < 0) | (self.scores > 1)
        if outside.any():
            return f"a score of {self.scores[outside][0]:g}, expected 0 to 1"
        turned = (self.xyxy[:, 2] < self.xyxy[:, 0]) | (self.xyxy[:, 3] < self.xyxy[:, 1])
        if turned.any():
            shown = ", ".join(f"{v:g}" for v in self.xyxy[turned][0])
            return (
                f"box [{shown}] has x1 < x0 or y1 < y0; boxes are x0, y0, x1, y1 in pixels{self._fits(width, height)}"
            )
        return _no_text(self.labels or ())

    def _fits(self, width: int, height: int) -> str:
        """The readings in which these numbers would be boxes of the picture, in words, or nothing."""
        sizes = np.full((len(self.xyxy), 2), [float(width), float(height)])
        others = [reading for reading in fitting(self.xyxy, sizes) if reading != CORNERS]
        return f" (these numbers fit the picture as {listed(others)})" if others else ""


@dataclass(frozen=True)
class Identifications:
    """Boxes with scores of any size and, for each box, the identities that it may show with their similarities.

    Boxes are left, top, width, height: the numbers of the file, since x + w - x is not always w. Identities of the
    first box come first in the flat arrays `identity` and `similarity`; `count` says how many each box has.

    >>> one = Identifications([[0, 0, 4, 4]], [0.9], [2], [17, 4], [0.8, 0.3])
    >>> one.xyxy.tolist(), one.identity.tolist()
    ([[0.0, 0.0, 4.0, 4.0]], [17, 4])
    """

    xywh: Array
    scores: Array
    count: NDArray[np.int64]
    identity: NDArray[np.int64]
    similarity: Array

    def __init__(
        self,
        xywh: ArrayLike = (),
        scores: ArrayLike = (),
        count: ArrayLike | None = None,
        identity: ArrayLike = (),
        similarity: ArrayLike = (),
    ) -> None:
        boxes = _rows(xywh, 4, "boxes")
        counts = np.zeros(len(boxes), np.int64) if count is None else np.asarray(count, dtype=np.int64).ravel()
        values = real(scores).ravel()
        names, similar = np.asarray(identity, np.int64).ravel(), np.asarray(similarity, np.float64).ravel()
        if not len(boxes) == len(values) == len(counts):
            raise ValueError(f"{len(values)} scores and {len(counts)} counts for {len(boxes)} boxes")
        if not int(counts.sum()) == len(names) == len(similar):
            raise ValueError(f"{len(names)} identities and {len(similar)} similarities, expected {int(counts.sum())}")
        for name, array in zip(
            ("xywh", "scores", "count", "identity", "similarity"), (boxes, values, counts, names, similar), strict=True
        ):
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.xywh)

    @property
    def xyxy(self) -> Array:
        """The boxes by their corners."""
        return np.hstack([self.xywh[:, :2], self.xywh[:, :2] + self.xywh[:, 2:]])

    def to_row(self) -> dict[str, Any]:
        return {
            "boxes": self.xywh.tolist(),
            "scores": self.scores.tolist(),
            "count": self.count.tolist(),
            "identity": self.identity.tolist(),
            "similarity": self.similarity.tolist(),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Identifications":
        return cls(*(row[name] for name in ("boxes", "scores", "count", "identity", "similarity")))

    def problem(self, width: int, height: int) -> str | None:
        if not all(np.isfinite(array).all() for array in (self.xywh, self.scores, self.similarity)):
            return "a box, score or similarity that is not finite"
        if (self.xywh[:, 2:] <= 0).any():
            return "a box whose width or height is not positive; boxes are left, top, width, height"
        return None


@dataclass(frozen=True)
class Labels:
    """Attributes that a model reads off an image, each with one word, optionally with a probability per word."""

    values: Mapping[str, str]
    probabilities: Mapping[str, Mapping[str, float]] | None = None

    def to_row(self) -> dict[str, Any]:
        import json

        return {
            "values": json.dumps(dict(self.values), sort_keys=True),
            "probabilities": None if self.probabilities is None else json.dumps(self.probabilities, sort_keys=True),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Labels":
        import json

        text = row["probabilities"]
        return cls(json.loads(row["values"]), None if text is None else json.loads(text))

    def problem(self, width: int, height: int) -> str | None:
        for name, shares in (self.probabilities or {}).items():
            if any(not np.isfinite(share) or not 0 <= share <= 1 for share in shares.values()):
                return f"a probability of {name} outside 0 to 1"
        return _no_text([*self.values, *self.values.values()])


@dataclass(frozen=True)
class Masks:
    """Boolean masks of the image's size, one for each person found, with scores."""

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
class Keypoints:
    """17 COCO keypoints for each person found: N × 17 × 3 (x, y, confidence)."""

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
class Parts:
    """For each person found, the probability that each named body part is in the picture."""

    probabilities: tuple[Mapping[str, float], ...]

    def to_row(self) -> dict[str, Any]:
        import json

        return {"parts": [json.dumps(dict(person), sort_keys=True) for person in self.probabilities]}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Parts":
        import json

        return cls(tuple(json.loads(person) for person in row["parts"]))

    def problem(self, width: int, height: int) -> str | None:
        for person in self.probabilities:
            for name, share in person.items():
                if not np.isfinite(share) or not 0 <= share <= 1:
                    return f"part {name!r} has probability {share!r}, expected 0 to 1"
        return _no_text(name for person in self.probabilities for name in person)


@dataclass(frozen=True)
class LabelMap:
    """A class for every pixel, as a height × width array of small integers."""

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
            return f"a label map of {self.classes.shape[::-1]}, the image is {width}×{height}"
        return None


@dataclass(frozen=True)
class Embedding:
    """A vector that stands for a face; None when the model found none to embed."""

    vector: Array | None

    def to_row(self) -> dict[str, Any]:
        return {"vector": None if self.vector is None else self.vector.tolist()}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Embedding":
        return cls(None if row["vector"] is None else np.asarray(row["vector"], dtype=np.float64))

    def problem(self, width: int, height: int) -> str | None:
        if self.vector is not None and (self.vector.ndim != 1 or not np.isfinite(self.vector).all()):
            return "an embedding that is no vector of finite numbers"
        return None


@dataclass(frozen=True)
class Age:
    """An age in years, optionally with a probability for each year 0, 1, 2, …; None when the model gave none.

    >>> Age.of([0.0, 0.25, 0.75]).years
    1.75
    """

    years: float | None
    probabilities: Array | None = field(default=None, compare=False)

    @classmethod
    def of(cls, probabilities: ArrayLike) -> "Age":
        """The mean of a distribution over years 0, 1, 2, …"""
        shares = np.asarray(probabilities, dtype=np.float64)
        total = shares.sum()
        if shares.ndim != 1 or not np.isfinite(shares).all() or (shares < 0).any() or abs(total - 1) > 1e-3:
            raise ValueError("a distribution over years that is no list of probabilities with the sum 1")
        return cls(float(shares @ np.arange(len(shares)) / total), shares)

    def to_row(self) -> dict[str, Any]:
        shares = None if self.probabilities is None else self.probabilities.tolist()
        return {"years": self.years, "probabilities": shares}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Age":
        shares = row["probabilities"]
        return cls(row["years"], None if shares is None else np.asarray(shares, dtype=np.float64))

    def problem(self, width: int, height: int) -> str | None:
        if self.years is not None and not (np.isfinite(self.years) and -1 <= self.years <= 150):
            return f"an age of {self.years:g} years, expected 0 to 150"
        return None


@dataclass(frozen=True)
class Picture:
    """A picture that a model made: height × width × 3, 8 bits."""

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
