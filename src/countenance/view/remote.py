"""Runs in an object store: each file is fetched into a temporary folder when a page first needs it.

The folder can be read by its owner alone and is removed when the viewer ends. Thumbnails are kept there, not in the
store; permanent data (saved views, the record of --show-faces) is written to the store.
"""

import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from countenance.run.file_names import MANIFEST
from countenance.scratch import scratch_folder
from countenance.storage import Missing, Storage, StoredFile, open_storage
from countenance.view.scope import DEEPEST, OWN, ScopedStorage, id_of


class Fetched(ScopedStorage):
    """A run at a URL, with a folder on this machine for the files that were needed."""

    def __init__(self, remote: Storage, folder: Path) -> None:
        super().__init__(folder)
        self.remote = remote
        self._listed: dict[str, StoredFile] = {}
        self._fetched: dict[str, StoredFile] = {}
        self._lock = threading.RLock()

    @property
    def place(self) -> str:
        return self.remote.place

    def listed(self, entries: dict[str, StoredFile]) -> None:
        """Record the present content of the store."""
        self._listed = entries

    def path(self, name: str) -> Path:
        """The file of a blob on this machine, fetched if the store has another version."""
        path = super().path(name)  # raises if the name leads out of the folder
        with self._lock:
            entry = self._listed.get(name)
            if entry is not None and self._fetched.get(name) != entry:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(f".{path.name}.part")
                try:
                    with self.remote.local_file(name) as entries:
                        shutil.copyfile(entries, part)
                except Missing:  # removed since the listing
                    path.unlink(missing_ok=True)
                    return path
                part.replace(path)
                self._fetched[name] = entry
        return path

    def has(self, name: str) -> bool:
        return name in self._listed

    def entries(self, prefix: str = "") -> list[StoredFile]:
        return [entry for name, entry in sorted(self._listed.items()) if name.startswith(prefix)]

    def write(self, name: str, content: bytes) -> None:
        self.remote.write(name, content)
        with self._lock:
            self._listed = self._listed | {name: StoredFile(name, len(content), f"written {time.monotonic_ns()}")}

    def stamp(self, name: str) -> Any:
        entry = self._listed.get(name)
        return None if entry is None else (entry.version, entry.size)

    def count(self, folder: str) -> int:
        return sum(1 for name in self._listed if name.startswith(folder))


class Bucket:
    """A prefix of an object store: runs are looked for below it, and saved views are kept in it."""

    fresh = 15.0
    """Seconds for which a listing counts."""

    def __init__(self, url: str) -> None:
        self.remote = open_storage(url)
        self.folder = scratch_folder("view").resolve()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._runs: dict[str, Fetched] = {}
        self.storage = Fetched(self.remote, self.folder / "root")
        self.storage.folder.mkdir()

    def __str__(self) -> str:
        return self.remote.place

    def runs(self) -> Iterator[tuple[str, str, ScopedStorage]]:
        """The id, the name and the storage of every run, from a present listing of the prefix."""
        entries = self.remote.entries()
        self.storage.listed({entry.name: entry for entry in entries if "/" not in entry.name})
        tops = [entry.name.removesuffix(MANIFEST) for entry in entries if _is_manifest(entry.name)]
        tops = [top for top in tops if not _inside(top, tops)]
        for top in tops:
            url = f"{self.remote.place}/{top}".rstrip("/")
            key = id_of(url)
            if key not in self._runs:
                place = self.folder / key
                place.mkdir()
                self._runs[key] = Fetched(open_storage(url), place)
            here = [entry for entry in entries if entry.name.startswith(top)]
            names = [(entry, entry.name.removeprefix(top)) for entry in here]
            self._runs[key].listed({name: StoredFile(name, entry.size, entry.version) for entry, name in names})
            yield key, top.rstrip("/") or url.rpartition("/")[2], self._runs[key]


def _is_manifest(name: str) -> bool:
    return name.rpartition("/")[2] == MANIFEST and name.count("/") <= DEEPEST


def _inside(top: str, tops: list[str]) -> bool:
    """Whether a prefix is a folder inside a run, which holds no other run."""
    return any(
        top != other and top.startswith(other) and top.removeprefix(other).partition("/")[0] in OWN for other in tops
    )
