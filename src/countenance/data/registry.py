"""Datasets by name or by path; names load lazily, through entry points, so that a plugin is a package."""

import inspect
from pathlib import Path

from countenance.data.paths import unpack
from countenance.data.sample import Dataset
from countenance.data.tables import near
from countenance.data.vocabulary import VOCABULARIES
from countenance.errors import InputError, OptionError
from countenance.files import exists
from countenance.loading import is_code, load_code, plugins
from countenance.scratch import scratch_folder
from countenance.settings.box_words import Form, Units
from countenance.storage import is_url

OWN = ("bafmd", "fairface", "people", "voc", "yolo")
"""What this package reads by name; all but the people need a folder: `bafmd:FOLDER`."""


def dataset_names() -> list[str]:
    """Names that `load_dataset` knows without a path."""
    return sorted({*OWN, *plugins("dataset")})


COCO_FILES = ("annotations.json", "_annotations.coco.json")


def load_dataset(
    source: str | Path | Dataset,
    *,
    part: str | None = None,
    categories: str | None = None,
    truth_boxes: Form | None = None,
    truth_units: Units | None = None,
    root: str | Path | None = None,
) -> Dataset:
    """A dataset from its name (`people`, `people:portraits`), a folder, a COCO file, a tar of either, or a manifest.

    `module:attr` and `path.py:attr` name a `Dataset`, or a function that returns one. `categories` chooses the
    categories of a COCO file, or the classes of YOLO and Pascal VOC label files, that are people or faces:
    `face=1,person=18`. `truth_boxes` and `truth_units` say what boxes are, for a dataset whose name has these options
    (`bafmd:FOLDER?form=xywh&units=px`). `root` is a folder or tar that the renderer of the people wrote, read instead
    of the shipped people: `load_dataset("people:natural", root="full.tar")`.

    >>> load_dataset("peple")
    Traceback (most recent call last):
    countenance.errors.InputError: 'peple' is neither a dataset's name (...people...) (did you mean people?) nor ...
    """
    if truth_boxes or truth_units:
        source = _with_boxes(source, truth_boxes, truth_units)
    if isinstance(source, Dataset):
        return _no_categories(source, categories, source.name)
    if not isinstance(source, str | Path):
        raise InputError(f"data is a {type(source).__name__}, expected a dataset's name, a path or a Dataset")
    name, _, wanted = str(source).partition(":")
    if root is not None:
        return _no_categories(_people_of(name, part or wanted or None, Path(root)), categories, name)
    if name in dataset_names():
        return _no_categories(_by_name(name, part or wanted or None), categories, name)
    if is_code(str(source)) and not exists(Path(source)):
        return _no_categories(_from_code(str(source)), categories, str(source))
    if is_url(source):
        return _no_categories(_indexed(str(source)), categories, str(source))
    path = Path(source)
    if not exists(path):
        names = dataset_names()
        raise InputError(
            f"{str(source)!r} is neither a dataset's name ({', '.join(names)}){near(name, names)} "
            "nor a path that exists; a reader is given as module:attr or path.py:attr"
        )
    if path.is_file() and path.suffix.lower() != ".json":
        return _read_dir(_unpacked(path), categories)
    if path.is_file():
        from countenance.data.adapters.coco import read_coco

        return read_coco(path, categories=categories)
    return _read_dir(path, categories)


def _people_of(name: str, part: str | None, root: Path) -> Dataset:
    """The people of a folder or a tar that the renderer wrote."""
    from countenance.data import people

    if name != "people":
        raise InputError(
            f"{name!r} with a root: only people (or people:PART) can be read from one; name the path itself"
        )
    if not exists(root):
        raise InputError(f"{root}: no such folder or archive; build one with countenance-people (people/README.md)")
    return people.load(part, _unpacked(root) if root.is_file() else root)


def is_shipped(source: str) -> bool:
    """Whether a source is data of this package, which no name in a file can lead elsewhere from.

    >>> is_shipped("people:portraits"), is_shipped("people:../x"), is_shipped("/home/me/faces")
    (True, False, False)
    """
    name, _, part = source.partition(":")
    return name == "people" and (not part or part in VOCABULARIES["part"])


def _no_categories(dataset: Dataset, categories: str | None, name: str) -> Dataset:
    """A dataset that is no COCO file; categories chosen for it are a mistake."""
    if categories is not None:
        raise InputError(f"{name}: --categories is for COCO files, and this is none; leave it out")
    return dataset


def _by_name(name: str, part: str | None) -> Dataset:
    if name in OWN:
        return _own(name, part)
    point = plugins("dataset")[name]
    loaded = point.load()(part)
    if not isinstance(loaded, Dataset):
        raise InputError(f"dataset {name!r}: its plugin {point.value} returned {type(loaded).__name__}, not a Dataset")
    return loaded


def _with_boxes(source: object, form: Form | None, units: Units | None) -> str:
    """The name of a dataset with what its boxes are."""
    options = "&".join(f"{name}={word}" for name, word in (("form", form), ("units", units)) if word)
    if not isinstance(source, str) or source.partition(":")[0] not in dataset_names():
        raise OptionError(
            "truth_boxes" if form else "truth_units",
            f"truth_boxes and truth_units are for a dataset by name and folder (bafmd:FOLDER), not for {source!s:.80}",
        )
    return f"{source}{'&' if '?' in source else '?'}{options}"


def _from_code(name: str) -> Dataset:
    """The dataset that `module:attr` or `path.py:attr` is or returns."""
    loaded = load_code("dataset", name)
    if callable(loaded):
        try:
            inspect.signature(loaded).bind()
        except TypeError:
            raise InputError(f"dataset {name!r}: the function needs arguments; expected one that needs none") from None
        loaded = loaded()
    if not isinstance(loaded, Dataset):
        raise InputError(
            f"dataset {name!r}: that is a {type(loaded).__name__}, expected a Dataset or a function of one"
        )
    return loaded


def _own(name: str, part: str | None) -> Dataset:
    from countenance.data import people
    from countenance.data.adapters import bafmd, fairface, labelled

    if name in labelled.KINDS:
        return labelled.load(part, name)
    own = {"bafmd": bafmd.load, "fairface": fairface.load, "people": people.load}
    return own[name](part)


def _indexed(place: str) -> Dataset:
    from countenance.data.indexed import IndexedDataset
    from countenance.data.manifest import read_manifest

    return IndexedDataset(read_manifest(place))


def _read_dir(root: Path, categories: str | None) -> Dataset:
    if (root / "dataset.json").is_file():
        return _no_categories(_indexed(str(root)), categories, str(root))
    coco = coco_file(root)
    if coco is not None:
        from countenance.data.adapters.coco import read_coco

        return read_coco(coco, categories=categories)
    if (root / "labels.csv").exists():
        from countenance.data.adapters.folder import read_folder

        return _no_categories(read_folder(root), categories, str(root))
    if (root / "samples.parquet").exists():
        from countenance.data.people import read_people

        return _no_categories(read_people(root), categories, str(root))
    inner = [child for child in root.iterdir() if child.is_dir()]
    if len(inner) == 1 and len(list(root.iterdir())) == 1:
        return _read_dir(inner[0], categories)
    from countenance.data.adapters.labelled import label_kind, read_labelled

    kind = label_kind(root)
    if kind is not None:
        return read_labelled(root, kind, categories=categories)
    linked = next((f"; {path.name} is a link, which is not followed" for path in inner if path.is_symlink()), "")
    raise InputError(
        f"{root}: holds none of annotations.json (COCO), labels.csv (a folder of images), samples.parquet (people) "
        "or dataset.json (a manifest), and no picture has a .txt (YOLO) or .xml (Pascal VOC) file of its name"
        f"{linked}; `countenance data index` makes a manifest of tars, Parquet and Hugging Face data"
    )


def coco_file(root: Path) -> Path | None:
    """The COCO file of a folder: a usual name, or the only one in COCO's own folder `annotations`."""
    usual = next((root / name for name in COCO_FILES if (root / name).is_file()), None)
    if usual is not None or (root / "labels.csv").exists():
        return usual
    inside = sorted((root / "annotations").glob("*.json"))
    if len(inside) > 1:
        raise InputError(
            f"{root}: holds {len(inside)} COCO files ({', '.join(f'annotations/{path.name}' for path in inside[:4])}"
            f"{', …' if len(inside) > 4 else ''}); name the one that is meant"
        )
    return inside[0] if inside else None


def _unpacked(archive: Path) -> Path:
    """The archive's content in a temporary folder that goes when the program ends."""
    folder = scratch_folder("archive") / "content"
    unpack(archive, folder)
    return folder
