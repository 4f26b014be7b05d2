"""What the adapters share: boxes checked in their reading, words for mask and no mask, and where pictures lie."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data import Dataset
from countenance.data.categories import says_masked
from countenance.data.image import IMAGE_SUFFIXES
from countenance.data.paths import inside
from countenance.data.vocabulary import NUMERIC
from countenance.errors import InputError
from countenance.metrics.readings import LARGEST_SHARE_OUTSIDE, Reading, fitting, guessed_units, share_outside

Array = NDArray[np.float64]
Say = Callable[[str], None]

BOXES, ONE_FACE = "mask_detection", "mask_detection_one_face"
"""The tasks of the two rules."""
YOLO = Reading("centre", "normalised")
"""How YOLO files give boxes, and the published scripts of the assessment those of annotated BAFMD."""


@dataclass(frozen=True)
class MaskData:
    """A dataset, the rule that scores it, and what it is compared by."""

    dataset: Dataset
    task: str = BOXES
    attributes: tuple[str, ...] = ()
    """The attributes that are compared when the user names none."""
    source: str | None = None
    """The name under which the package itself loads the dataset."""
    origin: str | None = None
    """What `load_dataset` reads the same data from again, for the pictures in a report and after a purge."""
    reading: Reading | None = None
    """What the four numbers of its boxes are, where --box-format and --units say so."""


@dataclass(frozen=True)
class AskedTruth:
    """How a dataset is to be read."""

    reading: Reading = YOLO
    """What the four numbers of a box are in annotated BAFMD and in YOLO files."""
    classes: Mapping[int, str] | None = None
    """Which class number is mask and which no_mask, in YOLO files without a classes.txt and in COCO files."""
    attributes: Path | None = None
    """A CSV of attributes."""
    only_present: bool = False
    """FairFace: leave out rows whose pictures are not there."""
    split: str | None = None


USUAL = ("skincolor", "sex", "skin_tone", "age_group", "gender", "race")
MOST_GROUPS = 20


def compared_by(dataset: Dataset, names: Sequence[str]) -> tuple[str, ...]:
    """The attributes that are compared when the user names none: the usual ones, else those with a few values each."""
    usual = tuple(name for name in USUAL if name in names)
    if usual:
        return usual
    values: dict[str, set[object]] = {name: set() for name in names}
    for sample in dataset:
        for subject in sample.subjects:
            for name in names:
                values[name].add(subject.attributes.get(name))
    return tuple(name for name in names if 2 <= len(values[name] - {None}) <= MOST_GROUPS and name not in NUMERIC)


def of_split(data: MaskData, split: str | None) -> MaskData:
    """The samples of one split; all of them when none is named."""
    if split is None:
        return data
    kept = data.dataset.filter(lambda sample: sample.attributes.get("split") == split)
    if not len(kept):
        known = sorted({str(sample.attributes.get("split")) for sample in data.dataset} - {"None"})
        there = f"it has {', '.join(known)}" if known else "it has no splits"
        raise InputError(f"dataset {data.dataset.name!r} has no split {split!r}; {there}")
    return replace(data, dataset=kept, source=None)


def masked_word(word: str, place: str) -> str | None:
    """`yes` or `no` for what a file says about the mask; empty is not known.

    >>> masked_word("with_mask", "row 2"), masked_word("no-mask", "row 2"), masked_word(" ", "row 2")
    ('yes', 'no', None)
    """
    if not word.strip():
        return None
    masked = says_masked(word)
    if masked is None:
        raise InputError(f"{place}: {word!r} says neither mask nor no mask; expected 1 or 0, mask or no_mask")
    return masked


def as_options(reading: Reading, prefix: str = "") -> str:
    """The options that choose a reading.

    >>> as_options(YOLO), as_options(YOLO, "prediction-")
    ('--box-format centre --units normalised', '--prediction-format centre --prediction-units normalised')
    """
    return f"--{prefix or 'box-'}format {reading.form} --{prefix}units {reading.units}"


def checked_corners(numbers: Array, sizes: Array, reading: Reading, place: str) -> Array:
    """Corners in pixels; a reading in which more than 5 % of boxes leave the picture is refused, those that fit named.

    >>> many = np.tile([0.1, 0.9, 0.3, 0.15], (20, 1))
    >>> checked_corners(many, np.full((20, 2), 100.0), YOLO, "faces.csv")
    Traceback (most recent call last):
    countenance.errors.InputError: faces.csv: read as centre, normalised, 100 % of 20 boxes leave their picture ...
    """
    found = reading.corners(numbers, sizes)
    others = fitting(numbers, sizes)
    fits = f"; {fits_sentence(others)}" if others else ", and no other reading fits"
    if reading.units == "pixels" and len(numbers) and guessed_units(numbers) == "normalised":
        raise InputError(f"{place}: read as {reading}, but (almost) no number is above 1{fits}")
    share = share_outside(found, sizes)
    if share <= LARGEST_SHARE_OUTSIDE:
        return found
    right = "" if others else "; are these the pictures that the boxes belong to?"
    raise InputError(
        f"{place}: read as {reading}, {share * 100:.0f} % of {len(numbers)} boxes leave their picture or have no area "
        f"(at most {LARGEST_SHARE_OUTSIDE * 100:.0f} % may){fits}{right}"
    )


def fits_sentence(readings: Sequence[Reading], prefix: str = "") -> str:
    """Every reading that fits, as options.

    >>> fits_sentence([Reading("topleft", "pixels")])
    'this reading fits: --box-format topleft --units pixels (x, y, w, h in pixels)'
    """
    listed = " or ".join(f"{as_options(reading, prefix)} ({reading.numbers_are})" for reading in readings)
    return f"{'this reading fits' if len(readings) == 1 else 'these readings fit'}: {listed}"


PICTURE_FOLDERS = ("", "images", "val", "test", "train", "test_set", "train_set", "annotations")


def find_picture(root: Path, name: str, place: str, folders: Sequence[str] = PICTURE_FOLDERS) -> Path:
    """The picture of that name (with or without its ending) in the dataset's folder or a usual folder in it."""
    tried = []
    for folder in folders:
        path = inside(root / folder if folder else root, name, place)
        tried.append(path)
        if path.suffix.lower() not in IMAGE_SUFFIXES:
            tried += [path.with_name(path.name + suffix) for suffix in IMAGE_SUFFIXES]
    found = next((path for path in tried if path.is_file()), None)
    if found is None:
        where = ", ".join(dict.fromkeys(str(path.parent) for path in tried))
        raise InputError(f"{place}: no picture {name!r} in {where}")
    return found
