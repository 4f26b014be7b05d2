"""Making the sets: from the official download and the photos of Labeled Faces in the Wild (LFW)."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.files import staged
from countenance.suites.happyfaces.dataset import ARCHIVES, LIST, SETS, read_photo
from countenance.suites.happyfaces.words import print_word

Step = Callable[..., None]
_ENTRY = re.compile(r"(?P<set>[^/\\]+)/(?P<tag>F[HS]W[HS])/(?P<name>[^/\\]+)_(?P=tag)\.(jpg|jpeg|png)(\.gz)?")


def word_of(tag: str) -> str:
    """The word that a photo with this tag bears.

    >>> word_of("FHWS")
    'SAD'
    """
    return "HAPPY" if tag[3] == "H" else "SAD"


def list_of(official: Path) -> Path:
    """The list of photos in the benchmark's folder, under either of its names."""
    return next((official / name for name in (LIST, "images_list.txt") if (official / name).is_file()), official / LIST)


def read_list(path: Path) -> list[tuple[str, str, str]]:
    """Set, tag and LFW name of every photo in the benchmark's list."""
    entries = []
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; it is the list of photos that comes with the benchmark") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _ENTRY.fullmatch(line.strip())
        if match is None:
            raise InputError(f"{path} line {number}: {line.strip()!r}, expected SET/TAG/NAME_TAG.jpg")
        entries.append((match["set"], match["tag"], match["name"]))
    return entries


def build_official(official: Path, lfw: Path, out: Path, step: Step = lambda n=1: None) -> int:
    """Complete an official folder with the unlabelled set made from LFW originals; returns how many were made.

    The folder's own sets are copied as they are. Sets that it lacks and its list names are made: always the
    unlabelled one, and, with an LFW folder that has those photos, the other two as well.
    """
    listed = list_of(official)
    entries = read_list(listed)
    _check_smiles(official, entries)
    with staged(out) as made:
        shutil.copy2(listed, made / LIST)
        present, count = present_sets(official), 0
        for path in present.values():
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, made / path.name)
        for name, (folders, tags) in SETS.items():
            if name in present:
                continue
            wanted = [entry for entry in entries if entry[0] in folders]
            missing = [tag for tag in tags if not any(entry[1] == tag for entry in wanted)]
            if missing:
                raise InputError(f"{list_of(official)}: names no photo of type {missing[0]} for {folders[0]}")
            for _, tag, person in wanted:
                photo = print_word(read_photo(_original(lfw, person)), word_of(tag))
                _save(photo, made / folders[0] / tag / f"{person}_{tag}.jpg")
                count += 1
                step()
    return count


def to_make(official: Path) -> int:
    """How many photos `build_official` will make."""
    present = {folder for name in present_sets(official) for folder in SETS[name][0]}
    return sum(entry[0] not in present for entry in read_list(list_of(official)))


def present_sets(official: Path) -> dict[str, Path]:
    """The folder or archive of each set that the benchmark's folder holds."""
    found: dict[str, Path] = {}
    for name, (folders, _) in SETS.items():
        for path in (official / f"{folder}{suffix}" for folder in folders for suffix in ("", *ARCHIVES)):
            if path.exists():
                found.setdefault(name, path)
    return found


def _original(lfw: Path, name: str) -> Path:
    """LFW keeps a photo as NAME/NAME_0001.jpg; one flat folder will do as well."""
    flat = inside(lfw, f"{name}.jpg", str(lfw))
    nested = inside(lfw, f"{name.rsplit('_', 1)[0]}/{name}.jpg", str(lfw))
    for path in (flat, nested):
        if path.is_file():
            return path
    raise InputError(f"{lfw}: has no {name}.jpg; give the folder of LFW originals (250 × 250, not aligned)")


def _save(photo: NDArray[np.uint8], path: Path) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    # Quality 75 with Pillow's own tables: the quantisation of the official photos.
    Image.fromarray(photo).save(path, "JPEG", quality=75)


def _check_smiles(official: Path, entries: list[tuple[str, str, str]]) -> None:
    """Where the lists of smiling and unsmiling photos are there, every tag must agree with them."""
    for file, letter in (("smile.txt", "H"), ("nonsmile.txt", "S")):
        if not (official / file).exists():
            continue
        listed = {Path(line.strip()).stem for line in (official / file).read_text("utf-8").splitlines() if line.strip()}
        for _, tag, name in entries:
            if name in listed and tag[1] != letter:
                raise InputError(f"{list_of(official)}: {name} is tagged {tag}, but {file} lists it")
