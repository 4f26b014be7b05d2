"""What a wrapper answers, checked; a wrong answer is named with its image."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import raw
from countenance.data.vocabulary import FACE_LABELS
from countenance.errors import InputError
from countenance.tasks.face_parsing import without_ears


def people_of(answer: Any, name: str, convert: Callable[[Any, str], Any], place: str) -> tuple[list[Any], list[float]]:
    """The detections of people (label 0) under a name, and their scores.

    >>> found = {"bboxes": [[0, 0, 2, 3], [1, 1, 2, 2]], "scores": [0.5, 0.9], "labels": [0, 7]}
    >>> people_of(found, "bboxes", raw.box, "a.png")
    ([[0.0, 0.0, 2.0, 3.0]], [0.5])
    >>> people_of({"bboxes": [[0, 0, 2, 3]], "scores": [0.5]}, "bboxes", raw.box, "a.png")
    Traceback (most recent call last):
    countenance.errors.InputError: a.png: the model returned a dict with bboxes, scores; 'labels' is missing
    """
    values, scores, labels = raw.fields(answer, (name, "scores", "labels"), place)
    people = [
        i for i, label in enumerate(labels) if raw.number(label, f"{place}: labels", "a number (0: a person)") == 0
    ]
    return (
        [convert(values[i], f"{place}: {name}") for i in people],
        [raw.number(scores[i], f"{place}: scores") for i in people],
    )


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


def label_map_of(answer: Any, place: str, *, ears: bool) -> NDArray[np.uint8]:
    """The labels of a face picture; `ears`: ears become skin."""
    array = raw.array(raw.first_field(answer, ("detections",), place))
    whole = array.ndim == 2 and array.dtype.kind in "iuf" and bool((array == np.floor(array)).all())
    if not whole or array.size == 0 or array.min() < 0 or array.max() >= len(FACE_LABELS):
        shown, last = f"{array.dtype} of shape {array.shape}", len(FACE_LABELS) - 1
        raise InputError(f"{place}: detections is {shown}, expected height × width labels from 0 to {last}")
    return without_ears(array.astype(np.uint8)) if ears else array.astype(np.uint8)
