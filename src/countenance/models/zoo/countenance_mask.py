"""Our own small mask detector, trained on the embedded people and shipped with the package."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.errors import ModelError
from countenance.files import file_hash
from countenance.metrics.boxes import suppress
from countenance.models.model import Images
from countenance.models.onnx import InputSpec, open_session, prepare

WEIGHTS = Path(__file__).parent / "weights" / "countenance_mask.onnx"
SIDES = (96, 160)
"""Every picture is looked at twice: as large as the windows it learnt on, and smaller for faces that fill the frame."""
LARGE, LARGEST = 320, 640
"""A picture above the first size is also looked at near its own size, up to the second, for small faces."""
STRIDE = 8

Array = NDArray[np.float64]


def sides(width: int, height: int) -> list[int]:
    """The sizes at which the network sees a picture: multiples of 32.

    >>> sides(224, 224), sides(300, 450)
    ([96, 160], [96, 160, 448])
    """
    longer = max(width, height)
    return [*SIDES, min(LARGEST, longer // 32 * 32)] if longer > LARGE else [*SIDES]


def decode(rows: Array) -> tuple[Array, Array, Array]:
    """From the network's map (6 × rows × columns) to boxes in its pixels, face scores and mask scores.

    >>> boxes, faces, masks = decode(np.zeros((6, 1, 2)))
    >>> boxes.tolist(), faces.tolist()
    ([[-4.0, -4.0, 12.0, 12.0], [4.0, -4.0, 20.0, 12.0]], [0.5, 0.5])
    """
    flat = rows.reshape(6, -1)
    y, x = np.divmod(np.arange(flat.shape[1]), rows.shape[2])
    centre = (np.stack([x, y], axis=1) + 0.5) * STRIDE
    reach = np.exp(np.clip(flat[2:].T, -10, 10)) * STRIDE
    boxes = np.hstack([centre - reach[:, :2], centre + reach[:, 2:]])
    return boxes, 1 / (1 + np.exp(-flat[0])), 1 / (1 + np.exp(-flat[1]))


class CountenanceMask:
    """Boxes labelled mask or no_mask; the picture is letterboxed with grey into squares of a few sizes."""

    def __init__(
        self,
        weights: str | Path | None = None,
        device: str = "cpu",
        min_score: float = 0.5,
        nms: float = 0.6,
        sha256: str | None = None,
    ) -> None:
        path = Path(weights) if weights is not None else WEIGHTS
        self.session = open_session(path, device)
        if sha256 is not None and file_hash(path) != sha256:
            raise ModelError(f"{path}: is not the file that the run began with; name another folder for this one")
        names = [output.name for output in self.session.get_outputs()]
        if names != ["map"]:
            raise ModelError(f"{path}: gives {', '.join(names)}; expected map, as `mask-fairness train` writes it")
        self.input = self.session.get_inputs()[0].name
        self.min_score, self.nms = min_score, nms

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        height, width = image.shape[:2]
        looks = [self._look(image, side) for side in sides(width, height)]
        boxes, scores, masks = (np.concatenate(parts) for parts in zip(*looks, strict=True))
        remaining = suppress(boxes, scores, self.nms, "smaller")  # a face detected at two sizes
        clipped = np.clip(boxes[remaining], 0, [width, height, width, height])
        return Boxes(clipped, scores[remaining], ["mask" if share >= 0.5 else "no_mask" for share in masks[remaining]])

    def _look(self, image: NDArray[np.uint8], side: int) -> tuple[Array, Array, Array]:
        """The detections at one size: boxes in the picture's pixels, face scores, mask scores."""
        spec = InputSpec(size=(side, side), resize="letterbox", pad=114, scale=1 / 255)
        pixels, scale, offset = prepare(image, spec)
        (detections,) = self.session.run(None, {self.input: pixels})
        boxes, faces, masks = decode(np.asarray(detections, dtype=np.float64)[0])
        keep = faces >= self.min_score
        return (boxes[keep] - np.tile(offset, 2)) / np.tile(scale, 2), faces[keep], masks[keep]
