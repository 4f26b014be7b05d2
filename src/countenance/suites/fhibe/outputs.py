"""model_outputs.json: an entry for each image, found in the dataset by its name."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.files import write_text

FILE = "model_outputs.json"
ENCODINGS = "face_encodings"
"""The folder of the pictures that face_encoding makes; it has no model_outputs.json."""
MISSING = "run the model first (reuse_model_outputs=False) or put its outputs there"


def write_json(path: Path, value: Any) -> None:
    """Write one JSON file whole or not at all; NaN stays the bare word NaN, as published."""
    write_text(path, json.dumps(value))


class Images:
    """The images of a table's rows, found by their names in model_outputs.json, also when the dataset has moved.

    The published names are absolute paths. A name under another root is matched by its last two parts where these are
    unique. `also` are other names of the same rows.
    """

    def __init__(self, keys: Sequence[str], also: Sequence[str] = ()) -> None:
        self.names = list(dict.fromkeys(keys))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.of_rows: NDArray[np.int64] = np.array([self.index[key] for key in keys], dtype=np.int64)
        self._tails: dict[str, int | None] = {}
        for i, name in enumerate(self.names):
            tail = "/".join(name.split("/")[-2:])
            self._tails[tail] = None if tail in self._tails else i
        self.index |= {name: i for name, i in zip(also, self.of_rows.tolist(), strict=False) if name not in self.index}

    def find(self, name: str) -> int | None:
        """The image's number, or None for an image that is not in the dataset."""
        if name in self.index:
            return self.index[name]
        return self._tails.get("/".join(name.replace("\\", "/").split("/")[-2:]))

    def rows(self) -> list[list[int]]:
        """The rows of each image."""
        found: list[list[int]] = [[] for _ in self.names]
        for row, i in enumerate(self.of_rows.tolist()):
            found[i].append(row)
        return found
