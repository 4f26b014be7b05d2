"""The challenge's files: labels.csv, predictions with the same columns, lists of names; and the submission check.

A problem is reported once, with how often it occurs and a few examples; any problem refuses the file.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import csv_text, near, read_csv, read_text
from countenance.data.vocabulary import VOCABULARIES
from countenance.errors import DataError
from countenance.person_columns import person_column

ATTRIBUTES = ("skin_tone", "age", "gender")
COLUMNS = ("name", "skin_tone", "gender", "age")
CLASSES: Mapping[str, tuple[str, ...]] = {
    "skin_tone": VOCABULARIES["skin_tone"],
    "age": VOCABULARIES["age_group"],
    "gender": VOCABULARIES["gender"],
}
"""The classes of each attribute in their natural order, in which every table here counts them."""
CODES = {name: {word: code for code, word in enumerate(words)} for name, words in CLASSES.items()}
IDENTITIES, NONFACES_FILE = "identities.csv", "nonfaces.txt"
NOT_A_NUMBER = ("nan", "na", "n/a", "none", "null")
EXAMPLES = 3

Ints = NDArray[np.int64]
Problems = dict[str, list[str]]
"""Where each kind of problem occurs."""


@dataclass(frozen=True)
class ClassTable:
    """Names with a class code for each attribute; −1 is unlabelled."""

    names: tuple[str, ...]
    codes: Mapping[str, Ints]

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The row of each name."""
        return {name: row for row, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def words(self, row: int) -> dict[str, str]:
        """The classes of one row, without those that are unlabelled."""
        return {name: CLASSES[name][code] for name in ATTRIBUTES if (code := int(self.codes[name][row])) >= 0}

    def rows(self, names: Sequence[str]) -> dict[str, Ints]:
        """The codes of the given names, in their order."""
        at = np.array([self.index[name] for name in names], dtype=np.int64)
        return {attribute: self.codes[attribute][at] for attribute in ATTRIBUTES}


@dataclass(frozen=True)
class Truth:
    """The facts about a set of pictures: their labels, their people, and which are not faces."""

    labels: ClassTable
    people: tuple[str | None, ...] | None = None
    """The person of each picture, None for a picture without a name; None as a whole where no file names people."""
    nonfaces: tuple[str, ...] = ()

    @classmethod
    def read(cls, labels: Path, nonfaces: Path | None = None, identities: Path | None = None) -> "Truth":
        """Read labels, identities and non-faces; identities may be beside the labels or in the organiser's files."""
        table = read_labels(labels)
        places = (labels.parent, organiser_folder(labels.parent.parent, labels.parent.name))
        source = identities or next((file for place in places if (file := place / IDENTITIES).exists()), None)
        people = None if source is None else read_identities(source, table.names)
        return cls(table, people, read_names(nonfaces) if nonfaces is not None else ())

    @classmethod
    def of_split(cls, data: Path, split: str) -> "Truth":
        """A split of the challenge's folder; for the holdout, the non-faces are known too."""
        folder = data / split
        listed = folder / NONFACES_FILE
        return cls.read(folder / "labels.csv", listed if split == "holdout" and listed.exists() else None)

    @cached_property
    def clusters(self) -> Ints:
        """A number for each picture, which pictures of one person share; a picture without a person has its own."""
        if self.people is None:
            return np.arange(len(self.labels))
        keys = [(who is None, who or name) for name, who in zip(self.labels.names, self.people, strict=True)]
        number = {key: i for i, key in enumerate(sorted(set(keys)))}
        return np.array([number[key] for key in keys], dtype=np.int64)

    def predictions(self, path: Path) -> ClassTable:
        """Predictions of every picture, non-faces included; refused with every problem when they are not whole."""
        return read_predictions(path, (*self.labels.names, *self.nonfaces))


def _refuse(path: Path, problems: Problems, remedy: str) -> None:
    """Raise one InputError with every kind of problem, how often it occurs and a few examples, if there is any."""
    lines = [
        f"{kind}: {len(names)} ({', '.join(names[:EXAMPLES])}{', …' if len(names) > EXAMPLES else ''})"
        for kind, names in problems.items()
        if names
    ]
    if lines:
        raise DataError(f"{path}: {'; '.join(lines)}. {remedy}")


def _parse(path: Path, *, may_be_empty: bool) -> tuple[ClassTable, Problems]:
    _, rows = read_csv(path, needed=COLUMNS)
    problems: Problems = defaultdict(list)
    seen: dict[str, None] = {}
    codes: dict[str, list[int]] = {attribute: [] for attribute in ATTRIBUTES}
    for line, row in rows:
        name = row["name"].strip()
        if not name:
            problems["rows without a name"].append(f"line {line}")
            continue
        if name in seen:
            problems["duplicate names"].append(f"{name} line {line}")
            continue
        seen[name] = None
        for attribute in ATTRIBUTES:
            word = row[attribute].strip()
            code = CODES[attribute].get(word, -1)
            codes[attribute].append(code)
            if code >= 0 or (may_be_empty and not word):
                continue
            if not word or word.lower() in NOT_A_NUMBER:
                problems[f"{attribute} empty or not a class (NaN)"].append(f"{name} line {line}")
            else:
                hint = near(word, CLASSES[attribute])
                problems[f"unknown classes of {attribute}"].append(f"{word!r} at {name} line {line}{hint}")
    arrays = {attribute: np.array(values, dtype=np.int64) for attribute, values in codes.items()}
    return ClassTable(tuple(seen), arrays), problems


def read_labels(path: Path) -> ClassTable:
    """The truth: `name,skin_tone,gender,age`, an empty cell is an unlabelled one."""
    table, problems = _parse(path, may_be_empty=True)
    _refuse(path, problems, "Labels are a class's name, or an empty cell where unlabelled.")
    if not len(table):
        raise DataError(f"{path}: no rows below the header; expected one for each image")
    return table


def read_names(path: Path) -> tuple[str, ...]:
    """A name on each line (the known non-faces); a name twice is refused."""
    names = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    first = {name: number for number, name in reversed(list(enumerate(names, 1)))}
    twice = [f"{name} (name {number})" for number, name in enumerate(names, 1) if first[name] != number]
    _refuse(path, {"duplicate names": twice}, "Write each name once.")
    return tuple(names)


def read_predictions(path: Path, expected: Iterable[str] | None = None) -> ClassTable:
    """Predictions with the columns of labels.csv: every expected name once, a known class in every cell.

    Everything wrong is reported at once: missing, extra and duplicate names, unknown classes, empty cells and NaN,
    and the count of rows.
    """
    table, problems = _parse(path, may_be_empty=False)
    if expected is not None:
        names = dict.fromkeys(expected)
        rows = len(table) + len(problems["duplicate names"]) + len(problems["rows without a name"])
        problems["missing names"] = [name for name in names if name not in table.index]
        problems["extra names"] = [name for name in table.names if name not in names]
        if rows != len(names):
            problems["wrong count of rows"] = [f"{rows:,} rows, expected {len(names):,}"]
    _refuse(path, problems, "Write each image's name once with a known class in every column.")
    return table


def predictions_text(names: Sequence[str], words: Sequence[Mapping[str, str]]) -> str:
    """The text of a predictions file.

    >>> predictions_text(["a.png"], [{"skin_tone": "monk_3", "gender": "male", "age": "0_17"}])
    'name,skin_tone,gender,age\\na.png,monk_3,male,0_17\\n'
    """
    rows = zip(names, words, strict=True)
    return csv_text(COLUMNS, ([name, *(labels[column] for column in COLUMNS[1:])] for name, labels in rows))


def read_identities(path: Path, names: Sequence[str]) -> tuple[str | None, ...]:
    """The person in each of `names` (`name,identity`); None for an image without an entry."""
    header, rows = read_csv(path, needed=("name",))
    column = person_column(header)
    if column is None:
        raise DataError(f"{path} line 1: no column 'identity'{near('identity', header)}; expected name, identity")
    known = {row["name"].strip(): row[column].strip() for _, row in rows}
    return tuple(known.get(name) or None for name in names)


def organiser_folder(root: Path, split: str) -> Path:
    """The folder of the organiser's files of a split: beside the holdout's labels, apart from participants' files.

    >>> organiser_folder(Path("bounty"), "test").as_posix(), organiser_folder(Path("bounty"), "holdout").as_posix()
    ('bounty/organiser/test', 'bounty/holdout')
    """
    return root / split if split == "holdout" else root / "organiser" / split
