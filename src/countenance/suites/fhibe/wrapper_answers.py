"""What a wrapper answers, checked and brought into the stored form; a wrong answer is named with its image."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.metrics.masks import compress, mask_runs
from countenance.tasks.face_parsing import EARS_TO_SKIN, FACE_LABELS


def entry_of(task: str, answer: Any, place: str, *, ears: bool = False) -> dict[str, Any]:
    """One image's answer in the form of model_outputs.json; `ears`: face parsing maps ears to skin.

    >>> entry_of("face_localization", {"detections": np.array([[0, 0, 2, 3]]), "scores": [0.5]}, "a.png")
    {'detections': [[0.0, 0.0, 2.0, 3.0]], 'scores': [0.5]}
    >>> entry_of("person_localization", {"bboxes": [[0, 0, 2, 3]], "scores": [0.5]}, "a.png")
    Traceback (most recent call last):
    countenance.errors.InputError: a.png: the model returned a dict with bboxes, scores; 'labels' is missing
    """
    if task == "person_localization":
        return _people(answer, "bboxes", _box, place)
    if task == "person_parsing":
        return _people(answer, "masks", _mask, place)
    if task == "face_localization":
        boxes, scores = _fields(answer, ("detections", "scores"), place)
        return {
            "detections": [_box(box, f"{place}: detections") for box in boxes],
            "scores": [_number(score, f"{place}: scores") for score in scores],
        }
    if task == "keypoint_estimation":
        (people,) = _fields(answer, ("keypoints",), place)
        where = f"{place}: scores"  # they are stored, no metric uses them
        scores = [_numbers(s, where, "a list of numbers").tolist() for s in _list(answer.get("scores"), where)]
        return {"detections": [_points(points, place) for points in people], "scores": scores}
    if task == "body_parts_detection":
        return {"detections": _parts(answer, place)}
    if task == "face_parsing":
        return _label_map(answer, place, ears)
    raise ValueError(f"{task} is not stored as JSON by a wrapper")


def embedding_of(answer: Any, place: str) -> list[float] | None:
    """One image's embedding: {"embeddings": […]}, a list or an array; None for {"embeddings": None}, no face."""
    if isinstance(answer, Mapping):
        answer = _field(answer, ("embeddings", "detections"), place)
        if answer is None:
            return None
    vector: list[float] = _numbers(answer, f"{place}: embeddings", "a list of numbers").ravel().tolist()
    if not vector:
        raise InputError(f"{place}: embeddings is empty, expected a list of numbers")
    return vector


def picture_of(answer: Any, place: str) -> Any:
    """What a wrapper's `save_encoding` takes: the answer's "encoding" (the published text says "encodings")."""
    return _field(answer, ("encoding", "encodings"), place)


def rle_of(mask: Any) -> dict[str, Any]:
    """A boolean mask as {"size": [height, width], "counts": text}.

    >>> rle_of(np.ones((2, 2), bool))
    {'size': [2, 2], 'counts': '04'}
    """
    array = np.asarray(mask).astype(bool)
    return {"size": [int(n) for n in array.shape], "counts": compress(mask_runs(array))}


def plain(value: Any) -> Any:
    """Lists, dicts and numbers of plain Python, from arrays and tensors.

    >>> plain({"Face": np.float32(0.5), 1: (np.arange(2),)})
    {'Face': 0.5, '1': [[0, 1]]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def described(value: Any) -> str:
    """A value in a message: what it is and what it holds.

    >>> described({"boxes": []}), described(None), described(np.zeros((2, 3))), described(7)
    ('a dict with boxes', 'None', 'ndarray of shape (2, 3)', 'int')
    """
    if isinstance(value, Mapping):
        return f"a dict with {', '.join(map(str, value))}"[:80] if value else "an empty dict"
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if isinstance(shape, tuple) else "")


def _field(answer: Any, names: tuple[str, ...], place: str) -> Any:
    """The first of some fields that an answer has."""
    for name in names:
        if isinstance(answer, Mapping) and name in answer:
            return answer[name]
    raise InputError(f"{place}: the model returned {described(answer)}, expected a dict with {names[0]!r}")


def _fields(answer: Any, names: tuple[str, ...], place: str) -> list[list[Any]]:
    """Fields of an answer as lists; the others may be missing only where the first is empty or None."""
    if not isinstance(answer, Mapping) or names[0] not in answer:
        expected = ", ".join(map(repr, names))
        raise InputError(f"{place}: the model returned {described(answer)}, expected a dict with {expected}")
    found = [_list(answer.get(name), f"{place}: {name}") for name in names]
    for name, values in zip(names, found, strict=True):
        if name not in answer and found[0]:
            raise InputError(f"{place}: the model returned {described(answer)}; {name!r} is missing")
        if len(values) != len(found[0]):
            raise InputError(f"{place}: {len(values)} {name} for {len(found[0])} {names[0]}; one for each")
    return found


def _list(value: Any, place: str) -> list[Any]:
    """The items of a list, an array or a tensor; None is empty."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0):
        return list(value)
    raise InputError(f"{place} is {described(value)}, expected a list")


def _array(value: Any) -> NDArray[Any]:
    """An array, also from a tensor with gradients or on a GPU; anything else becomes an array of objects."""
    try:
        return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except ValueError:  # lists of different lengths
        return np.array(None, dtype=object)


def _numbers(value: Any, place: str, expected: str) -> NDArray[np.float64]:
    said = " ".join(repr(value).split())[:60]
    try:
        array = np.asarray(plain(value), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{place}: {said} is not {expected}") from None
    if not np.isfinite(array).all():
        raise InputError(f"{place}: {said} holds a number that is not finite")
    return array


def _number(value: Any, place: str, expected: str = "a number") -> float:
    array = _numbers(value, place, expected)
    if array.size != 1:
        raise InputError(f"{place}: {described(value)} is not {expected}")
    return float(array.item())


def _people(answer: Any, name: str, convert: Callable[[Any, str], Any], place: str) -> dict[str, Any]:
    """Detections of people (label 0) only; none at all is null, as published."""
    values, scores, labels = _fields(answer, (name, "scores", "labels"), place)
    kept = [i for i, label in enumerate(labels) if _number(label, f"{place}: labels", "a number (0: a person)") == 0]
    return {
        "detections": [convert(values[i], f"{place}: {name}") for i in kept] or None,
        "scores": [_number(scores[i], f"{place}: scores") for i in kept] or None,
    }


def _box(value: Any, place: str) -> list[float]:
    box = _numbers(value, place, "a box [x0, y0, x1, y1]")
    if box.shape != (4,):
        raise InputError(f"{place}: {box.size} numbers, expected a box [x0, y0, x1, y1]")
    corners: list[float] = box.tolist()
    return corners


def _mask(value: Any, place: str) -> dict[str, Any]:
    array = _array(value)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(f"{place}: {described(value)}, expected a boolean array of height × width")
    if not ((array == 0) | (array == 1)).all():
        raise InputError(f"{place}: a mask with other values than 0 and 1; apply your threshold to it")
    return rle_of(array)


def _points(value: Any, place: str) -> list[list[float]]:
    points = _numbers(value, f"{place}: keypoints", "a list of [x, y]")
    if points.ndim != 2 or points.shape[1] < 2:
        shape = "×".join(map(str, points.shape))
        raise InputError(f"{place}: keypoints: {shape} numbers, expected a list of [x, y] for each person")
    rows: list[list[float]] = points.tolist()
    return rows


def _parts(answer: Any, place: str) -> list[dict[str, float]]:
    if not isinstance(answer, (list, tuple)) or not all(isinstance(person, Mapping) for person in answer):
        found = described(answer)
        raise InputError(f"{place}: the model returned {found}, expected a list with a dict of parts for each person")
    return [{str(name): _number(p, f"{place}: part {name!r}") for name, p in person.items()} for person in answer]


def _label_map(answer: Any, place: str, ears: bool) -> dict[str, Any]:
    array = _array(_field(answer, ("detections",), place))
    whole = array.ndim == 2 and array.dtype.kind in "iuf" and bool((array == np.floor(array)).all())
    if not whole or array.size == 0 or array.min() < 0 or array.max() >= len(FACE_LABELS):
        found, last = f"{array.dtype} of shape {array.shape}", len(FACE_LABELS) - 1
        raise InputError(f"{place}: detections is {found}, expected height × width labels from 0 to {last}")
    labels = array.astype(np.uint8)
    for old, new in EARS_TO_SKIN.items() if ears else ():
        labels[labels == old] = new
    return {"detections_rle": {str(int(v)): rle_of(labels == v) for v in np.unique(labels)}}
