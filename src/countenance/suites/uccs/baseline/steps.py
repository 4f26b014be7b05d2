"""The steps of the baselines on an image: detect its faces, or embed the faces in its boxes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.reading.arrays import Arrays
from countenance.data.reading.lines import Floats
from countenance.errors import InputError
from countenance.run.image_jobs import ImageStep
from countenance.tasks.face_localization import to_boxes

DETECT = ImageStep(
    "detections",
    f"{__name__}:detect_step",
    {"box": np.zeros((0, 4)), "score": np.zeros(0), "landmarks": np.zeros((0, 10))},
    "it has no detection",
)
EMBED = ImageStep("embeddings", f"{__name__}:embed_step")


def detect_step(model: Any, image: NDArray[np.uint8], boxes: Any) -> Arrays:
    """Boxes (left, top, width, height), scores and landmarks, best first, rounded as in a score file."""
    answer = to_boxes(model([image])[0])
    problem = answer.problem(image.shape[1], image.shape[0])
    if problem:
        raise ValueError(problem)
    order = np.argsort(-answer.scores, kind="stable")
    corners = answer.xyxy[order]
    box = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).round(2)
    points, n = answer.landmarks, len(order)
    landmarks = np.zeros((n, 0)) if points is None else points[order].reshape(n, 10)
    keep = (box[:, 2:] > 0).all(axis=1)
    score = answer.scores[order][keep].round(2)
    return {"box": box[keep], "score": score, "landmarks": landmarks[keep].round(2)}


def embed_step(model: Any, image: NDArray[np.uint8], boxes: Any) -> Arrays:
    """An embedding of length 1 for every box of an image."""
    return {"embedding": np.array([embedding(model, image, box) for box in boxes], dtype=np.float32)}


ENLARGED = 1.3


def embedding(model: Any, image: NDArray[np.uint8], box: Floats) -> Floats:
    """The embedding of the face in a box, of length 1: the box enlarged, clipped to the image, and cut out.

    A model with `embed(crop, box)` gets the place of the face in the cut-out; any other gets the cut-out alone.
    """
    height, width = image.shape[:2]
    x0, y0, x1, y1 = enlarged(box, width, height)
    crop = image[y0:y1, x0:x1].copy()  # boxes overlap, and a model may write on what it is given
    if hasattr(model, "embed"):
        inner = np.array([box[0] - x0, box[1] - y0, box[0] + box[2] - x0, box[1] + box[3] - y0])
        vector = model.embed(crop, inner)
    else:
        answer = model([crop])[0]
        vector = getattr(answer, "vector", answer)
        if vector is None:  # no face found in the cut-out
            raise InputError("the embedding model gave no vector; take one that embeds every cut-out it is given")
    vector = np.asarray(vector, dtype=np.float64).ravel()
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


def enlarged(box: Floats, width: int, height: int) -> tuple[int, int, int, int]:
    """Corners of a box enlarged about its centre and clipped to the image; at least one pixel.

    >>> enlarged(np.array([10.0, 10.0, 10.0, 20.0]), 100, 28)
    (8, 7, 22, 28)
    """
    x, y, w, h = (float(v) for v in box)
    grow_x, grow_y = w * (ENLARGED - 1) / 2, h * (ENLARGED - 1) / 2
    x0, y0 = max(0, int(x - grow_x)), max(0, int(y - grow_y))
    x1, y1 = min(width, int(np.ceil(x + w + grow_x))), min(height, int(np.ceil(y + h + grow_y)))
    x0, y0 = min(x0, width - 1), min(y0, height - 1)
    return x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)
