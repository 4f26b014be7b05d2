"""How a picture was taken, measured while its pixels are at hand: the columns `img.*` of a run's scores.

Light and colours are those of the surroundings, outside of everybody's box, so that they say nothing of how a person
looks. Measurements of the face itself are named `img.face.*`: they change with skin tone, and a gap with such a column
held equal may be explained by the very thing that is compared. Everything is taken from a grid of 24 points along the
picture's longer side, so that it costs little beside decoding.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.sample import Floats, Sample, Subject
from countenance.errors import InputError

PREFIX = "img."
OF_PICTURE = {
    "img.brightness": "mean luminance of the surroundings, 0 to 255",
    "img.contrast": "standard deviation of the luminance of the surroundings",
    "img.cast": "colour cast of the surroundings: red less blue, over the luminance (0: neutral, above: warm)",
    "img.sharpness": "variance of the Laplacian of the surroundings, the picture taken at a fixed size of 128 pixels",
    "img.noise": "how much neighbouring pixels of the surroundings differ (mean second difference)",
    "img.jpeg_quality": "quality setting that the file's quantisation table stands for, 1 to 100; null for other files",
    "img.people": "people in the picture, as the truth has them",
}
OF_PERSON = {
    "img.size_px": "height of the face's box in pixels (of the person's, where there is no face)",
    "img.size_share": "the same as a share of the picture's height",
    "img.x": "how far the face's middle is from the picture's, to the side, as a share of the width",
    "img.y": "the face's middle from top to bottom, 0 to 1",
    "img.turn": "head turn: how far the nose is from the middle of the eyes, over their distance (0: frontal)",
    "img.face.brightness": "mean luminance of the face",
    "img.face.contrast": "standard deviation of the luminance of the face",
    "img.face.sharpness": "variance of the Laplacian of the face at the same size",
}
COLUMNS = OF_PICTURE | OF_PERSON
"""Every column with its meaning."""

GRID = 24
"""Points of the grid along the longer side."""
SCALE = 128
"""The Laplacian is computed from the picture scaled to this many pixels along the longer side."""
WIDER = 0.5
"""If only a face's box is known, this share of it on each side, and everything below, counts as the person."""
FEWEST = 24
"""Points outside the face that are needed to measure the light of the surroundings."""
LUMINANCE, EDGES, WARMTH, GRAIN, SQUARES = range(5)
"""Rows of the sums; the squares of the first two begin at `SQUARES`, and `POINTS` counts points."""
POINTS = SQUARES + 2
SUMMED = POINTS + 1
MIXED = np.array(
    [
        [306 / 1024, 601 / 1024, 117 / 1024, 0, 0, 0, 0, 0, 0],
        [0, -4, 0, 1, 1, 1, 1, 0, 0],
        [1, 0, -1, 0, 0, 0, 0, 0, 0],
        [0, -2, 0, 0, 0, 0, 0, 1, 1],
    ]
)
"""From the pixels of a point (`_Grid.taps`) to its luminance, Laplacian, red less blue and second difference.

The weights of the luminance are .299, .587 and .114 as fractions of 1024, so that all sums are exact: they are the same
on every machine, in whatever order a library adds.
"""
STANDARD_SUM = 3688
"""Sum of the luminance table of the JPEG standard, which stands for quality 50."""


@dataclass(slots=True)  # one for each picture: a frozen one takes 1.5 µs more to make
class Conditions:
    """The measurements of one picture, and of each person's face, by the person's id."""

    picture: Mapping[str, float | None] = field(default_factory=dict)
    people: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    def columns(self, subject: str | None) -> dict[str, float | None]:
        """The columns of a row about a person, or about the picture (with those of its only person)."""
        if subject is None and len(self.people) == 1:
            return {**self.picture, **next(iter(self.people.values()))}
        return {**self.picture, **self.people.get(subject or "", {})}


def outline(subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    """People reduced to what the measurements need: boxes, points, and whether they are ignored regions.

    >>> outline([Subject("ann", attributes={"age": 30.0})])[0].attributes
    {}
    """
    return tuple(
        Subject(
            s.id,
            person_box=s.person_box,
            face_box=s.face_box,
            keypoints=s.keypoints,
            landmarks=s.landmarks,
            attributes={"ignore": "yes"} if s.ignored else {},
        )
        for s in subjects
    )


def load_measured(sample: Sample) -> tuple[NDArray[np.uint8], str, Conditions]:
    """A sample's pixels, the hash of its file, and its conditions; errors are those of `load_checked`."""
    content, digest = sample.read_checked()
    pixels = sample.decoded(content)
    return pixels, digest, measured(pixels, sample.subjects, content)


def measured_again(sample: Sample) -> Conditions | None:
    """The conditions of a picture that was read before; None where it cannot be read any more."""
    try:
        return load_measured(sample)[2]
    except InputError:
        return None


def measured(pixels: NDArray[np.uint8], subjects: Sequence[Subject] = (), content: bytes = b"") -> Conditions:
    """The conditions of a picture.

    >>> grey = measured(np.full((80, 80, 3), 100, np.uint8))
    >>> round(grey.picture["img.brightness"]), grey.picture["img.noise"], grey.picture["img.people"]
    (100, 0.0, 0.0)
    """
    height, width = pixels.shape[:2]
    picture: dict[str, float | None] = {
        "img.jpeg_quality": jpeg_quality(content),
        "img.people": float(sum([not subject.ignored for subject in subjects])),
    }
    grid = _grid(height, width)
    if grid is None:
        return Conditions(picture)
    parts = np.zeros((1 + len(subjects), len(grid.rows), len(grid.columns)))
    outside = parts[0]
    outside[:] = 1
    people = [
        _placed(grid, (height, width), subject, outside, face)
        for subject, face in zip(subjects, parts[1:], strict=True)
    ]
    surroundings, *faces = np.dot(_values(pixels, grid), parts.reshape(len(parts), -1).T).T.tolist()
    picture |= _surroundings(surroundings)
    for person, sums in zip(people, faces, strict=True):
        if sums[POINTS]:
            person["img.face.brightness"], person["img.face.contrast"], person["img.face.sharpness"] = _light(sums)
    return Conditions(picture, {subject.id: person for subject, person in zip(subjects, people, strict=True)})


def _values(pixels: NDArray[np.uint8], grid: "_Grid") -> Floats:
    """The terms that are summed over the points of a part of the picture: `SUMMED` rows, a column for each point."""
    values = np.empty((SUMMED, grid.taps.shape[1]))
    np.dot(MIXED, pixels.reshape(-1).take(grid.taps).astype(np.float64), out=values[:SQUARES])
    np.multiply(values[:2], values[:2], out=values[SQUARES:POINTS])
    np.abs(values[GRAIN], out=values[GRAIN])
    values[POINTS] = 1
    return values


@dataclass(frozen=True)
class _Grid:
    """The points of a picture of one size that are measured."""

    rows: list[int]
    """The y of each row of points."""
    columns: list[int]
    """The x of each column of points."""
    taps: NDArray[np.intp]
    """Where the pixels of each point lie in the flat picture: red, green and blue of the point, green of its four
    neighbours at the Laplacian's distance, green of the two pixels beside it."""

    def between(self, x0: float, y0: float, x1: float, y1: float) -> tuple[slice, slice]:
        """The rows and columns of points within a box."""
        rows, columns = self.rows, self.columns
        return (
            slice(bisect_left(rows, y0), bisect_right(rows, y1)),
            slice(bisect_left(columns, x0), bisect_right(columns, x1)),
        )


@lru_cache(maxsize=64)
def _grid(height: int, width: int) -> _Grid | None:
    """The grid of a picture's size; None where the picture is too small to have one."""
    largest = max(height, width)
    step, reach = -(-largest // GRID), max(round(largest / SCALE), 1)
    if min(height, width) <= 2 * reach:
        return None
    rows, columns = np.arange(reach, height - reach, step), np.arange(reach, width - reach, step)
    red = 3 * (rows[:, None] * width + columns).reshape(-1)
    up, left = 3 * width * reach, 3 * reach
    offsets = np.array([0, 1, 2, 1 - up, 1 + up, 1 - left, 1 + left, 1 - 3, 1 + 3])
    return _Grid(rows.tolist(), columns.tolist(), red + offsets[:, None])


def _placed(grid: _Grid, size: tuple[int, int], subject: Subject, outside: Any, face: Any) -> dict[str, float | None]:
    """Where a person is; their points are removed from those of the surroundings, and those of the face are marked."""
    box, own = subject.person_box, subject.face_box
    if box is not None:
        x0, y0, x1, y1 = box.tolist()
        outside[grid.between(x0, y0, x1, y1)] = 0
    if own is not None:
        x0, y0, x1, y1 = own.tolist()
        face[grid.between(x0, y0, x1, y1)] = 1
        if box is None:
            wide, high = WIDER * (x1 - x0), WIDER * (y1 - y0)
            outside[grid.between(x0 - wide, y0 - high, x1 + wide, math.inf)] = 0
    elif box is None:
        return {}
    height, width = size
    return {
        "img.size_px": y1 - y0,
        "img.size_share": (y1 - y0) / height,
        "img.x": abs((x0 + x1) / 2 / width - 0.5),
        "img.y": (y0 + y1) / 2 / height,
        "img.turn": turn_of(subject),
    }


def _surroundings(sums: Sequence[float]) -> dict[str, float | None]:
    if sums[POINTS] < FEWEST:
        return dict.fromkeys(("img.brightness", "img.contrast", "img.cast", "img.sharpness", "img.noise"))
    brightness, contrast, sharpness = _light(sums)
    return {
        "img.brightness": brightness,
        "img.contrast": contrast,
        "img.cast": sums[WARMTH] / sums[POINTS] / max(brightness, 1.0),
        "img.sharpness": sharpness,
        "img.noise": sums[GRAIN] / sums[POINTS],
    }


def _light(sums: Sequence[float]) -> tuple[float, float, float]:
    """Brightness, contrast and sharpness. n Σ x² − (Σ x)² of equal pixels is exactly 0, and never below."""
    light, edges, _, _, light_squared, edges_squared, points = sums
    contrast = math.sqrt(points * light_squared - light * light) / points
    return light / points, contrast, (points * edges_squared - edges * edges) / (points * points)


def turn_of(subject: Subject) -> float | None:
    """How far the nose is to the side of the middle of the eyes, over the distance of the eyes; None if not known.

    >>> turn_of(Subject("ann", landmarks=np.array([[40.0, 50], [60, 50], [55, 60], [42, 70], [58, 70]])))
    0.25
    """
    points = _eyes_and_nose(subject.landmarks, subject.keypoints)
    if points is None:
        return None
    (ax, ay), (bx, by), (nx, ny) = points
    dx, dy = bx - ax, by - ay
    length = dx * dx + dy * dy
    if not length > 1e-6:
        return None
    turn = abs((nx - (ax + bx) / 2) * dx + (ny - (ay + by) / 2) * dy) / length
    return turn if math.isfinite(turn) else None


def _eyes_and_nose(landmarks: Floats | None, keypoints: Floats | None) -> list[list[float]] | None:
    if landmarks is not None and len(landmarks) >= 3:
        return landmarks[:3, :2].tolist()  # type: ignore[no-any-return]
    elif keypoints is not None and len(keypoints) >= 3 and bool((keypoints[:3, 2] > 0).all()):
        nose, left, right = keypoints[:3, :2].tolist()
        return [right, left, nose]
    return None


def jpeg_quality(content: bytes) -> float | None:
    """The quality setting that a JPEG file's first quantisation table corresponds to; None for other files.

    >>> from countenance.data.jpeg import sample_file
    >>> jpeg_quality(sample_file()), jpeg_quality(b"RIFF")
    (60.0, None)
    """
    if content[:2] != b"\xff\xd8":
        return None
    place = content.find(b"\xff\xdb", 0, 65536)
    if place < 0 or len(content) < place + 69 or content[place + 4] & 0xF0:
        return None
    return _quality_of(content[place + 5 : place + 69])


@lru_cache(maxsize=64)
def _quality_of(table: bytes) -> float:
    scale = 100 * sum(table) / STANDARD_SUM
    return float(round(min(max((200 - scale) / 2 if scale <= 100 else 5000 / scale, 1), 100)))


def with_conditions(rows: Sequence[Mapping[str, Any]], conditions: Conditions | None) -> list[dict[str, Any]]:
    """The rows of a picture with its conditions.

    >>> with_conditions([{"subject": None}], Conditions({"img.people": 2.0}))
    [{'subject': None, 'img.people': 2.0}]
    """
    if conditions is None:
        return [dict(row) for row in rows]
    return [{**row, **conditions.columns(row["subject"])} for row in rows]


def stored_conditions(rows: Any) -> dict[str, Conditions]:
    """By sample, the conditions in the rows of a score table; empty without any.

    >>> import pyarrow as pa
    >>> stored_conditions(pa.table({"sample": ["a"], "subject": ["ann"], "img.people": [1.0]}))["a"].columns("ann")
    {'img.people': 1.0}
    """
    names = [name for name in rows.column_names if name.startswith(PREFIX)]
    pictures: dict[str, dict[str, float | None]] = {}
    people: dict[str, dict[str, dict[str, float | None]]] = {}
    for row in rows.select(["sample", "subject", *names]).to_pylist() if names else ():
        sample, subject = str(row["sample"]), row["subject"]
        values = {name: row[name] for name in names}
        pictures.setdefault(sample, {name: row[name] for name in names if name in OF_PICTURE})
        if subject is not None:
            people.setdefault(sample, {})[str(subject)] = values
    return {sample: Conditions(picture, people.get(sample, {})) for sample, picture in pictures.items()}
