"""Opens foreign files: any error of a library becomes one line, and no small file can fill the memory.

Libraries do not say which errors damaged content may raise, and raise others with the next version (`lzma.LZMAError`,
`zlib.error`, `struct.error`, `KeyError`, …). So everything that is raised while a foreign file is decoded is the file's
fault. Only the call into the library stands in such a context: our own mistakes must not be taken for the user's.
"""

import errno
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.errors import DataError, InputError
from countenance.text import kind_of, words_of

MEMORY = 4 << 30
"""Bytes that one table may take; the setting COUNTENANCE_MAX_MEMORY changes it."""
EXPANSION = 64
"""A table may take this many times the size of its file, if that is more than the limit."""
DEEPEST = 100
"""The deepest nesting of lists and objects in a JSON text."""
_HALVES = re.compile(r"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]|[\ud800-\udfff]")
"""How half of a surrogate pair can be written in JSON; complete pairs match too."""
OURS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE, errno.ENFILE)
"""Errors of the machine, which say nothing about the content."""


@contextmanager
def decoding(place: object, what: str, remedy: str = "") -> Iterator[None]:
    """Turn whatever a library raises on the content of a file into one line: `PLACE: not a readable WHAT (…)`.

    >>> with decoding("a.npz", "file of arrays", "; make it again"):
    ...     raise KeyError("arr_0")
    Traceback (most recent call last):
    countenance.errors.InputError: a.npz: not a readable file of arrays (KeyError: 'arr_0'); make it again
    """
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise InputError(
            f"{place}: reading it takes more memory than is allowed; set COUNTENANCE_MAX_MEMORY (bytes) if you trust it"
        ) from None
    except OSError as error:
        if error.errno in OURS:
            raise
        raise InputError(f"{place}: not a readable {what} ({first_line(error)}){remedy}") from error
    except Exception as error:
        raise InputError(f"{place}: not a readable {what} ({first_line(error)}){remedy}") from error


def first_line(error: BaseException) -> str:
    """The text of an exception on one line; with its kind if the text alone is unclear.

    >>> first_line(ValueError("bad magic\\nmore")), first_line(EOFError()), first_line(KeyError("a"))
    ('bad magic', 'EOFError', "KeyError: 'a'")
    >>> first_line(ValueError("could not be opened:\\n- method gz"))
    'could not be opened'
    """
    try:
        text = (getattr(error, "strerror", None) or words_of(error)).strip()
    except Exception:  # converting a library's exception to text may itself fail
        text = ""
    line = text.splitlines()[0][:300].rstrip(":") if text else ""
    if not line:
        return kind_of(error)
    return f"{kind_of(error)}: {line}" if isinstance(error, LookupError) else line


def setting(name: str, usual: int) -> int:
    """A limit in bytes or pixels that the user can set by a variable.

    >>> setting("COUNTENANCE_MAX_EXAMPLE", 7)
    7
    """
    text = os.environ.get(name)
    if text is None:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InputError(f"{name} is {text[:40]!r}, expected a whole number such as {usual}")
    return int(text)


def json_of(content: bytes | str, place: object) -> Any:
    """The value of a JSON text; what is not JSON, or is nested too deeply, is refused by its place.

    >>> json_of("[" * 100_000, "a.json")
    Traceback (most recent call last):
    countenance.errors.InputError: a.json: not JSON (nested too deeply)
    >>> json_of("[" * 300 + "]" * 300, "a.json")
    Traceback (most recent call last):
    countenance.errors.InputError: a.json: not JSON (nested too deeply)
    >>> json_of('["\\\\ud800"]', "a.json")
    Traceback (most recent call last):
    countenance.errors.InputError: a.json: not JSON (half a character, which cannot be stored)
    """
    try:
        value = json.loads(content)
        if _HALVES.search(content if isinstance(content, str) else content.decode("latin-1")):
            json.dumps(value, ensure_ascii=False).encode()
        if _is_deep(value):
            raise RecursionError
        return value
    except UnicodeEncodeError:
        raise InputError(f"{place}: not JSON (half a character, which cannot be stored)") from None
    except RecursionError:
        raise InputError(f"{place}: not JSON (nested too deeply)") from None
    except ValueError as error:
        raise InputError(f"{place}: not JSON ({first_line(error)})") from None


def _is_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than in our files: the code that reads them is recursive."""
    level = [value]
    for _ in range(DEEPEST):
        parts = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def regular_file(path: Path | str) -> Path:
    """The path of a file; anything else (a folder, a pipe, which would block) is refused.

    >>> regular_file("/")
    Traceback (most recent call last):
    countenance.errors.InputError: /: a folder, expected a file
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        raise InputError(f"{file}: {'a folder, expected a file' if file.is_dir() else 'not a regular file'}")
    return file


def file_content(path: Path, missing: str = "no such file") -> bytes:
    """The content of a file of somebody's data; a DataError names it where it is not there or cannot be read.

    >>> file_content(Path("nowhere/labels.csv"))
    Traceback (most recent call last):
    countenance.errors.DataError: nowhere/labels.csv: no such file
    """
    try:
        return regular_file(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: {missing}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def open_parquet(source: Any, place: object, remedy: str = "", *, pre_buffer: bool = False) -> Any:
    """A Parquet file (a path, or an Arrow buffer or file) that can be read in parts."""
    import pyarrow.parquet as pq

    source = regular_file(source) if isinstance(source, str | Path) else source
    with decoding(place, "Parquet file", remedy):
        return pq.ParquetFile(source, pre_buffer=pre_buffer)


def read_parquet(source: Any, place: object, columns: Sequence[str] | None = None, remedy: str = "") -> Any:
    """The whole of a Parquet file as an Arrow table, or the columns named that it has; it must fit into memory.

    A file of a few bytes can claim billions of rows, and a text stored once may repeat in each of them.
    """
    file, most = open_parquet(source, place, remedy), most_memory(source)
    with decoding(place, "Parquet file", remedy), limited_memory(most):
        known = file.schema_arrow.names
        names = known if columns is None else [name for name in columns if name in known]
        rows = file.metadata.num_rows
        if rows < 0 or rows * len(names) * 8 > most:
            raise InputError(
                f"{place}: {rows:,} rows of {len(names)} columns are more than a file of its size may take in memory; "
                "set COUNTENANCE_MAX_MEMORY (bytes) if you trust it"
            )
        return file.read(names)


def most_memory(source: Any) -> int:
    """Bytes that the content of a file may take in memory."""
    if isinstance(source, str | Path):
        size = Path(source).stat().st_size
    else:
        size = source.size() if callable(source.size) else source.size
    return max(setting("COUNTENANCE_MAX_MEMORY", MEMORY), EXPANSION * size)


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """Let this process take at most this many further bytes while the context lasts (Linux); MemoryError beyond that.

    A text stored once may repeat in each row, so the size of a table is known only when it is decoded. Where several
    contexts are open at once, in threads or in generators, the largest limit holds for all of them.
    """
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    limit = _Limit(used + more)
    with _limiting:
        if not _limits:
            _before[:] = resource.getrlimit(resource.RLIMIT_AS)
        _limits.append(limit)
        _apply_limits(resource)
    try:
        yield
    finally:
        with _limiting:
            _limits.remove(limit)
            _apply_limits(resource)


@dataclass(eq=False)
class _Limit:
    """The limit of one context."""

    most: int


_limits: list[_Limit] = []
_before: list[int] = []
_limiting = threading.Lock()


def _apply_limits(resource: Any) -> None:
    """Set the largest limit of the open contexts, or restore the limit from before all of them."""
    soft, hard = _before
    largest = max((limit.most for limit in _limits), default=soft)
    bounds = [limit for limit in (largest, soft, hard) if limit != resource.RLIM_INFINITY]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds, default=soft), hard))
