"""How time and memory grow: images, rows, identities, groups, workers. Prints JSON, writes a plot beside it.

    python benchmarks/scale.py [--most 1000000] [--rows 10000000] [--files 100000000] [--out out/scale]

Each figure is measured in a process of its own, so that peak memory is that figure's alone. `cpu_s` is the processor
time of that process and its workers, which does not depend on what else the machine does. Slopes are of log `cpu_s`
against log size over the sizes above the first (which pays for imports); 1 is linear.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from countenance.data import Sample, Subject

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


def index(count: int, folder: Path) -> dict[str, float]:
    """Write a manifest of so many images; what that costs."""
    from countenance.data import DatasetCard
    from countenance.data.manifest import ManifestWriter

    started = time.perf_counter()
    ManifestWriter(folder, DatasetCard(name="discs", real_people=False)).write(samples(count))
    return {"index_s": time.perf_counter() - started, "index_mb": peak()}


def images(count: int, workers: int = 1) -> dict[str, float]:
    """Index, then evaluate `count` images; the memory is the driver's."""
    from countenance.run import evaluate

    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), Path(name) / "manifest"
        words = [sys.executable, __file__, "--index", str(data), str(count)]  # its memory is not the driver's
        indexed = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        used, started = cpu(), time.perf_counter()
        evaluate(
            "countenance.testing:DiscDetector", "face_localization", data, out=folder / "run", batch=32,
            workers=workers, threads=1,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        return {**indexed, "seconds": seconds, "cpu_s": cpu() - used}


def rows(count: int, people: int | None = None, groups: int = 5) -> dict[str, float]:
    """Audit a table of so many rows, identities and groups."""
    import pyarrow as pa

    from countenance.audit import audit

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

    from countenance.audit import audit

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


def measure(what: str, size: int) -> dict[str, float]:
    """One figure, in this process."""
    if what == "images":
        found = images(size)
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


def apart(what: str, size: int) -> dict[str, float]:
    """One figure, in a process of its own."""
    words = [sys.executable, __file__, "--measure", what, str(size)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def slope(points: list[dict[str, float]], name: str = "cpu_s") -> float | None:
    """The slope of log processor time against log size, without the smallest size."""
    kept = points[1:]
    if len(kept) < 2:
        return None
    x, y = (np.log([point[key] for point in kept]) for key in ("size", name))
    return round(float(np.polyfit(x, y, 1)[0]), 3)


def plot(figures: dict[str, list[dict[str, float]]]) -> str:
    """A log-log plot of processor seconds against size, as SVG."""
    width, height, left, bottom = 760, 460, 70, 50
    points = [p for series in figures.values() for p in series]
    x0, x1 = 0.0, np.ceil(np.log10(max(p["size"] for p in points)))
    low, high = (f(np.log10([p["cpu_s"] for p in points])) for f in (np.min, np.max))
    y0, y1 = np.floor(low), np.ceil(high)

    def at(size: float, seconds: float) -> tuple[float, float]:
        x = left + (np.log10(size) - x0) / (x1 - x0) * (width - left - 130)
        return float(x), float(height - bottom - (np.log10(seconds) - y0) / (y1 - y0) * (height - bottom - 20))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="13"><rect width="100%" height="100%" fill="white"/>'
    ]
    for power in range(int(x0), int(x1) + 1):
        x, y = at(10.0**power, 10.0**y0)
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="20" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle">1e{power}</text>')
    for power in range(int(y0), int(y1) + 1):
        x, y = at(10.0**x0, 10.0**power)
        parts.append(f'<line x1="{x:.0f}" x2="{width - 130}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g} s</text>')
    for name, series in figures.items():
        places = [at(p["size"], p["cpu_s"]) for p in series]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{COLOURS[name]}"/>' for x, y in places]
        x, y = places[-1]
        parts.append(f'<text x="{x + 8:.0f}" y="{y + 4:.0f}" fill="{COLOURS[name]}">{name}</text>')
    return "".join([*parts, "</svg>\n"])


def main() -> None:
    """Measure every size, print the figures, write them and the plot."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=100_000, help="images")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=10_000_000, help="rows of an audit from Parquet files")
    parser.add_argument("--out", type=Path, default=Path("out/scale"))
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "SIZE"))
    parser.add_argument("--index", nargs=2, metavar=("FOLDER", "IMAGES"))
    chosen = parser.parse_args()
    if chosen.index:
        print(json.dumps(index(int(chosen.index[1]), Path(chosen.index[0]))))
        return
    if chosen.measure:
        print(json.dumps(measure(chosen.measure[0], int(chosen.measure[1]))))
        return
    sizes = {
        "images": [n for k in range(3, 9) for n in (10**k, 3 * 10**k) if n <= chosen.most],
        "rows": [10**k for k in range(4, 9) if 10**k <= chosen.rows],
        "files": [10**k for k in range(6, 9) if 10**k <= chosen.files],
        "identities": [10**3, 10**4, 10**5],
        "groups": [10, 100, 1000, 10_000],
        "workers": [k for k in (1, 2, 4, 8, 16) if k <= (os.cpu_count() or 1)],
    }
    figures: dict[str, list[dict[str, float]]] = {}
    for what, wanted in sizes.items():
        figures[what] = [apart(what, size) for size in wanted]
        print(json.dumps({what: figures[what]}), flush=True)
    told = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
        "slopes": {what: slope(points) for what, points in figures.items() if what != "workers"},
        "figures": figures,
    }
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "scale.json").write_text(json.dumps(told, indent=2) + "\n")
    (chosen.out / "scale.svg").write_text(plot(figures))
    print(json.dumps(told["slopes"]))


if __name__ == "__main__":
    main()
