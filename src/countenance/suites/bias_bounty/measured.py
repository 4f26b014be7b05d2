"""The leaderboard's own timings: every entry run here, kept in BOARD/_timings.json with what they were measured on."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from countenance.errors import InputError
from countenance.files import write_json
from countenance.suites.bias_bounty.entry import entry_hash
from countenance.suites.bias_bounty.files import ATTRIBUTES, read_predictions
from countenance.suites.bias_bounty.submissions import ENTRY
from countenance.suites.bias_bounty.timing import Timing, images_hash, measure_answers

FILE = "_timings.json"
"""No submission can have this name: theirs begin with a letter or a digit."""
OTHERWISE = 0.01
"""Share of images that the timed entry may answer otherwise than its predictions: processors round differently."""


def time_entries(
    board: Path, entries: Mapping[str, Path], images: Path, *, passes: int, step: Callable[..., None]
) -> list[str]:
    """Time every entry that was handed in, one after the other, and keep the timings; returns what was refused.

    An entry must give the answers that were handed in: else something other than what answered would be timed.
    """
    found, notes = {}, []
    for name, folder in entries.items():
        try:
            timing, answers = measure_answers(folder / ENTRY, images, passes=passes)
        except InputError as error:
            notes.append(f"{name} cannot be timed: {error}")
            step()
            continue
        said = read_predictions(folder / "holdout.csv")
        differ = sum(
            any(int(said.codes[attribute][said.index[image]]) != classes[attribute] for attribute in ATTRIBUTES)
            for image, classes in answers.items()
            if image in said.index
        )
        if differ > OTHERWISE * len(answers):
            notes.append(
                f"the timing of {name} is refused: its entry answers {differ} of {len(answers)} images otherwise than "
                "the predictions that were handed in"
            )
        else:
            found[name] = timing
        step()
    write_json(board / FILE, {name: timing.model_dump() for name, timing in found.items()})
    return notes


def measured_timings(board: Path, entries: Mapping[str, Path], images: Path) -> tuple[dict[str, Timing], list[str]]:
    """The kept timings that are of these entries on these images, and a note for each that is not."""
    path = board / FILE
    if not path.exists():
        return {}, []
    try:
        kept = {name: Timing.model_validate(row) for name, row in json.loads(path.read_text("utf-8")).items()}
    except (ValueError, AttributeError, ValidationError) as error:
        raise InputError(
            f"{path}: not the timings of `leaderboard --time` ({error}); remove it and time again"
        ) from None
    found, notes = {}, []
    shown = images_hash(images) if kept else ""
    for name, timing in kept.items():
        if name not in entries:
            continue
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
    machines = {(timing.machine, timing.threads) for timing in found.values()}
    if len(machines) > 1:
        notes.append("the kept timings come from different machines and are not used; --time measures all here")
        found = {}
    return found, notes
