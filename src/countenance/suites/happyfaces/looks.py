"""Where the heads look: block weights as heat maps over the mean photo, or over single photos."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.report.pictures import made
from countenance.run.run import Run
from countenance.suites.happyfaces.dataset import read_happyfaces
from countenance.suites.happyfaces.interface import Floats, Labels, Pictures
from countenance.suites.happyfaces.methods.spatial import discover
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.spatial.windows import SCALES

FACES_SHOWN = 10
TINTS = ((255.0, 190.0, 60.0), (120.0, 200.0, 255.0))


def looks(sweep: Path, method: str, data: Path | None, faces: bool) -> dict[str, Any] | None:
    """Heat maps of a sweep's regions, from any of its runs that kept them."""
    kept = next(filter(None, map(_regions, sorted(sweep.with_suffix(".runs").glob("*/run.json")))), None)
    if kept is None:
        return None
    regions, names, real_people = kept
    heats, photos = [heat_map(region) for region in regions], []
    base = np.full((*heats[0].shape, 3), 235, np.uint8)
    if data is not None:
        loaded = read_happyfaces(data)
        base = loaded.labelled.pixels.mean(0).round().astype(np.uint8)
        heats = [heat_map(region, base.shape[:2]) for region in regions]
        if faces:
            step = max(1, len(loaded.validation) // FACES_SHOWN)
            some = loaded.validation.pixels[::step][:FACES_SHOWN]
            found = discover(loaded.labelled.pixels, loaded.labelled.truth()[:, 0].astype(np.int64))
            for photo, *moves in zip(some, *found.moves(some), strict=True):
                photos.append(made(_tinted(photo, *map(moved_heat, heats, moves))))
    return {
        "method": method,
        "heads": [(made(_tinted(base, heat)), name) for heat, name in zip(heats, names, strict=True)],
        "names": names,
        "over_mean": data is not None,
        "photos": photos,
        "real_people": real_people,
    }


def _regions(manifest: Path) -> tuple[list[Any], list[str], bool] | None:
    """The regions of a run's heads, what each head is called, and whether real people were looked at; None without."""
    try:
        record = record_of(Run(manifest.parent))
        regions = record["notes"]["regions"]
        for region in regions:
            heat_map(region)
        features = list(record["validation"]["heads"])
        return regions, [str(features[record["ways"].index(head)]) for head in (0, 1)], bool(record["real_people"])
    except (InputError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def moved_heat(heat: Floats, move: Labels) -> Floats:
    """The map moved down and right by so many pixels; what leaves the photo is gone."""
    out = np.zeros_like(heat)
    (down, right), (height, width) = move, heat.shape
    out[max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)] = heat[
        max(0, -down) : height + min(0, -down), max(0, -right) : width + min(0, -right)
    ]
    return out


def heat_map(region: Sequence[Sequence[Sequence[float]]], shape: tuple[int, int] | None = None) -> Floats:
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


def _tinted(photo: Pictures, *heats: Floats) -> Pictures:
    """The photo in grey, each head's heat in a tint of its own: lighter than the photo, so that it shows without it."""
    drawn = photo.mean(-1, keepdims=True).repeat(3, -1) * 0.75
    for heat, tint in zip(heats, TINTS, strict=False):
        share = 0.75 * heat[..., None]
        drawn = drawn * (1 - share) + np.array(tint) * share
    return np.asarray(drawn.round(), np.uint8)
