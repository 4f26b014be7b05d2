"""BAFMD: annotated (one CSV with skin colour and sex) and raw (a YOLO .txt or Pascal VOC .xml for each picture)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from countenance.data import AttributeCard, Dataset, DatasetCard, LazyImage, Sample, Subject
from countenance.data.image import IMAGE_SUFFIXES
from countenance.data.tables import near, read_csv
from countenance.errors import InputError
from countenance.suites.mask_fairness.datasets.label_files import YOLO_CLASSES, Faces, read_voc, read_yolo
from countenance.suites.mask_fairness.datasets.truth import (
    BoxFormat,
    MaskData,
    Say,
    Units,
    checked_corners,
    find_picture,
    masked_word,
)

COLUMNS = ("filename", "x", "y", "dx", "dy", "mask")
ATTRIBUTES = ("skincolor", "sex")

CARD = DatasetCard(
    name="bafmd",
    description="Bias-Aware Face Mask Detection: pictures of masked and unmasked faces with their boxes.",
    licence="MIT (annotations); non-commercial research only, pictures under their own terms",
    consent="none recorded: pictures posted on Twitter",
    citation="Kantarcı, Ofli, Imran, Ekenel, Bias-Aware Face Mask Detection Dataset, 2022",
    attributes={
        "masked": AttributeCard(assigned_by="annotated", meaning="whether a mask is worn", values=("no", "yes")),
        "skincolor": AttributeCard(assigned_by="annotated", meaning="skin colour as the annotators saw it"),
        "sex": AttributeCard(assigned_by="annotated", meaning="sex as the annotators saw it"),
    },
)


def _number(row: dict[str, str], name: str, place: str) -> float:
    try:
        value = float(row[name])
    except ValueError:
        raise InputError(f"{place}: {name} is {row[name]!r}, expected a number") from None
    if not np.isfinite(value):
        raise InputError(f"{place}: {name} is {row[name]!r}, expected a finite number")
    return value


def _annotation_file(source: Path) -> Path:
    if source.is_file():
        return source
    if not source.is_dir():
        raise InputError(f"{source}: no such folder; --data-directory names the folder with the annotations")
    tables = sorted(source.glob("*.csv"))
    if len(tables) != 1:
        listed = ", ".join(path.name for path in tables[:4])
        found = f"{len(tables)} CSV files ({listed})" if tables else "no CSV file"
        raise InputError(f"{source}: holds {found}; name the annotation file itself")
    return tables[0]


def read_annotated(
    source: Path, *, box_format: BoxFormat = "centre", units: Units = "normalised", say: Say = lambda line: None
) -> MaskData:
    """Read the annotated CSV `index, filename, x, y, dx, dy, mask, skincolor, sex` and the pictures beside it.

    Every further column is an attribute. The convention of the boxes is checked, see `checked_corners`.
    """
    table = _annotation_file(source)
    header, rows = read_csv(table)
    for name in COLUMNS:
        if name not in header:
            raise InputError(f"{table} line 1: no column {name!r}{near(name, header)}; expected {', '.join(COLUMNS)}")
    further = [name for name in header if name and name not in (*COLUMNS, "index") and not name.startswith("Unnamed")]
    pictures: dict[str, tuple[LazyImage, int, int]] = {}
    faces = []
    for line, row in rows:
        place = f"{table} line {line}"
        name = row["filename"]
        if name not in pictures:
            image = LazyImage(find_picture(table.parent, name, place))
            pictures[name] = (image, *image.size())
        about = {"masked": masked_word(row["mask"], place), **{key: row[key].strip() or None for key in further}}
        faces.append((name, [_number(row, key, place) for key in ("x", "y", "dx", "dy")], about))
    if not faces:
        raise InputError(f"{table}: no face below the header")
    boxes = np.array([box for _, box, _ in faces])
    sizes = np.array([pictures[name][1:] for name, _, _ in faces], dtype=np.float64)
    found = checked_corners(boxes, sizes, box_format, units, str(table))
    people: dict[str, list[Subject]] = {name: [] for name in pictures}
    for (name, _, about), box in zip(faces, found, strict=True):
        people[name].append(Subject(str(len(people[name])), face_box=box, attributes=about))
    samples = [Sample(name, *pictures[name], tuple(people[name])) for name in pictures]
    say(f"{table.name}: {len(faces)} faces in {len(samples)} pictures, boxes read as {box_format}, {units}")
    return MaskData(Dataset(CARD, samples), attributes=tuple(name for name in ATTRIBUTES if name in further))


def read_raw(
    root: Path, kind: str = "yolo", *, classes: Sequence[str] = YOLO_CLASSES, say: Say = lambda line: None
) -> MaskData:
    """Read raw BAFMD: pictures, and a `.txt` (YOLO) or `.xml` (Pascal VOC) of the same name anywhere in the folder."""
    return MaskData(Dataset(CARD, labelled_pictures(root, kind, classes, say)))


def _label_of(picture: Path, labels: list[Path]) -> Path | None:
    """The label file of a picture: beside it, else the only one of its name, else the one in a like-named folder."""
    beside = [path for path in labels if path.parent == picture.parent]
    alike = [path for path in labels if path.parent.name == picture.parent.name]
    if len(labels) > 1 and not beside and len(alike) != 1:
        raise InputError(f"{picture}: {labels[0]} and {labels[1]} both bear its name; put the right one beside it")
    return next(iter(beside or (alike if len(alike) == 1 else labels)), None)


def labelled_pictures(root: Path, kind: str, classes: Sequence[str], say: Say) -> list[Sample]:
    """Every picture under `root` that has a label file, with its faces."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; --data-directory names the folder with pictures and label files")
    suffix = ".txt" if kind == "yolo" else ".xml"
    labels: dict[str, list[Path]] = {}
    for path in sorted(root.rglob(f"*{suffix}")):
        labels.setdefault(path.stem, []).append(path)
    pictures = sorted(path for path in root.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())
    samples, alone = [], 0
    for path in pictures:
        label = _label_of(path, labels.get(path.stem, []))
        if label is None:
            alone += 1
            continue
        image = LazyImage(path)
        width, height = image.size()
        faces: Faces = read_yolo(label, width, height, classes) if kind == "yolo" else read_voc(label, width, height)
        people = tuple(
            Subject(str(i), face_box=box, attributes={"masked": masked}) for i, (box, masked) in enumerate(faces)
        )
        samples.append(Sample(path.relative_to(root).as_posix(), image, width, height, people))
    if not samples:
        raise InputError(f"{root}: no picture has a {suffix} file of its name, beside it or in another folder of it")
    if alone:
        say(f"{root}: {alone} pictures have no {suffix} file and are left out")
    return samples
