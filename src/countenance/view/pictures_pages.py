"""Pages with pictures: the gallery, one sample, images without a prediction; and the pictures themselves."""

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from countenance.report.numbers import plural
from countenance.report.page import KINDS
from countenance.view.opened import OpenRun, Unknown
from countenance.view.pages import group_words, shared
from countenance.view.pairs import pairs_of
from countenance.view.parameters import Parameters
from countenance.view.rows import ORDERS, SHOWS, SIZES, Selection
from countenance.view.samples import RunGallery
from countenance.view.site import Site

PATIENCE = 8.0
"""Seconds that a page waits for the dataset; after that it says so and comes again by itself."""
CACHED = {"Cache-Control": "private, max-age=3600"}


def router(site: Site) -> APIRouter:
    """The routes of pages with pictures."""
    routes = APIRouter()

    @routes.get("/runs/{run}/samples")
    def samples(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        chosen = Selection.of(opened, request.query_params.multi_items(), show="failed")
        return HTMLResponse(site.render("samples.html.j2", **gallery_context(site, opened, chosen)))

    @routes.get("/runs/{run}/samples/{place}")
    def sample(run: str, place: int, request: Request) -> Response:
        opened = site.library.open(run)
        chosen = Selection.of(opened, request.query_params.multi_items(), show="failed")
        return HTMLResponse(site.render("sample.html.j2", **sample_context(site, opened, chosen, place)))

    @routes.get("/runs/{run}/unanswered")
    def unanswered(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        given = dict(request.query_params)
        return HTMLResponse(site.render("unanswered.html.j2", **unanswered_context(site, opened, given)))

    @routes.get("/runs/{run}/unanswered/{place}/{size}")
    def unanswered_picture(run: str, place: int, size: str) -> Response:
        opened = site.library.open(run)
        rows = opened.failures
        if not 0 <= place < len(rows) or size not in ("small", "large"):
            raise Unknown(f"{opened.place}: there is no such image without a prediction")
        gallery = site.gallery(opened)
        return _picture((gallery.thumbnail if size == "small" else gallery.picture)(rows[place]))

    @routes.get("/runs/{run}/thumbnails/{place}")
    def thumbnail(run: str, place: int) -> Response:
        opened = site.library.open(run)
        return _picture(site.gallery(opened).thumbnail(row_at(opened, place)))

    @routes.get("/runs/{run}/pictures/{place}")
    def picture(run: str, place: int) -> Response:
        opened = site.library.open(run)
        return _picture(site.gallery(opened).picture(row_at(opened, place)))

    @routes.get("/runs/{run}/made/{place}")
    def made(run: str, place: int) -> Response:
        opened = site.library.open(run)
        return _picture(site.gallery(opened).made(row_at(opened, place)))

    @routes.get("/api/runs/{run}/pictures")
    def state(run: str) -> Response:
        gallery = site.gallery(site.library.open(run))
        gallery.wait(0)
        return JSONResponse({"state": gallery.state, "problem": gallery.problem})

    return routes


def _picture(content: bytes) -> Response:
    return Response(content, media_type="image/jpeg", headers=CACHED)


def row_at(opened: OpenRun, place: int) -> dict[str, Any]:
    """A row of the score table."""
    found = opened.rows_at([place]) if 0 <= place < opened.columns.total else []
    if not found:
        raise Unknown(f"{opened.place}: there is no row {place}; the table has {opened.columns.total:,}")
    return found[0]


def gallery_context(site: Site, opened: OpenRun, chosen: Selection, patience: float = PATIENCE) -> dict[str, Any]:
    """A page of pictures."""
    gallery = site.gallery(opened)
    gallery.wait(patience)
    page = chosen.page()
    by = [name for name in chosen.asked.by if name in opened.columns.attributes] or opened.groupable[:3]
    metrics = list(dict.fromkeys([chosen.metric, *_telling(opened)]))
    real = opened.run.manifest.dataset.card.real_people
    return shared(opened, chosen.asked) | {
        "title": f"Samples of {opened.title}",
        "page": page,
        "selection": chosen,
        "items": gallery.items(page.rows, by, metrics),
        "gallery": gallery,
        "privacy": site.privacy.sentence(real),
        "shows": SHOWS,
        "orders": ORDERS,
        "sizes": SIZES,
        "counted": plural(page.total, "picture" if chosen.show == "all" else "row"),
        "who": group_words(opened, chosen),
        "groups": _groups(opened, chosen),
    }


def _telling(opened: OpenRun) -> list[str]:
    return [opened.task.curve_of] if opened.task and opened.task.curve_of else []


def _groups(opened: OpenRun, chosen: Selection) -> list[tuple[str, str, str, int]]:
    """The groups that a gallery can be narrowed to: attribute, value, name in words, rows."""
    found = opened.columns.keep_latest(
        ("groups", chosen.asked.key(), chosen.metric),
        lambda: opened.estimates(opened.question([("by", ",".join(chosen.asked.by)), ("metric", chosen.metric)])),
    )
    names = opened.names(found)
    return [
        (one.attribute, one.group, names.who(one.attribute, one.group), one.n)
        for one in names.ordered(found)
        if one.depth == 1 and one.n
    ]


def sample_context(site: Site, opened: OpenRun, chosen: Selection, place: int) -> dict[str, Any]:
    """One sample: the whole picture, everything known about it, and its neighbours in the selection."""
    gallery: RunGallery = site.gallery(opened)
    gallery.wait(PATIENCE)
    row = row_at(opened, place)
    item = gallery.item(row, opened.columns.attributes, [one.name for one in opened.metrics], whole=True)
    places, _ = chosen.places()
    here = [int(i) for i in (places == place).nonzero()[0]]
    index = here[0] if here else None
    sample = gallery.sample(item.sample)
    real = opened.run.manifest.dataset.card.real_people
    return shared(opened, chosen.asked) | {
        "title": f"{item.sample} in {opened.title}",
        "selection": chosen,
        "item": item,
        "row": row,
        "gallery": gallery,
        "size": (sample.width, sample.height) if sample else None,
        "subjects": len(sample.subjects) if sample else 0,
        "privacy": site.privacy.sentence(real),
        "index": index,
        "total": len(places),
        "before": int(places[index - 1]) if index else None,
        "after": int(places[index + 1]) if index is not None and index + 1 < len(places) else None,
        "pairs": pairs_of(gallery, row),
        "who": group_words(opened, chosen),
    }


def unanswered_context(site: Site, opened: OpenRun, given: dict[str, str]) -> dict[str, Any]:
    """The images without a prediction, by reason and by group, with their pictures where those can be read."""
    rows = opened.failures
    reason, kind, by, group = (given.get(name, "") for name in ("reason", "kind", "of", "group"))
    reasons = Counter(str(row["reason"]) for row in rows).most_common(50)
    kept = [
        row | {"place": place}
        for place, row in enumerate(rows)
        if (not reason or row["reason"] == reason)
        and (not kind or row["kind"] == kind)
        and (not by or group in map(str, row.get(f"attr.{by}") or ()))
    ]
    gallery = site.gallery(opened)
    gallery.wait(PATIENCE if kept else 0)
    number = Parameters(given).number("page", 1)
    size = SIZES[1]
    pages = max(1, -(-len(kept) // size))
    number = min(max(number, 1), pages)
    shown = kept[(number - 1) * size : number * size]
    known = gallery.some(str(row["sample"]) for row in shown)
    attributes = [name for name in (rows[0] if rows else {}) if name.startswith("attr.")]
    return shared(opened, opened.question()) | {
        "title": f"Images without a prediction in {opened.title}",
        "rows": [(row, str(row["sample"]) in known) for row in shown],
        "gallery": gallery,
        "privacy": site.privacy.sentence(opened.run.manifest.dataset.card.real_people),
        "group": group if by else "",
        "query": urlencode([(name, given[name]) for name in ("reason", "kind", "of", "group") if given.get(name)]),
        "total": len(kept),
        "all": len(rows),
        "in_numbers": opened.in_numbers,
        "reasons": reasons,
        "kinds": Counter(str(row["kind"]) for row in rows).most_common(),
        "kind_words": KINDS,
        "reason": reason,
        "kind": kind,
        "number": number,
        "pages": pages,
        "columns": attributes[:6],
    }
