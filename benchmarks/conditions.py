"""What measuring a picture's conditions (`img.*`) costs beside decoding it, in one run on the same pictures.

`python benchmarks/conditions.py` takes rendered people as they are stored, and as JPEG, WebP and PNG files of three
sizes. As in a run, the pixels of a picture's points are copied right after it was decoded, and the columns of all
pictures of a shard are computed later, together. Printed are the processor time of decoding, that of both steps, and
their ratio. Of each picture, and of the columns, the least of many rounds counts, since other work on the machine
only adds to it; the time that it takes to read the clock is subtracted from each.

`--agreement` prints instead how well the grid's values rank 300 portraits as a grid of five times as many points along
each side does: what a condition that is held equal loses because only some of the pixels are looked at.
"""

import argparse
import io
import time
from collections.abc import Sequence

import numpy as np
from PIL import Image

from countenance.data import Sample, load_dataset, points
from countenance.data.conditions import Conditions
from countenance.data.image import decode
from countenance.data.points import point_pixels

SIZES = (256, 512, 1024)
FORMATS = (("JPEG", 90), ("WEBP", 85), ("PNG", 0))  # with the quality; PNG has none


def encoded(sample: Sample, size: int, form: str, quality: int) -> bytes:
    """A sample's picture as a file of another size."""
    buffer = io.BytesIO()
    picture = Image.fromarray(sample.load()).resize((size, size), Image.Resampling.LANCZOS)
    picture.save(buffer, form, quality=quality)
    return buffer.getvalue()


def clock() -> float:
    """Nanoseconds that reading the clock takes."""
    times = [time.thread_time_ns() for _ in range(1001)]
    return float(np.diff(times).min())


def line(name: str, files: Sequence[bytes], samples: Sequence[Sample], seconds: float) -> str:
    """One line of the table."""
    times, together = np.full((2, len(files)), np.inf), np.inf
    ids, people = zip(*((sample.id, subject.id) for sample in samples for subject in sample.subjects), strict=True)
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        waiting = []
        for k, content in enumerate(files):
            start = time.thread_time_ns()
            pixels = decode(content, name)
            decoded = time.thread_time_ns()
            waiting.append(point_pixels(pixels, content))
            copied = time.thread_time_ns()
            times[:, k] = np.minimum(times[:, k], [decoded - start, copied - decoded])
        start = time.thread_time_ns()
        conditions = Conditions()
        for sample, taken in zip(samples, waiting, strict=True):
            conditions.add(sample.id, sample.subjects, taken)
        conditions.columns(ids, people)
        together = min(together, time.thread_time_ns() - start)
    decoding, copying = (times.mean(axis=1) - clock()) / 1e3
    computing = (together - clock()) / len(files) / 1e3
    share = 100 * (copying + computing) / decoding
    return f"| {name} | {decoding:,.0f} | {copying:.1f} | {computing:.1f} | {share:.1f} % |"


COMPARED = (
    *("brightness", "contrast", "cast", "sharpness", "noise"),
    *("face.brightness", "face.contrast", "face.sharpness"),
)
PORTRAITS = 300


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value, equal values together."""
    return np.searchsorted(np.sort(values), values) + np.searchsorted(np.sort(values), values, side="right")


def agreement() -> str:
    """A table of rank correlations between the grid in use and one of five times as many points along each side."""
    samples = list(load_dataset("people:portraits"))[:PORTRAITS]
    usual, grids = points.GRID, []
    for along in (usual, 5 * usual):
        points.GRID = along
        points.spacing.cache_clear()
        points._taps.cache_clear()
        conditions = Conditions()
        for sample in samples:
            conditions.add(sample.id, sample.subjects, point_pixels(sample.load()))
        columns = conditions.columns([sample.id for sample in samples], [None] * len(samples))
        grids.append([columns[f"img.{name}"] for name in COMPARED])
    lines = ["| column | rank correlation | portraits |", "|---|---|---|"]
    for name, coarse, fine in zip(COMPARED, *grids, strict=True):
        known = np.isfinite(coarse) & np.isfinite(fine)
        same = np.corrcoef(ranks(coarse[known]), ranks(fine[known]))[0, 1]
        lines.append(f"| `img.{name}` | {same:.2f} | {known.sum()} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=64, help="Pictures of a shard.")
    parser.add_argument("--seconds", type=float, default=10, help="Processor time of the rounds of each line.")
    parser.add_argument("--agreement", action="store_true")
    options = parser.parse_args()
    if options.agreement:
        print(agreement())
        return
    print(
        "| pictures | decoding, µs | copying pixels, µs | computing columns, µs | of decoding |\n|---|---|---|---|---|"
    )
    for source in ("people:portraits", "people:twins", "people:bodies"):
        samples = list(load_dataset(source))[: options.pictures]
        files = [sample.read_checked()[0] for sample in samples]
        print(line(f"{source} as stored", files, samples, options.seconds), flush=True)
    samples = list(load_dataset("people:portraits"))[: options.pictures]
    for size in SIZES:
        for form, quality in FORMATS:
            files = [encoded(sample, size, form, quality) for sample in samples]
            print(line(f"portraits, {form} {size} × {size}", files, samples, options.seconds), flush=True)


if __name__ == "__main__":
    main()
