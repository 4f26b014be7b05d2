"""Arrays in files: .npz, .pth without executing anything in it, and a cache keyed by its inputs."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.decoding import decoding, limited_memory, most_memory, regular_file
from countenance.errors import DataError, InputError
from countenance.files import write_atomically

Arrays = dict[str, NDArray[Any]]
REMEDY = "save a dict of tensors: torch.save({'embeddings': torch.as_tensor(...), ...}, FILE)"


def digest(*parts: object) -> str:
    """A name for the combination of these parts; arrays contribute their shape, type and content.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    result = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            result.update(f"{part.shape}{part.dtype}".encode())
            result.update(np.ascontiguousarray(part).tobytes())
        else:
            result.update(part if isinstance(part, bytes) else repr(part).encode())
        result.update(b"\0")
    return result.hexdigest()


@dataclass(frozen=True)
class Cache:
    """A folder of arrays, each under a key made of everything they depend on (`digest`)."""

    folder: Path
    force: bool = False
    """Ignore what is cached, so that everything is computed again."""

    def path(self, kind: str, key: str) -> Path:
        """Where the arrays of a kind are kept under a key."""
        return self.folder / kind / key[:2] / f"{key}.npz"

    def get(self, kind: str, key: str) -> Arrays | None:
        """The kept arrays; None where the file does not exist or is damaged."""
        try:
            return None if self.force else load_arrays(self.path(kind, key))
        except (InputError, OSError):
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


def load_arrays(path: Path, only: tuple[str, ...] = ()) -> Arrays:
    """The arrays of an .npz file (`only` some of them), never a pickled object; each with at least one dimension.

    The file is a zip of headers that say how large each array is: what would not fit into memory is refused.
    """
    with (
        regular_file(path).open("rb") as stream,
        decoding(path, ".npz file", "; save plain arrays with numpy.savez"),
        limited_memory(most_memory(path)),
        np.load(stream, allow_pickle=False) as remaining,
    ):
        result = {name: remaining[name] for name in remaining.files if not only or name in only}
        for name, array in result.items():
            if not isinstance(array, np.ndarray) or array.ndim == 0:
                raise DataError(f"{path}: {name} is a single value, expected an array with a row for each face")
    return result


def read_arrays(path: Path, names: tuple[str, ...], remedy: str = "save it first") -> Arrays:
    """The arrays of these names in an .npz file; `remedy` says how to make a file that is missing."""
    try:
        remaining = load_arrays(path, names)
    except (FileNotFoundError, IsADirectoryError):
        raise DataError(f"{path}: no such file; {remedy}") from None
    missing = [name for name in names if name not in remaining]
    if missing:
        raise DataError(f"{path}: no array {missing[0]!r}; expected {', '.join(names)}")
    return remaining


def read_tensors(path: Path, names: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """The tensors (or plain arrays) of these names in the dict of a .pth file; torch reads weights only."""
    try:
        import torch
    except ImportError:
        raise DataError(f"{path}: .pth files need torch; pip install 'countenance[torch]', or save .npz") from None
    reconstruct: Any = np.zeros(0).__reduce__()[0]  # numpy arrays inside a .pth
    plain = [reconstruct, np.ndarray, np.dtype, *(type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8"))]
    try:
        with torch.serialization.safe_globals(plain):
            result = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds of errors for foreign bytes
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path}: not a .pth file of tensors ({first[:120]}); {REMEDY}") from None
    if not isinstance(result, dict):
        raise DataError(f"{path}: holds a {type(result).__name__}, expected a dict with {', '.join(names)}; {REMEDY}")
    output = []
    for name in names:
        value = result.get(name)
        if not isinstance(value, torch.Tensor | np.ndarray | list):
            raise DataError(f"{path}: {name!r} is {type(value).__name__}, expected a tensor; {REMEDY}")
        try:
            output.append(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise DataError(f"{path}: {name!r} holds something else than numbers; {REMEDY}") from None
    return output
