"""How pictures were taken: the columns `img.*` of a run's scores.

Light and colours are those of the surroundings, outside of everybody's box, so that they say nothing of how a person
looks. Measurements of the face itself are named `img.face.*`: they change with skin tone, and a gap with such a column
held equal may be explained by the very thing that is compared. The pixels come from `countenance.data.points`, while
the picture is decoded; the values are computed later, for many pictures at once.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data import points
from countenance.data.points import PointPixels, point_pixels, spacing, sums_of_parts
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

WIDER = 0.5
"""If only a face's box is known, this share of it on each side, and everything below, counts as the person."""
FEWEST = 24
"""Points outside the face that are needed to measure the light of the surroundings."""
AT_ONCE = 256
"""Pictures that wait at most until they are measured together."""
UNKNOWN = np.full(4, np.nan)
"""The box of a person without one."""


def load_points(sample: Sample) -> tuple[NDArray[np.uint8], str, PointPixels]:
    """A sample's pixels, the hash of its file, and the pixels to measure; errors are those of `read_checked`."""
    content, digest = sample.read_checked()
    pixels = sample.decoded(content)
    return pixels, digest, point_pixels(pixels, content)


def points_again(sample: Sample) -> PointPixels | None:
    """The pixels to measure of a picture that was read before; None where it cannot be read any more."""
    try:
        return load_points(sample)[2]
    except InputError:
        return None


class Conditions:
    """The conditions of many pictures, and of each person in them.

    >>> conditions = Conditions()
    >>> conditions.add("a.png", [], point_pixels(np.full((80, 80, 3), 100, np.uint8)))
    >>> columns = conditions.columns(["a.png"], [None])
    >>> float(columns["img.brightness"][0]), float(columns["img.noise"][0]), "img.size_px" in columns
    (100.0, 0.0, False)
    """

    def __init__(self) -> None:
        self._pictures: dict[str, int] = {}
        self._people: dict[tuple[str, str | None], int] = {}
        self._persons = 0
        self._waiting: list[tuple[PointPixels, Sequence[Subject]]] = []
        self._values: tuple[list[Floats], list[Floats]] = [], []
        """Of pictures and of people, in the order in which they were added."""

    def __bool__(self) -> bool:
        return bool(self._pictures)

    def add(self, sample: str, subjects: Sequence[Subject], pixels: PointPixels) -> None:
        """Measure a picture, at the latest when a value is needed."""
        self._pictures[sample] = len(self._pictures)
        for subject in subjects:
            self._people[sample, subject.id] = self._persons
            self._persons += 1
        if len(subjects) == 1:  # a row about the picture has the columns of its only person
            self._people[sample, None] = self._persons - 1
        self._waiting.append((pixels, subjects))
        if len(self._waiting) == AT_ONCE:
            self._measure()

    def columns(self, samples: Sequence[str], subjects: Sequence[str | None]) -> dict[str, Floats]:
        """The columns of some rows, each about a person or (None) about a picture; NaN where a value is not known.

        Columns of people are left out where nobody has any value, and all columns where no picture was measured.
        """
        self._measure()
        pictures = [self._pictures.get(sample, -1) for sample in samples]
        if max(pictures, default=-1) < 0:
            return {}
        people = [self._people.get(key, -1) for key in zip(samples, subjects, strict=True)]
        of_picture, of_person = (
            _rows_of(blocks, places).T for blocks, places in zip(self._values, (pictures, people), strict=True)
        )
        result = dict(zip(OF_PICTURE, of_picture, strict=True))
        return result if np.isnan(of_person).all() else result | dict(zip(OF_PERSON, of_person, strict=True))

    @classmethod
    def stored(cls, rows: Any) -> "Conditions":
        """The conditions in the rows of a score table; none without such columns.

        >>> import pyarrow as pa
        >>> rows = pa.table({"sample": ["a"], "subject": ["ann"], "img.people": [1.0], "img.x": [0.25]})
        >>> Conditions.stored(rows).columns(["a"], ["ann"])["img.x"].tolist()
        [0.25]
        """
        result = cls()
        if not any(name.startswith(PREFIX) for name in rows.column_names):
            return result
        keys = list(zip(rows["sample"].to_pylist(), rows["subject"].to_pylist(), strict=True))
        result._people = {key: row for row, key in enumerate(keys)}
        result._pictures = {sample: row for row, (sample, _) in enumerate(keys)}
        for blocks, names in zip(result._values, (OF_PICTURE, OF_PERSON), strict=True):
            blocks.append(np.stack([_stored(rows, name) for name in names], axis=1))
        return result

    def _measure(self) -> None:
        """Measure the pictures that wait, those with equally many points and people together."""
        alike: dict[tuple[tuple[int, ...], int], list[int]] = {}
        starts, persons = [], 0
        for place, (pixels, subjects) in enumerate(self._waiting):
            starts.append(persons)
            persons += len(subjects)
            if pixels.values is not None:
                alike.setdefault((pixels.values.shape, len(subjects)), []).append(place)
        pictures = np.full((len(starts), len(OF_PICTURE)), np.nan)
        pictures[:, -2] = [pixels.jpeg_quality for pixels, _ in self._waiting]
        pictures[:, -1] = [sum([not subject.ignored for subject in subjects]) for _, subjects in self._waiting]
        people = np.full((persons, len(OF_PERSON)), np.nan)
        for (_, count), places in alike.items():
            of_people = np.array([starts[place] for place in places])[:, None] + np.arange(count)
            group = [self._waiting[place][0] for place in places]
            subjects = [subject for place in places for subject in self._waiting[place][1]]
            pictures[places, :-2], people[of_people] = _values(group, subjects, count)
        self._waiting.clear()
        self._values[0].append(pictures)
        self._values[1].append(people)


def _rows_of(blocks: list[Floats], places: Sequence[int]) -> Floats:
    """Rows of a table that is stored in blocks, which are joined; NaN for a place that is negative."""
    blocks[:] = [np.concatenate(blocks)]
    result = np.full((len(places), blocks[0].shape[1]), np.nan)
    known = np.array(places) >= 0
    result[known] = blocks[0][np.array(places)[known]]
    return result


def _stored(rows: Any, name: str) -> Floats:
    """A column of a score table; NaN where it is null or not there."""
    if name not in rows.column_names:
        return np.full(rows.num_rows, np.nan)
    return np.asarray(rows[name].to_numpy(), dtype=np.float64)


def _values(pictures: Sequence[PointPixels], subjects: Sequence[Subject], count: int) -> tuple[Floats, Floats]:
    """The conditions of pictures with equally many points and `count` people each.

    The first five of each picture, and all of each person.
    """
    people = np.empty((len(pictures), count, len(OF_PERSON)))
    persons = _boxes([subject.person_box for subject in subjects]).reshape(len(pictures), count, 4)
    faces = _boxes([subject.face_box for subject in subjects]).reshape(len(pictures), count, 4)
    boxes = np.where(np.isnan(faces), persons, faces)
    x0, y0, x1, y1 = np.moveaxis(boxes, 2, 0)
    height, width, step, reach = np.array([(*pixels[:2], *spacing(*pixels[:2])) for pixels in pictures]).T[..., None]
    people[..., 0] = y1 - y0
    people[..., 1] = people[..., 0] / height
    people[..., 2] = np.abs((x0 + x1) / 2 / width - 0.5)
    people[..., 3] = (y0 + y1) / 2 / height
    people[..., 4] = np.array([turn_of(subject) for subject in subjects], dtype=np.float64).reshape(people.shape[:2])
    values = [pixels.values for pixels in pictures if pixels.values is not None]  # it is known of all
    rows, columns = (reach + step * np.arange(count) for count in values[0].shape[1:])
    sums = sums_of_parts(values, _parts(persons, faces, rows[:, None], columns[:, None]))
    counted = sums[points.POINTS]
    counted[:, 0][counted[:, 0] < FEWEST] = np.nan
    counted[counted == 0] = np.nan
    brightness, contrast, sharpness = _light(sums)
    people[..., 5:] = np.stack([brightness, contrast, sharpness], axis=2)[:, 1:]
    warmth = sums[points.WARMTH] / counted / np.maximum(brightness, 1.0)
    light = np.stack([brightness, contrast, warmth, sharpness, sums[points.GRAIN] / counted], axis=2)[:, 0]
    return light, people


def _boxes(boxes: Sequence[Floats | None]) -> Floats:
    """The numbers of all boxes; NaN for a person without one."""
    return np.concatenate([UNKNOWN[:0], *(UNKNOWN if box is None else box for box in boxes)])


def _parts(persons: Floats, faces: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The points of the surroundings of each picture, then those of each face: pictures × parts × rows × columns."""
    reach = WIDER * (faces[..., 2:] - faces[..., :2])
    bodies = np.concatenate([faces[..., :2] - reach, faces[..., 2:] + reach], axis=2)
    bodies[..., 3] = np.inf  # everything below
    np.copyto(bodies, persons, where=~np.isnan(persons))
    x0, y0, x1, y1 = np.moveaxis(np.concatenate([bodies, faces], axis=1)[..., None], 2, 0)
    inside = ((rows >= y0) & (rows <= y1))[..., None] & ((columns >= x0) & (columns <= x1))[..., None, :]
    count = persons.shape[1]
    outside = ~inside[:, :count].any(axis=1, keepdims=True)
    return np.concatenate([outside, inside[:, count:]], axis=1)


def _light(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Brightness, contrast and sharpness. n Σ x² − (Σ x)² of equal pixels is exactly 0, and never below."""
    light, edges, light_squared, edges_squared, *_, counted = sums
    contrast = np.sqrt(counted * light_squared - light * light) / counted
    return light / counted, contrast, (counted * edges_squared - edges * edges) / (counted * counted)


def turn_of(subject: Subject) -> float | None:
    """How far the nose is to the side of the middle of the eyes, over the distance of the eyes; None if not known.

    >>> turn_of(Subject("ann", landmarks=np.array([[40.0, 50], [60, 50], [55, 60], [42, 70], [58, 70]])))
    0.25
    """
    places = _eyes_and_nose(subject.landmarks, subject.keypoints)
    if places is None:
        return None
    (ax, ay), (bx, by), (nx, ny) = places
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
