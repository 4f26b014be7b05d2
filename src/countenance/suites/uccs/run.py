"""An evaluation of score files that leaves runs: one for each file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import numpy as np

from countenance.answers.formats.uccs import predictions_of
from countenance.data import Dataset
from countenance.data.adapters.uccs import read_dataset, source_of
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run import Run, evaluate
from countenance.run.store import RunStore
from countenance.run.whole_run import stored
from countenance.suites.uccs.evaluation import Submission, UccsEvaluation
from countenance.suites.uccs.rules import evaluated, in_numbers, refuse_without_known
from countenance.suites.uccs.task import DETECTION, RECOGNITION, CurveOptions, hash_of, merge, partial, submission_of
from countenance.tasks import State
from countenance.tasks.states import merged


def places(out: Path, labels: Sequence[str]) -> list[Path]:
    """The places of runs: `out` itself for one file, `out/LABEL` for each of several.

    >>> [place.as_posix() for place in places(Path("runs"), ["mine.txt", "a/b"])]
    ['runs/mine.txt', 'runs/a_b']
    """
    if len(labels) == 1:
        return [out]
    names = [re.sub(r"[/\\\x00-\x1f\x7f]", "_", label).strip(". ")[:80] or "run" for label in labels]
    alike = [normalize("NFC", name).casefold() for name in names]  # one name on some machines
    twice = next((name for name, plain in zip(names, alike, strict=True) if alike.count(plain) > 1), None)
    if twice is not None:
        raise InputError(f"out=: two result files are labelled {twice!r}; give each its own label with labels=")
    return [out / name for name in names]


def check_places(out: Path, labels: Sequence[str]) -> None:
    """Refuse a place that is a file or a non-empty folder without a run, before anything is written."""
    for place in places(out, labels):
        if place.is_file() or (place.is_dir() and any(place.iterdir()) and not RunStore(place).exists()):
            raise InputError(f"{place}: exists and holds no run; name a folder that is new or empty")


def write_runs(
    submissions: Sequence[Submission],
    data: Path,
    folders: Sequence[Path],
    by: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> list[Run]:
    """A run for each submission; a finished run of the same submission is left as it is."""
    first = submissions[0]
    which, version = first.protocol.path.stem, first.version
    for submission in submissions:
        refuse_without_known(submission)
    dataset = read_dataset(
        data, which, version, pictures=False, exclude=first.settings.exclude, protocol=first.protocol
    )
    runs = []
    for submission, place in zip(submissions, folders, strict=True):
        own = {name: value for name, value in vars(submission.settings).items() if name in CurveOptions.model_fields}
        kind = "FROC" if not submission.recognition else "DIR" if version == 2 else "O-ROC"
        runs.append(
            evaluate(
                predictions_of(submission.scores, submission.protocol.images),
                RECOGNITION if submission.recognition else DETECTION,
                dataset,
                out=place,
                options={"version": version, **own},
                card=ModelCard(
                    name=submission.label,
                    description="score file",
                    content=submission.scores.sha256,
                    hashed=True,
                ),
                source=source_of(data, which, version, first.settings.exclude),
                suite="uccs",
                by=[name.lower() for name in by] or None,
                notes=lambda *_, submission=submission: list(submission.reading),
                about={"kind": kind, "protocol_version": version, "which_set": which},
                say=say,
            )
        )
    return runs


def evaluation_in(run: Run, submission: Submission) -> UccsEvaluation:
    """The evaluation that the run of a submission holds, under the submission's label and with its settings."""
    evaluation, _ = evaluation_again(run)
    shown = replace(
        evaluation,
        label=submission.label,
        protocol=replace(evaluation.protocol, path=submission.protocol.path),
        settings=submission.settings,
        warnings=submission.warnings,
        strange=int(np.count_nonzero(submission.row_image < 0)),
    )
    return in_numbers(shown) if submission.settings.numbers else shown


def evaluation_again(run: Run) -> tuple[UccsEvaluation, Dataset]:
    """The evaluation that a run holds, and the dataset: the stored outcomes of the stored predictions."""
    dataset = run.dataset()
    evaluation = run.evidence(lambda outcomes: _evaluation_of_stored(run, dataset, outcomes))
    faces = {sample.id: sample.subjects for sample in dataset}
    attributes_of_faces = [face.attributes for name in evaluation.protocol.images for face in faces[name]]
    names = dict.fromkeys(name for values in attributes_of_faces for name in values)
    attributes = {name: [str(values.get(name) or "") for values in attributes_of_faces] for name in names}
    return replace(
        evaluation, label=run.model_label, protocol=replace(evaluation.protocol, attributes=attributes)
    ), dataset


def _evaluation_of_stored(run: Run, dataset: Dataset, outcomes: State) -> UccsEvaluation:
    shards = stored(run.store, dataset, run.manifest).shards()
    state = merged((partial(shard) for shard in shards), merge)
    if state is None:
        raise InputError(f"{run.place}: the run has no stored predictions")
    recognition = run.manifest.task == RECOGNITION.name
    submission = submission_of(state, CurveOptions(**run.manifest.options), recognition=recognition)
    # A run of an earlier version has no outcomes, and those of a truth that was edited since are not of this one.
    same = np.array_equal(outcomes.get("of", ()), [hash_of(state)])
    return UccsEvaluation.from_state(submission, outcomes) if same else evaluated(submission)
