"""Surgical mask: a pleated cloth over nose and chin, with loops that run to the ears."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter, maximum_filter
from scipy.spatial import cKDTree

from countenance_people.mesh import Array, normalise, triangulate, vertex_normals
from countenance_people.shape import CHIN, EAR, Template

COLUMNS, ROWS = 61, 41


def surgical_mask(template: Template, face: Array) -> tuple[Array, Array, Array]:
    """Vertices, triangles and ear loops; `face` are fine head vertices in the head's frame, with expression."""

    def at(point: tuple[float, float, float]) -> Array:
        return np.asarray(face[template.nearest(point)])

    bridge, chin = at((0, -0.150, 0.7195)), at(CHIN)
    cheek, jaw = at((0.066, -0.075, 0.695)), at((0.052, -0.075, 0.632))
    axis = cheek[1] + 0.03
    radius = np.hypot(face[:, 0], face[:, 1] - axis)
    azimuth = np.arctan2(face[:, 0], -(face[:, 1] - axis))
    widest = float(np.arctan2(cheek[0], -(cheek[1] - axis)))
    fields = template.head.fields
    usable = (np.abs(azimuth) < widest * 1.25) & (face[:, 2] > chin[2] - 0.03) & (face[:, 2] < bridge[2] + 0.02)
    usable &= (fields["ear"] < 0.3) & (fields["mouth"] < 0.3)
    tree = cKDTree(np.c_[azimuth[usable] * 0.07, face[usable, 2]])
    across, up = np.meshgrid(np.linspace(-1, 1, COLUMNS), np.linspace(0, 1, ROWS), indexing="ij")
    top = bridge[2] + (cheek[2] - bridge[2] + 0.004) * np.abs(across) ** 1.5
    bottom = chin[2] - 0.005 + (jaw[2] + 0.012 - chin[2]) * np.abs(across) ** 2.2
    height, angle = bottom + (top - bottom) * up, across * widest
    # The cloth touches the farthest point nearby, so it spans hollows instead of following them.
    query = np.c_[angle.ravel() * 0.07, height.ravel()]
    distance, index = tree.query(query, k=48, distance_upper_bound=0.0065)
    outer = np.append(radius[usable], -np.inf)[np.minimum(index, usable.sum())]
    outer[~np.isfinite(distance)] = -np.inf
    reach = outer.max(1).reshape(height.shape)
    for column in reach:
        empty = ~np.isfinite(column)
        if empty.any() and not empty.all():
            column[empty] = np.interp(np.where(empty)[0], np.where(~empty)[0], column[~empty])
    reach = np.where(np.isfinite(reach), reach, reach[np.isfinite(reach)].mean())
    out = np.maximum(gaussian_filter(reach, (2.0, 2.7), mode="nearest"), gaussian_filter(reach, 1.0, mode="nearest"))
    # Hold the cloth off the hollow between lip and chin.
    hold = np.interp(up, [0, 0.12, 0.45, 0.8, 1], [0, 0.985, 0.99, 0.97, 0])
    out = np.maximum(out, hold * gaussian_filter(reach.max(1), 2.5)[:, None] * (1 - 0.12 * np.abs(across)))
    pleats = sum(np.exp(-(((up - place) / 0.02) ** 2)) for place in (0.33, 0.5, 0.67))
    out = gaussian_filter(out, (1.3, 1.9), mode="nearest") + 0.003 - 0.0018 * pleats * (1 - np.abs(across) ** 6)
    # Smoothing must not let the tip of the nose through.
    nose = gaussian_filter(maximum_filter(reach, 3, mode="nearest"), 0.8, mode="nearest") + 0.0025
    out = out + np.exp(-((across / 0.3) ** 4)) * np.clip(nose - out, 0, None)
    out = gaussian_filter(out, 0.5, mode="nearest")
    # A sewn border, and the nose wire near the top.
    out = (
        out + 0.0006 * (np.abs(across) > 0.94) + 0.0008 * np.exp(-(((up - 0.955) / 0.02) ** 2)) * (np.abs(across) < 0.4)
    )
    grid = np.stack([out * np.sin(angle), axis - out * np.cos(angle), height], -1)
    i, j = np.arange(COLUMNS - 1)[:, None], np.arange(ROWS - 1)[None]
    first = i * ROWS + j
    quads = np.stack([first, first + ROWS, first + ROWS + 1, first + 1], -1).reshape(-1, 4)
    return grid.reshape(-1, 3), triangulate(quads), _ear_loops(template, face, grid)


def _ear_loops(template: Template, face: Array, grid: Array) -> Array:
    """Four cords from the mask's corners along the cheek to the roots of the ears, hidden behind them."""
    skin = template.head.fields["ear"] < 0.25
    points = face[skin]
    normals = vertex_normals(face, template.head.triangles)[skin]
    tree = cKDTree(points)
    ear = face[template.nearest(EAR)]
    share = np.linspace(0, 1, 12)[:, None]
    loops = []
    for column in (0, COLUMNS - 1):
        sign = np.sign(grid[column, 0, 0])
        root = ear * np.array([sign * 0.94, 1, 1])
        for row, rise in ((ROWS - 2, 0.026), (1, -0.022)):
            start, end = grid[column, row], root + np.array([0, 0.010, rise])
            line = start * (1 - share) + end * share
            near = tree.query(line)[1]
            out = normalise(normals[near])
            height = ((line - points[near]) * out).sum(1, keepdims=True)
            # Rest on the skin (2 mm for the cord); the ends stay where they are tied.
            lift = np.clip(0.002 - height, 0, 0.02) - np.clip(height - 0.004, 0, None) * 0.6
            line[1:] = (line + out * lift)[1:]
            loops.append(line)
    return np.array(loops)
