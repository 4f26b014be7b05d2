"""WearMask: YOLO-Fastest that boxes faces and judges their masks. Weights by path (ONNX)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.errors import ModelError
from countenance.metrics.boxes import suppress
from countenance.models.model import Images
from countenance.models.onnx import InputSpec, open_session, prepare

CLASSES = ("no_mask", "mask")
COLUMNS = 4 + 1 + len(CLASSES)
"""The columns of the output: centre and size in pixels, then logits of objectness and of each class."""


class WearMask:
    """Boxes labelled mask or no_mask; the picture is letterboxed into 512×320 with grey."""

    def __init__(self, weights: Path, device: str = "cpu", min_score: float = 0.3, nms: float = 0.6) -> None:
        self.session = open_session(weights, device)
        shape = self.session.get_inputs()[0].shape
        output = self.session.get_outputs()[0]
        if len(shape) != 4 or output.shape[-1] != COLUMNS:
            raise ModelError(f"{weights}: takes {shape}, gives {output.shape}; not WearMask's YOLO-Fastest (1×2400×7)")
        self.input, self.output = self.session.get_inputs()[0].name, output.name
        self.spec = InputSpec(size=(int(shape[3]), int(shape[2])), resize="letterbox", pad=114, scale=1 / 255)
        self.min_score, self.nms = min_score, nms

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        pixels, scale, offset = prepare(image, self.spec)
        (detections,) = self.session.run([self.output], {self.input: pixels})
        rows = np.asarray(detections, dtype=np.float64).reshape(-1, COLUMNS)
        shares = 1 / (1 + np.exp(-rows[:, 4:]))
        classes = shares[:, 1:].argmax(axis=1)
        scores = shares[:, 0] * shares[np.arange(len(rows)), 1 + classes]
        keep = scores >= self.min_score
        centre, size = rows[keep, :2], rows[keep, 2:4]
        boxes = (np.hstack([centre - size / 2, centre + size / 2]) - np.tile(offset, 2)) / np.tile(scale, 2)
        scores, classes = scores[keep], classes[keep]
        remaining = per_class(boxes, scores, classes, self.nms)
        height, width = image.shape[:2]
        clipped = np.clip(boxes[remaining], 0, [width, height, width, height])
        return Boxes(clipped, scores[remaining], [CLASSES[i] for i in classes[remaining]])


def per_class(
    boxes: NDArray[np.float64], scores: NDArray[np.float64], classes: NDArray[np.intp], limit: float
) -> NDArray[np.intp]:
    """Non-maximum suppression within each class; the indices kept, best score first.

    >>> per_class(np.array([[0, 0, 2, 2.0]] * 2), np.array([0.8, 0.9]), np.array([0, 1]), 0.5)
    array([1, 0])
    """
    own = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    remaining = [rows[suppress(boxes[rows], scores[rows], limit)] for rows in own]
    detections = np.concatenate(remaining) if remaining else np.zeros(0, dtype=np.intp)
    return np.asarray(detections[np.argsort(-scores[detections], kind="stable")], dtype=np.intp)
