"""Arrays kept between runs under a name made of everything they depend on: a changed input finds nothing."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.files import write_atomically

Arrays = dict[str, NDArray[Any]]


def digest(*parts: object) -> str:
    """A name for what is made from these parts; arrays count with shape, type and content.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.shape}{part.dtype}".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(part if isinstance(part, bytes) else repr(part).encode())
        found.update(b"\0")
    return found.hexdigest()


@dataclass(frozen=True)
class Cache:
    """A folder of arrays."""

    folder: Path
    force: bool = False
    """Find nothing, so that everything is made again."""

    def path(self, kind: str, key: str) -> Path:
        """Where the arrays of a kind are kept under a key."""
        return self.folder / kind / key[:2] / f"{key}.npz"

    def get(self, kind: str, key: str) -> Arrays | None:
        """The kept arrays; None when there are none, or the file is damaged."""
        path = self.path(kind, key)
        if self.force or not path.is_file():
            return None
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
        except (OSError, ValueError, zipfile.BadZipFile, EOFError):
            return None

    def put(self, kind: str, key: str, arrays: Arrays) -> None:
        """Keep arrays under a key."""
        save_arrays(self.path(kind, key), arrays)


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays to an .npz file, whole or not at all."""

    def write(part: Path) -> None:
        with part.open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]

    write_atomically(path, write)
