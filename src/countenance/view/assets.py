"""The style and scripts as files, since pages hold none inline."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from countenance.view.site import Site

HERE = Path(__file__).parent
REPORT = HERE.parent / "report" / "static"
FILES = {
    "report.css": (REPORT / "style.css", "text/css"),
    "report.js": (REPORT / "report.js", "text/javascript"),
    "view.css": (HERE / "static" / "view.css", "text/css"),
    "icon.svg": (HERE / "static" / "icon.svg", "image/svg+xml"),
    "view.js": (HERE / "static" / "view.js", "text/javascript"),
}


def router(site: Site) -> APIRouter:
    """The routes below /static: a few names, and no other files."""
    routes = APIRouter()

    @routes.get("/favicon.ico")
    def icon() -> Response:
        return asset("icon.svg")

    @routes.get("/static/{name}")
    def asset(name: str) -> Response:
        if name not in FILES:
            return PlainTextResponse("There is nothing at this address.\n", 404)
        path, kind = FILES[name]
        return Response(path.read_bytes(), media_type=kind)

    return routes
