"""Eyes, lashes, teeth and tongue."""

from __future__ import annotations

from typing import Any

import numpy as np

from countenance_people.mesh import (
    Array,
    fit_sphere,
    normalise,
    smoothstep,
    vertex_normals,
)
from countenance_people.shape import EYE_VERTICES, Body, Template

IRIS_ANGLE = 0.385
PUPIL = 0.35


def eyeball(centre: Array, radius: float, gaze: Array, iris: Any, seed: int) -> tuple[Array, Array, Array, Array]:
    """Vertices, triangles, normals and colours of one eye that looks along `gaze`."""
    forward = normalise(gaze)
    side = normalise(np.cross(forward, np.array([0, 0, 1.0])))
    up = np.cross(side, forward)
    rings = np.r_[np.linspace(0, 0.62, 26), np.linspace(0.66, 2.2, 14)]
    columns = 48
    polar, around = np.meshgrid(rings, np.linspace(0, 2 * np.pi, columns, endpoint=False), indexing="ij")
    # An iris has nearly its final size at birth: a small eye shows more of it.
    iris_angle = IRIS_ANGLE * float(np.clip(0.0158 / radius, 1.0, 1.3))
    cornea = radius * (1 + 0.028 * np.clip(1 - (polar / (iris_angle * 1.25)) ** 2, 0, 1))
    across = np.cos(around)[..., None] * side + np.sin(around)[..., None] * up
    points = centre + cornea[..., None] * (np.cos(polar)[..., None] * forward + np.sin(polar)[..., None] * across)
    rng = np.random.default_rng([seed, 71])
    fibres = sum(np.cos(k * around + rng.uniform(0, 6.28)) for k in (11, 17, 23, 31)) / 4
    share = polar / iris_angle
    shade = (1 + 0.35 * fibres + 0.5 * np.exp(-(((share - 0.55) / 0.2) ** 2))) * (
        1 - 0.75 * smoothstep(0.80, 1.0, share)
    )
    iris_colour = np.asarray(iris) * 0.6 * (shade * smoothstep(PUPIL - 0.02, PUPIL + 0.03, share))[..., None] + 0.004
    veins = 0.06 * np.clip(np.cos(9 * around + rng.uniform(0, 6.28)) + np.cos(23 * around + 5 * polar), 0, 2)
    red = (0.30 * smoothstep(0.55, 1.15, polar) + veins * smoothstep(0.5, 0.8, polar))[..., None]
    white = np.array([0.43, 0.405, 0.39]) * (1 - red * np.array([0.25, 0.85, 0.9]))
    weight = smoothstep(0.97, 1.06, share)[..., None]
    colour = iris_colour * (1 - weight) + white * weight
    row, column = np.arange(len(rings) - 1)[:, None], np.arange(columns)[None]
    a, b = row * columns + column, row * columns + (column + 1) % columns
    triangles = [np.stack(t, -1).reshape(-1, 3) for t in ((a, a + columns, b + columns), (a, b + columns, b))]
    vertices = points.reshape(-1, 3)
    return vertices, np.concatenate(triangles), normalise(vertices - centre), colour.reshape(-1, 3)


def eye_centres(body: Body) -> dict[str, tuple[Array, float]]:
    """Centre and radius of the left ('l', the person's own) and right eye."""
    return {side: fit_sphere(body.posed[first:last]) for side, (first, last) in EYE_VERTICES.items()}


def gaze_direction(body: Body, eye: Array, camera: Array) -> Array:
    """Between straight ahead and the camera: a full gaze at the camera looks shifty on a turned head."""
    rotation = body.head_motion[:3, :3]
    ahead = rotation @ np.array([0, -1.0, 0])
    direction = normalise(ahead + 0.6 * (normalise(camera - eye) - ahead))
    return normalise(direction + rotation @ np.array([0, 0, -0.03]))


def lashes(template: Template, body: Body, side: str, length: float, rng: np.random.Generator) -> Array:
    """Strands (count, 5, 3) of the upper and lower lashes, along the columns of the model's strips."""
    first, last = EYE_VERTICES[side]
    middle = template.canonical[first:last].mean(0)
    strands = []
    for number, count, share in (("2", 100, 0.75), ("1", 46, 0.40)):
        grid = quad_grid(template.groups[f"helper-{side}-eyelashes-{number}"])
        reach = np.linalg.norm(template.canonical[grid] - middle, axis=-1)
        if reach[:, 0].mean() > reach[:, -1].mean():
            grid = grid[:, ::-1]
        points = body.posed[grid]
        place = rng.uniform(0.3, len(grid) - 1.3, count)
        left = place.astype(int)
        part = (place - left)[:, None, None]
        strand = points[left] * (1 - part) + points[left + 1] * part
        cut = (len(grid[0]) - 1) * share * length * rng.uniform(0.65, 1.05, count)
        strands.append(_cut(strand, np.minimum(cut, len(grid[0]) - 1)))
    return np.concatenate(strands)


def _cut(strands: Array, last: Array) -> Array:
    """Strands up to (fractional) point `last`, with five points."""
    place = np.linspace(0, 1, 5)[None] * last[:, None]
    index = np.minimum(place.astype(int), strands.shape[1] - 2)
    share = (place - index)[..., None]
    low, high = (np.take_along_axis(strands, (index + step)[..., None], 1) for step in (0, 1))
    return np.asarray(low * (1 - share) + high * share)


def quad_grid(quads: Array) -> Array:
    """Vertex numbers of a strip of quads as a grid: the longer side runs down, the shorter across."""
    place: dict[int, tuple[int, int]] = {}
    ring = ((0, 0), (1, 0), (1, 1), (0, 1))
    place.update({int(vertex): spot for vertex, spot in zip(quads[0], ring, strict=True)})
    waiting = [tuple(int(v) for v in quad) for quad in quads[1:]]
    while waiting:
        rest = []
        for quad in waiting:
            known = [k for k in range(4) if quad[k] in place]
            pair = next((k for k in known if (k + 1) % 4 in known), None)
            if pair is None:
                rest.append(quad)
                continue
            a, b = (np.array(place[quad[(pair + step) % 4]]) for step in (0, 1))
            inward = np.array([-(b - a)[1], (b - a)[0]])
            place[quad[(pair + 2) % 4]], place[quad[(pair + 3) % 4]] = tuple(b + inward), tuple(a + inward)
        if len(rest) == len(waiting):
            break
        waiting = rest
    spots = np.array(list(place.values()))
    spots -= spots.min(0)
    grid = np.zeros(spots.max(0) + 1, int)
    grid[spots[:, 0], spots[:, 1]] = list(place)
    return grid if grid.shape[0] >= grid.shape[1] else grid.T


def teeth(template: Template, body: Body, years: float) -> list[tuple[Array, Array, Array, Array]]:
    """Upper and lower teeth with gums: (vertices, triangles, normals, colours)."""
    first, last = (body.posed[a:b].mean(0) for a, b in EYE_VERTICES.values())
    # Full shift pierces a child's chin.
    scale = np.linalg.norm(first - last) / 0.0628 * (1.0 if years > 14 else 0.3)
    rows = []
    for name, shift in (("upper-teeth", (0, -0.0034, -0.0018)), ("lower-teeth", (0, 0.0, 0.0006))):
        operator, triangles, canonical = template.helpers[name]
        vertices = operator @ body.posed + body.head_motion[:3, :3] @ np.array(shift) * scale
        angle = np.arctan2(canonical[:, 0], -(canonical[:, 1] + 0.085))
        gap = np.clip(np.abs(((angle / 0.165) % 1) - 0.5) * 2 - 0.88, 0, 1) / 0.12 * 0.22
        height = canonical[:, 2]
        gum = smoothstep(0.6765, 0.6785, height) if name == "upper-teeth" else smoothstep(0.6565, 0.6545, height)
        colour = np.array([0.99, 0.965, 0.91]) * (1 - gap[:, None])
        colour = colour * (1 - gum[:, None]) + np.array([0.45, 0.16, 0.15]) * gum[:, None]
        colour = colour * (1 - 0.45 * smoothstep(-0.118, -0.100, canonical[:, 1])[:, None])
        rows.append((vertices, triangles, vertex_normals(vertices, triangles), colour))
    return rows


def tongue(template: Template, body: Body) -> tuple[Array, Array, Array]:
    """Vertices, triangles and normals of the tongue."""
    operator, triangles, _ = template.helpers["tongue"]
    vertices = operator @ body.posed
    return vertices, triangles, vertex_normals(vertices, triangles)
