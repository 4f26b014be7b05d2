"""The page of a search: each slice with its numbers from the confirming half, and a contact sheet."""

from __future__ import annotations

import re
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.auditing.directions import HIGHER, LOWER
from countenance.data import Dataset
from countenance.discovering.candidates import Candidate, lifts
from countenance.discovering.discovery import Discovered, Slice
from countenance.discovering.rows import Literal, SearchRows
from countenance.errors import InputError
from countenance.report import numbers, pictures, render, words
from countenance.report.charts.forest import Forest, ForestBlock, ForestRow, bounds
from countenance.report.charts.scale import Scale
from countenance.report.groups import label
from countenance.report.harms import failing_share
from countenance.report.metric_words import MetricWords, words_of
from countenance.report.names import attribute_label
from countenance.run import Run
from countenance.run.auditing import metrics_of
from countenance.tasks import Metric

SHOWN = 12
FIRST_TILES, FIRST_SLICES = 5, 3
"""How many pictures of how many slices stand beside the numbers."""
HERE = Path(__file__).parent
_NUMBER = r"-?\d[\d.e+-]*?"
_BELOW, _FROM = re.compile(rf"<({_NUMBER})"), re.compile(rf"({_NUMBER})\+")
_BETWEEN = re.compile(rf"({_NUMBER})–({_NUMBER})")


@dataclass(frozen=True)
class ShownSlice:
    """A slice in words, with the pictures of its sheet."""

    slice: Slice
    title: str
    about: str
    counts: str
    pictures: list[tuple[str, Markup, str, bool]]
    """Sample, picture, what became of it, and whether it failed."""


def write_page(
    discovered: Discovered,
    name: str,
    out: Path,
    dataset: Dataset | None = None,
    mode: str = "off",
    run: Run | None = None,
) -> Path:
    """Write the page into a folder; `mode` says how pictures are shown: off, blurred or full.

    The run gives the model and the metric their words; without a run they are named as in the table.
    """
    metric, wording = _words(discovered, run)
    model = run.model_label if run is not None else "The model"
    rate = metric.better is not None and bool(np.isin(discovered.rows.values, (0.0, 1.0)).all())
    samples = {} if dataset is None or mode == "off" else {sample.id: sample for sample in dataset}
    shown = []
    for number, (record, member) in enumerate(zip(discovered.slices, discovered.members, strict=True)):
        title, about = slice_words(discovered.rows, member)
        sheet = _sheet(discovered, number, samples, mode, wording if rate else None)
        shown.append(ShownSlice(record, title, about, _counts(record, metric, wording, rate), sheet))
    text = render.page(
        render.template(HERE / "templates", "discovered.html.j2"),
        name=name,
        discovery=discovered.to_dict(),
        sentence=_sentence(shown, model, wording, rate, discovered),
        slices=shown,
        forest=_forest(shown, discovered, metric, wording, rate),
        first_tiles=FIRST_TILES,
        first_slices=FIRST_SLICES,
        looked_at=[attribute_label(column) for column in discovered.looked_at],
        noun=wording.noun,
        kind="rate" if rate else "mean",
        pictures=bool(samples),
        level=discovered.alpha,
    )
    return render.write(out / "discovered.html", text)


def _words(discovered: Discovered, run: Run | None) -> tuple[Metric, MetricWords]:
    name = discovered.rows.metric
    known = () if run is None else metrics_of(run)
    metric = next((m for m in known if m.name == name), Metric(name, "", _direction(discovered.rows.better)))
    return metric, words_of(metric, None if run is None else run.task())


def _direction(better: str | None) -> typing.Literal["higher", "lower"] | None:
    return "higher" if better == HIGHER else "lower" if better == LOWER else None


def _failed(record: Slice, metric: Metric) -> int:
    return round(failing_share(record.estimate, metric.better) * record.n_confirm)


def _counts(record: Slice, metric: Metric, wording: MetricWords, rate: bool) -> str:
    """How many failed of how many, in the confirming half."""
    if not rate:
        return numbers.plural(record.n_confirm, "row")
    return f"{numbers.count(_failed(record, metric))} of {numbers.count(record.n_confirm)} {wording.failed}"


def _sentence(shown: list[ShownSlice], model: str, wording: MetricWords, rate: bool, discovered: Discovered) -> str:
    """The result of the search in one sentence."""
    confirmed = [each for each in shown if each.slice.confirmed]
    if not confirmed:
        return f"No group that nobody labelled is shown to differ in {wording.noun}."
    worst = max(confirmed, key=lambda each: abs(each.slice.difference))
    record = worst.slice
    if rate:
        failed, _, rest = worst.counts.partition(" of ")
        many = rest.partition(" ")[0]
        pictures_of = "" if record.n_confirm == record.people_confirm else f"pictures of {record.people_confirm:,} "
        of = f"{failed} of {many} {pictures_of}{discovered.rows.unit}"
        return f"{model} {wording.verb} {of}: {worst.title}."
    values = [numbers.short(value) for value in (record.estimate, record.rest)]
    return f"{wording.noun[:1].upper()}{wording.noun[1:]} is {values[0]} for {worst.title}, {values[1]} for the others."


def _forest(
    shown: list[ShownSlice], discovered: Discovered, metric: Metric, wording: MetricWords, rate: bool
) -> Forest | None:
    """The slices and everyone of the confirming half on one scale."""
    if not shown:
        return None
    kind = "rate" if rate else "mean"
    here = discovered.rows.values[discovered.rows.confirm]
    rows = [
        ForestRow(
            each.title,
            each.slice.estimate,
            each.slice.low,
            each.slice.high,
            numbers.percent(each.slice.estimate, kind),
            numbers.likely(each.slice.low, each.slice.high, kind),
            each.counts,
            words.SEVERE if each.slice.confirmed else words.UNSURE,
            "confirmed" if each.slice.confirmed else "not confirmed",
            each.slice.n_confirm,
        )
        for each in shown
    ]
    scale = Scale.around([*bounds(rows), float(here.mean())], kind)
    return Forest(
        metric.name,
        metric.name,
        scale,
        (ForestBlock("", tuple(rows)),),
        float(here.mean()),
        better=metric.better,
        noun=wording.noun,
        note=f"dashed line: everyone, {numbers.percent(float(here.mean()), kind)}",
    )


def _sheet(
    discovered: Discovered, number: int, samples: dict[str, Any], mode: str, wording: MetricWords | None
) -> list[tuple[str, Markup, str, bool]]:
    """Pictures of a slice from the confirming half, the worst first; without words for hit and miss, with values."""
    rows = discovered.rows
    places = np.flatnonzero(discovered.members[number].rows & rows.confirm)
    order = places[np.argsort(-rows.badness[places], kind="stable")]
    cells: list[tuple[str, Markup, str, bool]] = []
    for place in order:
        sample = samples.get(rows.samples[place] or "")
        if sample is None or any(cell[0] == sample.id for cell in cells):
            continue
        try:
            pixels = sample.load()
        except InputError:
            continue
        shown = pictures.embedded(
            pixels, pictures.window(sample.width, sample.height), longest=160, blurred=mode == "blurred", quality=75
        )
        failed = bool(rows.values[place] == (1.0 if rows.better == LOWER else 0.0))
        if wording is None:
            cells.append((sample.id, shown, f"{rows.metric} {rows.values[place]:.3g}", False))
        else:
            cells.append((sample.id, shown, wording.failed if failed else wording.right, failed))
        if len(cells) == SHOWN:
            break
    return cells


def literal_words(literal: Literal) -> str:
    """One value of a slice in words.

    >>> import numpy as np
    >>> everyone = np.ones(2, dtype=bool)
    >>> [literal_words(Literal(name, value, everyone)) for name, value in
    ...     (("masked", "yes"), ("face_luminance", "<0.09712"), ("img.turn", "0.0272795–0.0570396"), ("stops", "0.5+"))]
    ['masked', 'face luminance below 0.0971', 'turn of the head 0.0273 to 0.057', 'stops 0.5 or more']
    """
    attribute = literal.attribute.removeprefix("attr.")
    name, value = attribute_label(attribute), literal.value
    if below := _BELOW.fullmatch(value):
        return f"{name} below {_short(below[1])}"
    if least := _FROM.fullmatch(value):
        return f"{name} {_short(least[1])} or more"
    if ends := _BETWEEN.fullmatch(value):
        return f"{name} {_short(ends[1])} to {_short(ends[2])}"
    return f"{name} {value}" if attribute.startswith("img.") else label(attribute, value)


def _short(number: str) -> str:
    return f"{float(number):.3g}"


def slice_words(rows: SearchRows, candidate: Candidate) -> tuple[str, str]:
    """A slice in few words, and the values that are more frequent in it than elsewhere."""
    if candidate.literals:
        return ", ".join(map(literal_words, candidate.literals)), ""
    named = lifts(rows, candidate.rows)
    if not named:
        return "pictures that look alike", "no recorded value is more frequent in them"
    title = f"alike pictures, often {literal_words(named[0][0])}"
    shares = [f"{literal_words(literal)}: {own:.0%}, others {rest:.0%}" for literal, own, rest in named]
    return title, "; ".join(shares)
