"""Answers that are boxes: with scores and classes, or with the identities that each may show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countenance.answers.base import Answer, Array, no_text, real, table_rows
from countenance.answers.libraries import FromLibraries
from countenance.metrics.readings import CORNERS, Reading, fitting, listed


@dataclass(frozen=True)
class Boxes(FromLibraries, Answer):
    """Boxes x0, y0, x1, y1 in pixels, in any order, with scores and optional class labels.

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
        boxes = table_rows(xyxy, 4, "boxes")
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
        boxes = table_rows(xywh, 4, "boxes")
        return cls(np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]), scores, labels)

    @classmethod
    def from_coco(cls, rows: Sequence[Mapping[str, Any]], categories: Mapping[int, str] | None = None) -> "Boxes":
        """Boxes of one image from COCO result rows (`bbox`, `score`, `category_id`)."""
        labels = None if categories is None else [categories[row["category_id"]] for row in rows]
        return cls.from_xywh([row["bbox"] for row in rows], [row.get("score", 1.0) for row in rows], labels)

    def read_as(self, reading: Reading, width: int, height: int) -> "Boxes":
        """The same boxes, their numbers read in a format other than `xyxy`.

        >>> Boxes([[0.5, 0.5, 0.2, 0.4]]).read_as(Reading("cxcywh", "rel"), 100, 50).xyxy
        array([[40., 15., 60., 35.]])
        >>> Boxes([[0.5, 0.5, 0.2, 0.4]]).read_as(Reading("cxcywh", "rel"), 0, 0)
        Traceback (most recent call last):
        ValueError: boxes are shares of a picture whose size is not known, since its file cannot be read
        """
        if reading.units == "rel" and not (width and height):
            raise ValueError("boxes are shares of a picture whose size is not known, since its file cannot be read")
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
        return no_text(self.labels or ())

    def _fits(self, width: int, height: int) -> str:
        """The readings in which these numbers would be boxes of the picture, in words; empty without such a reading."""
        sizes = np.full((len(self.xyxy), 2), [float(width), float(height)])
        others = [reading for reading in fitting(self.xyxy, sizes) if reading != CORNERS]
        return f" (these numbers fit the picture as {listed(others)})" if others else ""


@dataclass(frozen=True)
class Identifications(Answer):
    """Boxes with scores of any size and, for each box, the identities that it may show with their similarities.

    Boxes are left, top, width, height: the numbers of the file, since x + w - x is not always w. Identities of the
    first box come first in the flat arrays `identity` and `similarity`; `count` says how many each box has.

    >>> answer = Identifications([[0, 0, 4, 4]], [0.9], [2], [17, 4], [0.8, 0.3])
    >>> answer.xyxy.tolist(), answer.identity.tolist()
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
        boxes = table_rows(xywh, 4, "boxes")
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
