"""Writes files whole or not at all; the only atomic writer of the package.

The content goes to a temporary file in the same folder, is flushed to disk, and takes the name in one step. A reader
sees the old file or the new one, and a crash of the machine leaves one of the two. What a killed process had not
finished is removed by the next start (`countenance.scratch`).
"""

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from json import dumps  # bound here: a model may replace that of the module
from pathlib import Path
from typing import Any, BinaryIO

from countenance.errors import InputError
from countenance.scratch import unfinished
from countenance.text import redacted

PART = ".part"
"""The ending of temporary files; the name begins with a dot, so that no pattern for data files matches it."""
LONGEST = 200
"""Bytes of a target's name that its temporary file takes over; a file system allows 255 bytes in all."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a temporary file beside `path`, then put it in place.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_atomically(target, lambda part: part.write_text("whole"))
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('whole', ['a.txt'])
    """
    _write(path, write, _replace)


def write_within(path: Path, write: Callable[[BinaryIO], object], *, parent: int | None, durable: bool = True) -> None:
    """Write a file in an open folder (`parent`), so that a changed path cannot lead elsewhere.

    `parent` is None where the system cannot do that. Without `durable` the file is whole too, but not flushed to disk,
    since it can be recomputed.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_within(target, lambda stream: stream.write(b"whole"), parent=None)
    >>> target.read_text()
    'whole'
    """
    _write(path, _filling(write, parent), _replace, parent, durable=durable)


def create_atomically(path: Path, content: bytes, *, mode: int = 0o666, parent: int | None = None) -> bool:
    """Write a file unless it exists; of several writers exactly one gets True. `mode`: who may read and write it.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "marker"
    >>> create_atomically(target, b"first"), create_atomically(target, b"second"), target.read_bytes()
    (True, False, b'first')
    """
    try:
        _write(path, _filling(lambda stream: stream.write(content), parent, mode), _link, parent)
    except FileExistsError:
        return False
    return True


def within(path: Path, parent: int | None) -> str:
    """The name that a system call takes for a file: its name where its folder is open, else its path.

    >>> within(Path("run/a.txt"), 7), within(Path("a.txt"), None)
    ('a.txt', 'a.txt')
    """
    return str(path) if parent is None else path.name


def exists(path: str | Path) -> bool:
    """Whether there is something at a path; a text that cannot be a path (such as too long a name) gives False.

    >>> exists("."), exists("people:portraits?" + "a" * 300)
    (True, False)
    """
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def named(path: Path) -> Path:
    """The path of a file to write; a path without a name, as an empty option gives, is refused.

    >>> named(Path(""))
    Traceback (most recent call last):
    countenance.errors.InputError: '.': a folder, expected the name of a file
    """
    if not path.name:
        raise InputError(f"'{path}': a folder, expected the name of a file")
    return path


def _write(
    path: Path,
    write: Callable[[Path], object],
    place: Callable[[Path, Path, int | None], object],
    parent: int | None = None,
    *,
    durable: bool = True,
) -> None:
    if parent is None:
        named(path).parent.mkdir(parents=True, exist_ok=True)
    start = path.name.encode("utf-8", "surrogateescape")[:LONGEST].decode("utf-8", "ignore")
    temporary = path.with_name(f".{start}.{secrets.token_hex(4)}{PART}")
    with unfinished(temporary):
        try:
            write(temporary)
            if durable:
                _sync(temporary, parent)
            place(temporary, path, parent)
            if durable:
                sync_folder(path.parent, parent)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(within(temporary, parent), dir_fd=parent)
            if isinstance(error, OSError) and error.filename in (None, str(temporary), temporary.name):
                raise _error_at(error, path) from None  # the user knows the target, not the temporary name
            raise


def _filling(write: Callable[[BinaryIO], object], parent: int | None, mode: int = 0o666) -> Callable[[Path], object]:
    """A function that creates a new file (it never opens an existing one) and lets `write` fill it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

    def fill(part: Path) -> None:
        with os.fdopen(os.open(within(part, parent), flags, mode, dir_fd=parent), "wb") as stream:
            write(stream)

    return fill


def _replace(part: Path, target: Path, parent: int | None) -> None:
    os.replace(within(part, parent), within(target, parent), src_dir_fd=parent, dst_dir_fd=parent)


def _link(part: Path, target: Path, parent: int | None) -> None:
    """Give a file a name that nothing has yet."""
    as_it_is: dict[str, bool] = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
    os.link(within(part, parent), within(target, parent), src_dir_fd=parent, dst_dir_fd=parent, **as_it_is)
    os.unlink(within(part, parent), dir_fd=parent)


def _sync(path: Path, parent: int | None) -> None:
    """Flush a file to disk."""
    flags = os.O_RDWR if os.name == "nt" else os.O_RDONLY  # Windows flushes only files that are open for writing
    handle = os.open(within(path, parent), flags | _NO_LINK, dir_fd=parent)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _error_at(error: OSError, path: Path) -> OSError:
    """The same error with the name of the file; a library may leave out both this name and the error number."""
    text = str(error)
    full = "No space left on device" in text or "errno 28" in text
    return OSError(error.errno or (errno.ENOSPC if full else None), error.strerror or text, str(path))


def explained(error: OSError) -> str:
    """One line on what went wrong with a file, and for a full disk what to do.

    >>> explained(OSError(errno.ENOSPC, "No space left on device", "run/scores.parquet"))
    'run/scores.parquet: No space left on device; free some there, then the same command resumes'
    """
    place = f"{error.filename}: " if error.filename else ""
    text = f"{place}{error.strerror or error}"
    if error.errno == errno.ENOSPC or (error.errno is None and "No space left on device" in text):
        return f"{text}; free some there, then the same command resumes"
    if error.errno == errno.EDQUOT:
        return f"{text}; make room within the quota, then the same command resumes"
    return text


def sync_folder(folder: Path, handle: int | None = None) -> None:
    """Flush a folder's list of names to disk, where the file system can; `handle` where it is open."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY) if handle is None else handle
    try:
        with contextlib.suppress(OSError):  # some network file systems do not support it
            os.fsync(opened)
    finally:
        if handle is None:
            os.close(opened)


@contextlib.contextmanager
def staged(out: Path, *, replace: bool = False) -> Iterator[Path]:
    """A new folder that takes the name `out` on success, and is removed otherwise.

    A folder of that name is refused, unless it is empty or `replace` is set.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "made"
    >>> with staged(target) as folder:
    ...     (folder / "a.txt").write_text("whole") and None
    >>> (target / "a.txt").read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    if out.exists() and not replace and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out}: exists already; name a folder that does not")
    out.parent.mkdir(parents=True, exist_ok=True)
    holder = out.with_name(f".{out.name}-{secrets.token_hex(4)}")
    with unfinished(holder):
        holder.mkdir(mode=0o700)
        try:
            (holder / "made").mkdir()
            yield holder / "made"
            if out.exists():
                out.rename(holder / "old")
            (holder / "made").rename(out)
        except OSError as error:  # name the target instead of a temporary file, or if no file is named
            if isinstance(error.filename, str) and not Path(error.filename).is_relative_to(holder):
                raise
            inside = Path(error.filename or holder).relative_to(holder).parts[1:]
            raise _error_at(error, out.joinpath(*inside)) from None
        finally:
            shutil.rmtree(holder, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all, without credentials."""
    write_atomically(path, lambda part: part.write_text(redacted(text), encoding="utf-8", newline=""))


def write_json(path: Path, content: Any) -> None:
    """Write JSON, whole or not at all; numbers that are not finite become null."""
    text = to_json(content)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8", newline=""))


def to_json(content: Any) -> str:
    """Readable JSON; numbers that are not finite become null, since JSON has no word for them; no credentials.

    >>> to_json({"a": float("nan"), "b": (1, 2)})
    '{\\n  "a": null,\\n  "b": [\\n    1,\\n    2\\n  ]\\n}\\n'
    """
    return redacted(dumps(finite(content), indent=2, ensure_ascii=False, default=_plain)) + "\n"


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's; other values as text."""
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    return str(value)


def finite(value: Any) -> Any:
    """The same value, with None for every float that is not finite."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
