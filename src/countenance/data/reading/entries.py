"""A JSON object with many entries, read and written one entry at a time.

A file of embeddings or masks then needs little more memory than its text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from countenance.data.tables import read_text
from countenance.errors import DataError
from countenance.files import write_atomically

_SIGN = re.compile(r"[ \t\n\r]*([{}:,]?)[ \t\n\r]*")


def read_entries(path: Path, missing: str = "expected a JSON object there") -> Iterator[tuple[str, Any]]:
    """Each name and value, in the order of the file; anything but one JSON object is refused.

    `missing` is the remedy in the error for a missing file.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file; {missing}")
    text, at, decode = read_text(path), 0, json.JSONDecoder().raw_decode

    def sign() -> str:
        nonlocal at
        result = _SIGN.match(text, at)
        at = result.end() if result else at
        return result[1] if result else ""

    try:
        if sign() != "{":
            raise DataError(f"{path}: expected one JSON object with an entry for each name")
        ended = text[at : at + 1] == "}"
        while not ended:
            key, at = decode(text, at)
            if not isinstance(key, str) or sign() != ":":
                raise json.JSONDecodeError("expected a name and a colon", text, at)
            value, at = decode(text, at)
            yield key, value
            if (last := sign()) not in (",", "}"):
                raise json.JSONDecodeError("expected a comma or the end", text, at)
            ended = last == "}"
    except json.JSONDecodeError as error:
        raise DataError(f"{path} line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply") from None


def write_entries(path: Path, entries: Iterable[tuple[str, Any]]) -> None:
    """Write a JSON object with one entry on each line, all of them or nothing.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.json"
    >>> write_entries(target, [("a.png", [1, 2]), ("b.png", None)])
    >>> list(read_entries(target))
    [('a.png', [1, 2]), ('b.png', None)]
    """

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8") as stream:
            stream.write("{")
            for i, (key, value) in enumerate(entries):
                stream.write(",\n" if i else "\n")
                stream.write(f"{json.dumps(key)}: {json.dumps(value)}")
            stream.write("\n}\n")

    write_atomically(path, write)


def field(entry: Any, name: str, place: str) -> Any:
    """One field of an entry; an entry that is not an object, or lacks it, is refused."""
    if not isinstance(entry, Mapping) or name not in entry:
        result = f"fields {', '.join(map(str, entry))}" if isinstance(entry, Mapping) else type(entry).__name__
        raise DataError(f"{place}: expected an object with {name!r}, found {result}")
    return entry[name]
