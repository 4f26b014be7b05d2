"""Face encoding: the restored picture compared with the original."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Picture
from countenance.data import Sample
from countenance.metrics.images import psnr, psnr_float32, ssim
from countenance.settings.data import Compat
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole, With, added
from countenance.tasks.task import Metric, Options, Row, Task, subject_row

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
    """PSNR and SSIM at 256 × 256, as far as requested; in strict mode PSNR in single precision, as published.

    >>> picture_scores(np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3), np.uint8))
    {'PSNR': 80.0, 'SSIM': 1.0}
    """
    a, b = at_256(original), at_256(answer)
    formulas = {"PSNR": published_psnr if compat == "strict" else psnr, "SSIM": ssim}
    return {name: formula(a, b) for name, formula in formulas.items() if name in metrics}


def published_psnr(a: Pixels, b: Pixels) -> float:
    """PSNR bit for bit as FHIBE published it where torch is installed; within 4e-6 dB where it is not.

    The published numbers are single precision, and their last bit depends on torch's order of summation.
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


class PictureOptions(Options):
    """The options of picture tasks: whether FHIBE's published quirks apply."""

    compat: Compat = "default"
    """strict: PSNR in single precision, and pictures of any size, as FHIBE's own code does."""


def score(sample: Sample, answer: Picture, options: PictureOptions, any_size: bool = True) -> list[Row]:
    """One row for the person: PSNR and SSIM at 256 × 256."""
    original = sample.load()
    if original.shape != answer.pixels.shape and not (any_size or options.compat == "strict"):
        raise ValueError(sizes(original.shape, answer.pixels.shape))
    row = subject_row(sample, sample.people[0])
    values = picture_scores(original, answer.pixels, compat=options.compat)
    return [row | {f"m.{name}": value for name, value in values.items()}]


def restored(sample: Sample, answer: Picture, options: PictureOptions) -> list[Row]:
    """The same as `score`, for a picture that must be as large as the original."""
    return score(sample, answer, options, any_size=False)


def sizes(original: Sequence[int], answer: Sequence[int]) -> str:
    """The two sizes in words.

    >>> sizes((4, 8, 3), (2, 4, 3))
    'a picture of 4×2, the original is 8×4'
    """
    return f"a picture of {answer[1]}×{answer[0]}, the original is {original[1]}×{original[0]}"


def other_sizes(shard: Shard) -> State:
    """How many pictures have another size than their original, and of how many."""
    pairs = [(answer.pixels.shape[:2], (sample.height, sample.width)) for sample, answer in shard.answered()]
    return {
        "other": np.array([sum(shape != expected for shape, expected in pairs)]),
        "pictures": np.array([len(pairs)]),
    }


def size_notes(state: State, whole: Whole) -> Reduced:
    """A note on pictures of another size than their original."""
    other, pictures = int(state["other"][0]), int(state["pictures"][0])
    share = f"{other:,} of {pictures:,} pictures differ from their original in size"
    return Reduced(notes=[f"{share}; all are compared at {SIDE}×{SIDE}"] if other else [])


def asks(sample: Sample) -> bool:
    """Whether an image shows one person."""
    return len(sample.people) == 1


METRICS = (
    Metric(
        "PSNR", "peak signal-to-noise ratio in dB at 256 × 256; identical pictures have 80", "higher", headline=True
    ),
    Metric("SSIM", "structural similarity at 256 × 256; identical pictures have 1", "higher", headline=True),
)


def make(options: PictureOptions) -> Task:
    """The task with its options."""
    return Task(
        name="face_encoding",
        question="Does the face survive being encoded?",
        answer=Picture,
        metrics=METRICS,
        coerce=to_picture,
        score=With(score, options),
        asks=asks,
        needs=("picture",),
        reduce=Reduce(other_sizes, size_notes, added),
        options=options,
        make=make,
    )


FACE_ENCODING = make(PictureOptions())
