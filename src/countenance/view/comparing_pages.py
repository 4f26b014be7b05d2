"""Two or more runs side by side: the same groups, the same slices, the samples that changed."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from countenance.view.comparing import compare_context
from countenance.view.site import Site


def router(site: Site) -> APIRouter:
    """The route of the comparison."""
    routes = APIRouter()

    @routes.get("/compare")
    def compare(request: Request) -> Response:
        return HTMLResponse(site.render("compare.html.j2", **compare_context(site, request.query_params.multi_items())))

    return routes
