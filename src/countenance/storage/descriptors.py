"""Files below a folder, opened part by part: what a name leads to cannot be exchanged between a check and its use.

Anyone who can write into a folder can replace a file, or a folder on the way to it, by a link at any moment. Each
part of a name is therefore opened within the one before it, and no part may be a link; the rest is done with the
descriptor. Windows has no such calls: there the path is only checked before it is opened.

Files are written in the same way: `way_to` creates the folders, and moves obstacles aside.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from countenance.files import within

_CALLS = {os.open, os.unlink, os.rmdir, os.mkdir, os.stat, os.rename, os.link}
DESCRIPTORS = os.supports_dir_fd >= _CALLS and hasattr(os, "O_NOFOLLOW")
"""Whether this system opens a name within a folder that is open."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""With O_NONBLOCK, opening a pipe in place of a file does not wait."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
IN_THE_WAY = ".in-the-way-"
"""Ending of the new name of something that was in the way of a file."""
TRIES = 8
"""How often entering a folder is tried while another process replaces it."""


@contextmanager
def folder_of(folder: Path, name: str) -> Iterator[tuple[int | None, str]]:
    """The open folder that a file is in, and the file's name in it; on Windows, None and its path.

    `folder` itself may be a link, since the user named it.
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
    """The descriptor of a plain file below a folder, for reading; OSError without it, or with a link in its path.

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


@contextmanager
def way_to(folder: Path, name: str) -> Iterator[int | None]:
    """The open folder for a file that will be written, created if missing, with no obstacle at the file's name.

    A link is removed, whatever its target; a folder with the name of the file, and a file with the name of one of its
    folders, are kept under another name unless they are empty folders. None on Windows.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> (place / "a").mkdir()
    >>> with way_to(place, "a"):
    ...     (place / "a").exists()
    False
    """
    folder.mkdir(parents=True, exist_ok=True)
    *parts, last = name.split("/")
    place, handle = folder, os.open(folder, _FOLDER) if DESCRIPTORS else None
    try:
        for part in parts:
            place = place / part
            below = _entered(place, handle)
            if handle is not None:
                os.close(handle)
            handle = below
        _clear(place / last, handle, stat.S_ISREG)
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _entered(path: Path, parent: int | None) -> int | None:
    """Open a folder within an open one, created if missing."""
    for _ in range(TRIES):
        _clear(path, parent, stat.S_ISDIR)
        with suppress(FileExistsError):
            os.mkdir(within(path, parent), dir_fd=parent)
        if parent is None:
            return None
        try:
            return os.open(path.name, _FOLDER | _NO_LINK, dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
    raise OSError(errno.ELOOP, "another program keeps replacing it", str(path))


def _clear(path: Path, parent: int | None, expected: Callable[[int], bool]) -> None:
    """Move anything aside that is not of the kind expected; links and empty folders are removed."""
    name = within(path, parent)
    with suppress(FileNotFoundError):  # nothing is there, or another process removed it first
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            os.unlink(name, dir_fd=parent)
        elif not expected(mode) and not (stat.S_ISDIR(mode) and _removed(name, parent)):
            aside = f"{name}{IN_THE_WAY}{secrets.token_hex(4)}"
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)


def _removed(name: str, parent: int | None) -> bool:
    """Whether a folder was empty and could be removed."""
    try:
        os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
