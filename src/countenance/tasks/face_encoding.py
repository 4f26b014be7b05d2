"""Does the face survive being encoded? The restored picture against the original."""

from typing import Any

import numpy as np

from countenance.answers import Picture
from countenance.data import Sample
from countenance.metrics.images import psnr, ssim
from countenance.tasks.task import Metric, Row, Task, subject_row

SIDE = 256


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


def at_256(pixels: Any) -> Any:
    """A picture at 256 × 256, bilinear with antialiasing."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.uint8)


def score(sample: Sample, answer: Picture) -> list[Row]:
    """One row for the person: PSNR and SSIM at 256 × 256."""
    original = sample.load()
    if original.shape != answer.pixels.shape:
        raise ValueError(
            f"a picture of {answer.pixels.shape[1]}×{answer.pixels.shape[0]}, "
            f"the original is {original.shape[1]}×{original.shape[0]}"
        )
    row = subject_row(sample, sample.subjects[0])
    a, b = at_256(original), at_256(answer.pixels)
    row["m.PSNR"], row["m.SSIM"] = psnr(a, b), ssim(a, b)
    return [row]


METRICS = (
    Metric("PSNR", "peak signal-to-noise ratio in dB at 256 × 256; identical pictures have 80", headline=True),
    Metric("SSIM", "structural similarity at 256 × 256; identical pictures have 1", headline=True),
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
