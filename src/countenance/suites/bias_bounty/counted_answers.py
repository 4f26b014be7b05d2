"""The counted answers of an entry: those that it gives here, on the test and on the holdout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from countenance.data.adapters.bias_bounty_files import NONFACES_FILE, ClassTable, Truth, organiser_folder, read_names
from countenance.errors import InputError
from countenance.suites.bias_bounty.entry import image_files
from countenance.suites.bias_bounty.entry_runs import (
    OTHERWISE,
    RUNS,
    TEST_RUNS,
    EntryLimits,
    EntryRun,
    run_entries,
)
from countenance.suites.bias_bounty.pairing import copied_labels

HOLDOUT, TEST = "holdout", "test"


def run_splits(
    board: Path,
    data: Path,
    entries: Mapping[str, Path],
    splits: Sequence[str],
    *,
    time: bool,
    passes: int,
    limits: EntryLimits,
    step: Callable[..., None],
) -> dict[str, dict[str, EntryRun]]:
    """Every entry, run on the holdout (timed if requested), then on the test.

    An entry that fails on the holdout is not run again, so an endless one costs its limit once. A test may consist of
    labels alone.
    """
    runs: dict[str, dict[str, EntryRun]] = {}
    if HOLDOUT in splits:
        runs[HOLDOUT] = run_entries(
            board, entries, data / HOLDOUT, time=time, passes=passes, limits=limits, store=RUNS, step=step
        )
        entries = {name: entries[name] for name, run in runs[HOLDOUT].items() if not run.problem}
    if any(path.is_file() for path in image_files(data / TEST).values()):
        runs[TEST] = run_entries(board, entries, data / TEST, limits=limits, store=TEST_RUNS)
    return runs


def with_nonfaces(truth: Truth, data: Path, split: str) -> Truth:
    """The truth with the organiser's list of non-faces, which reveals copied labels."""
    listed = organiser_folder(data, split) / NONFACES_FILE
    return replace(truth, nonfaces=read_names(listed)) if not truth.nonfaces and listed.exists() else truth


def counted_answers(name: str, file: Path, truth: Truth, run: EntryRun | None) -> ClassTable | None:
    """The counted answers on a split; InputError if the entry fails, answers differently, or labels were copied."""
    split = file.stem
    predictions = truth.predictions(file) if file.exists() or split == "test" else None
    if run is not None:
        if run.problem:
            raise InputError(f"{name}: its entry cannot be run on the {split}: {run.problem}")
        differing = 0 if predictions is None else run.differing(predictions)
        if differing > OTHERWISE * len(run.names):
            raise InputError(
                f"{name}: its entry answers {differing} of {len(run.names)} images of the {split} otherwise than the "
                "predictions that were handed in"
            )
        predictions = run.table()
    if predictions is not None and (why := copied_labels(truth, predictions)):
        raise InputError(f"{name}: on the {split} {why}")
    return predictions
