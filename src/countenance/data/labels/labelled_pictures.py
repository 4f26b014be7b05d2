"""A dataset from a folder of pictures and a label table, or from the names of its files and folders."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from countenance.data.balance import shown_people
from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.categories import says_masked
from countenance.data.image import LazyImage
from countenance.data.labels.aliases import SPLIT_WORDS
from countenance.data.labels.columns import LabelColumns, understand
from countenance.data.labels.files import read_label_file
from countenance.data.labels.finder import PictureFinder
from countenance.data.labels.people import LabelledPerson, LabelOptions, people_of
from countenance.data.labels.rows import LabelTable
from countenance.data.paths import inside, pictures_below
from countenance.data.sample import Dataset, Sample
from countenance.errors import DataError

UTK = re.compile(r"(\d{1,3})_([01])_([0-4])_\d{8,20}(\.\w+)*")
UTK_WORDS = {
    "gender": {"0": "male", "1": "female"},
    "race": {"0": "White", "1": "Black", "2": "Asian", "3": "Indian", "4": "Others"},
}
"""The codes in the names of UTKFace's files, in its own words."""
NEARLY_ALL = 0.95
CLASS_FOLDERS = ({"female", "male"}, {"woman", "man"}, {"women", "men"}, {"females", "males"})
"""Names of folders that say gender."""


@dataclass(frozen=True)
class PictureFolder:
    """The pictures of a folder."""

    root: Path
    ids: tuple[str, ...]

    @classmethod
    def below(cls, root: Path) -> "PictureFolder":
        """Every picture in a folder and in the folders below it."""
        return cls(root, tuple(path.relative_to(root).as_posix() for path in pictures_below(root)))

    @property
    def finder(self) -> PictureFinder:
        return PictureFinder(self.ids)

    def samples(self, names: Sequence[str]) -> dict[str, Sample]:
        """A sample without people for each picture named."""
        return {name: Sample(name, LazyImage(inside(self.root, name, str(self.root)))) for name in names}


def read_pictures(
    pictures: PictureFolder, paths: Sequence[Path], stated: Mapping[str, str], options: LabelOptions
) -> Dataset:
    """The pictures of a folder with the labels of the parts of a table, each part about other pictures."""
    if not pictures.ids:
        raise DataError(f"{pictures.root}: holds no picture that {paths[0].name} could be about")
    finder = pictures.finder
    samples: dict[str, Sample] = {}
    notes: list[str] = []
    for path in paths:
        table = by_folder(read_label_file(path, finder.names_picture), finder)
        part = labelled_dataset(pictures, table, understand_table(table, finder, stated, options), options, finder)
        again = next((sample.id for sample in part if sample.id in samples), None)
        if again is not None:
            raise DataError(f"{path}: {again} has a row in another of the tables already; name one of them")
        samples |= {sample.id: sample for sample in part}
        notes += part.notes
    unlisted = len(pictures.ids) - len(samples)
    if unlisted:
        left = "1 picture has no row and is" if unlisted == 1 else f"{unlisted:,} pictures have no row and are"
        notes.append(f"{', '.join(path.name for path in paths)}: {left} left out")
    return Dataset(part.card, list(samples.values()), notes=notes)


def by_folder(table: LabelTable, finder: PictureFinder) -> LabelTable:
    """The table with a row for each picture, where no cell names one and the cells of a column name their folders.

    Studies often have a row for each participant, whose pictures lie in the folder of their number.
    """
    column = names_folders(table, finder)
    if column is None:
        return table
    in_folder = finder.by_folder
    shown = [in_folder.get(cell.casefold(), []) for cell in table.columns[column]]
    rows = [i for i, names in enumerate(shown) for _ in names]
    expanded = LabelTable(
        table.path,
        {"file": [name for names in shown for name in names]}
        | {name: [cells[i] for i in rows] for name, cells in table.columns.items()},
        [table.lines[i] for i in rows],
        table.decimal_comma,
        table.kind,
    )
    expanded.problems, expanded.notes = table.problems, table.notes
    expanded.notes.append(f"{table.path.name}: {column} names the folder of the pictures")
    empty = [cell for cell, names in zip(table.columns[column], shown, strict=True) if not names]
    if empty:
        left = "1 row names a folder" if len(empty) == 1 else f"{len(empty):,} rows name folders"
        expanded.notes.append(f"{table.path.name}: {left} without a picture and left out ({', '.join(empty[:3])})")
    return expanded


def names_folders(table: LabelTable, finder: PictureFinder) -> str | None:
    """The column whose cells name folders of pictures, each once; None if there is none, or a column names pictures.

    >>> finder = PictureFinder(["P1/a.jpg", "P1/b.jpg", "P2/a.jpg"])
    >>> names_folders(LabelTable(Path("t.csv"), {"who": ["P1", "P2"], "sex": ["f", "m"]}, [2, 3]), finder)
    'who'
    """
    if any(finder.names_picture(cell) for cells in table.columns.values() for cell in cells[:1]):
        return None
    for name, cells in table.columns.items():
        known = [cell.casefold() for cell in cells if cell]
        in_folders = sum(cell in finder.by_folder for cell in known)
        if len(known) > 1 and len(set(known)) == len(known) and 2 * in_folders > len(known):
            return name
    return None


def understand_table(
    table: LabelTable, finder: PictureFinder, stated: Mapping[str, str], options: LabelOptions
) -> LabelColumns:
    """The roles of a table's columns; a file without a header needs no `stated` if its name gives them."""
    if table.headless and not stated and len(table.names) == 2:
        files = [name for name, column in table.columns.items() if finder.names_picture(column[0])]
        word = table.path.stem.casefold()
        if len(files) == 1 and ("identity" in word or "person" in word):
            other = next(name for name in table.names if name != files[0])
            stated = {"file": files[0], "person": other}
    return understand(table, finder.names_picture, stated, categories=options.categories is not None)


def labelled_dataset(
    pictures: PictureFolder,
    table: LabelTable,
    columns: LabelColumns,
    options: LabelOptions,
    finder: PictureFinder,
    card: DatasetCard | None = None,
) -> Dataset:
    """The dataset of a table whose columns are known; everything that is wrong is raised at once."""
    if not len(table):
        table.problems.add_whole("no row below the header")
    listed = _named_pictures(table, columns, finder)
    samples = pictures.samples(listed)
    people = people_of(table, columns, finder, samples, options)
    by_picture = _by_picture(table, people)
    table.problems.refuse()
    if not by_picture:
        raise DataError(f"{table.path}: no row has its picture in {pictures.root}")
    ready = [_sample(samples[name], by_picture.get(name, ())) for name in listed]
    notes = list(table.notes)
    dataset = Dataset(card or _card(pictures.root), ready)
    count, named = shown_people(dataset)
    notes.insert(0, f"{table.path.name}: {columns.sentence(len(ready), count, named)}")
    if any(box.kind is None for box in columns.boxes) and table.kind is None and columns.category is None:
        notes.append(
            f"{table.path.name}: nothing says whether boxes are of faces or of people: they serve as either "
            '(columns="face_box=COLUMN" or columns="person_box=COLUMN" decides)'
        )
    return dataset.of(ready, notes=notes)


def _named_pictures(table: LabelTable, columns: LabelColumns, finder: PictureFinder) -> list[str]:
    """The pictures that rows name, in the order of their first row."""
    if columns.file is None:
        return []
    others = [column for name, column in table.columns.items() if name != columns.file]
    cells = enumerate(table.columns[columns.file])
    pictures = (finder.find(cell, (column[i] for column in others)) for i, cell in cells)
    return list(dict.fromkeys(name for name in pictures if name is not None))


def _by_picture(table: LabelTable, people: Sequence[LabelledPerson]) -> dict[str, list[LabelledPerson]]:
    """The people of each picture; repeated rows are read once, rows that cannot be distinguished are problems.

    So are rows about the same box that contradict each other: a box shows one person.
    """
    by_picture: dict[str, list[LabelledPerson]] = {}
    twice = 0
    for row in people:
        rows = by_picture.setdefault(row.picture, [])
        if any(_same(row, other) for other in rows):
            twice += 1
            continue
        other = next((other for other in rows if row.has_box and _boxes(row) == _boxes(other)), None)
        if other is not None:
            table.problems.add(
                f"{{}} in {', '.join(_contradictions(row, other))}; a box shows one person",
                row.line,
                row.picture,
                "row has the box of another row and contradicts it",
                "rows have the box of another row and contradict it",
            )
        alike = [other for other in rows if not (row.has_box or other.has_box) and row.identity == other.identity]
        if alike and row.index is None:
            table.problems.add(
                "{} a picture that has a row already, and neither a box nor a person tells them apart",
                row.line,
                row.picture,
                "row is about",
                "rows are about",
            )
        rows.append(row)
    if twice:
        rows_stand = "1 row stands" if twice == 1 else f"{twice:,} rows stand"
        table.notes.append(f"{table.path.name}: {rows_stand} twice and count once")
    return by_picture


def _same(row: LabelledPerson, other: LabelledPerson) -> bool:
    """Whether two rows of a picture have the same boxes and values."""
    return _boxes(row) == _boxes(other) and _facts(row) == _facts(other)


def _boxes(row: LabelledPerson) -> list[list[float] | None]:
    return [None if box is None else box.tolist() for box in (row.face_box, row.person_box)]


def _facts(row: LabelledPerson) -> dict[str, object]:
    """The values of a row about a person, without the boxes."""
    return {"person": row.identity, "number": row.index, "split": row.split, **row.attributes}


def _contradictions(row: LabelledPerson, other: LabelledPerson) -> list[str]:
    """The names of the values in which two rows differ."""
    facts, others = _facts(row), _facts(other)
    return [name for name in facts if facts[name] != others.get(name)]


def _sample(sample: Sample, rows: Sequence[LabelledPerson]) -> Sample:
    subjects = tuple(row.subject(i, sample) for i, row in enumerate(rows))
    split = next((row.split for row in rows if row.split is not None), None)
    about = {} if split is None else {"split": split}
    return sample.having(subjects=subjects, attributes=about)


def _card(root: Path) -> DatasetCard:
    file = root / "card.json"
    return DatasetCard.read(file) if file.is_file() else DatasetCard(name=root.resolve().name or "pictures")


def names_table(pictures: PictureFolder) -> LabelTable:
    """The parts of file and folder names as a table: file, folder, folder2 (above it), name1, name2, …"""
    rows: list[dict[str, str]] = []
    for name in pictures.ids:
        path = PurePosixPath(name)
        folders = {f"folder{'' if i == 0 else i + 1}": part for i, part in enumerate(reversed(path.parts[:-1]))}
        words = {f"name{i + 1}": part for i, part in enumerate(re.split(r"[_\-]+", path.name.partition(".")[0]))}
        rows.append({"file": name, **folders, **words})
    columns = dict.fromkeys(key for row in rows for key in row)
    return LabelTable(
        pictures.root, {name: [row.get(name, "") for row in rows] for name in columns}, list(range(1, len(rows) + 1))
    )


def read_names(pictures: PictureFolder, stated: Mapping[str, str], words: Mapping[str, Mapping[str, str]]) -> Dataset:
    """A dataset from names of files and folders; `stated` gives the role of each part, `words` the meaning of codes."""
    table = names_table(pictures)
    parts = [part for name in stated.values() for part in name.split("+")]
    unknown = next((part for part in parts if part not in table.columns), None)
    if unknown is not None:
        known = [name for name in table.names if name != "file"]
        raise DataError(
            f"{pictures.root}: columns= names {unknown!r}; the names of its files have {', '.join(known)} "
            "(a folder's name, the folder above it, the words of a file's name), and labels= names a table"
        )
    top = {PurePosixPath(name).parts[0].casefold() for name in pictures.ids if "/" in name}
    table.columns = {name: column for name, column in table.columns.items() if name == "file" or name in parts}
    if top and top <= set(SPLIT_WORDS) and "split" not in stated:
        table.columns["split"] = [PurePosixPath(name).parts[0] if "/" in name else "" for name in pictures.ids]
    for attribute, codes in words.items():
        column = stated[attribute]
        table.columns[column] = [codes.get(cell, cell) for cell in table.columns[column]]
    finder = pictures.finder
    columns = understand(table, finder.names_picture, {"file": "file", **stated})
    card = _card(pictures.root)
    if words:
        meanings = {name: AttributeCard(assigned_by="predicted", meaning="as UTKFace's names say") for name in words}
        card = card.model_copy(update={"attributes": {**meanings, **card.attributes}})
    return labelled_dataset(pictures, table, columns, LabelOptions(), finder, card)


def read_utk_names(pictures: PictureFolder) -> Dataset | None:
    """Pictures named as UTKFace names them (age_gender_race_date.jpg); None unless nearly all are."""
    matching = sum(UTK.fullmatch(PurePosixPath(name).name) is not None for name in pictures.ids)
    if not pictures.ids or matching < NEARLY_ALL * len(pictures.ids):
        return None
    usable = PictureFolder(pictures.root, tuple(n for n in pictures.ids if UTK.fullmatch(PurePosixPath(n).name)))
    dataset = read_names(usable, {"age": "name1", "gender": "name2", "race": "name3"}, UTK_WORDS)
    other = len(pictures.ids) - len(usable.ids)
    note = f"{dataset.name}: names as UTKFace writes them: age, gender, race and the date"
    return dataset.of(dataset.samples, notes=[note + (f"; {other} others are left out" if other else "")])


def read_person_folders(pictures: PictureFolder) -> Dataset | None:
    """A folder for each person, whose files begin with its name (Labeled Faces in the Wild); None for others."""
    paths = [PurePosixPath(name) for name in pictures.ids]
    named = sum(len(path.parts) > 1 and path.name.startswith(f"{path.parent.name}_") for path in paths)
    if not paths or named < NEARLY_ALL * len(paths):
        return None
    if not all(_is_individual(path.parent.name) for path in paths if len(path.parts) > 1):
        return None  # asian/asian_1.jpg, 20-29/20-29_1.jpg: probably groups
    dataset = read_names(pictures, {"person": "folder"}, {})
    return dataset.of(dataset.samples, notes=[f"{dataset.name}: a folder is a person, as its files' names say"])


def _is_individual(name: str) -> bool:
    """Whether a folder's name can be a person's: two words or more (George_Bush), or letters with a number (P07).

    >>> [_is_individual(name) for name in ("George_Bush", "P07", "asian", "20-29", "Middle_Eastern_2")]
    [True, True, False, False, True]
    """
    letters, digits = any(letter.isalpha() for letter in name), any(letter.isdigit() for letter in name)
    return letters and (digits or len(re.split(r"[_\W]+", name.strip("_"))) > 1)


def read_class_folders(pictures: PictureFolder) -> Dataset | None:
    """A dataset with a folder for each value of an attribute, recognised by the words (female, male; mask, no_mask).

    None where a picture lies elsewhere, or the words belong to no attribute.
    """
    names = {PurePosixPath(name).parent.name.casefold() for name in pictures.ids}
    if len(names) < 2:
        return None
    if names in CLASS_FOLDERS:
        stated = {"gender": "folder"}
    elif all(says_masked(name) for name in names):
        stated = {"masked": "folder"}
    else:
        return None
    dataset = read_names(pictures, stated, {})
    note = f"{dataset.name}: folders are values of {next(iter(stated))} ({', '.join(sorted(names))})"
    return dataset.of(dataset.samples, notes=[note])
