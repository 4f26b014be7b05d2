"""The application: routes to pages and data, each in its own file, behind the rules of `guard.py`."""

from typing import Any

from countenance.errors import InputError, MissingExtra
from countenance.view.guard import Closed
from countenance.view.library import Library
from countenance.view.network import Address
from countenance.view.open_run import Unknown
from countenance.view.privacy import Privacy
from countenance.view.site import Site
from countenance.view.token import Token

SILENT = ("tracing", "metrics", "logs", "auto_configure")
"""Switches off what newer versions of FastAPI report to a collector that the environment names."""


def make_app(library: Library, address: Address, token: Token, privacy: Privacy | None = None) -> Any:
    """The viewer of some runs as an ASGI application."""
    try:
        from fastapi import FastAPI, Request
        from fastapi.exceptions import RequestValidationError
        from fastapi.responses import JSONResponse, PlainTextResponse, Response
    except ImportError:
        raise MissingExtra("countenance view", "view") from None
    from countenance.view import api, assets, comparing_pages, exporting, named_view_pages, pages, pictures_pages

    site = Site(library, privacy or Privacy())
    silent: Any = dict.fromkeys(SILENT, False)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=silent)
    for part in (api, pages, pictures_pages, comparing_pages, exporting, named_view_pages, assets):
        app.include_router(part.router(site))

    @app.exception_handler(InputError)
    def refused(request: Request, error: InputError) -> Response:
        status = 404 if isinstance(error, Unknown) else 400
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": str(error)}, status)
        return pages.problem_page(site, status, str(error))

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        return PlainTextResponse("This is a bug in countenance; the terminal says more.\n", 500)

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(404)
    def missing(request: Request, error: Exception) -> Response:
        return PlainTextResponse("There is nothing at this address.\n", 404)

    return Closed(app, address, token)
