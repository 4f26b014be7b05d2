"""A folder of images with `labels.csv`: one row per subject (or per image), and `card.json` where there is one."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.data.card import DatasetCard
from countenance.data.image import LazyImage
from countenance.data.layout import copy_image
from countenance.data.paths import inside
from countenance.data.reading import cells
from countenance.data.sample import Dataset, Sample, Subject, truth
from countenance.data.tables import harmless, near, read_csv
from countenance.data.vocabulary import NUMERIC, VOCABULARIES
from countenance.errors import DataError, InputError
from countenance.files import write_text
from countenance.person_columns import person_column

FILE_COLUMNS = ("file", "sample", "width", "height", "image_attributes")
SUBJECT_COLUMNS = (
    "subject",
    "identity",
    "person_box",
    "face_box",
    "keypoints",
    "landmarks",
    "mask",
    "face_parts",
    "body_parts",
)
JSON_COLUMNS = ("person_box", "face_box", "keypoints", "landmarks", "face_parts", "body_parts", "image_attributes")
PREFIX = "attr."


@dataclass(frozen=True)
class OpenedTable:
    """`labels.csv` of a folder, read once, and the folder's card."""

    root: Path
    card: DatasetCard
    header: list[str]
    rows: Iterable[tuple[int, dict[str, str]]]

    @classmethod
    def of(cls, root: Path) -> "OpenedTable":
        card = (
            DatasetCard.read(root / "card.json")
            if (root / "card.json").exists()
            else DatasetCard(name=root.resolve().name)
        )
        return cls(root, card, *read_csv(root / "labels.csv"))

    def is_own(self) -> bool:
        """Whether every column is one that `data export` writes, or is declared in the card."""
        header = set(self.header)
        known = {*FILE_COLUMNS, *SUBJECT_COLUMNS, *VOCABULARIES, *NUMERIC, *self.card.attributes, person_column(header)}
        exported = {"subject", "sample"} & header or {"width", "height"} <= header
        return "file" in header and bool(exported) and all(n in known or n.startswith(PREFIX) for n in header)


def own_table(root: Path) -> OpenedTable | None:
    """`labels.csv` as `data export` writes it; None for another table of that name, read as any table of labels."""
    try:
        table = OpenedTable.of(root)
    except InputError:
        return None
    return table if table.is_own() else None


def read_folder(root: Path, *, attributes: Sequence[str] = (), opened: OpenedTable | None = None) -> Dataset:
    """Read `root/labels.csv` (column `file`, then truth and attributes) and the pictures it names.

    A column is the truth it is named after (`person_id` and the like are `identity`), an attribute this package knows,
    one declared in `card.json` or in `attributes`, or one written `attr.NAME`; any other is refused, so that a typo is
    never an attribute. `opened` is the table where it was opened already.
    """
    opened = opened or OpenedTable.of(root)
    card, header, table = opened.card, opened.header, root / "labels.csv"
    if "file" not in header:
        raise DataError(f"{table} line 1: no column 'file'{near('file', header)}; it names each row's image")
    person = person_column(header)
    columns = attribute_columns([name for name in header if name != person], card, attributes, table)
    pictures: dict[str, Sample] = {}
    subjects: dict[str, list[Subject]] = {}
    for line, row in opened.rows:
        place = f"{table} line {line}"
        file = row["file"]
        if file not in pictures:
            pictures[file] = _picture(root, file, row, place)
            subjects[file] = []
        if row.get("subject") != "":  # an image without people has one row with an empty subject
            values = _subject_values(row, columns, len(subjects[file]), place)
            values["identity"] = row[person] if person else None
            subjects[file].append(cells.subject(values, pictures[file], place))
    return Dataset(card, [_peopled(picture, subjects[file], table) for file, picture in pictures.items()])


def _peopled(picture: Sample, subjects: Sequence[Subject], table: Path) -> Sample:
    people, about = cells.people(subjects, picture.attributes, f"{table}: image_attributes of {picture.id}")
    return picture.having(subjects=people, attributes=about)


def attribute_columns(header: list[str], card: DatasetCard, declared: Sequence[str], table: Path) -> dict[str, str]:
    """The columns that hold attributes, each with the attribute's name."""
    known = [*VOCABULARIES, *NUMERIC, *card.attributes, *declared]
    columns: dict[str, str] = {}
    for name in header:
        if name in FILE_COLUMNS or name in SUBJECT_COLUMNS:
            continue
        if name.startswith(PREFIX):
            columns[name] = name.removeprefix(PREFIX)
        elif name in known:
            columns[name] = name
        else:
            hint = near(name, [*known, *FILE_COLUMNS, *SUBJECT_COLUMNS])
            raise DataError(
                f"{table} line 1: unknown column {name!r}{hint}; write {PREFIX + name} to read it as an attribute"
            )
    return columns


def _json_cell(row: dict[str, str], name: str, place: str) -> Any:
    text = row.get(name) or ""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"{place}: {name} is {text!r:.60}, expected JSON such as [10, 20, 30, 40]") from None


def _picture(root: Path, file: str, row: dict[str, str], place: str) -> Sample:
    image = LazyImage(inside(root, file, place))
    width = height = None
    if row.get("width") and row.get("height"):
        width, height = (int(row[side]) if row[side].isdecimal() else 0 for side in ("width", "height"))
        if not (0 < width < 2**31 and 0 < height < 2**31):
            raise DataError(f"{place}: width and height are {row['width']!r}, {row['height']!r}, expected pixels")
    about = _json_cell(row, "image_attributes", place) or {}
    if not isinstance(about, dict):
        raise DataError(f"{place}: image_attributes: expected names with values, found {about!r:.60}")
    return Sample(row.get("sample") or file, image, width, height, (), cells.attributes(about, place))


def _subject_values(row: dict[str, str], columns: dict[str, str], index: int, place: str) -> dict[str, Any]:
    values: dict[str, Any] = {name: _json_cell(row, name, place) for name in JSON_COLUMNS}
    values |= {"id": row.get("subject") or str(index), "mask": row.get("mask") or None}
    values["attributes"] = {
        name: _json_cell(row, column, place) if row[column].startswith("[") else row[column]
        for column, name in columns.items()
    }
    return values


def write_folder(dataset: Dataset, out: Path) -> None:
    """Write `out/images/…`, `out/labels.csv` and `out/card.json`; reading them back gives the same truth."""
    names = sorted({name for sample in dataset for subject in sample.subjects for name in subject.attributes})
    out.mkdir(parents=True)
    write_text(out / "card.json", dataset.card.model_dump_json(indent=2) + "\n")
    with (out / "labels.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*FILE_COLUMNS, *SUBJECT_COLUMNS, *(harmless(PREFIX + name) for name in names)])
        for sample in dataset:
            file = copy_image(sample, out)
            plain = truth(sample)
            about = json.dumps(plain["attributes"]) if plain["attributes"] else ""
            head = [file, sample.id, sample.width, sample.height, about]
            for values in plain["subjects"] or [None]:
                writer.writerow([harmless(cell) for cell in (*head, *_subject_cells(values, names))])


def _subject_cells(values: dict[str, Any] | None, names: list[str]) -> list[Any]:
    if values is None:
        return [""] * (len(SUBJECT_COLUMNS) + len(names))

    def cell(value: Any) -> Any:
        if value is None or value == {} or value == []:
            return ""
        return json.dumps(value) if isinstance(value, (list, dict)) else value

    row = [cell(values["id"] if name == "subject" else values[name]) for name in SUBJECT_COLUMNS]
    return [*row, *(cell(values["attributes"].get(name)) for name in names)]
