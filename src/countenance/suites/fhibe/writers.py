"""Our answers in the form of model_outputs.json, for every task."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts, Picture
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.files import write_atomically
from countenance.metrics.masks import compress, mask_runs
from countenance.suites.fhibe.table import Table


def _expect(answer: Any, kind: type[Any]) -> Any:
    if not isinstance(answer, kind):
        raise InputError(f"the model returned {type(answer).__name__}, expected {kind.__name__}")
    return answer


def boxes(answer: Any) -> dict[str, Any]:
    """Boxes with scores; none: null, as published.

    >>> boxes(Boxes([[0, 0, 2, 3]], [0.5]))
    {'detections': [[0.0, 0.0, 2.0, 3.0]], 'scores': [0.5]}
    """
    found = answer if isinstance(answer, Boxes) else Boxes(answer)
    keep = [i for i in range(len(found)) if found.labels is None or found.labels[i] in ("0", "person", "face")]
    if not keep:
        return {"detections": None, "scores": None}
    return {"detections": found.xyxy[keep].tolist(), "scores": found.scores[keep].tolist()}


def masks(answer: Any) -> dict[str, Any]:
    """Masks as run lengths."""
    found: Masks = _expect(answer, Masks)
    if not len(found.masks):
        return {"detections": None, "scores": None}
    size = [int(n) for n in found.masks.shape[1:]]
    return {
        "detections": [{"size": size, "counts": compress(mask_runs(mask))} for mask in found.masks],
        "scores": found.scores.tolist(),
    }


def keypoints(answer: Any) -> dict[str, Any]:
    """Points and confidences of each person."""
    found: Keypoints = _expect(answer, Keypoints)
    return {"detections": found.points[:, :, :2].tolist(), "scores": found.points[:, :, 2].tolist()}


def parts(answer: Any) -> dict[str, Any]:
    """Probabilities of each person."""
    found: Parts = _expect(answer, Parts)
    return {"detections": [dict(person) for person in found.probabilities]}


def label_map(answer: Any) -> dict[str, Any]:
    """A label map as run lengths by label.

    >>> label_map(LabelMap(np.zeros((1, 2), np.uint8)))
    {'detections_rle': {'0': {'size': [1, 2], 'counts': '02'}}}
    """
    classes = _expect(answer, LabelMap).classes
    size = [int(n) for n in classes.shape]
    return {
        "detections_rle": {
            str(int(v)): {"size": size, "counts": compress(mask_runs(classes == v))} for v in np.unique(classes)
        }
    }


def embedding(answer: Any) -> dict[str, Any]:
    """An embedding, or null where no face was found."""
    vector = answer.vector if isinstance(answer, Embedding) else answer
    return {"detections": None if vector is None else np.asarray(vector, dtype=np.float64).ravel().tolist()}


WRITERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "person_localization": boxes,
    "face_localization": boxes,
    "person_parsing": masks,
    "keypoint_estimation": keypoints,
    "body_parts_detection": parts,
    "face_parsing": label_map,
    "face_verification": embedding,
}


def picture_names(table: Table, folder: Path) -> list[Path]:
    """Where the super-resolution picture of each image goes."""
    return [folder / f"super_{Path(name).name}" for name in dict.fromkeys(table.text("filepath"))]


def save_picture(path: Path, answer: Any) -> None:
    """Write a picture as PNG, whole or not at all."""
    pixels = answer.pixels if isinstance(answer, Picture) else np.asarray(answer)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise InputError(f"{path.name}: a picture of shape {pixels.shape} and type {pixels.dtype}, expected 8-bit RGB")
    content = encode_png(pixels)
    write_atomically(path, lambda part: part.write_bytes(content))
