"""`attributes.csv`: identities and attributes that a dataset's boxes lack, a row for each person or each image."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from countenance.data.categories import masked_word
from countenance.data.names import ImageNames
from countenance.data.reading import cells
from countenance.data.sample import Dataset, Sample, Value
from countenance.data.tables import read_csv
from countenance.errors import InputError
from countenance.person_columns import person_column

FILE_COLUMNS = ("file", "filename", "file_name", "image")
KEYS = ("annotation_id", "image_id", *FILE_COLUMNS, "face")
Who = tuple[str, int | None]
"""A sample's id with the index of one of its subjects, or with None for all of them."""


@dataclass(frozen=True)
class AttributeRows:
    """The rows of a table by person or image, each with its place.

    `person` is the column of identities, `columns` are all others except the key.
    """

    columns: list[str]
    rows: Mapping[Who, tuple[str, dict[str, str]]] = field(default_factory=dict)
    person: str | None = None

    def people(self) -> dict[Who, tuple[str, str]]:
        """The identities that the table gives, with their places in the table."""
        if self.person is None:
            return {}
        named = {who: (place, cells.identity(row[self.person], place)) for who, (place, row) in self.rows.items()}
        return {who: (place, person) for who, (place, person) in named.items() if person is not None}


def attribute_rows(dataset: Dataset, table: Path, annotations: Mapping[str, Who | None] | None = None) -> AttributeRows:
    """Read a CSV with a column `annotation_id`, `image_id`, or `file`, and with `file` optionally `face` (from 0).

    `annotations` are the annotation ids of a COCO file (None: it was left out). A file is named in any way that can
    only mean one image. A second row for the same person, and a row that matches nobody, are refused.
    """
    header, rows = read_csv(table)
    names = ImageNames([sample.id for sample in dataset])
    find: dict[str, Callable[[str], Who | None]] = {}
    if annotations:
        find["annotation_id"] = lambda name: annotations[name if name in annotations else name.removesuffix(".0")]
    if dataset.aliases:
        images = dataset.aliases
        find["image_id"] = lambda name: (images[name if name in images else name.removesuffix(".0")], None)
    find |= dict.fromkeys(FILE_COLUMNS, lambda name: (_known(names.find(name)), None))
    key = next((name for name in find if name in header), None)
    if key is None:
        raise InputError(f"{table} line 1: no column {', '.join(list(find)[:-3])} or image; found {', '.join(header)}")
    faces = {sample.id: len(sample.people) for sample in dataset}
    result: dict[Who, tuple[str, dict[str, str]]] = {}
    for line, row in rows:
        place, name = f"{table} line {line}", row[key].strip()
        try:
            who = find[key](name)
        except KeyError:
            raise InputError(f"{place}: {key} {name!r} is not in the dataset of {len(dataset)} images") from None
        face = row.get("face", "").strip() if key in FILE_COLUMNS else ""
        if face and who is not None:
            if not face.isdecimal() or int(face) >= faces[who[0]]:
                boxes = "1 box" if faces[who[0]] == 1 else f"{faces[who[0]]} boxes"
                raise InputError(f"{place}: face {face!r}, but {name} has {boxes}, counted from 0")
            who = (who[0], int(face))
        if who in result:
            unsaid = key in FILE_COLUMNS and not face
            remedy = "; a column face (from 0) says which box a row is about" if unsaid else ""
            raise InputError(f"{place}: {key} {name!r}{f' face {face}' if face else ''} has a row already{remedy}")
        if who is not None:
            result[who] = (place, row)
    person = person_column(header)
    return AttributeRows([name for name in header if name not in (*KEYS, person)], result, person)


def _known(name: str | None) -> str:
    if name is None:
        raise KeyError
    return name


def with_attributes(
    dataset: Dataset, words: Mapping[Who, Mapping[str, Value]], people: Mapping[Who, tuple[str, str]]
) -> Dataset:
    """The dataset with further attributes and identities; values in the annotations are not overwritten.

    An identity for a whole image is refused where the image has boxes of several people.
    """
    samples = []
    for sample in dataset:
        everybody = _only_person(sample, people)
        subjects = []
        for i, subject in enumerate(sample.people):
            further = {**words.get((sample.id, None), {}), **words.get((sample.id, i), {})}
            own = {name: value for name, value in subject.attributes.items() if value is not None}
            _, person = people.get((sample.id, i), ("", everybody))
            known = {**subject.attributes, **further, **own}
            subjects.append(replace(subject, identity=subject.identity or person, attributes=known))
        regions = [subject for subject in sample.subjects if subject.ignored]
        samples.append(sample.having(subjects=(*subjects, *regions)))
    return dataset.of(samples)


def _only_person(sample: Sample, people: Mapping[Who, tuple[str, str]]) -> str | None:
    """The identity of the only person of an image, from a row without a box; raises for several people."""
    if (sample.id, None) not in people:
        return None
    place, person = people[sample.id, None]
    if not cells.alone(sample.people):
        remedy = "a column face (from 0) says which box a row is about"
        raise InputError(f"{place}: one identity ({person:.60}), but {len(sample.people)} boxes; {remedy}")
    return person


def with_table(dataset: Dataset, table: Path) -> Dataset:
    """The dataset with the identities of a CSV and every further column as an attribute.

    `masked` or `mask` is used where the boxes do not say it.
    """
    annotated = [(subject.id, (sample.id, i)) for sample in dataset for i, subject in enumerate(sample.people)]
    result = attribute_rows(
        dataset, table, dict(annotated) if dataset.aliases else None
    )  # COCO numbers its annotations
    names = {name: name.removeprefix("attr.") for name in result.columns if name and name not in ("mask", "masked")}
    words = {}
    for who, (place, row) in result.rows.items():
        worn = masked_word(row.get("masked") or row.get("mask") or "", place)
        own = cells.attributes({own: row[name].strip() for name, own in names.items()}, place)
        words[who] = own | ({"masked": worn} if worn else {})
    return with_attributes(dataset, words, result.people())
