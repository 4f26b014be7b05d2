"""What measuring a picture's conditions (`img.*`) costs beside decoding it, in one run on the same pictures.

`python benchmarks/conditions.py` takes rendered people as they are stored, and as JPEG, WebP and PNG files of three
sizes, and prints the processor time of decoding and of measuring right after it as a run does, their ratio, and the
part that no measuring can do without: looking the pixels up and mixing their colours. Of each picture the least of
several rounds counts, since other work on the machine only adds to it.

`--agreement` prints instead how well the grid's values rank 300 portraits as a grid of five times as many points along
each side does: what a condition that is held equal loses because only some of the pixels are looked at.
"""

import argparse
import io
import time
from collections.abc import Sequence

import numpy as np
from PIL import Image

from countenance.data import Sample, conditions, load_dataset
from countenance.data.conditions import _grid, _values, measured
from countenance.data.image import decode

SIZES = (256, 512, 1024)
FORMATS = (("JPEG", 90), ("WEBP", 85), ("PNG", 0))  # with the quality; PNG has none


def encoded(sample: Sample, size: int, form: str, quality: int) -> bytes:
    """A sample's picture as a file of another size."""
    buffer = io.BytesIO()
    picture = Image.fromarray(sample.load()).resize((size, size), Image.Resampling.LANCZOS)
    picture.save(buffer, form, quality=quality)
    return buffer.getvalue()


def line(name: str, files: Sequence[bytes], samples: Sequence[Sample], rounds: int) -> str:
    """One line of the table."""
    times = np.full((3, len(files)), np.inf)
    for _ in range(rounds):
        for k, (content, sample) in enumerate(zip(files, samples, strict=True)):
            start = time.thread_time_ns()
            pixels = decode(content, name)
            decoded = time.thread_time_ns()
            measured(pixels, sample.subjects, content)
            end = time.thread_time_ns()
            pixels = decode(content, name)
            again = time.thread_time_ns()
            grid = _grid(*pixels.shape[:2])
            if grid is not None:
                _values(pixels, grid)
            least = time.thread_time_ns()
            times[:, k] = np.minimum(times[:, k], [decoded - start, end - decoded, least - again])
    decoding, measuring, pixels_alone = times.mean(axis=1) / 1e3
    shares = " | ".join(f"{part:.1f} ({100 * part / decoding:.1f} %)" for part in (measuring, pixels_alone))
    return f"| {name} | {decoding:,.0f} | {shares} |"


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
    grids = []
    for points in (conditions.GRID, 5 * conditions.GRID):
        conditions.GRID = points
        _grid.cache_clear()
        rows = [measured(sample.load(), sample.subjects).columns(None) for sample in samples]
        grids.append(np.array([[row[f"img.{name}"] for name in COMPARED] for row in rows], dtype=np.float64))
    lines = ["| column | rank correlation | portraits |", "|---|---|---|"]
    for name, coarse, fine in zip(COMPARED, *(grid.T for grid in grids), strict=True):
        known = np.isfinite(coarse) & np.isfinite(fine)
        same = np.corrcoef(ranks(coarse[known]), ranks(fine[known]))[0, 1]
        lines.append(f"| `img.{name}` | {same:.2f} | {known.sum()} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--agreement", action="store_true")
    options = parser.parse_args()
    if options.agreement:
        print(agreement())
        return
    print("| pictures | decoding, µs | measuring, µs | of which the pixels alone, µs |\n|---|---|---|---|")
    for source in ("people:portraits", "people:twins", "people:bodies"):
        samples = list(load_dataset(source))[: options.pictures]
        files = [sample.read_checked()[0] for sample in samples]
        print(line(f"{source} as stored", files, samples, options.rounds), flush=True)
    samples = list(load_dataset("people:portraits"))[: options.pictures]
    for size in SIZES:
        for form, quality in FORMATS:
            files = [encoded(sample, size, form, quality) for sample in samples]
            print(line(f"portraits, {form} {size} × {size}", files, samples, options.rounds), flush=True)


if __name__ == "__main__":
    main()
