"""OpenCV's res10 SSD for faces, then a classifier that judges each for a mask. Weights by path (Caffe and ONNX).

Two of the assessed algorithms have this form: Facemask_Detection (a CNN) and Face-Mask-Detection (MobileNetV2). Their
classifiers are Keras files; `python -m tf2onnx.convert --keras FILE --output FILE.onnx` makes one that runs here.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.errors import ModelError, opencv
from countenance.files import named
from countenance.models.model import Images
from countenance.models.onnx import open_session
from countenance.models.zoo.caffe import open_caffe

SIDE = 300
MEAN = (104.0, 177.0, 123.0)
"""Of blue, green and red in the pictures that the SSD was trained on."""
CLASSES = ("mask", "no_mask")


class Res10Mask:
    """Boxes labelled mask or no_mask; the SSD sees the picture stretched to 300×300, the classifier each box alone.

    The classifier takes RGB from -1 to 1 (`mean`, `scale`), as N × height × width × 3 or N × 3 × height × width, and
    gives a share for each class, or one number: the share of the second class.
    """

    def __init__(
        self,
        weights: Path,
        classifier: str | None = None,
        prototxt: str | None = None,
        classes: Sequence[str] = CLASSES,
        min_score: float = 0.5,
        mean: float = 127.5,
        scale: float = 1 / 127.5,
    ) -> None:
        usual = [named(weights).with_suffix(".prototxt"), weights.with_name("deploy.prototxt")]
        self.net = open_caffe(weights, [Path(prototxt)] if prototxt else usual)
        path = classifier_of(weights) if classifier is None else Path(classifier)
        self.session = open_session(path, "cpu")
        (self.input,), shape = [item.name for item in self.session.get_inputs()][:1], self.session.get_inputs()[0].shape
        if len(shape) != 4 or 3 not in (shape[1], shape[3]):
            raise ModelError(f"{path}: takes {shape}, expected N × height × width × 3 or N × 3 × height × width")
        self.last = shape[3] == 3
        height, width = shape[1:3] if self.last else shape[2:]
        self.size = (width if isinstance(width, int) else 224, height if isinstance(height, int) else 224)
        self.classes, self.min_score, self.mean, self.scale = tuple(classes), min_score, mean, scale
        self.path = path

    def __call__(self, images: Images) -> list[Boxes]:
        return [self._detect(image) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        cv2 = opencv("a Caffe network")
        # The SSD wants blue first; pictures are RGB.
        self.net.setInput(cv2.dnn.blobFromImage(image, 1.0, (SIDE, SIDE), MEAN, swapRB=True))
        rows = np.asarray(self.net.forward(), dtype=np.float64).reshape(-1, 7)
        rows = rows[(rows[:, 1] == 1) & (rows[:, 2] >= self.min_score)]
        height, width = image.shape[:2]
        boxes = np.clip(rows[:, 3:] * [width, height, width, height], 0, [width, height, width, height])
        whole = np.round(boxes).astype(int)
        keep = np.flatnonzero((whole[:, 2:] > whole[:, :2]).all(axis=1))
        labels = [self._label(image[y0:y1, x0:x1]) for x0, y0, x1, y1 in whole[keep].tolist()]
        return Boxes(boxes[keep], np.clip(rows[keep, 2], 0, 1), labels)

    def _label(self, face: NDArray[np.uint8]) -> str:
        cv2 = opencv("a Caffe network")
        pixels = (cv2.resize(face, self.size).astype(np.float32) - self.mean) * self.scale
        batch = (pixels if self.last else pixels.transpose(2, 0, 1))[None].astype(np.float32)
        shares = np.asarray(self.session.run(None, {self.input: batch})[0]).reshape(-1)
        if shares.size == 1:
            return self.classes[int(shares[0] > 0.5)]
        if shares.size != len(self.classes):
            raise ModelError(f"{self.path}: gives {shares.size} classes, expected {len(self.classes)} or 1")
        return self.classes[int(shares.argmax())]


def classifier_of(weights: Path) -> Path:
    """The classifier beside the SSD's weights: the only ONNX file in their folder."""
    files = sorted(weights.parent.glob("*.onnx"))
    if len(files) != 1:
        what = f"{len(files)} ONNX files" if files else "no ONNX file"
        raise ModelError(f"{weights.parent}: holds {what}; put the mask classifier, one .onnx, beside {weights.name}")
    return files[0]
