"""The speed of a model: in its own process, after a warm-up, the median of several passes, loading timed apart.

A timing includes every pass with its CPU time, and the machine, so that contradictory numbers can be refused.
"""

import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.models.registry import ModelSpec
from countenance.run.engine.processes import each

PASSES = 5
WARM_UP = 32
LONGEST = 24 * 3600.0
"""Seconds that a measurement may take."""
BUSY = 1.25
"""A pass that took this many times its CPU time waited for the processor."""
ROUNDING = 1e-6


class ModelTiming(BaseModel):
    """A measured timing. Seconds are of a pass over all images; the median counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    images: int
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

    def warning(self, name: str) -> str:
        """The advice on a timing that waited for the processor; empty if it did not."""
        busy = self.seconds / max(self.cpu_seconds, 1e-9)
        sentence = f"{name} took {busy:.1f} times its CPU time: the machine was busy with something else"
        return f"{sentence}; time it again when it is idle" if busy > BUSY else ""

    def contradictions(self) -> list[str]:
        """The numbers that cannot come from one measurement, as sentences."""
        times = (*self.passes, *self.cpu_passes)
        if not self.passes or len(self.passes) != len(self.cpu_passes) or self.images < 1:
            return [f"{len(self.passes)} passes, {len(self.cpu_passes)} CPU times, {self.images} images"]
        if not all(math.isfinite(t) and t > 0 for t in times):
            return ["a pass without a time above 0"]
        due = _rates(self.images, self.passes, self.cpu_passes)
        problems = [
            f"{name} is {getattr(self, name):g}, its passes give {value:g}"
            for name, value in due.items()
            if not math.isclose(getattr(self, name), value, rel_tol=ROUNDING)
        ]
        if not 1 <= self.threads <= self.cores:
            problems.append(f"{self.threads} threads on {self.cores} cores")
        for wall, cpu in zip(self.passes, self.cpu_passes, strict=True):
            if cpu > 1.1 * wall * max(self.threads, 1) + 0.05:
                problems.append(f"a pass of {wall:g} s used {cpu:g} s of CPU with threads = {self.threads}")
                break
        return problems

    def lines(self, name: str) -> list[str]:
        """The timing in words."""
        warning = self.warning(name)
        return [
            f"{name}: {self.images_per_second:.1f} images/s ({self.milliseconds_per_image:.2f} ms an image), "
            f"median of {len(self.passes)} passes over {self.images} images after a warm-up",
            f"loading apart: {self.loading_seconds:.2f} s for the images, {self.opening_seconds:.2f} s for the model",
            f"peak memory {self.peak_memory_mb:.0f} MB, {self.threads} of {self.cores} cores, {self.machine}",
            *([f"warning: {warning}"] if warning else []),
        ]


def _rates(images: int, passes: Sequence[float], cpu_passes: Sequence[float]) -> dict[str, float]:
    """The median times of the passes and the speeds that follow from them."""
    seconds = statistics.median(passes)
    return {
        "seconds": seconds,
        "cpu_seconds": statistics.median(cpu_passes),
        "images_per_second": images / seconds,
        "milliseconds_per_image": 1000 * seconds / images,
    }


def time_model(
    spec: ModelSpec,
    images: Sequence[Path],
    *,
    passes: int = PASSES,
    threads: int = 1,
    answers: bool = False,
    seconds: float = LONGEST,
    memory_gb: float | None = None,
) -> tuple[ModelTiming, list[Any]]:
    """Time a model on images, in a fresh process; with `answers` (plain values only) also its answers.

    InputError where it needs more than `seconds` in all, or more memory (address space; not on Windows).

    >>> import tempfile
    >>> from PIL import Image
    >>> picture = Path(tempfile.mkdtemp()) / "a.png"
    >>> Image.new("RGB", (64, 64)).save(picture)
    >>> timing, _ = time_model(ModelSpec("countenance-mask"), [picture], passes=2)
    >>> timing.images, len(timing.passes), timing.contradictions()
    (1, 2, [])
    """
    order = {
        "spec": vars(spec.located()),
        "images": [str(path.resolve()) for path in images],
        "passes": passes,
        "threads": threads,
        "answers": answers,
        "seconds": seconds,
        "memory_gb": memory_gb,
    }
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    try:
        (outcome,) = each("countenance.suites.bias_bounty.inference_timing:serve", None, [order], environment=variables)
    except RuntimeError as error:  # the model, not our code, is what runs there
        last = (str(error).strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{spec.source}: cannot be timed ({last})") from None
    return ModelTiming(**outcome["timing"], machine=machine_name()), outcome["answers"]


def serve(job: None) -> Callable[[dict[str, Any], Callable[..., None]], dict[str, Any]]:
    """The measuring process."""

    def handle(order: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:
        tell(limit=order["seconds"])
        _limit_memory(order["memory_gb"])
        return _measured(order)

    return handle


def _limit_memory(gigabytes: float | None) -> None:
    """Limit this process's address space to its present size and this many gigabytes more."""
    if gigabytes is None or sys.platform == "win32":
        return
    import resource

    mapped = Path("/proc/self/statm")
    held = int(mapped.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if mapped.exists() else 0
    size = held + int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _measured(order: dict[str, Any]) -> dict[str, Any]:
    import resource  # missing on Windows

    start = time.perf_counter()
    model = ModelSpec(**order["spec"]).load()
    opened = time.perf_counter()
    images = [LazyImage(Path(path)).load() for path in order["images"]]
    loaded = time.perf_counter()
    model([image.copy() for image in images[:WARM_UP]])
    passes, cpu = [], []
    answers: Sequence[Any] = ()
    for _ in range(order["passes"]):
        fresh = [image.copy() for image in images]  # a model may write on what it is given
        wall, own = time.perf_counter(), time.process_time()
        answers = model(fresh)
        passes.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - own)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    timing = _rates(len(images), passes, cpu) | {
        "images": len(images),
        "passes": passes,
        "cpu_passes": cpu,
        "warm_up_images": min(WARM_UP, len(images)),
        "loading_seconds": loaded - opened,
        "opening_seconds": opened - start,
        "peak_memory_mb": peak / (2**20 if sys.platform == "darwin" else 2**10),  # macOS counts bytes, Linux kilobytes
        "threads": order["threads"],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    return {"timing": timing, "answers": list(answers) if order["answers"] else []}


def machine_name() -> str:
    """The processor's name if the system reports it, and the system."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text(errors="replace").splitlines() if line.startswith("model name")]
        name = lines[0].partition(":")[2].strip() if lines else name
    return f"{name}, {platform.system()}"
