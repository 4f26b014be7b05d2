"""Names in files are untrusted input: none may lead out of its folder."""

import shutil
import tarfile
import threading
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from countenance.data.image import IMAGE_SUFFIXES
from countenance.decoding import decoding, regular_file, setting
from countenance.errors import DataError
from countenance.files import staged
from countenance.scratch import scratch_folder

MAX_UNPACKED = 4 << 30
"""Bytes that an archive may unpack to unless COUNTENANCE_MAX_UNPACKED says otherwise."""
MOST_EXPANSION = 100
"""An archive may unpack to this many times its own size: pictures hardly shrink, tables of text about twenty times."""
SMALL = 64 << 20
"""Bytes up to which any archive may unpack: labels of a made set may be very regular."""
NAMING = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
"""Members that hold the name or other fields of the next member."""
LONGEST_NAME = 1 << 20
"""The largest such member, in bytes."""
MOST_MEMBERS = 2_000_000
"""The most files of an archive; empty files have no bytes but use up a disk too."""


def inside(root: Path, name: str, place: str) -> Path:
    """The path of `name` in `root`; refused when it would leave `root` (`place` is where the name stood).

    >>> inside(Path("set"), "a/b.png", "labels.csv row 2").as_posix()
    'set/a/b.png'
    >>> inside(Path("set"), "../../etc/passwd", "labels.csv row 2")
    Traceback (most recent call last):
    countenance.errors.DataError: labels.csv row 2: '../../etc/passwd' leads out of its folder; ...
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    escapes = pure.is_absolute() or ".." in pure.parts or "\x00" in name or (name[1:2] == ":" and name[0].isalpha())
    if not name or escapes:
        raise DataError(f"{place}: {name!r} leads out of its folder; use a name inside it")
    path = root / pure
    if path.is_symlink() or any(path.parents[i].is_symlink() for i in range(len(pure.parts) - 1)):
        try:
            resolved = path.resolve()
        except (RuntimeError, OSError):
            raise DataError(f"{place}: {name!r} is a link that leads nowhere") from None
        if not resolved.is_relative_to(root.resolve()):
            raise DataError(f"{place}: {name!r} is a link that leads out of its folder")
    return path


PICTURE_FOLDERS = ("", "images", "val", "test", "train", "test_set", "train_set", "annotations")


def find_picture(root: Path, name: str, place: str) -> Path:
    """The picture of that name (with or without its ending) in the dataset's folder or a usual folder in it."""
    tried = []
    for folder in PICTURE_FOLDERS:
        path = inside(root / folder if folder else root, name, place)
        tried.append(path)
        if path.suffix.lower() not in IMAGE_SUFFIXES:
            tried += [path.with_name(path.name + suffix) for suffix in IMAGE_SUFFIXES]
    result = next((path for path in tried if path.is_file()), None)
    if result is None:
        where = ", ".join(dict.fromkeys(str(path.parent) for path in tried))
        raise DataError(f"{place}: no picture {name!r} in {where}")
    return result


def pictures_below(folder: Path) -> list[Path]:
    """Every picture in a folder and in the folders below it, by its ending, in the order of their paths."""
    result = (path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and not is_apple_double(path))
    return sorted(path for path in result if path.is_file())


def is_apple_double(path: Path) -> bool:
    """Whether a file is one of the AppleDouble files that macOS adds to archives beside the real ones (`._a.jpg`).

    >>> is_apple_double(Path("set/._a.jpg")), is_apple_double(Path("set/a.jpg"))
    (True, False)
    """
    return path.name.startswith("._")


def unpack(archive: Path, into: Path, *, limit: int | None = None) -> None:
    """Unpack a tar (plain, gz, bz2, xz) into an empty folder; all of it or nothing.

    A member that would leave the folder, a link, a device, more than `limit` bytes in all (4 GiB unless
    COUNTENANCE_MAX_UNPACKED says otherwise), or far more bytes than the archive has, is refused.
    """
    allowed = Unpacking(archive) if limit is None else Unpacking(archive, limit)
    expected = "; expected a folder, COCO JSON or tar"
    with (
        staged(into) as folder,
        decoding(archive, "tar archive", expected),
        tarfile.open(regular_file(archive), tarinfo=_Member) as tar,
    ):
        for count, member in enumerate(tar, 1):
            if count > MOST_MEMBERS:
                raise DataError(f"{archive}: more than {MOST_MEMBERS:,} members; unpack it yourself if you trust it")
            allowed.add(tarfile.BLOCKSIZE + member.size)
            _unpack_member(tar, member, folder, archive)


def unpacked(archive: Path) -> Path:
    """The folder with the content of a tar; it is unpacked once per process, and removed when the process ends.

    A file that was rewritten under the same name is unpacked again.
    """
    status = regular_file(archive).stat()
    key = (str(archive.absolute()), status.st_ino, status.st_size, status.st_mtime_ns)
    with _unpacking:
        folder = _unpacked.get(key)
        if folder is None or not folder.is_dir():
            folder = scratch_folder("archive") / "content"
            unpack(archive, folder)
            _unpacked[key] = folder
    return folder


_unpacked: dict[tuple[str, int, int, int], Path] = {}
_unpacking = threading.Lock()


class _Member(tarfile.TarInfo):
    """A member whose name is not too long: the library would read any length into memory."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in NAMING and self.size > LONGEST_NAME:
            raise ValueError(f"a name of {self.size:,} bytes, expected at most {LONGEST_NAME:,}")
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]


def _most_unpacked() -> int:
    return setting("COUNTENANCE_MAX_UNPACKED", MAX_UNPACKED)


@dataclass
class Unpacking:
    """How much of an archive, or of a compressed file, was unpacked, and the limit."""

    archive: Path
    limit: int = field(default_factory=_most_unpacked)
    total: int = 0

    def add(self, size: int) -> None:
        """Count a member before it is unpacked, or a block that was unpacked."""
        self.total += size
        if self.total > self.limit:
            raise DataError(
                f"{self.archive}: unpacks to more than {self.limit:,} bytes; set COUNTENANCE_MAX_UNPACKED if you "
                "trust it"
            )
        packed = self.archive.stat().st_size
        if self.total > SMALL and self.total > MOST_EXPANSION * packed:
            raise DataError(
                f"{self.archive}: {packed:,} bytes that unpack to more than {MOST_EXPANSION} times as many, as no "
                "pictures do; unpack it yourself if you trust it"
            )


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path, archive: Path) -> None:
    path = inside(into, member.name.removeprefix("./") or ".", f"{archive}: member")
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.isfile():
        path.parent.mkdir(parents=True, exist_ok=True)
        source = tar.extractfile(member)
        if source is None:
            raise DataError(f"{archive}: member {member.name!r} cannot be read")
        with source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    else:
        raise DataError(f"{archive}: member {member.name!r} is neither a file nor a folder; links are not unpacked")
