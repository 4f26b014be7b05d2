"""The camera after the lens: blur, sensor, tone curve, enlargement and compression."""

from __future__ import annotations

import io

import numpy as np
from scipy.ndimage import convolve, gaussian_filter, zoom

from countenance_people.mesh import Array, linear_to_srgb, smoothstep
from countenance_people.spec import Shot


def develop(radiance: Array, shot: Shot, oversampling: int, seed: int) -> Array:
    """An 8-bit picture from exposed radiance that was rendered `oversampling` times too large."""
    rng = np.random.default_rng([seed, 131])
    image = lens(radiance, shot, oversampling, rng)
    height, width = (side // oversampling for side in image.shape[:2])
    image = image.reshape(height, oversampling, width, oversampling, 3).mean((1, 3))
    if shot.reduce > 1:
        image = smaller(image, shot.reduce)
    image = sensor(image, shot.noise, rng)
    if shot.reduce > 1:
        image = np.stack(
            [
                zoom(image[..., c], (height / image.shape[0], width / image.shape[1]), order=1, mode="nearest")
                for c in range(3)
            ],
            -1,
        )
    picture = (np.clip(tone(image), 0, 1) * 255 + 0.5).astype(np.uint8)
    return compress(picture, shot.jpeg) if shot.jpeg < 100 else picture


def lens(image: Array, shot: Shot, oversampling: int, rng: np.random.Generator) -> Array:
    """Vignette, defocus and motion."""
    height, width = image.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    radius = np.hypot((x / width - 0.5) * 2, (y / height - 0.5) * 2)
    image = image * (1 - 0.10 * smoothstep(0.5, 1.5, radius))[..., None]
    if shot.defocus > 0:
        image = spread(image, disc(shot.defocus * oversampling))
    if shot.motion > 0:
        image = spread(image, smear(shot.motion * oversampling, rng.uniform(0, np.pi)))
    return image


def spread(image: Array, kernel: Array) -> Array:
    """A convolution of each channel."""
    return np.stack([convolve(image[..., channel], kernel, mode="nearest") for channel in range(3)], -1)


def disc(radius: float) -> Array:
    """The kernel of an open lens."""
    reach = int(np.ceil(radius)) + 1
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    kernel = np.clip(radius + 0.5 - np.hypot(x, y), 0, 1)
    return np.asarray(kernel / kernel.sum())


def smear(length: float, angle: float) -> Array:
    """The kernel of a straight movement."""
    reach = int(np.ceil(length / 2)) + 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    for place in np.linspace(-length / 2, length / 2, max(int(length * 4), 2)):
        kernel[round(reach + place * np.sin(angle)), round(reach + place * np.cos(angle))] += 1
    return np.asarray(gaussian_filter(kernel / kernel.sum(), 0.5))


def smaller(image: Array, factor: float) -> Array:
    """The picture of a sensor with fewer pixels."""
    blurred = gaussian_filter(image, (0.45 * factor, 0.45 * factor, 0))
    return np.stack([zoom(blurred[..., channel], 1 / factor, order=1, mode="nearest") for channel in range(3)], -1)


def sensor(image: Array, noise: float, rng: np.random.Generator) -> Array:
    """Photon and read-out noise, mostly in brightness."""
    grain = rng.normal(size=(*image.shape[:2], 1)) * 0.8 + rng.normal(size=image.shape) * 0.6
    return np.asarray(image + noise * 2.2 * np.sqrt(np.maximum(image, 0) * 0.18 + 0.0025) * grain)


def tone(image: Array) -> Array:
    """sRGB with a shoulder, so that highlights do not burn out at once."""
    image = np.maximum(image, 0)
    image = np.where(image > 0.72, 0.72 + 0.28 * (1 - np.exp(-(image - 0.72) / 0.28)), image)
    return linear_to_srgb(image)


def compress(picture: Array, quality: int) -> Array:
    """A picture that was once stored as JPEG."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer).convert("RGB"))
