"""Does the face survive being encoded? The restored picture against the original."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Picture
from countenance.data import Sample
from countenance.metrics.images import psnr, psnr_float32, ssim
from countenance.tasks.task import Metric, Row, Task, subject_row
from countenance.tasks.thresholds import Compat

SIDE = 256
Pixels = NDArray[np.uint8]


def to_picture(raw: Any) -> Picture:
    """A picture from `Picture` or an array height × width × 3 of 8 bits.

    >>> to_picture(np.zeros((2, 2, 3), np.uint8)).pixels.shape
    (2, 2, 3)
    """
    if isinstance(raw, Picture):
        return raw
    if raw is None:
        raise ValueError("None, expected a picture")
    return Picture(np.asarray(raw))


def at_256(pixels: Pixels) -> Pixels:
    """A picture at 256 × 256, bilinear with antialiasing, as the published metrics see it."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    if picture.size == (SIDE, SIDE):
        return pixels
    return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.uint8)


def picture_scores(
    original: Pixels, answer: Pixels, metrics: Sequence[str] = ("PSNR", "SSIM"), compat: Compat = "default"
) -> dict[str, float]:
    """PSNR and SSIM at 256 × 256, as far as asked for; strict: PSNR in single precision, as published.

    >>> picture_scores(np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3), np.uint8))
    {'PSNR': 80.0, 'SSIM': 1.0}
    """
    a, b = at_256(original), at_256(answer)
    formulas = {"PSNR": published_psnr if compat == "strict" else psnr, "SSIM": ssim}
    return {name: formula(a, b) for name, formula in formulas.items() if name in metrics}


def published_psnr(a: Pixels, b: Pixels) -> float:
    """PSNR bit for bit as FHIBE published it where torch is installed; within 4e-6 dB where it is not.

    The published numbers are single precision, and the order in which torch adds up shows in the last bit.
    """
    try:
        import torch
    except ImportError:
        return psnr_float32(a, b)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        x, y = (torch.from_numpy(p.transpose(2, 0, 1).copy()).float().div(255)[None] for p in (a, b))
        error = torch.mean((x - y) ** 2, dim=[1, 2, 3])
        return float((-10 * torch.log10(error + 1e-8))[0])
    finally:
        torch.set_num_threads(threads)


def score(sample: Sample, answer: Picture) -> list[Row]:
    """One row for the person: PSNR and SSIM at 256 × 256."""
    original = sample.load()
    if original.shape != answer.pixels.shape:
        raise ValueError(
            f"a picture of {answer.pixels.shape[1]}×{answer.pixels.shape[0]}, "
            f"the original is {original.shape[1]}×{original.shape[0]}"
        )
    row = subject_row(sample, sample.subjects[0])
    return [row | {f"m.{name}": value for name, value in picture_scores(original, answer.pixels).items()}]


METRICS = (
    Metric(
        "PSNR", "peak signal-to-noise ratio in dB at 256 × 256; identical pictures have 80", "higher", headline=True
    ),
    Metric("SSIM", "structural similarity at 256 × 256; identical pictures have 1", "higher", headline=True),
)

FACE_ENCODING = Task(
    name="face_encoding",
    question="Does the face survive being encoded?",
    answer=Picture,
    metrics=METRICS,
    coerce=to_picture,
    score=score,
    asks=lambda sample: len(sample.subjects) == 1,
    needs=("picture",),
)
