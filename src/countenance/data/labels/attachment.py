"""Labels beside a dataset that another reader has read: identities and further attributes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from countenance.data.balance import shown_people
from countenance.data.labels.files import read_label_file
from countenance.data.labels.finder import PictureFinder
from countenance.data.labels.labelled_pictures import by_folder, understand_table
from countenance.data.labels.people import LabelledPerson, LabelOptions, people_of
from countenance.data.labels.rows import LabelTable
from countenance.data.reading import cells
from countenance.data.sample import Dataset, Floats, Sample, Subject
from countenance.errors import DataError
from countenance.metrics.boxes import iou_matrix

SAME_BOX = 0.5
"""Boxes with at least this overlap belong to one person."""


def attach_labels(dataset: Dataset, path: Path, stated: Mapping[str, str], options: LabelOptions) -> Dataset:
    """The dataset with a table's values for its people; the dataset's own values are not overwritten."""
    finder = PictureFinder([sample.id for sample in dataset], dataset.aliases)
    table = by_folder(read_label_file(path, finder.names_picture), finder)
    columns = understand_table(table, finder, stated, options)
    pictures = {sample.id: sample for sample in dataset}
    by_picture: dict[str, list[LabelledPerson]] = {}
    for row in people_of(table, columns, finder, pictures, options):
        by_picture.setdefault(row.picture, []).append(row)
    samples = [_labelled(sample, by_picture.get(sample.id, []), table) for sample in dataset]
    table.problems.refuse()
    if not by_picture:
        raise DataError(f"{path}: none of its rows names a picture of {dataset.name}")
    unlisted = len(dataset) - len(by_picture)
    notes = list(table.notes)
    if unlisted:
        notes.append(f"{path.name}: {unlisted:,} pictures have no row there")
    labelled = dataset.of(samples)
    count, named = shown_people(labelled)
    notes.insert(0, f"{path.name}: {columns.sentence(len(by_picture), count, named)}")
    return labelled.of(samples, notes=notes)


def _labelled(sample: Sample, rows: Sequence[LabelledPerson], table: LabelTable) -> Sample:
    """A picture with the values of its rows."""
    if not rows:
        return sample
    split = next((row.split for row in rows if row.split is not None), None)
    about = {**({} if split is None else {"split": split}), **sample.attributes}
    regions = [subject for subject in sample.subjects if subject.ignored]
    if not sample.people:
        subjects = [row.subject(i, sample) for i, row in enumerate(rows)]
        return sample.having(subjects=(*subjects, *regions), attributes=about)
    people = list(sample.people)
    for row in rows:
        meant = _meant(row, rows, sample)
        if not meant:
            table.problems.add(
                "{} nobody of the picture: a box, or a column face (from 0), says who is meant",
                row.line,
                row.picture,
                "row is about",
                "rows are about",
            )
        elif row.identity is not None and not cells.alone([people[i] for i in meant]):
            table.problems.add(
                "{} one person for a picture of several; a column face (from 0) says which box is meant",
                row.line,
                row.picture,
                "row names",
                "rows name",
            )
        else:
            for i in meant:
                people[i] = _merged(people[i], row)
    return sample.having(subjects=(*people, *regions), attributes=about)


def _meant(row: LabelledPerson, rows: Sequence[LabelledPerson], sample: Sample) -> list[int]:
    """The people whom a row is about: by annotation, by number, by box, or everybody where it is the picture's only
    row."""
    subjects = sample.people
    if row.annotation is not None:
        return [i for i, subject in enumerate(subjects) if subject.id == row.annotation]
    if row.index is not None and row.index.isdecimal():
        return [int(row.index)] if int(row.index) < len(subjects) else []
    if row.has_box:
        overlaps = [_overlap(row, subject) for subject in subjects]
        known = [overlap for overlap in overlaps if overlap is not None]
        if known:
            best = max(known)
            return [i for i, overlap in enumerate(overlaps) if overlap == best] if best >= SAME_BOX else []
    return list(range(len(subjects))) if len(rows) == 1 else []


def _overlap(row: LabelledPerson, subject: Subject) -> float | None:
    """How much a row's box and a person's box overlap; None where they have no box of the same kind."""
    pairs = [(row.face_box, subject.face_box), (row.person_box, subject.person_box)]
    shared = [_iou(own, other) for own, other in pairs if own is not None and other is not None]
    return max(shared) if shared else None


def _iou(box: Floats, other: Floats) -> float:
    return float(iou_matrix(np.atleast_2d(box), np.atleast_2d(other))[0, 0])


def _merged(subject: Subject, row: LabelledPerson) -> Subject:
    own = {name: value for name, value in subject.attributes.items() if value is not None}
    boxed = subject.face_box is not None or subject.person_box is not None
    return replace(
        subject,
        identity=subject.identity or row.identity,
        attributes={**subject.attributes, **row.attributes, **own},
        face_box=subject.face_box if boxed else row.face_box,
        person_box=subject.person_box if boxed else row.person_box,
    )
