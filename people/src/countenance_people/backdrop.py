"""Pictures behind portraits: painted procedurally in linear light, with highlights, then thrown out of focus."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter, zoom
from scipy.signal import fftconvolve

from countenance_people.mesh import Array, srgb_to_linear
from countenance_people.photo import disc

Rng = np.random.Generator
WALLS = (
    (0.86, 0.84, 0.80),
    (0.72, 0.76, 0.78),
    (0.78, 0.70, 0.62),
    (0.60, 0.66, 0.60),
    (0.52, 0.56, 0.64),
    (0.90, 0.89, 0.87),
)
PAPERS = (
    (0.62, 0.63, 0.65),
    (0.86, 0.86, 0.86),
    (0.38, 0.40, 0.43),
    (0.70, 0.62, 0.54),
    (0.42, 0.50, 0.58),
    (0.58, 0.48, 0.46),
)


def clouds(rng: Rng, height: int, width: int, size: float) -> Array:
    """Smooth noise of unit variance with features of about `size` pixels."""
    step = max(1, int(size / 3))
    rows, columns = height // step + 3, width // step + 3
    field = gaussian_filter(rng.normal(size=(rows, columns)), size / step, mode="wrap")
    field = zoom(field, step, order=1)[:height, :width] if step > 1 else field[:height, :width]
    return np.asarray(field / (field.std() + 1e-9))


def out_of_focus(image: Array, radius: float) -> Array:
    """The picture through an open lens: highlights become discs."""
    if radius < 0.7:
        return image
    kernel = disc(radius)
    pad = kernel.shape[0]
    framed = np.pad(image, ((pad, pad), (pad, pad), (0, 0)), mode="reflect")
    blurred = np.stack([fftconvolve(framed[..., c], kernel, mode="same") for c in range(3)], -1)
    return np.asarray(np.maximum(blurred[pad:-pad, pad:-pad], 0))


def _colour(rng: Rng, choices: tuple[tuple[float, float, float], ...], spread: float = 0.03) -> Array:
    return srgb_to_linear(
        np.clip(np.array(choices[int(rng.integers(len(choices)))]) + rng.normal(0, spread, 3), 0.03, 0.97)
    )


def _any(rng: Rng, low: float, high: float, spread: float = 0.06) -> Array:
    return srgb_to_linear(np.clip(rng.uniform(low, high) + rng.normal(0, spread, 3), 0.02, 0.97))


class Canvas:
    """A picture to paint on; places are shares of its height (y down, x from the left edge)."""

    def __init__(self, height: int, width: int, colour: Array) -> None:
        self.height, self.width = height, width
        self.image = np.ones((height, width, 3)) * colour
        self.y, self.x = np.mgrid[0:height, 0:width] / height

    @property
    def right(self) -> float:
        """Where the right edge is."""
        return self.width / self.height

    def box(self, left: float, top: float, wide: float, tall: float, colour: Array) -> None:
        """A rectangle."""
        rows = slice(*(int(np.clip(v * self.height, 0, self.height)) for v in (top, top + tall)))
        columns = slice(*(int(np.clip(v * self.height, 0, self.width)) for v in (left, left + wide)))
        self.image[rows, columns] = colour

    def ball(self, x: float, y: float, radius: float, colour: Array) -> None:
        """A disc."""
        self.image[np.hypot(self.x - x, self.y - y) < radius] = colour

    def shade(self, factor: Array) -> None:
        """Multiply brightness."""
        self.image *= factor[..., None] if factor.ndim == 2 else factor


def plain(rng: Rng, height: int, width: int) -> tuple[Array, float]:
    """A painted wall, lit from one side, sometimes with a corner or a rail."""
    canvas = Canvas(height, width, _colour(rng, WALLS, 0.04))
    angle = rng.uniform(0, 2 * np.pi)
    falloff = np.cos(angle) * (canvas.x - canvas.right / 2) + np.sin(angle) * (canvas.y - 0.5)
    if rng.random() < 0.35:
        edge = rng.uniform(0.05, 0.95) * canvas.right
        canvas.image[canvas.x > edge] *= rng.uniform(0.72, 0.9)
    if rng.random() < 0.3:
        canvas.box(0, rng.uniform(0.7, 0.95), canvas.right, 1, _any(rng, 0.4, 0.9, 0.02))
    canvas.shade(1 + rng.uniform(0.15, 0.5) * falloff)
    canvas.shade(1 + 0.012 * clouds(rng, height, width, 2.5) + 0.02 * clouds(rng, height, width, height * 0.08))
    return canvas.image, rng.uniform(0.002, 0.012)


def studio(rng: Rng, height: int, width: int) -> tuple[Array, float]:
    """Seamless paper with a pool of light."""
    canvas = Canvas(height, width, _colour(rng, PAPERS))
    x, y = rng.uniform(0.35, 0.65) * canvas.right, rng.uniform(0.3, 0.7)
    away = np.hypot(canvas.x - x, canvas.y - y)
    canvas.shade(1.25 * np.exp(-((away / rng.uniform(0.55, 1.0)) ** 2)) + rng.uniform(0.2, 0.5))
    mottled = rng.choice([0.0, 0.0, 0.10])
    canvas.shade(1 + mottled * clouds(rng, height, width, height * 0.07))
    return canvas.image, 0.004


def blur(rng: Rng, height: int, width: int) -> tuple[Array, float]:
    """Nothing that can be named: soft shapes and discs of light."""
    canvas = Canvas(height, width, _any(rng, 0.15, 0.55))
    for _ in range(int(rng.integers(6, 14))):
        place = rng.uniform(-0.2, 1.1, 2)
        wide, tall = rng.uniform(0.08, 0.6, 2)
        canvas.box(place[0] * canvas.right, place[1], wide, tall, _any(rng, 0.08, 0.7, 0.10))
    for _ in range(int(rng.integers(0, 26))):
        glow = _any(rng, 0.6, 0.95, 0.15) * rng.uniform(2, 14)
        canvas.ball(rng.uniform(0, canvas.right), rng.uniform(0, 0.8), rng.uniform(0.002, 0.007), glow)
    return canvas.image, rng.uniform(0.030, 0.060)


def room(rng: Rng, height: int, width: int) -> tuple[Array, float]:
    """A room: wall, floor, and some of shelf, window, door, lamp, pictures, plant, sofa."""
    canvas = Canvas(height, width, _colour(rng, WALLS, 0.05))
    canvas.shade(1 + 0.25 * (canvas.x / canvas.right - 0.5) * rng.choice([-1, 1]))
    floor = rng.uniform(0.80, 1.0)
    canvas.box(0, floor, canvas.right, 1, _any(rng, 0.25, 0.55, 0.04) * np.array([1.1, 0.95, 0.8]))
    canvas.box(0, floor - 0.02, canvas.right, 0.02, _any(rng, 0.5, 0.9, 0.02))
    furniture = (_shelf, _window, _door, _lamp, _frames, _plant, _sofa)
    slots = rng.permutation([0.02, 0.36, 0.70])
    for slot, number in zip(slots, rng.permutation(len(furniture))[:3], strict=True):
        furniture[number](rng, canvas, slot * canvas.right + rng.uniform(-0.08, 0.08), floor)
    return canvas.image, rng.uniform(0.010, 0.030)


def _shelf(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    wide, rows = rng.uniform(0.28, 0.5), int(rng.integers(3, 6))
    top = rng.uniform(0.0, 0.3)
    tall = (floor - top) / rows
    canvas.box(left, top, wide, floor - top, _any(rng, 0.15, 0.4, 0.03) * np.array([1.1, 0.9, 0.7]))
    for row in range(rows):
        at = left + 0.01
        while at < left + wide - 0.03:
            thick, high = rng.uniform(0.010, 0.028), tall * rng.uniform(0.55, 0.85)
            canvas.box(at, top + (row + 1) * tall - high - 0.012, thick, high, _any(rng, 0.12, 0.8, 0.14))
            at += thick + 0.002 + (rng.uniform(0.02, 0.08) if rng.random() < 0.12 else 0)


def _window(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    wide, top = rng.uniform(0.25, 0.4), rng.uniform(0.02, 0.15)
    tall = rng.uniform(0.4, 0.6)
    canvas.box(left - 0.02, top - 0.02, wide + 0.04, tall + 0.04, np.array([0.7, 0.69, 0.66]))
    sky = np.array([0.80, 0.92, 1.05]) * rng.uniform(1.6, 3.0)
    canvas.box(left, top, wide, tall, sky)
    canvas.box(left, top + tall * rng.uniform(0.55, 0.8), wide, tall * 0.2, np.array([0.20, 0.32, 0.12]))
    for share in (0.5,):
        canvas.box(left + wide * share - 0.008, top, 0.016, tall, np.array([0.6, 0.6, 0.58]))
    if rng.random() < 0.6:
        cloth = _any(rng, 0.4, 0.9, 0.08)
        for at in (left - 0.05, left + wide - 0.03):
            canvas.box(at, top - 0.03, 0.09, tall + 0.25, cloth)


def _door(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    colour = _any(rng, 0.3, 0.85, 0.03)
    canvas.box(left, 0.08, 0.34, floor - 0.08, colour)
    for top in (0.14, 0.52):
        canvas.box(left + 0.05, top, 0.24, 0.30, colour * 0.85)


def _lamp(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    x, top = left + 0.12, rng.uniform(0.2, 0.45)
    glow = np.exp(-((np.hypot(canvas.x - x, canvas.y - top) / 0.28) ** 2))
    canvas.image += glow[..., None] * np.array([0.9, 0.62, 0.34]) * rng.uniform(0.3, 0.7)
    canvas.box(x - 0.006, top, 0.012, floor - top, np.array([0.05, 0.05, 0.05]))
    canvas.box(x - 0.07, top - 0.06, 0.14, 0.11, np.array([1.0, 0.78, 0.5]) * rng.uniform(1.5, 4))


def _frames(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    for _ in range(int(rng.integers(1, 4))):
        wide, tall = rng.uniform(0.10, 0.24, 2)
        x, y = left + rng.uniform(0, 0.25), rng.uniform(0.05, 0.5)
        canvas.box(x - 0.012, y - 0.012, wide + 0.024, tall + 0.024, _any(rng, 0.05, 0.5, 0.02))
        canvas.box(x, y, wide, tall, _any(rng, 0.3, 0.9, 0.10))
        canvas.box(x + wide * 0.2, y + tall * rng.uniform(0.3, 0.6), wide * 0.6, tall * 0.3, _any(rng, 0.15, 0.8, 0.12))


def _plant(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    x = left + 0.14
    canvas.box(x - 0.06, floor - 0.14, 0.12, 0.14, _any(rng, 0.3, 0.8, 0.06))
    for _ in range(120):
        angle, reach = rng.uniform(-1.25, 1.25), rng.uniform(0.05, 0.34)
        green = np.array([0.06, 0.16, 0.035]) * rng.uniform(0.4, 1.8)
        canvas.ball(x + reach * np.sin(angle), floor - 0.14 - reach * np.cos(angle), rng.uniform(0.008, 0.022), green)


def _sofa(rng: Rng, canvas: Canvas, left: float, floor: float) -> None:
    colour = _any(rng, 0.2, 0.65, 0.08)
    canvas.box(left - 0.1, floor - 0.26, 0.62, 0.30, colour)
    canvas.box(left - 0.1, floor - 0.12, 0.62, 0.02, colour * 0.6)
    canvas.box(left + rng.uniform(0, 0.3), floor - 0.24, 0.14, 0.13, _any(rng, 0.3, 0.85, 0.14))


def outdoor(rng: Rng, height: int, width: int, horizon: float | None = None) -> tuple[Array, float]:
    """Sky, trees or houses, and ground; `horizon` as a share of the height."""
    line = rng.uniform(0.45, 0.75) if horizon is None else horizon
    canvas = Canvas(height, width, np.zeros(3))
    up = np.clip((line - canvas.y) / 0.8, 0, 1)[..., None]
    overcast = rng.random() < 0.4
    low, high = (
        (np.array([0.86, 0.90, 0.94]), np.array([0.62, 0.70, 0.80]))
        if overcast
        else (np.array([0.80, 0.88, 0.96]), np.array([0.28, 0.48, 0.82]))
    )
    canvas.image = low * (1 - up) + high * up
    canvas.image += 0.10 * np.clip(clouds(rng, height, width, height * 0.08), 0, 2)[..., None]
    far = np.array([0.30, 0.38, 0.34]) * rng.uniform(0.6, 1.1)
    ridge = line - 0.05 - 0.03 * clouds(rng, 1, width, width * 0.09)[0]
    canvas.image[(canvas.y > ridge[None])] = far
    if rng.random() < 0.55:
        _trees(rng, canvas, line, glints=horizon is None)
    else:
        _street(rng, canvas, line)
    ground = canvas.y > line
    colour = rng.choice([0, 1])
    base = np.array([0.14, 0.22, 0.06]) if colour else np.array([0.28, 0.27, 0.26])
    canvas.image[ground] = (base * (1 + 0.25 * clouds(rng, height, width, height * 0.01)[..., None]))[ground].clip(0.01)
    return canvas.image, rng.uniform(0.010, 0.028)


def _trees(rng: Rng, canvas: Canvas, line: float, *, glints: bool) -> None:
    """Crowns behind each other; light between the leaves where it is out of focus (in focus it is white dots)."""
    for depth in range(3):
        crown = line - rng.uniform(0.12, 0.45) - 0.05 * clouds(rng, 1, canvas.width, canvas.width * 0.05)[0]
        crown = crown - 0.012 * clouds(rng, 1, canvas.width, canvas.width * 0.008)[0]
        leaves = np.array([0.055, 0.12, 0.028]) * (0.5 + 0.45 * depth) + rng.uniform(0, 0.03, 3)
        texture = 0.6 * clouds(rng, canvas.height, canvas.width, canvas.height * 0.03) + clouds(
            rng, canvas.height, canvas.width, canvas.height * 0.008
        )
        inside = (canvas.y > crown[None]) & (canvas.y <= line)
        canvas.image[inside] = np.clip(leaves * (1 + 0.32 * texture[..., None]), 0.004, 1)[inside]
    sparkle = inside & (rng.random(canvas.y.shape) < 0.0008)
    if glints:
        canvas.image[sparkle] = np.array([2.5, 2.6, 1.8])


def _street(rng: Rng, canvas: Canvas, line: float) -> None:
    left = -rng.uniform(0, 0.2)
    while left < canvas.right:
        wide, rise = rng.uniform(0.16, 0.42), rng.uniform(0.2, 0.75)
        facade = _any(rng, 0.3, 0.8, 0.05)
        canvas.box(left, line - rise, wide, rise, facade)
        columns, floors = max(2, int(wide / 0.06)), max(2, int(rise / 0.08))
        for column in range(columns):
            for floor in range(floors):
                lit = np.array([1.6, 1.1, 0.6]) if rng.random() < 0.08 else facade * rng.uniform(0.15, 0.4)
                canvas.box(
                    left + (column + 0.28) * wide / columns,
                    line - (floor + 0.8) * rise / floors,
                    0.44 * wide / columns,
                    0.5 * rise / floors,
                    lit,
                )
        left += wide * rng.uniform(1.0, 1.15)
    for _ in range(int(rng.integers(0, 4))):
        x = rng.uniform(0, canvas.right)
        canvas.box(x, line - 0.07, 0.22, 0.08, _any(rng, 0.1, 0.7, 0.14))


KINDS: dict[str, Callable[[Rng, int, int], tuple[Array, float]]] = {
    "plain": plain,
    "studio": studio,
    "blur": blur,
    "room": room,
    "outdoor": outdoor,
}


def picture(kind: str, seed: int, width: int, height: int, horizon: float | None = None) -> Array:
    """A background in linear light, mean about .3; with a `horizon` (a share of the height) it is nearly in focus."""
    rng = np.random.default_rng([seed, 111])
    if horizon is not None:
        image, softness = outdoor(rng, height, width, horizon)
        softness *= 0.25
    else:
        image, softness = KINDS[kind](rng, height, width)
    return np.asarray(np.maximum(out_of_focus(image, softness * height), 0.003))
