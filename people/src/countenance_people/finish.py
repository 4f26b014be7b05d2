"""From what the path tracer returns to radiance as a camera meets it: less noise, light under the skin, exposure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_erosion, gaussian_filter

from countenance_people._backend import on_gpu
from countenance_people.labels import CODE
from countenance_people.mesh import Array

FACE = tuple(CODE[name] for name in ("skin", "nose", "u_lip", "l_lip"))
SKIN = (*FACE, *(CODE[name] for name in ("l_ear", "r_ear", "neck", "limb")))
# How far light travels under skin: per channel, shares and distances (metres, Gaussian). Red goes deepest.
PROFILE: tuple[tuple[tuple[float, float], ...], ...] = (
    ((0.32, 0.0014), (0.38, 0.0034)),
    ((0.40, 0.0009), (0.12, 0.0018)),
    ((0.35, 0.0006),),
)
BRIGHTEST = 60.0
"""Radiance of a pixel above this is a stray path, not a picture."""
BRIGHT_FACE = 0.80
"""Luminance that the brighter parts of a face may reach when the camera meters it; higher, and skin turns white."""
BRIGHT_BACKGROUND = 0.62
"""Luminance that the brighter parts of a background may reach behind a face that is exposed well."""
TEETH = 1.5
"""Teeth sit behind lips that in life let light through; this makes up for it."""
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


@dataclass
class Layers:
    """What is known of each pixel: radiance, coverage, light on the first surface, its albedo and normal."""

    radiance: Array
    alpha: Array
    light: Array
    albedo: Array
    normal: Array


def layers(pixels: Array) -> Layers:
    """The channels of the people's integrator, with the noise taken out where Intel's denoiser is installed."""
    pixels = np.nan_to_num(np.asarray(pixels, np.float32), nan=0.0, posinf=BRIGHTEST, neginf=0.0)
    radiance, alpha, light, albedo, normal = np.split(pixels, [3, 4, 7, 10], axis=-1)
    radiance, light = np.clip(radiance, 0, BRIGHTEST), np.clip(light, 0, BRIGHTEST)
    albedo = np.clip(albedo, 0, 1)
    radiance, light = (denoise(image, albedo, normal) for image in (radiance, light))
    return Layers(radiance, np.clip(alpha[..., 0], 0, 1), light, albedo, normal)


def denoise(image: Array, albedo: Array, normal: Array) -> Array:
    """An image without the path tracer's grain; unchanged where `pyoidn` is not installed."""
    try:
        import pyoidn
    except ModuleNotFoundError as error:
        if error.name != "pyoidn":  # installed, but not what it needs: a set of two looks would come of it
            raise
        return image
    color, albedo, normal = (np.ascontiguousarray(part, np.float32) for part in (image, albedo, normal))
    if not on_gpu():
        return np.asarray(pyoidn.denoise(color, albedo=albedo, normal=normal))
    import torch

    parts = [torch.from_numpy(part).cuda() for part in (color, albedo, normal)]
    return np.asarray(pyoidn.denoise(parts[0], albedo=parts[1], normal=parts[2]).cpu().numpy())


def under_skin(layer: Layers, label: Array, person: Array, pixels_per_metre: dict[int, float]) -> Array:
    """Radiance with the light on each person's skin spread by `PROFILE`; colour and gloss stay sharp.

    This is the usual screen-space stand-in for scattering. Pixels at a border are left alone: they mix with what lies
    behind.
    """
    result = layer.radiance.copy()
    for number, scale in pixels_per_metre.items():
        inner = binary_erosion(np.isin(label, SKIN) & (person == number), np.ones((3, 3)))
        deepest = PROFILE[0][-1][1] * scale
        if deepest < 0.5 or not inner.any():
            continue
        rows, columns = np.where(inner)
        pad = int(4 * deepest) + 1
        window = (
            slice(max(rows.min() - pad, 0), rows.max() + pad + 1),
            slice(max(columns.min() - pad, 0), columns.max() + pad + 1),
        )
        weight = inner[window].astype(np.float32)
        for channel, profile in enumerate(PROFILE):
            light = layer.light[window][..., channel]
            change = np.zeros_like(light)
            for share, depth in profile:
                sigma = depth * scale
                soft = gaussian_filter(light * weight, sigma) / np.maximum(gaussian_filter(weight, sigma), 1e-3)
                change += share * (soft - light)
            result[window][..., channel] += np.where(inner[window], change * layer.albedo[window][..., channel], 0)
    return np.maximum(np.where((label == CODE["teeth"])[..., None], result * TEETH, result), 0)


def incident(layer: Layers, label: Array, person: Array) -> tuple[Array, float]:
    """Mean light (RGB) that falls on the visible faces, and the mean luminance of their albedo."""
    face = np.isin(label, FACE) & (person > 0)
    if face.sum() < 40:
        face = person > 0
    if not face.any():
        return np.ones(3), 0.3
    return layer.light[face].mean(0), float((layer.albedo[face] @ LUMINANCE).mean())


def gain(exposure: str, light: Array, albedo: float, image: Array, fixed: float) -> float:
    """What the camera multiplies radiance with.

    `face` meters the face: it evens out the light that falls on it, and opens up by four tenths of what the skin's
    own reflectance differs from .3 (in stops), as cameras that look for faces do in part. `scene` brings the mean of
    the whole picture to middle grey. `fixed` is the same for every picture of a kind of light.
    """
    if exposure == "face":
        return float(
            0.78 * np.clip((0.30 / max(albedo, 1e-3)) ** 0.25, 0.85, 1.7) / max(float(light @ LUMINANCE), 1e-4)
        )
    if exposure == "scene":
        return float(0.20 / max(float((image @ LUMINANCE).mean()), 1e-4))
    return fixed


def spared(radiance: Array, label: Array, person: Array) -> float:
    """The largest factor that leaves the brighter parts of the visible faces, masks included, unburnt."""
    face = np.isin(label, (*FACE, CODE["face_mask"])) & (person > 0)
    if face.sum() < 40:
        return float("inf")
    return BRIGHT_FACE / max(float(np.percentile(radiance[face] @ LUMINANCE, 93)), 1e-4)


def held(behind: Array, factor: float) -> Array:
    """A background whose brighter parts the camera does not burn out to white patches."""
    bright = float(np.percentile(behind @ LUMINANCE, 92)) * factor
    return np.asarray(behind * min(1.0, BRIGHT_BACKGROUND / max(bright, 1e-6)))


def balance(light: Array, strength: float) -> Array:
    """White balance: factors that take a share of the light's colour away."""
    return np.asarray((float(light @ LUMINANCE) / np.maximum(light, 1e-4)) ** strength)
