"""What a wrapper answers, checked and brought into the stored form; a wrong answer is named with its image."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from countenance.answers import raw
from countenance.data.run_lengths import rle_of
from countenance.errors import InputError
from countenance.tasks.face_parsing import FACE_LABELS, without_ears


def entry_of(task: str, answer: Any, place: str, *, ears: bool = False) -> dict[str, Any]:
    """One image's answer in the form of model_outputs.json; `ears`: face parsing maps ears to skin.

    >>> entry_of("face_localization", {"detections": np.array([[0, 0, 2, 3]]), "scores": [0.5]}, "a.png")
    {'detections': [[0.0, 0.0, 2.0, 3.0]], 'scores': [0.5]}
    >>> entry_of("person_localization", {"bboxes": [[0, 0, 2, 3]], "scores": [0.5]}, "a.png")
    Traceback (most recent call last):
    countenance.errors.InputError: a.png: the model returned a dict with bboxes, scores; 'labels' is missing
    """
    if task == "person_localization":
        return _people(answer, "bboxes", raw.box, place)
    if task == "person_parsing":
        return _people(answer, "masks", raw.mask, place)
    if task == "face_localization":
        boxes, scores = raw.fields(answer, ("detections", "scores"), place)
        return {
            "detections": [raw.box(box, f"{place}: detections") for box in boxes],
            "scores": [raw.number(score, f"{place}: scores") for score in scores],
        }
    if task == "keypoint_estimation":
        (people,) = raw.fields(answer, ("keypoints",), place)
        where = f"{place}: scores"  # they are stored, no metric uses them
        scores = [raw.numbers(s, where, "a list of numbers").tolist() for s in raw.items(answer.get("scores"), where)]
        return {"detections": [raw.points(points, place) for points in people], "scores": scores}
    if task == "body_parts_detection":
        return {"detections": raw.parts(answer, place)}
    if task == "face_parsing":
        return _label_map(answer, place, ears)
    raise ValueError(f"{task} is not stored as JSON by a wrapper")


def embedding_of(answer: Any, place: str) -> list[float] | None:
    """One image's embedding: {"embeddings": […]}, a list or an array; None for {"embeddings": None}, no face."""
    if isinstance(answer, Mapping):
        answer = raw.first_field(answer, ("embeddings", "detections"), place)
        if answer is None:
            return None
    vector: list[float] = raw.numbers(answer, f"{place}: embeddings", "a list of numbers").ravel().tolist()
    if not vector:
        raise InputError(f"{place}: embeddings is empty, expected a list of numbers")
    return vector


def picture_of(answer: Any, place: str) -> Any:
    """What a wrapper's `save_encoding` takes: the answer's "encoding" (the published text says "encodings")."""
    return raw.first_field(answer, ("encoding", "encodings"), place)


def _people(answer: Any, name: str, convert: Callable[[Any, str], Any], place: str) -> dict[str, Any]:
    """Detections of people (label 0) only; none at all is null, as published."""
    values, scores, labels = raw.fields(answer, (name, "scores", "labels"), place)
    kept = [i for i, label in enumerate(labels) if raw.number(label, f"{place}: labels", "a number (0: a person)") == 0]
    return {
        "detections": [convert(values[i], f"{place}: {name}") for i in kept] or None,
        "scores": [raw.number(scores[i], f"{place}: scores") for i in kept] or None,
    }


def _label_map(answer: Any, place: str, ears: bool) -> dict[str, Any]:
    array = raw.array(raw.first_field(answer, ("detections",), place))
    whole = array.ndim == 2 and array.dtype.kind in "iuf" and bool((array == np.floor(array)).all())
    if not whole or array.size == 0 or array.min() < 0 or array.max() >= len(FACE_LABELS):
        found, last = f"{array.dtype} of shape {array.shape}", len(FACE_LABELS) - 1
        raise InputError(f"{place}: detections is {found}, expected height × width labels from 0 to {last}")
    labels = without_ears(array.astype(np.uint8)) if ears else array.astype(np.uint8)
    return {"detections_rle": {str(int(v)): rle_of(labels == v) for v in np.unique(labels)}}
