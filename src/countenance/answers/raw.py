"""Reads a model's return value piece by piece: lists, arrays and tensors become plain numbers.

Every function takes the place of what it reads, an image and a field, and names it when that is wrong.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import ModelError


def described(value: Any) -> str:
    """A value in a message: its type, with the keys of a dict and the shape of an array.

    >>> described({"boxes": []}), described(None), described(np.zeros((2, 3))), described(7)
    ('a dict with boxes', 'None', 'ndarray of shape (2, 3)', 'int')
    """
    if isinstance(value, Mapping):
        return f"a dict with {', '.join(map(str, value))}"[:80] if value else "an empty dict"
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if isinstance(shape, tuple) else "")


def plain(value: Any) -> Any:
    """Lists and numbers of plain Python, from arrays and tensors.

    >>> plain([np.float32(0.5), (np.arange(2),)])
    [0.5, [[0, 1]]]
    """
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def first_field(answer: Any, names: tuple[str, ...], place: str) -> Any:
    """The first of some fields that an answer has."""
    for name in names:
        if isinstance(answer, Mapping) and name in answer:
            return answer[name]
    raise ModelError(f"{place}: the model returned {described(answer)}, expected a dict with {names[0]!r}")


def fields(answer: Any, names: tuple[str, ...], place: str) -> list[list[Any]]:
    """Fields of an answer as lists; the others may be missing only where the first is empty or None."""
    if not isinstance(answer, Mapping) or names[0] not in answer:
        expected = ", ".join(map(repr, names))
        raise ModelError(f"{place}: the model returned {described(answer)}, expected a dict with {expected}")
    result = [items(answer.get(name), f"{place}: {name}") for name in names]
    for name, values in zip(names, result, strict=True):
        if name not in answer and result[0]:
            raise ModelError(f"{place}: the model returned {described(answer)}; {name!r} is missing")
        if len(values) != len(result[0]):
            raise ModelError(f"{place}: {len(values)} {name} for {len(result[0])} {names[0]}; one for each")
    return result


def items(value: Any, place: str) -> list[Any]:
    """The items of a list, an array or a tensor; None is empty."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0):
        return list(value)
    raise ModelError(f"{place} is {described(value)}, expected a list")


def array(value: Any) -> NDArray[Any]:
    """An array, also from a tensor with gradients or on a GPU; anything else becomes an array of objects."""
    try:
        return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except ValueError:  # lists of different lengths
        return np.array(None, dtype=object)


def numbers(value: Any, place: str, expected: str) -> NDArray[np.float64]:
    """Finite numbers of any shape; `expected` says in errors what they should be."""
    words = " ".join(repr(value).split())[:60]
    try:
        result = np.asarray(plain(value), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{place}: {words} is not {expected}") from None
    if not np.isfinite(result).all():
        raise ModelError(f"{place}: {words} holds a number that is not finite")
    return result


def number(value: Any, place: str, expected: str = "a number") -> float:
    """One finite number.

    >>> number(np.array([0.5]), "a.png: scores")
    0.5
    """
    result = numbers(value, place, expected)
    if result.size != 1:
        raise ModelError(f"{place}: {described(value)} is not {expected}")
    return float(result.item())


def box(value: Any, place: str) -> list[float]:
    """The four corners of a box."""
    result = numbers(value, place, "a box [x0, y0, x1, y1]")
    if result.shape != (4,):
        raise ModelError(f"{place}: {result.size} numbers, expected a box [x0, y0, x1, y1]")
    corners: list[float] = result.tolist()
    return corners


def mask(value: Any, place: str) -> NDArray[np.bool_]:
    """A mask of 0 and 1."""
    result = array(value)
    if result.ndim != 2 or result.dtype.kind not in "biuf":
        raise ModelError(f"{place}: {described(value)}, expected a boolean array of height × width")
    if not ((result == 0) | (result == 1)).all():
        raise ModelError(f"{place}: a mask with other values than 0 and 1; apply your threshold to it")
    return result.astype(bool)


def points(value: Any, place: str) -> list[list[float]]:
    """The keypoints of one person."""
    result = numbers(value, f"{place}: keypoints", "a list of [x, y]")
    if result.ndim != 2 or result.shape[1] < 2:
        shape = "×".join(map(str, result.shape))
        raise ModelError(f"{place}: keypoints: {shape} numbers, expected a list of [x, y] for each person")
    rows: list[list[float]] = result.tolist()
    return rows


def parts(answer: Any, place: str) -> list[dict[str, float]]:
    """The probability of each part, for each person."""
    if not isinstance(answer, (list, tuple)) or not all(isinstance(person, Mapping) for person in answer):
        result = described(answer)
        raise ModelError(f"{place}: the model returned {result}, expected a list with a dict of parts for each person")
    return [{str(name): number(p, f"{place}: part {name!r}") for name, p in person.items()} for person in answer]
