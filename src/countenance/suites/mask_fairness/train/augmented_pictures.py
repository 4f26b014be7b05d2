"""Pictures for training: masks drawn onto bare faces, then varied in properties that must not matter.

Rendered people differ from photographs in texture and light.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.data import Dataset, Sample
from countenance.errors import opencv
from countenance.learning.augmentation import Floats, Pixels, Random, random_window, recolour, set_before
from countenance.suites.mask_fairness.train.network import SIDE


@dataclass(frozen=True)
class TrainingPicture:
    """A training picture with its faces; masked is 1, 0 or -1 (not known); landmarks may be missing (NaN)."""

    pixels: Pixels
    boxes: Floats
    masked: Floats
    landmarks: Floats
    people: NDArray[np.bool_] | None = None
    """Where the people are, for setting them before another background."""


def augmented(picture: TrainingPicture, scenes: list[Pixels], random: Random) -> tuple[Pixels, Floats, Floats]:
    """A training example of 160×160 pixels with its boxes and masks."""
    pixels, masked = picture.pixels.copy(), picture.masked.copy()
    if picture.people is not None and scenes and random.random() < 0.5:
        pixels = set_before(pixels, picture.people, scenes[int(random.integers(len(scenes)))], random)
    for i in range(len(picture.boxes)):
        if np.isnan(picture.landmarks[i]).any():
            continue
        if masked[i] == 0 and random.random() < 0.4:
            draw_mask(pixels, picture.boxes[i], picture.landmarks[i], random)
            masked[i] = 1
        elif masked[i] == 0 and random.random() < 0.25:
            draw_distraction(pixels, picture.boxes[i], picture.landmarks[i], random)
    pixels, boxes, shown = random_window(pixels, picture.boxes, random, SIDE, scenes)
    return recolour(pixels, random), boxes, masked[shown]


def draw_mask(pixels: Pixels, box: Floats, landmarks: Floats, random: Random) -> None:
    """Draw a cloth or surgical mask from the bridge of the nose to the chin, in place."""
    cv2 = opencv("training a detector")

    right_eye, left_eye, nose, mouth_r, mouth_l = landmarks
    eyes, mouth = (right_eye + left_eye) / 2, (mouth_r + mouth_l) / 2
    across = left_eye - right_eye
    down = mouth - eyes
    top = eyes + down * random.uniform(0.28, 0.62)  # how high it is worn over the nose
    wide = across * random.uniform(0.8, 1.05)
    chin = mouth + down * random.uniform(0.42, 0.75)
    shift = (nose - (eyes + down * 0.55)) * 0.8  # the nose of a turned face is off centre
    points = np.array(
        [
            top - wide * 0.9 + down * 0.08,
            top - wide * 0.3 + shift * 0.6,
            top + shift - down * random.uniform(0, 0.12),
            top + wide * 0.3 + shift * 0.6,
            top + wide * 0.9 + down * 0.08,
            mouth + wide * 0.78,
            chin + wide * 0.36,
            chin + down * 0.06,
            chin - wide * 0.36,
            mouth - wide * 0.78,
        ]
    )
    height, width = pixels.shape[:2]
    shape = np.zeros((height, width), dtype=np.uint8)
    cv2.fillPoly(shape, [np.round(points * 8).astype(np.int32)], 255, cv2.LINE_AA, shift=3)
    soft = cv2.GaussianBlur(shape.astype(np.float32) / 255, (0, 0), 0.7)[:, :, None]
    # Shade the cloth by the face's own light, so that it is lit like the rest.
    face = pixels.astype(np.float32)
    light = cv2.GaussianBlur(face.mean(axis=2), (0, 0), max(1.0, float(np.linalg.norm(down)) / 4))[:, :, None]
    inside = shape > 127
    level = float(light[inside].mean()) if inside.any() else 128.0
    cloth = _cloth(random).astype(np.float32) * random.uniform(0.7, 1.15)
    texture = np.ones((height, width, 1), np.float32)
    if random.random() < 0.6:  # folds
        rows = np.arange(height, dtype=np.float32)[:, None, None]
        period = max(2.0, float(np.linalg.norm(down)) * random.uniform(0.2, 0.4))
        texture = texture + 0.08 * np.sin(rows / period * 2 * np.pi + random.uniform(0, 6)).astype(np.float32)
    lit = np.clip(cloth * texture * (0.35 + 0.65 * light / max(level, 20.0)) * min(1.0, level / 130 + 0.35), 0, 255)
    pixels[:] = (face * (1 - soft) + lit * soft).astype(np.uint8)
    if random.random() < 0.6:  # straps
        colour = tuple(int(v) for v in np.clip(cloth * 0.95, 0, 255))
        for start, out in ((points[0], -1), (points[4], 1)):
            end = start + across * out * 0.25 - down * random.uniform(0.0, 0.35)
            cv2.line(pixels, _at(start), _at(end), colour, 1, cv2.LINE_AA)


def _cloth(random: Random) -> Floats:
    usual = (
        (235, 240, 245),
        (150, 195, 225),
        (90, 150, 200),
        (30, 30, 34),
        (60, 62, 70),
        (120, 180, 160),
        (225, 170, 190),
    )
    if random.random() < 0.65:
        return np.clip(np.array(usual[int(random.integers(len(usual)))]) + random.normal(0, 12, 3), 0, 255)
    return random.uniform(10, 250, 3)


def _at(point: Floats) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def draw_distraction(pixels: Pixels, box: Floats, landmarks: Floats, random: Random) -> None:
    """Cover a place that masks leave bare (forehead, one eye, one cheek, the neck), in place; the face stays bare."""
    cv2 = opencv("training a detector")

    x0, y0, x1, y1 = box
    w, h = x1 - x0, y1 - y0
    places = (
        (x0 + w / 2, y0 + h * 0.08),
        tuple(landmarks[int(random.integers(2))]),
        (x0 + w * random.choice([0.08, 0.92]), y0 + h * 0.6),
        (x0 + w / 2, y1 + h * 0.22),
    )
    centre = places[int(random.integers(len(places)))]
    size = (max(1, round(w * random.uniform(0.12, 0.4))), max(1, round(h * random.uniform(0.05, 0.12))))
    colour = tuple(int(v) for v in _cloth(random))
    cv2.ellipse(pixels, _at(np.array(centre)), size, float(random.uniform(-20, 20)), 0, 360, colour, -1, cv2.LINE_AA)


PARTS = ("portraits", "bodies", "groups")
"""Twins are left out: they measure what one change does to a detector, also to this one."""


def training_pictures(dataset: Dataset, split: str = "train") -> tuple[list[TrainingPicture], list[Pixels]]:
    """Pictures with faces, and pictures without people, of one split.

    A group picture with a person of another split is left out, so that test people are never seen.
    """
    foreign = {
        subject.identity
        for sample in dataset
        if sample.attributes.get("part") == "portraits" and sample.attributes.get("split") != split
        for subject in sample.subjects
    }
    pictures, scenes = [], []
    for sample in dataset:
        if sample.attributes.get("split") != split:
            continue
        if not sample.subjects:
            scenes.append(sample.load())
        elif sample.attributes.get("part") in PARTS and not any(s.identity in foreign for s in sample.subjects):
            pictures.append(to_picture(sample))
    return pictures, scenes


def to_picture(sample: Sample) -> TrainingPicture:
    """A sample as arrays; people without a face box show no face and stay in the picture without a box."""
    faces = [subject for subject in sample.subjects if subject.face_box is not None]
    people = None
    if all(subject.mask is not None for subject in sample.subjects):
        people = np.zeros((sample.height, sample.width), dtype=bool)
        for subject in sample.subjects:
            assert subject.mask is not None
            people |= subject.mask.decode()
    unknown = np.full((5, 2), np.nan)
    return TrainingPicture(
        pixels=sample.load(),
        boxes=np.array([subject.face_box for subject in faces], dtype=np.float64).reshape(len(faces), 4),
        masked=np.array([{"yes": 1.0, "no": 0.0}.get(str(s.attributes.get("masked")), -1.0) for s in faces]),
        landmarks=np.array([unknown if s.landmarks is None else s.landmarks for s in faces]).reshape(len(faces), 5, 2),
        people=people,
    )
