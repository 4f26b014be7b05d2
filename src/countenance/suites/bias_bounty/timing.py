"""Timing entries: what a participant claims, and what the leaderboard measures itself.

A `Timing` says of which entry on which images it is, and reading one refuses numbers that contradict each other. A file
can still be made up as a whole: the leaderboard gives multipliers only for timings that it measured itself
(`leaderboard --time`) and keeps in BOARD/_timings.json.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import RootModel

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, read_predictions
from countenance.data.record import read_record
from countenance.errors import InputError
from countenance.files import write_json
from countenance.models.registry import ModelSpec
from countenance.suites.bias_bounty.entry import EntryCard, entry_folder, entry_hash, image_files
from countenance.suites.bias_bounty.inference_timing import PASSES, ModelTiming, machine_name, time_model

ENTRY, KEPT = "entry", "_timings.json"
"""Of a board: a submission's entry, and our timings (no submission's name begins with an underscore)."""
OTHERWISE = 0.01
"""Share of images that the timed entry may answer otherwise than its predictions: processors round differently."""


class Timing(ModelTiming):
    """What `time --json` writes."""

    entry: str
    entry_sha256: str
    images_sha256: str
    """Of the images' names and sizes."""


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
    sizes = {name: path.stat().st_size if path.is_file() else -1 for name, path in image_files(images).items()}
    return hashlib.sha256("".join(f"{name}\0{size}\n" for name, size in sizes.items()).encode()).hexdigest()


def measure(
    where: str | Path, images: Path, *, passes: int = PASSES, threads: int = 1
) -> tuple[Timing, dict[str, dict[str, int]]]:
    """Time an entry on the images of a folder, in a fresh process; also the classes that it gave each image."""
    entry = entry_folder(where)
    card = EntryCard.read(entry)  # wrong input is refused here, where the message reaches the user unchanged
    files = image_files(images)
    settings = {"where": str(entry.resolve()), "threads": threads}
    spec = ModelSpec("countenance.suites.bias_bounty.entry:EntryClasses", settings=settings)
    try:
        found, answers = time_model(spec, list(files.values()), passes=passes, threads=threads, answers=True)
    except InputError as error:
        raise InputError(str(error).replace(spec.source, str(entry))) from None
    known = {"entry": card.name, "entry_sha256": entry_hash(entry), "images_sha256": images_hash(images)}
    return Timing(**found.model_dump(), **known), dict(zip(files, answers, strict=True))


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
                    f"the timing of {name} is refused: its entry answers {sum(otherwise)} of {len(answers)} images "
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
