"""Adapters: annotated and raw BAFMD, FairFace, any folder, and every dataset that the package knows by name."""

from dataclasses import replace
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qsl, urlencode

from countenance.data import Dataset, load_dataset
from countenance.data.categories import parse_classes
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.metrics.readings import FORMS, Reading, Units
from countenance.suites.mask_fairness.datasets.truth import YOLO, AskedTruth, MaskData, of_split

NAMES = ("fairface", "bafmd", "bafmd-yolo", "bafmd-voc", "folder", "people")

__all__ = ["NAMES", "AskedTruth", "MaskData", "load", "load_mask_data", "source_of"]


def source_of(name: str, directory: Path | None, asked: AskedTruth) -> str | None:
    """What `load_dataset` reads the same data from again: `mask_fairness:FOLDER?name=bafmd&form=centre…`.

    None for data that have a name of their own, and where the attributes are outside of the folder.

    >>> source_of("fairface", Path("faces"), AskedTruth(split="validation"))
    'mask_fairness:faces?name=fairface&form=centre&units=normalised&split=validation'
    """
    if directory is None:
        return None
    query = {"name": name, "form": asked.reading.form, "units": asked.reading.units}
    if asked.attributes is not None:
        if not asked.attributes.resolve().is_relative_to(directory.resolve()):
            return None
        query["attributes"] = str(asked.attributes.resolve().relative_to(directory.resolve()))
    query |= {"classes": ",".join(f"{k}={v}" for k, v in asked.classes.items())} if asked.classes else {}
    query |= {"only_present": "yes"} if asked.only_present else {}
    query |= {"split": asked.split} if asked.split else {}
    return f"mask_fairness:{directory}?{urlencode(query, safe=',=')}"


def load(part: str | None) -> Dataset:
    """The dataset of such a source, without its scheme."""
    folder, _, text = (part or "").partition("?")
    query = dict(parse_qsl(text))
    if not folder or "name" not in query:
        raise InputError(f"mask_fairness:{part}: expected mask_fairness:FOLDER?name=bafmd")
    place = f"mask_fairness:{part}"
    numbered = parse_classes(query["classes"], place) if "classes" in query else None
    form, units = query.get("form", YOLO.form), query.get("units", YOLO.units)
    if form not in FORMS or units not in get_args(Units):
        raise InputError(
            f"{place}: form {form} and units {units}; expected {', '.join(FORMS)} and pixels or normalised"
        )
    reading = Reading(form, units)  # type: ignore[arg-type]
    attributes = Path(folder) / query["attributes"] if "attributes" in query else None
    asked = AskedTruth(reading, numbered, attributes, "only_present" in query, query.get("split"))
    return load_mask_data(query["name"], Path(folder), asked).dataset


def load_mask_data(name: str, directory: Path | None = None, asked: AskedTruth | None = None) -> MaskData:
    """A dataset of this suite by its name; all but the embedded people need their folder.

    >>> load_mask_data("farface", Path("."))
    Traceback (most recent call last):
    countenance.errors.InputError: no dataset 'farface' here (did you mean fairface?); there are fairface, bafmd, ...
    """
    asked = asked or AskedTruth()
    found = of_split(_read(name, directory, asked), asked.split)
    return replace(found, origin=source_of(name, directory, asked))


def _read(name: str, directory: Path | None, asked: AskedTruth) -> MaskData:
    base = name.partition(":")[0]
    if base == "people":
        return MaskData(load_dataset(name), attributes=("skin_tone", "age_group", "gender"), source=name)
    if base not in NAMES:
        raise InputError(f"no dataset {name!r} here{near(name, NAMES)}; there are {', '.join(NAMES)}")
    if directory is None:
        raise InputError(f"dataset {name!r} needs its folder: add --data-directory PATH")
    if base == "fairface":
        from countenance.suites.mask_fairness.datasets.fairface import read_fairface

        return read_fairface(directory, asked)
    if base == "folder":
        from countenance.suites.mask_fairness.datasets.folder import read_any

        return read_any(directory, asked)
    from countenance.suites.mask_fairness.datasets.bafmd import read_annotated, read_raw

    if base == "bafmd":
        return read_annotated(directory, asked)
    return read_raw(directory, base.removeprefix("bafmd-"), asked)
