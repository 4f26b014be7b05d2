"""Matches label files to the pictures of a folder, and notes those that match no picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

from countenance.data.paths import is_apple_double, pictures_below
from countenance.data.reading.class_names import FILES
from countenance.errors import DataError

PICTURE_FOLDERS = frozenset({"images", "jpegimages"})
"""Picture folders of YOLO and Pascal VOC; a picture there is preferred to one of the same name elsewhere, such as VOC's
segmentations."""
Judge = Callable[[Path, Path], float]


@dataclass
class LabelPlaces:
    """Pictures with their label files, and notes on what is left out."""

    pairs: list[tuple[Path, Path]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def same_stem(path: Path) -> str:
    """The name of a file without its ending; accents are the same in either of their Unicode forms."""
    return normalize("NFC", path.stem)


def label_files(root: Path, suffix: str) -> list[Path]:
    """Every file below a folder whose name ends so, in small or capital letters."""
    return sorted(path for path in root.rglob("*") if path.suffix.lower() == suffix and not is_apple_double(path))


def label_places(root: Path, suffix: str, *, shared: bool = False) -> LabelPlaces:
    """The label file of each picture: beside it, else the one whose folders are most like those of the picture.

    A label file belongs to one picture, the nearest, unless copies of a picture may share it.
    """
    labels: dict[str, list[Path]] = {}
    for path in label_files(root, suffix):
        labels.setdefault(same_stem(path), []).append(path)

    def alike(picture: Path, label: Path) -> float:
        item, other = (path.relative_to(root).parts[:-1] for path in (picture, label))
        if item == other:
            return float("inf")
        usual = any(part.lower() in PICTURE_FOLDERS for part in item)
        return _common(item, other) + _common(item[::-1], other[::-1]) + usual / 2

    result, alone = LabelPlaces(), []
    claims: dict[Path, list[Path]] = {}
    pictures = pictures_below(root)
    for picture in pictures:
        label = _nearest(picture, labels.get(same_stem(picture), []), alike)
        if label is None:
            alone.append(picture)
        else:
            claims.setdefault(label, []).append(picture)
    if not shared:
        for label, own in claims.items():
            best = _owner(label, own, alike)
            alone += [picture for picture in own if picture != best]
            claims[label] = [best]
    owned = {picture: label for label, own in claims.items() for picture in own}
    result.pairs = [(picture, owned[picture]) for picture in pictures if picture in owned]
    folders = {label.parent for label in claims}
    lost = [path for own in labels.values() for path in own if path not in claims and _is_label(path, folders)]
    links = [path for path in root.rglob("*") if path.is_symlink() and path.is_dir()]
    result.notes = [
        *_left_out(root, alone, f"picture has no {suffix} file and is", f"pictures have no {suffix} file and are"),
        *_left_out(root, lost, f"{suffix} file has no picture and is", f"{suffix} files have no picture and are"),
        *_left_out(root, links, "folder is a link (not followed) and is", "folders are links (not followed) and are"),
    ]
    return result


def _left_out(root: Path, paths: Sequence[Path], item: str, many: str) -> list[str]:
    """A note on files left out, with the first; it is published, so it has no path of this machine."""
    if not paths:
        return []
    shown = min(paths).relative_to(root).as_posix() + (", …" if len(paths) > 1 else "")
    return [f"{root.resolve().name}: {len(paths)} {item if len(paths) == 1 else many} left out ({shown})"]


def _common(item: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two paths share from the beginning."""
    same = [a == b for a, b in zip(item, other, strict=False)]
    return same.index(False) if False in same else len(same)


def _nearest(picture: Path, labels: Sequence[Path], alike: Judge) -> Path | None:
    ranked = sorted(labels, key=lambda label: alike(picture, label), reverse=True)
    if len(ranked) > 1 and alike(picture, ranked[0]) == alike(picture, ranked[1]):
        raise DataError(f"{picture}: {ranked[0]} and {ranked[1]} both have its name; put the right one beside it")
    return next(iter(ranked), None)


def _owner(label: Path, pictures: Sequence[Path], alike: Judge) -> Path:
    ranked = sorted(pictures, key=lambda picture: alike(picture, label), reverse=True)
    if len(ranked) > 1 and alike(ranked[0], label) == alike(ranked[1], label):
        raise DataError(
            f"{label}: could be of {ranked[0]} or of {ranked[1]}; leave the one in the folder that was labelled"
        )
    return ranked[0]


def _is_label(path: Path, folders: set[Path]) -> bool:
    """Whether a file without a picture is a label file: it looks like one, or is empty and lies among them."""
    if path.name in FILES or not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(2000)
    if path.suffix.lower() == ".xml":
        return b"<annotation" in start
    fields = start.partition(b"\n")[0].split()
    numbers = len(fields) >= 5 and all(field.replace(b".", b"").isdigit() for field in fields[:5])
    return numbers or (not start.strip() and path.parent in folders)
