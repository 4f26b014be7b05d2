"""Datasets by name or by path; names load lazily, through entry points, so that a plugin is a package."""

import atexit
import shutil
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

from countenance.data.paths import unpack
from countenance.data.sample import Dataset
from countenance.data.tables import near
from countenance.errors import InputError

GROUP = "countenance.datasets"


def dataset_names() -> list[str]:
    """Names that `load_dataset` knows without a path."""
    return sorted({"people", *(point.name for point in entry_points(group=GROUP))})


def load_dataset(source: str | Path | Dataset, *, part: str | None = None) -> Dataset:
    """A dataset from its name (`people`, `people:portraits`), a folder, a COCO file or a tar of either.

    >>> load_dataset("peple")
    Traceback (most recent call last):
    countenance.errors.InputError: 'peple' is neither a dataset's name (people) (did you mean people?) nor ...
    """
    if isinstance(source, Dataset):
        return source
    name, _, wanted = str(source).partition(":")
    if name in dataset_names():
        return _by_name(name, part or wanted or None)
    path = Path(source)
    if not path.exists():
        names = dataset_names()
        raise InputError(
            f"{str(source)!r} is neither a dataset's name ({', '.join(names)}){near(name, names)} "
            "nor a path that exists"
        )
    if path.is_file() and path.suffix.lower() != ".json":
        return _read_dir(_unpacked(path), path.name.split(".")[0])
    if path.is_file():
        from countenance.data.coco import read_coco

        return read_coco(path)
    return _read_dir(path, path.name)


def _by_name(name: str, part: str | None) -> Dataset:
    if name == "people":
        from countenance.data.people import load

        return load(part)
    point = next(iter(entry_points(group=GROUP, name=name)))
    loaded = point.load()(part)
    if not isinstance(loaded, Dataset):
        raise InputError(f"dataset {name!r}: its plugin {point.value} returned {type(loaded).__name__}, not a Dataset")
    return loaded


def _read_dir(root: Path, name: str) -> Dataset:
    if (root / "annotations.json").exists():
        from countenance.data.coco import read_coco

        return read_coco(root / "annotations.json")
    if (root / "labels.csv").exists():
        from countenance.data.folder import read_folder

        return read_folder(root)
    if (root / "samples.parquet").exists():
        from countenance.data.people import read_people

        return read_people(root)
    inner = [child for child in root.iterdir() if child.is_dir()]
    if len(inner) == 1 and len(list(root.iterdir())) == 1:
        return _read_dir(inner[0], name)
    raise InputError(
        f"{root}: holds none of annotations.json (COCO), labels.csv (a folder of images) or samples.parquet (people)"
    )


def _unpacked(archive: Path) -> Path:
    """The archive's content in a temporary folder that goes when the program ends."""
    holder = Path(tempfile.mkdtemp(prefix="countenance-"))
    atexit.register(shutil.rmtree, holder, ignore_errors=True)
    unpack(archive, holder / "content")
    return holder / "content"
