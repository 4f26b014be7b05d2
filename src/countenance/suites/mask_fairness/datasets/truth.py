"""What the adapters share: boxes in every convention, words for mask and no mask, and where pictures lie."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from countenance.data import Dataset
from countenance.data.image import IMAGE_SUFFIXES
from countenance.data.paths import inside
from countenance.errors import InputError

BoxFormat = Literal["topleft", "centre"]
Units = Literal["pixels", "normalised"]
Array = NDArray[np.float64]
Say = Callable[[str], None]

BOXES, ONE_FACE = "mask_detection", "mask_detection_one_face"
"""The tasks of the two rules."""

LARGEST_SHARE_OUTSIDE = 0.05
READINGS: tuple[tuple[BoxFormat, Units], ...] = (
    ("centre", "normalised"), ("topleft", "normalised"), ("centre", "pixels"), ("topleft", "pixels"),
)  # fmt: skip

MASK_WORDS = frozenset({
    "mask", "masked", "withmask", "facemask", "yes", "true", "1",
    "incorrect", "poormask", "badmask", "maskwearedincorrect", "incorrectmask", "badlyworn",
})  # fmt: skip
"""A badly worn mask is a mask, as in the published prediction files."""
NO_MASK_WORDS = frozenset({"nomask", "unmasked", "withoutmask", "nonemask", "none", "face", "no", "false", "0"})


@dataclass(frozen=True)
class MaskData:
    """A dataset, the rule that scores it, and what prediction files may call its pictures and classes."""

    dataset: Dataset
    task: str = BOXES
    attributes: tuple[str, ...] = ()
    """The attributes that are compared when the user names none."""
    image_ids: Mapping[str, str] = field(default_factory=dict)
    """Foreign image ids (COCO's numbers) by sample id."""
    classes: Mapping[int, str] = field(default_factory=dict)
    """Foreign class numbers as mask and no_mask."""
    source: str | None = None
    """The name under which the package itself loads the dataset again (for the pictures in a report)."""


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

    >>> masked_word("with_mask", "row 2"), masked_word("no-mask", "row 2"), masked_word("0.0", "row 2")
    ('yes', 'no', 'no')
    """
    plain = word.strip().lower().removesuffix(".0")
    plain = "".join(letter for letter in plain if letter.isalnum())
    if not plain:
        return None
    if plain in MASK_WORDS:
        return "yes"
    if plain in NO_MASK_WORDS:
        return "no"
    raise InputError(f"{place}: {word!r} says neither mask nor no mask; expected 1 or 0, mask or no_mask")


def corners(boxes: Array, sizes: Array, box_format: BoxFormat, units: Units) -> Array:
    """Boxes x, y, width, height in a convention as corners in pixels; `sizes` is width, height of each picture.

    >>> corners(np.array([[0.5, 0.5, 0.2, 0.4]]), np.array([[100, 50.0]]), "centre", "normalised")
    array([[40., 15., 60., 35.]])
    """
    scaled = boxes * np.tile(sizes, 2) if units == "normalised" else boxes
    first = scaled[:, :2] - scaled[:, 2:] / 2 if box_format == "centre" else scaled[:, :2]
    return np.hstack([first, first + scaled[:, 2:]])


def share_outside(boxes: Array, sizes: Array) -> float:
    """Share of boxes that leave their picture by more than rounding (one pixel, or half a percent of the side).

    >>> share_outside(np.array([[0, 0, 10, 10], [0, 0, 10, 99.0]]), np.array([[50, 50], [50, 50.0]]))
    0.5
    """
    if not len(boxes):
        return 0.0
    slack = np.maximum(1.0, 0.005 * sizes)
    left = (boxes[:, :2] < -slack).any(axis=1) | (boxes[:, 2:] > sizes + slack).any(axis=1)
    return float(left.mean())


def checked_corners(boxes: Array, sizes: Array, box_format: BoxFormat, units: Units, place: str) -> Array:
    """Corners in pixels; a reading in which more than 5 % of boxes leave the picture is refused, a better one named.

    >>> many = np.tile([0.1, 0.9, 0.3, 0.15], (20, 1))
    >>> checked_corners(many, np.full((20, 2), 100.0), "centre", "normalised", "faces.csv")
    Traceback (most recent call last):
    countenance.errors.InputError: faces.csv: read as centre, normalised, 100 % of 20 boxes leave their picture ...
    """
    if units == "pixels" and len(boxes) and float(boxes.max()) <= 1:
        raise InputError(f"{place}: read as pixels, no number is above 1; read it as units=normalised")
    found = corners(boxes, sizes, box_format, units)
    share = share_outside(found, sizes)
    if share <= LARGEST_SHARE_OUTSIDE:
        return found
    tried = f"{place}: read as {box_format}, {units}, {share:.0%} of {len(boxes)} boxes leave their picture"
    tried = tried.replace("%", " %") + f" (at most {LARGEST_SHARE_OUTSIDE * 100:.0f} % may)"
    others = {}
    for form, unit in READINGS:
        if unit == "pixels" and float(boxes.max()) <= 1:
            continue  # every box would lie in the first pixel, inside and meaningless
        others[form, unit] = share_outside(corners(boxes, sizes, form, unit), sizes)
    best = min(others, key=lambda reading: others[reading])
    if others[best] <= LARGEST_SHARE_OUTSIDE:
        raise InputError(f"{tried}; read it as box_format={best[0]}, units={best[1]}")
    raise InputError(f"{tried}, and no other reading fits; are these the pictures that the boxes belong to?")


PICTURE_FOLDERS = ("", "images", "val", "test", "train")


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
