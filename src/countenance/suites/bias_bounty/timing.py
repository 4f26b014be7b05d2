"""Timing an entry in its own process: warm-up, the median of several passes, loading apart from inference.

A `Timing` carries what it was measured from (every pass, the entry's hash, the images, the machine), and reading one
refuses numbers that contradict each other. A file can still be made up as a whole: the leaderboard gives multipliers
only for timings that it measured itself (`leaderboard --time`) and keeps in BOARD/_timings.json.
"""

import hashlib
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel

from countenance.data.image import LazyImage
from countenance.data.record import read_record
from countenance.errors import InputError
from countenance.files import write_json
from countenance.processes import each
from countenance.suites.bias_bounty.entry import BountyEntry, EntryCard, entry_folder, entry_hash, image_files
from countenance.suites.bias_bounty.files import ATTRIBUTES, read_predictions

PASSES = 5
WARM_UP = 32
LONGEST = 24 * 3600.0
"""Seconds that a measurement may take."""
BUSY = 1.25
"""A pass that took so many times its CPU time waited for the processor."""
ROUNDING = 1e-6
ENTRY, KEPT = "entry", "_timings.json"
"""Of a board: a submission's entry, and our timings (no submission's name begins with an underscore)."""
OTHERWISE = 0.01
"""Share of images that the timed entry may answer otherwise than its predictions: processors round differently."""


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

    def warning(self, name: str = "") -> str:
        """What to do about a timing that waited for the processor; empty where it did not."""
        busy = self.seconds / max(self.cpu_seconds, 1e-9)
        told = f"{name or self.entry} took {busy:.1f} times its CPU time: the machine was busy with something else"
        return f"{told}; time it again when it is idle" if busy > BUSY else ""

    def contradictions(self) -> list[str]:
        """Which numbers cannot come from one measurement."""
        times = (*self.passes, *self.cpu_passes)
        if not self.passes or len(self.passes) != len(self.cpu_passes) or self.images < 1:
            return [f"{len(self.passes)} passes, {len(self.cpu_passes)} CPU times, {self.images} images"]
        if not all(math.isfinite(t) and t > 0 for t in times):
            return ["a pass without a time above 0"]
        due = _rates(self.images, self.passes, self.cpu_passes)
        found = [
            f"{name} is {getattr(self, name):g}, its passes give {value:g}"
            for name, value in due.items()
            if not math.isclose(getattr(self, name), value, rel_tol=ROUNDING)
        ]
        if not 1 <= self.threads <= self.cores:
            found.append(f"{self.threads} threads on {self.cores} cores")
        for wall, cpu in zip(self.passes, self.cpu_passes, strict=True):
            if cpu > 1.1 * wall * max(self.threads, 1) + 0.05:
                found.append(f"a pass of {wall:g} s used {cpu:g} s of CPU with threads = {self.threads}")
                break
        return found


def _rates(images: int, passes: Sequence[float], cpu_passes: Sequence[float]) -> dict[str, float]:
    """What follows from the passes."""
    seconds = statistics.median(passes)
    return {
        "seconds": seconds,
        "cpu_seconds": statistics.median(cpu_passes),
        "images_per_second": images / seconds,
        "milliseconds_per_image": 1000 * seconds / images,
    }


def read_timing(path: Path, entry: Path | None = None) -> Timing:
    """A timing that `time --json` wrote; refused where it contradicts itself, the entry given, or this machine."""
    remedy = "`countenance bias-bounty time --json` writes one"
    timing = read_record(Timing, path, missing=remedy, wrong=f"; {remedy}")
    found = timing.contradictions()
    if entry is not None and timing.entry_sha256 != entry_hash(entry):
        found.append(f"it is of another entry: sha256 {timing.entry_sha256[:12]}…, not {entry_hash(entry)[:12]}…")
    for name, here in (("machine", machine_name()), ("cores", os.cpu_count())):
        if (said := getattr(timing, name)) != here:
            found.append(f"{name} is {said!r}, this is {here!r}: times of two machines do not compare")
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


def measure(
    where: str | Path, images: Path, *, passes: int = PASSES, threads: int = 1
) -> tuple[Timing, dict[str, dict[str, int]]]:
    """Time an entry on the images of a folder, in a fresh process; also the classes that it gave each image."""
    entry = entry_folder(where)
    EntryCard.read(entry)  # wrong input is refused here, where the message reaches the user unchanged
    names = list(image_files(images))
    order = {"entry": str(entry.resolve()), "images": str(images.resolve()), "passes": passes, "threads": threads}
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    try:
        (found,) = each("countenance.suites.bias_bounty.timing:serve", None, [order], environment=variables)
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
    import resource  # not there on Windows

    start = time.perf_counter()
    entry = BountyEntry(Path(order["entry"]), threads=order["threads"])
    opened = time.perf_counter()
    images = [LazyImage(path).load() for path in image_files(Path(order["images"])).values()]
    loaded = time.perf_counter()
    entry.classes(images[:WARM_UP])
    passes, cpu, answers = [], [], []
    for _ in range(order["passes"]):
        wall, own = time.perf_counter(), time.process_time()
        answers = entry.classes(images)
        passes.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - own)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    timing = _rates(len(images), passes, cpu) | {
        "entry": entry.name,
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
    return {"timing": timing, "answers": answers}


class _Kept(RootModel[dict[str, Timing]]):
    """What BOARD/_timings.json has."""


def time_entries(
    board: Path, entries: Mapping[str, Path], images: Path, passes: int, step: Callable[..., None]
) -> list[str]:
    """Time every entry that was handed in, one after the other, and keep the timings; returns what was refused.

    An entry must give the answers that were handed in: else something other than what answered would be timed.
    """
    found, notes = {}, []
    for name, folder in entries.items():
        try:
            timing, answers = measure(folder / ENTRY, images, passes=passes)
            said = read_predictions(folder / "holdout.csv").rows(list(answers))
            otherwise = [
                any(said[a][i] != classes[a] for a in ATTRIBUTES) for i, classes in enumerate(answers.values())
            ]
            if sum(otherwise) <= OTHERWISE * len(answers):
                found[name] = timing.model_dump()
            else:
                notes.append(
                    f"the timing of {name} is refused: its entry answers {otherwise} of {len(answers)} images "
                    "otherwise than the predictions that were handed in"
                )
        except InputError as error:
            notes.append(f"{name} cannot be timed: {error}")
        step()
    write_json(board / KEPT, found)
    return notes


def kept_timings(board: Path, entries: Mapping[str, Path], images: Path) -> tuple[dict[str, Timing], list[str]]:
    """The kept timings that are of these entries on these images, and a note for each that is not."""
    path = board / KEPT
    if not path.exists():
        return {}, []
    remedy = "; not the timings of `leaderboard --time`: remove it and time again"
    kept = read_record(_Kept, path, missing="", wrong=remedy).root
    found, notes = {}, []
    shown = images_hash(images) if kept else ""
    for name in (name for name in kept if name in entries):
        timing = kept[name]
        wrong = timing.contradictions()
        try:
            if timing.entry_sha256 != entry_hash(entries[name] / ENTRY):
                wrong.append("the entry has changed since")
        except InputError as error:
            wrong.append(str(error))
        if timing.images_sha256 != shown:
            wrong.append("the images have changed since")
        if wrong:
            notes.append(f"the kept timing of {name} is not used: {'; '.join(wrong)}; --time measures it again")
        else:
            found[name] = timing
    if len({(timing.machine, timing.threads) for timing in found.values()}) > 1:
        return {}, [
            *notes, "the kept timings come from different machines and are not used; --time measures all here"
        ]  # fmt: skip
    return found, notes


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
    warning = timing.warning()
    return [
        f"{timing.entry}: {timing.images_per_second:.1f} images/s "
        f"({timing.milliseconds_per_image:.2f} ms an image), "
        f"median of {len(timing.passes)} passes over {timing.images} images after a warm-up",
        f"loading apart: {timing.loading_seconds:.2f} s for the images, "
        f"{timing.opening_seconds:.2f} s for the networks",
        f"peak memory {timing.peak_memory_mb:.0f} MB, {timing.threads} of {timing.cores} cores, {timing.machine}",
        *([f"warning: {warning}"] if warning else []),
    ]
