"""Adapters: annotated and raw BAFMD, FairFace, any folder, and every dataset that the package knows by name."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from countenance.data import Dataset, load_dataset
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.metrics.readings import Reading
from countenance.suites.mask_fairness.datasets.truth import YOLO, MaskData, Say, of_split

NAMES = ("fairface", "bafmd", "bafmd-yolo", "bafmd-voc", "folder", "people")

__all__ = ["NAMES", "MaskData", "load", "load_mask_data", "source_of"]


def source_of(
    name: str,
    directory: Path | None,
    *,
    reading: Reading = YOLO,
    classes: Mapping[int, str] | None = None,
    attributes: Path | None = None,
    only_present: bool = False,
    split: str | None = None,
) -> str | None:
    """What `load_dataset` reads the same data from again: `mask_fairness:FOLDER?name=bafmd&form=centre…`.

    None for data that have a name of their own, and where the attributes are outside of the folder.

    >>> source_of("fairface", Path("faces"), split="validation")
    'mask_fairness:faces?name=fairface&form=centre&units=normalised&split=validation'
    """
    if directory is None:
        return None
    asked = {"name": name, "form": reading.form, "units": reading.units}
    if attributes is not None:
        if not attributes.resolve().is_relative_to(directory.resolve()):
            return None
        asked["attributes"] = str(attributes.resolve().relative_to(directory.resolve()))
    asked |= {"classes": ",".join(f"{k}={v}" for k, v in classes.items())} if classes else {}
    asked |= {"only_present": "yes"} if only_present else {}
    asked |= {"split": split} if split else {}
    return f"mask_fairness:{directory}?{urlencode(asked, safe=',=')}"


def load(part: str | None) -> Dataset:
    """The dataset of such a source, without its scheme."""
    folder, _, query = (part or "").partition("?")
    asked = dict(parse_qsl(query))
    if not folder or "name" not in asked:
        raise InputError(f"mask_fairness:{part}: expected mask_fairness:FOLDER?name=bafmd")
    classes = dict(pair.split("=") for pair in asked["classes"].split(",")) if "classes" in asked else None
    try:
        reading = Reading(asked.get("form", YOLO.form), asked.get("units", YOLO.units))  # type: ignore[arg-type]
        numbered = None if classes is None else {int(k): v for k, v in classes.items()}
    except ValueError as error:
        raise InputError(f"mask_fairness:{part}: {error}") from None
    found = load_mask_data(
        asked["name"],
        Path(folder),
        reading=reading,
        classes=numbered,
        attributes=Path(folder) / asked["attributes"] if "attributes" in asked else None,
        only_present="only_present" in asked,
    )
    return of_split(found, asked.get("split")).dataset


def load_mask_data(
    name: str,
    directory: Path | None = None,
    *,
    reading: Reading = YOLO,
    classes: Mapping[int, str] | None = None,
    attributes: Path | None = None,
    only_present: bool = False,
    say: Say = lambda line: None,
) -> MaskData:
    """A dataset of this suite by its name; all but the embedded people need their folder.

    `reading` says what the four numbers of a box are in annotated BAFMD and in YOLO files, `classes` which class number
    is mask and which no_mask in YOLO files without a classes.txt and in COCO files.

    >>> load_mask_data("farface", Path("."))
    Traceback (most recent call last):
    countenance.errors.InputError: no dataset 'farface' here (did you mean fairface?); there are fairface, bafmd, ...
    """
    base = name.partition(":")[0]
    if base == "people":
        return MaskData(load_dataset(name), attributes=("skin_tone", "age_group", "gender"), source=name)
    if base not in NAMES:
        raise InputError(f"no dataset {name!r} here{near(name, NAMES)}; there are {', '.join(NAMES)}")
    if directory is None:
        raise InputError(f"dataset {name!r} needs its folder: add --data-directory PATH")
    if base == "fairface":
        from countenance.suites.mask_fairness.datasets.fairface import read_fairface

        return read_fairface(directory, only_present=only_present, say=say)
    if base == "folder":
        from countenance.suites.mask_fairness.datasets.folder import read_any

        return read_any(directory, attributes=attributes, classes=classes, reading=reading, say=say)
    from countenance.suites.mask_fairness.datasets.bafmd import read_annotated, read_raw

    if base == "bafmd":
        return read_annotated(directory, reading=reading, say=say)
    kind = base.removeprefix("bafmd-")
    return read_raw(directory, kind, classes=classes, attributes=attributes, reading=reading, say=say)
