"""Samples that changed between two models: from right to wrong and back, with pictures where these may be shown."""

from collections.abc import Iterator, Sequence
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
from countenance.report.gallery import (
    MOST_ABOUT,
    MOST_ROWS,
    Failure,
    about_row,
    choose,
    failure,
    loaded,
    mode_for,
    why_off,
)
from countenance.report.harms import EVERYONE, HarmSide
from countenance.report.metric_words import noun_in, outcome_in
from countenance.report.source import ReportSource
from countenance.report.tiles import TILE, FaceTile, dots
from countenance.run import Run

WORSE = ("From right to wrong", "Largest losses")
SHOWN = 12
NAMED = 40
SECTION = "changed"
"""The part of the page with all of them."""
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
    more: str = ""
    """Where all of them are; empty where nothing leads there."""


@dataclass(frozen=True)
class Moved:
    """The rows that changed in one direction, the largest change first."""

    album: Changed
    rows: Any
    entries: Sequence[ComparedModel]
    paired: Paired

    def candidates(self) -> list[dict[str, Any]]:
        """The rows among which pictures are chosen, with both scores as `_scores`."""
        rows = self.rows[:MOST_ROWS]
        scores = self.paired.scores[self.album.metric][rows].tolist()
        table = self.paired.table.take(rows).to_pylist()
        return [row | {"_scores": pair} for row, pair in zip(table, scores, strict=True)]


def galleries(comparison: Comparison, entries: Sequence[Any], choice: str) -> list[Changed]:
    """The samples that changed by the first metric: losses first, then gains."""
    settings = comparison.settings
    return [_dotted(_shown(moved, choice, settings), moved) for moved in _moved(comparison, entries)]


def faces_of(comparison: Comparison, runs: Sequence[Run]) -> list[Changed]:
    """The same for a first screen alone."""
    return first_faces(comparison, runs, Album.of(_source(runs[1], comparison.settings), "auto"))


def first_faces(comparison: Comparison, runs: Sequence[Run], album: Album) -> list[Changed]:
    """The faces of an album whose samples changed; dots where it has none, and for real people."""
    settings = comparison.settings
    if any(run.manifest.dataset.card.real_people for run in runs):
        album = Album("off")
    albums = []
    for moved in _moved(comparison, runs):
        chosen = choose(moved.candidates(), _source(runs[1], settings), FIRST) if album.samples else []
        tiles = [tile for row in chosen if (tile := _tile(row, moved.album, album, settings)) is not None]
        albums.append(_dotted(replace(moved.album, tiles=tiles), moved))
    return albums


def _moved(comparison: Comparison, entries: Sequence[Any]) -> Iterator[Moved]:
    opened = entries_of(entries, [comparison.a, comparison.b])
    settings = comparison.settings
    metric = settings["metrics"][0]
    paired = pair_entries(opened, by=[], metrics=[metric], pair=settings["pair"], cluster=None, where=settings["where"])
    change = paired.scores[metric][:, 1] - paired.scores[metric][:, 0]
    sign = -1.0 if settings["better"][metric] == "lower" else 1.0
    rate = paired.kinds[metric] == "rate"
    for way, words in (
        (-1.0, WORSE),
        (1.0, ("From wrong to right", "Largest gains")),
    ):
        moved = np.nan_to_num(way * sign * change)
        rows = np.flatnonzero(moved > 0)
        rows = rows[np.argsort(-moved[rows], kind="stable")]
        outcomes = outcome_in(metric, settings) if rate else None
        heading = f"Now {outcomes[way > 0]}" if outcomes else words[not rate]
        yield Moved(Changed(words[not rate], metric, len(rows), heading=heading), rows, opened, paired)


def _dotted(album: Changed, moved: Moved) -> Changed:
    """The faces, with dots where people got worse and none of them may be shown."""
    worse = album.title == WORSE[0] and album.total and not album.tiles
    return replace(album, dots=_dots(album, moved.paired.rows)) if worse else album


def _dots(album: Changed, rows: int) -> Markup:
    """All rows as dots, those who got worse in red."""
    return dots(HarmSide(EVERYONE, EVERYONE, EVERYONE, "", rows, 0, 0.0, 0.0, 0.0, album.total, "row"), EVERYONE)


def _shown(moved: Moved, choice: str, settings: dict[str, Any]) -> Changed:
    album, entries, paired = moved.album, moved.entries, moved.paired
    if not album.total:
        return replace(album, sentence="No sample.")
    keys = [
        " · ".join(str(paired.table.column(_column(paired, name))[int(row)].as_py()) for name in paired.keys)
        for row in moved.rows[:NAMED]
    ]
    album = replace(album, keys=keys, more=f"#{SECTION}")
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
    chosen = choose(moved.candidates(), source, SHOWN)
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
        pictures.append(replace(picture, words="; ".join(both), scores=[_score_words(album.metric, row, settings)]))
        tile = _tile(row, album, faces, settings) if len(tiles) < FIRST else None
        tiles += [tile] if tile is not None else []
    sentence = "" if pictures else "The pictures cannot be read again."
    return replace(album, failures=pictures, tiles=tiles, sentence=sentence)


def _tile(row: dict[str, Any], album: Changed, faces: Album, settings: dict[str, Any]) -> FaceTile | None:
    """The face of a row with what became of it; None where the picture cannot be read."""
    face = faces.face(row["sample"], row.get("subject"), TILE)
    if face is None:
        return None
    about = ", ".join(f"{name} {value}".strip() for name, value in about_row(row, _attributes(settings))[:MOST_ABOUT])
    word = _score_words(album.metric, row, settings)[1].rpartition(" → ")[2]
    return FaceTile(face, album.title in WORSE, word, about, str(row["sample"]))


def _score_words(metric: str, row: dict[str, Any], settings: dict[str, Any]) -> tuple[str, str]:
    """A row's two scores: in the task's words for right and wrong if it has them, else as numbers."""
    first, second = row["_scores"]
    outcomes = outcome_in(metric, settings)
    if outcomes and {first, second} == {0.0, 1.0}:
        return "", f"{outcomes[int(first)]} → {outcomes[int(second)]}"
    return noun_in(metric, settings), f"{first:.3g} → {second:.3g}"


def _column(paired: Paired, name: str) -> str:
    return name if name in paired.table.column_names else f"attr.{name}"


def _attributes(settings: dict[str, Any]) -> list[str]:
    """The attributes that were compared, without their bins."""
    return [name.rpartition(":")[0] or name for name in settings["by"] if "*" not in name]


def _source(run: Run, settings: dict[str, Any]) -> ReportSource:
    """The source for the galleries: the task and the attributes that were compared."""
    used = {"metrics": settings["metrics"], "by": _attributes(settings)}
    return ReportSource(Audit(verdict="", reason="", findings=[], excluded=[], settings=used), run.task(), run)
