"""How time and memory grow: images, rows, identities, groups, workers. Prints and writes JSON, with a plot beside it.

    python benchmarks/scale.py [--only images rows] [--most 1000000] [--rows 100000000] [--files 100000000]

Each figure is measured in a process of its own, so that peak memory is that figure's alone. `cpu_s` is the processor
time of that process and its workers, which does not depend on what else the machine does. Slopes are of log `cpu_s`
against log size over the sizes above the first (which pays for imports); 1 is linear.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import DatasetCard, Sample, Subject
from countenance.data.manifest import INDEX, Partition
from countenance.data.manifest_writer import ManifestWriter
from countenance.files import to_json
from countenance.storage import open_storage

CARD = DatasetCard(name="discs", real_people=False)
PARTITION = 10_000
"""Samples in a partition: moto's server copies a whole object for every part of it that is read."""

COLOURS = {
    "images": "#1b6ca8",
    "rows": "#b8530b",
    "files": "#a03030",
    "identities": "#2e7d32",
    "groups": "#7b3fa0",
    "workers": "#555555",
}


def samples(count: int, start: int = 0) -> Iterator[Sample]:
    """A synthetic reader: pictures of 64 different discs, three skin tones, an identity for every two pictures."""
    from countenance.data.image import EncodedImage, encode_png
    from countenance.testing import TONES, face_picture

    faces = [(encode_png(pixels), box) for pixels, box in (face_picture(i, 24) for i in range(64))]
    for i in range(start, count):
        content, box = faces[i % 64]
        subject = Subject("0", f"id{i // 2}", face_box=box, attributes={"skin_tone": TONES[i % 3]})
        yield Sample(f"s{i:08d}", EncodedImage(content), 24, 24, (subject,))


def partition(place: str, number: int, count: int) -> tuple[dict[str, object], dict[str, str | None]]:
    """Write one partition of the manifest; what its index says of it, and the attributes that were seen."""
    start = number * PARTITION
    writer = ManifestWriter(place, CARD, PARTITION, written=[Partition("", 0, "")] * number)
    writer.write(itertools.islice(samples(min(start + PARTITION, count), start), PARTITION))
    return vars(writer.written[-1]), writer.kinds


def index(place: str, count: int, processes: int) -> None:
    """Write the manifest of the synthetic pictures, partitions side by side."""
    numbers = range(-(-count // PARTITION))
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        made = list(pool.map(partition, repeat(place), numbers, repeat(count)))
    storage = open_storage(place)
    known = json.loads(storage.read(INDEX))
    storage.write(INDEX, to_json({**known, "partitions": [about for about, _ in made]}).encode())


def images(count: int, workers: int) -> dict[str, float]:
    """Index in processes of their own, then evaluate `count` images; the memory is the driver's."""
    from countenance.run import evaluate

    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), Path(name) / "manifest"
        started = time.perf_counter()
        index(str(data), count, os.cpu_count() or 1)
        indexed = time.perf_counter() - started
        used, started = cpu(), time.perf_counter()
        evaluate(
            "countenance.testing:DiscDetector",
            "face_localization",
            data,
            out=folder / "run",
            batch=32,
            workers=workers,
            threads=1,
        )
        seconds = time.perf_counter() - started
        return {"index_s": indexed, "seconds": seconds, "cpu_s": cpu() - used}


def rows(count: int, people: int | None = None, groups: int = 5) -> dict[str, float]:
    """Audit a table of so many rows, identities and groups."""
    import pyarrow as pa

    from countenance.auditing import audit

    rng = np.random.default_rng(0)
    people = people or max(count // 10, 100)
    identity = rng.integers(0, people, count)
    columns = {"identity": pa.array(identity).cast(pa.string())}
    for name, size in (("one", groups), ("two", 3)):
        codes = rng.integers(0, size, people)[identity]
        columns[f"attr.{name}"] = pa.array([f"g{i}" for i in range(size)]).take(pa.array(codes))
    columns["m.found"] = pa.array((rng.random(count) < 0.9).astype(np.float64))
    started, used = time.perf_counter(), cpu()
    audit(pa.table(columns), ["one", "two"], ["found"], depth=1, adjust="holm", max_groups=20_000)
    return {"seconds": time.perf_counter() - started, "cpu_s": cpu() - used}


def files(count: int) -> dict[str, float]:
    """Audit a folder of Parquet files with ten rows a person: by duckdb from 2,000,000 rows on."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from countenance.auditing import audit

    people = max(count // 10, 100)
    codes = np.random.default_rng(99).integers(0, [5, 3], (people, 2)).astype(np.int8)
    part = min(count, 5_000_000)
    with tempfile.TemporaryDirectory() as name:
        for number in range(count // part):
            rng = np.random.default_rng(number)
            who = rng.integers(0, people, part)
            columns = {
                "sample": pa.array(np.arange(number * part, (number + 1) * part)).cast(pa.string()),
                "identity": pa.array(who).cast(pa.string()),
                "m.found": pa.array((rng.random(part) < 0.9).astype(float)),
            }
            for place, (attribute, size) in enumerate((("tone", 5), ("sex", 3))):
                levels = pa.array([f"g{i}" for i in range(size)])
                columns[f"attr.{attribute}"] = pa.DictionaryArray.from_arrays(pa.array(codes[who, place]), levels)
            pq.write_table(pa.table(columns), Path(name) / f"{number:03d}.parquet")
        started, used = time.perf_counter(), cpu()
        audit(name, ["tone", "sex"], ["found"], depth=1)
        return {"seconds": time.perf_counter() - started, "cpu_s": cpu() - used}


def cpu() -> float:
    """Processor seconds of this process and the ended ones that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(what: str, size: int, workers: int) -> dict[str, float]:
    """One figure, in this process."""
    if what == "images":
        found = images(size, workers)
    elif what == "workers":
        found = images(20_000, size)
    elif what == "rows":
        found = rows(size)
    elif what == "files":
        found = files(size)
    elif what == "identities":
        found = rows(1_000_000, people=size)
    else:
        found = rows(1_000_000, groups=size)
    return {"size": size, **{name: round(value, 3) for name, value in found.items()}, "peak_mb": round(peak(), 1)}


def apart(what: str, size: int, workers: int) -> dict[str, float]:
    """One figure, in a process of its own."""
    words = [sys.executable, __file__, "--measure", what, str(size), "--workers", str(workers)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def slope(points: list[dict[str, float]], name: str = "cpu_s") -> float | None:
    """The slope of log processor time against log size, without the smallest size."""
    kept = points[1:]
    if len(kept) < 2:
        return None
    x, y = (np.log([point[key] for point in kept]) for key in ("size", name))
    return round(float(np.polyfit(x, y, 1)[0]), 3)


def plot(series: dict[str, Any], file: Path) -> None:
    """Processor seconds against size, both on logarithmic scales."""
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "countenance"})  # the same file every time
    figure, axes = pyplot.subplots(figsize=(8, 4.8), layout="constrained")
    for what, colour in COLOURS.items():
        if what in series:
            points = series[what]["points"]
            seconds = [point["cpu_s"] for point in points]
            axes.loglog([point["size"] for point in points], seconds, "o-", color=colour, label=what, markersize=4)
    axes.set(xlabel="size", ylabel="processor seconds")
    axes.grid(color="#ddd")
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Measure the series that are asked for, and write them and the plot; other series of the file stay."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", choices=list(COLOURS), default=list(COLOURS))
    parser.add_argument("--most", type=int, default=100_000, help="images")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=10_000_000, help="rows of an audit from Parquet files")
    parser.add_argument("--workers", type=int, default=1, help="of the series of images")
    parser.add_argument("--out", type=Path, default=Path("out/scale"))
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "SIZE"))
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(chosen.measure[0], int(chosen.measure[1]), chosen.workers)))
        return
    sizes = {
        "images": [n for k in range(3, 9) for n in (10**k, 3 * 10**k) if n <= chosen.most],
        "rows": [10**k for k in range(4, 9) if 10**k <= chosen.rows],
        "files": [10**k for k in range(6, 9) if 10**k <= chosen.files],
        "identities": [10**3, 10**4, 10**5],
        "groups": [10, 100, 1000, 10_000],
        "workers": [k for k in (1, 2, 4, 8, 16) if k <= (os.cpu_count() or 1)],
    }
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / "scale.json"
    told = json.loads(file.read_text()) if file.exists() else {}
    for what in chosen.only:
        load = os.getloadavg()[0]
        points = [apart(what, size, chosen.workers) for size in sizes[what]]
        told[what] = {
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "load_before": load,
            "date": time.strftime("%Y-%m-%d"),
            "slope": slope(points),
            "points": points,
        }
        print(json.dumps({what: told[what]}), flush=True)
        file.write_text(json.dumps(told, indent=2) + "\n")
    with suppress(ImportError):
        plot(told, chosen.out / "scale.svg")


if __name__ == "__main__":
    main()
