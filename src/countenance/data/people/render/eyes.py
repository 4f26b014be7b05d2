"""Eyes, lashes, teeth and tongue."""

from __future__ import annotations

from typing import Any

import numpy as np

from countenance.data.people.render.mesh import (
    Array,
    clip,
    fit_sphere,
    normalise,
    smoothstep,
    triangulate,
    vertex_normals,
)
from countenance.data.people.render.shape import EYE_VERTICES, Body, Template

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
    cornea = radius * (1 + 0.028 * np.clip(1 - (polar / (IRIS_ANGLE * 1.25)) ** 2, 0, 1))
    across = np.cos(around)[..., None] * side + np.sin(around)[..., None] * up
    points = centre + cornea[..., None] * (np.cos(polar)[..., None] * forward + np.sin(polar)[..., None] * across)
    rng = np.random.default_rng([seed, 71])
    fibres = sum(np.cos(k * around + rng.uniform(0, 6.28)) for k in (11, 17, 23, 31)) / 4
    share = polar / IRIS_ANGLE
    shade = (1 + 0.35 * fibres + 0.5 * np.exp(-(((share - 0.55) / 0.2) ** 2))) * (
        1 - 0.75 * smoothstep(0.80, 1.0, share)
    )
    iris_colour = np.asarray(iris) * 1.15 * (shade * smoothstep(PUPIL - 0.02, PUPIL + 0.03, share))[..., None] + 0.004
    white = np.array([0.66, 0.63, 0.61]) * (
        1 - 0.25 * smoothstep(0.5, 1.2, polar)[..., None] * np.array([0.3, 0.9, 1.0])
    )
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


def lashes(template: Template, body: Body, side: str, length: float) -> list[tuple[Array, Array]]:
    """The model's lash strips cut to a natural length: upper, then lower."""
    first, last = EYE_VERTICES[side]
    middle = template.canonical[first:last].mean(0)
    strips = []
    for number, share in (("2", 0.55), ("1", 0.20)):
        faces = template.groups[f"helper-{side}-eyelashes-{number}"]
        used, index = np.unique(faces.ravel(), return_inverse=True)
        reach = np.linalg.norm(template.canonical[used] - middle, axis=1)
        low, high = np.percentile(reach, 5), np.percentile(reach, 98)
        limit = low + (high - low) * min(share * length, 0.95)
        triangles, (vertices,) = clip(triangulate(index.reshape(faces.shape)), limit - reach, [body.posed[used]])
        if len(triangles):
            strips.append((vertices, triangles))
    return strips


def teeth(template: Template, body: Body, years: float) -> list[tuple[Array, Array, Array, Array]]:
    """Upper and lower teeth with gums: (vertices, triangles, normals, colours)."""
    first, last = (body.posed[a:b].mean(0) for a, b in EYE_VERTICES.values())
    # Full shift pierces a child's chin.
    scale = np.linalg.norm(first - last) / 0.0628 * (1.0 if years > 14 else 0.3)
    rows = []
    for name, shift in (("upper-teeth", (0, -0.0024, -0.0012)), ("lower-teeth", (0, 0.001, 0.0))):
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
