"""Faces of photographs and of rendered people in one form, and what networks answer to them.

Used by `does_it_measure.py`. Answers are stored by network and change; no picture is written.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from picture_changes import CHANGES, Floats, Picture, Pixels

from countenance.data import Sample, load_dataset
from countenance.data.adapters.fairface import AGES
from countenance.models import ModelSpec
from countenance.models.onnx import open_session

SIDE, FRAME = 256, 128
DETECTORS = ("yunet", "rfb320", "mtcnn", "haar")
EYES_AND_MOUTH = np.array([[38.3, 51.7], [73.5, 51.5], [56.0, 71.7], [41.5, 92.4], [70.7, 92.2]])
"""Where MobileFaceNet expects eyes, nose and mouth in its 112×112 pixels."""


class Item(NamedTuple):
    """One picture: a name for the stored answers, who is shown, what is known, and how to open it with its square."""

    name: str
    person: str
    facts: dict[str, str]
    open: Callable[[], tuple[Pixels, Floats]]


def square_of(face: Floats) -> Floats:
    """The square around a person's face box that holds as much of the face as FairFace's pictures do."""
    height = face[3] - face[1]
    x, y, half = (face[0] + face[2]) / 2, (face[1] + face[3]) / 2 + 0.13 * height, 0.425 * height
    return np.array([x - half, y - half, x + half, y + half])


def cut(pixels: Pixels, square: Floats, side: int) -> Pixels:
    """The square's pixels in another size; what lies outside the picture repeats its edge."""
    scale = side / (square[2] - square[0])
    matrix = np.array([[scale, 0, -square[0] * scale], [0, scale, -square[1] * scale]])
    return cv2.warpAffine(pixels, matrix, (side, side), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE)


def framed(face: Pixels) -> tuple[Pixels, Floats]:
    """A tightly cut face in the middle of a plain picture in its mean colour, for detectors need a margin."""
    pixels = np.empty((SIDE, SIDE, 3), np.uint8)
    pixels[:] = face.reshape(-1, 3).mean(axis=0)
    start, end = (SIDE - FRAME) // 2, (SIDE + FRAME) // 2
    pixels[start:end, start:end] = cv2.resize(face, (FRAME, FRAME), interpolation=cv2.INTER_AREA)
    return pixels, np.array([start, start, end, end], float)


def age_group(age: float) -> str:
    """FairFace's group of an age in years."""
    return AGES[int(np.searchsorted([3, 10, 20, 30, 40, 50, 60, 70], age, side="right"))]


def age_error(predicted: float, group: str) -> float:
    """Years between a predicted age and the nearest age of a group; 0 inside it."""
    low, high = (70, 101) if group == AGES[-1] else (int(end) for end in group.split("-"))
    return max(low - predicted, predicted - (high + 1), 0.0)


def fairface_items(folder: Path) -> list[Item]:
    tones = {"White": "light", "Black": "dark"}
    items = []
    for sample in load_dataset(f"fairface:{folder}?only_present=yes"):
        known = sample.subjects[0].attributes
        facts = {"tone": tones.get(known["race"], ""), "age": known["age_group"], "gender": known["gender"].lower()}
        items.append(Item(f"fairface/{sample.id}", sample.id, facts, lambda s=sample: framed(s.load())))
    return items


def lfw_items(folder: Path) -> list[Item]:
    def opened(path: Path) -> tuple[Pixels, Floats]:
        pixels = np.ascontiguousarray(cv2.imread(str(path))[:, :, ::-1])
        return pixels, np.array([0.25, 0.25, 0.75, 0.75]) * len(pixels)

    return [
        Item(f"lfw/{path.name}", path.stem.rpartition("_")[0], {}, lambda p=path: opened(p))
        for path in sorted((folder / "lfw_originals").glob("*.jpg"))
    ]


def people_items(samples: Sequence[Sample], frame: bool) -> list[Item]:
    """Rendered people, whole or in FairFace's frame; those in dark glasses are left out."""
    items = []
    for sample in samples:
        (subject,) = sample.subjects
        known = subject.attributes
        if known["glasses"] not in ("none", "clear"):
            continue
        number = int(known["skin_tone"].removeprefix("monk_"))
        facts = {
            "tone": "light" if number <= 3 else "dark" if number >= 8 else "",
            "age": age_group(float(known["age"])),
            "masked": known["masked"],
            "gender": known["gender"],
            **{name: str(sample.attributes.get(name, "")) for name in ("change", "base")},
        }

        def opened(sample: Sample = sample, square: Floats = square_of(subject.face_box)) -> tuple[Pixels, Floats]:
            pixels = np.ascontiguousarray(sample.load())
            return framed(cut(pixels, square, FRAME)) if frame else (pixels, square)

        items.append(Item(f"{'frame' if frame else 'whole'}/{sample.id}", subject.identity, facts, opened))
    return items


def is_found(boxes: Floats, square: Floats) -> bool:
    """Whether a box has its centre in the middle half of the face's square and 0.4 to 1.6 of its height.

    >>> is_found(np.array([[70., 70, 180, 190]]), np.array([64., 64, 192, 192]))
    True
    """
    side = square[3] - square[1]
    offset = np.abs((boxes[:, :2] + boxes[:, 2:]) / 2 - (square[:2] + square[2:]) / 2).max(axis=1, initial=0.0)
    height = (boxes[:, 3] - boxes[:, 1]) / side
    return bool(((offset <= side / 4) & (height >= 0.4) & (height <= 1.6)).any())


class Networks:
    """The networks' answers to pictures, stored by network and change."""

    def __init__(self, weights: Path, cache: Path) -> None:
        self.weights, self.cache = weights, cache
        self.yunet = ModelSpec("yunet", str(weights / "yunet.onnx")).load()
        cache.mkdir(parents=True, exist_ok=True)

    def answers(self, model: str, items: Sequence[Item], change: str = "none") -> Floats:
        """One row per item; NaN where the picture could not be changed or its face not be embedded."""
        file = self.cache / f"{model}_{change}.npz"
        stored: dict[str, Floats] = {}
        if file.exists():
            with np.load(file) as arrays:
                stored = dict(zip(arrays["names"].tolist(), arrays["rows"], strict=True))
        missing = [item for item in items if item.name not in stored]
        if missing:
            answer = self.network(model)
            for item, picture in zip(missing, self.pictures(missing, change), strict=True):
                stored[item.name] = answer(picture)
            np.savez(file, names=list(stored), rows=np.array(list(stored.values()), np.float32))
            print(f"{model}, {change}: {len(missing)} pictures", flush=True)
        return np.array([stored[item.name] for item in items], float)

    def pictures(self, items: Sequence[Item], change: str) -> Iterator[Picture | None]:
        for item in items:
            pixels, square = item.open()
            (faces,) = self.yunet([pixels])
            right = [k for k, box in enumerate(faces.xyxy) if is_found(box[None], square)]
            best = max(right, key=lambda k: faces.scores[k]) if right else None
            box, points = (None, None) if best is None else (faces.xyxy[best], faces.landmarks[best])
            picture = Picture(item.name, pixels, square, box, points)
            yield picture if change == "none" else CHANGES[change](picture)

    def network(self, name: str) -> Callable[[Picture | None], Floats]:
        """A function from a picture to numbers: found or not; probability of a man and age; an embedding."""
        if name in DETECTORS:
            path = str(self.weights / f"{name}.onnx") if name in ("yunet", "rfb320") else None
            detector = ModelSpec(name, path).load()
            return lambda p: np.array([np.nan if p is None else is_found(detector([p.pixels])[0].xyxy, p.square)])
        if name == "dlib":
            dlib = ModelSpec("dlib").load()
            return lambda p: np.full(128, np.nan) if p is None or p.box is None else dlib.embed(p.pixels, p.box)
        session = open_session(self.weights / f"{name}.onnx", threads=1)
        return lambda p: (faceres if name == "faceres" else mobilefacenet)(session, p)


def faceres(session: Any, picture: Picture | None) -> Floats:
    if picture is None:
        return np.full(2, np.nan)
    face = cut(picture.pixels, picture.square, 224)[None].astype(np.float32)
    gender, age = session.run(["gender_pred/Sigmoid:0", "age_pred/Softmax:0"], {"input_1:0": face})
    return np.array([gender[0, 0], age[0] @ np.arange(100)])


def mobilefacenet(session: Any, picture: Picture | None) -> Floats:
    if picture is None or picture.points is None:
        return np.full(128, np.nan)
    matrix, _ = cv2.estimateAffinePartial2D(picture.points, EYES_AND_MOUTH, method=cv2.LMEDS)
    face = cv2.warpAffine(picture.pixels, matrix, (112, 112)).astype(np.float32) / 255
    face = (face - np.float32([0.485, 0.456, 0.406])) / np.float32([0.229, 0.224, 0.225])
    (vector,) = session.run(None, {session.get_inputs()[0].name: face.transpose(2, 0, 1)[None]})
    return vector[0] / np.linalg.norm(vector[0])
