"""Glasses: two rims with lenses, a bridge, and temples that rest on the ears."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from countenance_people.mesh import Array
from countenance_people.shape import Template

POINTS = 41
# Half width and half height in metres, and how square the rim is (2 is an ellipse).
RIMS = {"round": (0.0240, 0.0220, 2.0), "square": (0.0265, 0.0190, 3.6), "oval": (0.0255, 0.0178, 2.3)}


@dataclass
class Glasses:
    """Curves of the frame (count, points, 3) and the two lenses as one mesh, in the head's own frame."""

    frame: Array
    vertices: Array
    triangles: Array


def make_glasses(template: Template, face: Array, eyes: dict[str, Array], rim: str, large: bool = False) -> Glasses:
    """Glasses that fit a face; `eyes` are the eyeball centres, `large` makes sunglasses of them."""
    scale = float(np.linalg.norm(eyes["l"] - eyes["r"])) / 0.0628
    wide, tall, power = RIMS[rim]
    size = scale * (1.16 if large else 1.0)
    angle = np.linspace(0, 2 * np.pi, POINTS)
    x, z = (np.sign(f) * np.abs(f) ** (2 / power) for f in (np.cos(angle), np.sin(angle)))
    x, z = x * wide * size, z * tall * size
    # The frame stands clear of brow, lashes and nose: as far forward as the bridge of the nose needs.
    bridge = face[template.nearest((0, -0.1475, 0.727))]
    front = min(bridge[1] - 0.0005, float(np.mean([centre[1] for centre in eyes.values()])) - 0.0275 * scale)
    curves, meshes = [], []
    for side in ("l", "r"):
        centre = eyes[side]
        across = centre[0] * 1.03 + x
        depth = front + 0.085 * np.abs(across) + 0.9 * np.clip(np.abs(across) - 0.045 * scale, 0, 1) ** 1.5
        rim_line = np.stack([across, depth, centre[2] - 0.0025 * scale + z], 1)
        curves.append(rim_line)
        middle = rim_line[:-1].mean(0) - np.array([0, 0.0022 * scale, 0])
        rings = [middle + (rim_line[:-1] - middle) * share for share in (0.33, 0.66, 1.0)]
        rings = [
            ring - np.array([0, 0.0022 * scale * (1 - share**2), 0])
            for ring, share in zip(rings, (0.33, 0.66, 1.0), strict=True)
        ]
        meshes.append(np.concatenate([middle[None] - np.array([0, 0.0022 * scale, 0]), *rings]))
    ear = face[template.nearest((0.0855, -0.02, 0.738))]
    share = np.linspace(0, 1, POINTS)[:, None]
    for line, sign in ((curves[0], 1), (curves[1], -1)):
        start = line[np.argmax(line[:, 0] * sign)] + np.array([0, 0.001, 0.004 * scale])
        end = np.array([sign * (abs(ear[0]) + 0.002), ear[1] + 0.012, ear[2] + 0.003])
        curves.append(start * (1 - share) + end * share + np.array([sign * 0.004, 0, 0]) * np.sin(share * np.pi))
    left, right = curves[0][(POINTS - 1) // 2], curves[1][0]
    left, right = (min(curve, key=lambda p: abs(p[0]) - 0.5 * p[2]) for curve in curves[:2])
    middle = (left + right) / 2 + np.array([0, -0.0035, 0.006]) * scale
    curves.append((1 - share) ** 2 * left + 2 * share * (1 - share) * middle + share**2 * right)
    return Glasses(np.array(curves), np.concatenate(meshes), _lens_triangles())


def _lens_triangles() -> Array:
    count = POINTS - 1
    k = np.arange(count)
    following = (k + 1) % count
    triangles = [np.stack([np.zeros(count, int), 1 + k, 1 + following], 1)]
    for ring in range(2):
        a, b = 1 + ring * count, 1 + (ring + 1) * count
        triangles += [np.stack([a + k, b + k, b + following], 1), np.stack([a + k, b + following, a + following], 1)]
    lens = np.concatenate(triangles)
    return np.concatenate([lens, lens + 1 + 3 * count])
