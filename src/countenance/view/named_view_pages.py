"""Saving and deleting views: the only requests that change anything; none is a GET."""

from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from countenance.view.site import Site


def router(site: Site) -> APIRouter:
    """The routes of saved views."""
    routes = APIRouter()

    @routes.get("/api/views")
    def views() -> Response:
        return JSONResponse([{"name": view.name, "address": view.address} for view in site.saved.views()])

    @routes.post("/views")
    async def save(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
        view = site.saved.save(form.get("name", ""), form.get("address", ""))
        return HTMLResponse(site.render("saved.html.j2", title="Saved", view=view, views=site.saved.views()))

    @routes.post("/views/delete")
    async def delete(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
        site.saved.delete(form.get("name", ""))
        return HTMLResponse(site.render("saved.html.j2", title="Deleted", view=None, views=site.saved.views()))

    return routes
