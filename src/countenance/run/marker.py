"""The marker of a committed shard: the file that makes a shard count."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from countenance.files import to_json


@dataclass(frozen=True)
class Marker:
    """The description of a committed shard."""

    number: int
    answered: int
    failures: list[dict[str, Any]]
    """The images that failed; a list of all shards has only their number, `failed`."""
    files: Mapping[str, str]
    """File names with their hashes."""
    skipped: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    """File names with their sizes, so that a listing says whether an upload was cut off."""
    pictures: str = ""
    """A hash of the hashes of the pictures that were read."""
    failed: int = 0
    """How many images failed."""

    def file(self, folder: str, ending: str = ".parquet") -> str | None:
        """The shard's table in a folder of the run, or its file with another ending."""
        return next((name for name in self.files if name.startswith(folder) and name.endswith(ending)), None)

    def same(self, other: "Marker") -> bool:
        """Whether two writers of a shard stored the same predictions, rows and failures."""
        mine, theirs = sorted(self.files.values()), sorted(other.files.values())
        return mine == theirs and json.loads(to_json(self.failures)) == json.loads(to_json(other.failures))

    def to_bytes(self) -> bytes:
        return to_json({name: value for name, value in vars(self).items() if name != "failed"}).encode()

    @classmethod
    def read(cls, content: bytes) -> "Marker | None":
        """A marker, or None when the file is damaged."""
        try:
            marker = _markers().validate_json(content)
        except ValueError:
            return None
        if not all(_is_failure(row) for row in marker.failures):
            return None
        return replace(marker, failed=len(marker.failures))


def _is_failure(row: Mapping[str, Any]) -> bool:
    """Whether a row describes a failed image as `countenance.run.rows.failure_row` does."""
    people, attributes = row.get("people") or [], row.get("attributes") or {}
    if not (isinstance(people, list) and isinstance(attributes, dict)):
        return False
    named = all(isinstance(row.get(name), str) for name in ("sample", "kind", "reason"))
    listed = all(value is None or isinstance(value, list) for value in attributes.values())
    texts = [text for value in attributes.values() for text in value or ()] if listed else []
    return named and listed and all(isinstance(text, str) for text in people) and _are_texts(texts)


def _are_texts(values: Sequence[Any]) -> bool:
    return all(value is None or isinstance(value, str) for value in values)


@cache
def _markers() -> TypeAdapter[Marker]:
    return TypeAdapter(Marker)


class Committed(StrEnum):
    """The outcome of storing a shard."""

    FIRST = "first"
    SAME = "same"
    """Another writer was first, with the same content."""
    DIFFERENT = "different"
    """Another writer was first, with other predictions for the same images: the model is nondeterministic."""
