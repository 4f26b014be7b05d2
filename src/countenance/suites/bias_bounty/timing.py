"""Timings of entries: a participant's claims, and the leaderboard's own measurements.

A `Timing` names its entry and images, and reading it refuses contradictory numbers. A file can still be invented: the
leaderboard gives multipliers only for timings that it measured itself (`leaderboard --time`).
"""

import hashlib
import os
from pathlib import Path

from countenance.data.record import read_record
from countenance.errors import InputError
from countenance.models.registry import ModelSpec
from countenance.suites.bias_bounty.entry import EntryCard, entry_folder, entry_hash, image_files
from countenance.suites.bias_bounty.inference_timing import LONGEST, PASSES, ModelTiming, machine_name, time_model

ENTRY = "entry"
"""The folder of a submission's entry."""


class Timing(ModelTiming):
    """The content of the file that `time --json` writes."""

    entry: str
    entry_sha256: str
    images_sha256: str
    """Of the images' names and sizes."""


def read_timing(path: Path, entry: Path | None = None) -> Timing:
    """A timing that `time --json` wrote; refused if it contradicts itself, the entry given, or this machine."""
    remedy = "`countenance bias-bounty time --json` writes one"
    timing = read_record(Timing, path, missing=remedy, wrong=f"; {remedy}")
    problems = timing.contradictions()
    if entry is not None and timing.entry_sha256 != entry_hash(entry):
        problems.append(f"it is of another entry: sha256 {timing.entry_sha256[:12]}…, not {entry_hash(entry)[:12]}…")
    for name, here in (("machine", machine_name()), ("cores", os.cpu_count())):
        if (stated := getattr(timing, name)) != here:
            problems.append(f"{name} is {stated!r}, this is {here!r}: times of two machines do not compare")
    if problems:
        raise InputError(f"{path}: the timing is refused: {'; '.join(problems)}")
    return timing


def images_hash(images: Path) -> str:
    """A hash of the names and sizes of a folder's images."""
    sizes = {name: path.stat().st_size if path.is_file() else -1 for name, path in image_files(images).items()}
    return hashlib.sha256("".join(f"{name}\0{size}\n" for name, size in sizes.items()).encode()).hexdigest()


def measure(
    where: str | Path,
    images: Path,
    *,
    passes: int = PASSES,
    threads: int = 1,
    seconds: float = LONGEST,
    memory_gb: float | None = None,
) -> tuple[Timing, dict[str, dict[str, int]]]:
    """Time an entry on the images of a folder, in a fresh process; also returns its three classes for each image.

    An entry that needs more than `seconds` in all, or more memory, is an InputError.
    """
    entry = entry_folder(where)
    card = EntryCard.read(entry)  # wrong input is refused here, where the message reaches the user unchanged
    files = image_files(images)
    settings = {"where": str(entry.resolve()), "threads": threads}
    spec = ModelSpec("countenance.suites.bias_bounty.entry:EntryClasses", settings=settings)
    try:
        measured, answers = time_model(
            spec,
            list(files.values()),
            passes=passes,
            threads=threads,
            answers=True,
            seconds=seconds,
            memory_gb=memory_gb,
        )
    except InputError as error:
        raise InputError(str(error).replace(spec.source, str(entry))) from None
    known = {"entry": card.name, "entry_sha256": entry_hash(entry), "images_sha256": images_hash(images)}
    return Timing(**measured.model_dump(), **known), dict(zip(files, answers, strict=True))
