"""Samples that changed between two models: from right to wrong and back, with pictures where these may be shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.auditing import Audit
from countenance.comparing import Comparison
from countenance.comparing.entries import ComparedModel, entries_of
from countenance.comparing.pairing import Paired, pair_entries
from countenance.errors import InputError
from countenance.report.album import Album
from countenance.report.drawing import answer_words
from countenance.report.gallery import MOST_ROWS, Failure, choose, failure, loaded, mode_for, why_off
from countenance.report.harms import EVERYONE, HarmSide
from countenance.report.metric_words import noun_in, outcome_in
from countenance.report.source import ReportSource
from countenance.report.tiles import TILE, FaceTile, dots
from countenance.run import Run

WORSE = ("From right to wrong", "Largest losses")
SHOWN = 12
NAMED = 40
FIRST = 6
"""Faces of each direction on the first screen."""


@dataclass(frozen=True)
class Changed:
    """Samples that changed in one direction by one metric."""

    title: str
    metric: str
    total: int
    sentence: str = ""
    failures: list[Failure] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    real: bool = False
    mode: str = "off"
    heading: str = ""
    """What became of them, for the first screen: "now missed"."""
    tiles: list[FaceTile] = field(default_factory=list)
    """Some of them for the first screen."""
    dots: Markup = field(default_factory=Markup)
    """A dot for each row where no picture may be shown."""


def galleries(comparison: Comparison, entries: Sequence[Any], choice: str) -> list[Changed]:
    """The samples that changed by the first metric: losses first, then gains."""
    opened = entries_of(entries, [comparison.a, comparison.b])
    settings = comparison.settings
    metric = settings["metrics"][0]
    paired = pair_entries(opened, by=[], metrics=[metric], pair=settings["pair"], cluster=None, where=settings["where"])
    change = paired.scores[metric][:, 1] - paired.scores[metric][:, 0]
    sign = -1.0 if settings["better"][metric] == "lower" else 1.0
    rate = paired.kinds[metric] == "rate"
    albums = []
    for way, words in (
        (-1.0, WORSE),
        (1.0, ("From wrong to right", "Largest gains")),
    ):
        moved = np.nan_to_num(way * sign * change)
        rows = np.flatnonzero(moved > 0)
        rows = rows[np.argsort(-moved[rows], kind="stable")]
        outcomes = outcome_in(metric, settings) if rate else None
        heading = f"Now {outcomes[way > 0]}" if outcomes else words[not rate]
        album = Changed(words[not rate], metric, len(rows), heading=heading)
        album = _shown(album, rows, opened, paired, choice, settings)
        if rate and way < 0 and album.total and not album.tiles:
            album = replace(album, dots=_dots(album, paired.rows))
        albums.append(album)
    return albums


def _dots(album: Changed, rows: int) -> Markup:
    """All rows as dots, those who got worse in red."""
    return dots(HarmSide(EVERYONE, EVERYONE, EVERYONE, "", rows, 0, 0.0, 0.0, 0.0, album.total, "row"), EVERYONE)


def _shown(
    album: Changed, rows: Any, entries: Sequence[ComparedModel], paired: Paired, choice: str, settings: dict[str, Any]
) -> Changed:
    if not len(rows):
        return replace(album, sentence="No sample.")
    keys = [
        " · ".join(str(paired.table.column(_column(paired, name))[int(row)].as_py()) for name in paired.keys)
        for row in rows[:NAMED]
    ]
    album = replace(album, keys=keys)
    old, new = entries[0].run, entries[1].run
    if old is None or new is None or "sample" not in paired.keys:
        return album
    real = any(run.manifest.dataset.card.real_people for run in (old, new))
    mode = mode_for(choice, real)
    album = replace(album, real=real, mode=mode)
    if mode == "off":
        return replace(album, sentence=why_off(choice))
    source = _source(new, settings)
    dataset, problem = loaded(source)
    if dataset is None:
        return replace(album, sentence=f"No pictures: {problem}.")
    table = paired.table.take(rows[:MOST_ROWS])
    scores = paired.scores[album.metric][rows[:MOST_ROWS]]
    candidates = [row | {"_scores": pair} for row, pair in zip(table.to_pylist(), scores.tolist(), strict=True)]
    chosen = choose(candidates, source, SHOWN)
    names = {str(row["sample"]) for row in chosen}
    samples = {sample.id: sample for sample in dataset if sample.id in names}
    before, after = dict(old.store.answers(names)), dict(new.store.answers(names))
    faces = Album(mode, samples=samples)
    tiles: list[FaceTile] = []
    pictures = []
    for row in chosen:
        sample = samples.get(str(row["sample"]))
        if sample is None:
            continue
        try:
            picture = failure(
                row, sample, after.get(sample.id), source, blurred=mode == "blurred", before=before.get(sample.id)
            )
        except InputError:
            continue
        both = [
            f"{entry.name}: {words}"
            for entry, answers in zip(entries, (before, after), strict=True)
            if (words := answer_words(answers.get(sample.id)))
        ]
        first, second = row["_scores"]
        score = _score_words(album.metric, (first, second), settings)
        pictures.append(replace(picture, words="; ".join(both), scores=[score]))
        face = faces.face(sample.id, row.get("subject"), TILE) if len(tiles) < FIRST else None
        if face is not None:
            about = ", ".join(f"{name} {value}".strip() for name, value in picture.about)
            word = score[1].rpartition(" → ")[2]
            tiles.append(FaceTile(face, album.title in WORSE, word, about, sample.id))
    sentence = "" if pictures else "The pictures cannot be read again."
    return replace(album, failures=pictures, tiles=tiles, sentence=sentence)


def _score_words(metric: str, scores: tuple[float, float], settings: dict[str, Any]) -> tuple[str, str]:
    """A row's two scores: in the task's words for right and wrong if it has them, else as numbers."""
    first, second = scores
    outcomes = outcome_in(metric, settings)
    if outcomes and {first, second} == {0.0, 1.0}:
        return "", f"{outcomes[int(first)]} → {outcomes[int(second)]}"
    return noun_in(metric, settings), f"{first:.3g} → {second:.3g}"


def _column(paired: Paired, name: str) -> str:
    return name if name in paired.table.column_names else f"attr.{name}"


def _source(run: Run, settings: dict[str, Any]) -> ReportSource:
    """The source for the galleries: the task and the attributes that were compared."""
    by = [name for name in settings["by"] if "*" not in name]
    used = {"metrics": settings["metrics"], "by": [name.rpartition(":")[0] or name for name in by]}
    return ReportSource(Audit(verdict="", reason="", findings=[], excluded=[], settings=used), run.task(), run)
