"""Metrics that compare pictures: PSNR and SSIM."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]


def psnr(a: Pixels, b: Pixels, epsilon: float = 1e-8) -> float:
    """Peak signal-to-noise ratio in dB of two 8-bit pictures; identical pictures: 80 dB (its epsilon).

    >>> psnr(np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2, 3), np.uint8))
    80.0
    """
    _same_shape(a, b)
    difference = a.astype(np.float64) - b.astype(np.float64)
    return float(-10.0 * np.log10(np.mean(difference * difference) / 255.0**2 + epsilon))


def psnr_float32(a: Pixels, b: Pixels) -> float:
    """PSNR in single precision, the arithmetic in which FHIBE's published numbers were computed.

    >>> psnr_float32(np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2, 3), np.uint8))
    80.0
    """
    _same_shape(a, b)
    scale = np.float32(255.0)
    difference = a.astype(np.float32) / scale - b.astype(np.float32) / scale
    error = np.float32(np.mean(difference * difference, dtype=np.float64))
    return float(np.float32(-10.0) * np.float32(np.log10(np.float64(error + np.float32(1e-8)))))


def ssim(a: Pixels, b: Pixels, window: int = 7) -> float:
    """Structural similarity (Wang et al. 2004) of two 8-bit pictures, the mean over channels.

    A uniform window with the sample covariance, as scikit-image computes it by default.

    >>> ssim(np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8, 3), np.uint8))
    1.0
    """
    _same_shape(a, b)
    if min(a.shape[:2]) < window:
        raise ValueError(f"pictures of {a.shape[1]}×{a.shape[0]} are smaller than the window of {window}")
    x, y = (_channels(a), _channels(b))
    n = window * window
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mean_x, mean_y = _means(x, window), _means(y, window)
    unbias = n / (n - 1)
    var_x = unbias * (_means(x * x, window) - mean_x * mean_x)
    var_y = unbias * (_means(y * y, window) - mean_y * mean_y)
    covariance = unbias * (_means(x * y, window) - mean_x * mean_y)
    top = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    bottom = (mean_x * mean_x + mean_y * mean_y + c1) * (var_x + var_y + c2)
    return float((top / bottom).mean())


def _channels(picture: Pixels) -> Array:
    return picture.astype(np.float64) if picture.ndim == 3 else picture.astype(np.float64)[:, :, None]


def _means(values: Array, window: int) -> Array:
    """The mean over every whole window, by running sums."""
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1, values.shape[2]))
    np.cumsum(np.cumsum(values, axis=0), axis=1, out=sums[1:, 1:])
    total = sums[window:, window:] - sums[:-window, window:] - sums[window:, :-window] + sums[:-window, :-window]
    return np.asarray(total / (window * window))


def _same_shape(a: Pixels, b: Pixels) -> None:
    if a.shape != b.shape:
        raise ValueError(f"pictures of shapes {a.shape} and {b.shape}, expected the same")
