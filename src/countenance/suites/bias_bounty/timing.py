"""Timing an entry in its own process: warm-up, the median of several passes, loading apart from inference.

A `Timing` carries what it was measured from (every pass, the entry's hash, the images, the machine), and reading one
refuses numbers that contradict each other. A file can still be made up as a whole: the leaderboard gives multipliers
only for timings that it measured itself (`leaderboard --time`).
"""

import hashlib
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from countenance.errors import InputError
from countenance.processes import each
from countenance.suites.bias_bounty.entry import BountyEntry, EntryCard, entry_folder, entry_hash, image_files

PASSES = 5
WARM_UP = 32
LONGEST = 24 * 3600.0
"""Seconds that a measurement may take."""
BUSY = 1.25
"""A pass that took so many times its CPU time waited for the processor."""
ROUNDING = 1e-6


class Timing(BaseModel):
    """What `time --json` writes. Seconds are of a pass over all images: the median counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    entry: str
    entry_sha256: str
    images: int
    images_sha256: str
    """Of the images' names and sizes."""
    seconds: float
    cpu_seconds: float
    passes: tuple[float, ...]
    cpu_passes: tuple[float, ...]
    warm_up_images: int
    images_per_second: float
    milliseconds_per_image: float
    loading_seconds: float
    opening_seconds: float
    peak_memory_mb: float
    threads: int
    cores: int
    machine: str
    python: str

    @property
    def busy(self) -> float:
        """How many times its CPU time the median pass took; well above 1 on a machine that others use too."""
        return self.seconds / max(self.cpu_seconds, 1e-9)

    def contradictions(self) -> list[str]:
        """Which numbers cannot come from one measurement."""
        times = (*self.passes, *self.cpu_passes)
        if not self.passes or len(self.passes) != len(self.cpu_passes) or self.images < 1:
            return [f"{len(self.passes)} passes, {len(self.cpu_passes)} CPU times, {self.images} images"]
        if not all(math.isfinite(t) and t > 0 for t in times):
            return ["a pass without a time above 0"]
        found = []
        median = statistics.median(self.passes)
        rates = {
            "seconds": (self.seconds, median),
            "cpu_seconds": (self.cpu_seconds, statistics.median(self.cpu_passes)),
            "images_per_second": (self.images_per_second, self.images / median),
            "milliseconds_per_image": (self.milliseconds_per_image, 1000 * median / self.images),
        }
        for name, (said, due) in rates.items():
            if not math.isclose(said, due, rel_tol=ROUNDING):
                found.append(f"{name} is {said:g}, its passes give {due:g}")
        if not 1 <= self.threads <= self.cores:
            found.append(f"{self.threads} threads on {self.cores} cores")
        for wall, cpu in zip(self.passes, self.cpu_passes, strict=True):
            if cpu > 1.1 * wall * max(self.threads, 1) + 0.05:
                found.append(f"a pass of {wall:g} s used {cpu:g} s of CPU with threads = {self.threads}")
                break
        return found


def read_timing(path: Path, entry: Path | None = None) -> Timing:
    """A timing that `time --json` wrote; refused where it contradicts itself, the entry given, or this machine."""
    try:
        timing = Timing.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `countenance bias-bounty time --json` writes one") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: {place}: {first['msg']}; `countenance bias-bounty time --json` writes one") from None
    found = timing.contradictions()
    if entry is not None and timing.entry_sha256 != entry_hash(entry):
        found.append(f"it is of another entry: sha256 {timing.entry_sha256[:12]}…, not {entry_hash(entry)[:12]}…")
    here = {"machine": machine_name(), "cores": os.cpu_count()}
    for name, value in here.items():
        if getattr(timing, name) != value:
            found.append(
                f"{name} is {getattr(timing, name)!r}, this is {value!r}: times of two machines do not compare"
            )
    if found:
        raise InputError(f"{path}: the timing is refused: {'; '.join(found)}")
    return timing


def images_hash(images: Path) -> str:
    """A hash of the names and sizes of a folder's images."""
    digest = hashlib.sha256()
    for name, path in image_files(images).items():
        size = path.stat().st_size if path.is_file() else -1
        digest.update(f"{name}\0{size}\n".encode())
    return digest.hexdigest()


def measure(where: str | Path, images: Path, *, passes: int = PASSES, threads: int = 1) -> Timing:
    """Time an entry on the images of a folder, in a fresh process."""
    return measure_answers(where, images, passes=passes, threads=threads)[0]


def measure_answers(
    where: str | Path, images: Path, *, passes: int = PASSES, threads: int = 1
) -> tuple[Timing, dict[str, dict[str, int]]]:
    """The timing, and the classes that the entry gave each image while it was timed."""
    entry = entry_folder(where)
    EntryCard.read(entry)  # wrong input is refused here, where the message reaches the user unchanged
    names = list(image_files(images))
    places = {"entry": str(entry.resolve()), "images": str(images.resolve())}
    order = places | {"passes": passes, "threads": threads}
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    try:
        (found,) = each(
            "countenance.suites.bias_bounty.timing:serve", None, [order],
            environment=dict.fromkeys(variables, str(threads)),
        )  # fmt: skip
    except RuntimeError as error:  # the entry's networks, not our code, are what runs there
        last = (str(error).strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{entry}: cannot be timed ({last})") from None
    timing = Timing(
        **found["timing"], entry_sha256=entry_hash(entry), images_sha256=images_hash(images), machine=machine_name()
    )
    return timing, dict(zip(names, found["answers"], strict=True))


def serve(job: None) -> Callable[[dict[str, Any], Callable[..., None]], dict[str, Any]]:
    """The measuring process."""

    def handle(order: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:
        tell(limit=LONGEST)
        return _measured(order)

    return handle


def _measured(order: dict[str, Any]) -> dict[str, Any]:
    import resource

    from countenance.data.image import LazyImage

    start = time.perf_counter()
    entry = BountyEntry(Path(order["entry"]), threads=order["threads"])
    opening = time.perf_counter() - start
    start = time.perf_counter()
    images = [LazyImage(path).load() for path in image_files(Path(order["images"])).values()]
    loading = time.perf_counter() - start
    entry.classes(images[:WARM_UP])
    passes, cpu, answers = [], [], []
    for _ in range(order["passes"]):
        wall, own = time.perf_counter(), time.process_time()
        answers = entry.classes(images)
        passes.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - own)
    seconds = statistics.median(passes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    timing = {
        "entry": entry.name,
        "images": len(images),
        "seconds": seconds,
        "cpu_seconds": statistics.median(cpu),
        "passes": passes,
        "cpu_passes": cpu,
        "warm_up_images": min(WARM_UP, len(images)),
        "images_per_second": len(images) / seconds,
        "milliseconds_per_image": 1000 * seconds / len(images),
        "loading_seconds": loading,
        "opening_seconds": opening,
        "peak_memory_mb": peak / (2**20 if sys.platform == "darwin" else 2**10),  # macOS counts bytes, Linux kilobytes
        "threads": order["threads"],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    return {"timing": timing, "answers": answers}


def machine_name() -> str:
    """The processor's name where the system tells it, and the system."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text(errors="replace").splitlines() if line.startswith("model name")]
        name = lines[0].partition(":")[2].strip() if lines else name
    return f"{name}, {platform.system()}"


def timing_lines(timing: Timing) -> list[str]:
    """A timing in words."""
    lines = [
        f"{timing.entry}: {timing.images_per_second:.1f} images/s "
        f"({timing.milliseconds_per_image:.2f} ms an image), "
        f"median of {len(timing.passes)} passes over {timing.images} images after a warm-up",
        f"loading apart: {timing.loading_seconds:.2f} s for the images, "
        f"{timing.opening_seconds:.2f} s for the networks",
        f"peak memory {timing.peak_memory_mb:.0f} MB, {timing.threads} of {timing.cores} cores, {timing.machine}",
    ]
    return lines + ([f"warning: {busy_warning(timing)}"] if timing.busy > BUSY else [])


def busy_warning(timing: Timing, name: str = "") -> str:
    """What to do about a timing that waited for the processor."""
    return (
        f"{name or timing.entry} took {timing.busy:.1f} times its CPU time: the machine was busy with something else; "
        "time it again when it is idle"
    )
