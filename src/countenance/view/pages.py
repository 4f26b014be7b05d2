"""Pages: the list of runs, one run with its controls, the rows behind a number."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from countenance.auditing.settings import ADJUSTMENTS, DELTA
from countenance.auditing.table import UNKNOWN
from countenance.errors import InputError
from countenance.report import charts, words
from countenance.report.album import Album
from countenance.report.first_screen import first_screen, untested_screen
from countenance.report.groups import people
from countenance.report.metric_words import words_of
from countenance.report.names import attribute_label
from countenance.report.numbers import plural
from countenance.report.page import evidence
from countenance.run.suite import suite_of
from countenance.view.cards import card_of
from countenance.view.library import Summary
from countenance.view.live_source import Live
from countenance.view.open_run import OpenRun
from countenance.view.parameters import Parameters
from countenance.view.question import Question
from countenance.view.rows import ORDERS, SHOWS, SIZES, Selection
from countenance.view.samples import SamplesByName
from countenance.view.site import Site

SORTS = {"changed": "latest first", "name": "name", "model": "model", "dataset": "dataset", "verdict": "verdict"}
RUNS_SHOWN = 60
"""Runs on a page of the list."""
MOST_BEFORE_TESTS = 20_000
"""The most rows among which pictures are chosen before the tests; of more, the page shows dots first."""
FILTERS = ("suite", "task", "model", "dataset", "verdict")


VERDICTS = {
    words.SEVERE: "some people are served worse",
    words.MINOR: "some people are served a little worse",
    words.NONE: "no gap that matters",
    words.UNSURE: "not enough data to tell",
    words.UNTESTED: "too little data to test",
}
"""What the marks of verdicts mean, for the list of runs."""


def router(site: Site) -> APIRouter:
    """The routes of pages."""
    routes = APIRouter()

    @routes.get("/")
    def runs(request: Request) -> Response:
        return HTMLResponse(site.render("runs.html.j2", **runs_context(site, dict(request.query_params))))

    @routes.get("/runs/{run}")
    def run(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        if not opened.run.complete:
            summary = next(finding for finding in site.library.summaries() if finding.id == run)
            return HTMLResponse(site.render("running.html.j2", opened=opened, run=summary, title=opened.title))
        question = opened.question(request.query_params.multi_items())
        site.gallery(opened).start()  # pictures and rows are loaded while the page is read
        threading.Thread(target=opened.rows_at, args=([],), daemon=True).start()
        return HTMLResponse(site.render("run.html.j2", **run_context(site, opened, question)))

    @routes.get("/runs/{run}/tests")
    def tests(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        question = opened.question(request.query_params.multi_items())
        return HTMLResponse(site.render("tests.html.j2", **tests_context(site, opened, question)))

    @routes.get("/runs/{run}/rows")
    def rows(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        chosen = Selection.of(opened, request.query_params.multi_items())
        return HTMLResponse(site.render("rows.html.j2", **rows_context(opened, chosen)))

    return routes


def problem_page(site: Site, status: int, sentence: str) -> Response:
    """A page that says what is wrong with an address."""
    return HTMLResponse(site.render("problem.html.j2", title="Not shown", sentence=sentence), status)


def runs_context(site: Site, parameters: dict[str, str]) -> dict[str, Any]:
    """The list of runs, searched, filtered and sorted by the address."""
    everything = site.library.summaries()
    chosen = {name: parameters.get(name, "") for name in FILTERS}
    text = parameters.get("q", "").casefold().split()
    matching = [
        summary
        for summary in everything
        if all(not value or getattr(summary, name) == value for name, value in chosen.items())
        and all(word in _words(summary) for word in text)
    ]
    sort = Parameters(parameters).choice("sort", SORTS, "changed")
    if sort != "changed":
        matching.sort(key=lambda summary: str(getattr(summary, sort)).casefold())
    number = Parameters(parameters).number("page", 1)
    pages = max(1, -(-len(matching) // RUNS_SHOWN))
    number = min(max(number, 1), pages)
    count, matching = len(matching), matching[(number - 1) * RUNS_SHOWN : number * RUNS_SHOWN]
    chosen_parameters = {name: value for name, value in parameters.items() if name in (*FILTERS, "q", "sort") and value}
    return {
        "title": "Runs",
        "count": count,
        "number": number,
        "pages": pages,
        "turn": {step: "/?" + urlencode(chosen_parameters | {"page": str(number + step)}) for step in (-1, 1)},
        "runs": matching,
        "cards": {summary.id: card_of(site, summary) for summary in matching},
        "all": len(everything),
        "marks": {
            summary.id: words.mark(summary.verdict, "severe") if summary.verdict else "" for summary in everything
        },
        "verdict_words": VERDICTS,
        "choices": {name: sorted({getattr(summary, name) for summary in everything} - {""}) for name in FILTERS},
        "chosen": chosen,
        "q": parameters.get("q", ""),
        "sort": sort,
        "sorts": SORTS,
        "roots": [str(root) for root in site.library.roots],
        "views": site.saved.views(),
    }


def _words(summary: Summary) -> str:
    parts = (
        summary.name,
        summary.suite,
        summary.task,
        summary.model,
        summary.dataset,
        summary.status,
        summary.verdict,
        summary.problem,
    )
    return " ".join(parts).casefold()


def run_context(site: Site, opened: OpenRun, question: Question) -> dict[str, Any]:
    """One run: its controls and its estimates; the tests are loaded afterwards."""
    source = Live.untested(opened, question, opened.estimates(question))
    album = album_of(site, opened)
    if source.scores.num_rows > MOST_BEFORE_TESTS:
        album = Album("off")
    return shared(opened, question) | {
        "first": untested_screen(source, opened.run.model_label, album),
        "forests": charts.forests(source),
        "numbers_on_top": charts.headline_numbers(source),
        "rows_link": source.link(),
        "settings": {"alpha": question.alpha, "h0": 0.2},
        "no_gap": words.no_gap_words(source.audit.settings),
        "cluster_noun": words.cluster_noun(question.stored),
        "counted_nouns": words.counted_nouns(question.stored),
        "manifest": opened.run.manifest,
        "tests": f"/runs/{opened.id}/tests?{question.query()}",
        "stream": f"/api/runs/{opened.id}/audit?{question.query()}",
    }


def shared(opened: OpenRun, question: Question) -> dict[str, Any]:
    """The content of every page about a run: its name, its addresses, its controls."""
    return {
        "title": opened.title,
        "opened": opened,
        "question": question,
        "query": question.query(),
        "attributes": opened.columns.attributes,
        "singles": [name for name in question.by if name in opened.columns.attributes],
        "further": ", ".join(name for name in question.by if name not in opened.columns.attributes),
        "conditions": [f"{name}={','.join(values)}" for name, values in question.where.items()],
        "groupable": opened.groupable,
        "measures": opened.metrics,
        "nouns": nouns_of(opened),
        "adjustments": ADJUSTMENTS,
        "usual_delta": f"{DELTA:g}",
    }


def nouns_of(opened: OpenRun) -> dict[str, str]:
    """The name of each metric; equal names have the metric's code beside them."""
    named = {metric.name: words_of(metric, opened.task).noun for metric in opened.metrics}
    shared_words = {noun for noun, n in Counter(named.values()).items() if n > 1}
    return {name: f"{noun} ({name})" if noun in shared_words else noun for name, noun in named.items()}


def tests_context(site: Site, opened: OpenRun, question: Question) -> dict[str, Any]:
    """The sections of the report that need tests; people are dots until their pictures have been read."""
    audit = opened.tested(question)
    source = Live.tested(opened, question, audit)
    context = evidence(source)
    context["waiting"] = "" if opened.run.manifest.dataset.card.real_people else waiting(site, [opened])
    album = album_of(site, opened)
    if album.mode != "off":
        model = opened.run.model_label
        context["first"] = first_screen(source, model, album, too_many_failed=context["too_many_failed"])
    failed = source.failed()
    context["worst_label"] = "Pictures of those it fails:" if failed else "Pictures of the largest gaps, not confirmed:"
    shown = failed or words.unconfirmed(audit.findings, 4)
    labels = [words.statement(finding, source.names).who for finding in shown]
    context["worst"] = [(who, source.pictures(finding)) for who, finding in zip(labels, shown, strict=True)]
    context |= {
        "title": f"Tests of {opened.title}",
        "gallery_choice": "in the viewer",
        "opened": opened,
        "question": question,
    }
    context |= {"unanswered_link": f"/runs/{opened.id}/unanswered", "extra": suite_sections(source)}
    context["findings_csv"] = f"/runs/{opened.id}/export/findings.csv?{question.query()}"
    context |= {"first_metric": question.metrics[0], "attributes": opened.columns.attributes}
    return context | {"rows_link": source.link(), "query": question.query()}


def album_of(site: Site, opened: OpenRun) -> Album:
    """The faces of a first screen, once they have been read; never of real people."""
    gallery = site.gallery(opened)
    gallery.start()
    if opened.run.manifest.dataset.card.real_people or gallery.state != "ready":
        return Album("off")
    return Album("full", samples=SamplesByName(gallery))


def waiting(site: Site, runs: Sequence[OpenRun]) -> str:
    """The addresses at which the script asks whether pictures have been read; empty if none are being read.

    A page asks this before it looks up its first picture: pictures that arrive while the page is made would otherwise
    be missing from its first rows, and nothing would load them later.
    """
    galleries = [(opened, site.gallery(opened)) for opened in runs]
    for _, gallery in galleries:
        gallery.start()
    loading = [opened for opened, gallery in galleries if gallery.state == "loading"]
    return " ".join(f"/api/runs/{opened.id}/pictures" for opened in loading)


def suite_sections(source: Live) -> list[Any]:
    """The sections of the run's suite; empty if it has none for this question."""
    suite = suite_of(source.run)
    try:
        return [] if suite is None else list(suite.sections(source))
    except InputError:
        return []


def rows_context(opened: OpenRun, chosen: Selection) -> dict[str, Any]:
    """A page of the rows behind a number."""
    page = chosen.page()
    first = [name for name in chosen.question.by if name in opened.columns.attributes]
    known = list(dict.fromkeys([*first, *opened.columns.attributes]))
    attributes = [name for name in known if any(row.get(f"attr.{name}") for row in page.rows)]
    metrics = [
        metric.name for metric in opened.metrics if any(row.get(f"m.{metric.name}") is not None for row in page.rows)
    ]
    return shared(opened, chosen.question) | {
        "title": f"Rows of {opened.title}",
        "page": page,
        "selection": chosen,
        "columns": attributes,
        "measured": metrics,
        "shows": SHOWS,
        "orders": ORDERS,
        "sizes": SIZES,
        "counted": plural(page.total, "row"),
        "who": group_words(opened, chosen),
    }


def group_words(opened: OpenRun, chosen: Selection) -> str:
    """The selected group, in words."""
    if not chosen.by:
        return "everybody"
    if chosen.side and chosen.group == UNKNOWN:
        return f"everyone whose {attribute_label(chosen.by.partition(':')[0])} is known"
    if chosen.side:
        return f"everyone but {group_words(opened, replace(chosen, side=''))}"
    return people(chosen.by, chosen.group)
