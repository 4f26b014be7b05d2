"""Skin: vertex colours of the ten Monk tones with blood, pigment, lips and age."""

from __future__ import annotations

import numpy as np

from countenance_people.faces import ageing
from countenance_people.facial_hair import brow_shade
from countenance_people.mesh import Array, smoothstep
from countenance_people.shape import Surface, hairline
from countenance_people.spec import Identity

# Albedo of each Monk tone, found by `calibrate.py`: with it the rendered cheek has the published colour under the
# reference light (docs/people.md has the table).
ALBEDO = np.array(
    [
        (0.770, 0.605, 0.495),
        (0.748, 0.570, 0.445),
        (0.770, 0.590, 0.400),
        (0.680, 0.500, 0.310),
        (0.560, 0.362, 0.192),
        (0.294, 0.150, 0.058),
        (0.180, 0.076, 0.034),
        (0.094, 0.036, 0.019),
        (0.038, 0.019, 0.010),
        (0.020, 0.010, 0.0055),
    ]
)
# How much light of each channel a unit of blood or pigment takes away.
BLOOD, PIGMENT = np.array([0.10, 0.80, 0.72]), np.array([0.55, 0.85, 1.10])


def base_colour(tone: int) -> Array:
    """Albedo of a Monk tone (1..10)."""
    return np.asarray(ALBEDO[tone - 1])


def skin_colour(identity: Identity, surface: Surface, hair_rgb: Array) -> Array:
    """Linear RGB per vertex of a surface."""
    base = base_colour(identity.skin_tone)
    blood, pigment = _blood(identity, surface), _pigment(identity, surface)
    colour = base * np.exp(-blood[:, None] * BLOOD - pigment[:, None] * PIGMENT)
    colour = _lips(identity, surface, colour)
    weight = surface.fields["mouth"][:, None]
    colour = colour * (1 - weight) + np.array([0.24, 0.055, 0.050]) * weight
    colour = _under_hair(identity, surface, colour, hair_rgb)
    weight = surface.fields["nail"][:, None] * 0.6
    colour = colour * (1 - weight) + base * np.array([1.05, 0.85, 0.82]) * weight
    return np.asarray(np.clip(colour, 0.002, 0.95))


def _dark(identity: Identity) -> float:
    """0 for the lightest tone, 1 for the darkest."""
    return (identity.skin_tone - 1) / 9


def _blood(identity: Identity, surface: Surface) -> Array:
    """Redness: cheeks, nose, ears, chin, the rims of the eyes; blotchy, more with age."""
    fields, noise, seed = surface.fields, surface.noise, identity.seed
    old, dark = ageing(identity.years), _dark(identity)
    red = 0.42 * fields["cheek"] + 0.50 * fields["nose"] + 0.40 * fields["ear"] + 0.20 * fields["chin"]
    red = red * (0.5 + identity.blush) + 0.25 * fields["rim"] + 0.10 * fields["lid"]
    blotchy = 0.05 * noise(40, seed + 3) + 0.04 * noise(110, seed + 4) + 0.03 * noise(300, seed + 2)
    veins = np.clip(noise(170, seed + 11) - 0.55, 0, 1) * fields["cheek"] * 0.5 * old
    return np.asarray((red + blotchy * (1 + 0.7 * old) + veins) * (1 - 0.45 * dark))


def _pigment(identity: Identity, surface: Surface) -> Array:
    """Brown: uneven tan, shadows round the eyes, freckles, moles, spots of age."""
    fields, noise, seed = surface.fields, surface.noise, identity.seed
    old, dark = ageing(identity.years), _dark(identity)
    brown = 0.025 * noise(18, seed) + 0.025 * noise(70, seed + 1) + 0.025 * noise(320, seed + 12)
    brown = brown * (1 + 0.6 * old)
    brown += (0.10 + 0.16 * dark) * fields["lid"] + (0.16 + 0.22 * old + 0.12 * dark) * fields["under"]
    brown += 0.16 * dark * (fields["temple"] - 0.5 * fields["cheek"] - 0.5 * fields["nose"])
    if old > 0.25:
        spots = smoothstep(0.62, 0.95, noise(75, seed + 5) + 0.55 * noise(210, seed + 6))
        brown += 0.42 * (old - 0.25) * spots * (1 - 0.5 * dark) * (0.4 + fields["temple"] + 0.6 * fields["cheek"])
    if identity.freckles:
        where = np.clip(fields["cheek"] * 1.3 + fields["nose"] + 0.25, 0, 1)
        dots = smoothstep(0.30, 0.75, noise(330, seed + 7)) * (0.6 + 0.4 * noise(90, seed + 8))
        brown += 0.50 * dots * where * identity.freckles
    return np.asarray(brown + _moles(identity, surface))


def _moles(identity: Identity, surface: Surface) -> Array:
    """A few dark dots of 1 to 2 mm at places that stay with the person."""
    rng = np.random.default_rng([identity.seed, 62])
    front = np.where((surface.canonical[:, 1] < -0.04) & (surface.canonical[:, 2] > 0.60))[0]
    total = np.zeros(len(surface.canonical))
    if not len(front):
        return total
    for _ in range(identity.moles):
        middle = surface.canonical[rng.choice(front)]
        away = ((surface.canonical - middle) ** 2).sum(1)
        total += rng.uniform(0.7, 1.5) * np.exp(-away / rng.uniform(0.0009, 0.0017) ** 2)
    return total


def _lips(identity: Identity, surface: Surface, colour: Array) -> Array:
    noise, seed, dark = surface.noise, identity.seed, _dark(identity)
    base, old = base_colour(identity.skin_tone), ageing(identity.years)
    red = 0.66 - 0.20 * dark - 0.24 * old
    lips = base * np.exp(-red * BLOOD - 0.16 * PIGMENT * (1 - 0.6 * dark))
    lips = lips + np.array([0.020, 0.004, 0.005]) * (0.4 + dark)
    if identity.lipstick:
        shade = np.random.default_rng([seed, 63]).uniform(0, 1)
        paint = np.array([0.34, 0.035, 0.050]) * (1 - shade) + np.array([0.30, 0.10, 0.10]) * shade
        lips = 0.45 * lips + 0.55 * paint * (1 - 0.65 * dark)
    weight = surface.fields["lips"][:, None]
    lines = (1 + 0.07 * noise(420, seed + 8))[:, None]
    return np.asarray(colour * (1 - weight) + lips * lines * weight)


def _under_hair(identity: Identity, surface: Surface, colour: Array, hair_rgb: Array) -> Array:
    """Brows, scalp and cheeks under hair take some of its colour; a shaved beard leaves a shade."""
    noise, seed, fields = surface.noise, identity.seed, surface.fields
    shade = {"none": 0.0, "stubble": 0.50, "moustache": 0.14, "goatee": 0.20}.get(identity.beard, 0.55)
    if shade:
        speckle = np.clip(0.7 + 0.45 * noise(520, seed + 9), 0, 1.3)
        weight = (shade * fields["beard"] * speckle)[:, None]
        colour = colour * (1 - weight) + np.minimum(hair_rgb * 0.8 + 0.10 * colour, colour * 0.55) * weight
    weight = 0.45 * brow_shade(identity, surface)[:, None]
    colour = colour * (1 - weight) + np.minimum(hair_rgb * 0.7, colour * 0.5) * weight
    if identity.hair_style == "bald":
        return np.asarray(colour)
    edge = hairline(surface.canonical, identity.recede) + 0.003 * noise(150, seed + 10)
    weight = (0.60 * smoothstep(0.0, 0.020, edge) * (1 - fields["ear"]))[:, None]
    return np.asarray(colour * (1 - weight) + (np.minimum(hair_rgb, 0.3) * 0.8 + 0.12 * colour) * weight)


def roughness(identity: Identity, surface: Surface) -> Array:
    """Roughness per vertex: oily on nose and forehead, wet on the lips, dull with age."""
    fields = surface.fields
    rough = 0.47 + 0.05 * surface.noise(300, identity.seed + 13) + 0.05 * ageing(identity.years)
    rough -= 0.10 * np.clip(fields["nose"] + fields["forehead"], 0, 1) + 0.16 * fields["lips"] + 0.22 * fields["mouth"]
    return np.asarray(np.clip(rough, 0.18, 0.65))
