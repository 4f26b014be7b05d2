"""The challenge's files: labels.csv, predictions with the same columns, lists of names; and the submission check.

A problem is reported once, with how often it occurs and a few examples; any problem refuses the file.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import near, read_csv, read_text
from countenance.data.vocabulary import VOCABULARIES
from countenance.errors import InputError

ATTRIBUTES = ("skin_tone", "age", "gender")
COLUMNS = ("name", "skin_tone", "gender", "age")
CLASSES: Mapping[str, tuple[str, ...]] = {
    "skin_tone": VOCABULARIES["skin_tone"],
    "age": VOCABULARIES["age_group"],
    "gender": VOCABULARIES["gender"],
}
"""The classes of each attribute in their natural order, in which every table here counts them."""
IDENTITIES, NONFACES_FILE = "identities.csv", "nonfaces.txt"
IDENTITY = "identity "
"""Begins the name of a cluster of one person's pictures."""
NOT_A_NUMBER = ("nan", "na", "n/a", "none", "null")
EXAMPLES = 3

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ClassTable:
    """Names with a class code for each attribute; −1 is unlabelled."""

    path: Path
    names: tuple[str, ...]
    codes: Mapping[str, Ints]
    index: Mapping[str, int] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, names: Sequence[str]) -> dict[str, Ints]:
        """The codes of the given names, in their order."""
        at = np.array([self.index[name] for name in names], dtype=np.int64)
        return {attribute: self.codes[attribute][at] for attribute in ATTRIBUTES}


@dataclass(frozen=True)
class Truth:
    """What is known of a set of pictures: their labels, whose pictures they are, and which are not faces."""

    labels: ClassTable
    people: tuple[str, ...] | None = None
    """The cluster of each picture; None: every picture stands for itself."""
    nonfaces: tuple[str, ...] = ()

    @classmethod
    def read(cls, labels: Path, nonfaces: Path | None = None, identities: Path | None = None) -> "Truth":
        """The files that say it; identities are looked for beside the labels and among the organiser's files."""
        table = read_labels(labels)
        outside = read_names(nonfaces) if nonfaces is not None else ()
        return cls(table, people_of(labels, table.names, identities), outside)

    @classmethod
    def of_split(cls, data: Path, split: str) -> "Truth":
        """A split of the challenge's folder; of the holdout the non-faces are known too."""
        folder = data / split
        listed = folder / NONFACES_FILE
        return cls.read(folder / "labels.csv", listed if split == "holdout" and listed.exists() else None)

    def predictions(self, path: Path) -> ClassTable:
        """Predictions of every picture, non-faces included; refused with every problem when they are not whole."""
        return read_predictions(path, (*self.labels.names, *self.nonfaces))


@dataclass(frozen=True)
class Draws:
    """How intervals are drawn."""

    replicates: int = 2000
    seed: int = 0


class Problems:
    """Collects problems by kind, with their number and first examples."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}
        self.counts: dict[str, int] = {}

    def add(self, kind: str, example: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if len(self.found.setdefault(kind, [])) < EXAMPLES:
            self.found[kind].append(example)

    def lines(self) -> list[str]:
        """One line for each kind of problem."""
        return [
            f"{kind}: {self.counts[kind]} ({', '.join(examples)}{', …' if self.counts[kind] > len(examples) else ''})"
            for kind, examples in self.found.items()
        ]

    def refuse(self, path: Path, remedy: str) -> None:
        """Raise one InputError with every kind of problem, if there is any."""
        if self.counts:
            raise InputError(f"{path}: " + "; ".join(self.lines()) + f". {remedy}")


def _header(path: Path, header: Sequence[str]) -> None:
    for column in COLUMNS:
        if column not in header:
            raise InputError(f"{path} line 1: no column {column!r}{near(column, header)}; expected {','.join(COLUMNS)}")


def _parse(path: Path, *, may_be_empty: bool, problems: Problems) -> ClassTable:
    header, rows = read_csv(path)
    _header(path, header)
    codes_of = {attribute: {word: i for i, word in enumerate(CLASSES[attribute])} for attribute in ATTRIBUTES}
    index: dict[str, int] = {}
    codes: dict[str, list[int]] = {attribute: [] for attribute in ATTRIBUTES}
    for line, row in rows:
        name = row["name"].strip()
        if not name:
            problems.add("rows without a name", f"line {line}")
            continue
        if name in index:
            problems.add("duplicate names", f"{name} line {line}")
            continue
        index[name] = len(index)
        for attribute in ATTRIBUTES:
            word = row[attribute].strip()
            code = codes_of[attribute].get(word, -1)
            codes[attribute].append(code)
            if code >= 0 or (may_be_empty and not word):
                continue
            if not word or word.lower() in NOT_A_NUMBER:
                problems.add(f"{attribute} empty or not a class (NaN)", f"{name} line {line}")
            else:
                hint = near(word, CLASSES[attribute])
                problems.add(f"unknown classes of {attribute}", f"{word!r} at {name} line {line}{hint}")
    arrays = {attribute: np.array(values, dtype=np.int64) for attribute, values in codes.items()}
    return ClassTable(path, tuple(index), arrays, index)


def read_labels(path: Path) -> ClassTable:
    """The truth: `name,skin_tone,gender,age`, an empty cell is an unlabelled one."""
    problems = Problems()
    table = _parse(path, may_be_empty=True, problems=problems)
    problems.refuse(path, "Labels are a class's name, or an empty cell where unlabelled.")
    if not len(table):
        raise InputError(f"{path}: no rows below the header; expected one for each image")
    return table


def read_names(path: Path) -> tuple[str, ...]:
    """A name on each line (the known non-faces); a name twice is refused."""
    names = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    problems = Problems()
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if name in seen:
            problems.add("duplicate names", f"{name} (name {number})")
        seen.add(name)
    problems.refuse(path, "Write each name once.")
    return tuple(names)


def read_predictions(path: Path, expected: Iterable[str] | None = None) -> ClassTable:
    """Predictions with the columns of labels.csv: every expected name once, a known class in every cell.

    Everything wrong is told at once: missing, extra and duplicate names, unknown classes, empty cells and NaN,
    and the count of rows.
    """
    problems = Problems()
    table = _parse(path, may_be_empty=False, problems=problems)
    if expected is not None:
        wanted = dict.fromkeys(expected)
        for name in wanted:
            if name not in table.index:
                problems.add("missing names", name)
        for name in table.names:
            if name not in wanted:
                problems.add("extra names", name)
        given = len(table) + problems.counts.get("duplicate names", 0) + problems.counts.get("rows without a name", 0)
        if given != len(wanted):
            problems.add("wrong count of rows", f"{given:,} rows, expected {len(wanted):,}")
    problems.refuse(path, "Write each image's name once with a known class in every column.")
    return table


def predictions_text(names: Sequence[str], words: Sequence[Mapping[str, str]]) -> str:
    """The text of a predictions file.

    >>> predictions_text(["a.png"], [{"skin_tone": "monk_3", "gender": "male", "age": "0_17"}])
    'name,skin_tone,gender,age\\na.png,monk_3,male,0_17\\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, labels in zip(names, words, strict=True):
        writer.writerow([name, *(labels[column] for column in COLUMNS[1:])])
    return stream.getvalue()


def read_identities(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Whose picture each of `names` is (`name,identity`); an image without an entry stands for itself."""
    header, rows = read_csv(path)
    for column in ("name", "identity"):
        if column not in header:
            raise InputError(f"{path} line 1: no column {column!r}; expected name,identity")
    known = {row["name"].strip(): row["identity"].strip() for _, row in rows}
    return tuple(f"{IDENTITY}{known[name]}" if known.get(name) else nobody(name) for name in names)


def organiser_folder(root: Path, split: str) -> Path:
    """Where the organiser's files of a split are: beside the holdout's labels, apart from what participants get.

    >>> organiser_folder(Path("bounty"), "test").as_posix(), organiser_folder(Path("bounty"), "holdout").as_posix()
    ('bounty/organiser/test', 'bounty/holdout')
    """
    return root / split if split == "holdout" else root / "organiser" / split


def people_of(labels: Path, names: Sequence[str], identities: Path | None) -> tuple[str, ...] | None:
    """Whose picture each is: from the file given, from identities.csv beside the labels, or from the organiser's.

    None where there is no such file: then each row stands for itself.
    """
    if identities is not None:
        return read_identities(identities, names)
    places = (labels.parent, organiser_folder(labels.parent.parent, labels.parent.name))
    found = next((place / IDENTITIES for place in places if (place / IDENTITIES).exists()), None)
    return None if found is None else read_identities(found, names)


def nobody(name: str) -> str:
    """The cluster of an image whose person is not named: itself, distinct from any identity of the same spelling."""
    return f"image {name}"
