"""The annotation table of FHIBE and FHIBE-Face: one row per person, read safely, with every problem's place."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from countenance.data.adapters.fhibe.places import ANCESTRIES
from countenance.data.adapters.fhibe.words import BODY_TASKS, DATASETS, FACE_TASKS, TASKS
from countenance.data.paths import inside
from countenance.data.reading.columns import TextTable, check_ages, literal, read_columns
from countenance.data.tables import near
from countenance.errors import DataError

COLUMNS: dict[str, tuple[str, ...]] = {
    "person_localization": ("person_bbox",),
    "face_localization": ("face_bbox",),
    "person_parsing": ("segments", "image_height", "image_width"),
    "keypoint_estimation": ("keypoints", "face_bbox", "segments", "image_height", "image_width"),
    "body_parts_detection": ("keypoints", "segments"),
    "face_parsing": ("CelebA", "image_height", "image_width"),
    "face_verification": ("multiple_subjects",),
    "face_encoding": (),
    "face_super_resolution": (),
}
"""The columns that each task reads beside filepath, image_id, subject_id, age and the attributes."""

USEFUL = ("image_height", "image_width")
"""Columns that are read if the table has them; without them every picture is opened to read its size."""
MINI_SEED = 42


def dataset_folder(dataset_name: str, task: str, downsampled: bool = True) -> str:
    """The folder of a dataset: FHIBE has a downsampled twin, the face datasets have none.

    >>> dataset_folder("fhibe", "person_parsing"), dataset_folder("fhibe_face_crop_align", "face_parsing")
    ('fhibe_downsampled', 'fhibe_face_crop_align')
    """
    if task not in TASKS:
        raise DataError(f"task {task!r} is not one of {', '.join(TASKS)}{near(task, TASKS)}")
    base = dataset_name.removesuffix("_downsampled")
    if base not in DATASETS:
        raise DataError(f"dataset {dataset_name!r} is not one of {', '.join(DATASETS)}{near(dataset_name, DATASETS)}")
    face = base != "fhibe"
    if task not in (FACE_TASKS if face else BODY_TASKS):
        fitting = "fhibe" if face else "fhibe_face_crop_align"
        raise DataError(f"task {task} does not run on dataset {dataset_name}; use {fitting}")
    return base if face or not (downsampled or base != dataset_name) else f"{base}_downsampled"


class FhibeTable(TextTable):
    """The rows of one dataset, one for each person."""

    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of each row's picture."""
        sizes_by_name = {name: self.numbers(name) for name in ("image_height", "image_width")}
        for name, values in sizes_by_name.items():
            for i in np.flatnonzero(~((values >= 1) & (values <= 1 << 16))).tolist():
                raise DataError(f"{self.place(i, name)}: {self.text(name)[i]!r}, expected 1 to 65536 pixels")
        return [(int(height), int(width)) for height, width in zip(*sizes_by_name.values(), strict=True)]

    def keys(self) -> list[str]:
        """The name of each row's image in model_outputs.json: its absolute path, as published."""
        prefix = os.path.join(str(self.root), "")  # noqa: PTH118 - the published keys are plain joins
        return [prefix + name for name in self.text("filepath")]

    def output_keys(self, task: str) -> list[str]:
        """The names of a task's outputs: those of verification are in the processed folder, as published."""
        if task != "face_verification":
            return self.keys()
        return [f"{self.root}/data/processed/{name}" for name in self.text("filepath")]


def processed(root: Path, dataset: str) -> Path:
    """The folder of a dataset's table: `data/processed/DATASET` or `processed/DATASET` below the root."""
    folders = [root / middle / dataset for middle in ("data/processed", "processed")]
    return next((folder for folder in folders if (folder / f"{dataset}.csv").is_file()), folders[0])


def read_table(
    root: str | Path, dataset: str, task: str | Sequence[str], attributes: tuple[str, ...], *, strict: bool = False
) -> FhibeTable:
    """Read the columns that a task and its attributes need from `{root}/data/processed/{dataset}/{dataset}.csv`.

    A missing column, a name that leads out of the root, and (unless strict) one subject id with ages more than five
    years apart or with two unlike rows for one image are refused. Smaller differences of age, rows that occur twice
    (they count once, unless strict) and ancestries that FHIBE does not have are noted as problems.
    """
    base = Path(root)
    path = processed(base, dataset) / f"{dataset}.csv"
    tasks = (task,) if isinstance(task, str) else tuple(task)
    needed = ("filepath", "image_id", "subject_id", *(name for item in tasks for name in COLUMNS[item]), *attributes)
    given_boxes = ("person_bbox",) if {"keypoint_estimation", "body_parts_detection"} & set(tasks) else ()
    useful = [name for name in (*USEFUL, *given_boxes) if name in _header(path)]
    columns = read_columns(path, tuple(dict.fromkeys((*needed, *useful))), "FHIBE's annotation table")
    rows = len(columns["filepath"])
    if rows == 0:
        raise DataError(f"{path}: no rows below the header")
    table = FhibeTable(path, base, columns, list(range(1, rows + 1)))
    for i, name in enumerate(columns["filepath"]):
        if not name or name[0] == "/" or ".." in name or "\\" in name or "\x00" in name or name[1:2] == ":":
            inside(base, name, table.place(i, "filepath"))
    table = without_repeats(table, strict=strict)
    if "age" in columns:
        check_ages(table, strict=strict)
    if "ancestry" in columns and not strict:
        check_ancestries(table)
    return table


def _header(path: Path) -> list[str]:
    """The names of a table's columns; empty where it cannot be read, since its reader reports that."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return next(csv.reader(stream), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def without_repeats(table: FhibeTable, *, strict: bool = False) -> FhibeTable:
    """The table with each person of an image once; two rows that say different things of a person are refused.

    With `strict` all rows stay, as published, and the repeats are noted.
    """
    first: dict[tuple[str, str], int] = {}
    repeats: list[tuple[int, int]] = []
    for i, person in enumerate(zip(table.text("filepath"), table.text("subject_id"), strict=True)):
        if person[1] and first.setdefault(person, i) != i:
            repeats.append((i, first[person]))
    for i, before in repeats:
        other = next((name for name, cells in table.columns.items() if cells[i] != cells[before]), None)
        if other is not None and not strict:
            raise DataError(
                f"{table.place(i, other)}: {table.text(other)[i]!r:.60}, but row {table.line[before]} is of the same "
                f"person in the same image and has {table.text(other)[before]!r:.60}; keep one of the two rows"
            )
    if not repeats:
        return table
    (i, before), again = repeats[0], {i for i, _ in repeats}
    rows = f"{len(repeats)} row{' repeats' if len(repeats) == 1 else 's repeat'} a person of an image"
    counted = "counted again, as published" if strict else "counted once"
    line = f"{table.path}: {rows}, the first row {table.line[i]} (as row {table.line[before]}); {counted}"
    remaining = table if strict else table.take([row for row in range(len(table)) if row not in again])
    remaining.problems.append(line)
    return remaining


def check_ancestries(table: FhibeTable) -> None:
    """Note ancestries that FHIBE does not have: they join no region, whatever their number."""
    cells = table.text("ancestry")
    first = {cell: i for i, cell in reversed(list(enumerate(cells))) if cell}
    strange: dict[str, int] = {}
    for cell, i in sorted(first.items(), key=lambda item: item[1]):
        values = literal(cell, table.place(i, "ancestry"))
        for value in values if isinstance(values, list | tuple) else ():
            if value not in ANCESTRIES:
                strange.setdefault(str(value), i)
    if strange:
        value, i = next(iter(strange.items()))
        more = f" (and {len(strange) - 1} more)" if len(strange) > 1 else ""
        hint = near(value, sorted(ANCESTRIES))
        table.problems.append(
            f"{table.place(i, 'ancestry')}: {value[:60]!r}{more} is not an ancestry of FHIBE{hint}; it joins no region"
        )


def mini(table: FhibeTable, size: int) -> FhibeTable:
    """The published mini dataset: `size` rows drawn without replacement, in the order drawn."""
    if not isinstance(size, int) or isinstance(size, bool):
        raise DataError(f"mini dataset of {size!r:.40} rows requested, expected a whole number")
    if size < 1 or size > len(table):
        raise DataError(f"mini dataset of {size} rows requested, {table.path} has {len(table)}")
    drawn = np.random.RandomState(MINI_SEED).choice(len(table), size=size, replace=False)
    return table.take(drawn.astype(np.intp))


def everyone_in(table: FhibeTable, drawn: FhibeTable) -> FhibeTable:
    """All people of the images of some drawn rows: the drawn ones first, in the order drawn.

    A person who was not drawn is still in the picture: a box on them is not a false alarm.
    """
    images, lines = set(drawn.text("filepath")), set(drawn.line)
    row = {line: i for i, line in enumerate(table.line)}
    others = [i for i, name in enumerate(table.text("filepath")) if name in images and table.line[i] not in lines]
    return table.take([row[line] for line in drawn.line] + others)
