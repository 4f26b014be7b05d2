"""Entries run by the organiser: their answers decide, and only their speed on the holdout here earns a multiplier.

BOARD/_runs.json keeps the answers of each entry on the holdout, BOARD/_test_runs.json on the test, with the hashes of
the entry and of the images, so that a new leaderboard runs only changed entries. Each entry runs in its own process
with limits of time and memory.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, RootModel

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, ClassTable
from countenance.data.record import read_record
from countenance.errors import InputError
from countenance.files import write_json
from countenance.suites.bias_bounty.entry import entry_hash
from countenance.suites.bias_bounty.inference_timing import PASSES, machine_name
from countenance.suites.bias_bounty.timing import Timing, images_hash, measure

RUNS, TEST_RUNS = "_runs.json", "_test_runs.json"
"""Files of a board; no submission's name begins with an underscore."""
OTHERWISE = 0.01
"""The largest share of images on which an entry may differ from its submission: processors round differently."""


@dataclass(frozen=True)
class EntryLimits:
    """The resources that an entry may use on the organiser's machine."""

    seconds: float = 900.0
    memory_gb: float = 8.0


class EntryRun(BaseModel):
    """An entry's answers on the pictures of a split, or the reason why it gave no answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    entry_sha256: str
    images_sha256: str
    names: tuple[str, ...] = ()
    classes: dict[str, list[int]] = {}
    timing: Timing | None = None
    """None where the run was not timed (one pass)."""
    problem: str = ""
    limits: tuple[float, float] | None = None
    """The limits (seconds, memory) under which it failed; with others it is run again."""

    def holds(self, entry: str, images: str, limits: EntryLimits) -> bool:
        """Whether the run is of these files, and a failure of these limits."""
        same_limits = not self.problem or self.limits == (limits.seconds, limits.memory_gb)
        return (self.entry_sha256, self.images_sha256) == (entry, images) and same_limits

    def table(self) -> ClassTable:
        return ClassTable(self.names, {name: np.array(codes, dtype=np.int64) for name, codes in self.classes.items()})

    def differing(self, predictions: ClassTable) -> int:
        """How many images the entry answers differently from some predictions."""
        rows = predictions.rows(self.names)
        other = [rows[name] != np.array(self.classes[name], dtype=np.int64) for name in ATTRIBUTES]
        return int(np.any(other, axis=0).sum())


class _Runs(RootModel[dict[str, EntryRun]]):
    """The content of BOARD/_runs.json."""


def run_entries(
    board: Path,
    entries: Mapping[str, Path],
    images: Path,
    *,
    time: bool = False,
    passes: int = PASSES,
    limits: EntryLimits = EntryLimits(),
    store: str = RUNS,
    step: Callable[..., None] = lambda *_: None,
) -> dict[str, EntryRun]:
    """Run the entries (name → folder) that have no run of the same files yet; with `time` all entries, timed."""
    stored = _stored(board / store)
    shown = images_hash(images) if entries else ""
    runs: dict[str, EntryRun] = {}
    run_here: dict[str, EntryRun] = {}  # the same entry under several names is run once
    for name, entry in entries.items():
        known, digest = stored.get(name), _hash(entry)
        if time or known is None or not known.holds(digest, shown, limits):
            known = run_here.get(digest) or _run(entry, images, shown, passes if time else 1, limits, timed=time)
            run_here |= {digest: known} if digest else {}
        runs[name] = known
        step()
    if runs != stored:
        write_json(board / store, {name: run.model_dump() for name, run in runs.items()})
    return runs


def counted_timings(runs: Mapping[str, EntryRun]) -> tuple[dict[str, Timing], list[str]]:
    """Timings that earn multipliers, and a note for each that does not."""
    timings, notes = {}, []
    for name, run in runs.items():
        if run.timing is None:
            continue
        wrong = run.timing.contradictions()
        if (run.timing.machine, run.timing.cores) != (machine_name(), os.cpu_count()):
            wrong.append("it was made on another machine")
        if wrong:
            notes.append(f"the timing of {name} is not used: {'; '.join(wrong)}; time=True measures it again")
        else:
            timings[name] = run.timing
    return timings, notes


def _hash(entry: Path) -> str:
    try:
        return entry_hash(entry)
    except InputError:
        return ""


def _run(entry: Path, images: Path, shown: str, passes: int, limits: EntryLimits, *, timed: bool) -> EntryRun:
    hashes = {"entry_sha256": _hash(entry), "images_sha256": shown}
    try:
        timing, answers = measure(entry, images, passes=passes, seconds=limits.seconds, memory_gb=limits.memory_gb)
    except InputError as error:
        return EntryRun(**hashes, problem=str(error), limits=(limits.seconds, limits.memory_gb))
    classes = {name: [row[name] for row in answers.values()] for name in ATTRIBUTES}
    return EntryRun(**hashes, names=tuple(answers), classes=classes, timing=timing if timed else None)


def _stored(path: Path) -> dict[str, EntryRun]:
    if not path.exists():
        return {}
    return read_record(_Runs, path, missing="", wrong="; not what `leaderboard` writes: remove it").root
