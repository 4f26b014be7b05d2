"""Tries other readings of boxes when almost nothing is found, and words a note on what they would find."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.boxes import best_overlap
from countenance.metrics.readings import (
    CORNERS,
    LARGEST_NORMALISED,
    LARGEST_SHARE_OUTSIDE,
    READINGS,
    Array,
    Reading,
    guessed_units,
    share_outside,
)

NEAR_ZERO = 0.05
"""At most this share found: next to nothing."""
WORTH_TRYING = 0.8
"""Other readings are tried when a smaller share is found."""
WORTH_NAMING = 0.2
"""Another reading is named when it finds at least this share, and clearly more than the reading in use."""
MOST_OUTSIDE = 0.2
"""A reading of predictions is plausible when at most this share of boxes leaves the picture or has no area."""
MOST_TRIED = 500
"""Readings are tried on a sample of about this many true boxes."""

Localises = Callable[[Array, Array], NDArray[np.bool_]]
"""From the true and the predicted corners of a picture to whether each true box is found."""


def overlapping_half(truth: Array, predicted: Array) -> NDArray[np.bool_]:
    """Whether some predicted box overlaps each true box by at least one half.

    >>> overlapping_half(np.array([[0, 0, 2, 2.0]]), np.array([[0, 0, 2, 1.0]]))
    array([ True])
    """
    return best_overlap(truth, predicted) >= 0.5


@dataclass(frozen=True)
class Scene:
    """The boxes of one picture, as numbers in some reading."""

    truth: Array
    predicted: Array
    width: float = math.nan
    height: float = math.nan
    """Needed for normalised numbers; where it is not known, no box leaves the picture."""


@dataclass(frozen=True)
class Trial:
    """How many true boxes are found when predictions and truth are read in a certain way."""

    predicted: Reading
    truth: Reading
    localised: int
    of: int

    @property
    def share(self) -> float:
        return self.localised / self.of if self.of else 0.0


def clearly_more(share: float, used: float) -> bool:
    """Whether a reading finds so many more boxes than the one in use that it must be right.

    It finds a noticeable share, and either finds at least twice as many or misses at most a quarter as many.

    >>> clearly_more(0.4, 0.1), clearly_more(0.95, 0.6), clearly_more(0.8, 0.6), clearly_more(0.1, 0.0)
    (True, True, False, False)
    """
    return share >= WORTH_NAMING and (share >= 2 * used or 1 - share <= (1 - used) / 4)


@dataclass(frozen=True)
class Trials:
    """What the reading in use finds, and what other readings would find, best first."""

    used: Trial
    better: tuple[Trial, ...]
    best_other: int
    """The most that any other reading finds, named or not."""


def count_found(scenes: Sequence[Scene], predicted: Reading, truth: Reading, localises: Localises) -> Trial:
    """How many true boxes the predictions find when both are read as given."""
    hits = total = 0
    for scene in scenes:
        size = np.array([[scene.width, scene.height]])
        true_boxes = truth.corners(scene.truth, size)
        boxes = predicted.corners(scene.predicted, size)
        boxes = boxes[(boxes[:, 2:] > boxes[:, :2]).all(axis=1)]
        total += len(true_boxes)
        if len(boxes) and len(true_boxes):
            hits += int(localises(true_boxes, boxes).sum())
    return Trial(predicted, truth, hits, total)


def step(total: int, most: int = MOST_TRIED) -> int:
    """The step from one tried picture to the next, so that about `most` of all true boxes are tried.

    >>> step(66), step(1200)
    (1, 3)
    """
    return max(1, -(-total // most))


def sampled(scenes: Sequence[Scene]) -> list[Scene]:
    """Scenes evenly spaced over all of them."""
    return list(scenes[:: step(sum(len(scene.truth) for scene in scenes))])


def try_readings(
    scenes: Sequence[Scene],
    predicted: Reading = CORNERS,
    truth: Reading = CORNERS,
    *,
    localises: Localises = overlapping_half,
    truths: Sequence[Reading] = (),
) -> Trials:
    """What the readings in use find, and which others would find clearly more.

    The predictions' and the truth's reading (among `truths`) are varied, both at once where neither alone helps.
    """
    used = count_found(scenes, predicted, truth, localises)
    if used.share >= WORTH_TRYING or not any(len(scene.predicted) for scene in scenes):
        return Trials(used, (), 0)
    possible = [reading for reading in _plausible(scenes) if reading != predicted]
    others = [t for t in truths if t != truth]
    best_other = 0
    one_changed = [*((reading, truth) for reading in possible), *((predicted, other) for other in others)]
    for pairs in (one_changed, list(itertools.product(possible, others))):
        trials = [count_found(scenes, *pair, localises) for pair in pairs]
        best_other = max([best_other, *(trial.localised for trial in trials)])
        better = [t for t in trials if clearly_more(t.share, used.share)]
        if better:
            return Trials(used, tuple(sorted(better, key=lambda t: -t.localised)), best_other)
    return Trials(used, (), best_other)


def _plausible(scenes: Sequence[Scene]) -> list[Reading]:
    """The readings in which most predicted boxes lie in their pictures.

    Without this a truth in a wrong reading would be matched by reading the predictions wrongly in the same way.
    """
    numbers = np.concatenate([scene.predicted for scene in scenes])
    sizes = np.concatenate([np.tile([scene.width, scene.height], (len(scene.predicted), 1)) for scene in scenes])
    units = guessed_units(numbers)
    return [
        reading
        for reading in READINGS
        if reading.units == units and share_outside(reading.corners(numbers, sizes), sizes) <= MOST_OUTSIDE
    ]


def truth_note(scenes: Sequence[Scene], truth: Reading, nouns: tuple[str, str] = ("face", "faces")) -> str | None:
    """A sentence when the true boxes themselves do not fit their pictures, whatever was predicted.

    >>> truth_note([Scene(np.array([[0.1, 0.2, 0.3, 0.4]]), np.zeros((0, 4)), 100, 50)], CORNERS)
    'the true boxes of the faces look normalised: (almost) no number is above 1.5, and boxes of a dataset are in pixels'
    """
    numbers = np.concatenate([scene.truth for scene in scenes]) if scenes else np.zeros((0, 4))
    if not len(numbers):
        return None
    sizes = np.concatenate([np.tile([scene.width, scene.height], (len(scene.truth), 1)) for scene in scenes])
    if truth.units == "px" and guessed_units(numbers) == "rel":
        return (
            f"the true boxes of the {nouns[1]} look normalised: (almost) no number is above {LARGEST_NORMALISED}, and "
            "boxes of a dataset are in pixels"
        )
    share = share_outside(truth.corners(numbers, sizes), sizes)
    if share <= LARGEST_SHARE_OUTSIDE:
        return None
    return (
        f"{share * 100:.0f} % of the true boxes of the {nouns[1]} leave their pictures: the dataset's boxes may be in "
        "another reading (COCO's bbox is x, y, width, height, a face_box or person_box x0, y0, x1, y1, all in pixels); "
        "`countenance data check` lists them"
    )


def reading_note(
    trials: Trials,
    remedy: Callable[[Trial], str],
    *,
    nouns: tuple[str, str] = ("face", "faces"),
    total: int | None = None,
    where: str = "",
    most: int = 3,
) -> str | None:
    """A sentence on the reading of boxes for the user; None where there is nothing to report.

    `total` is the number of true boxes of which the trials saw a sample, `where` says in which pictures they are.

    >>> scene = Scene(np.array([[40, 15, 60, 35.0]]), np.array([[0.5, 0.5, 0.2, 0.4]]), 100, 50)
    >>> print(reading_note(try_readings([scene]), lambda trial: f"use box_format={trial.predicted.form}"))
    0 of 1 face was localised; read as cxcywh, rel (cx, cy, w, h as shares of the picture), the same predictions
    would localise 1 of 1: use box_format=cxcywh
    """
    used, many = trials.used, nouns[0 if trials.used.of == 1 else 1]
    if not used.of or used.share >= WORTH_TRYING:
        return None
    sample = f" (a sample of {total:,})" if total is not None and total > used.of else ""
    verb = "was" if 1 in (used.localised, used.of) else "were"
    start = f"{used.localised} of {used.of} {many}{where}{sample} {verb} localised"
    if trials.better:
        remedies = [
            f"{_changed(t, used)} would localise {t.localised} of {t.of}: {remedy(t)}" for t in trials.better[:most]
        ]
        return f"{start}; " + "; or ".join(remedies)
    if used.share > NEAR_ZERO:
        return None
    return (
        f"{start}, and no other reading of the boxes (corners, top-left corner and size, centre and size, in pixels or "
        f"normalised) would localise more than {trials.best_other}: do the boxes belong to these pictures?"
    )


def _changed(trial: Trial, used: Trial) -> str:
    """How a trial reads the boxes other than the readings in use, as the beginning of a sentence."""
    words = f"read as {trial.predicted} ({trial.predicted.numbers_are}), the same predictions"
    if trial.truth == used.truth:
        return words
    truth = f"with the dataset's boxes read as {trial.truth} ({trial.truth.numbers_are})"
    return f"{truth}, the predictions" if trial.predicted == used.predicted else f"{truth} and {words}"


@dataclass(frozen=True)
class FileBoxes:
    """The boxes of many images, one after another, as the numbers that a file gives."""

    boxes: Array
    image: NDArray[np.int64]
    """The image of each box; negative: of none that counts."""
    reading: Reading


def file_note(
    truth: FileBoxes,
    predicted: FileBoxes,
    *,
    size: Callable[[int], tuple[float, float] | None],
    remedy: str,
    nouns: tuple[str, str] = ("face", "faces"),
    localises: Localises = overlapping_half,
) -> str | None:
    """The note of `reading_note`, for the boxes of a file.

    `size` gives the width and height of an image's picture, None where it is not there; only normalised boxes need it.
    """
    seen = np.intersect1d(truth.image, predicted.image[predicted.image >= 0])
    total = int(np.isin(truth.image, seen).sum())
    tried = [int(image) for image in seen[:: step(total)]]
    scenes = list(map(Scene, _of_images(truth, tried), _of_images(predicted, tried)))
    if not scenes:
        return None
    if guessed_units(np.concatenate([scene.predicted for scene in scenes])) == "rel":
        sizes = [size(image) for image in tried]
        scenes = [replace(s, width=wh[0], height=wh[1]) for s, wh in zip(scenes, sizes, strict=True) if wh is not None]
        if not scenes:
            return f"(almost) no number of a box is above {LARGEST_NORMALISED}: {remedy}"
    where = "" if len(seen) == len(np.unique(truth.image)) else " in images with predictions"
    trials = try_readings(scenes, predicted.reading, truth.reading, localises=localises)
    return reading_note(trials, lambda trial: remedy, nouns=nouns, total=total, where=where)


def _of_images(listed: FileBoxes, images: Sequence[int]) -> list[Array]:
    """The boxes of each of the images."""
    rows = np.flatnonzero(np.isin(listed.image, images))
    return [listed.boxes[rows[listed.image[rows] == image]] for image in images]
