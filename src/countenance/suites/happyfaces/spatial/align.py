"""Regions found in each photo rather than one fixed box: the region is moved to where the photo looks most usual.

The template is the mean of the labelled photos' regions, without regard to labels; photos are moved to it and it is
computed again, a few times ("congealing"). A printed word is always at the same place and stays there; mouths are not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.suites.happyfaces.spatial import hog
from countenance.suites.happyfaces.spatial.regions import Region
from countenance.suites.happyfaces.spatial.windows import SCALES

REACH = 3
"""Largest move in fine squares (of 4 px) up, down, left and right."""
ROUNDS = 3
SHIFTS = tuple((y, x) for y in range(-REACH, REACH + 1) for x in range(-REACH, REACH + 1))
_STILL = SHIFTS.index((0, 0))
_SCALE = len(SCALES) - 1
"""The region is followed at the coarsest scale."""
_CHUNK = 200


@dataclass(frozen=True)
class FaceTemplate:
    """The usual look of a region."""

    region: Region
    look: hog.Floats

    def shifts(self, fine: hog.Floats) -> NDArray[np.int64]:
        """For each photo the move (down, right, in fine squares) that makes its region look most usual."""
        found = [_likeness(fine[i : i + _CHUNK], self.region, self.look).argmax(1) for i in range(0, len(fine), _CHUNK)]
        return np.asarray(np.array(SHIFTS)[np.concatenate(found)], np.int64)


def make_template(fine: hog.Floats, region: Region) -> FaceTemplate:
    """The template of a region from the labelled photos."""
    chosen = np.full(len(fine), _STILL)
    for _ in range(ROUNDS):
        total = sum(_seen(fine[chosen == index], region, SHIFTS[index]).sum(0) for index in np.unique(chosen))
        mean = np.asarray(total / len(fine), np.float32)[None]
        look = ((mean + hog.mirror(mean)) / 2)[0]
        chosen = _likeness(fine, region, look).argmax(1)
    return FaceTemplate(region, look)


def still(fine: hog.Floats) -> NDArray[np.int64]:
    """No move at all, for every photo."""
    return np.zeros((len(fine), 2), np.int64)


def moved(fine: hog.Floats, moves: NDArray[np.int64]) -> hog.Floats:
    """The photos' votes moved, so that what was found at the shifted place stands at the region's own.

    >>> fine = np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1)
    >>> float(moved(fine, np.array([[1, 2]]))[0, 0, 0, 0]) == float(fine[0, 1, 2, 0])
    True
    """
    out = np.empty_like(fine)
    rows, columns = np.arange(fine.shape[1]), np.arange(fine.shape[2])
    for move in np.unique(moves, axis=0):
        here = np.nonzero((moves == move).all(1))[0]
        y, x = np.clip(rows + move[0], 0, rows[-1]), np.clip(columns + move[1], 0, columns[-1])
        out[here] = fine[here][:, y][:, :, x]
    return out


def _seen(fine: hog.Floats, region: Region, shift: tuple[int, int]) -> hog.Floats:
    return hog.blocks(fine, SCALES[_SCALE][0], region.box(_SCALE), shift) * region.root(_SCALE)


def _likeness(fine: hog.Floats, region: Region, look: hog.Floats) -> hog.Floats:
    """Photos × shifts: similarity of the moved region to the template."""
    weighted, cell, box = (look * region.root(_SCALE)).ravel(), SCALES[_SCALE][0], region.box(_SCALE)
    return np.stack([hog.blocks(fine, cell, box, shift).reshape(len(fine), -1) @ weighted for shift in SHIFTS], 1)
