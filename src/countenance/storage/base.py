"""The operations that a run needs from its storage, without those that only a disk has."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from countenance.errors import InputError


class Missing(Exception):
    """There is no blob of that name."""


@dataclass(frozen=True)
class StoredFile:
    """A blob's name and size; `version` changes with the content, where the place keeps versions."""

    name: str
    size: int
    version: str = ""


def checked_name(name: str, place: str) -> str:
    """The name of a blob, refused if it leads out of the place, since names come from foreign files.

    >>> checked_name("answers/00000.parquet", "run")
    'answers/00000.parquet'
    >>> checked_name("../victim.txt", "run")
    Traceback (most recent call last):
    countenance.errors.InputError: run: the name '../victim.txt' leads out of it; a file of the run that holds such ...
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or any(sign in name for sign in "\\\0") or ":" in parts[0][:2]:
        raise InputError(
            f"{place}: the name {name[:200]!r} leads out of it; a file of the run that holds such a name is not ours"
        )
    return name


class Storage(Protocol):
    """Blobs by name; names are relative, with forward slashes. A name that leads out of the place is refused."""

    @property
    def place(self) -> str:
        """The place as the user knows it: a folder or a URL."""

    @property
    def guarded(self) -> bool:
        """Whether the place itself protects content from changes, so that sizes from a listing suffice."""

    def read(self, name: str) -> bytes:
        """The whole content; `Missing` when there is none."""

    def open(self, name: str) -> Any:
        """The content as a file that can be read in parts; `Missing` when there is none."""

    def has(self, name: str) -> bool:
        """Whether there is a blob of that name."""

    def write(self, name: str, content: bytes) -> None:
        """Replace the content durably, whole or not at all."""

    def write_stream(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        """Like `write`, for content that is too large for memory."""

    def create(self, name: str, content: bytes) -> bool:
        """Write unless the blob exists; of several writers exactly one gets True."""

    def delete(self, name: str) -> None:
        """Remove a blob; nothing happens when there is none."""

    def entries(self, prefix: str = "") -> list[StoredFile]:
        """Every blob whose name begins with `prefix`, in order of name; temporary ones left out."""

    def local_file(self, name: str) -> AbstractContextManager[str]:
        """A file on this machine with the content, for libraries that take a file name."""

    def hold(self) -> AbstractContextManager[None]:
        """Keep other writers out while the context lasts; `InputError` when another writer works here."""

    def move_aside(self, name: str) -> "Storage":
        """Move everything here to another name, so that this place is empty; `InputError` if that name exists."""

    def siblings(self, prefix: str) -> "Sequence[Storage]":
        """Places beside this one whose names begin with `prefix`."""

    def leftovers(self) -> Iterator[str]:
        """Remove temporary blobs of killed writers; returns their names."""

    def clear(self, own: Callable[[str], bool]) -> list[str]:
        """Move aside folders that have the name of a blob, as `own` recognises them; returns their names."""
