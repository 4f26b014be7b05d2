"""Temporary files of one process, in one private folder that a lock holds.

Unpacked pictures, people's truth, database files: none may outlive the process, however it ends. A process that is
killed cannot clean up, but its lock is then free, so the next start of any command removes its folder (`sweep`). Files
that are being written elsewhere (`.name.part` beside their target) are noted in the folder while they are unfinished,
and are removed with it.
"""

import atexit
import contextlib
import io
import os
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from countenance.locks import open_lock, take

LOCK = ".lock"
UNFINISHED = "unfinished"
"""The folder of notes: each is a file that holds the path of a file or folder that is being made elsewhere."""


@dataclass(frozen=True)
class Swept:
    """The result of a sweep: folders of processes that ended (removed), and folders of running processes."""

    removed: int = 0
    files: int = 0
    """Unfinished files elsewhere that were removed."""
    at_work: int = 0


@dataclass
class _Private:
    """The folder of one process and the lock that holds it."""

    process: int
    folder: Path
    lock: int


_own: _Private | None = None
_making = threading.Lock()
_swept = Swept()


def swept() -> Swept:
    """The folders and files that this process has removed so far."""
    return _swept


def root() -> Path:
    """The folder that holds the folders of all processes of this user."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(tempfile.gettempdir()) / f"countenance-{user}"


def scratch_folder(what: str) -> Path:
    """A new empty folder in the private folder of this process; it is removed when the process ends.

    >>> folder = scratch_folder("example")
    >>> folder.is_dir(), folder.is_relative_to(root())
    (True, True)
    """
    return Path(tempfile.mkdtemp(prefix=f"{what}-", dir=_process_folder()))


@contextmanager
def temporary_folder(what: str) -> Iterator[Path]:
    """A folder that exists while the context lasts."""
    folder = scratch_folder(what)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def temporary_file() -> io.BufferedRandom:
    """A file without a name, removed when it is closed."""
    return tempfile.TemporaryFile(dir=_process_folder())


@contextmanager
def named_file(suffix: str = "") -> Iterator[BinaryIO]:
    """A file that exists while the context lasts, for libraries that take a name."""
    with temporary_folder("file") as place, (place / f"content{suffix}").open("w+b") as stream:
        yield stream


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Record a file or folder as unfinished while the context lasts, so that it is removed if the process is killed."""
    note = None
    with contextlib.suppress(OSError):  # a full temporary folder must not prevent writing elsewhere
        notes = _process_folder() / UNFINISHED
        notes.mkdir(exist_ok=True)
        note = notes / secrets.token_hex(8)
        note.write_text(os.path.abspath(path), encoding="utf-8", errors="surrogateescape")  # noqa: PTH100
    try:
        yield
    finally:
        if note is not None:
            with contextlib.suppress(OSError):
                note.unlink()


def sweep() -> Swept:
    """Remove the folders of killed processes, and the files that they had not finished."""
    global _swept
    removed = files = at_work = 0
    own = None if _own is None or _own.process != os.getpid() else _own.folder.name
    for lock in sorted(root().glob(f"*{LOCK}")) if is_private(root()) else ():
        name = lock.name.removesuffix(LOCK)
        if name == own:
            at_work += 1
            continue
        with contextlib.suppress(OSError):
            handle = open_lock(lock)
            try:
                if take(handle):
                    files += _remove_left(lock.with_name(name))
                    lock.unlink()
                    removed += 1
                else:
                    at_work += 1
            finally:
                os.close(handle)
    _swept = Swept(_swept.removed + removed, _swept.files + files, at_work)
    return Swept(removed, files, at_work)


def _remove_left(left: Path) -> int:
    """Remove the folder of a process that ended, and the unfinished files that it noted; returns their number."""
    count = 0
    notes = left / UNFINISHED
    for note in sorted(notes.iterdir()) if notes.is_dir() else ():
        with contextlib.suppress(OSError, ValueError):
            path = Path(note.read_text(encoding="utf-8", errors="surrogateescape"))
            if not path.name.startswith("."):
                continue  # what is unfinished has a name that begins with a dot
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            count += 1
    shutil.rmtree(left, ignore_errors=True)
    return count


def _process_folder() -> Path:
    """The folder of this process; a process that was forked gets its own."""
    global _own
    with _making:
        if _own is None or _own.process != os.getpid():
            _own = _make()
            atexit.register(_end, _own)
        return _own.folder


def _make() -> _Private:
    """Make the lock before the folder, so that no folder is ever without one."""
    place = root()
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700)
    if not is_private(place):  # another user owns the folder and could read our temporary files
        place = Path(tempfile.mkdtemp(prefix="countenance-"))
    while True:
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        lock = place / f"{name}{LOCK}"
        handle = open_lock(lock)
        if _taken(handle) and lock.exists():  # another process may have swept it meanwhile
            (place / name).mkdir(mode=0o700)
            return _Private(os.getpid(), place / name, handle)
        os.close(handle)


def _taken(handle: int) -> bool:
    """Whether this process has the lock, or the file system has no locks."""
    try:
        return take(handle)
    except OSError:
        return True


def is_private(place: Path) -> bool:
    """Whether a folder is accessible to this user alone; on Windows temporary folders are."""
    try:
        state = place.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode):
        return False
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & 0o077)


def _end(private: _Private) -> None:
    """Remove the folder of this process, and files that its workers left."""
    if private.process != os.getpid():
        return  # a process that was forked from the one that made it
    shutil.rmtree(private.folder, ignore_errors=True)
    lock = private.folder.with_name(f"{private.folder.name}{LOCK}")
    with contextlib.suppress(OSError):
        os.close(private.lock)
        lock.unlink()
    with contextlib.suppress(OSError):
        sweep()
