"""From radiance to a picture: light that bleeds through skin, the background, tone curve, lens and sensor."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import binary_erosion, gaussian_filter

from countenance.data.people.render.background import vignette
from countenance.data.people.render.labels import CODE
from countenance.data.people.render.mesh import Array, linear_to_srgb

SKIN = tuple(CODE[name] for name in ("skin", "nose", "u_lip", "l_lip", "l_ear", "r_ear", "neck", "limb"))
# How far light travels under skin, per channel (metres, Gaussian): red goes deepest, so shadows end warm.
BLEED = (0.0030, 0.0013, 0.0008)
TEETH_GAIN = 1.5
FINE = tuple(CODE[name] for name in ("hair", "beard", "l_eye", "r_eye", "l_brow", "r_brow", "eye_g", "teeth"))


def bleed_light(
    radiance: Array, label: Array, person: Array, albedo: Array, pixels_per_metre: dict[int, float]
) -> Array:
    """Blur the light on each person's skin (not its colour) by the distances of `BLEED`.

    A path tracer of surfaces leaves skin plastic; this is the usual screen-space stand-in for scattering.
    Pixels at a border are left alone: they mix with what lies behind.
    """
    result = radiance.copy()
    for number, scale in pixels_per_metre.items():
        inner = binary_erosion(np.isin(label, SKIN) & (person == number), np.ones((3, 3)))
        if scale * BLEED[0] < 0.5 or not inner.any():
            continue
        rows, columns = np.where(inner)
        pad = int(4 * scale * BLEED[0]) + 1
        window = (
            slice(max(rows.min() - pad, 0), rows.max() + pad + 1),
            slice(max(columns.min() - pad, 0), columns.max() + pad + 1),
        )
        weight = inner[window].astype(float)
        colour = np.maximum(albedo[window], 0.004)
        light = radiance[window] / colour * weight[..., None]
        for channel, depth in enumerate(BLEED):
            sigma = scale * depth
            soft = gaussian_filter(light[..., channel], sigma) / np.maximum(gaussian_filter(weight, sigma), 1e-3)
            mixed = 0.9 * soft * colour[..., channel] + 0.1 * radiance[window][..., channel]
            result[window][..., channel] = np.where(inner[window], mixed, radiance[window][..., channel])
    return result


def calm(radiance: Array, label: Array, spread: float = 0.16) -> Array:
    """Average each pixel with neighbours of its label and much the same light: removes the path tracer's grain.

    Hair, eyes and glasses are left alone; their detail is finer than a pixel.
    """
    guide = np.log(gaussian_filter(radiance, (0.9, 0.9, 0)) + 0.02)
    total, weights = np.zeros_like(radiance), np.zeros(radiance.shape[:2])
    for down in range(-2, 3):
        for right in range(-2, 3):
            moved = (down, right)
            other = np.roll(guide, moved, (0, 1))
            weight = np.exp(-((guide - other) ** 2).sum(-1) / (2 * spread**2) - (down**2 + right**2) / 6)
            weight *= np.roll(label, moved, (0, 1)) == label
            total += weight[..., None] * np.roll(radiance, moved, (0, 1))
            weights += weight
    fine = np.isin(label, FINE)[..., None]
    return np.asarray(np.where(fine, radiance, total / weights[..., None]))


def develop(radiance: Array, alpha: Array, label: Array, backdrop: Array | None, seed: int) -> Array:
    """Composite, tone-map with fixed exposure and encode to 8 bits."""
    # Teeth sit behind lips that in life let light through.
    teeth = (label == CODE["teeth"])[..., None]
    image = np.where(teeth, radiance * TEETH_GAIN, radiance)
    if backdrop is not None:
        image = image + (1 - np.clip(alpha, 0, 1))[..., None] * backdrop
    image = vignette(np.clip(image, 0, None))
    image = np.where(image > 0.7, 0.7 + 0.3 * (1 - np.exp(-(image - 0.7) / 0.3)), image)
    grain = np.random.default_rng([seed, 131]).normal(0, 0.004, image.shape[:2])[..., None]
    return np.asarray((np.clip(linear_to_srgb(image) + grain, 0, 1) * 255 + 0.5).astype(np.uint8))
