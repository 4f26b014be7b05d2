"""BAFMD: annotated (one CSV with skin colour and sex) and raw (a YOLO .txt or Pascal VOC .xml for each picture)."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from countenance.data.adapters.labelled import KINDS, label_kind, labelled_pictures
from countenance.data.attributes import with_table
from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.categories import masked_word
from countenance.data.image import LazyImage
from countenance.data.paths import find_picture
from countenance.data.reading import cells
from countenance.data.reading.box_readings import as_arguments, checked_corners, fits_sentence
from countenance.data.reading.class_names import ClassNames
from countenance.data.reading.options import OPTIONS, ReadingOptions, folder_and_options
from countenance.data.sample import Dataset, Sample, Subject
from countenance.data.tables import finite_number, read_csv, read_text
from countenance.errors import DataError
from countenance.metrics.readings import fitting
from countenance.person_columns import person_column

ORDER = ClassNames(
    {0: "no_mask", 1: "mask"}, "the order of BAFMD; a classes.txt beside the labels or classes= says otherwise"
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


def load(part: str | None) -> Dataset:
    """The dataset behind `bafmd:FOLDER`: annotated where the folder has the one CSV, else raw."""
    folder, options = folder_and_options("bafmd", part, (*OPTIONS, "labels"))
    request = ReadingOptions.of_options(folder, options, f"bafmd:{part}")
    annotated = folder.is_file() or any(path.name != "attributes.csv" for path in folder.glob("*.csv"))
    kind = options.get("labels", "csv" if annotated else label_kind(folder) or "csv")
    if kind == "csv" and (request.classes or request.attributes):
        raise DataError(f"bafmd:{part}: classes and attributes are for label files; the annotated CSV says both")
    return read_bafmd(folder, kind, request).split(request.split)


def read_bafmd(source: Path, kind: str, request: ReadingOptions = ReadingOptions()) -> Dataset:
    """BAFMD in one of its forms: `csv` (annotated), `yolo` or `voc` (raw)."""
    if kind not in ("csv", *KINDS):
        raise DataError(f"{source}: labels {kind!r}, expected csv, yolo or voc")
    return read_annotated(source, request) if kind == "csv" else read_raw(source, kind, request)


def _annotation_file(source: Path) -> Path:
    if source.is_file():
        return source
    if not source.is_dir():
        raise DataError(f"{source}: no such folder; name the one with the annotations")
    tables = sorted(source.glob("*.csv"))
    if len(tables) != 1:
        listed = ", ".join(path.name for path in tables[:4])
        result = f"{len(tables)} CSV files ({listed})" if tables else "no CSV file"
        raise DataError(f"{source}: holds {result}; name the annotation file itself")
    return tables[0]


def read_annotated(source: Path, request: ReadingOptions) -> Dataset:
    """Read the annotated CSV `index, filename, x, y, dx, dy, mask, skincolor, sex` and the pictures beside it.

    Every further column is an attribute, or names the person (`identity`, `person_id`). The reading of the boxes is
    checked, see `checked_corners`.
    """
    table, reading = _annotation_file(source), request.reading
    header, rows = read_csv(table, needed=COLUMNS)
    person = person_column(header)
    known = (*COLUMNS, "index", person)
    further = [name for name in header if name and name not in known and not name.startswith("Unnamed")]
    pictures: dict[str, tuple[LazyImage, int, int]] = {}
    names: dict[Path, str] = {}
    faces = []
    for line, row in rows:
        place = f"{table} line {line}"
        picture = find_picture(table.parent, row["filename"], place)
        name = names.setdefault(picture, row["filename"])  # names with and without ending are the same picture
        if name not in pictures:
            image = LazyImage(picture)
            pictures[name] = (image, *image.size())
        own = cells.attributes({key: row[key].strip() for key in further}, place)
        about = {"masked": masked_word(row["mask"], place), **own}
        who = Subject("", cells.identity(row[person], place) if person else None, attributes=about)
        faces.append((name, [finite_number(row[key], key, place) for key in ("x", "y", "dx", "dy")], who))
    if not faces:
        raise DataError(f"{table}: no face below the header")
    boxes = np.array([box for _, box, _ in faces])
    sizes = np.array([pictures[name][1:] for name, _, _ in faces], dtype=np.float64)
    corners = checked_corners(boxes, sizes, reading, str(table), [name for name, _, _ in faces])
    people: dict[str, list[Subject]] = {name: [] for name in pictures}
    for (name, _, who), box in zip(faces, corners, strict=True):
        people[name].append(replace(who, id=str(len(people[name])), face_box=box))
    samples = [Sample(name, *pictures[name], tuple(people[name])) for name in pictures]
    notes = [f"{len(faces)} faces in {len(samples)} pictures, boxes read as {reading} ({reading.numbers_are})"]
    fits = fitting(boxes, sizes)
    if len(fits) > 1:
        notes.append(
            f"the pictures do not decide the reading; {fits_sentence(fits, partial(as_arguments, truth=True))}"
        )
    return Dataset(CARD, samples, notes=[f"{table.name}: {note}" for note in notes])


def read_raw(root: Path, kind: str, request: ReadingOptions) -> Dataset:
    """Read raw BAFMD: pictures, and a `.txt` (YOLO) or `.xml` (Pascal VOC) of the same name anywhere in the folder.

    The published lists of train and test pictures become the attribute `split`. The faces have no attributes but
    `masked`, unless a CSV of attributes is named.
    """
    data = labelled_pictures(root, kind, request, CARD, masks=ORDER, copies=True)
    dataset = _with_splits(_without_copies(data, root), root)
    return dataset if request.attributes is None else with_table(dataset, request.attributes)


def _without_copies(data: Dataset, root: Path) -> Dataset:
    """Each picture once: the download script copies labels (and some users pictures) to train_set and test_set."""
    placed = {Path(s.id).name for s in data if Path(s.id).parts[0] in FOLDERS}
    remaining = [s for s in data if Path(s.id).parts[0] != "annotations" or Path(s.id).name not in placed]
    copies = (
        f"{root.resolve().name}: {len(data) - len(remaining)} pictures in annotations are copies of those in train_set"
    )
    return data.of(remaining, notes=[f"{copies} or test_set and are left out"] if len(remaining) < len(data) else ())


def _with_splits(data: Dataset, root: Path) -> Dataset:
    """The samples with the attribute `split` as the published lists (else the script's two folders) say."""
    listed: dict[str, str] = {}
    for split, name in SPLITS.items():
        if (root / name).is_file():
            names = [line.strip() for line in read_text(root / name).splitlines() if line.strip()]
            listed |= {line.split(".")[0]: split for line in names}
    splits = [listed.get(Path(s.id).stem, FOLDERS.get(Path(s.id).parts[0])) for s in data]
    if not any(splits):
        return data
    lost = f"{splits.count(None)} pictures are neither in {' nor '.join(SPLITS.values())} and have no split"
    pairs = zip(data, splits, strict=True)
    samples = [sample.having(attributes={**sample.attributes, "split": split}) for sample, split in pairs]
    return data.of(samples, notes=[f"{root.resolve().name}: {lost}"] if None in splits else ())
