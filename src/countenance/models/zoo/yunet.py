"""YuNet: a small face detector with five landmarks. Weights by path (ONNX, BSD-3-Clause)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.metrics.boxes import suppress
from countenance.models.model import Images
from countenance.models.onnx import open_session

STRIDES = (8, 16, 32)


class YuNet:
    """Face boxes, scores and landmarks; the picture is padded to a multiple of 32, never resized."""

    def __init__(self, weights: Path, device: str = "cpu", min_score: float = 0.6, nms: float = 0.45) -> None:
        self.session = open_session(weights, device)
        self.input = self.session.get_inputs()[0].name
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.min_score, self.nms = min_score, nms

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        height, width = image.shape[:2]
        padded_h, padded_w = -(-height // 32) * 32, -(-width // 32) * 32
        pixels = np.zeros((1, 3, padded_h, padded_w), dtype=np.float32)
        pixels[0, :, :height, :width] = image[:, :, ::-1].transpose(2, 0, 1)
        detections = dict(zip(self.outputs, self.session.run(None, {self.input: pixels}), strict=True))
        boxes, scores, points = [], [], []
        for stride in STRIDES:
            columns = padded_w // stride
            cls = np.clip(detections[f"cls_{stride}"].reshape(-1), 0, 1)
            obj = np.clip(detections[f"obj_{stride}"].reshape(-1), 0, 1)
            score = np.sqrt(cls * obj)
            keep = np.flatnonzero(score >= self.min_score)
            grid = np.stack([keep % columns, keep // columns], axis=1).astype(np.float64)
            box = detections[f"bbox_{stride}"].reshape(-1, 4)[keep].astype(np.float64)
            centre, size = (grid + box[:, :2]) * stride, np.exp(box[:, 2:]) * stride
            boxes.append(np.hstack([centre - size / 2, centre + size / 2]))
            kps = detections[f"kps_{stride}"].reshape(-1, 5, 2)[keep].astype(np.float64)
            points.append((grid[:, None, :] + kps) * stride)
            scores.append(score[keep].astype(np.float64))
        all_boxes, all_scores, all_points = np.vstack(boxes), np.concatenate(scores), np.concatenate(points)
        remaining = suppress(all_boxes, all_scores, self.nms)
        limits = np.array([width, height, width, height], dtype=np.float64)
        clipped = np.clip(all_boxes[remaining], 0, limits)
        return Boxes(clipped, all_scores[remaining], landmarks=all_points[remaining])
