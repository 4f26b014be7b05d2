"""Hair that is tied: buns, tails, plaits, and locks like ropes."""

from __future__ import annotations

import numpy as np

from countenance_people.mesh import Array, normalise


def frames(path: Array) -> tuple[Array, Array]:
    """Two unit vectors across paths (..., points, 3)."""
    direction = normalise(np.gradient(path, axis=-2))
    first = normalise(np.cross(direction, np.array([0.31, 0.52, 0.79])))
    return first, np.cross(direction, first)


def rope(paths: Array, which: Array, radius: float, turns: float, rng: np.random.Generator) -> Array:
    """Strands wound into ropes: strand k belongs to rope `which[k]` of `paths` (ropes, points, 3)."""
    count, points = len(which), paths.shape[1]
    along = np.linspace(0, 1, points)
    first, second = frames(paths)
    off = radius * np.sqrt(rng.random(count)) * rng.uniform(0.8, 1.15, len(paths))[which]
    angle = rng.uniform(0, 2 * np.pi, count)[:, None] + 2 * np.pi * turns * along[None]
    # Thick at once, thinner to the tip, and a little uneven.
    profile = np.interp(along, [0, 0.06, 0.8, 1], [0.25, 1.0, 0.95, 0.5])
    bumps = 1 + 0.12 * np.sin(along[None] * 40 + rng.uniform(0, 6, (len(paths), 1)))
    size = off[:, None] * profile[None] * bumps[which]
    offset = (size * np.cos(angle))[..., None] * first[which] + (size * np.sin(angle))[..., None] * second[which]
    return np.asarray(paths[which] + offset)


def bun(knot: Array, outward: Array, scale: float, points: int, rng: np.random.Generator) -> Array:
    """A ball of wound hair that sits on a knot."""
    count = 5200
    centre = knot + outward * 0.026 * scale
    axis = normalise(outward + 0.15 * rng.normal(size=3))
    start = normalise(rng.normal(size=(count, 3)))
    tilt = normalise(axis + 0.35 * rng.normal(size=(count, 3)))
    radius = 0.034 * scale * rng.uniform(0.86, 1.02, (count, 1, 1))
    angle = np.linspace(0, 2.2, points)[None, :, None]
    side = np.cross(tilt, start)
    path = start[:, None] * np.cos(angle) + side[:, None] * np.sin(angle)
    flat = path - 0.25 * (path @ axis)[..., None] * axis
    return np.asarray(centre + radius * flat)


def tail(knot: Array, outward: Array, length: float, side: float, points: int, rng: np.random.Generator) -> Array:
    """A tail that leaves a knot and falls behind one shoulder."""
    count = 6500
    step = length / (points - 1) * rng.uniform(0.75, 1.05, (count, 1))
    around = normalise(rng.normal(size=(count, 3)))
    point = knot + around * 0.009 * np.sqrt(rng.random((count, 1)))
    direction = normalise(outward + 0.22 * around + np.array([0.25 * side, 0, 0.35]))
    path = [point]
    for k in range(1, points):
        direction = normalise(direction + np.array([0.015 * side, 0.02, -0.24 - 0.03 * k]) + 0.035 * around)
        path.append(path[-1] + direction * step)
    return np.stack(path, 1)


def plait(knot: Array, target: Array, points: int, scale: float, rng: np.random.Generator) -> Array:
    """A three-strand plait from a knot down to a target."""
    points_long = points * 3
    along = np.linspace(0, 1, points_long)
    middle = (knot + target) / 2 + np.array([0.006 * np.sign(knot[0]), -0.018, 0]) * scale
    path = (
        ((1 - along) ** 2)[:, None] * knot + (2 * along * (1 - along))[:, None] * middle + (along**2)[:, None] * target
    )
    turns = 8.0
    strands = []
    width = 0.0085 * scale * np.interp(along, [0, 0.1, 0.85, 1], [0.7, 1, 0.75, 0.35])
    for phase in (0, 2 * np.pi / 3, 4 * np.pi / 3):
        turn = 2 * np.pi * turns * along / 2 + phase
        sideways, depth = width * np.sin(turn), 0.55 * width * np.sin(2 * turn)
        strands.append(path + np.stack([sideways, depth, 0 * along], 1))
    ropes = np.array(strands)
    which = rng.integers(0, 3, 2700)
    return rope(ropes, which, 0.0072 * scale, 3.0, rng)
