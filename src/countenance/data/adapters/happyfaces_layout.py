"""The official layout: three sets of photos in folders named by tag, as files or as archives.

    labeled_sets/{FHWH,FSWS}     unlabeled_set/{FHWH,FHWS,FSWH,FSWS}     validation_sets/{FHWH,FHWS,FSWH,FSWS}

Photos are kept in the order of their pixels' hashes: a file's name and place have no influence on what follows.
"""

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import decode
from countenance.data.paths import unpacked
from countenance.decoding import decoding, regular_file
from countenance.errors import DataError

Pictures = NDArray[np.uint8]
Labels = NDArray[np.int64]
TAGS = ("FHWH", "FHWS", "FSWH", "FSWS")
"""The four types of photos: F(ace) H(appy) or S(ad), W(riting) H(APPY) or S(AD)."""
MATCHED, CROSS = ("FHWH", "FSWS"), ("FHWS", "FSWH")
SETS = {
    "labelled": (("labeled_sets", "labeled_set"), MATCHED),
    "unlabelled": (("unlabeled_set", "unlabeled_sets"), TAGS),
    "validation": (("validation_sets", "validation_set"), TAGS),
}
LIST = "HappyFaces_images_list.txt"
CARD = "happyfaces.json"
SUFFIXES = (".jpg", ".jpeg", ".png", ".jpg.gz", ".jpeg.gz", ".png.gz")
ARCHIVES = (".tar.gz", ".tgz", ".tar")
LARGEST_FILE = 64 * 2**20


def features_shown(tags: Sequence[str]) -> NDArray[np.bool_]:
    """Photos × 2: whether the face smiles, and whether the writing says HAPPY.

    >>> features_shown(["FHWS"]).tolist()
    [[True, False]]
    """
    return np.array([[tag[1] == "H", tag[3] == "H"] for tag in tags], bool).reshape(-1, 2)


@dataclass(frozen=True)
class Photos:
    """One set: pixels, and tags and names that only the protocol uses."""

    pixels: Pictures
    tags: tuple[str, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tags)

    def truth(self) -> NDArray[np.bool_]:
        """Photos × 2: whether the face smiles, and whether the writing says HAPPY."""
        return features_shown(self.tags)

    def ids(self, part: str) -> list[str]:
        """The ids of the photos in a part of the dataset."""
        return [f"{part}/{tag}/{name}" for tag, name in zip(self.tags, self.names, strict=True)]

    def take(self, indices: Sequence[int] | Labels) -> "Photos":
        """Some of the photos, in the requested order."""
        tags, names = (tuple(some[i] for i in indices) for some in (self.tags, self.names))
        return Photos(self.pixels[np.asarray(indices, np.int64)], tags, names)


@dataclass(frozen=True)
class HappyFaces:
    """The three sets, a fourth that was held back where there is one, and what the two features are called."""

    labelled: Photos
    unlabelled: Photos
    validation: Photos
    features: tuple[str, str] = ("face", "writing")
    held_back: Photos | None = None
    real_people: bool = True

    def scored(self, not_drawn: Labels | None = None) -> dict[str, Photos]:
        """The parts on which a method is scored; validation comes first, because it names the heads."""
        rest = self.unlabelled if not_drawn is None else self.unlabelled.take(not_drawn)
        held_back = {} if self.held_back is None else {"held_back": self.held_back}
        return {"validation": self.validation, "not_drawn": rest, **held_back}

    def fingerprint(self) -> str:
        """A hash of all pixels and tags; names are not included."""
        digest = hashlib.sha256()
        for photos in (self.labelled, self.unlabelled, self.validation, self.held_back):
            if photos is not None:
                digest.update(photos.pixels.tobytes())
                digest.update(" ".join(photos.tags).encode())
        return digest.hexdigest()


def make_photos(pixels: Sequence[Pictures], tags: Sequence[str], names: Sequence[str], place: str) -> Photos:
    """A set, ordered by tag and pixels; all photos must have one size."""
    sizes = {picture.shape for picture in pixels}
    if len(sizes) > 1:
        some = ", ".join(f"{s[1]}×{s[0]}" for s in sorted(sizes)[:3])
        raise DataError(f"{place}: photos of different sizes ({some}); make them all one size")
    order = sorted(range(len(tags)), key=lambda i: (tags[i], hashlib.sha256(pixels[i].tobytes()).digest()))
    stacked = np.stack([pixels[i] for i in order]) if order else np.zeros((0, 1, 1, 3), np.uint8)
    return Photos(stacked, tuple(tags[i] for i in order), tuple(names[i] for i in order))


def read_happyfaces(source: Path, held_back: Path | None = None) -> HappyFaces:
    """Read the three sets from a folder, or from one archive that holds such a folder.

    `held_back` is a fourth set, a folder (or archive) with the four types; methods are scored on it beside validation.
    """
    if not source.exists():
        names = ", ".join(folders[0] for folders, _ in SETS.values())
        raise DataError(f"{source}: no such folder; give the folder that holds {names}")
    root = _opened(source) if source.is_file() else source
    sets = {name: _read_set(_find(root, folders), tags) for name, (folders, tags) in SETS.items()}
    if held_back is not None:
        folder = _opened(held_back) if held_back.is_file() else held_back
        if not folder.is_dir():
            raise DataError(f"{held_back}: no such folder; give one that holds {', '.join(TAGS)}")
        sets["held_back"] = _read_set(folder, TAGS)
    shapes = {photos.pixels.shape[1:] for photos in sets.values()}
    if len(shapes) > 1:
        raise DataError(f"{source}: its sets hold photos of different sizes; make them all one size")
    features, real_people = _card(root / CARD)
    return HappyFaces(**sets, features=features, real_people=real_people)


def _card(card: Path) -> tuple[tuple[str, str], bool]:
    """What the two features are called, and whether the photos show real people."""
    if not card.exists():
        return ("face", "writing"), True
    try:
        content = json.loads(regular_file(card).read_text("utf-8"))
        first, second = content["features"]
        return (str(first), str(second)), bool(content.get("real_people", True))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f'{card}: expected {{"features": [FIRST, SECOND], …}} ({error})') from None


def _find(root: Path, names: tuple[str, ...]) -> Path:
    """The folder of one of these names, or what an archive of that name holds."""
    for name in names:
        if (root / name).is_dir():
            return root / name
        for suffix in ARCHIVES:
            if (root / f"{name}{suffix}").is_file():
                return _opened(root / f"{name}{suffix}")
    remedy = "; make it with `countenance happyfaces build`" if names[0].startswith("unl") else ""
    raise DataError(f"{root}: holds no {names[0]} (a folder or {names[0]}.tar.gz){remedy}")


def _opened(archive: Path) -> Path:
    """The folder in an archive; a single folder around everything is skipped."""
    folder = unpacked(archive)
    inner = list(folder.iterdir())
    while len(inner) == 1 and inner[0].is_dir() and inner[0].name not in TAGS:
        folder = inner[0]
        inner = list(folder.iterdir())
    known = {name for folders, _ in SETS.values() for name in folders}
    return folder.parent if folder.name in known and archive.name.split(".")[0] not in known else folder


def _read_set(folder: Path, tags: tuple[str, ...]) -> Photos:
    files = [(tag, path) for tag in tags for path in _photo_files(_find(folder, (tag,)))]
    pixels = [read_photo(path) for _, path in files]
    return make_photos(pixels, [tag for tag, _ in files], [path.name for _, path in files], str(folder))


def _photo_files(folder: Path) -> list[Path]:
    """The photos of a folder, in the order of their names; anything else in it is refused by name."""
    files = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    for path in files:
        if not path.name.lower().endswith(SUFFIXES):
            raise DataError(f"{path}: not a photo; expected a name ending in {', '.join(SUFFIXES)}")
    if not files:
        raise DataError(f"{folder}: holds no photo")
    return files


def read_photo(path: Path) -> Pictures:
    """The pixels of a .jpg, .png, .jpg.gz or .png.gz file."""
    return decode(photo_bytes(path), str(path))


def photo_bytes(path: Path) -> bytes:
    """A photo file's content, without its gzip wrapping if it has one."""
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    with decoding(path, "gzip file"), gzip.open(regular_file(path)) as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise DataError(f"{path}: unpacks to more than {LARGEST_FILE:,} bytes")
    return content
