"""The truth boxes and detections of the same image that overlap, and by how much."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Boxes = NDArray[np.floating[Any]]

BUDGET = 2_097_152
"""How many pairs are looked at together; bounds the memory, not the result."""


def corners(boxes: Boxes) -> Boxes:
    """Left, top, right, bottom of boxes given as left, top, width, height, in the boxes' own precision.

    >>> corners(np.array([[1.0, 2.0, 3.0, 4.0]]))
    array([[1., 2., 4., 6.]])
    """
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)


def overlapping_pairs(faces: Boxes, face_image: Ints, boxes: Boxes, box_image: Ints) -> tuple[Ints, Ints]:
    """Indices of every face and detection of the same image that share some area, in no particular order.

    Boxes are left, top, width, height. Images are numbered from 0; a detection of image -1 pairs with
    nothing. Every pair of an image is compared, in blocks of images of similar size.

    >>> box = np.array([[0.0, 0.0, 10.0, 10.0]])
    >>> overlapping_pairs(box, np.array([0]), np.array([[5.0, 5.0, 9.0, 9.0], [10.0, 0.0, 5.0, 5.0]]), np.array([0, 0]))
    (array([0]), array([0]))
    """
    images = int(max(face_image.max(initial=-1), box_image.max(initial=-1))) + 1
    g_order, g_start, g_count = _by_image(face_image, images)
    d_order, d_start, d_count = _by_image(box_image, images)
    both = np.flatnonzero((g_count > 0) & (d_count > 0))
    both = both[np.lexsort((g_count[both], d_count[both]))]
    out_g: list[Ints] = [np.empty(0, np.int64)]
    out_d: list[Ints] = [np.empty(0, np.int64)]
    for chunk in _chunks(both, g_count, d_count):
        if len(chunk) == 1:  # may be larger than the budget: a part of the faces at a time
            image = chunk[0]
            d = d_order[d_start[image] : d_start[image] + d_count[image]][None]
            rows = max(1, BUDGET // d.shape[1])
            for first in range(g_start[image], g_start[image] + g_count[image], rows):
                g = g_order[first : min(first + rows, g_start[image] + g_count[image])][None]
                _collect(corners(faces[g[0]])[None], corners(boxes[d[0]])[None], g, d, out_g, out_d)
        else:
            g, g_boxes = _padded(faces, g_order, g_start[chunk], g_count[chunk])
            d, d_boxes = _padded(boxes, d_order, d_start[chunk], d_count[chunk])
            _collect(g_boxes, d_boxes, g, d, out_g, out_d)
    return np.concatenate(out_g), np.concatenate(out_d)


def _by_image(image: Ints, images: int) -> tuple[Ints, Ints, Ints]:
    """The boxes in the order of their images, and where each image starts there and how many it has."""
    order = np.arange(len(image))
    if image.size and (image[0] < 0 or np.any(image[1:] < image[:-1])):
        order = np.argsort(image, kind="stable")
        order = order[np.count_nonzero(image < 0) :]
    count = np.bincount(image[image >= 0], minlength=images)
    return order, np.cumsum(count) - count, count


def _chunks(images: Ints, g_count: Ints, d_count: Ints) -> Iterator[Ints]:
    start = 0
    while start < len(images):
        size = max(1, BUDGET // int(g_count[images[start]] * d_count[images[start]]))
        chunk = images[start : start + size]
        while len(chunk) > 1 and len(chunk) * int(g_count[chunk].max()) * int(d_count[chunk].max()) > BUDGET:
            chunk = chunk[: len(chunk) // 2]
        yield chunk
        start += len(chunk)


def _padded(boxes: Boxes, order: Ints, start: Ints, count: Ints) -> tuple[Ints, Boxes]:
    """Row i holds the corners of image i's boxes, then NaN, which overlaps nothing."""
    column = np.arange(int(count.max()))
    index = order[np.minimum(start[:, None] + column, len(order) - 1)]
    padded = corners(boxes[index.ravel()]).reshape(*index.shape, 4)
    padded[column >= count[:, None]] = np.nan
    return index, padded


def _collect(g_boxes: Boxes, d_boxes: Boxes, g: Ints, d: Ints, out_g: list[Ints], out_d: list[Ints]) -> None:
    gl, gt, gr, gb = (g_boxes[:, :, None, k] for k in range(4))
    dl, dt, dr, db = (d_boxes[:, None, :, k] for k in range(4))
    share = (gr > dl) & (dr > gl) & (gb > dt) & (db > gt)
    for hollow in ((gr <= gl) | (gb <= gt), (dr <= dl) | (db <= dt)):
        if hollow.any():  # an empty box lies inside others without sharing area with them
            share &= ~hollow
    image, rest = np.divmod(np.flatnonzero(share), share.shape[1] * share.shape[2])
    row, column = np.divmod(rest, share.shape[2])
    out_g.append(g[image, row])
    out_d.append(d[image, column])


def _shared(a: Boxes, b: Boxes) -> Boxes:
    left, top = np.maximum(a[:, 0], b[:, 0]), np.maximum(a[:, 1], b[:, 1])
    right = np.minimum(a[:, 0] + a[:, 2], b[:, 0] + b[:, 2])
    bottom = np.minimum(a[:, 1] + a[:, 3], b[:, 1] + b[:, 3])
    shared = (right - left) * (bottom - top)
    return np.asarray(np.where((right - left <= 0) | (bottom - top <= 0), shared.dtype.type(0), shared))


def challenge_overlap(faces: Boxes, boxes: Boxes) -> Floats:
    """The overlap of UCCS version 2, row by row: a box inside the face that covers a quarter of it scores 1.

    O = I / (max(|G|/4, I) + |D| - I). Labelled boxes are larger than faces, so smaller detections are not punished.

    >>> challenge_overlap(np.array([[0.0, 0.0, 10.0, 10.0]]), np.array([[2.0, 2.0, 5.0, 5.0]]))
    array([1.])
    """
    shared = _shared(faces, boxes)
    face, detection = faces[:, 2] * faces[:, 3], boxes[:, 2] * boxes[:, 3]
    return np.asarray(shared / (np.maximum(face / 4, shared) + detection - shared), dtype=np.float64)


def intersection_over_union(faces: Boxes, boxes: Boxes) -> Boxes:
    """Plain intersection over union, row by row, in the boxes' own precision.

    The areas are taken from the corners, as the challenge's version 3 does: in single precision that matters.

    >>> intersection_over_union(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[1.0, 0.0, 2.0, 2.0]]))
    array([0.33333333])
    """
    a, b = corners(faces), corners(boxes)
    shared = _shared(faces, boxes)
    area_a, area_b = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]), (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return np.asarray(shared / (area_a + area_b - shared), dtype=faces.dtype)
