"""Pages: the list of runs, one run with its controls, the rows behind a number."""

import threading
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from countenance.auditing.settings import ADJUSTMENTS, DELTA
from countenance.auditing.table import UNKNOWN
from countenance.errors import InputError
from countenance.report import charts, words
from countenance.report.names import Names, attribute_label
from countenance.report.numbers import plural
from countenance.report.page import evidence
from countenance.run.suite import suite_of
from countenance.view.library import Summary
from countenance.view.live import Live
from countenance.view.opened import OpenRun
from countenance.view.parameters import Parameters
from countenance.view.question import Question
from countenance.view.rows import ORDERS, SHOWS, SIZES, Selection
from countenance.view.site import Site

SORTS = {"changed": "latest first", "name": "name", "model": "model", "dataset": "dataset", "verdict": "verdict"}
RUNS_SHOWN = 60
"""Runs on a page of the list."""
FILTERS = ("suite", "task", "model", "dataset", "verdict")


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
            summary = next(one for one in site.library.summaries() if one.id == run)
            return HTMLResponse(site.render("running.html.j2", opened=opened, run=summary, title=opened.title))
        asked = opened.question(request.query_params.multi_items())
        site.gallery(opened).wait(0)  # pictures and rows are loaded while the page is read
        threading.Thread(target=opened.rows_at, args=([],), daemon=True).start()
        return HTMLResponse(site.render("run.html.j2", **run_context(opened, asked)))

    @routes.get("/runs/{run}/tests")
    def tests(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        asked = opened.question(request.query_params.multi_items())
        return HTMLResponse(site.render("tests.html.j2", **tests_context(opened, asked)))

    @routes.get("/runs/{run}/rows")
    def rows(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        chosen = Selection.of(opened, request.query_params.multi_items())
        return HTMLResponse(site.render("rows.html.j2", **rows_context(opened, chosen)))

    return routes


def problem_page(site: Site, status: int, sentence: str) -> Response:
    """A page that says what was wrong with an address."""
    return HTMLResponse(site.render("problem.html.j2", title="Not shown", sentence=sentence), status)


def runs_context(site: Site, given: dict[str, str]) -> dict[str, Any]:
    """The list of runs, searched, filtered and sorted as the address says."""
    everything = site.library.summaries()
    chosen = {name: given.get(name, "") for name in FILTERS}
    text = given.get("q", "").casefold().split()
    kept = [
        one
        for one in everything
        if all(not value or getattr(one, name) == value for name, value in chosen.items())
        and all(word in _words(one) for word in text)
    ]
    sort = Parameters(given).choice("sort", SORTS, "changed")
    if sort != "changed":
        kept.sort(key=lambda one: str(getattr(one, sort)).casefold())
    number = Parameters(given).number("page", 1)
    pages = max(1, -(-len(kept) // RUNS_SHOWN))
    number = min(max(number, 1), pages)
    found, kept = len(kept), kept[(number - 1) * RUNS_SHOWN : number * RUNS_SHOWN]
    asked = {name: value for name, value in given.items() if name in (*FILTERS, "q", "sort") and value}
    return {
        "title": "Runs",
        "found": found,
        "number": number,
        "pages": pages,
        "turn": {step: "/?" + urlencode(asked | {"page": str(number + step)}) for step in (-1, 1)},
        "runs": kept,
        "all": len(everything),
        "marks": {one.id: words.mark(one.verdict, "severe") if one.verdict else "" for one in everything},
        "choices": {name: sorted({getattr(one, name) for one in everything} - {""}) for name in FILTERS},
        "chosen": chosen,
        "q": given.get("q", ""),
        "sort": sort,
        "sorts": SORTS,
        "roots": [str(root) for root in site.library.roots],
        "views": site.saved.views(),
    }


def _words(one: Summary) -> str:
    parts = (one.name, one.suite, one.task, one.model, one.dataset, one.status, one.verdict, one.problem)
    return " ".join(parts).casefold()


def run_context(opened: OpenRun, asked: Question) -> dict[str, Any]:
    """One run: its controls and its estimates; the tests come after, on their own."""
    source = Live.untested(opened, asked, opened.estimates(asked))
    return shared(opened, asked) | {
        "forests": charts.forests(source),
        "numbers_on_top": charts.headline_numbers(source),
        "rows_link": source.link(),
        "settings": {"alpha": asked.alpha, "h0": 0.2},
        "cluster_noun": words.cluster_noun(asked.stored) if asked.stored else ("row", "rows"),
        "manifest": opened.run.manifest,
        "tests": f"/runs/{opened.id}/tests?{asked.query()}",
        "stream": f"/api/runs/{opened.id}/audit?{asked.query()}",
    }


def shared(opened: OpenRun, asked: Question) -> dict[str, Any]:
    """What every page about a run needs: its name, its addresses, its controls."""
    return {
        "title": opened.title,
        "opened": opened,
        "asked": asked,
        "query": asked.query(),
        "attributes": opened.columns.attributes,
        "singles": [name for name in asked.by if name in opened.columns.attributes],
        "further": ", ".join(name for name in asked.by if name not in opened.columns.attributes),
        "conditions": [f"{name}={','.join(values)}" for name, values in asked.where.items()],
        "groupable": opened.groupable,
        "measures": opened.metrics,
        "adjustments": ADJUSTMENTS,
        "usual_delta": f"{DELTA:g}",
    }


def tests_context(opened: OpenRun, asked: Question) -> dict[str, Any]:
    """The sections of the report that rest on tests."""
    found = opened.tested(asked)
    source = Live.tested(opened, asked, found)
    made = evidence(source)
    told = source.failed()
    made["worst_label"] = "Pictures of those it fails:" if told else "Pictures of the largest gaps, not confirmed:"
    shown = told or words.unconfirmed(found.findings, 4)
    said = [words.statement(one, source.names).who for one in shown]
    made["worst"] = [(who, source.pictures(one)) for who, one in zip(said, shown, strict=True)]
    made |= {"title": f"Tests of {opened.title}", "gallery_asked": "in the viewer", "opened": opened, "asked": asked}
    made |= {"unanswered_link": f"/runs/{opened.id}/unanswered", "extra": suite_sections(source)}
    made["findings_csv"] = f"/runs/{opened.id}/export/findings.csv?{asked.query()}"
    made |= {"first_metric": asked.metrics[0], "attributes": opened.columns.attributes}
    return made | {"rows_link": source.link(), "query": asked.query()}


def suite_sections(source: Live) -> list[Any]:
    """What the run's suite has to say; nothing where it cannot say it of this question."""
    suite = suite_of(source.run)
    try:
        return [] if suite is None else list(suite.sections(source))
    except InputError:
        return []


def rows_context(opened: OpenRun, chosen: Selection) -> dict[str, Any]:
    """A page of the rows behind a number."""
    page = chosen.page()
    first = [name for name in chosen.asked.by if name in opened.columns.attributes]
    known = list(dict.fromkeys([*first, *opened.columns.attributes]))
    attributes = [name for name in known if any(row.get(f"attr.{name}") for row in page.rows)]
    metrics = [one.name for one in opened.metrics if any(row.get(f"m.{one.name}") is not None for row in page.rows)]
    return shared(opened, chosen.asked) | {
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
    """The group that is looked at, in words."""
    if not chosen.by:
        return "everybody"
    if chosen.side and chosen.group == UNKNOWN:
        return f"everyone whose {attribute_label(chosen.by.partition(':')[0])} is known"
    if chosen.side:
        return f"everyone but {group_words(opened, replace(chosen, side=''))}"
    names = [part.partition(":")[0].strip() for part in chosen.by.split("*")]
    values = chosen.group.split(" × ")
    if len(names) != len(values):
        return f"{chosen.by} {chosen.group}"
    made = Names(names, {name: [value] for name, value in zip(names, values, strict=True)}, len(names))
    return made.who(" × ".join(names), chosen.group)
