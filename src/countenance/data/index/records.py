"""From a record of a table or archive (a picture and named values) to a sample."""

import hashlib
from collections.abc import Mapping
from typing import Any

from countenance.data.image import EncodedImage
from countenance.data.reading import cells
from countenance.data.sample import Image, Sample
from countenance.errors import DataError

IDS = ("sample", "id", "image_id", "file_name", "filename", "key", "__key__")
"""Columns that may name a sample; the first one present is used."""
TRUTH = ("person_box", "face_box", "keypoints", "landmarks", "mask", "face_parts", "body_parts")
SUBJECTS = "subjects"
"""A column with one record for each person in the picture."""
OTHER = ("width", "height", "sha256")


def sample_of(
    image: Image, values: Mapping[str, Any], place: str, name: str | None = None, *, sha256: str | None = None
) -> Sample:
    """A sample from its picture and its columns.

    Truth has the names of `labels.csv` (`face_box`, …; `identity`, `person_id`, … say who it is); several people are a
    list `subjects` of such records; every other column that holds a word, a number or a list of words is an attribute.
    """
    picture = Sample("", image, *_size(values), sha256=sha256)
    used = next((column for column in IDS if values.get(column) not in (None, "")), None)
    named = name if name is not None else str(values[used]) if used else None
    if named is None:
        raise DataError(f"{place}: no column names the sample; add one called id")
    people = values.get(SUBJECTS)
    about = {
        str(key).removeprefix("attr."): value
        for key, value in values.items()
        if key not in TRUTH and key not in OTHER and key not in (SUBJECTS, used) and _plain(value)
    }
    if isinstance(people, list | tuple):
        listed = [_person(item, k, picture, f"{place}: subjects {k}") for k, item in enumerate(people)]
        subjects, about = cells.people(listed, about, place)
        return picture.having(id=named, subjects=subjects, attributes=cells.attributes(about, place))
    stated = {column: values.get(column) for column in TRUTH}
    subject = cells.subject({**stated, "id": "0", "attributes": about}, picture, place)
    return picture.having(id=named, subjects=(subject,))


def _person(values: Any, number: int, picture: Sample, place: str) -> Any:
    if not isinstance(values, Mapping):
        raise DataError(f"{place}: {values!r:.60}, expected a record such as {{'face_box': [10, 20, 30, 40]}}")
    known = (*TRUTH, "id", "subject", "attributes")
    about = {str(k).removeprefix("attr."): v for k, v in values.items() if k not in known and _plain(v)}
    about |= dict(values.get("attributes") or {})
    name = values.get("id", values.get("subject", number))
    stated = {column: values.get(column) for column in TRUTH}
    return cells.subject({**stated, "id": str(name), "attributes": about}, picture, place)


def _plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, str | int | float | bool)


def _size(values: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The picture's size where its columns state it."""
    width, height = values.get("width"), values.get("height")
    if isinstance(width, int) and isinstance(height, int) and 0 < width < 2**31 and 0 < height < 2**31:
        return width, height
    return None, None


def encoded(content: bytes, name: str) -> tuple[EncodedImage, str]:
    """A picture in memory and its hash."""
    return EncodedImage(content, name), hashlib.sha256(content).hexdigest()
