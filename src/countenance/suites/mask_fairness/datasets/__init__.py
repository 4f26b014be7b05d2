"""Adapters: annotated and raw BAFMD, FairFace, any folder, and every dataset that the package knows by name."""

from collections.abc import Mapping
from pathlib import Path

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.metrics.readings import Reading
from countenance.suites.mask_fairness.datasets.truth import YOLO, MaskData, Say

NAMES = ("fairface", "bafmd", "bafmd-yolo", "bafmd-voc", "folder", "people")

__all__ = ["NAMES", "MaskData", "load_mask_data"]


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
        from countenance.data import load_dataset

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
