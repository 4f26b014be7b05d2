"""Augments training pictures in what the answer must not depend on: place, size, rotation, light, colour, sharpness,
background.

`vary` changes a batch of tensors whose labels stay the same; the rest changes single pictures and their boxes. The same
generator gives the same pictures.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import opencv
from countenance.learning.training import need_torch

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Random = np.random.Generator
Tensor = Any


def vary(images: Tensor, generator: Any, *, geometry: float = 1.0, light: float = 1.0, erase: float = 0.0) -> Tensor:
    """A batch (N × 3 × H × W, 0 to 255) flipped, turned, shifted, scaled, with small changes of exposure and warmth.

    The light varies less than neighbouring skin tones do: more would change the truth. `erase` is the share of pictures
    of which a patch is greyed.
    """
    torch = need_torch()
    functional = torch.nn.functional
    n, device = len(images), images.device

    def uniform(low: float, high: float) -> Tensor:
        return torch.rand(n, generator=generator, device=device) * (high - low) + low

    flip = torch.where(uniform(0, 1) < 0.5, -1.0, 1.0)
    angle, zoom = uniform(-0.14, 0.14) * geometry, 1 + uniform(-0.14, 0.14) * geometry
    cos, sin = torch.cos(angle) * zoom, torch.sin(angle) * zoom
    shift_x, shift_y = uniform(-0.1, 0.1) * geometry, uniform(-0.1, 0.1) * geometry
    rows = torch.stack([torch.stack([cos * flip, -sin, shift_x], 1), torch.stack([sin * flip, cos, shift_y], 1)], 1)
    grid = functional.affine_grid(rows, list(images.shape), align_corners=False)
    moved = functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)
    if light:
        exposure, warmth = uniform(-0.06, 0.06) * light, uniform(-0.03, 0.03) * light
        gain = torch.stack([1 + exposure + warmth, 1 + exposure, 1 + exposure - warmth], 1)[:, :, None, None]
        moved = moved * gain
    if erase:
        side = images.shape[-1]
        place = torch.arange(side, device=device)[None] / side
        left, top, size = uniform(0, 0.8)[:, None], uniform(0, 0.8)[:, None], uniform(0.1, 0.3)[:, None]
        across, down = (place >= left) & (place < left + size), (place >= top) & (place < top + size)
        gone = (down[:, :, None] & across[:, None, :] & (uniform(0, 1) < erase)[:, None, None])[:, None]
        moved = torch.where(gone, torch.full_like(moved, 127.5), moved)
    return moved.clamp(0, 255)


def set_before(pixels: Pixels, people: NDArray[np.bool_], scene: Pixels, random: Random) -> Pixels:
    """The people of a picture before another background, with soft edges."""
    cv2 = opencv("training a detector")

    behind = _window(scene, pixels.shape[1], pixels.shape[0], random)
    soft = cv2.GaussianBlur(people.astype(np.float32), (0, 0), float(random.uniform(0.6, 1.5)))[:, :, None]
    return np.asarray(pixels * soft + behind * (1 - soft), dtype=np.uint8)


def _window(scene: Pixels, width: int, height: int, random: Random) -> Pixels:
    """A random square part of a scene, resized."""
    cv2 = opencv("training a detector")

    side = int(random.integers(min(scene.shape[:2]) // 3, min(scene.shape[:2]) + 1))
    y, x = int(random.integers(scene.shape[0] - side + 1)), int(random.integers(scene.shape[1] - side + 1))
    window = cv2.resize(scene[y : y + side, x : x + side], (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(window, dtype=np.uint8)


def random_window(
    pixels: Pixels, boxes: Floats, random: Random, side: int, scenes: Sequence[Pixels] = ()
) -> tuple[Pixels, Floats, NDArray[np.intp]]:
    """A random window of a turned, mirrored picture at side × side, its boxes, and which of them are left in it.

    Where the window leaves the picture, there is a scene, one colour, or the picture's own edge.

    >>> picture, box = np.zeros((60, 80, 3), np.uint8), np.array([[20.0, 20, 40, 40]])
    >>> window, boxes, remaining = random_window(picture, box, np.random.default_rng(1), 32)
    >>> window.shape, remaining.tolist()
    ((32, 32, 3), [0])
    """
    cv2 = opencv("training a detector")

    height, width = pixels.shape[:2]
    if len(boxes):
        chosen = boxes[int(random.integers(len(boxes)))]
        size = float(max(chosen[2] - chosen[0], chosen[3] - chosen[1]))
        small, large = (0.06, 0.2) if random.random() < 0.3 else (0.2, 1.05)
        target = side * float(np.exp(random.uniform(np.log(small), np.log(large))))
        scale = float(np.clip(target / size, 0.12 * side / max(height, width), 6.0))
        centre = (chosen[:2] + chosen[2:]) / 2 + random.uniform(-0.5, 0.5, 2) * max(0.0, side / scale - size * 0.9)
    else:
        scale = side / min(height, width) * float(np.exp(random.uniform(-0.5, 1.0)))
        centre = np.array([random.uniform(0, width), random.uniform(0, height)])
    angle = float(random.normal(0, 9)) if random.random() < 0.7 else 0.0
    stretch = float(np.exp(random.normal(0, 0.08)))
    turn = cv2.getRotationMatrix2D((float(centre[0]), float(centre[1])), angle, scale)
    turn[:, 2] += side / 2 - centre
    turn[0] *= stretch
    turn[0, 2] += side / 2 * (1 - stretch)
    if random.random() < 0.5:
        turn[0] *= -1
        turn[0, 2] += side
    border = (cv2.BORDER_CONSTANT, cv2.BORDER_REFLECT_101, cv2.BORDER_REPLICATE)[int(random.integers(3))]
    if border == cv2.BORDER_REFLECT_101 and len(boxes):
        border = cv2.BORDER_REPLICATE  # mirroring would add a face without a box
    method = cv2.INTER_AREA if scale < 0.8 else cv2.INTER_LINEAR
    fill = tuple(int(v) for v in random.integers(0, 256, 3))
    out = cv2.warpAffine(pixels, turn, (side, side), flags=method, borderMode=border, borderValue=fill)
    if scenes and random.random() < 0.6:
        here = cv2.warpAffine(np.ones((height, width), np.uint8), turn, (side, side), flags=cv2.INTER_NEAREST)
        out[here == 0] = _window(scenes[int(random.integers(len(scenes)))], side, side, random)[here == 0]
    if not len(boxes):
        return out, boxes, np.zeros(0, dtype=np.intp)
    # The box around the turned inscribed ellipse fits a head better than the box around the turned corners.
    theta = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    rim = middle[:, None] + half[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)[None]
    moved = rim @ turn[:, :2].T + turn[:, 2]
    corners = np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)
    clipped = np.clip(corners, 0, side)
    full = np.maximum((corners[:, 2:] - corners[:, :2]).prod(axis=1), 1e-6)
    inside = np.flatnonzero((clipped[:, 2:] - clipped[:, :2]).prod(axis=1) / full > 0.45)
    return np.asarray(out, dtype=np.uint8), clipped[inside], inside


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
        tilt, axis = float(random.normal(0, 0.15)), 0 if random.random() < 0.5 else 1
        slope = np.linspace(-1, 1, out.shape[axis], dtype=np.float32) * tilt
        out = out + (slope[:, None, None] if axis == 0 else slope[None, :, None])
    if random.random() < 0.5:
        out = out + random.normal(0, random.uniform(0.005, 0.05), out.shape).astype(np.float32)
    whole = np.clip(out * 255, 0, 255).astype(np.uint8)
    if random.random() < 0.4:
        _, packed = cv2.imencode(".jpg", whole, [cv2.IMWRITE_JPEG_QUALITY, int(random.integers(25, 90))])
        whole = cv2.imdecode(packed, cv2.IMREAD_COLOR)
    return np.ascontiguousarray(whole)
