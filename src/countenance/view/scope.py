"""Limits access to files: runs found below the named folders, and nothing else.

A request never carries a path. It carries the id of a run, which is a hash of the run's canonical path, and ids exist
only for runs that were found. Links are not followed, neither to a run nor inside one.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.run.file_names import ANSWERS, MANIFEST, MANY_SCORES, SHARDS, THUMBNAILS, WORK
from countenance.storage.local import LocalStorage

DEEPEST = 8
"""Folders below a named one that are searched for runs."""
OWN = tuple(name.rstrip("/") for name in (ANSWERS, SHARDS, WORK, MANY_SCORES, THUMBNAILS))
"""Folders that belong to a run and hold no other."""


class ScopedStorage(LocalStorage):
    """The folder of a run, with a stamp that shows changed files."""

    def stamp(self, name: str) -> Any:
        """A stamp that changes with a file: its time and size; None without a file."""
        try:
            state = self.path(name).stat()
        except (OSError, InputError):
            return None
        return state.st_mtime_ns, state.st_size

    def count(self, folder: str) -> int:
        """The number of files in a folder of the run."""
        try:
            return sum(1 for _ in self.path(folder.rstrip("/")).iterdir())
        except (OSError, InputError):
            return 0


class Folder:
    """A named folder: runs are searched below it, and saved views are stored in it."""

    fresh = 2.0
    """Seconds for which a search counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.storage = ScopedStorage(path)

    def __str__(self) -> str:
        return str(self.path)

    def runs(self) -> Iterator[tuple[str, str, ScopedStorage]]:
        """The id, the name and the storage of every run."""
        for path in runs_below(self.path):
            name = self.path.name if path == self.path else path.relative_to(self.path).as_posix()
            yield id_of(path), name, ScopedStorage(path)


def canonical(places: Sequence[Path | str]) -> list[Path]:
    """The named folders as canonical paths; a folder that does not exist is refused."""
    folders = []
    for place in places:
        path = Path(place)
        if not path.exists():
            raise InputError(f"{path}: no such folder; name a run, or a folder with runs in it")
        if not path.is_dir():
            raise InputError(f"{path}: a file; name a run's folder, or a folder with runs in it")
        folders.append(path.resolve())
    return list(dict.fromkeys(folders))


def runs_below(folder: Path) -> Iterator[Path]:
    """The folders of runs at or below a canonical folder, links not followed."""
    for root, folders, files in os.walk(folder, followlinks=False):
        place = Path(root)
        here = MANIFEST in files and not (place / MANIFEST).is_symlink()
        depth = len(place.relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < DEEPEST
            and not name.startswith(".")
            and not (here and name in OWN)
            and not (place / name).is_symlink()
        )
        if here:
            yield place


def id_of(place: Path | str) -> str:
    """The id of a run in addresses: a readable word and a hash of its canonical path, or of its URL.

    >>> id_of(Path("/runs/Mein Lauf"))
    'mein-lauf-cd1a782e1f82'
    """
    word = re.sub(r"[^a-z0-9]+", "-", os.fspath(place).rpartition("/")[2].lower()).strip("-")[:40]
    return f"{word or 'run'}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}"
