"""A subject as plain values and back: the form in which the COCO and folder adapters store what COCO lacks."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.data.run_lengths import read_counts
from countenance.data.sample import Floats, Rle, Sample, Subject, Value
from countenance.data.tables import finite_number
from countenance.data.vocabulary import NUMERIC
from countenance.errors import DataError
from countenance.metrics.masks import many_run_lengths
from countenance.person_columns import GROUPS_OF, person_column
from countenance.words import is_missing, is_number, number_of


def numbers(value: Any, shape: tuple[int, ...], place: str) -> Floats | None:
    """A list of finite numbers as an array of that shape; None stays None.

    >>> numbers([1, 2, 3, 4], (4,), "row 2: face_box")
    array([1., 2., 3., 4.])
    >>> numbers([1, 2], (4,), "row 2: face_box")
    Traceback (most recent call last):
    countenance.errors.DataError: row 2: face_box: 2 numbers, expected 4
    """
    if value is None:
        return None
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{place}: {value!r:.60} is not a list of numbers") from None
    if array.size != math.prod(shape):
        raise DataError(f"{place}: {array.size} numbers, expected {math.prod(shape)}")
    if not np.isfinite(array).all():
        raise DataError(f"{place}: {value!r} holds a number that is not finite")
    return array.reshape(shape)


def rle(counts: Any, width: int, height: int, place: str) -> Rle:
    """Run lengths checked against the picture's size (a wrong size would read past the picture).

    >>> rle("04", 2, 2, "row 2: mask").decode().sum()
    np.int64(4)
    """
    if not isinstance(counts, str) or not counts.isascii():
        raise DataError(f"{place}: expected COCO run lengths as text, found {counts!r:.60}")
    total = int(read_counts(counts, place).sum())
    if total != width * height:
        raise DataError(f"{place}: run lengths cover {total} pixels, the picture has {width}×{height}")
    return Rle(height, width, counts)


def rles(masks: Mapping[str, Any], width: int, height: int, place: str) -> dict[str, Rle]:
    """Run lengths by name, each as `rle` reads it; together, because a face has a dozen small masks.

    >>> rles({"nose": "04", "hair": "13"}, 2, 2, "row 2: face_parts")["hair"].decode().sum()
    np.int64(3)
    """
    texts = list(masks.values())
    if all(isinstance(text, str) for text in texts):
        with suppress(ValueError):  # read one by one, so that the message names the mask
            if all(int(lengths.sum()) == width * height for lengths in many_run_lengths(texts)):
                return {str(name): Rle(height, width, counts) for name, counts in masks.items()}
    return {str(name): rle(counts, width, height, f"{place} {name}") for name, counts in masks.items()}


GROUP = re.compile(
    r"\d\s*(?:-|–|—|_|,\s|\.\.|to|bis)\s*\d+\D?$|\d\s*\+|[<>≤≥]\s*=?\s*\d|(?:over|under|than|below|above)\s+\d"
)
"""How groups of numbers are written."""


def attribute(name: str, value: Any, place: str) -> Value:
    """An attribute's value: numbers for the numeric attributes, words and lists of words for the rest.

    >>> attribute("age", "31,5", "row 2"), attribute("age", "N/A", "row 2"), attribute("ancestry", ["a", "b"], "row 2")
    (31.5, None, ('a', 'b'))
    """
    if value is None or value == "":
        return None
    if name in NUMERIC and isinstance(value, str):
        if is_missing(value):
            return None
        return number_of(value) if is_number(value) else finite_number(value, name, place)
    if name in NUMERIC:
        return finite_number(value, name, place)
    if isinstance(value, (list, tuple)):
        return tuple(str(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return float(value)
    return str(value)


def attributes(values: Mapping[str, Any], place: str) -> dict[str, Value]:
    """Every attribute of a mapping, read by `attribute`; a group of ages is `age_group`, and `age` is a number.

    >>> attributes({"age": "20-29"}, "row 2"), attributes({"age": "31"}, "row 2")
    ({'age_group': '20-29'}, {'age': 31.0})
    """
    named = [(_name_of(str(name), value), value) for name, value in values.items()]
    return {name: attribute(name, value, place) for name, value in named}


def _name_of(name: str, value: Any) -> str:
    """The attribute to which a value belongs: 20-29, 65+ and under 18 are groups of numbers."""
    groups = name in GROUPS_OF and isinstance(value, str) and GROUP.search(value.casefold())
    return GROUPS_OF[name] if groups else name


def identity(value: Any, place: str) -> str | None:
    """The identity of a person, as text; None if the cell is empty or NaN.

    >>> identity(" anna ", "row 2"), identity(12.0, "row 2"), identity("", "row 2"), identity(float("nan"), "row 2")
    ('anna', '12', None, None)
    """
    if isinstance(value, bool) or not (value is None or isinstance(value, str | int | float)):
        raise DataError(f"{place}: identity is {value!r:.60}, expected a name or a number")
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None if math.isnan(value) else value
    return None if value is None else str(value).strip() or None


def identity_apart(values: Mapping[str, Any], place: str) -> tuple[str | None, dict[str, Any]]:
    """The identity of a person, from its column, and all other values.

    >>> identity_apart({"person_id": 7, "age": 31}, "row 2"), identity_apart({"age": 31}, "row 2")
    (('7', {'age': 31}), (None, {'age': 31}))
    """
    column = person_column(values)
    if column is None:
        return None, dict(values)
    return identity(values[column], place), {name: value for name, value in values.items() if name != column}


def alone(subjects: Sequence[Subject]) -> bool:
    """Whether boxes can all be of one person: one face, one body, or both."""
    faces = sum(subject.face_box is not None for subject in subjects)
    bodies = sum(subject.person_box is not None for subject in subjects)
    return len(subjects) <= 1 or (faces <= 1 and bodies <= 1 and faces + bodies == len(subjects))


def people(
    subjects: Sequence[Subject], about: Mapping[str, Any], place: str
) -> tuple[tuple[Subject, ...], dict[str, Any]]:
    """The people of a picture and its attributes; an identity of the picture belongs to its only person."""
    who, others = identity_apart(about, place)
    if who is None:
        return tuple(subjects), others
    if not alone(subjects):
        raise DataError(f"{place}: one identity ({who:.60}) and {len(subjects)} people; give each person their own")
    return tuple(replace(item, identity=item.identity or who) for item in subjects), others


SHAPES = {"person_box": (4,), "face_box": (4,), "keypoints": (17, 3), "landmarks": (5, 2)}
"""The shape of each array of numbers."""


def subject(values: Mapping[str, Any], picture: Sample, place: str) -> Subject:
    """A subject of a picture from the plain values that `sample.truth` writes; attributes may say who it is, too."""
    mask, parts = values.get("mask"), values.get("face_parts") or {}
    if not isinstance(parts, Mapping):
        raise DataError(f"{place}: face_parts: expected names with run lengths, found {parts!r:.60}")
    shown = values.get("body_parts") or ()
    if not isinstance(shown, list | tuple):
        raise DataError(f"{place}: body_parts: expected a list of names, found {shown!r:.60}")
    about = values.get("attributes") or {}
    who, _ = identity_apart(values, place)
    named, others = identity_apart(about, place)
    arrays = {name: numbers(values.get(name), shape, f"{place}: {name}") for name, shape in SHAPES.items()}
    return Subject(
        id=str(values.get("id", "0")),
        identity=who or named,
        person_box=arrays["person_box"],
        face_box=arrays["face_box"],
        keypoints=arrays["keypoints"],
        landmarks=arrays["landmarks"],
        mask=None if mask is None else rle(mask, picture.width, picture.height, f"{place}: mask"),
        face_parts=rles(parts, picture.width, picture.height, f"{place}: face_parts") if parts else {},
        body_parts=tuple(str(part) for part in shown),
        attributes=attributes(others if who in (None, named) else about, place),
    )
