"""Two or more runs side by side: the same groups, how they changed, the samples that changed."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from countenance.view.changes import samples_context
from countenance.view.comparing import changes_context, compare_context
from countenance.view.site import Site


def router(site: Site) -> APIRouter:
    """The routes of the comparison."""
    routes = APIRouter(prefix="/compare")

    @routes.get("")
    def compare(request: Request) -> Response:
        return HTMLResponse(site.render("compare.html.j2", **compare_context(site, request.query_params.multi_items())))

    @routes.get("/changes")
    def changes(request: Request) -> Response:
        return HTMLResponse(site.render("changes.html.j2", **changes_context(site, request.query_params.multi_items())))

    @routes.get("/samples")
    def samples(request: Request) -> Response:
        return HTMLResponse(site.render("changed.html.j2", **samples_context(site, request.query_params.multi_items())))

    return routes
