"""Pictures for training: cut, turned, recoloured, set before other backgrounds, with masks drawn onto bare faces.

Rendered people differ from photographs in texture and light; what is varied here is what must not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.errors import opencv
from countenance.suites.mask_fairness.train.network import SIDE

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Random = np.random.Generator


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
    """One training example of 160×160 pixels with its boxes and masks."""
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
    pixels, boxes, kept = cut(pixels, picture.boxes, random, scenes)
    return recolour(pixels, random), boxes, masked[kept]


def set_before(pixels: Pixels, people: NDArray[np.bool_], scene: Pixels, random: Random) -> Pixels:
    """The people of a picture before another background, with soft edges."""
    cv2 = opencv("training a detector")

    behind = _window(scene, pixels.shape[1], pixels.shape[0], random)
    soft = cv2.GaussianBlur(people.astype(np.float32), (0, 0), float(random.uniform(0.6, 1.5)))[:, :, None]
    return np.asarray(pixels * soft + behind * (1 - soft), dtype=np.uint8)


def _window(scene: Pixels, width: int, height: int, random: Random) -> Pixels:
    """A random square of a scene, brought to a size."""
    cv2 = opencv("training a detector")

    side = int(random.integers(min(scene.shape[:2]) // 3, min(scene.shape[:2]) + 1))
    y, x = int(random.integers(scene.shape[0] - side + 1)), int(random.integers(scene.shape[1] - side + 1))
    found = cv2.resize(scene[y : y + side, x : x + side], (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(found, dtype=np.uint8)


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
    shift = (nose - (eyes + down * 0.55)) * 0.8  # turned faces carry their nose to one side
    points = np.array([
        top - wide * 0.9 + down * 0.08, top - wide * 0.3 + shift * 0.6, top + shift - down * random.uniform(0, 0.12),
        top + wide * 0.3 + shift * 0.6, top + wide * 0.9 + down * 0.08, mouth + wide * 0.78, chin + wide * 0.36,
        chin + down * 0.06, chin - wide * 0.36, mouth - wide * 0.78,
    ])  # fmt: skip
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
    """Cover something that is no mask's place (forehead, one eye, one cheek, the neck), in place: still a bare face."""
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


def cut(
    pixels: Pixels, boxes: Floats, random: Random, scenes: Sequence[Pixels] = ()
) -> tuple[Pixels, Floats, NDArray[np.intp]]:
    """A random window of a turned, mirrored picture at 160×160, its boxes, and which faces are left in it.

    Where the window leaves the picture, there is a scene, one colour, or the picture's own edge.
    """
    cv2 = opencv("training a detector")

    height, width = pixels.shape[:2]
    if len(boxes):
        chosen = boxes[int(random.integers(len(boxes)))]
        face = float(max(chosen[2] - chosen[0], chosen[3] - chosen[1]))
        small, large = (0.06, 0.2) if random.random() < 0.3 else (0.2, 1.05)
        wanted = SIDE * float(np.exp(random.uniform(np.log(small), np.log(large))))
        scale = float(np.clip(wanted / face, 0.12 * SIDE / max(height, width), 6.0))
        centre = (chosen[:2] + chosen[2:]) / 2 + random.uniform(-0.5, 0.5, 2) * max(0.0, SIDE / scale - face * 0.9)
    else:
        scale = SIDE / min(height, width) * float(np.exp(random.uniform(-0.5, 1.0)))
        centre = np.array([random.uniform(0, width), random.uniform(0, height)])
    angle = float(random.normal(0, 9)) if random.random() < 0.7 else 0.0
    stretch = float(np.exp(random.normal(0, 0.08)))
    turn = cv2.getRotationMatrix2D((float(centre[0]), float(centre[1])), angle, scale)
    turn[:, 2] += SIDE / 2 - centre
    turn[0] *= stretch
    turn[0, 2] += SIDE / 2 * (1 - stretch)
    if random.random() < 0.5:
        turn[0] *= -1
        turn[0, 2] += SIDE
    border = (cv2.BORDER_CONSTANT, cv2.BORDER_REFLECT_101, cv2.BORDER_REPLICATE)[int(random.integers(3))]
    if border == cv2.BORDER_REFLECT_101 and len(boxes):
        border = cv2.BORDER_REPLICATE  # a mirrored face would be an unmarked one
    method = cv2.INTER_AREA if scale < 0.8 else cv2.INTER_LINEAR
    fill = tuple(int(v) for v in random.integers(0, 256, 3))
    out = cv2.warpAffine(pixels, turn, (SIDE, SIDE), flags=method, borderMode=border, borderValue=fill)
    if scenes and random.random() < 0.6:
        here = cv2.warpAffine(np.ones((height, width), np.uint8), turn, (SIDE, SIDE), flags=cv2.INTER_NEAREST)
        out[here == 0] = _window(scenes[int(random.integers(len(scenes)))], SIDE, SIDE, random)[here == 0]
    if not len(boxes):
        return out, boxes, np.zeros(0, dtype=np.intp)
    # Of a turned box the box of an inscribed ellipse fits a head better than that of its corners.
    theta = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    rim = middle[:, None] + half[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)[None]
    moved = rim @ turn[:, :2].T + turn[:, 2]
    found = np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)
    clipped = np.clip(found, 0, SIDE)
    full = np.maximum((found[:, 2:] - found[:, :2]).prod(axis=1), 1e-6)
    kept = np.flatnonzero((clipped[:, 2:] - clipped[:, :2]).prod(axis=1) / full > 0.45)
    return np.asarray(out, dtype=np.uint8), clipped[kept], kept


def recolour(pixels: Pixels, random: Random) -> Pixels:
    """Light, colour, sharpness, noise and compression as cameras and the web vary them."""
    cv2 = opencv("training a detector")

    out = pixels.astype(np.float32) / 255
    out = out ** float(np.exp(random.normal(0, 0.25)))
    out = (out - 0.5) * float(np.exp(random.normal(0, 0.22))) + 0.5 + float(random.normal(0, 0.08))
    out = out * np.exp(random.normal(0, 0.09, 3)).astype(np.float32)
    grey = out.mean(axis=2, keepdims=True)
    out = grey + (out - grey) * (0.0 if random.random() < 0.08 else float(np.exp(random.normal(0, 0.3))))
    if random.random() < 0.3:
        out = cv2.GaussianBlur(out, (0, 0), float(random.uniform(0.4, 1.8)))
    if random.random() < 0.3:
        slope = np.linspace(-1, 1, SIDE, dtype=np.float32)[:, None, None] * float(random.normal(0, 0.15))
        out = out + (slope if random.random() < 0.5 else slope.transpose(1, 0, 2))
    if random.random() < 0.5:
        out = out + random.normal(0, random.uniform(0.005, 0.05), out.shape).astype(np.float32)
    whole = np.clip(out * 255, 0, 255).astype(np.uint8)
    if random.random() < 0.4:
        _, packed = cv2.imencode(".jpg", whole, [cv2.IMWRITE_JPEG_QUALITY, int(random.integers(25, 90))])
        whole = cv2.imdecode(packed, cv2.IMREAD_COLOR)
    return np.ascontiguousarray(whole)
