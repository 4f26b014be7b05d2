"""Names in files are hostile input: none may lead out of its folder."""

import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from countenance.data.image import IMAGE_SUFFIXES
from countenance.errors import InputError
from countenance.files import staged

MAX_UNPACKED = 64 * 2**30


def inside(root: Path, name: str, place: str) -> Path:
    """The path of `name` in `root`; refused when it would leave `root` (`place` is where the name stood).

    >>> inside(Path("set"), "a/b.png", "labels.csv row 2").as_posix()
    'set/a/b.png'
    >>> inside(Path("set"), "../../etc/passwd", "labels.csv row 2")
    Traceback (most recent call last):
    countenance.errors.InputError: labels.csv row 2: '../../etc/passwd' leads out of the dataset folder; ...
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    escapes = pure.is_absolute() or ".." in pure.parts or "\x00" in name or (name[1:2] == ":" and name[0].isalpha())
    if not name or escapes:
        raise InputError(f"{place}: {name!r} leads out of the dataset folder; use a name inside it")
    path = root / pure
    if path.is_symlink() or any(parent.is_symlink() for parent in path.parents if root in parent.parents):
        try:
            resolved = path.resolve()
        except (RuntimeError, OSError):
            raise InputError(f"{place}: {name!r} is a link that leads nowhere") from None
        if not resolved.is_relative_to(root.resolve()):
            raise InputError(f"{place}: {name!r} is a link that leads out of the dataset folder")
    return path


PICTURE_FOLDERS = ("", "images", "val", "test", "train", "test_set", "train_set", "annotations")


def find_picture(root: Path, name: str, place: str, folders: Sequence[str] = PICTURE_FOLDERS) -> Path:
    """The picture of that name (with or without its ending) in the dataset's folder or a usual folder in it."""
    tried = []
    for folder in folders:
        path = inside(root / folder if folder else root, name, place)
        tried.append(path)
        if path.suffix.lower() not in IMAGE_SUFFIXES:
            tried += [path.with_name(path.name + suffix) for suffix in IMAGE_SUFFIXES]
    found = next((path for path in tried if path.is_file()), None)
    if found is None:
        where = ", ".join(dict.fromkeys(str(path.parent) for path in tried))
        raise InputError(f"{place}: no picture {name!r} in {where}")
    return found


def pictures_below(folder: Path) -> list[Path]:
    """Every picture in a folder and in the folders below it, by its ending, in the order of their paths."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and not is_apple_double(path))
    return sorted(path for path in found if path.is_file())


def is_apple_double(path: Path) -> bool:
    """Whether a file is one of the AppleDouble files that macOS adds to archives beside the real ones (`._a.jpg`).

    >>> is_apple_double(Path("set/._a.jpg")), is_apple_double(Path("set/a.jpg"))
    (True, False)
    """
    return path.name.startswith("._")


def unpack(archive: Path, into: Path, *, limit: int = MAX_UNPACKED) -> None:
    """Unpack a tar (plain, gz, bz2, xz) into an empty folder; all of it or nothing.

    A member that would leave the folder, a link, a device, or more than `limit` bytes is refused.
    """
    with staged(into) as folder:
        try:
            with tarfile.open(archive) as tar:
                total = 0
                for member in tar:
                    total += member.size
                    if total > limit:
                        raise InputError(
                            f"{archive}: unpacks to more than {limit:,} bytes; raise the limit if you trust it"
                        )
                    _unpack_member(tar, member, folder, archive)
        except (tarfile.TarError, EOFError, OSError) as error:
            first = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(
                f"{archive}: not a readable tar archive ({first}); expected a folder, COCO JSON or tar"
            ) from error


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path, archive: Path) -> None:
    path = inside(into, member.name.removeprefix("./") or ".", f"{archive}: member")
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.isfile():
        path.parent.mkdir(parents=True, exist_ok=True)
        source = tar.extractfile(member)
        if source is None:
            raise InputError(f"{archive}: member {member.name!r} cannot be read")
        with source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    else:
        raise InputError(f"{archive}: member {member.name!r} is neither a file nor a folder; links are not unpacked")
