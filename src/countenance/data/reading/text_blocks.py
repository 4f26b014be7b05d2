"""Text files of any size, plain or gzipped, as blocks of whole lines."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from countenance.data.paths import Unpacking
from countenance.decoding import regular_file
from countenance.errors import DataError, InputError

BLOCK = 4 * 2**20
LONGEST_LINE = 64 * 2**20


class Digest(Protocol):
    """What `hashlib.sha256()` makes."""

    def update(self, data: bytes, /) -> None:
        """Add bytes."""


class _Hashed:
    """A stream whose bytes are hashed while they are read."""

    def __init__(self, stream: BinaryIO, digest: Digest | None) -> None:
        self.stream, self.digest = stream, digest

    def read(self, size: int = -1) -> bytes:
        block = self.stream.read(size)
        if self.digest is not None:
            self.digest.update(block)
        return block


def blocks(path: Path, size: int = BLOCK, digest: Digest | None = None) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines with the number of their first line; every line ends in a single newline.

    A byte-order mark is dropped, Windows and old Macintosh line ends become newlines, gzip is recognised by its first
    bytes. Anything but UTF-8 text is refused with its line. `digest` receives the file's unchanged bytes.
    """
    try:
        with ExitStack() as opened:
            file = opened.enter_context(regular_file(path).open("rb"))
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            raw: Any = _Hashed(file, digest)
            stream = opened.enter_context(gzip.open(raw)) if zipped else raw
            line, rest, first, unpacked = 1, b"", True, Unpacking(path)
            while True:
                read = stream.read(size)
                if zipped:
                    unpacked.add(len(read))
                if first:
                    read, first = read.removeprefix(b"\xef\xbb\xbf"), False
                block = rest + read
                if not read:
                    break
                cut = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
                block, rest = block[:cut], block[cut:]
                if len(rest) > LONGEST_LINE:
                    number = line + _with_newlines(block).count(b"\n")
                    raise DataError(f"{path} line {number}: longer than {LONGEST_LINE:,} bytes; not a text table")
                if block:
                    yield line, (block := _checked(block, path, line))
                    line += block.count(b"\n")
            if block:
                yield line, _checked(block if block.endswith((b"\n", b"\r")) else block + b"\n", path, line)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise DataError(f"{path}: damaged gzip file ({error}); compress it again") from None
    except IsADirectoryError:
        raise DataError(f"{path}: a folder, expected a file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None


def _with_newlines(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def _checked(block: bytes, path: Path, line: int) -> bytes:
    block = _with_newlines(block)
    if not block.isascii():
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            number = line + block[: error.start].count(b"\n")
            raise DataError(f"{path} line {number}: not UTF-8 text; save the file as UTF-8") from None
    if b"\x00" in block:
        number = line + block[: block.index(b"\x00")].count(b"\n")
        raise DataError(f"{path} line {number}: a zero byte; this is not a text file")
    return block


def first_line(path: Path) -> tuple[int, str] | None:
    """The number and text of the first line that is neither empty nor a comment; None without any."""
    for start, block in blocks(path, 2**16):
        for number, line in enumerate(block.split(b"\n"), start):
            if line.strip() and not line.lstrip().startswith(b"#"):
                return number, line.decode("utf-8")
    return None
