"""Masks as COCO writes them, {"size": [height, width], "counts": text or numbers}, read and written here alone."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from countenance.errors import DataError
from countenance.metrics.masks import Ints, compress, many_run_lengths, mask_runs, run_lengths

FAR = 4
"""How far a polygon may reach outside its picture, in picture sizes; others would take too long to draw."""


def read_counts(counts: Any, place: str) -> Ints:
    """Run lengths from COCO's compressed text or from a list of numbers.

    >>> read_counts("04", "a.json: mask 1"), read_counts([0, 4], "a.json: mask 1")
    (array([0, 4]), array([0, 4]))
    """
    try:
        if isinstance(counts, list):
            lengths = np.array(counts, dtype=np.int64)
            if lengths.ndim != 1 or (lengths < 0).any():
                raise ValueError("counts is not a list of run lengths")
            return lengths
        if isinstance(counts, str):
            return run_lengths(counts)
        raise ValueError(f"counts is {type(counts).__name__}, expected COCO run lengths as text or numbers")
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{place}: {error}") from None


def read_masks(values: Sequence[Any], places: Sequence[str], size: tuple[int, int] | None = None) -> list[Ints]:
    """Run lengths of several masks; a mask of another size than the picture's (height, width) is refused.

    >>> read_masks([{"size": [2, 2], "counts": "04"}], ["a.json: mask 1"])
    [array([0, 4])]
    """
    for value, place in zip(values, places, strict=True):
        if not isinstance(value, dict) or not isinstance(value.get("size"), list) or "counts" not in value:
            raise DataError(f"{place}: {value!r:.60} is not a run-length mask with size and counts")
        result = value["size"]
        if len(result) != 2 or not all(isinstance(n, int) and n > 0 for n in result):
            raise DataError(f"{place}: size {result!r:.40}, expected [height, width]")
        if size is not None and tuple(result) != size:
            raise DataError(f"{place}: a mask of {result[1]}×{result[0]}, the picture is {size[1]}×{size[0]}")
    counts = [value["counts"] for value in values]
    runs: list[Ints] = []
    if all(isinstance(text, str) for text in counts):
        with suppress(ValueError):  # read one by one, so that the message names the mask
            runs = many_run_lengths(counts)
    if len(runs) != len(counts):
        runs = [read_counts(text, place) for text, place in zip(counts, places, strict=True)]
    for value, lengths, place in zip(values, runs, places, strict=True):
        height, width = value["size"]
        if int(lengths.sum()) != height * width:
            raise DataError(f"{place}: run lengths cover {int(lengths.sum())} pixels, the mask has {height * width}")
    return runs


def rle_of(mask: Any) -> dict[str, Any]:
    """A boolean mask as {"size": [height, width], "counts": text}.

    >>> rle_of(np.ones((2, 2), bool))
    {'size': [2, 2], 'counts': '04'}
    """
    array = np.asarray(mask).astype(bool)
    return {"size": [int(n) for n in array.shape], "counts": compress(mask_runs(array))}


def segmentation_counts(segmentation: Any, width: int, height: int, place: str) -> str:
    """COCO's segmentation, a run-length mask or a list of polygons, as compressed run lengths.

    >>> segmentation_counts([[0, 0, 2, 0, 2, 2, 0, 2]], 2, 2, "a.json annotations[0]")
    '04'
    """
    from pycocotools import mask as coco

    if isinstance(segmentation, dict):
        size = segmentation.get("size")
        if size != [height, width]:
            raise DataError(f"{place}: segmentation of size {size}, the picture is {height}×{width} (height, width)")
        return compress(read_masks([segmentation], [place])[0])
    try:
        polygons = [[float(v) for v in polygon] for polygon in segmentation]
        far = FAR * max(width, height)
        if any(len(polygon) < 6 or len(polygon) % 2 for polygon in polygons):
            raise ValueError
        if not all(math.isfinite(v) and abs(v) <= far for polygon in polygons for v in polygon):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{place}: segmentation is not a list of polygons [x, y, x, y, x, y, …] of numbers near the picture"
        ) from None
    return str(coco.merge(coco.frPyObjects(polygons, height, width))["counts"].decode())
