"""Clothes: shells around the body cut along canonical lines; patterns as small bitmaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sparse
from scipy.spatial import ConvexHull

from countenance_people.mesh import Array, clip, noise, smoothstep, split, vertex_normals
from countenance_people.shape import Template
from countenance_people.spec import Person

SLEEVE = {"short": 0.275, "long": 0.485}
FOREARM, WRIST = np.array([0.624, -0.540, -0.564]), 0.330
"""Direction of the left forearm, and how far along it the hand begins: thumbs reach back beside the sleeve's end."""
_averages: dict[int, sparse.csr_matrix] = {}
_drapes: dict[tuple[int, int], Array] = {}

Garment = tuple[Array, Array, Array, Array]  # vertices, triangles, normals, canonical points


def neck_height(canonical: Array, style: str) -> Array:
    """Height of the neckline above each canonical point."""
    x, y = np.abs(canonical[:, 0]), canonical[:, 1]
    z = np.interp(y, [-0.12, -0.07, 0.0, 0.06], [0.540, 0.545, 0.575, 0.592])
    if style == "v":
        z = z - 0.085 * np.clip(1 - x / 0.055, 0, 1) * smoothstep(-0.01, -0.05, y)
    elif style == "scoop":
        z = z - 0.045 * np.exp(-((x / 0.065) ** 2)) * smoothstep(0.0, -0.06, y) - 0.008
    elif style == "turtle":
        z = z + 0.040
    elif style == "collar":
        z = z + 0.012 - 0.055 * np.clip(1 - x / 0.022, 0, 1) * smoothstep(-0.02, -0.05, y)
    return np.asarray(z)


def neck_field(canonical: Array, style: str) -> Array:
    return np.asarray(neck_height(canonical, style) - canonical[:, 2])


def sleeve_field(canonical: Array, length: str) -> Array:
    """Positive inside the end of the sleeves, and never on a hand."""
    across = np.abs(canonical[:, 0])
    along = np.column_stack([across, canonical[:, 1:]]) @ FOREARM
    return np.asarray(np.minimum(SLEEVE[length] - across, WRIST - along))


def shirt_field(canonical: Array, person: Person) -> Array:
    """Positive where the shirt covers, roughly in metres."""
    sleeve = sleeve_field(canonical, person.sleeve)
    return np.minimum(np.minimum(neck_field(canonical, person.neckline), sleeve), canonical[:, 2] + 0.09)


def trouser_field(canonical: Array) -> Array:
    x, z = np.abs(canonical[:, 0]), canonical[:, 2]
    return np.minimum(np.minimum(-0.065 - z, 0.33 - x), z + 0.905)


def shoe_field(canonical: Array) -> Array:
    return np.asarray(-0.895 - canonical[:, 2])


def _average(template: Template) -> sparse.csr_matrix:
    """Mean of each vertex's neighbours on the body mesh."""
    key = id(template)
    if key not in _averages:
        triangles, count = template.body.triangles, len(template.body.canonical)
        edges = np.concatenate([triangles[:, pair] for pair in ([0, 1], [1, 2], [2, 0])])
        ends = (np.r_[edges[:, 0], edges[:, 1]], np.r_[edges[:, 1], edges[:, 0]])
        matrix = sparse.csr_matrix((np.ones(2 * len(edges)), ends), (count, count))
        matrix.data[:] = 1
        degree = np.maximum(np.asarray(matrix.sum(1)).ravel(), 1)
        _averages[key] = (sparse.diags(1 / degree) @ matrix).tocsr()
    return _averages[key]


def shell(template: Template, skin: Array, keep: Array, gap: Array, rounds: int, folds: float, seed: int) -> Array:
    """The body pushed out by `gap`, relaxed like cloth until it spans hollows, never nearer to the skin."""
    triangles, waves = template.body.triangles, template.body.noise
    normal = vertex_normals(skin, triangles)
    average = _average(template)
    cloth = skin + normal * (gap * 1.3)[:, None]
    for _ in range(rounds):
        cloth = np.where(keep[:, None], 0.5 * cloth + 0.5 * (average @ cloth), cloth)
        distance = ((cloth - skin) * normal).sum(1)
        cloth = cloth + normal * np.clip(gap - distance, 0, None)[:, None]
    wave = np.clip(waves(16, seed) + 0.3 * waves(40, seed + 1), -0.8, 1.5)
    return np.asarray(cloth + normal * (folds * (wave + drape(template, seed)))[:, None])


def drape(template: Template, seed: int) -> Array:
    """Folds that hang from the shoulders and pull at the armpits, about -1..2."""
    key = (id(template), seed)
    if key not in _drapes:
        x, y, z = template.body.canonical.T
        around = np.stack([x * 3.2, y * 3.2, z * 0.55], 1)
        hanging = noise(around, 14, seed + 2) + 0.5 * noise(around, 30, seed + 3)
        low = smoothstep(0.52, 0.36, z) * smoothstep(0.24, 0.16, np.abs(x))
        slant = np.stack([(np.abs(x) + z) * 3.0, (np.abs(x) - z) * 0.5, y * 1.5], 1)
        pit = np.exp(-(((np.abs(x) - 0.165) / 0.05) ** 2) - ((z - 0.42) / 0.07) ** 2)
        sleeve = smoothstep(0.17, 0.21, np.abs(x)) * noise(np.stack([x * 0.9, y * 2, z * 2], 1), 26, seed + 5)
        _drapes.clear()
        _drapes[key] = 1.6 * low * np.clip(hanging, -0.6, 2) + 2.0 * pit * noise(slant, 18, seed + 4) + 0.8 * sleeve
    return _drapes[key]


def cut(
    template: Template, cloth: Array, field: Array, refine: list[float], make_field: Callable[[Array], Array]
) -> Garment:
    """Cut a shell where the field falls below 0; triangles near the line are split first, for smooth hems."""
    triangles, canonical = template.body.triangles, template.body.canonical
    near = (field[triangles] > -0.03).any(1)
    triangles = triangles[near]
    vertices = cloth
    for band in refine:
        close = np.asarray((np.abs(field[triangles]) < band).any(1))
        triangles, [vertices, canonical] = split(triangles, close, [vertices, canonical])
        field = make_field(canonical)
    triangles, [vertices, canonical] = clip(triangles, field, [vertices, canonical])
    return vertices, triangles, vertex_normals(vertices, triangles), canonical


def shirt_and_collar(template: Template, person: Person, skin: Array) -> tuple[Garment, Garment]:
    """The shirt, and the band that finishes its neckline."""
    canonical, seed, full = template.body.canonical, person.identity.seed + 50, person.full_body
    field = shirt_field(canonical, person)
    # Loose below the chest and along the sleeves, close at the neck.
    loose = smoothstep(0.42, 0.10, canonical[:, 2]) + 0.5 * smoothstep(0.16, 0.26, np.abs(canonical[:, 0]))
    cuff = smoothstep(0.0, 0.07, sleeve_field(canonical, person.sleeve)) if person.sleeve == "long" else 1.0
    gap = 0.005 + (0.011 if full else 0.004) * np.clip(loose, 0, 1) * cuff
    rounds = 45 if full else 18
    cloth = shell(template, skin, field > -0.01, gap, rounds, 0.0014 if full else 0.0018, seed)
    shirt = cut(template, cloth, field, [0.025, 0.012], lambda c: shirt_field(c, person))
    band = shell(template, skin, field > -0.03, gap + 0.0025, rounds, 0.0018, seed)
    width = 0.030 if person.neckline == "turtle" else 0.011

    def collar(points: Array) -> Array:
        # The neckline's field falls at about its slope per metre of cloth; .8 is that slope on the chest.
        return np.minimum(shirt_field(points, person), width * 0.8 - neck_field(points, person.neckline))

    return shirt, cut(template, band, collar(canonical), [0.03, 0.02, 0.008], collar)


def flaps(template: Template, person: Person, skin: Array) -> Garment:
    """The two flaps of a shirt's collar, folded over its band."""
    canonical, seed = template.body.canonical, person.identity.seed + 50

    def field(points: Array) -> Array:
        x, y = np.abs(points[:, 0]), points[:, 1]
        depth = neck_field(points, "collar") + 0.010
        tip = 0.026 * np.exp(-(((x - 0.034) / 0.020) ** 2)) * smoothstep(-0.01, -0.05, y)
        open_front = np.where(y < -0.02, x - 0.004 - 0.42 * depth, 0.05)
        return np.asarray(np.minimum(np.minimum(depth, 0.030 + tip - depth), np.minimum(open_front, 0.082 - x)))

    cloth = shell(template, skin, field(canonical) > -0.04, np.full(len(canonical), 0.0125), 30, 0.0, seed)
    return cut(template, cloth, field(canonical), [0.03, 0.02, 0.008], field)


def jacket_field(canonical: Array) -> Array:
    """Positive where an open jacket covers."""
    x, y, z = np.abs(canonical[:, 0]), canonical[:, 1], canonical[:, 2]
    neck = neck_height(canonical, "crew") + 0.004 - z
    opening = np.where(y < -0.01, x - 0.016 - 0.30 * np.clip(z - 0.20, 0, 1), 0.05)
    return np.asarray(np.minimum(np.minimum(neck, opening), np.minimum(sleeve_field(canonical, "long"), z + 0.11)))


def lapel_field(canonical: Array) -> Array:
    """Positive on the folded-back edge of a jacket."""
    x, z = np.abs(canonical[:, 0]), canonical[:, 2]
    edge = x - 0.016 - 0.30 * np.clip(z - 0.20, 0, 1)
    width = 0.050 * smoothstep(0.22, 0.40, z) * (1 - 0.35 * ((z > 0.505) & (z < 0.520)))
    front = np.where(canonical[:, 1] < 0.01, width - edge, 0.034 - neck_field(canonical, "crew"))
    return np.asarray(np.minimum(jacket_field(canonical), front))


def jacket(template: Template, person: Person, skin: Array) -> tuple[Garment, Garment]:
    """A jacket and its lapels, over the shirt."""
    canonical, seed = template.body.canonical, person.identity.seed + 55
    field = jacket_field(canonical)
    gap = np.full(len(canonical), 0.016)
    outer = shell(template, skin, field > -0.04, gap, 40, 0.0022, seed)
    fold = shell(template, skin, field > -0.04, gap + 0.005, 40, 0.0022, seed)
    body = cut(template, outer, field, [0.03, 0.012], jacket_field)
    return body, cut(template, fold, lapel_field(canonical), [0.03, 0.012], lapel_field)


def roll(template: Template, person: Person, skin: Array) -> Garment:
    """The hood of a pullover that lies on the shoulders."""
    canonical, seed = template.body.canonical, person.identity.seed + 57

    def field(points: Array) -> Array:
        depth = neck_field(points, "crew") + 0.016
        behind = smoothstep(-0.07, 0.05, points[:, 1])
        return np.asarray(np.minimum(np.minimum(depth, 0.024 + 0.070 * behind - depth), 0.118 - np.abs(points[:, 0])))

    inside = np.clip(field(canonical) / 0.02, 0, 1)
    gap = 0.008 + (0.012 + 0.016 * smoothstep(-0.06, 0.05, canonical[:, 1])) * np.sqrt(inside)
    cloth = shell(template, skin, field(canonical) > -0.02, gap, 12, 0.003, seed)
    return cut(template, cloth, field(canonical), [0.03, 0.012], field)


def trousers_and_shoes(
    template: Template, person: Person, skin: Array
) -> tuple[Garment, list[tuple[Array, Array, Array]]]:
    """Trousers, and per foot an ankle shell with the inflated hull of the foot, which hides the toes."""
    canonical, seed = template.body.canonical, person.identity.seed + 60
    field = trouser_field(canonical)
    # Wider towards the foot, narrow at the waist where the shirt hangs over.
    wide = smoothstep(-0.15, -0.55, canonical[:, 2])
    cloth = shell(template, skin, field > -0.03, 0.004 + 0.012 * wide, 30, 0.003, seed)
    trousers = cut(template, cloth, field, [0.02], trouser_field)

    def ankle(points: Array) -> Array:
        return np.minimum(np.minimum(shoe_field(points), points[:, 2] + 0.955), 0.10 + points[:, 1])

    boot = shell(template, skin, ankle(canonical) > -0.03, np.full(len(canonical), 0.004), 40, 0.0, seed)
    shoes = [cut(template, boot, ankle(canonical), [0.02], ankle)[:3]]
    for sign in (1, -1):
        foot = skin[(canonical[:, 2] < -0.925) & (canonical[:, 0] * sign > 0)]
        middle = foot.mean(0)
        foot = middle + (foot - middle) * np.array([1.16, 1.06, 1.14])
        used, index = np.unique(ConvexHull(foot).simplices.ravel(), return_inverse=True)
        triangles, vertices = index.reshape(-1, 3), foot[used]
        a, b, c = (vertices[triangles[:, i]] for i in range(3))
        inward = (((a + b + c) / 3 - middle) * np.cross(b - a, c - a)).sum(1) < 0
        triangles[inward] = triangles[inward][:, ::-1]
        shoes.append((vertices, triangles, vertex_normals(vertices, triangles)))
    return trousers, shoes


def pattern(kind: str, first: Array, second: Array, seed: int, size: int = 128) -> Array:
    """A repeating bitmap in linear light."""
    y, x = np.mgrid[0:size, 0:size] / size
    if kind == "stripes":
        weight = (y % 0.5 < 0.22).astype(float)
    elif kind == "check":
        weight = 0.5 * (x % 0.5 < 0.22) + 0.5 * (y % 0.5 < 0.22)
    elif kind == "dots":
        weight = (((x % 0.5 - 0.25) ** 2 + (y % 0.5 - 0.25) ** 2) < 0.012).astype(float)
    else:
        weight = np.zeros((size, size))
    weave = 1 + 0.08 * (np.random.default_rng(seed).random((size, size)) - 0.5)
    image = (first * (1 - weight[..., None]) + second * weight[..., None]) * weave[..., None]
    return np.asarray(image, np.float32)
