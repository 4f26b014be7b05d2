"""Masks as COCO run lengths: reading them safely, overlaps without decoding a pixel, and average recall's input.

A mask is kept as the sorted positions where it begins and ends, counted column by column; all set operations
then cost as much as there are runs, not pixels.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countenance.errors import opencv

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def run_lengths(counts: str | bytes) -> Ints:
    """The run lengths in COCO's compressed text, alternating outside and inside; malformed text is a ValueError.

    (pycocotools reads past the end of malformed text, so nothing foreign reaches it unchecked.)

    >>> run_lengths("04"), run_lengths("d0450000000[1")[:4]
    (array([0, 4]), array([20,  4,  5,  4]))
    """
    return many_run_lengths([counts])[0]


def many_run_lengths(texts: Sequence[str | bytes]) -> list[Ints]:
    """The run lengths of several masks, read together because one picture has many small ones.

    >>> many_run_lengths(["04", "", "13"])
    [array([0, 4]), array([], dtype=int64), array([1, 3])]
    """
    parts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]
    codes = np.frombuffer(b"".join(parts), dtype=np.uint8).astype(np.int64) - 48
    if codes.size == 0:
        return [np.zeros(0, dtype=np.int64) for _ in parts]
    if int(codes.min()) < 0 or int(codes.max()) >= 64:
        raise ValueError("a character that COCO's run lengths do not have")
    ends = (codes & 0x20) == 0
    bounds = np.cumsum([len(part) for part in parts])
    if not ends[bounds[bounds > 0] - 1].all():
        raise ValueError("run lengths end in the middle of a number")
    last = np.flatnonzero(ends)
    first = np.concatenate([[0], last[:-1] + 1])
    digits = last - first + 1
    if int(digits.max()) > 12:
        raise ValueError("a run length too long for any picture")
    shift = np.arange(codes.size) - np.repeat(first, digits)
    values = np.add.reduceat((codes & 0x1F) << (5 * shift), first)
    values -= np.where(codes[last] & 0x10, np.int64(1) << (5 * digits), 0)
    out = np.split(values, np.searchsorted(last, bounds[:-1]))
    for runs in out:
        # From the fourth number on, each is the difference from the one two before it.
        np.add.accumulate(runs[1::2], out=runs[1::2])
        np.add.accumulate(runs[2::2], out=runs[2::2])
    if int(values.min()) < 0:
        raise ValueError("a negative run length")
    return out


def compress(lengths: Sequence[int] | Ints) -> str:
    """Run lengths as COCO's compressed text.

    >>> compress([20, 4, 5, 4]), run_lengths(compress([7, 300, 5, 12, 9]))
    ('d0450', array([  7, 300,   5,  12,   9]))
    """
    values = [int(value) for value in lengths]
    out = bytearray()
    for i, value in enumerate(values):
        x = value - values[i - 2] if i > 2 else value
        more = True
        while more:
            c = x & 0x1F
            x >>= 5
            more = x != -1 if c & 0x10 else x != 0
            out.append((c | 0x20 if more else c) + 48)
    return out.decode("ascii")


def spans(lengths: Ints) -> tuple[Ints, Ints]:
    """The beginning and end of each run of pixels inside the mask (end not included), without empty runs.

    >>> spans(np.array([2, 3, 1, 0, 1, 2]))
    (array([2, 7]), array([5, 9]))
    """
    bounds = np.cumsum(lengths)
    starts, ends = bounds[0 : len(bounds) - 1 : 2], bounds[1::2]
    keep = ends > starts
    return starts[keep], ends[keep]


def mask_runs(mask: Bools) -> Ints:
    """The run lengths of a boolean mask, column by column.

    >>> mask_runs(np.array([[True, False], [True, True]]))
    array([0, 2, 1, 1])
    """
    flat = np.asarray(mask, dtype=bool).ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    bounds = np.concatenate([[0], edges, [flat.size]]) if flat.size else np.zeros(1, dtype=np.intp)
    lengths = np.diff(bounds)
    return np.concatenate([[0], lengths]).astype(np.int64) if flat.size and flat[0] else lengths.astype(np.int64)


def polygon_runs(polygons: Sequence[Ints], height: int, width: int) -> Ints:
    """The union of polygons (corners × 2, whole pixels) as run lengths, borders included, as OpenCV fills them.

    >>> polygon_runs([np.array([[0, 0], [1, 0], [1, 1]])], 2, 2)
    array([0, 1, 1, 2])
    """
    cv2 = opencv("drawing FHIBE's polygons")
    canvas = np.zeros((height, width), dtype=np.uint8)
    for polygon in polygons:
        if len(polygon):
            cv2.fillPoly(canvas, pts=[polygon.astype(np.int32)], color=1)
    size = height * width
    corners = np.concatenate([np.zeros((0, 2), np.int64), *polygons])
    if not len(corners):
        return np.array([size], dtype=np.int64)
    # Only the rectangle around the polygons is searched for edges; the rest is empty by construction.
    left, top = np.maximum(corners.min(axis=0), 0).tolist()
    right, bottom = np.minimum(corners.max(axis=0) + 1, [width, height]).tolist()
    if left >= right or top >= bottom:
        return np.array([size], dtype=np.int64)
    inner = np.zeros((bottom - top + 1, right - left), dtype=np.uint8)
    inner[:-1] = canvas[top:bottom, left:right]  # an empty last row keeps columns apart
    edges = np.flatnonzero(np.diff(inner.ravel(order="F").astype(np.int8), prepend=0, append=0))
    column, row = np.divmod(edges, bottom - top + 1)
    lengths = np.diff(np.concatenate([[0], (column + left) * height + top + row, [size]]))
    # Two columns filled to the border touch: their runs join where nothing lies between.
    return _join(lengths if lengths[-1] else lengths[:-1])


def _join(lengths: Ints) -> Ints:
    empty = 2 * np.flatnonzero(lengths[2::2] == 0) + 2
    if not empty.size:
        return lengths
    bounds = np.cumsum(lengths)
    drop = np.zeros(len(lengths), dtype=bool)
    drop[empty - 1] = drop[empty] = True
    return np.diff(np.concatenate([[0], bounds[~drop]]))


def fill(lengths: Ints, height: int, width: int) -> Bools:
    """The mask that run lengths describe.

    >>> fill(np.array([0, 2, 1, 1]), 2, 2).tolist()
    [[True, False], [True, True]]
    """
    flags = np.arange(len(lengths)) % 2 == 1
    return np.repeat(flags, lengths).reshape(width, height).T


def area(lengths: Ints) -> int:
    """How many pixels are inside.

    >>> area(np.array([0, 2, 1, 1]))
    3
    """
    return int(lengths[1::2].sum())


def intersection(a: Ints, b: Ints) -> int:
    """How many pixels lie inside both masks.

    >>> intersection(np.array([0, 2, 2]), np.array([1, 3]))
    1
    """
    (starts_a, ends_a), (starts_b, ends_b) = spans(a), spans(b)
    if not starts_a.size or not starts_b.size:
        return 0
    # Pixels of b before a position: whole runs that ended, plus the part of the run that the position cuts.
    done = np.concatenate([[0], np.cumsum(ends_b - starts_b)])

    def before(position: Ints) -> Ints:
        i = np.searchsorted(starts_b, position, side="right")
        inside = np.minimum(position, ends_b[i - 1]) - starts_b[i - 1]
        return np.where(i > 0, done[i - 1] + inside, 0)

    return int((before(ends_a) - before(starts_a)).sum())


def iou(a: Ints, b: Ints) -> float:
    """Intersection over union of two masks of one picture; both empty: 0.

    >>> iou(np.array([0, 2, 2]), np.array([0, 4])), iou(np.array([4]), np.array([4]))
    (0.5, 0.0)
    """
    both = intersection(a, b)
    union = area(a) + area(b) - both
    return both / union if union > 0 else 0.0


def best_overlap(truth: Sequence[Ints], answered: Sequence[Ints]) -> Array:
    """For each true mask the largest overlap with any predicted mask; 0 without predictions.

    >>> best_overlap([np.array([0, 4])], [np.array([0, 2, 2]), np.array([4])])
    array([0.5])
    """
    return np.array([max((iou(mask, other) for other in answered), default=0.0) for mask in truth])
