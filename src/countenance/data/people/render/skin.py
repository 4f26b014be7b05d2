"""Skin: vertex colours of the ten Monk tones with blush, freckles, age, lips; and the relief of age."""

from __future__ import annotations

import numpy as np

from countenance.data.people.render import palette
from countenance.data.people.render.faces import ageing
from countenance.data.people.render.mesh import Array, hex_to_linear, smoothstep
from countenance.data.people.render.sampling import Identity
from countenance.data.people.render.shape import Surface, hairline

# Raw swatches as albedo burn out at the light end and lose all shape at the dark; the order stays monotone.
GAIN = (0.60, 0.61, 0.62, 0.68, 0.79, 0.95, 1.10, 1.30, 1.85, 2.10)
TINT = np.array(
    [
        (1.10, 0.93, 0.81), (1.10, 0.93, 0.80), (1.08, 0.92, 0.86), (1.08, 0.93, 0.88), (1.08, 0.93, 0.86),
        (1.10, 0.95, 0.90), (1.10, 0.96, 0.88), (1.08, 0.97, 0.88), (1.22, 0.95, 0.78), (1.26, 0.95, 0.76),
    ]
)  # fmt: skip


def base_colour(tone: int) -> Array:
    """Albedo of a Monk tone (1..10)."""
    return np.asarray(hex_to_linear(palette.MONK[tone - 1]) * GAIN[tone - 1] * TINT[tone - 1])


def skin_colour(identity: Identity, surface: Surface, hair_rgb: Array) -> Array:
    """Linear RGB per vertex of a surface."""
    fields, noise, seed = surface.fields, surface.noise, identity.seed
    tone = identity.skin_tone
    base = base_colour(tone)
    light = tone <= 5
    old = ageing(identity.years)
    variation = 0.5 * noise(25, seed) + 0.3 * noise(70, seed + 1) + 0.3 * noise(300, seed + 2)
    # Light skin shows mottling most, so it gets least.
    colour = base * (1 + (0.016 if light else 0.030) * (1 + 0.8 * old) * variation[:, None])
    red = 0.55 * fields["cheek"] + 0.6 * fields["nose"] + 0.45 * fields["ear"] + 0.25 * fields["chin"]
    red = np.clip(red + 0.10 * noise(40, seed + 3), 0, 1) * identity.blush
    tint = np.array([1.0, 0.66, 0.64]) if light else np.array([1.05, 0.80, 0.76])
    colour = colour * (1 - red[:, None] * (1 - tint))
    dark = np.clip(0.35 * fields["lid"] + 0.45 * fields["under"] * (0.45 + 0.5 * old), 0, 0.6)
    colour = colour * (1 - dark[:, None] * np.array([0.38, 0.52, 0.50]))
    if old > 0.3:
        spots = np.clip(noise(95, seed + 5) + 0.6 * noise(240, seed + 6) - 0.75, 0, 1)
        colour = colour * (1 - 0.35 * old * spots[:, None] * np.array([0.5, 0.7, 0.9]))
    if identity.freckles:
        where = np.clip(fields["cheek"] * 1.4 + fields["nose"], 0, 1)
        freckles = np.clip(noise(330, seed + 7) - 0.35, 0, 1) * where * identity.freckles
        colour = colour * (1 - 1.2 * freckles[:, None] * np.array([0.35, 0.6, 0.8]))
    lips = base * np.array([0.92, 0.58, 0.57]) * (0.82 if tone <= 6 else 0.95) + np.array([0.03, 0.004, 0.004])
    if identity.lipstick:
        lips = base * 0.55 * np.array([1.0, 0.36, 0.4]) + np.array([0.05, 0.004, 0.008])
    weight = fields["lips"][:, None]
    colour = colour * (1 - weight) + lips * (1 + 0.06 * noise(300, seed + 8))[:, None] * weight
    weight = fields["mouth"][:, None]
    colour = colour * (1 - weight) + np.array([0.26, 0.06, 0.055]) * weight
    if identity.stubble:
        weight = (identity.stubble * fields["beard"] * (0.75 + 0.25 * noise(500, seed + 9)))[:, None] * 0.5
        colour = colour * (1 - weight) + np.minimum(hair_rgb * 0.9, base * 0.5) * weight
    # Skin would shine between the strands: tint the scalp with the hair's colour.
    scalp = {"bald": 0.0, "buzz": 0.75}.get(identity.hair, 0.7)
    if scalp:
        edge = hairline(surface.canonical, identity.recede) + 0.003 * noise(150, seed + 10)
        weight = (scalp * smoothstep(0.0, 0.014, edge) * (1 - fields["ear"]))[:, None]
        colour = colour * (1 - weight) + (np.minimum(hair_rgb, 0.35) * 0.8 + 0.15 * base) * weight
    weight = fields["nail"][:, None] * 0.6
    colour = colour * (1 - weight) + base * np.array([1.05, 0.85, 0.82]) * weight
    return np.asarray(np.clip(colour, 0, 1))


def relief(identity: Identity, surface: Surface) -> Array:
    """Displacement of the fine head along its normals in metres: pores, and the folds of age."""
    x, y, z = np.abs(surface.canonical[:, 0]), surface.canonical[:, 1], surface.canonical[:, 2]
    noise, seed, old = surface.noise, identity.seed, ageing(identity.years)
    height = 0.00005 * noise(420, seed + 20) + 0.00008 * noise(130, seed + 21)
    if old <= 0:
        return height
    rng = np.random.default_rng([seed, 61])
    wander = noise(30, seed + 23)
    forehead = np.zeros_like(x)
    for line in (0.770, 0.7795, 0.789):
        middle = line + rng.normal(0, 0.0012) + 0.0018 * wander - 0.004 * (x / 0.05) ** 2
        depth = rng.uniform(0.6, 1.1) * np.clip(0.75 + 0.5 * noise(45, seed + 24), 0.1, 1.2)
        forehead += depth * np.exp(-(((z - middle) / 0.0015) ** 2)) * smoothstep(0.052, 0.028, x) * (y < -0.11)
    radius, angle = np.hypot(x - 0.046, z - 0.736), np.arctan2(z - 0.736, x - 0.046)
    crow = np.clip(np.cos(angle * 8 + rng.uniform(0, 6) + 1.5 * wander), 0, 1) ** 3
    crow = crow * np.exp(-(((radius - 0.016) / 0.008) ** 2)) * (np.abs(angle) < 0.9)
    along = np.clip(((x - 0.017) * 0.016 - (z - 0.690) * 0.035) / (0.016**2 + 0.035**2), 0, 1)
    off = np.hypot(x - 0.017 - 0.016 * along - 0.004 * np.sin(along * 3.1), z - 0.690 + 0.035 * along)
    fold = np.exp(-((off / 0.0028) ** 2)) * (y < -0.10) * np.clip(1.1 - along * 0.5, 0, 1)
    bag = np.exp(-(((np.hypot((x - 0.031) / 1.3, z - 0.738) - 0.0185) / 0.002) ** 2)) * (z < 0.732) * (y < -0.11)
    neck = np.clip(np.cos((z - 0.6) * 2 * np.pi / 0.017 + 2 * x / 0.05 + 2 * wander), 0, 1) ** 4
    neck = neck * smoothstep(0.61, 0.60, z) * (y < -0.02)
    fine = np.clip(noise(260, seed + 22), 0, 1)
    folds = 0.0007 * forehead + 0.0007 * crow + 0.0013 * fold + 0.0007 * bag + 0.0005 * neck + 0.00028 * fine
    return np.asarray(height - old * folds)
