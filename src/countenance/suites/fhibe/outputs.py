"""model_outputs.json, read and written for every task, each entry checked when it is read.

Entries are read one at a time, so that a file of embeddings or masks needs little more memory than its text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import read_text
from countenance.errors import InputError
from countenance.files import write_atomically, write_text

FILE = "model_outputs.json"
ENCODINGS = "face_encodings"
"""The folder of the pictures that face_encoding makes; it has no model_outputs.json."""
_SIGN = re.compile(r"[ \t\n\r]*([{}:,]?)[ \t\n\r]*")


def read_entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Each image's name and answer, in the order of the file; anything but one JSON object is refused."""
    if not path.exists():
        raise InputError(
            f"{path}: no such file; run the model first (reuse_model_outputs=False) or put its outputs there"
        )
    text, at, decode = read_text(path), 0, json.JSONDecoder().raw_decode

    def sign() -> str:
        nonlocal at
        found = _SIGN.match(text, at)
        at = found.end() if found else at
        return found[1] if found else ""

    try:
        if sign() != "{":
            raise InputError(f"{path}: expected one JSON object with an entry for each image")
        ended = text[at : at + 1] == "}"
        while not ended:
            key, at = decode(text, at)
            if not isinstance(key, str) or sign() != ":":
                raise json.JSONDecodeError("expected an image's name and a colon", text, at)
            value, at = decode(text, at)
            yield key, value
            if (last := sign()) not in (",", "}"):
                raise json.JSONDecodeError("expected a comma or the end", text, at)
            ended = last == "}"
    except json.JSONDecodeError as error:
        raise InputError(f"{path} line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply to be model outputs") from None


def write_entries(path: Path, entries: Iterable[tuple[str, Any]]) -> None:
    """Write model outputs, one image on each line, all of them or nothing."""

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8") as stream:
            stream.write("{")
            for i, (key, value) in enumerate(entries):
                stream.write(",\n" if i else "\n")
                stream.write(f"{json.dumps(key)}: {json.dumps(value)}")
            stream.write("\n}\n")

    write_atomically(path, write)


class OutputStream:
    """Outputs of a model that is under way: each is on disk as soon as it is there, and a stopped run goes on.

    A line for each image, below a line that says what was run; another model or other images begin again.
    """

    def __init__(self, path: Path, asked: str) -> None:
        self.path, self.asked = path.with_name(f"{path.stem}.partial.jsonl"), asked
        self.target = path
        self.done: dict[str, Any] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        if lines and lines[0] == json.dumps(asked):
            for line in lines[1:]:
                try:
                    name, value = json.loads(line)
                except ValueError:
                    break  # the last line of a killed run
                self.done[name] = value

    def write(self, entries: Iterable[tuple[str, Any]]) -> None:
        """Store the entries of the images that are missing, then all of them as model outputs."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = [json.dumps(self.asked), *(json.dumps(entry) for entry in self.done.items())]
        write_text(self.path, "\n".join(kept) + "\n")
        with self.path.open("a", encoding="utf-8") as stream:
            for name, value in entries:
                stream.write(json.dumps([name, value]) + "\n")
                stream.flush()
        write_entries(self.target, self._all())
        self.path.unlink()

    def _all(self) -> Iterator[tuple[str, Any]]:
        with self.path.open(encoding="utf-8") as stream:
            next(stream)
            for line in stream:
                name, value = json.loads(line)
                yield name, value


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


def field(entry: Any, name: str, place: str) -> Any:
    """One field of an entry; an entry that is no object, or lacks it, is refused."""
    if not isinstance(entry, Mapping) or name not in entry:
        found = f"fields {', '.join(map(str, entry))}" if isinstance(entry, Mapping) else type(entry).__name__
        raise InputError(f"{place}: expected an object with {name!r}, found {found}")
    return entry[name]
