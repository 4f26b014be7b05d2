"""Person parsing: the best mask overlap for each person, truth drawn from the person's polygons."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from countenance.errors import InputError, opencv
from countenance.metrics.masks import Ints, area, best_overlap, many_run_lengths, run_lengths
from countenance.suites.fhibe.outputs import FILE, field
from countenance.suites.fhibe.scoring.base import Job, Scored, curve, passes, threshold_files, threshold_keys
from countenance.suites.fhibe.table import Table

FAR = 1 << 24
"""Coordinates beyond this are refused: drawing counts in 32 bits."""


def person_runs(segments: Any, height: int, width: int, place: str) -> Ints:
    """The union of a person's polygons as run lengths: corners cut to whole pixels, borders included.

    >>> square = [{"class_name": "0. Face skin", "polygon": [{"x": 0, "y": 0}, {"x": 1.9, "y": 0}, {"x": 1, "y": 1}]}]
    >>> person_runs(square, 2, 2, "row 1: segments")
    array([0, 1, 1, 2])
    """
    cv2 = opencv("drawing FHIBE's polygons")

    canvas = np.zeros((height, width), dtype=np.uint8)
    left, top, right, bottom = width, height, -1, -1
    if not isinstance(segments, list):
        raise InputError(f"{place}: {type(segments).__name__}, expected a list of segments")
    for segment in segments:
        try:
            polygon = segment["polygon"]
            points = np.array([[int(corner["x"]), int(corner["y"])] for corner in polygon], dtype=np.int64)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError(f"{place}: {segment!r:.60} is not a segment with a polygon of x and y") from None
        if not len(points):
            continue
        if np.abs(points).max() > FAR:
            raise InputError(f"{place}: a corner lies {np.abs(points).max()} pixels away, too far to draw")
        cv2.fillPoly(canvas, pts=[points.astype(np.int32)], color=1)
        (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
        left, top, right, bottom = min(left, int(x0)), min(top, int(y0)), max(right, int(x1)), max(bottom, int(y1))
    # Only the rectangle around the polygons is searched for edges; the rest is empty by construction.
    left, top, right, bottom = max(left, 0), max(top, 0), min(right + 1, width), min(bottom + 1, height)
    size = height * width
    if left >= right or top >= bottom:
        return np.array([size], dtype=np.int64)
    inner = np.zeros((bottom - top + 1, right - left), dtype=np.uint8)
    inner[:-1] = canvas[top:bottom, left:right]  # an empty last row keeps columns apart
    flat = inner.ravel(order="F").astype(np.int8)
    edges = np.flatnonzero(np.diff(flat, prepend=0, append=0))
    column, row = np.divmod(edges, bottom - top + 1)
    position = (column + left) * height + top + row
    lengths = np.diff(np.concatenate([[0], position, [size]]))
    # Two columns filled to the border touch: their runs join where nothing lies between.
    return _join(lengths if lengths[-1] else lengths[:-1])


def _join(lengths: Ints) -> Ints:
    empty = np.flatnonzero(lengths[2::2] == 0) + 2
    if not empty.size:
        return lengths
    bounds = np.cumsum(lengths)
    drop = np.zeros(len(lengths), dtype=bool)
    drop[empty - 1] = drop[empty] = True
    return np.diff(np.concatenate([[0], bounds[~drop]]))


def person_masks(table: Table) -> list[Ints]:
    """The mask of each row's person."""
    return [
        person_runs(segments, height, width, table.place(i, "segments"))
        for i, (segments, (height, width)) in enumerate(zip(table.literals("segments"), table.sizes(), strict=True))
    ]


def person_areas(table: Table) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """The pixels of each row's person."""
    return np.array([area(mask) for mask in person_masks(table)], dtype=np.float64)


def read_rles(values: Sequence[Any], size: tuple[int, int] | None, places: Sequence[str]) -> list[Ints]:
    """Run lengths from several {"size": [height, width], "counts": text}; of another size than the picture: refused."""
    for value, place in zip(values, places, strict=True):
        _check_size(value, size, place)
    counts = [value["counts"] for value in values]
    if all(isinstance(text, str) for text in counts):
        try:
            found = many_run_lengths(counts)
        except ValueError:
            found = []  # read one by one below, so that the message names the mask
    else:
        found = []
    if len(found) != len(counts):
        found = [_one(text, place) for text, place in zip(counts, places, strict=True)]
    for value, lengths, place in zip(values, found, places, strict=True):
        height, width = value["size"]
        if int(lengths.sum()) != height * width:
            raise InputError(f"{place}: run lengths cover {int(lengths.sum())} pixels, the mask has {height * width}")
    return found


def _check_size(value: Any, size: tuple[int, int] | None, place: str) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("size"), list) or "counts" not in value:
        raise InputError(f"{place}: {value!r:.60} is not a run-length mask with size and counts")
    found = value["size"]
    if len(found) != 2 or not all(isinstance(n, int) and n > 0 for n in found):
        raise InputError(f"{place}: size {found!r:.40}, expected [height, width]")
    if size is not None and tuple(found) != size:
        raise InputError(f"{place}: a mask of {found[1]}×{found[0]}, the picture is {size[1]}×{size[0]}")


def _one(counts: Any, place: str) -> Ints:
    try:
        if isinstance(counts, list):
            lengths = np.array(counts, dtype=np.int64)
            if lengths.ndim != 1 or (lengths < 0).any():
                raise ValueError("counts is not a list of run lengths")
            return lengths
        if isinstance(counts, str):
            return run_lengths(counts)
        raise ValueError(f"counts is {type(counts).__name__}")
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{place}: {error}") from None


def score_masks(job: Job, files: bool = False) -> Scored:
    """AR_MASK of each row."""
    table = job.table
    scored = Scored(table)
    matcher, image = job.images()
    sizes, truth = table.sizes(), person_masks(table)
    rows_of: list[list[int]] = [[] for _ in matcher.names]
    for row, i in enumerate(image.tolist()):
        rows_of[i].append(row)
    best = np.zeros(len(table))
    answered = np.zeros(len(matcher.names), dtype=bool)
    for i, place, entry in job.entries(matcher):
        answered[i] = True
        masks = field(entry, "detections", place)
        if masks is None:
            continue
        if not isinstance(masks, list):
            raise InputError(f"{place}: detections is {type(masks).__name__}, expected a list of masks or null")
        rows = rows_of[i]
        runs = read_rles(masks, sizes[rows[0]], [f"{place}: mask {k}" for k in range(len(masks))])
        best[rows] = best_overlap([truth[row] for row in rows], runs)
        job.step(len(rows))
    scored.report_missing(matcher, answered, job.folder / FILE)
    keys = threshold_keys(job.thresholds["AR_MASK"], job.strict)
    scored.rows["AR_MASK"] = passes(best, keys)
    scored.curves["AR_MASK"] = curve(best, keys)
    if files:
        scored.files["gt_mask_iou_scores.json"] = best.tolist()
        scored.files.update(threshold_files(table, best, keys, "iou"))
    if not job.strict:
        scored.rows["best_iou"] = best
    return scored
