"""The model protocol: anything callable on a list of images. A name and a card describe it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from countenance.data.record import Record
from countenance.files import file_hash

Images = Sequence[NDArray[np.uint8]]


@runtime_checkable
class Model(Protocol):
    """Takes a list of RGB images (height × width × 3, 8 bits), returns one answer for each, in order.

    A model with `fit(context)` is fitted once per run, before its first batch, on the arrays (`FitContext`) that the
    task hands to it. `fit` may return a dict of JSON values, which the run keeps, or raise `CannotAnswer`.
    """

    def __call__(self, images: Images) -> Sequence[Any]: ...


class ModelCard(Record):
    """A model's description, its licence, and the hash of its files.

    >>> ModelCard(name="mine").licence
    'not stated'
    """

    model_config = ConfigDict(frozen=True)
    name: str
    version: str = "1"
    description: str = ""
    licence: str = "not stated"
    source: str = ""
    content: str = ""
    """A hash of weights and code: a changed model has another one, and its run never mixes with an old one."""
    hashed: bool = False
    """Whether `content` covers all that the model is. Objects with state and code that opens files cannot be hashed."""
    settings: dict[str, Any] = Field(default_factory=dict)
    finds: tuple[str, ...] = ()
    """What it finds, in the words of `countenance.answers.targets` (face, person, …); empty: unknown."""


def code_sha256(path: Path) -> str:
    """The sha256 of a file, or of a folder of code: names and contents, sorted.

    Left out are `__pycache__`, names that begin with a dot, and links.
    """
    if path.is_file():
        return file_hash(path)
    digest = hashlib.sha256()
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    for name in sorted(name for name, file in files.items() if not file.is_symlink()):
        if not any(part.startswith(".") or part == "__pycache__" for part in name.split("/")):
            digest.update(f"{name}\0".encode() + bytes.fromhex(file_hash(files[name])))
    return digest.hexdigest()


def attribute_of(model: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute of a model by name; `otherwise` where it is missing or raises.

    >>> attribute_of(lambda images: [], "licence", "not stated")
    'not stated'
    """
    try:
        return getattr(model, name, otherwise)
    except Exception:  # an attribute may be any code
        return otherwise
