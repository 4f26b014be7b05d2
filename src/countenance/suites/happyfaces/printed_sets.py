"""Builds the sets: from the official download and the photos of Labeled Faces in the Wild (LFW).

The words HAPPY and SAD are printed in red, as the benchmark printed them. Their strokes are kept as two small masks,
DejaVu Sans Bold at 50 px in Pillow's basic layout, so that a build needs no font and is the same everywhere. A word is
centred and its middle lies at 8/9 of the height. As in the benchmark, the word's height is taken from the top of the
font's line, so the origin is at (29, 198) and (66, 198) in a photo of 250 × 250.
"""

import re
import shutil
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image

from countenance.data.adapters.happyfaces_layout import ARCHIVES, LIST, SETS, read_photo
from countenance.data.image import decode
from countenance.data.paths import inside
from countenance.data.tables import read_text
from countenance.errors import InputError
from countenance.files import staged
from countenance.suites.happyfaces.interface import Floats, Pictures

RED = np.array([255, 0, 0], np.float64)
REFERENCE = 250
"""The side of the benchmark's photos in px; on larger and smaller photos the word is larger or smaller."""
_ENTRY = re.compile(r"(?P<set>[^/\\]+)/(?P<tag>F[HS]W[HS])/(?P<name>[^/\\]+)_(?P=tag)\.(jpg|jpeg|png)(\.gz)?")


@cache
def strokes(word: str) -> Floats:
    """The share of each pixel that the word covers, 0 to 1, from the top of its line.

    >>> strokes("HAPPY").shape, strokes("SAD").shape
    ((47, 192), (48, 117))
    """
    content = files("countenance.suites.happyfaces").joinpath("lettering", f"{word}.png").read_bytes()
    return np.asarray(decode(content, f"{word}.png").max(-1) / 255.0)


def print_word(photo: Pictures, tag: str) -> Pictures:
    """A copy of the photo with the word of a tag printed on it in red.

    >>> printed = print_word(np.zeros((250, 250, 3), np.uint8), "FHWS")
    >>> bool(printed[:198].any()), int(printed[..., 0].max()), bool(printed[..., 1:].any())
    (False, 255, False)
    """
    height, width = photo.shape[:2]
    cover = _scaled(strokes("HAPPY" if tag[3] == "H" else "SAD"), min(height, width) / REFERENCE)
    y, x = int(height * 8 / 9 - cover.shape[0] / 2), int((width - cover.shape[1]) / 2)
    out = photo.astype(np.float64)
    place = out[y : y + cover.shape[0], x : x + cover.shape[1]]
    place[:] = place * (1 - cover[..., None]) + RED * cover[..., None]
    return np.rint(out).astype(np.uint8)


def _scaled(cover: Floats, factor: float) -> Floats:
    if factor == 1:
        return cover
    size = (max(1, round(cover.shape[1] * factor)), max(1, round(cover.shape[0] * factor)))
    picture = Image.fromarray(np.rint(cover * 255).astype(np.uint8)).resize(size, Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float64) / 255


def list_of(official: Path) -> Path:
    """The list of photos in the benchmark's folder, under either of its names."""
    return next((official / name for name in (LIST, "images_list.txt") if (official / name).is_file()), official / LIST)


def read_list(path: Path) -> list[tuple[str, str, str]]:
    """Set, tag and LFW name of every photo in the benchmark's list."""
    if not path.exists():
        raise InputError(f"{path}: no such file; it is the list of photos that comes with the benchmark")
    entries = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        match = _ENTRY.fullmatch(line.strip())
        if match is not None:
            entries.append((match["set"], match["tag"], match["name"]))
        elif line.strip():
            raise InputError(f"{path} line {number}: {line.strip()!r}, expected SET/TAG/NAME_TAG.jpg")
    return entries


def build_official(official: Path, lfw: Path, out: Path, step: Callable[..., None] = lambda *_: None) -> int:
    """Complete an official folder with the unlabelled set made from LFW originals; returns how many were made.

    The folder's own sets are copied as they are. Sets that are in its list but missing are made: always the unlabelled
    one, and, with an LFW folder that has those photos, the other two as well.
    """
    listed = list_of(official)
    entries = read_list(listed)
    _check_smiles(official, entries)
    with staged(out) as target:
        shutil.copy2(listed, target / LIST)
        present, count = present_sets(official), 0
        for path in present.values():
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, target / path.name)
        for folders, tags in (SETS[name] for name in SETS if name not in present):
            members = [entry for entry in entries if entry[0] in folders]
            missing = [tag for tag in tags if not any(entry[1] == tag for entry in members)]
            if missing:
                raise InputError(f"{listed}: names no photo of type {missing[0]} for {folders[0]}")
            for _, tag, person in members:
                path = target / folders[0] / tag / f"{person}_{tag}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                # Quality 75 with Pillow's own tables: the quantisation of the official photos.
                printed = print_word(read_photo(_original(lfw, person)), tag)
                Image.fromarray(printed).save(path, "JPEG", quality=75)
                count += 1
                step()
    return count


def to_make(official: Path) -> int:
    """How many photos `build_official` will make."""
    present = {folder for name in present_sets(official) for folder in SETS[name][0]}
    return sum(entry[0] not in present for entry in read_list(list_of(official)))


def present_sets(official: Path) -> dict[str, Path]:
    """The folder or archive of each set that the benchmark's folder holds."""
    there: dict[str, Path] = {}
    for name, (folders, _) in SETS.items():
        for path in (official / f"{folder}{suffix}" for folder in folders for suffix in ("", *ARCHIVES)):
            if path.exists():
                there.setdefault(name, path)
    return there


def _original(lfw: Path, name: str) -> Path:
    """A photo of LFW: as NAME/NAME_0001.jpg, or in one flat folder."""
    for place in (f"{name}.jpg", f"{name.rsplit('_', 1)[0]}/{name}.jpg"):
        path = inside(lfw, place, str(lfw))
        if path.is_file():
            return path
    raise InputError(f"{lfw}: has no {name}.jpg; give the folder of LFW originals (250 × 250, not aligned)")


def _check_smiles(official: Path, entries: list[tuple[str, str, str]]) -> None:
    """Check every tag against the lists of smiling and unsmiling photos, if these exist."""
    for file, letter in (("smile.txt", "H"), ("nonsmile.txt", "S")):
        if not (official / file).exists():
            continue
        listed = {Path(line.strip()).stem for line in read_text(official / file).splitlines() if line.strip()}
        for _, tag, name in entries:
            if name in listed and tag[1] != letter:
                raise InputError(f"{list_of(official)}: {name} is tagged {tag}, but {file} lists it")
