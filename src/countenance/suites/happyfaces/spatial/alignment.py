"""Regions that follow each photo instead of one fixed box: a region moves to where the photo looks most typical.

The template is the mean of the labelled photos' regions, without regard to labels; photos are moved to it and it is
computed again, a few times ("congealing"). A printed word is always at the same place and stays there; mouths are not.
"""

from dataclasses import dataclass

import numpy as np

from countenance.suites.happyfaces.formulas import hog
from countenance.suites.happyfaces.interface import Labels, Singles
from countenance.suites.happyfaces.spatial.regions import Region
from countenance.suites.happyfaces.spatial.windows import SCALES

REACH = 3
"""Largest move in fine squares (of 4 px) up, down, left and right."""
ROUNDS = 3
SHIFTS = tuple((y, x) for y in range(-REACH, REACH + 1) for x in range(-REACH, REACH + 1))
_SCALE = len(SCALES) - 1
"""The region is followed at the coarsest scale."""
_CHUNK = 200


@dataclass(frozen=True)
class FaceTemplate:
    """The mean look of a region."""

    region: Region
    usual: Singles

    def shifts(self, fine: Singles) -> Labels:
        """For each photo the shift (down, right, in fine squares) at which its region is most like the template."""
        weighted = (self.usual.reshape(*self.region.root(_SCALE).shape[:2], -1) * self.region.root(_SCALE)).ravel()
        cell, box, best = SCALES[_SCALE][0], self.region.box(_SCALE), []
        for start in range(0, len(fine), _CHUNK):
            some = fine[start : start + _CHUNK]
            like = [hog.blocks(some, cell, box, shift).reshape(len(some), -1) @ weighted for shift in SHIFTS]
            best.append(np.stack(like, 1).argmax(1))
        return np.asarray(np.array(SHIFTS)[np.concatenate(best)], np.int64)


def make_template(fine: Singles, region: Region) -> FaceTemplate:
    """The template of a region from the labelled photos."""
    template = FaceTemplate(region, look(fine, region, _SCALE, still(fine)).mean(0))
    for _ in range(ROUNDS - 1):
        template = FaceTemplate(region, look(fine, region, _SCALE, template.shifts(fine)).mean(0))
    return template


def still(fine: Singles) -> Labels:
    """Zero shifts for every photo."""
    return np.zeros((len(fine), 2), np.int64)


def look(fine: Singles, region: Region, scale: int, moves: Labels) -> Singles:
    """Weighted blocks of a region, averaged over photo and mirror image; one row for each photo.

    For a symmetric region, averaging features equals training on photos and their mirror images.
    """
    box, weight = region.box(scale), region.root(scale)
    out = np.empty((len(fine), weight.size * 36), np.float32)
    for move in np.unique(moves, axis=0):
        here = (moves == move).all(1)
        seen = hog.blocks(fine[here], SCALES[scale][0], box, (int(move[0]), int(move[1])))
        out[here] = ((seen + hog.mirror(seen)) / 2 * weight).reshape(len(seen), -1)
    return out


def moved(fine: Singles, moves: Labels) -> Singles:
    """The photos' gradient votes, shifted so that the content of the moved region is at the region's own place.

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
