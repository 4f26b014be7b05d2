"""WebDataset tars: files with the same name up to the first dot are one sample. Pictures stay in their tar."""

import itertools
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from countenance.data.image import IMAGE_SUFFIXES, LazyImage
from countenance.data.index.records import sample_of
from countenance.data.sample import Sample
from countenance.decoding import decoding
from countenance.errors import DataError, InputError

OURS = ("labels.csv", "annotations.json", "_annotations.coco.json", "samples.parquet")
"""A tar with one of these holds a folder or COCO dataset."""
PEEKED = 100_000
"""Members of the first tar whose names are looked at: the table of a folder may come after its pictures."""
BLOCK = 512
LARGEST_TEXT = 16 * 2**20


def _tars(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(child for child in path.iterdir() if child.suffix == ".tar" and child.is_file())
    return [path] if path.suffix == ".tar" and path.is_file() else []


def recognised(path: Path) -> bool:
    """Whether a tar, or a folder of tars, holds samples side by side."""
    tars = _tars(path)
    if not tars or (path.is_dir() and any((path / name).exists() for name in OURS)):
        return False
    try:
        with decoding(tars[0], "tar archive"), tarfile.open(tars[0], "r:") as tar:
            pictures = False
            for member in itertools.islice(tar, PEEKED):
                if Path(member.name).name in OURS:
                    return False
                pictures = pictures or member.name.lower().endswith(IMAGE_SUFFIXES)
    except (InputError, OSError):
        return False
    return pictures


def read(path: Path) -> tuple[Iterator[Sample], int | None]:
    """The samples of the tars, in their order."""
    return (sample for tar in _tars(path) for sample in _samples(tar)), None


def _samples(archive: Path) -> Iterator[Sample]:
    with decoding(archive, "tar archive", "; make it again"), tarfile.open(archive, "r:") as tar:
        key: str | None = None
        parts: dict[str, tarfile.TarInfo] = {}
        end = 0
        for member in tar:
            if not member.isfile():
                end = member.offset_data
                continue
            folder, _, name = member.name.removeprefix("./").rpartition("/")
            stem, _, ending = name.partition(".")
            result = f"{folder}/{stem}" if folder else stem
            if result != key and parts:
                yield _sample(tar, archive, str(key), parts)
                parts = {}
            key = result
            parts[ending.lower()] = member
            end = member.offset_data + -(-member.size // BLOCK) * BLOCK
        _refuse_cut(archive, end)
        if parts:
            yield _sample(tar, archive, str(key), parts)


def _refuse_cut(archive: Path, end: int) -> None:
    """Refuse a truncated tar: it lacks the final block of zeros, but Python's reader accepts it as a shorter one."""
    with archive.open("rb") as stream:
        stream.seek(end)
        if stream.read(BLOCK) != bytes(BLOCK):
            raise DataError(f"{archive}: not a readable tar archive (cut off after {end:,} bytes); make it again")


def _sample(tar: tarfile.TarFile, archive: Path, key: str, parts: dict[str, tarfile.TarInfo]) -> Sample:
    place = f"{archive}: {key}"
    pictures = [ending for ending in parts if f".{ending}".endswith(IMAGE_SUFFIXES)]
    if len(pictures) != 1:
        result = "no picture" if not pictures else f"{len(pictures)} pictures ({', '.join(pictures)})"
        raise DataError(f"{place}: {result}, expected one; the endings are {', '.join(parts)}")
    values: dict[str, Any] = {}
    for ending, member in parts.items():
        if ending not in pictures:
            values |= _values(tar, member, ending, f"{place}.{ending}")
    member = parts[pictures[0]]
    return sample_of(LazyImage(archive.absolute(), member.offset_data, member.size), values, place, key)


def _values(tar: tarfile.TarFile, member: tarfile.TarInfo, ending: str, place: str) -> dict[str, Any]:
    """The named values in a file beside a picture; other kinds of files are left out."""
    if ending not in ("json", "txt", "cls") or member.size > LARGEST_TEXT:
        return {}
    source = tar.extractfile(member)
    content = b"" if source is None else source.read()
    try:
        text = content.decode("utf-8")
        if ending != "json":
            return {ending: text.strip()}
        result = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not readable as {ending} ({error})") from None
    if not isinstance(result, dict):
        raise DataError(f"{place}: expected names with values, found {type(result).__name__}")
    return result
