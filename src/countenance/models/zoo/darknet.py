"""Darknet's YOLOv3 and YOLOv3-tiny that box faces and judge their masks. Weights by path (.cfg and .weights)."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data.categories import says_masked
from countenance.data.tables import read_text
from countenance.errors import ModelError, opencv
from countenance.files import named
from countenance.metrics.boxes import suppress
from countenance.models.model import Images

NAMES = ("obj.names", "classes.txt", "_darknet.labels")
"""Usual names of the list of classes, beside `<weights>.names`."""


class Darknet:
    """Boxes labelled mask or no_mask; the picture is stretched to the size that the .cfg names, as darknet does."""

    def __init__(
        self, weights: Path, cfg: str | None = None, names: str | None = None, min_score: float = 0.5, nms: float = 0.4
    ) -> None:
        cv2 = opencv("a darknet network")

        layout = Path(cfg) if cfg else named(weights).with_suffix(".cfg")
        if not layout.is_file():
            raise ModelError(f"{layout}: no such file; put the .cfg beside the .weights under the same name")
        if not hasattr(cv2.dnn, "readNetFromDarknet"):
            raise ModelError("this OpenCV has no darknet importer: pip install 'countenance[opencv]'")
        self.labels = read_classes(weights, names)
        self.size = tuple(_number(layout, name) for name in ("width", "height"))
        cv2.setNumThreads(int(os.environ.get("COUNTENANCE_THREADS", "0")) or -1)
        try:
            self.net: Any = cv2.dnn.readNetFromDarknet(str(layout), str(weights))
        except cv2.error as error:
            raise ModelError(f"{weights}: OpenCV cannot open it with {layout.name} ({error.err})") from None
        self.outputs = self.net.getUnconnectedOutLayersNames()
        self.min_score, self.nms = min_score, nms

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        cv2 = opencv("a darknet network")

        # Pictures are RGB already, as darknet wants them, so channels stay as they are.
        self.net.setInput(cv2.dnn.blobFromImage(image, scalefactor=1 / 255, size=self.size, swapRB=False))
        detections = [np.asarray(part, dtype=np.float64) for part in self.net.forward(self.outputs)]
        rows = np.concatenate([part.reshape(-1, part.shape[-1]) for part in detections])
        if rows.shape[1] != 5 + len(self.labels):
            raise ModelError(f"the network has {rows.shape[1] - 5} classes, the list of classes {len(self.labels)}")
        scores, classes = rows[:, 5:].max(axis=1), rows[:, 5:].argmax(axis=1)
        keep = np.flatnonzero(scores >= self.min_score)
        height, width = image.shape[:2]
        limits = np.array([width, height, width, height], dtype=np.float64)
        centre, size = rows[keep, :2], rows[keep, 2:4]
        boxes = np.hstack([centre - size / 2, centre + size / 2]) * limits
        remaining = suppress(boxes, scores[keep], self.nms)
        labels = [self.labels[classes[i]] for i in keep[remaining]]
        return Boxes(np.clip(boxes[remaining], 0, limits), np.clip(scores[keep][remaining], 0, 1), labels)


def read_classes(weights: Path, stated: str | None) -> list[str]:
    """The names of the classes, as mask and no_mask; darknet keeps them in a file, one on each line."""
    usual = [weights.with_suffix(".names"), *(weights.with_name(name) for name in NAMES)]
    path = Path(stated) if stated else next((path for path in usual if path.is_file()), usual[0])
    if not path.is_file():
        raise ModelError(f"{path}: no such file; list the classes there, one on each line, such as mask and no_mask")
    labels = []
    for number, line in enumerate(line for line in read_text(path).splitlines() if line.strip()):
        masked = says_masked(line.strip())
        if masked is None:
            raise ModelError(f"{path} line {number + 1}: {line.strip()!r} says neither mask nor no mask")
        labels.append("mask" if masked == "yes" else "no_mask")
    return labels


def _number(layout: Path, name: str) -> int:
    line = re.search(rf"^\s*{name}\s*=\s*(\d+)", read_text(layout), re.MULTILINE)
    if line is None:
        raise ModelError(f"{layout}: has no {name}=; expected a darknet .cfg, which begins with [net]")
    return int(line.group(1))
