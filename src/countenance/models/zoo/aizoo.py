"""AIZOO FaceMaskDetection: an SSD that boxes faces and judges their masks. Weights by path (Caffe)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.errors import opencv
from countenance.files import named
from countenance.metrics.boxes import suppress
from countenance.models.model import Images
from countenance.models.zoo.caffe import open_caffe

CLASSES = ("mask", "no_mask")
SIDE = 260
MAPS = (33, 17, 9, 5, 3)
SIZES = ((0.04, 0.056), (0.08, 0.11), (0.16, 0.22), (0.32, 0.45), (0.64, 0.72))
RATIOS = (1.0, 0.62, 0.42)
VARIANCES = np.array([0.1, 0.1, 0.2, 0.2])


def anchors() -> NDArray[np.float64]:
    """The SSD's anchors as centre and size, normalised: for each cell both sizes at ratio 1, then the other ratios.

    >>> anchors().shape
    (5972, 4)
    """
    rows = []
    for side, sizes in zip(MAPS, SIZES, strict=True):
        centres = (np.arange(side) + 0.5) / side
        shapes = [(size * np.sqrt(RATIOS[0]), size / np.sqrt(RATIOS[0])) for size in sizes]
        shapes += [(sizes[0] * np.sqrt(ratio), sizes[0] / np.sqrt(ratio)) for ratio in RATIOS[1:]]
        y, x = np.meshgrid(centres, centres, indexing="ij")
        cell = np.stack([x, y], axis=-1)[:, :, None, :].repeat(len(shapes), axis=2)
        shape = np.broadcast_to(np.array(shapes), cell.shape)
        rows.append(np.concatenate([cell, shape], axis=-1).reshape(-1, 4))
    return np.concatenate(rows)


class Aizoo:
    """Boxes labelled mask or no_mask; the picture is stretched to 260×260."""

    def __init__(self, weights: Path, prototxt: str | None = None, min_score: float = 0.5, nms: float = 0.4) -> None:
        layout = Path(prototxt) if prototxt else named(weights).with_suffix(".prototxt")
        self.net = open_caffe(weights, [layout])
        self.anchors = anchors()
        self.min_score, self.nms = min_score, nms

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        cv2 = opencv("a Caffe network")

        # Pictures are RGB already, so channels stay as they are.
        blob = cv2.dnn.blobFromImage(image, scalefactor=1 / 255, size=(SIDE, SIDE), swapRB=False)
        self.net.setInput(blob)
        places, shares = self.net.forward(["loc_branch_concat", "cls_branch_concat"])
        offsets = np.asarray(places, dtype=np.float64).reshape(-1, 4) * VARIANCES
        centre = offsets[:, :2] * self.anchors[:, 2:] + self.anchors[:, :2]
        size = np.exp(offsets[:, 2:]) * self.anchors[:, 2:]
        rows = np.asarray(shares, dtype=np.float64).reshape(-1, len(CLASSES))
        classes, scores = rows.argmax(axis=1), rows.max(axis=1)
        keep = np.flatnonzero(scores >= self.min_score)
        height, width = image.shape[:2]
        limits = np.array([width, height, width, height], dtype=np.float64)
        boxes = np.hstack([centre - size / 2, centre + size / 2])[keep] * limits
        remaining = suppress(boxes, scores[keep], self.nms)
        chosen = keep[remaining]
        labels = [CLASSES[i] for i in classes[chosen]]
        return Boxes(np.clip(boxes[remaining], 0, limits), np.clip(scores[chosen], 0, 1), labels)
