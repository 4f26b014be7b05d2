"""Files below a folder, opened part by part: what a name leads to cannot be exchanged between a check and its use.

Whoever can write into a folder can put a link in place of a file, or of a folder on the way to it, at any moment. Each
part of a name is therefore opened within the one before it, and no part may be a link; the rest is done with the
descriptor. Windows has no such calls: there a look at the path before it is opened has to do.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
