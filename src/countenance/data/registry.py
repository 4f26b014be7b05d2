"""Datasets by name or by path; names load lazily, through entry points, so that a plugin is a package."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from countenance.data.folders import FolderReading, coco_file, no_categories, read_dir, refuse_boxes
from countenance.data.labels.boxes import StatedBoxes
from countenance.data.paths import unpacked
from countenance.data.reading.options import folder_and_options
from countenance.data.sample import Dataset
from countenance.data.tables import near
from countenance.data.vocabulary import VOCABULARIES
from countenance.errors import DataError, InputError, OptionError
from countenance.files import exists
from countenance.loading import is_code, load_code, plugins
from countenance.settings.box_words import Form, Units
from countenance.storage import is_url
from countenance.text import kind_and_words

OWN = ("bafmd", "coco", "fairface", "people", "voc", "yolo")
"""What this package reads by name; all but the people need a folder: `bafmd:FOLDER`."""
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".xml")
"""Files that are tables about the pictures beside them."""


def dataset_names() -> list[str]:
    """Names that `load_dataset` knows without a path."""
    return sorted({*OWN, *plugins("dataset")})


def load_dataset(
    source: str | Path | Dataset,
    *,
    part: str | None = None,
    categories: str | None = None,
    labels: str | Path | Sequence[str | Path] | None = None,
    columns: str | None = None,
    only_present: bool = False,
    truth_boxes: Form | None = None,
    truth_units: Units | None = None,
    root: str | Path | None = None,
    task: str | None = None,
) -> Dataset:
    """The `Dataset` that `source` names: `people`, `people:portraits`, a folder, a COCO file, a tar, or a manifest.

    `module:attr` and `path.py:attr` name a `Dataset`, or a function that returns one. `labels` is a table (or
    several) beside a folder of pictures or beside any dataset: `load_dataset("photos", labels="my.csv")`; `columns`
    says what its columns hold where their names do not (`file=img,person=who`), `only_present` leaves out rows whose
    picture is missing. `categories` chooses the categories of a COCO file, or the classes of a table and of YOLO
    and Pascal VOC label files, that are people or faces: `face=1,person=18`. `truth_boxes` and `truth_units` say
    what boxes are, for a table and for a dataset whose name has these options (`bafmd:FOLDER?form=xywh&units=px`).
    `root` is a folder or tar that the renderer of the people wrote, read instead of the shipped people:
    `load_dataset("people:natural", root="full.tar")`. `part` is the part of a dataset, as after the colon of its name.
    `task` is what it is read for: a reader that has a parameter of this name (`fhibe`) opens what that task needs.
    What cannot be read is an `InputError` (a `DataError` names the file and the place).

    >>> load_dataset("peple")
    Traceback (most recent call last):
    countenance.errors.DataError: 'peple' is neither a dataset's name (...people...) (did you mean people?) nor ...
    """
    reading = FolderReading.of(categories, labels, columns, StatedBoxes(truth_boxes, truth_units), only_present)
    if isinstance(source, str | Path) and root is None and _is_folder(source):
        path = Path(source)
        if path.suffix.lower() in TABLES and path.is_file():
            return read_dir(path.parent, replace(reading, labels=(path, *reading.labels)))
        return read_dir(path if path.is_dir() else unpacked(path), reading)
    if isinstance(source, str) and (truth_boxes or truth_units) and source.partition(":")[0] in dataset_names():
        source, reading = _with_boxes(source, truth_boxes, truth_units), replace(reading, boxes=StatedBoxes())
    if not reading.labels:
        refuse_boxes(reading, source)
        _refuse_columns(reading, source)
    dataset = _without_labels(source, part, reading, root, task)
    return reading.attached(dataset, reading.labels)


def _refuse_columns(reading: FolderReading, source: object) -> None:
    for name, value in (("columns", reading.columns), ("only_present", reading.only_present)):
        if value:
            raise OptionError(name, f"{name} is for tables of labels, and {source!s:.80} is read without one")


def is_reader_name(source: str | Path) -> bool:
    """Whether a source begins with a dataset's name.

    A name that needs a folder but has none (`yolo`) is a path where a folder of that name exists.

    >>> is_reader_name("people"), is_reader_name("yolo:street"), is_reader_name("street")
    (True, True, False)
    """
    name, colon, _ = str(source).partition(":")
    if name not in dataset_names():
        return False
    return bool(colon) or not (_needs_a_folder(name) and Path(name).is_dir())


def _needs_a_folder(name: str) -> bool:
    """Whether a dataset's name is one of this package's and needs a folder."""
    if name in OWN:
        return name != "people"
    return plugins("dataset")[name].value.startswith("countenance.")


def _is_folder(source: str | Path) -> bool:
    """Whether a source is a folder, or an archive of one."""
    if is_reader_name(source) or is_url(source) or not exists(Path(source)):
        return False
    path = Path(source)
    return path.is_dir() or (path.is_file() and path.suffix.lower() != ".json")


def _without_labels(
    source: str | Path | Dataset, part: str | None, reading: FolderReading, root: str | Path | None, task: str | None
) -> Dataset:
    """A dataset that is not a folder, before labels are added."""
    categories = reading.categories
    if isinstance(source, Dataset):
        return no_categories(source, categories, source.name)
    if not isinstance(source, str | Path):
        raise DataError(f"data is a {type(source).__name__}, expected a dataset's name, a path or a Dataset")
    name, _, place = str(source).partition(":")
    if root is not None:
        return no_categories(_people_of(name, part or place or None, Path(root)), categories, name)
    if name == "coco":
        return _coco(part or place, categories)
    if is_reader_name(source):
        return no_categories(_by_name(name, part or place or None, task), categories, name)
    if is_code(str(source)) and not exists(Path(source)):
        return no_categories(_from_code(str(source)), categories, str(source))
    if is_url(source):
        return no_categories(_indexed(str(source)), categories, str(source))
    path = Path(source)
    if not exists(path):
        names = dataset_names()
        raise DataError(
            f"{str(source)!r} is neither a dataset's name ({', '.join(names)}){near(name, names)} "
            "nor a path that exists; a reader is given as module:attr or path.py:attr (`countenance docs data`)"
        )
    from countenance.data.adapters.coco import read_coco

    return read_coco(path, categories=categories)


def _coco(place: str | None, categories: str | None) -> Dataset:
    """The dataset behind `coco:FILE` or `coco:FOLDER`; `?categories=person=1` chooses, too."""
    from countenance.data.adapters.coco import read_coco

    path, options = folder_and_options("coco", place, ("categories", "split"))
    file = path if path.is_file() else coco_file(path) if path.is_dir() else None
    if file is None:
        what = "holds no annotations.json and no annotations/*.json" if path.is_dir() else "no such file or folder"
        raise DataError(f"{path}: {what}; name a COCO file or its folder: coco:FOLDER")
    return read_coco(file, categories=categories or options.get("categories")).split(options.get("split"))


def _people_of(name: str, part: str | None, root: Path) -> Dataset:
    """The people of a folder or a tar that the renderer wrote."""
    from countenance.data import people

    if name != "people":
        raise DataError(
            f"{name!r} with a root: only people (or people:PART) can be read from one; name the path itself"
        )
    if not exists(root):
        raise DataError(f"{root}: no such folder or archive; build one with countenance-people (people/README.md)")
    return people.load(part, unpacked(root) if root.is_file() else root)


def is_shipped(source: str) -> bool:
    """Whether a source is data of this package, in which no name can lead to another folder.

    >>> is_shipped("people:portraits"), is_shipped("people:../x"), is_shipped("/home/me/faces")
    (True, False, False)
    """
    name, _, part = source.partition(":")
    return name == "people" and (not part or part in VOCABULARIES["part"])


def _by_name(name: str, part: str | None, task: str | None) -> Dataset:
    if name in OWN:
        return _own(name, part)
    point = plugins("dataset")[name]
    read = point.load()
    loaded = read(part, task=task) if "task" in inspect.signature(read).parameters else read(part)
    if not isinstance(loaded, Dataset):
        raise DataError(f"dataset {name!r}: its plugin {point.value} returned {type(loaded).__name__}, not a Dataset")
    return loaded


def _with_boxes(source: str, form: Form | None, units: Units | None) -> str:
    """The name of a dataset with the options for its boxes."""
    options = "&".join(f"{name}={word}" for name, word in (("form", form), ("units", units)) if word)
    return f"{source}{'&' if '?' in source else '?'}{options}"


def _from_code(name: str) -> Dataset:
    """The dataset that `module:attr` or `path.py:attr` is or returns."""
    loaded = load_code("dataset", name)
    if callable(loaded):
        try:
            inspect.signature(loaded).bind()
        except TypeError:
            raise DataError(f"dataset {name!r}: the function needs arguments; expected one that needs none") from None
        try:
            loaded = loaded()
        except InputError:
            raise
        except Exception as error:  # anything that the user's function raises
            raise DataError(f"dataset {name!r}: the function failed ({kind_and_words(error)})") from error
    if not isinstance(loaded, Dataset):
        raise DataError(f"dataset {name!r}: that is a {type(loaded).__name__}, expected a Dataset or a function of one")
    return loaded


def _own(name: str, part: str | None) -> Dataset:
    from countenance.data import people
    from countenance.data.adapters import bafmd, fairface, labelled

    if name in labelled.KINDS:
        return labelled.load(part, name)
    own = {"bafmd": bafmd.load, "fairface": fairface.load, "people": people.load}
    return own[name](part)


def _indexed(place: str) -> Dataset:
    from countenance.data.indexed_dataset import IndexedDataset
    from countenance.data.manifest import read_manifest

    return IndexedDataset(read_manifest(place))
