"""Pages with pictures: the gallery, one sample, images without a prediction; and the pictures themselves."""

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from countenance.report.numbers import plural
from countenance.report.page import KINDS
from countenance.view.cards import face
from countenance.view.open_run import OpenRun, Unknown
from countenance.view.pages import group_words, shared, waiting
from countenance.view.pairs import pairs_of
from countenance.view.parameters import Parameters
from countenance.view.rows import ORDERS, SHOWS, SIZES, Selection
from countenance.view.samples import RunGallery, captions
from countenance.view.site import Site

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
        parameters = dict(request.query_params)
        return HTMLResponse(site.render("unanswered.html.j2", **unanswered_context(site, opened, parameters)))

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

    @routes.get("/runs/{run}/faces/{number}")
    def failed_face(run: str, number: int) -> Response:
        return _picture(face(site, site.library.open(run), number))

    @routes.get("/runs/{run}/pictures/{place}")
    def picture(run: str, place: int) -> Response:
        opened = site.library.open(run)
        return _picture(site.gallery(opened).picture(row_at(opened, place)))

    @routes.get("/runs/{run}/made/{place}")
    def predicted_picture(run: str, place: int) -> Response:
        opened = site.library.open(run)
        return _picture(site.gallery(opened).predicted_picture(row_at(opened, place)))

    @routes.get("/api/runs/{run}/pictures")
    def state(run: str) -> Response:
        gallery = site.gallery(site.library.open(run))
        gallery.start()
        return JSONResponse({"state": gallery.state, "problem": gallery.problem})

    return routes


def _picture(content: bytes) -> Response:
    return Response(content, media_type="image/jpeg", headers=CACHED)


def row_at(opened: OpenRun, place: int) -> dict[str, Any]:
    """A row of the score table."""
    rows = opened.rows_at([place]) if 0 <= place < opened.columns.total else []
    if not rows:
        raise Unknown(f"{opened.place}: there is no row {place}; the table has {opened.columns.total:,}")
    return rows[0]


def gallery_context(site: Site, opened: OpenRun, chosen: Selection) -> dict[str, Any]:
    """A page of pictures; pictures that are still being read are filled in later."""
    loading = waiting(site, [opened])
    gallery = site.gallery(opened)
    page = chosen.page()
    by = [name for name in chosen.question.by if name in opened.columns.attributes] or opened.groupable[:3]
    metrics = list(dict.fromkeys([chosen.metric, *_telling(opened)]))
    real = opened.run.manifest.dataset.card.real_people
    items = gallery.items(page.rows, by, metrics)
    return shared(opened, chosen.question) | {
        "title": f"Samples of {opened.title}",
        "page": page,
        "selection": chosen,
        "items": items,
        "captions": captions(items),
        "gallery": gallery,
        "waiting": loading,
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


def _groups(opened: OpenRun, chosen: Selection) -> list[tuple[str, str, str, int, int]]:
    """The groups by which a gallery can be filtered: attribute, value, name in words, failures, rows."""
    estimates = opened.columns.keep_latest(
        ("groups", chosen.question.key(), chosen.metric),
        lambda: opened.estimates(opened.question([("by", ",".join(chosen.question.by)), ("metric", chosen.metric)])),
    )
    names = opened.names(estimates)
    groups = [(e.attribute, e.group) for e in names.ordered(estimates) if e.depth == 1 and e.n]
    counts = chosen.failures(groups)
    return [(*group, names.who(*group), *count) for group, count in zip(groups, counts, strict=True)]


def sample_context(site: Site, opened: OpenRun, chosen: Selection, place: int) -> dict[str, Any]:
    """One sample: the whole picture, all data about it, and its neighbours in the selection."""
    loading = waiting(site, [opened])
    gallery: RunGallery = site.gallery(opened)
    row = row_at(opened, place)
    item = gallery.item(row, opened.columns.attributes, [metric.name for metric in opened.metrics], whole=True)
    places, _ = chosen.places()
    here = [int(i) for i in (places == place).nonzero()[0]]
    index = here[0] if here else None
    sample = gallery.sample(item.sample)
    real = opened.run.manifest.dataset.card.real_people
    return shared(opened, chosen.question) | {
        "title": f"{item.sample} in {opened.title}",
        "selection": chosen,
        "item": item,
        "row": row,
        "gallery": gallery,
        "waiting": loading,
        "size": (sample.width, sample.height) if sample else None,
        "subjects": len(sample.people) if sample else 0,
        "privacy": site.privacy.sentence(real),
        "index": index,
        "total": len(places),
        "before": int(places[index - 1]) if index else None,
        "after": int(places[index + 1]) if index is not None and index + 1 < len(places) else None,
        "pairs": pairs_of(gallery, row),
        "who": group_words(opened, chosen),
    }


def _differing(attributes: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """The attributes in which rows differ; all attributes if they differ in none."""
    several = [name for name in attributes if len({str(row.get(name)) for row in rows}) > 1]
    return several or attributes


def unanswered_context(site: Site, opened: OpenRun, parameters: dict[str, str]) -> dict[str, Any]:
    """The images without a prediction, by reason and by group, with their pictures if readable."""
    rows = opened.failures
    reason, kind, by, group = (parameters.get(name, "") for name in ("reason", "kind", "of", "group"))
    reasons = Counter(str(row["reason"]) for row in rows).most_common(50)
    matching = [
        row | {"place": place}
        for place, row in enumerate(rows)
        if (not reason or row["reason"] == reason)
        and (not kind or row["kind"] == kind)
        and (not by or group in map(str, row.get(f"attr.{by}") or ()))
    ]
    loading = waiting(site, [opened])
    gallery = site.gallery(opened)
    number = Parameters(parameters).number("page", 1)
    size = SIZES[1]
    pages = max(1, -(-len(matching) // size))
    number = min(max(number, 1), pages)
    shown = matching[(number - 1) * size : number * size]
    known = gallery.some(str(row["sample"]) for row in shown)
    attributes = [name for name in (rows[0] if rows else {}) if name.startswith("attr.")]
    return shared(opened, opened.question()) | {
        "title": f"Images without a prediction in {opened.title}",
        "rows": [(row, str(row["sample"]) in known) for row in shown],
        "gallery": gallery,
        "waiting": loading if matching else "",
        "privacy": site.privacy.sentence(opened.run.manifest.dataset.card.real_people),
        "group": group if by else "",
        "query": urlencode(
            [(name, parameters[name]) for name in ("reason", "kind", "of", "group") if parameters.get(name)]
        ),
        "total": len(matching),
        "all": len(rows),
        "in_numbers": opened.in_numbers,
        "reasons": reasons,
        "kinds": Counter(str(row["kind"]) for row in rows).most_common(),
        "kind_words": KINDS,
        "reason": reason,
        "kind": kind,
        "number": number,
        "pages": pages,
        "columns": _differing(attributes, rows)[:4],
    }
