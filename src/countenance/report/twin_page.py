"""One page with the twin ladders of several runs: for whom one change decides, model by model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countenance.report import render
from countenance.report.album import Album
from countenance.report.ladder import FIRST_ROWS, Ladder, ladders
from countenance.report.notes import RENDERED
from countenance.report.source import ReportSource
from countenance.run import Run
from countenance.run.file_names import REPORT


@dataclass(frozen=True)
class ModelLadder:
    """One ladder of one run."""

    model: str
    ladder: Ladder
    how_sure: str
    report: str


def write_twin_page(
    runs: Sequence[Run], out: Path, further: Sequence[tuple[str, Path]] = (), change: str | None = None
) -> Path:
    """Write a page with one ladder of each run, the worst model first, and return its path.

    The ladder is that of `change`, so that models are compared by the same thing, or else the run's first one.
    `further` are other pages to link: (title, path). Real people are not shown.
    """
    shown = []
    for run in runs:
        source = ReportSource.of(run)
        rungs = ladders(source, Album.of(source, "auto"))
        if rungs:
            chosen = next((ladder for ladder in rungs if ladder.attribute == change), rungs[0])
            how_sure = chosen.how_sure(source.audit.settings)
            shown.append(ModelLadder(run.model_label, chosen, how_sure, _link(run.path / REPORT, out)))
    shown.sort(key=lambda model: -model.ladder.decided)
    rendered = not any(run.manifest.dataset.card.real_people for run in runs)
    text = render.page(
        "twins.html.j2",
        shown=shown,
        first_rows=FIRST_ROWS,
        alone=True,
        note=RENDERED if rendered else "",
        further=[(name, _link(path, out)) for name, path in further],
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    return render.write(out, text)


def _link(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target.resolve(), page.resolve().parent)).as_posix()
