"""BAFMD: annotated (one CSV with skin colour and sex) and raw (a YOLO .txt or Pascal VOC .xml for each picture)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from countenance.data import AttributeCard, Dataset, DatasetCard, LazyImage, Sample, Subject
from countenance.data.image import IMAGE_SUFFIXES
from countenance.data.tables import finite_number, read_csv, read_text
from countenance.errors import InputError
from countenance.metrics.readings import Reading, fitting
from countenance.suites.mask_fairness.datasets.classes import DEFAULT, Classes, classes_beside
from countenance.suites.mask_fairness.datasets.label_files import Faces, read_voc, read_yolo
from countenance.suites.mask_fairness.datasets.truth import (
    AskedTruth,
    MaskData,
    checked_corners,
    compared_by,
    find_picture,
    fits_sentence,
    masked_word,
)

COLUMNS = ("filename", "x", "y", "dx", "dy", "mask")
SPLITS = {"train": "BAFMD_train_images.txt", "test": "BAFMD_test_images.txt"}
"""The published lists of pictures."""
FOLDERS = {"train_set": "train", "test_set": "test"}
"""Where the download script puts the pictures of each list."""

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


def read_annotated(source: Path, asked: AskedTruth) -> MaskData:
    """Read the annotated CSV `index, filename, x, y, dx, dy, mask, skincolor, sex` and the pictures beside it.

    Every further column is an attribute. The reading of the boxes is checked, see `checked_corners`.
    """
    table, reading = _annotation_file(source), asked.reading
    header, rows = read_csv(table, needed=COLUMNS)
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
        faces.append((name, [finite_number(row[key], key, place) for key in ("x", "y", "dx", "dy")], about))
    if not faces:
        raise InputError(f"{table}: no face below the header")
    boxes = np.array([box for _, box, _ in faces])
    sizes = np.array([pictures[name][1:] for name, _, _ in faces], dtype=np.float64)
    found = checked_corners(boxes, sizes, reading, str(table))
    people: dict[str, list[Subject]] = {name: [] for name in pictures}
    for (name, _, about), box in zip(faces, found, strict=True):
        people[name].append(Subject(str(len(people[name])), face_box=box, attributes=about))
    samples = [Sample(name, *pictures[name], tuple(people[name])) for name in pictures]
    notes = [f"{len(faces)} faces in {len(samples)} pictures, boxes read as {reading} ({reading.numbers_are})"]
    fits = fitting(boxes, sizes)
    if len(fits) > 1:
        notes.append(f"the pictures do not decide the reading; {fits_sentence(fits)}")
    dataset = Dataset(CARD, samples, notes=[f"{table.name}: {note}" for note in notes])
    return MaskData(dataset, attributes=compared_by(dataset, further), reading=reading)


def read_raw(root: Path, kind: str, asked: AskedTruth) -> MaskData:
    """Read raw BAFMD: pictures, and a `.txt` (YOLO) or `.xml` (Pascal VOC) of the same name anywhere in the folder.

    The published lists of train and test pictures become the attribute `split`. The faces have no attributes but
    `masked`, unless a CSV of attributes is named.
    """
    from countenance.suites.mask_fairness.datasets.folder import described

    data = labelled_pictures(root, kind, asked)
    dataset = _with_splits(_without_copies(data.dataset, root), root)
    compared: tuple[str, ...] = ("masked",)
    if asked.attributes is not None:
        dataset, found = described(dataset, asked.attributes)
        compared = compared_by(dataset, found)
    return replace(data, dataset=dataset, attributes=compared)


def _without_copies(data: Dataset, root: Path) -> Dataset:
    """The download script copies labels (and some users pictures) to train_set and test_set: each picture once."""
    placed = {Path(s.id).name for s in data if Path(s.id).parts[0] in FOLDERS}
    kept = [s for s in data if Path(s.id).parts[0] != "annotations" or Path(s.id).name not in placed]
    copies = "pictures in annotations are copies of those in train_set or test_set and are left out"
    return data.of(kept, notes=[f"{_name(root)}: {len(data) - len(kept)} {copies}"] if len(kept) < len(data) else ())


def _with_splits(data: Dataset, root: Path) -> Dataset:
    """The samples with the attribute `split` as the published lists (else the script's two folders) say."""
    listed: dict[str, str] = {}
    for split, name in SPLITS.items():
        if (root / name).is_file():
            names = [line.strip() for line in read_text(root / name).splitlines() if line.strip()]
            listed |= {line.split(".")[0]: split for line in names}
    found = [listed.get(Path(s.id).stem, FOLDERS.get(Path(s.id).parts[0])) for s in data]
    if not any(found):
        return data
    lost = (
        f"{_name(root)}: {found.count(None)} pictures are neither in {' nor '.join(SPLITS.values())} and have no split"
    )
    pairs = zip(data, found, strict=True)
    samples = [replace(sample, attributes={**sample.attributes, "split": split}) for sample, split in pairs]
    return data.of(samples, notes=[lost] if None in found else ())


def _name(root: Path) -> str:
    """The name of a folder; notes are published, so its path is left out."""
    return root.resolve().name


def _label_of(picture: Path, labels: list[Path]) -> Path | None:
    """The label file of a picture: beside it, else the only one of its name, else the one in a like-named folder."""
    beside = [path for path in labels if path.parent == picture.parent]
    alike = [path for path in labels if path.parent.name == picture.parent.name]
    if len(labels) > 1 and not beside and len(alike) != 1:
        raise InputError(f"{picture}: {labels[0]} and {labels[1]} both bear its name; put the right one beside it")
    return next(iter(beside or (alike if len(alike) == 1 else labels)), None)


def labelled_pictures(root: Path, kind: str, asked: AskedTruth) -> MaskData:
    """Every picture under `root` that has a label file, with its faces."""
    reading = asked.reading
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; --data-directory names the folder with pictures and label files")
    suffix = ".txt" if kind == "yolo" else ".xml"
    labels: dict[str, list[Path]] = {}
    for path in sorted(root.rglob(f"*{suffix}")):
        labels.setdefault(path.stem, []).append(path)
    pictures = sorted(path for path in root.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())
    orders: dict[Path, Classes] = {}
    samples, alone = [], 0
    for path in pictures:
        label = _label_of(path, labels.get(path.stem, []))
        if label is None:
            alone += 1
            continue
        image = LazyImage(path)
        width, height = image.size()
        if kind == "yolo":
            order = orders.setdefault(label.parent, _order(label.parent, root, asked.classes))
            faces: Faces = read_yolo(label, width, height, order, reading)
        else:
            faces = read_voc(label, width, height)
        people = tuple(
            Subject(str(i), face_box=box, attributes={"masked": masked}) for i, (box, masked) in enumerate(faces)
        )
        samples.append(Sample(path.relative_to(root).as_posix(), image, width, height, people))
    if not samples:
        raise InputError(f"{root}: no picture has a {suffix} file of its name, beside it or in another folder of it")
    left = f"1 picture has no {suffix} file and is" if alone == 1 else f"{alone} pictures have no {suffix} file and are"
    notes = [f"{_name(root)}: {left} left out"] if alone else []
    if kind != "yolo":
        return MaskData(Dataset(CARD, samples, notes=notes))
    _check_all(samples, reading, root)
    told = dict.fromkeys(str(order).replace(str(root), _name(root)) for order in orders.values())
    notes += [f"{_name(root)}: classes of the label files: {order}" for order in told]
    first, *further = [order.labels() for order in orders.values()]
    alike = all(other == first for other in further)
    return MaskData(Dataset(CARD, samples, notes=notes, categories=first if alike else None), reading=reading)


def _order(folder: Path, root: Path, told: Mapping[int, str] | None) -> Classes:
    """The class order of a folder of YOLO files: its classes.txt decides, else the user, else BAFMD's own."""
    beside = classes_beside(folder, root)
    if beside is None:
        return DEFAULT if told is None else Classes(told, "--classes")
    labels = beside.labels()
    if told is not None and any(labels.get(number, label) != label for number, label in told.items()):
        asked = ",".join(f"{number}={label}" for number, label in told.items())
        raise InputError(
            f"{beside.source}: says {', '.join(f'{n} = {label}' for n, label in labels.items())}, and --classes says "
            f"{asked}; correct the file, or leave the option out"
        )
    return beside


def _check_all(samples: list[Sample], reading: Reading, root: Path) -> None:
    """The boxes of all YOLO files together must fit their pictures."""
    pairs = [(s, subject.face_box) for s in samples for subject in s.subjects if subject.face_box is not None]
    if pairs:
        sizes = np.array([[s.width, s.height] for s, _ in pairs], dtype=np.float64)
        checked_corners(reading.numbers(np.array([box for _, box in pairs]), sizes), sizes, reading, str(root))
