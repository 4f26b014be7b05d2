"""Mesh maths of the renderer: subdivision, clipping, normals, noise, colour. Pure numpy and scipy.

Units are metres, z points up, a face looks along -y, and the person's left is +x.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

Array = npt.NDArray[Any]


def srgb_to_linear(value: Any) -> Array:
    """Decode sRGB (0..1) into linear light."""
    value = np.asarray(value, float)
    return np.asarray(np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4))


def linear_to_srgb(value: Any) -> Array:
    """Encode linear light into sRGB (0..1); negative light is black."""
    value = np.clip(np.asarray(value, float), 0, None)
    return np.asarray(np.where(value <= 0.0031308, value * 12.92, 1.055 * np.power(value, 1 / 2.4) - 0.055))


def hex_to_linear(code: str) -> Array:
    """A colour such as '#a07e56' in linear light."""
    return srgb_to_linear(np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255)


def smoothstep(low: float, high: float, x: Any) -> Array:
    """0 at `low`, 1 at `high`, smooth between; `low` may exceed `high` for a falling step."""
    t = np.clip((np.asarray(x, float) - low) / (high - low), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))


def normalise(vectors: Array) -> Array:
    """Unit vectors; the zero vector stays zero."""
    return np.asarray(vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-12))


def transform(matrix: Array, points: Array) -> Array:
    """Apply a 4x4 rigid matrix to points of shape (..., 3)."""
    return np.asarray(points @ matrix[:3, :3].T + matrix[:3, 3])


def noise(points: Array, frequency: float, seed: int, waves: int = 24) -> Array:
    """Smooth noise of about -1..1 with a wavelength near 1/frequency: a sum of random plane waves."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(waves, 3))
    scale = frequency * 2 * np.pi * rng.uniform(0.6, 1.4, (waves, 1))
    direction *= scale / np.linalg.norm(direction, axis=1, keepdims=True)
    phase = rng.uniform(0, 2 * np.pi, waves)
    return np.asarray(np.cos((points @ direction.T + phase).astype(np.float32)).sum(1) / math.sqrt(waves / 2) / 1.8)


class NoiseBank:
    """Noise on fixed points for many seeds: each mixes a few cached fields, so no cosine is spent twice."""

    FIELDS = 4

    def __init__(self, points: Array) -> None:
        self._points = points
        self._cache: dict[float, Array] = {}

    def __call__(self, frequency: float, seed: int) -> Array:
        if frequency not in self._cache:
            fields = [noise(self._points, frequency, 7919 + k) for k in range(self.FIELDS)]
            self._cache[frequency] = np.stack(fields).astype(np.float32)
        weights = normalise(np.random.default_rng([seed, int(frequency * 10)]).normal(size=self.FIELDS))
        return np.asarray(weights.astype(np.float32) @ self._cache[frequency], float)


def catmull_clark(quads: Array, vertices: int) -> tuple[sparse.csr_matrix, Array]:
    """One Catmull-Clark step as a sparse operator (new x old vertices) and the new quads; borders are corners_inside.

    Every person shares the topology, so subdividing a person is one matrix product.
    """
    faces = len(quads)
    edges = np.sort(np.stack([quads, np.roll(quads, -1, 1)], -1).reshape(-1, 2), 1)
    unique, inverse, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    n_edges = len(unique)
    border = count == 1
    face_of_corner = np.repeat(np.arange(faces), 4)
    edge_of_end = np.repeat(np.arange(n_edges), 2)
    face_point = sparse.csr_matrix((np.full(faces * 4, 0.25), (face_of_corner, quads.ravel())), (faces, vertices))
    middle = sparse.csr_matrix((np.full(2 * n_edges, 0.5), (edge_of_end, unique.ravel())), (n_edges, vertices))
    beside = sparse.csr_matrix((np.full(len(inverse), 0.5), (inverse, face_of_corner)), (n_edges, faces))
    edge_point = (
        sparse.diags(np.where(border, 1.0, 0.5)) @ middle
        + sparse.diags(np.where(border, 0.0, 0.5)) @ beside @ face_point
    )
    used = np.zeros(vertices, bool)
    used[quads.ravel()] = True
    face_count = np.maximum(np.bincount(quads.ravel(), minlength=vertices), 1).astype(float)
    valence = np.maximum(np.bincount(unique.ravel(), minlength=vertices), 1).astype(float)
    on_border = np.zeros(vertices, bool)
    on_border[unique[border].ravel()] = True
    identity = sparse.identity(vertices)
    ones_face = sparse.csr_matrix((np.ones(faces * 4), (quads.ravel(), face_of_corner)), (vertices, faces))
    ones_edge = sparse.csr_matrix((np.ones(2 * n_edges), (unique.ravel(), edge_of_end)), (vertices, n_edges))
    mean_face = sparse.diags(1 / face_count) @ ones_face @ face_point
    mean_edge = sparse.diags(1 / valence) @ ones_edge @ middle
    inner = (
        sparse.diags(1 / valence) @ mean_face
        + sparse.diags(2 / valence) @ mean_edge
        + sparse.diags((valence - 3) / valence) @ identity
    )
    rim = unique[border]
    rim_count = np.maximum(np.bincount(rim.ravel(), minlength=vertices), 1)
    rim_ends = (np.r_[rim[:, 0], rim[:, 1]], np.r_[rim[:, 1], rim[:, 0]])
    neighbours = sparse.csr_matrix((np.ones(2 * len(rim)), rim_ends), (vertices, vertices))
    outer = 0.75 * identity + 0.25 * sparse.diags(1 / rim_count) @ neighbours

    def only(mask: Array) -> sparse.dia_matrix:
        return sparse.diags(mask.astype(float))

    vertex_point = only(used & ~on_border) @ inner + only(used & on_border) @ outer + only(~used) @ identity
    edge_index = inverse.reshape(faces, 4) + vertices
    centre = np.arange(faces) + vertices + n_edges
    corners = [np.stack([quads[:, i], edge_index[:, i], centre, edge_index[:, (i + 3) % 4]], -1) for i in range(4)]
    return sparse.vstack([vertex_point, edge_point, face_point]).tocsr(), np.stack(corners, 1).reshape(-1, 4)


def compact(operator: sparse.csr_matrix, quads: Array) -> tuple[sparse.csr_matrix, Array]:
    """Drop the operator's rows that no quad uses."""
    used, inverse = np.unique(quads.ravel(), return_inverse=True)
    return operator[used], inverse.reshape(quads.shape)


def triangulate(quads: Array) -> Array:
    """Two triangles per quad; a quad that repeats a corner gives one."""
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    a, b, c = triangles.T
    return np.asarray(triangles[(a != b) & (b != c) & (a != c)])


def vertex_normals(vertices: Array, triangles: Array) -> Array:
    """Area-weighted unit normals."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    face = np.cross(b - a, c - a)
    total = np.zeros_like(vertices)
    for corner in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(triangles[:, corner], face[:, axis], len(vertices))
    return normalise(total)


def split(triangles: Array, chosen: Array, attributes: list[Array]) -> tuple[Array, list[Array]]:
    """Split the chosen triangles in four at their edge middles.

    Middles lie on the straight edges, so an unsplit neighbour leaves no visible gap.
    """
    picked = triangles[chosen]
    count = len(attributes[0])
    edges = np.sort(picked[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), 1)
    unique, inverse = np.unique(edges, axis=0, return_inverse=True)
    middle = inverse.reshape(-1, 3) + count
    a, b, c = picked.T
    ab, bc, ca = middle.T
    fresh = [np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
    grown = [np.concatenate([x, x[unique].mean(1)]) for x in attributes]
    return np.concatenate([triangles[~chosen], *fresh]), grown


def refine(
    operator: sparse.csr_matrix, triangles: Array, points: Array, longest: Array
) -> tuple[sparse.csr_matrix, Array]:
    """Split the triangles that have an edge over `longest` (per triangle) in four; new vertices are edge middles."""
    edge = np.stack([np.linalg.norm(points[triangles[:, i]] - points[triangles[:, i - 1]], axis=1) for i in range(3)])
    chosen = edge.max(0) > longest
    picked = triangles[chosen]
    edges = np.sort(picked[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), 1)
    unique, inverse = np.unique(edges, axis=0, return_inverse=True)
    middle = sparse.csr_matrix(
        (np.full(unique.size, 0.5), (np.repeat(np.arange(len(unique)), 2), unique.ravel())), (len(unique), len(points))
    )
    ab, bc, ca = inverse.reshape(-1, 3).T + len(points)
    a, b, c = picked.T
    fresh = [np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
    return sparse.vstack([operator, middle @ operator]).tocsr(), np.concatenate([triangles[~chosen], *fresh])


def clip(triangles: Array, field: Array, attributes: list[Array]) -> tuple[Array, list[Array]]:
    """Keep where the vertex field is >= 0, cutting triangles along its zero line and interpolating attributes.

    Selecting whole faces instead would leave saw-teeth on every hem.
    """
    inside = field[triangles] >= 0
    corners_inside = inside.sum(1)
    result = [triangles[corners_inside == 3]]
    pairs: list[Array] = []
    base = len(field)

    def cut(start: Array, end: Array) -> Array:
        pairs.append(np.sort(np.stack([start, end], 1), 1))
        first = base + sum(len(p) for p in pairs[:-1])
        return np.arange(first, first + len(start))

    rows = np.arange
    single, inside_single = triangles[corners_inside == 1], inside[corners_inside == 1]
    if len(single):
        i = inside_single.argmax(1)
        a, b, c = (single[rows(len(single)), (i + k) % 3] for k in range(3))
        result.append(np.stack([a, cut(a, b), cut(a, c)], 1))
    two, inside_two = triangles[corners_inside == 2], inside[corners_inside == 2]
    if len(two):
        i = (~inside_two).argmax(1)
        a, b, c = (two[rows(len(two)), (i + k) % 3] for k in range(3))
        p, q = cut(b, a), cut(c, a)
        result += [np.stack([p, b, c], 1), np.stack([p, c, q], 1)]
    merged = np.concatenate(result)
    if pairs:
        ends, inverse = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
        merged = np.where(merged >= base, inverse.reshape(-1)[np.maximum(merged - base, 0)] + base, merged)
        low, high = field[ends[:, 0]], field[ends[:, 1]]
        weight = (low / (low - high))[:, None]
        attributes = [np.concatenate([x, x[ends[:, 0]] * (1 - weight) + x[ends[:, 1]] * weight]) for x in attributes]
    used, index = np.unique(merged.ravel(), return_inverse=True)
    return index.reshape(-1, 3), [x[used] for x in attributes]


def scatter(
    vertices: Array, triangles: Array, weight: Array, count: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """`count` random points on a mesh by weighted area: triangle numbers and barycentric coordinates."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) * weight
    chosen = rng.choice(len(triangles), count, p=area / area.sum())
    u, v = np.sqrt(rng.random(count)), rng.random(count)
    return chosen, np.stack([1 - u, u * (1 - v), u * v], 1)


def fit_sphere(points: Array) -> tuple[Array, float]:
    """Least-squares sphere through points: centre and radius."""
    system = np.c_[2 * points, np.ones(len(points))]
    solution = np.linalg.lstsq(system, (points**2).sum(1), rcond=None)[0]
    centre = solution[:3]
    return centre, math.sqrt(solution[3] + centre @ centre)
