"""A run on a disk. The only file of the package that locks and renames folders."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from countenance.errors import InputError
from countenance.files import PART, create_atomically, sync_folder, write_atomically
from countenance.storage.base import Missing, Storage, StoredFile

LOCK = ".lock"


class LocalStorage:
    """Blobs as files below a folder.

    >>> import tempfile
    >>> place = LocalStorage(Path(tempfile.mkdtemp()))
    >>> place.write("a/b.txt", b"content")
    >>> place.read("a/b.txt"), [entry.name for entry in place.entries()]
    (b'content', ['a/b.txt'])
    """

    guarded = False
    """Anybody can change a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"LocalStorage({str(self.folder)!r})"

    @property
    def place(self) -> str:
        return str(self.folder)

    def path(self, name: str) -> Path:
        """The file of a blob."""
        return self.folder / name

    def read(self, name: str) -> bytes:
        try:
            return self.path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise Missing(f"{self.folder}/{name}") from None

    def open(self, name: str) -> Any:
        import pyarrow as pa

        if not self.path(name).is_file():
            raise Missing(f"{self.folder}/{name}")
        return pa.OSFile(str(self.path(name)))

    def has(self, name: str) -> bool:
        return self.path(name).is_file() and not self.path(name).is_symlink()

    def write(self, name: str, content: bytes) -> None:
        write_atomically(self.path(name), lambda part: part.write_bytes(content))

    def write_stream(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        def to_file(part: Path) -> None:
            with part.open("wb") as stream:
                write(stream)

        write_atomically(self.path(name), to_file)

    def create(self, name: str, content: bytes) -> bool:
        return create_atomically(self.path(name), content)

    def delete(self, name: str) -> None:
        path = self.path(name)
        try:
            path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return
        sync_folder(path.parent)
        with contextlib.suppress(OSError):  # a folder that is not empty stays
            for folder in path.relative_to(self.folder).parents[:-1]:
                (self.folder / folder).rmdir()

    def entries(self, prefix: str = "") -> list[StoredFile]:
        found = []
        start = self.folder / prefix if prefix.endswith("/") else self.folder
        for path in _files(start):
            name = path.relative_to(self.folder).as_posix()
            if name.startswith(prefix) and not _temporary(path) and name != LOCK:
                with contextlib.suppress(FileNotFoundError):  # removed since the folder was listed
                    found.append(StoredFile(name, path.stat().st_size))
        return sorted(found, key=lambda entry: entry.name)

    @contextmanager
    def local_file(self, name: str) -> Iterator[str]:
        if not self.path(name).is_file():
            raise Missing(f"{self.folder}/{name}")
        yield str(self.path(name))

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The lock ends with the process, however that ends, so a stale lock cannot exist."""
        import fcntl

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(
                f"{self.folder}: a file (or a link to nothing) is in the way, expected a folder; name another"
            ) from None
        # The name may be a link that somebody put there; following it would overwrite the file it points to.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self.folder / LOCK, flags, 0o644)
        except OSError as error:
            raise InputError(
                f"{self.folder / LOCK}: cannot be opened as a lock ({error.strerror}); it must be a plain file"
            ) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{self.folder}: another run is writing here; wait for it or name another folder"
                ) from None
            yield
        finally:
            os.close(handle)

    def move_aside(self, name: str) -> Storage:
        target = self.folder.with_name(name)
        if target.exists():
            raise InputError(f"{self.folder}: holds another run, and {target} is taken; name another folder")
        with self.hold():
            self.folder.rename(target)
            sync_folder(target.parent)
        return LocalStorage(target)

    def siblings(self, prefix: str) -> Sequence[Storage]:
        parent = self.folder.absolute().parent
        if not parent.is_dir():
            return []
        found = [path for path in parent.iterdir() if path.name.startswith(prefix) and path.is_dir()]
        return [LocalStorage(path) for path in sorted(found) if path != self.folder.absolute()]

    def leftovers(self) -> Iterator[str]:
        for path in list(_files(self.folder)):
            if _temporary(path):
                path.unlink(missing_ok=True)
                yield path.relative_to(self.folder).as_posix()


def _files(folder: Path) -> Iterator[Path]:
    """Plain files below a folder; links are not followed, since they may lead out of the run."""
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not (Path(root) / name).is_symlink())
        for name in names:
            path = Path(root) / name
            if not path.is_symlink():
                yield path


def _temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(PART)
