"""Where the heads look: block weights as heat maps over the mean photo, or over single photos."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.report.pictures import made
from countenance.run.run import Run
from countenance.suites.happyfaces.dataset import read_happyfaces
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.spatial.windows import SCALES

FACES_SHOWN = 10
TINTS = ((255.0, 190.0, 60.0), (120.0, 200.0, 255.0))


def looks(sweep: Path, method: str, data: Path | None, faces: bool) -> dict[str, Any] | None:
    """Heat maps of a sweep's regions, from any of its runs that kept them."""
    found, names = None, ["head 1", "head 2"]
    for manifest in sorted(sweep.with_suffix(".runs").glob("*/run.json")):
        try:
            record = record_of(Run(manifest.parent))
            regions = record["notes"]["regions"]
            heats = [heat_map(region) for region in regions]
            features = list(record["validation"]["heads"])
            names = [str(features[record["ways"].index(head)]) for head in (0, 1)]
        except (InputError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue  # a run without regions, or no run at all
        found = regions
        break
    if found is None:
        return None
    under, shape, photos, real_people = None, heats[0].shape, [], False
    if data is not None:
        loaded = read_happyfaces(data)
        real_people = loaded.real_people
        under = loaded.labelled.pixels.mean(0).round().astype(np.uint8)
        heats = [heat_map(region, under.shape[:2]) for region in found]
        shape = heats[0].shape
        if faces:
            step = max(1, len(loaded.validation) // FACES_SHOWN)
            some = loaded.validation.pixels[::step][:FACES_SHOWN]
            moves = _moves(loaded.labelled, some)
            photos = [
                made(_tinted(photo, *(moved_heat(heat, moves[k][i]) for k, heat in enumerate(heats))))
                for i, photo in enumerate(some)
            ]
    base = np.full((*shape, 3), 235, np.uint8) if under is None else under
    return {
        "method": method,
        "heads": [(made(_tinted(base, heat)), name) for heat, name in zip(heats, names, strict=True)],
        "names": names,
        "over_mean": under is not None,
        "photos": photos,
        "real_people": real_people,
    }


def _moves(labelled: Any, photos: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
    """By how many pixels each head's region is moved in each photo: it is followed, not one fixed box."""
    from threadpoolctl import threadpool_limits

    from countenance.suites.happyfaces.methods.spatial import discover

    with threadpool_limits(limits=1):  # the matrices are small: threads cost more than they bring
        return discover(labelled.pixels, labelled.truth()[:, 0].astype(np.int64)).moves(photos)


def moved_heat(heat: NDArray[np.float64], move: NDArray[np.int64]) -> NDArray[np.float64]:
    """The map moved down and right by so many pixels; what leaves the photo is gone."""
    out = np.zeros_like(heat)
    (down, right), (height, width) = move, heat.shape
    out[max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)] = heat[
        max(0, -down) : height + min(0, -down), max(0, -right) : width + min(0, -right)
    ]
    return out


def heat_map(region: Sequence[Sequence[Sequence[float]]], shape: tuple[int, int] | None = None) -> NDArray[np.float64]:
    """Block weights of all scales as one map in pixels, 0 to 1.

    >>> heat_map([[[0, 1], [0, 0]], [[1]]], (24, 24)).shape
    (24, 24)
    """
    scales = [np.asarray(weights, np.float64) for weights in region]
    if shape is None:
        cell = SCALES[0][0]
        shape = ((scales[0].shape[0] + 1) * cell, (scales[0].shape[1] + 1) * cell)
    heat = np.zeros(shape)
    for (cell, _), weights in zip(SCALES, scales, strict=True):
        y0 = (shape[0] - (weights.shape[0] + 1) * cell) // 2
        x0 = (shape[1] - (weights.shape[1] + 1) * cell) // 2
        for row, column in zip(*np.nonzero(weights), strict=True):
            y, x = max(0, y0 + row * cell), max(0, x0 + column * cell)
            heat[y : y + 2 * cell, x : x + 2 * cell] += weights[row, column] / (4 * cell * cell)
    top = heat.max()
    return heat / top if top else heat


def _tinted(photo: NDArray[np.uint8], *heats: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The photo in grey, each head's heat in a tint of its own: lighter than the photo, so that it shows without it."""
    drawn = photo.mean(-1, keepdims=True).repeat(3, -1) * 0.75
    for heat, tint in zip(heats, TINTS, strict=False):
        share = 0.75 * heat[..., None]
        drawn = drawn * (1 - share) + np.array(tint) * share
    return np.asarray(drawn.round(), np.uint8)
