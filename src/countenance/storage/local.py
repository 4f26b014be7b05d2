"""A run on a disk. The only storage that locks and renames folders."""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from countenance.errors import InputError
from countenance.files import PART, create_atomically, sync_folder, write_within
from countenance.locks import open_lock, take
from countenance.storage.base import Missing, Storage, StoredFile, checked_name
from countenance.storage.descriptors import folder_of, open_below, way_to

LOCK = ".lock"
TEMPORARY = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(PART)}", re.DOTALL)
"""Names that `countenance.files` gives to unfinished files; a user's `.notes.part` is an ordinary file."""
NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""Errors of opening what is not a plain file: missing, below a file or link, a folder, a link, a socket."""


BY_NUMBER = "/dev/fd"
"""Where Linux and macOS show the open files of a process, so that a library can open one of them."""


class LocalStorage:
    """Blobs as files below a folder.

    >>> import tempfile
    >>> place = LocalStorage(Path(tempfile.mkdtemp()))
    >>> place.write("a/b.txt", b"content")
    >>> place.read("a/b.txt"), [entry.name for entry in place.entries()]
    (b'content', ['a/b.txt'])
    """

    guarded = False
    """False: files of a folder can be changed from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"LocalStorage({str(self.folder)!r})"

    @property
    def place(self) -> str:
        return str(self.folder)

    def path(self, name: str) -> Path:
        """The file of a blob. A name that leads out of the folder is refused, and links below it are not followed."""
        path = self.folder / checked_name(name, self.place)
        for part in (path, *path.parents):
            if part == self.folder:
                return path
            if part.is_symlink():
                raise InputError(f"{part}: a link, which is not followed in a run; put the file itself there")
        raise AssertionError(name)

    def _opened(self, name: str) -> int:
        """The descriptor of a blob; all reads use it, since the name may change its target."""
        self.path(name)
        try:
            return open_below(self.folder, name)
        except OSError as error:
            if error.errno in NOTHING_THERE:
                raise Missing(f"{self.folder}/{name}") from None
            raise OSError(error.errno, error.strerror, str(self.folder / name)) from None

    def read(self, name: str) -> bytes:
        with os.fdopen(self._opened(name), "rb") as stream:
            return stream.read()

    def stamp(self, name: str) -> tuple[int, ...] | None:
        """A stamp that changes when a file is replaced (every write here makes a new file); None without a file."""
        try:
            status = self.path(name).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def open(self, name: str) -> Any:
        import pyarrow as pa

        handle = self._opened(name)
        try:
            return pa.OSFile(f"{BY_NUMBER}/{handle}" if Path(BY_NUMBER).is_dir() else str(self.path(name)))
        finally:
            os.close(handle)

    def has(self, name: str) -> bool:
        try:
            return self.path(name).is_file()
        except InputError:
            return False

    @contextmanager
    def _way(self, name: str) -> Iterator[tuple[Path, int | None]]:
        """The path of a blob to be written, and its open folder, without obstacles at the blob's name."""
        path = self.folder / checked_name(name, self.place)
        try:
            with way_to(self.folder, name) as parent:
                yield path, parent
        except OSError as error:
            if error.filename is None or Path(error.filename).is_absolute() or str(path) in str(error.filename):
                raise
            raise OSError(error.errno, error.strerror, str(path)) from None  # the name within its folder

    def write(self, name: str, content: bytes) -> None:
        self.write_stream(name, lambda stream: stream.write(content))

    def keep(self, name: str, content: bytes) -> None:
        """Write a file that can be recomputed: whole or not at all, without waiting for the disk."""
        with self._way(name) as (path, parent):
            write_within(path, lambda stream: stream.write(content), parent=parent, durable=False)

    def write_stream(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        with self._way(name) as (path, parent):
            write_within(path, write, parent=parent)

    def create(self, name: str, content: bytes) -> bool:
        with self._way(name) as (path, parent):
            return create_atomically(path, content, parent=parent)

    def delete(self, name: str) -> None:
        path = self.folder / checked_name(name, self.place)
        if not path.is_symlink():  # the link itself can be removed, whatever its target
            path = self.path(name)
        try:
            with folder_of(self.folder, name) as (parent, last):
                os.unlink(last, dir_fd=parent)
                with contextlib.suppress(OSError):
                    sync_folder(path.parent, parent)
        except OSError as error:
            if error.errno in NOTHING_THERE or (isinstance(error, PermissionError) and path.is_dir()):  # macOS says so
                return
            raise OSError(error.errno, error.strerror, str(path)) from None
        with contextlib.suppress(OSError):  # a folder that is not empty stays
            for folder in path.relative_to(self.folder).parents[:-1]:
                with folder_of(self.folder, folder.as_posix()) as (parent, last):
                    os.rmdir(last, dir_fd=parent)

    def entries(self, prefix: str = "") -> list[StoredFile]:
        files = []
        try:
            start = self.path(prefix.rstrip("/")) if prefix.endswith("/") else self.folder
        except InputError:  # a link, which is not followed
            return []
        for path in _files(start):
            name = path.relative_to(self.folder).as_posix()
            if name.startswith(prefix) and not _temporary(path) and name != LOCK:
                with contextlib.suppress(FileNotFoundError):  # removed since the folder was listed
                    state = path.lstat()
                    if stat.S_ISREG(state.st_mode):
                        files.append(StoredFile(name, state.st_size))
        return sorted(files, key=lambda entry: entry.name)

    @contextmanager
    def local_file(self, name: str) -> Iterator[str]:
        if not self.path(name).is_file():
            raise Missing(f"{self.folder}/{name}")
        yield str(self.path(name))

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock, which ends with the process, however that ends, so that no lock can be stale."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(
                f"{self.folder}: a file (or a link to nothing) is in the way, expected a folder; name another"
            ) from None
        try:
            if (self.folder / LOCK).is_dir() and not (self.folder / LOCK).is_symlink():
                with self._way(LOCK):
                    pass
            handle = open_lock(self.folder / LOCK)
        except OSError as error:
            raise InputError(
                f"{self.folder / LOCK}: cannot be opened as a lock ({error.strerror}); it must be a plain file in a "
                "folder that can be written to"
            ) from error
        try:
            if not self._take(handle):
                raise InputError(f"{self.folder}: another run is writing here; wait for it or name another folder")
            yield
        finally:
            os.close(handle)

    def _take(self, handle: int) -> bool:
        try:
            return take(handle)
        except OSError as error:
            raise InputError(
                f"{self.folder}: the file system has no locks ({error.strerror}), so two runs could write here at "
                "once; name a folder on another one"
            ) from error

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
        folders = [path for path in parent.iterdir() if path.name.startswith(prefix) and path.is_dir()]
        folders = [path for path in folders if not path.is_symlink()]
        return [LocalStorage(path) for path in sorted(folders) if path != self.folder.absolute()]

    def leftovers(self) -> Iterator[str]:
        for path in list(_files(self.folder)):
            if _temporary(path):
                name = path.relative_to(self.folder).as_posix()
                with contextlib.suppress(FileNotFoundError), folder_of(self.folder, name) as (parent, last):
                    os.unlink(last, dir_fd=parent)
                yield name

    def clear(self, own: Callable[[str], bool]) -> list[str]:
        moved = []
        for root, folders, _ in os.walk(self.folder, followlinks=False):
            place = Path(root).relative_to(self.folder)
            names = [(place / folder).as_posix() for folder in sorted(folders)]
            for name in filter(own, names):
                with self._way(name):
                    moved.append(name)
            folders[:] = [Path(name).name for name in names if not own(name)]
        return moved


def _files(folder: Path) -> Iterator[Path]:
    """Plain files below a folder; links are not followed, since they may lead out of the run."""
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not (Path(root) / name).is_symlink())
        for name in names:
            path = Path(root) / name
            if not path.is_symlink():
                yield path


def _temporary(path: Path) -> bool:
    return TEMPORARY.fullmatch(path.name) is not None
