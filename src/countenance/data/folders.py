"""Finds the reader for a folder of any kind, and the labels that lie beside its pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from countenance.data.labels.aliases import SPLIT_WORDS
from countenance.data.labels.attachment import attach_labels
from countenance.data.labels.boxes import StatedBoxes
from countenance.data.labels.columns import parse_columns
from countenance.data.labels.files import TABLE_SUFFIXES, is_coco, read_label_file, table_suffix
from countenance.data.labels.labelled_pictures import (
    PictureFolder,
    names_folders,
    read_class_folders,
    read_names,
    read_person_folders,
    read_pictures,
    read_utk_names,
)
from countenance.data.labels.people import LabelOptions
from countenance.data.labels.picture_files import picture_files_kind
from countenance.data.sample import Dataset
from countenance.errors import DataError, InputError, OptionError

COCO_FILES = ("annotations.json", "_annotations.coco.json")
NO_TABLES = frozenset(
    {
        "card.json",
        "dataset.json",
        "notes.json",
        "classes.txt",
        "attributes.csv",
        "labels.txt",
        "predefined_classes.txt",
        "requirements.txt",
        "package.json",
        "_darknet.labels",
        "obj.names",
    }
)
"""Files beside pictures that are not tables of labels."""
SAMPLED = 200
SMALL = 2**20
"""The largest JSON file, in bytes, that may describe one picture."""
ENOUGH = 0.5
MOST_NAMED = 4
MOST_NESTED = 4
"""How deep folders are searched for a table."""
MOST_TRIED = 8
"""How many files of such a folder are opened."""


@dataclass(frozen=True)
class FolderReading:
    """How a folder is to be read, as the user says."""

    categories: str | None = None
    labels: tuple[Path, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    boxes: StatedBoxes = field(default_factory=StatedBoxes)
    only_present: bool = False

    @property
    def label_options(self) -> LabelOptions:
        return LabelOptions(self.categories, self.boxes, self.only_present)

    def attached(self, dataset: Dataset, labels: Sequence[Path]) -> Dataset:
        """The dataset with the label files' values added."""
        for path in labels:
            dataset = attach_labels(dataset, path, self.columns, replace_categories(self.label_options))
        return dataset

    @classmethod
    def of(
        cls,
        categories: str | None,
        labels: str | Path | Sequence[str | Path] | None,
        columns: str | None,
        boxes: StatedBoxes,
        only_present: bool,
    ) -> "FolderReading":
        """The reading that the arguments of `load_dataset` describe."""
        files = [labels] if isinstance(labels, str | Path) else list(labels or ())
        return cls(categories, tuple(map(Path, files)), parse_columns(columns), boxes, only_present)


def replace_categories(options: LabelOptions) -> LabelOptions:
    """The options without categories, for a table beside a dataset: its categories were chosen when it was read."""
    return replace(options, categories=None)


def read_dir(root: Path, reading: FolderReading) -> Dataset:
    """The dataset in a folder."""
    dataset = _own_reader(root, reading)
    if dataset is not None:
        return reading.attached(dataset, [path for path in reading.labels if path.resolve() != _labels_csv(root)])
    if reading.labels:
        first, *others = reading.labels
        if is_coco(first):
            from countenance.data.adapters.coco import read_coco

            return reading.attached(read_coco(first, images=root, categories=reading.categories), others)
        pictures = PictureFolder.below(root)
        parts = [first, *_further_parts(first, others, pictures)]
        dataset = read_pictures(pictures, parts, reading.columns, reading.label_options)
        return reading.attached(dataset, [path for path in others if path not in parts])
    return _unlabelled(root, reading)


def _further_parts(first: Path, others: Sequence[Path], pictures: PictureFolder) -> list[Path]:
    """The tables that continue the first: with the same columns, about other pictures (train and val)."""
    if not others:
        return []
    names, listed = _named(first, pictures)
    parts = []
    for path in others:
        own, shown = _named(path, pictures)
        if own == names and not shown & listed:
            parts.append(path)
            listed |= shown
    return parts


def _named(path: Path, pictures: PictureFolder) -> tuple[set[str], set[str]]:
    """The columns of a table, and the pictures that its cells name."""
    if is_coco(path):
        return set(), set()
    finder = pictures.finder
    columns = read_label_file(path, finder.names_picture).columns
    return set(columns), {name for cells in columns.values() for cell in cells if (name := finder.find(cell))}


def _labels_csv(root: Path) -> Path:
    return (root / "labels.csv").resolve()


def _own_reader(root: Path, reading: FolderReading) -> Dataset | None:
    """The dataset of a folder that has a format; None for pictures alone, and for tables of labels."""
    categories = reading.categories
    if (root / "dataset.json").is_file():
        from countenance.data.indexed_dataset import IndexedDataset
        from countenance.data.manifest import read_manifest

        return no_categories(IndexedDataset(read_manifest(str(root))), categories, str(root))
    coco = coco_file(root)
    if coco is not None and coco not in reading.labels:
        from countenance.data.adapters.coco import read_coco

        return read_coco(coco, categories=categories)
    if (root / "labels.csv").exists() and not _is_other_table(root / "labels.csv", reading.labels):
        from countenance.data.adapters.folder import own_table, read_folder

        own = None if reading.columns or reading.boxes != StatedBoxes() else own_table(root)
        if own is not None:
            return no_categories(read_folder(root, opened=own), categories, str(root))
        return read_pictures(PictureFolder.below(root), [root / "labels.csv"], reading.columns, reading.label_options)
    if (root / "samples.parquet").exists():
        from countenance.data.people import read_people

        return no_categories(read_people(root), categories, str(root))
    entries = list(root.iterdir())
    inner = [child for child in entries if child.is_dir()]
    if len(inner) == 1 and len(entries) == 1 and not inner[0].is_symlink():
        return _own_reader(inner[0], reading)
    from countenance.data.adapters.labelled import label_kind, read_labelled

    kind = label_kind(root)
    if kind is not None:
        return read_labelled(root, kind, categories=categories)
    if picture_files_kind(root) is not None and not any(path.is_dir() for path in reading.labels):
        columns = {} if reading.labels else reading.columns
        return read_pictures(PictureFolder.below(root), [root], columns, reading.label_options)
    sequences = [path for depth in ("", "*/", "*/*/") for path in sorted(root.glob(f"{depth}gt/gt.txt"))]
    if sequences and not reading.labels:
        return read_pictures(PictureFolder.below(root), sequences, reading.columns, reading.label_options)
    return _split_folders(root, reading)


def _is_other_table(path: Path, labels: Sequence[Path]) -> bool:
    """Whether `labels.csv` is the table that the user names: its columns are then understood as any table's."""
    return any(label.exists() and label.samefile(path) for label in labels)


def no_categories(dataset: Dataset, categories: str | None, name: str) -> Dataset:
    """Return a dataset that is not a COCO file; refuse categories chosen for it."""
    if categories is not None:
        raise DataError(f"{name}: categories= is for COCO files, and this is not one; leave it out")
    return dataset


def coco_file(root: Path) -> Path | None:
    """The COCO file of a folder: a usual name, or the only one in COCO's own folder `annotations`."""
    usual = next((root / name for name in COCO_FILES if (root / name).is_file()), None)
    if usual is not None or (root / "labels.csv").exists():
        return usual
    inside = [path for path in sorted((root / "annotations").glob("*.json")) if _may_be_coco(path)]
    if len(inside) > 1:
        raise DataError(
            f"{root}: holds {len(inside)} COCO files ({', '.join(f'annotations/{path.name}' for path in inside[:4])}"
            f"{', …' if len(inside) > 4 else ''}); name the one that is meant"
        )
    return inside[0] if inside else None


def _may_be_coco(path: Path) -> bool:
    """Whether a JSON file may be COCO: too large for one picture, COCO, or in a folder without files of one picture."""
    return path.stat().st_size > SMALL or is_coco(path) or picture_files_kind(path.parent) is None


def _split_folders(root: Path, reading: FolderReading) -> Dataset | None:
    """The parts of a folder with train, valid and test, each with a COCO file or a table; None without such parts."""
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and path.name.casefold() in SPLIT_WORDS]
    if reading.labels or not folders:
        return None
    parts: list[tuple[Path, Dataset]] = []
    for folder in folders:
        tables = (
            []
            if coco_file(folder) or (folder / "labels.csv").exists()
            else _tables(folder, PictureFolder.below(folder))
        )
        if coco_file(folder) is None and not (folder / "labels.csv").exists() and len(tables) != 1:
            return None
        parts.append((folder, read_dir(folder, reading)))
    samples, notes = [], []
    for folder, dataset in parts:
        split = SPLIT_WORDS[folder.name.casefold()]
        for sample in dataset:
            about = {"split": split, **sample.attributes}
            samples.append(sample.having(id=f"{folder.name}/{sample.id}", attributes=about))
        notes += [f"{folder.name}/{note}" for note in dataset.notes]
    first = parts[0][1]
    card = first.card.model_copy(update={"name": root.resolve().name})
    return Dataset(card, samples, notes=notes, categories=first.categories)


def _tables(root: Path, pictures: PictureFolder) -> list[Path]:
    """The tables in a folder that are about its pictures."""
    finder = pictures.finder
    usable = []
    for path in sorted(root.iterdir()):
        if not path.is_file() or table_suffix(path) not in TABLE_SUFFIXES or path.name in NO_TABLES:
            continue
        try:
            if is_coco(path):
                usable.append(path)
                continue
            table = read_label_file(path, finder.names_picture)
        except InputError:
            continue
        columns = ([cell for cell in cells if cell][:SAMPLED] for cells in table.columns.values())
        named = any(known and sum(map(finder.names_picture, known)) >= ENOUGH * len(known) for known in columns)
        if named or names_folders(table, finder) is not None:
            usable.append(path)
    return usable


def _inner_tables(root: Path, pictures: PictureFolder) -> list[Path]:
    """The only table in the subfolders of a folder without a table, as in unpacked archives; else an empty list.

    Many files with endings of tables are not tables (a text beside each picture) and are not opened.
    """
    folder = root
    for _ in range(MOST_NESTED):
        inner = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.is_symlink()]
        files = [path for below in inner for path in below.iterdir() if table_suffix(path) in TABLE_SUFFIXES]
        if files:
            tables = (
                [table for below in inner for table in _tables(below, pictures)] if len(files) <= MOST_TRIED else []
            )
            return tables if len(tables) == 1 else []
        if len(inner) != 1:
            return []
        folder = inner[0]
    return []


def _unlabelled(root: Path, reading: FolderReading) -> Dataset:
    """A folder without a format: its only table, or what the names of its files and folders say."""
    pictures = PictureFolder.below(root)
    if reading.columns and pictures.ids:
        tables = _tables(root, pictures)
        if len(tables) == 1:
            return read_dir(root, replace(reading, labels=(tables[0],)))
        return read_names(pictures, reading.columns, {})
    tables = _tables(root, pictures) or _inner_tables(root, pictures) if pictures.ids else []
    if len(tables) == 1:
        return read_dir(root, replace(reading, labels=(tables[0],)))
    if len(tables) > 1 and len(_further_parts(tables[0], tables[1:], pictures)) == len(tables) - 1:
        return read_dir(root, replace(reading, labels=tuple(tables)))
    if len(tables) > 1:
        names = [path.name for path in tables]
        listed = f"{', '.join(names[:MOST_NAMED])}{', …' if len(names) > MOST_NAMED else ''}"
        raise DataError(
            f"{root}: holds {len(names)} tables about its pictures ({listed}); "
            f'say which is meant: labels="{tables[0]}"; several may be named'
        )
    dataset = read_utk_names(pictures) or read_class_folders(pictures) or read_person_folders(pictures)
    if dataset is not None:
        return dataset
    raise DataError(_no_labels(root, pictures))


def _no_labels(root: Path, pictures: PictureFolder) -> str:
    """The error for a folder that cannot be read, with everything that would help."""
    links = [path.name for path in root.iterdir() if path.is_dir() and path.is_symlink()]
    linked = f"; {links[0]} is a link, which is not followed" if links else ""
    if not pictures.ids:
        return (
            f"{root}: holds none of annotations.json (COCO), labels.csv (a folder of images), samples.parquet (people) "
            f"or dataset.json (a manifest), and no picture{linked}; `countenance data index` makes a manifest of tars, "
            "Parquet and Hugging Face data (`countenance docs data`)"
        )
    books = [path.name for path in root.iterdir() if table_suffix(path) in (".xls", ".xlsx")]
    if books:
        linked += f"; {books[0]} is a workbook of a spreadsheet program, and its sheet has to be saved as CSV"
    folders = list(dict.fromkeys(PurePosixPath(name).parent.name for name in pictures.ids if "/" in name))
    groups = ""
    if len(folders) > 1:
        shown = ", ".join(folders[:3]) + (", …" if len(folders) > 3 else "")
        groups = f', or say what its folders ({shown}) are: columns="person=folder" or columns="gender=folder"'
    count = "1 picture" if len(pictures.ids) == 1 else f"{len(pictures.ids):,} pictures"
    return (
        f"{root}: {count}, and nothing says who they show: no annotations.json (COCO), "
        "labels.csv, samples.parquet (people), dataset.json (a manifest) or other table, and no picture has a .txt "
        f'(YOLO) or .xml (Pascal VOC) file of its name{linked}; name the table: labels="my.csv"{groups} '
        "(`countenance docs data`)"
    )


def refuse_boxes(reading: FolderReading, source: object) -> None:
    """Refuse options on boxes where no table is read that could hold boxes."""
    if reading.boxes != StatedBoxes():
        raise OptionError(
            "truth_boxes" if reading.boxes.form else "truth_units",
            "truth_boxes and truth_units are for a dataset by name and folder (bafmd:FOLDER) or with labels, "
            f"not for {source!s:.80}",
        )
