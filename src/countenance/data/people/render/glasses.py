"""Glasses: two rims, a bridge and temples that rest on the ears."""

from __future__ import annotations

import numpy as np

from countenance.data.people.render.mesh import Array
from countenance.data.people.render.shape import Template

POINTS = 33


def glasses_frame(template: Template, face: Array, eyes: dict[str, Array], kind: str) -> Array:
    """Curves (count, points, 3) in the head's own frame; `eyes` are the eyeball centres there."""
    scale = np.linalg.norm(eyes["l"] - eyes["r"]) / 0.0628
    angle = np.linspace(0, 2 * np.pi, POINTS)
    power = 2 / (3.2 if kind == "square" else 2.0)
    width, height = (0.0275 * scale, 0.0205 * scale) if kind == "square" else (0.0250 * scale, 0.0235 * scale)
    x = np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** power * width
    z = np.sign(np.sin(angle)) * np.abs(np.sin(angle)) ** power * height
    curves = []
    for side in ("l", "r"):
        centre = eyes[side]
        across = centre[0] * 1.05 + x
        # Rims bend round the face, and stand clear of the brow and the lashes.
        depth = centre[1] - 0.0315 * scale + 0.10 * np.abs(across)
        curves.append(np.stack([across, depth, centre[2] - 0.003 * scale + z], 1))
    ear = face[template.nearest((0.0855, -0.02, 0.738))]
    share = np.linspace(0, 1, POINTS)[:, None]
    for rim, sign in ((curves[0], 1), (curves[1], -1)):
        start = rim[np.argmax(rim[:, 0] * sign)] + np.array([0, 0, 0.006])
        end = np.array([sign * (abs(ear[0]) + 0.001), ear[1] + 0.006, ear[2] + 0.002])
        curves.append(start * (1 - share) + end * share + np.array([sign * 0.003, 0, 0]) * np.sin(share * np.pi))
    left, right = curves[0][16], curves[1][0]
    middle = (left + right) / 2 + np.array([0, -0.003, 0.005])
    curves.append((1 - share) ** 2 * left + 2 * share * (1 - share) * middle + share**2 * right)
    return np.array(curves)
