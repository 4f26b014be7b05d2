"""An evaluation of score files that leaves runs: one for each file."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from unicodedata import normalize

from countenance.data.adapters.uccs import read_dataset, source_of
from countenance.errors import InputError
from countenance.files import file_hash
from countenance.models import ModelCard
from countenance.run import Run, evaluate
from countenance.run.store import RunStore
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.readings import reading_warnings
from countenance.suites.uccs.task import DETECTION, RECOGNITION, CurveOptions


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
    """Refuse a place for runs that holds other files, before anything is written."""
    for place in places(out, labels):
        if place.is_file() or (place.is_dir() and any(place.iterdir()) and not RunStore(place).exists()):
            raise InputError(f"{place}: exists and holds no run; name a folder that is new or empty")


def write_runs(
    evaluations: Sequence[UccsEvaluation],
    data: Path,
    folders: Sequence[Path],
    by: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> list[Run]:
    """A run for each evaluation; a finished run of the same evaluation is not changed."""
    first = evaluations[0]
    which, version = first.protocol.path.stem, first.version
    dataset = read_dataset(
        data, which, version, pictures=False, exclude=first.settings.exclude, protocol=first.protocol
    )
    runs = []
    for evaluation, place in zip(evaluations, folders, strict=True):
        own = {name: value for name, value in vars(evaluation.settings).items() if name in CurveOptions.model_fields}
        runs.append(
            evaluate(
                f"predictions:{evaluation.scores.path}",
                DETECTION if evaluation.kind == "FROC" else RECOGNITION,
                dataset,
                out=place,
                options={"version": version, **own},
                settings={"format": "uccs", "top": str(evaluation.settings.rank + 1), "version": str(version)},
                card=ModelCard(
                    name=evaluation.label,
                    description="score file",
                    content=file_hash(evaluation.scores.path),
                    hashed=True,
                ),
                source=source_of(data, which, version, first.settings.exclude),
                suite="uccs",
                by=[name.lower() for name in by] or None,
                notes=lambda *_, evaluation=evaluation: list(reading_warnings(evaluation, data)),
                about={"kind": evaluation.kind, "protocol_version": version, "which_set": which},
                say=say,
            )
        )
    return runs
