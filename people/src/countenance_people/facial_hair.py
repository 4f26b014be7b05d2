"""Eyebrows and beard: strands rooted on the posed face, so that expressions move them."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from countenance_people.faces import ageing
from countenance_people.mesh import Array, normalise, scatter, smoothstep
from countenance_people.shape import Surface, Template
from countenance_people.spec import Identity

# Strands, shortest and longest hair in metres.
BEARDS = {
    "moustache": (2600, 0.007, 0.012),
    "goatee": (4200, 0.006, 0.013),
    "short": (9000, 0.004, 0.009),
    "full": (14000, 0.014, 0.034),
}


def brow_line(identity: Identity, along: Array) -> tuple[Array, Array]:
    """Height and half width of a brow in canonical metres, from the nose (0) to the temple (1)."""
    rng = np.random.default_rng([identity.seed, 93])
    child = float(np.interp(identity.years, [6, 16], [0.62, 1.0]))
    full = identity.brow * child * (1 - 0.25 * ageing(identity.years))
    arch = 0.0042 * rng.uniform(0.4, 1.5) * (0.8 if identity.gender == "male" else 1.15)
    middle = 0.7528 + rng.uniform(-0.002, 0.004) * (along - 0.4) + arch * np.sin(along * np.pi * 0.85)
    half = 0.0040 * full**0.8 * np.interp(along, [0, 0.15, 0.6, 1], [0.85, 1, 0.75, 0.15])
    return middle - 0.014 * np.clip(along - 0.68, 0, 1), half


def brow_shade(identity: Identity, surface: Surface) -> Array:
    """Where the skin lies in the shade of a brow, 0 to 1."""
    along = (np.abs(surface.canonical[:, 0]) - 0.0105) / 0.0425
    middle, half = brow_line(identity, along)
    off = (surface.canonical[:, 2] - middle) / np.maximum(half, 0.0006)
    inside = smoothstep(-0.06, 0.08, along) * smoothstep(1.02, 0.85, along) * (surface.canonical[:, 1] < -0.06)
    return np.asarray(np.exp(-(off**2)) * inside)


def eyebrows(template: Template, identity: Identity, face: Array, normal: Array) -> dict[str, Array]:
    """Strands of the left ('l', the person's own) and right brow; `face` are fine head vertices."""
    rng = np.random.default_rng([identity.seed, 91])
    canonical = template.head.canonical
    y, z = canonical[:, 1], canonical[:, 2]
    index = np.where((y < -0.09) & (z > 0.70) & (z < 0.80))[0]
    tree = cKDTree(canonical[index][:, [0, 2]])
    count = int(420 * (brow_line(identity, np.array([0.2]))[1][0] / 0.004) ** 0.8)
    brows = {}
    for side, sign in (("l", 1), ("r", -1)):
        u = rng.beta(1.15, 1.35, count)
        across = 0.0105 + 0.0425 * u
        middle, half = brow_line(identity, u)
        height = middle + half * np.clip(rng.normal(0, 0.55, count), -1.15, 1.15)
        near = index[tree.query(np.stack([sign * across, height], 1), k=3)[1]]
        root, out = face[near].mean(1), normalise(normal[near].mean(1))
        ahead = index[tree.query(np.stack([sign * (across + 0.006), height], 1))[1]]
        behind = index[tree.query(np.stack([sign * (across - 0.004), height], 1))[1]]
        along = normalise(face[ahead] - face[behind])
        upward = np.cross(out, along) * -sign
        upward = upward * np.sign(upward[:, 2:3] + 1e-9)
        rise = np.interp(u, [0, 0.25, 0.6, 1], [1.4, 0.6, 0.05, -0.3]) + (middle - height) / 0.006 * 0.45
        direction = normalise(along + upward * rise[:, None] + 0.16 * rng.normal(size=(count, 3)))
        length = (0.0088 * rng.uniform(0.5, 1.15, count) * np.interp(u, [0, 0.2, 1], [0.75, 1, 0.7]))[:, None]
        steps = ((0.0, -0.0004), (0.35, 0.0007), (0.7, 0.0010), (1.0, 0.0006))
        brows[side] = np.stack([root + direction * length * share + out * lift for share, lift in steps], 1)
    return brows


def beard_field(surface: Surface, style: str) -> Array:
    """Where a beard of a style grows, 0 to 1."""
    field = surface.fields["beard"]
    x, z = np.abs(surface.canonical[:, 0]), surface.canonical[:, 2]
    lip = smoothstep(0.6735, 0.6765, z)
    if style == "moustache":
        return np.asarray(field * lip)
    if style == "goatee":
        round_mouth = smoothstep(0.036, 0.030, x)
        return np.asarray(field * round_mouth * np.maximum(lip, smoothstep(0.034, 0.026, x)))
    return np.asarray(field)


def beard(template: Template, identity: Identity, face: Array, normal: Array) -> Array:
    """Strands of a beard: they leave the skin, then run down and forward along the jaw."""
    head, (count, shortest, longest) = template.head, BEARDS[identity.beard]
    rng = np.random.default_rng([identity.seed, 92])
    field = beard_field(head, identity.beard) * np.clip(0.85 + 0.4 * head.noise(60, identity.seed + 40), 0.2, 1)
    weight = np.clip(field[head.triangles].min(1) - 0.12, 0, 1)
    chosen, share = scatter(face, head.triangles, weight, count, rng)
    corner = head.triangles[chosen]
    root = (face[corner] * share[..., None]).sum(1)
    out = normalise((normal[corner] * share[..., None]).sum(1))
    place = (head.canonical[corner] * share[..., None]).sum(1)
    chin = np.exp(-((place[:, 0] / 0.03) ** 2)) * smoothstep(0.655, 0.63, place[:, 2])
    edge = (field[corner] * share).sum(1)
    length = rng.uniform(shortest, longest, count) * (0.55 + 0.45 * chin) * np.interp(edge, [0.2, 0.8], [0.55, 1])
    leaders = rng.choice(count, max(count // 14, 30), replace=False)
    lock = cKDTree(root[leaders]).query(root)[1]
    sway = rng.normal(0, 0.32, (len(leaders), 3))[lock] + rng.normal(0, 0.22, (count, 3))
    middle = np.abs(place[:, 0]) < 0.006
    side = np.where(place[:, 2] > 0.6735, np.sign(place[:, 0]) * 0.55 * ~middle, 0.0)
    flow = np.stack([side, np.full(count, -0.18), np.full(count, -1.0)], 1)
    tangent = normalise(flow - out * (flow * out).sum(1, keepdims=True))
    steps, points = 5, [root - out * 0.0004]
    direction = normalise(0.75 * out + 0.6 * tangent + 0.5 * sway)
    for _ in range(steps):
        points.append(points[-1] + direction * (length / steps)[:, None])
        direction = normalise(direction + 0.42 * tangent + np.array([0, 0, -0.16]) + 0.30 * sway)
    return np.stack(points, 1)
