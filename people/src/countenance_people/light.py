"""Eight kinds of light: lamps and a surrounding, in arbitrary units; the camera's exposure comes later.

A surrounding is a small picture of all directions, so eyes, skin and lenses reflect a place and not a void.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance_people._backend import load_mitsuba
from countenance_people.mesh import Array, normalise, smoothstep
from countenance_people.scene import rgb

WARM, COOL, WHITE = np.array([1.18, 1.0, 0.76]), np.array([0.86, 0.98, 1.16]), np.array([1.0, 1.0, 1.0])
GELS = (
    ((1.0, 0.42, 0.72), (0.36, 0.74, 1.0)),
    ((1.0, 0.50, 0.42), (0.40, 0.52, 1.0)),
    ((1.0, 0.70, 0.36), (0.34, 0.76, 0.80)),
    ((0.58, 1.0, 0.62), (0.76, 0.48, 1.0)),
)


BEHIND = 0.4
"""How many metres a lamp stands behind the camera at least."""
CLEAR = 0.1
"""How many metres a lamp stays away from a wall."""


@dataclass(frozen=True)
class Lamp:
    """A soft box: direction in degrees (azimuth 0 is the camera's side, positive to the picture's right), half side
    in metres at its distance, and radiance."""

    azimuth: float
    elevation: float
    size: float
    radiance: Array
    distance: float = 1.8


@dataclass(frozen=True)
class Rig:
    """A light set-up: lamps, the surrounding over directions, and how bright and what colour the background is."""

    lamps: tuple[Lamp, ...]
    surrounding: Callable[[Array], Array]
    background: float
    background_tint: Array


def _uniform(top: Array, bottom: Array, glow: tuple[Array, Array, float] | None = None) -> Callable[[Array], Array]:
    """A dome from `bottom` to `top`, with a soft glow (direction, radiance, angle in degrees)."""

    def at(direction: Array) -> Array:
        share = smoothstep(-0.6, 0.8, direction[..., 2])[..., None]
        value = bottom * (1 - share) + top * share
        if glow is not None:
            aim, radiance, angle = glow
            off = np.degrees(np.arccos(np.clip(direction @ normalise(aim), -1, 1)))
            value = value + radiance * np.exp(-((off / angle) ** 2))[..., None]
        return np.asarray(value)

    return at


def _panels(base: Callable[[Array], Array], radiance: Array, turn: float) -> Callable[[Array], Array]:
    """Rows of ceiling panels over a room."""

    def at(direction: Array) -> Array:
        up = np.maximum(direction[..., 2], 1e-3)
        x, y = direction[..., 0] / up, direction[..., 1] / up
        x, y = x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)
        lit = (np.abs((x % 1.6) - 0.8) < 0.28) & (np.abs((y % 1.3) - 0.65) < 0.40) & (direction[..., 2] > 0.35)
        return np.asarray(base(direction) + lit[..., None] * radiance)

    return at


def rig(kind: str, rng: np.random.Generator) -> Rig:
    """A set-up of a kind; its angles, sizes and colours are drawn."""
    side = float(rng.choice([-1, 1]))
    warmth = float(rng.uniform(-1, 1))
    tint = WHITE + 0.10 * warmth * np.array([1.0, 0.0, -1.1])
    return _RIGS[kind](rng, side, tint)


def _even(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    """The reference: large soft boxes left and right, a bright surrounding; the same for every picture."""
    lamps = (Lamp(38, 22, 0.75, 4.2 * WHITE), Lamp(-38, 22, 0.75, 4.2 * WHITE), Lamp(0, 65, 0.6, 2.0 * WHITE))
    return Rig(lamps, _uniform(0.75 * WHITE, 0.45 * WHITE), 0.62, WHITE)


def _indoor(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    wall = 0.34 * (0.7 * tint + 0.3 * WARM)
    base = _uniform(wall * 1.1, wall * 0.7)
    key = Lamp(side * rng.uniform(10, 40), rng.uniform(30, 50), rng.uniform(0.5, 0.8), tint * rng.uniform(4, 6))
    return Rig((key,), _panels(base, 5.0 * tint, rng.uniform(0, 3)), 0.50, 0.6 * tint + 0.4 * WARM)


def _window(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    key = Lamp(side * rng.uniform(48, 78), rng.uniform(8, 24), rng.uniform(0.7, 1.0), COOL * rng.uniform(6, 8))
    return Rig((key,), _uniform(0.30 * WARM, 0.20 * WARM), 0.38, 0.5 * COOL + 0.5 * WARM)


def _sun(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    sun = Lamp(side * rng.uniform(18, 62), rng.uniform(26, 52), 0.10, np.array([1.1, 1.0, 0.86]) * 6000, 6.0)
    sky, ground = np.array([0.62, 0.82, 1.15]) * 0.85, np.array([0.95, 0.86, 0.70]) * 0.62
    return Rig((sun,), _uniform(sky, ground), 1.15, np.array([0.97, 1.0, 1.04]))


def _dusk(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    low = np.array([side * math.sin(1.0), -math.cos(1.0), 0.06])
    glow = (low, np.array([1.5, 0.72, 0.36]) * rng.uniform(1.3, 1.9), rng.uniform(28, 42))
    return Rig(
        (),
        _uniform(np.array([0.20, 0.27, 0.48]), np.array([0.13, 0.13, 0.17]), glow),
        0.36,
        np.array([0.92, 0.92, 1.2]),
    )


def _flash(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    flash = Lamp(side * rng.uniform(1, 5), rng.uniform(4, 9), 0.045, WHITE * rng.uniform(420, 520), 1.5)
    return Rig((flash,), _uniform(0.10 * WARM, 0.07 * WARM), 0.16, WARM)


def _coloured(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    first, second = (np.array(colour) for colour in GELS[int(rng.integers(len(GELS)))])
    lamps = (
        Lamp(side * rng.uniform(35, 60), rng.uniform(10, 30), 0.6, first * 7.5),
        Lamp(-side * rng.uniform(35, 70), rng.uniform(5, 25), 0.6, second * 8.5),
    )
    return Rig(lamps, _uniform(0.30 * WHITE, 0.22 * WHITE), 0.30, 0.4 * WHITE + 0.35 * first + 0.35 * second)


def _backlight(rng: np.random.Generator, side: float, tint: Array) -> Rig:
    lamps = (
        Lamp(180 - side * rng.uniform(18, 48), rng.uniform(15, 35), 0.8, tint * rng.uniform(14, 19)),
        Lamp(side * rng.uniform(15, 40), rng.uniform(10, 30), 0.9, tint * rng.uniform(0.9, 1.3)),
    )
    behind = (np.array([0, 1.0, 0.15]), 2.6 * tint, 48.0)
    return Rig(lamps, _uniform(0.34 * COOL, 0.26 * WHITE, behind), 1.45, 0.7 * tint + 0.3 * COOL)


_RIGS = {
    "even": _even,
    "indoor": _indoor,
    "window": _window,
    "sun": _sun,
    "dusk": _dusk,
    "flash": _flash,
    "coloured": _coloured,
    "backlight": _backlight,
}


def lamp_scale(lamp: Lamp, scale: float, camera: float) -> float:
    """How many times a lamp is enlarged and moved away, for a camera `camera` metres from the target.

    A lamp on the camera's side that would stand before it and hide what it sees is put behind it. Its light stays the
    same: seen from the target, it is as large as before.
    """
    if abs(lamp.azimuth) > 45 or lamp.distance * scale > camera:
        return scale
    return (camera + BEHIND) / lamp.distance


def half_size(half: float, middle: Array, aim: Array, wall: float) -> float:
    """Half the side of a lamp that stays before a wall at y = `wall`; 0 for a lamp behind it.

    A lamp that reached through the wall lit a part of it with a hard edge.

    >>> middle, aim = np.array([0.0, 3.0, 0.0]), np.array([1.0, 0.0, 0.0])
    >>> half_size(1.0, middle, aim, 9.0), round(half_size(1.0, middle, aim, 3.5), 2), half_size(1.0, middle, aim, 2.0)
    (1.0, 0.4, 0.0)
    """
    across = np.cross(aim, [0, 0.01, 1])
    across = across / np.linalg.norm(across)
    reach = abs(across[1]) + abs(np.cross(across, aim)[1])
    free = wall - CLEAR - float(middle[1])
    return float(min(half, max(free, 0.0) / max(reach, 1e-9)))


def emitters(rig: Rig, target: Array, camera: Array, scale: float = 1.0, wall: float | None = None) -> dict[str, Any]:
    """Mitsuba's description of a set-up around a target; `scale` enlarges the set for full figures.

    Lamps stay before a `wall` that stands behind the target.
    """
    mi, _ = load_mitsuba()
    shapes: dict[str, Any] = {}
    for number, lamp in enumerate(rig.lamps):
        size = lamp_scale(lamp, scale, float(np.linalg.norm(camera - target)))
        turn, rise = math.radians(lamp.azimuth), math.radians(lamp.elevation)
        aim = np.array([math.sin(turn) * math.cos(rise), -math.cos(turn) * math.cos(rise), math.sin(rise)])
        middle, half = target + aim * lamp.distance * size, float(lamp.size * size)
        if wall is not None:
            half = half_size(half, middle, aim, wall)
        if half == 0:
            continue
        place = mi.ScalarTransform4f().look_at(
            origin=[float(v) for v in middle],
            target=[float(v) for v in target],
            up=[0, 0.01, 1],
        )
        shapes[f"light_{number}"] = {
            "type": "rectangle",
            "to_world": place.scale(half),
            "emitter": {"type": "area", "radiance": rgb(lamp.radiance)},
        }
    shapes["light_around"] = surrounding(rig.surrounding)
    return shapes


def surrounding(at: Callable[[Array], Array], rows: int = 48) -> dict[str, Any]:
    """An environment light from a function of unit directions (z up)."""
    mi, _ = load_mitsuba()
    down, around = np.mgrid[0:rows, 0 : 2 * rows] + 0.5
    polar, azimuth = down / rows * np.pi, around / (2 * rows) * 2 * np.pi
    direction = np.stack([np.sin(azimuth) * np.sin(polar), np.cos(azimuth) * np.sin(polar), np.cos(polar)], -1)
    bitmap = mi.Bitmap(np.ascontiguousarray(np.maximum(at(direction), 0), np.float32))
    upright = mi.ScalarTransform4f().rotate([1, 0, 0], 90)
    return {"type": "envmap", "bitmap": bitmap, "to_world": upright}
