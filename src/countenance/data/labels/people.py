"""The rows of a label table as people: picture, identity, boxes and attributes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from countenance.data.categories import Categories, choose
from countenance.data.labels.boxes import StatedBoxes, corners_of
from countenance.data.labels.columns import LabelColumns
from countenance.data.labels.finder import PictureFinder
from countenance.data.labels.rows import LabelTable
from countenance.data.labels.values import attribute_values, split_values
from countenance.data.reading import cells
from countenance.data.sample import Floats, Sample, Subject, Value
from countenance.errors import InputError
from countenance.words import is_missing, without_zero_decimals


@dataclass(frozen=True)
class LabelledPerson:
    """The contents of a row (or of one box of a row)."""

    line: int
    picture: str
    index: str | None = None
    annotation: str | None = None
    identity: str | None = None
    face_box: Floats | None = None
    person_box: Floats | None = None
    attributes: Mapping[str, Value] = field(default_factory=dict)
    split: str | None = None
    truth: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_box(self) -> bool:
        return self.face_box is not None or self.person_box is not None

    def subject(self, number: int, sample: Sample) -> Subject:
        """The person of this row in a picture."""
        values: dict[str, Any] = {"id": self.index or str(number), **self.truth}
        person = cells.subject(values, sample, f"line {self.line}")
        return Subject(
            person.id,
            self.identity,
            self.person_box,
            self.face_box,
            person.keypoints,
            person.landmarks,
            person.mask,
            person.face_parts,
            person.body_parts,
            self.attributes,
        )


@dataclass
class LabelOptions:
    """The user's options on how a label table is read."""

    categories: str | None = None
    boxes: StatedBoxes = field(default_factory=StatedBoxes)
    only_present: bool = False


def people_of(
    table: LabelTable,
    columns: LabelColumns,
    finder: PictureFinder,
    samples: Mapping[str, Sample],
    options: LabelOptions,
) -> list[LabelledPerson]:
    """Everybody whom a table names, in the table's order; problems are noted in the table.

    Only boxes need the sizes of the pictures, which are opened for them where nothing states their size.
    """
    pictures = _pictures(table, columns, finder, options)
    shown = [None if picture is None else samples.get(picture) for picture in pictures] if columns.boxes else []
    shapes = [None if sample is None else (sample.width, sample.height) for sample in shown]
    corners = {box.kind: corners_of(table, box, shapes, options.boxes) for box in columns.boxes}
    classes = _classes(table, columns, options)
    named = {name: attribute_values(table, name, column) for name, column in columns.attributes.items()}
    columns.attributes = {own: columns.attributes[name] for name, (own, _) in named.items()}
    about = dict(named.values())
    identities = without_zero_decimals(table.columns[columns.person]) if columns.person else None
    splits = split_values(table.columns[columns.split]) if columns.split else None
    rows: list[LabelledPerson] = []
    for i, (line, picture) in enumerate(zip(table.lines, pictures, strict=True)):
        if picture is None:
            continue
        kind, masked = _shown(table, columns, classes, i)
        boxes = _boxes_of_row(corners, i, kind)
        if kind == "other":
            continue
        values = {name: column[i] for name, column in about.items()}
        who = None if identities is None or is_missing(identities[i]) else identities[i]
        own = LabelledPerson(
            line,
            picture,
            _cell(table, columns.index, i),
            _cell(table, columns.annotation, i),
            who,
            attributes=values | ({"masked": masked} if masked else {}),
            split=None if splits is None else splits[i],
            truth=_truth(table, columns, i),
        )
        rows += [_with_boxes(own, face, person) for face, person in boxes]
    if classes is not None:
        table.notes += classes.notes(table.path.name)
    return rows


def _with_boxes(row: LabelledPerson, face: Floats | None, person: Floats | None) -> LabelledPerson:
    from dataclasses import replace

    return replace(row, face_box=face, person_box=person)


def _cell(table: LabelTable, name: str | None, i: int) -> str | None:
    cell = table.columns[name][i] if name else ""
    return None if is_missing(cell) else cell.removesuffix(".0")


def _pictures(
    table: LabelTable, columns: LabelColumns, finder: PictureFinder, options: LabelOptions
) -> list[str | None]:
    """The picture of every row; rows whose picture is missing are problems, or left out with `only_present`."""
    if columns.file is None:
        table.problems.add_whole(
            f'no column names the pictures (there are {", ".join(table.names)}); say which one: columns="file=COLUMN"'
        )
        return [None] * len(table)
    pictures: list[str | None] = []
    others = [column for name, column in table.columns.items() if name != columns.file]
    absent = 0
    for i, cell in enumerate(table.columns[columns.file]):
        picture = finder.find(cell, (column[i] for column in others))
        pictures.append(picture)
        if picture is not None:
            continue
        if is_missing(cell):
            table.problems.add("{} no picture", table.lines[i], "", "row names", "rows name")
        elif len(finder.candidates(cell)) > 1:
            both = " and ".join(finder.candidates(cell)[:2])
            table.problems.add(
                "{} in several folders; write the folder, too",
                table.lines[i],
                f"{cell} is {both}",
                "picture is",
                "pictures are",
            )
        elif options.only_present:
            absent += 1
        else:
            table.problems.add(
                "{} a picture that is not there; only_present=True leaves such rows out",
                table.lines[i],
                cell,
                "row names",
                "rows name",
            )
    if absent:
        rows = "1 row names a picture that is" if absent == 1 else f"{absent:,} rows name pictures that are"
        table.notes.append(f"{table.path.name}: {rows} not there and left out")
    return pictures


def _classes(table: LabelTable, columns: LabelColumns, options: LabelOptions) -> Categories | None:
    """The meaning of the words in the class column."""
    if columns.category is None:
        if options.categories:
            table.problems.add_whole("categories= chooses classes, and no column has any; leave it out")
        return None
    words = dict.fromkeys(cell for cell in table.columns[columns.category] if not is_missing(cell))
    return choose([{"id": word, "name": word} for word in words], options.categories, str(table.path))


def _shown(
    table: LabelTable, columns: LabelColumns, classes: Categories | None, i: int
) -> tuple[str | None, str | None]:
    """What the box of a row shows (face, person, other; None: not stated) and whether a mask is worn."""
    if classes is None:
        return table.kind, None
    word = table.columns[columns.category or ""][i]
    if is_missing(word):
        return table.kind, None
    kind = classes.kind(word, f"{table.path} line {table.lines[i]}")
    return kind or "other", classes.masked.get(word)


def _boxes_of_row(
    corners: Mapping[str | None, list[list[Floats]]], i: int, kind: str | None
) -> list[tuple[Floats | None, Floats | None]]:
    """Face and person box of each person of a row; a box of unknown kind serves as either."""
    faces = corners["face"][i] if "face" in corners else []
    people = corners["person"][i] if "person" in corners else []
    if None in corners:
        boxes = corners[None][i]
        faces = faces or (boxes if kind in (None, "face") else [])
        people = people or (boxes if kind in (None, "person") else [])
    count = max(len(faces), len(people), 1)
    faces_or_none = [*faces, *[None] * (count - len(faces))]
    people_or_none = [*people, *[None] * (count - len(people))]
    return list(zip(faces_or_none, people_or_none, strict=True))


def _truth(table: LabelTable, columns: LabelColumns, i: int) -> dict[str, Any]:
    """Keypoints, landmarks and the like, which a table writes as JSON."""
    values: dict[str, Any] = {}
    for name in columns.truth:
        cell = table.columns[name][i]
        if is_missing(cell):
            continue
        try:
            values[name] = json.loads(cell)
            if name in cells.SHAPES:
                cells.numbers(values[name], cells.SHAPES[name], "")
        except (ValueError, RecursionError, InputError):
            values.pop(name, None)
            table.problems.add(f"{{}} of {name} cannot be read", table.lines[i], cell, "cell", "cells")
    return values
