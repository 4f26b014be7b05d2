"""The content of each run in the list: a sentence, two numbers, and three people whom it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from countenance.auditing import Estimate
from countenance.errors import InputError
from countenance.report import numbers
from countenance.report.first_screen import terminal_words
from countenance.report.harms import metric_words
from countenance.report.metric_words import MetricWords
from countenance.report.source import ReportSource
from countenance.report.words import cluster_noun
from countenance.run import Run, read_audit
from countenance.view.library import Summary
from countenance.view.open_run import OpenRun, Unknown, stamp_of
from countenance.view.rows import Selection
from countenance.view.site import Site

FACES = 3
MOST = 400
"""Cards and faces that are kept."""


@dataclass(frozen=True)
class RunCard:
    """A run in the list."""

    sentence: str = ""
    figures: tuple[tuple[str, str], ...] = ()
    """Two numbers with their names."""
    faces: tuple[str, ...] = ()
    """Addresses of pictures; none where real people are shown."""


def card_of(site: Site, summary: Summary) -> RunCard:
    """The card of a run; empty without an audit."""
    if summary.problem or summary.status != "complete" or not summary.verdict:
        return RunCard()
    storage, _ = site.library.runs()[summary.id]
    key = ("card", summary.id, stamp_of(storage))
    if key not in site.cards:
        _keep(site, key, _card(Run(storage, **site.library.how), summary.id))
    card: RunCard = site.cards[key]
    return card


def _card(run: Run, key: str) -> RunCard:
    try:
        audit = read_audit(run)
    except InputError:
        return RunCard()
    whole = [e for e in audit.overall if e.n][:2]
    source = ReportSource(audit, run.task(), run)
    figures = [_figure(e, metric_words(source, e.metric)[1]) for e in whole]
    if len(figures) < 2 and whole:
        figures.append((cluster_noun(audit.settings)[1], numbers.count(whole[0].clusters)))
    real = run.manifest.dataset.card.real_people
    faces = () if real else tuple(f"/runs/{key}/faces/{number}" for number in range(FACES))
    return RunCard(terminal_words(source, run.model_label), tuple(figures), faces)


def _figure(estimate: Estimate, wording: MetricWords) -> tuple[str, str]:
    """A metric of everyone: its name and its value; a share as percent."""
    kind = "rate" if wording.share else estimate.metric_kind
    return wording.noun, numbers.value(estimate.estimate, kind)


def face(site: Site, opened: OpenRun, number: int) -> bytes:
    """A small picture of a person whom a run fails most, never of a real person."""
    if opened.run.manifest.dataset.card.real_people or not 0 <= number < FACES:
        raise Unknown(f"{opened.place}: there is no such picture")
    key = ("face", opened.id, opened.stamp, number)
    if key not in site.cards:
        places, _ = Selection.of(opened, [("show", "failed")]).places()
        if number >= len(places):
            raise Unknown(f"{opened.place}: fewer people than that are failed")
        row = opened.rows_at([int(places[number * max(1, len(places) // FACES)])])[0]
        _keep(site, key, site.gallery(opened).thumbnail(row))
    content: bytes = site.cards[key]
    return content


def _keep(site: Site, key: Any, value: Any) -> None:
    while len(site.cards) >= MOST:
        del site.cards[next(iter(site.cards))]
    site.cards[key] = value
