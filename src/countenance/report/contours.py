"""Outlines of masks as polygons with few corners."""

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def contours(mask: Any, tolerance: float = 1.0) -> list[Points]:
    """The outer outline of each part of a mask along the edges of its pixels; holes are left out.

    Corners that lie no more than `tolerance` pixels beside the line without them are dropped.

    >>> contours([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]])[0].tolist()
    [[1.0, 1.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]]
    """
    loops = (np.array(loop, dtype=np.float64) for loop in _loops(np.asarray(mask, dtype=bool)))
    return [simplified(loop, tolerance) for loop in loops if _turns_right(loop)]


def _loops(mask: NDArray[np.bool_]) -> list[list[tuple[int, int]]]:
    """Closed walks along the edges between inside and outside, with the inside to the right."""
    inside = np.pad(mask, 1).astype(np.int8)
    down, right = np.diff(inside, axis=0)[:, 1:-1], np.diff(inside, axis=1)[1:-1]
    onwards: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for value, edges, start, end in (
        (1, down, (0, 0), (1, 0)),
        (-1, down, (1, 0), (0, 0)),
        (1, right, (0, 1), (0, 0)),
        (-1, right, (0, 0), (0, 1)),
    ):
        for y, x in np.argwhere(edges == value).tolist():
            onwards[x + start[0], y + start[1]].append((x + end[0], y + end[1]))
    loops = []
    while onwards:
        first = next(iter(onwards))
        loop, here, came = [first], onwards[first].pop(), first
        if not onwards[first]:
            del onwards[first]
        while here != first:
            loop.append(here)
            # Where two parts touch at a corner there are two ways on: turning right stays on the same part.
            step = (here[0] - came[0], here[1] - came[1])
            choices = onwards[here]
            following = next(
                (choice for choice in choices if (choice[0] - here[0], choice[1] - here[1]) == (-step[1], step[0])),
                choices[0],
            )
            choices.remove(following)
            if not choices:
                del onwards[here]
            came, here = here, following
        loops.append(loop)
    return loops


def _turns_right(loop: Points) -> bool:
    """Whether a walk goes around an outer outline; around a hole it turns the other way."""
    x, y = loop.T
    return bool((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() > 0)


def simplified(loop: Points, tolerance: float) -> Points:
    """A closed polygon with fewer corners (Douglas and Peucker).

    >>> simplified(np.array([[0.0, 0], [5, 0.1], [10, 0], [10, 10], [0, 10]]), 1.0).tolist()
    [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]]
    """
    closed = np.vstack([loop, loop[:1]])
    far = int(np.argmax(((loop - loop[0]) ** 2).sum(axis=1)))
    corners, parts = {0, far}, [(0, far), (far, len(loop))]
    while parts:
        start, end = parts.pop()
        if end - start < 2:
            continue
        line, between = closed[end] - closed[start], closed[start + 1 : end] - closed[start]
        beside = np.abs(line[0] * between[:, 1] - line[1] * between[:, 0]) / max(float(np.hypot(*line)), 1e-9)
        worst = int(np.argmax(beside))
        if beside[worst] > tolerance:
            middle = start + 1 + worst
            corners.add(middle)
            parts += [(start, middle), (middle, end)]
    return loop[sorted(corners)]
