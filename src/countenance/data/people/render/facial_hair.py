"""Eyebrows and beard: strands rooted on the posed face, so that expressions move them."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from countenance.data.people.render.mesh import Array, normalise, scatter
from countenance.data.people.render.sampling import Identity
from countenance.data.people.render.shape import Template


def eyebrows(template: Template, identity: Identity, face: Array, normal: Array) -> dict[str, Array]:
    """Strands of the left ('l', the person's own) and right brow; `face` are fine head vertices."""
    child, male = identity.years < 16, identity.gender == "male"
    share, thick = (0.7, 0.65) if child else (1.25, 1.15) if male else (0.9, 0.8)
    rng = np.random.default_rng([identity.seed, 91])
    share, thick = share * rng.uniform(0.85, 1.15), thick * rng.uniform(0.85, 1.2)
    arch = 0.0075 * rng.uniform(0.6, 1.25)
    canonical = template.head.canonical
    y, z = canonical[:, 1], canonical[:, 2]
    index = np.where((y < -0.09) & (z > 0.70) & (z < 0.80))[0]
    tree = cKDTree(canonical[index][:, [0, 2]])
    count = int(230 * share)
    brows = {}
    for side, sign in (("l", 1), ("r", -1)):
        u = rng.random(count)
        across = 0.0115 + 0.0415 * u
        middle = 0.7510 + arch * np.sin(u * np.pi * 0.80) - 0.012 * np.clip(u - 0.72, 0, 1)
        half = 0.0042 * thick * np.interp(u, [0, 0.15, 0.6, 1], [0.75, 1, 0.85, 0.2])
        height = middle + half * rng.uniform(-1, 1, count)
        near = index[tree.query(np.stack([sign * across, height], 1), k=3)[1]]
        root, out = face[near].mean(1), normalise(normal[near].mean(1))
        ahead = index[tree.query(np.stack([sign * (across + 0.006), height], 1))[1]]
        behind = index[tree.query(np.stack([sign * (across - 0.004), height], 1))[1]]
        along = normalise(face[ahead] - face[behind])
        upward = np.cross(out, along) * -sign
        upward = upward * np.sign(upward[:, 2:3] + 1e-9)
        rise = np.interp(u, [0, 0.25, 0.6, 1], [1.2, 0.5, 0.0, -0.3]) + (middle - height) / 0.006 * 0.4
        direction = normalise(along + upward * rise[:, None] + 0.15 * rng.normal(size=(count, 3)))
        length = (0.0085 * rng.uniform(0.6, 1.1, count) * np.interp(u, [0, 0.2, 1], [0.8, 1, 0.7]))[:, None]
        brows[side] = np.stack(
            [
                root - out * 0.0005,
                root + direction * length * 0.35 + out * 0.0009,
                root + direction * length * 0.7 + out * 0.0012,
                root + direction * length + out * 0.0007,
            ],
            1,
        )
    return brows


def beard(template: Template, identity: Identity, face: Array, normal: Array) -> Array:
    """Strands of a beard with moustache."""
    head = template.head
    rng = np.random.default_rng([identity.seed, 92])
    count = int(9000 * min(1.0, identity.beard * 1.5))
    weight = np.clip(head.fields["beard"][head.triangles].min(1) - 0.25, 0, 1)
    chosen, share = scatter(face, head.triangles, weight, count, rng)
    corner = head.triangles[chosen]
    root = (face[corner] * share[..., None]).sum(1)
    out = normalise((normal[corner] * share[..., None]).sum(1))
    length = ((0.006 + 0.013 * identity.beard) * rng.uniform(0.5, 1.1, count))[:, None]
    first = normalise(out * 0.5 + np.array([0, -0.1, -1.0]) + 0.3 * rng.normal(size=(count, 3)))
    second = normalise(first + 0.4 * rng.normal(size=(count, 3)) + np.array([0, 0, -0.4]))
    bend = root + first * length * 0.7
    return np.stack([root, root + first * length * 0.4, bend + second * length * 0.1, bend + second * length * 0.4], 1)
