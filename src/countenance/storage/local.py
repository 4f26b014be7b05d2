"""A run on a disk. The only file of the package that locks and renames folders.

Whoever can write into a folder can put a link in place of a file, or of a folder on the way to it, at any moment. Each
part of a name is therefore opened within the one before it (`folder_of`), and no part may be a link; the rest is done
with the descriptor. Windows has no such calls: there a look at the path before it is opened has to do.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from countenance.errors import InputError
from countenance.files import PART, create_atomically, sync_folder, write_atomically
from countenance.locks import open_lock, take
from countenance.storage.base import Missing, Storage, StoredFile, checked_name

LOCK = ".lock"
TEMPORARY = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(PART)}", re.DOTALL)
"""Names as `countenance.files` gives them to what is not finished; a `.notes.part` of a user is a file like others."""
IN_THE_WAY = ".in-the-way-"
"""What the name gets of something that was in the way of a file."""


NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""What opening says where there is no plain file: nothing, a file or a link on the way, a folder, a link, a socket."""


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
    """Anybody can change a file."""

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
        """The descriptor of a blob; everything is read from it, since the name may lead elsewhere a moment later."""
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
        """What tells a file from the one that was there before (every write here makes a new file); None: no file."""
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

    def _free(self, name: str) -> Path:
        """The file of a blob that is about to be written, with nothing in its way.

        A link goes, whatever it leads to; a folder with the name of the file, and a file with the name of one of its
        folders, are kept under another name.
        """
        path = self.folder / checked_name(name, self.place)
        for part in (path, *path.parents):
            if part == self.folder:
                break
            if part.is_symlink():
                part.unlink()
            elif part.exists() and not (part.is_file() if part == path else part.is_dir()):
                part.rename(part.with_name(f"{part.name}{IN_THE_WAY}{secrets.token_hex(4)}"))
        return path

    def write(self, name: str, content: bytes) -> None:
        write_atomically(self._free(name), lambda part: part.write_bytes(content))

    def write_stream(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        def to_file(part: Path) -> None:
            with part.open("wb") as stream:
                write(stream)

        write_atomically(self._free(name), to_file)

    def create(self, name: str, content: bytes) -> bool:
        return create_atomically(self._free(name), content)

    def delete(self, name: str) -> None:
        path = self.folder / checked_name(name, self.place)
        if not path.is_symlink():  # a link itself can go, whatever it leads to
            path = self.path(name)
        try:
            with folder_of(self.folder, name) as (parent, last):
                os.unlink(last, dir_fd=parent)
        except OSError as error:
            if error.errno in NOTHING_THERE or (isinstance(error, PermissionError) and path.is_dir()):  # macOS says so
                return
            raise OSError(error.errno, error.strerror, str(path)) from None
        with contextlib.suppress(OSError):  # a folder that is not empty stays
            sync_folder(path.parent)
            for folder in path.relative_to(self.folder).parents[:-1]:
                (self.folder / folder).rmdir()

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
                    state = path.stat()
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
        """The lock ends with the process, however that ends, so a stale lock cannot exist."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(
                f"{self.folder}: a file (or a link to nothing) is in the way, expected a folder; name another"
            ) from None
        try:
            if (self.folder / LOCK).is_dir() and not (self.folder / LOCK).is_symlink():
                self._free(LOCK)
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
    return TEMPORARY.fullmatch(path.name) is not None


DESCRIPTORS = {os.open, os.unlink, os.rmdir} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system opens a name within a folder that is open."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""A pipe in place of a file must not be waited for."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def folder_of(folder: Path, name: str) -> Iterator[tuple[int | None, str]]:
    """The open folder that a file is in, and the file's name in it; where there are no such calls, None and its path.

    `folder` itself may be a link: it is what the user named.
    """
    if not DESCRIPTORS:
        yield None, str(folder / name)
        return
    *parts, last = name.split("/")
    handle = os.open(folder, _FOLDER)
    try:
        for part in parts:
            below = os.open(part, _FOLDER | _NO_LINK, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle, last
    finally:
        os.close(handle)


def open_below(folder: Path, name: str) -> int:
    """The descriptor of a plain file below a folder, to be read; OSError where there is none, or a link on the way.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "a").write_text("content")
    >>> with os.fdopen(open_below(place, "a")) as stream:
    ...     stream.read()
    'content'
    """
    with folder_of(folder, name) as (parent, last):
        handle = os.open(last, _FILE | _NO_LINK, dir_fd=parent)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise FileNotFoundError(errno.ENOENT, "no plain file", str(folder / name))
