"""Locks on files. A lock ends with the process that holds it, however that ends, so that no lock can be stale."""

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FAR = 1 << 30
"""The position of the locked byte on Windows, behind all content, because locks are mandatory there."""


def open_lock(path: Path) -> int:
    """The handle of a lock file, created if missing; OSError where the name is a link or a folder.

    A link is refused because following it would create, or write to, a file that somebody else chose.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, flags, 0o600)


def take(handle: int) -> bool:
    """Take the lock of an open file without waiting; False where another process has it.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> first, second = open_lock(path), open_lock(path)
    >>> take(first), take(second)
    (True, False)
    >>> os.close(first), take(second)
    (None, True)
    """
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _take_on_windows(handle)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise  # a file system without locks
    return True


def _take_on_windows(handle: int) -> None:
    import msvcrt

    os.lseek(handle, FAR, os.SEEK_SET)
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
