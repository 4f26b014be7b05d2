"""The relief of skin: pores, folds and the sagging of age, as displacement of the fine head along its normals."""

from __future__ import annotations

import numpy as np

from countenance_people.faces import ageing
from countenance_people.mesh import Array, smoothstep
from countenance_people.shape import Surface
from countenance_people.spec import Identity

# Folds as lines through canonical points (|x|, z), with depth and half width in metres, and the age they start at
# (0 at 34 years, 1 at 78). They lie on the front of the face, so depth (y) follows.
FOLDS: tuple[tuple[tuple[tuple[float, float], ...], float, float, float], ...] = (
    (((0.0185, 0.6945), (0.0260, 0.6830), (0.0325, 0.6690), (0.0360, 0.6560)), 0.00190, 0.0021, 0.0),
    (((0.0285, 0.6600), (0.0320, 0.6500), (0.0335, 0.6380)), 0.00130, 0.0019, 0.25),
    (((0.0150, 0.7270), (0.0220, 0.7180), (0.0310, 0.7150), (0.0410, 0.7185), (0.0475, 0.7250)), 0.00090, 0.0017, 0.05),
    (((0.0160, 0.7220), (0.0260, 0.7090), (0.0370, 0.7040)), 0.00080, 0.0022, 0.2),
    (((0.0070, 0.7480), (0.0062, 0.7560), (0.0068, 0.7640)), 0.00070, 0.0010, 0.1),
    (((0.0000, 0.7665), (0.0180, 0.7680), (0.0350, 0.7660), (0.0460, 0.7625)), 0.00060, 0.0012, 0.0),
    (((0.0000, 0.7760), (0.0200, 0.7775), (0.0380, 0.7750), (0.0490, 0.7700)), 0.00070, 0.0012, 0.05),
    (((0.0000, 0.7860), (0.0190, 0.7872), (0.0360, 0.7845)), 0.00055, 0.0012, 0.25),
    (((0.0000, 0.6490), (0.0100, 0.6480), (0.0170, 0.6500)), 0.00070, 0.0016, 0.2),
    (((0.0500, 0.7400), (0.0570, 0.7445), (0.0640, 0.7470)), 0.00075, 0.0010, 0.0),
    (((0.0510, 0.7360), (0.0585, 0.7365), (0.0660, 0.7355)), 0.00080, 0.0010, 0.0),
    (((0.0500, 0.7320), (0.0570, 0.7285), (0.0640, 0.7240)), 0.00075, 0.0010, 0.1),
    (((0.0480, 0.7280), (0.0540, 0.7215), (0.0600, 0.7150)), 0.00055, 0.0010, 0.35),
)

CREASE = np.array([0.34, 0.52, 0.56])
"""How much light of each channel the deepest fold takes away."""


def relief(identity: Identity, surface: Surface, folds: Array) -> Array:
    """Displacement in metres: pores for everybody, `folds` and what sags for those over 34."""
    noise, seed, old = surface.noise, identity.seed, ageing(identity.years)
    child = identity.years < 14
    height = (0.000018 if child else 0.00004) * noise(600, seed + 20) + 0.00005 * noise(130, seed + 21)
    if old <= 0:
        return np.asarray(height)
    x, y, z = np.abs(surface.canonical[:, 0]), surface.canonical[:, 1], surface.canonical[:, 2]
    return np.asarray(height + folds + _sagging(x, y, z, old) + _neck(identity, surface, x, y, z, old))


def face_folds(identity: Identity, surface: Surface) -> Array:
    """Displacement in metres of the folds on the front of the face; zero up to 34 years."""
    old = ageing(identity.years)
    x, y, z = np.abs(surface.canonical[:, 0]), surface.canonical[:, 1], surface.canonical[:, 2]
    if old <= 0:
        return np.zeros(len(x))
    noise, seed = surface.noise, identity.seed
    rng = np.random.default_rng([seed, 61])
    wander = 0.0011 * noise(55, seed + 23)
    total = np.zeros(len(x))
    for points, depth, width, start in FOLDS:
        share = np.clip((old - start) / (1 - start), 0, 1) ** 0.8 * rng.uniform(0.55, 1.15)
        shift = rng.normal(0, 0.0011, 2)
        if share <= 0:
            continue
        line = np.array(points) + shift
        off, along = _distance(x + wander, z + wander, line)
        # Not over the brows' middle for lines that start there; fade at both ends.
        ends = smoothstep(0, 0.12, along) if points[0][0] else 1.0
        fade = ends * smoothstep(1.0, 0.75, along) * np.clip(0.8 + 0.5 * noise(60, seed + 24), 0.25, 1.2)
        wide = width * rng.uniform(0.85, 1.3)
        groove = np.exp(-((off / wide) ** 2)) - 0.42 * np.exp(-(((off - 2.1 * wide) / (1.4 * wide)) ** 2))
        total -= depth * share * fade * groove
    cross = np.clip(noise(300, seed + 22), 0, 1) + np.clip(noise(420, seed + 25), 0, 1)
    return np.asarray((total - 0.00011 * old * cross) * smoothstep(-0.045, -0.075, y))


def crease_shade(folds: Array) -> Array:
    """What skin in a fold reflects, for each channel: less light gets in and out, and blood shows."""
    depth = np.clip((-folds - 0.00012) / 0.0010, 0, 1)
    return np.asarray(np.exp(-depth[:, None] * CREASE))


def _distance(x: Array, z: Array, line: Array) -> tuple[Array, Array]:
    """Distance of points to a polyline, and how far along it (0..1) the nearest place is."""
    best, along = np.full(len(x), np.inf), np.zeros(len(x))
    parts = len(line) - 1
    for k in range(parts):
        (ax, az), (bx, bz) = line[k], line[k + 1]
        dx, dz = bx - ax, bz - az
        t = np.clip(((x - ax) * dx + (z - az) * dz) / (dx * dx + dz * dz), 0, 1)
        off = np.hypot(x - ax - t * dx, z - az - t * dz)
        nearer = off < best
        best, along = np.where(nearer, off, best), np.where(nearer, (k + t) / parts, along)
    return best, along


def _sagging(x: Array, y: Array, z: Array, old: float) -> Array:
    """Hollow temples and cheeks, jowls and bags: the slow part of age."""

    def spot(px: float, pz: float, size: float) -> Array:
        return np.asarray(np.exp(-((x - px) ** 2 + (z - pz) ** 2) / (2 * size * size)) * (y < -0.03))

    share = np.clip((old - 0.15) / 0.85, 0, 1)
    jowl, bag = spot(0.043, 0.636, 0.009), spot(0.031, 0.7225, 0.0055)
    hollow, temple = spot(0.052, 0.672, 0.012), spot(0.066, 0.765, 0.012)
    return np.asarray(share * (0.0024 * jowl + 0.0011 * bag - 0.0022 * hollow - 0.0022 * temple))


def _neck(identity: Identity, surface: Surface, x: Array, y: Array, z: Array, old: float) -> Array:
    wander = surface.noise(30, identity.seed + 26)
    rings = np.clip(np.cos((z - 0.6) * 2 * np.pi / 0.019 + 1.3 * wander), 0, 1) ** 6
    bands = np.exp(-(((x - 0.016) / 0.0035) ** 2))
    low = smoothstep(0.615, 0.600, z) * smoothstep(0.0, -0.03, y)
    return np.asarray(low * (-0.0006 * old * rings + 0.0016 * np.clip(old - 0.4, 0, 1) * bands))
