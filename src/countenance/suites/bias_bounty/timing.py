"""Timing an entry in a process of its own: warm-up, the median of several passes, loading apart from inference.

Run as a module this is the child: it prints one line of JSON and nothing else.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from countenance.errors import InputError

PASSES = 5
WARM_UP = 32
REFUSED = 2
"""Exit status of the child for wrong input, which it tells in one line."""


def measure(where: str | Path, images: Path, *, passes: int = PASSES, threads: int = 1) -> dict[str, Any]:
    """Time an entry on the images of a folder, in a fresh process."""
    # Refuse wrong input here, where the message reaches the user as it stands.
    from countenance.suites.bias_bounty.entry import EntryCard, entry_folder, image_files

    entry = entry_folder(where)
    EntryCard.read(entry)
    image_files(images)
    places = {"entry": str(entry.resolve()), "images": str(images.resolve())}
    order = json.dumps(places | {"passes": passes, "threads": threads})
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    child = subprocess.run(
        [sys.executable, "-m", "countenance.suites.bias_bounty.timing"],
        input=order, capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    if child.returncode == REFUSED:
        raise InputError(child.stderr.strip())
    if child.returncode:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{entry}: the timing process ended with {child.returncode} ({last})")
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


def _child(order: dict[str, Any]) -> dict[str, Any]:
    import resource

    from countenance.data.image import LazyImage
    from countenance.suites.bias_bounty.entry import Entry, image_files

    start = time.perf_counter()
    entry = Entry(Path(order["entry"]), threads=order["threads"])
    opening = time.perf_counter() - start
    start = time.perf_counter()
    images = [LazyImage(path).load() for path in image_files(Path(order["images"])).values()]
    loading = time.perf_counter() - start
    entry.classes(images[:WARM_UP])
    passes, cpu = [], []
    for _ in range(order["passes"]):
        wall, own = time.perf_counter(), time.process_time()
        entry.classes(images)
        passes.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - own)
    seconds = statistics.median(passes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "entry": entry.name,
        "images": len(images),
        "seconds": seconds,
        "cpu_seconds": statistics.median(cpu),
        "passes": passes,
        "warm_up_images": min(WARM_UP, len(images)),
        "images_per_second": len(images) / seconds,
        "milliseconds_per_image": 1000 * seconds / len(images),
        "loading_seconds": loading,
        "opening_seconds": opening,
        "peak_memory_mb": peak / (2**20 if sys.platform == "darwin" else 2**10),  # macOS counts bytes, Linux kilobytes
        "threads": order["threads"],
        "cores": os.cpu_count(),
        "machine": _machine(),
        "python": platform.python_version(),
    }


def _machine() -> str:
    """The processor's name where the system tells it, and the system."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text(errors="replace").splitlines() if line.startswith("model name")]
        name = lines[0].partition(":")[2].strip() if lines else name
    return f"{name}, {platform.system()}"


def timing_lines(found: dict[str, Any]) -> list[str]:
    """A timing in words."""
    return [
        f"{found['entry']}: {found['images_per_second']:.1f} images/s "
        f"({found['milliseconds_per_image']:.2f} ms an image), "
        f"median of {len(found['passes'])} passes over {found['images']} images after a warm-up",
        f"loading apart: {found['loading_seconds']:.2f} s for the images, "
        f"{found['opening_seconds']:.2f} s for the networks",
        f"peak memory {found['peak_memory_mb']:.0f} MB, "
        f"{found['threads']} of {found['cores']} cores, {found['machine']}",
    ]


if __name__ == "__main__":
    try:
        print(json.dumps(_child(json.load(sys.stdin))))
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)
