"""`files.json`: the hash of every file that was written into a finished run.

Files are checked in the same read that uses them, so that no number on a page, in an audit or in a gate comes from a
file that somebody edited. A stage first takes the files that it replaces off the list and puts them back last, so that
a run that was killed in between is never reported as intact.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from countenance.decoding import json_of
from countenance.errors import InputError, RunError
from countenance.files import to_json
from countenance.storage import Missing, Storage
from countenance.storage.local import LocalStorage

FILES = "files.json"


def digest(content: bytes) -> str:
    """The sha256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


class FileHashes:
    """The list of hashes of a run."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._known: dict[str, str] | None = None
        self._stamp: tuple[int, ...] | None = None
        """The stamp of the file when it was last read or written here; None where files have none."""

    def known(self) -> dict[str, str]:
        """The hash of every file of the run; empty where there is no list."""
        if self._known is None:
            self._stamp = self._current_stamp()
            self._known = self._read()
        return self._known

    def _current_stamp(self) -> tuple[int, ...] | None:
        return self.storage.stamp(FILES) if isinstance(self.storage, LocalStorage) else None

    def _read(self) -> dict[str, str]:
        place = f"{self.storage.place}/{FILES}"
        try:
            listed = json_of(self.storage.read(FILES), place)["files"]
            return {str(name): str(value) for name, value in listed.items()}
        except Missing:
            return {}
        except (InputError, KeyError, TypeError, AttributeError):
            raise RunError(f"{place}: damaged; the same `countenance run` command repairs it") from None

    def write(self, files: Mapping[str, str]) -> None:
        """Replace the list."""
        self.storage.write(FILES, to_json({"files": dict(sorted(files.items()))}).encode())
        self._known, self._stamp = dict(files), self._current_stamp()

    def forget(self) -> None:
        """Read the list again on its next use."""
        self._known = None

    def current(self) -> dict[str, str]:
        """The list as it is now."""
        if self._stamp is None or self._stamp != self._current_stamp():
            self.forget()
        return self.known()

    def check_unlisted(self, name: str, remedy: str) -> None:
        """Refuse a missing file that is on the list."""
        if name in self.current():
            raise RunError(f"{self.storage.place}/{name}: missing; {remedy} (verified=False continues without it)")

    def check(self, name: str, content: bytes, remedy: str) -> None:
        """Refuse content that differs from what was written."""
        self.check_digest(name, lambda: digest(content), remedy)

    def check_digest(self, name: str, compute: Callable[[], str], remedy: str) -> None:
        """Refuse a hash, computed elsewhere, that differs from the list's."""
        content = compute()
        if self.known().get(name) != content:
            self.forget()  # the run may have been written to since the list was read
        place, all_the_same = f"{self.storage.place}/{name}", "(verified=False reads it all the same)"
        if not self.known():
            raise RunError(
                f"{self.storage.place}: the list of hashes ({FILES}) is missing, so nothing says that {name} is what "
                f"was written; the same `countenance run` command repairs it {all_the_same}"
            )
        if name not in self.known():
            raise RunError(
                f"{place}: not on the list of hashes; whatever wrote it was interrupted, or somebody else did; "
                f"{remedy} {all_the_same}"
            )
        if content != self.known()[name]:
            raise RunError(f"{place}: its content is not what was written; {remedy} {all_the_same}")

    @contextmanager
    def replacing(self, names: Iterable[str], seal: Callable[[Iterable[str]], None]) -> Iterator[None]:
        """Take files off the list while the context writes them; then `seal` puts them back."""
        listed, known = self.storage.has(FILES), self.current()
        if listed and any(name in known for name in names):
            self.write({name: value for name, value in known.items() if name not in names})
        yield
        if listed:
            seal(names)
