"""Data as JSON: the runs, estimates, tests as a stream, rows."""

import json
import queue
import threading
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from countenance.auditing.conversion import plain
from countenance.errors import InputError
from countenance.view.library import as_json
from countenance.view.rows import Selection
from countenance.view.site import Site


def router(site: Site) -> APIRouter:
    """The routes below /api."""
    routes = APIRouter(prefix="/api")

    @routes.get("/runs")
    def runs() -> Response:
        return JSONResponse([as_json(entry) for entry in site.library.summaries()])

    @routes.get("/stamp")
    def stamp() -> Response:
        return JSONResponse({"stamp": site.library.stamp()})

    @routes.get("/runs/{run}")
    def run(run: str) -> Response:
        opened = site.library.open(run)
        manifest = opened.run.manifest.model_dump(mode="json")
        return JSONResponse(plain({"id": run, "manifest": manifest}))

    @routes.get("/runs/{run}/estimates")
    def estimates(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        results = opened.estimates(opened.question(request.query_params.multi_items()))
        return JSONResponse([plain(entry.model_dump()) for entry in results])

    @routes.get("/runs/{run}/audit")
    def audit(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        question = opened.question(request.query_params.multi_items())
        return StreamingResponse(_streamed(opened, question), media_type="application/x-ndjson")

    @routes.get("/runs/{run}/rows")
    def rows(run: str, request: Request) -> Response:
        opened = site.library.open(run)
        chosen = Selection.of(opened, request.query_params.multi_items())
        page = chosen.page()
        return JSONResponse(plain({"total": page.total, "page": page.number, "pages": page.pages, "rows": page.rows}))

    return routes


def _streamed(opened: Any, question: Any) -> Iterator[str]:
    """Lines of JSON: the progress of the permutations, then the verdict, then a line for each finding."""
    lines: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def work() -> None:
        try:
            results = opened.tested(question, lambda done, total: lines.put({"done": done, "total": total}))
            lines.put({"verdict": results.verdict, "reason": results.reason, "comparisons": len(results.findings)})
            for entry in results.findings:
                lines.put({"finding": entry.model_dump()})
        except InputError as error:
            lines.put({"error": str(error)})
        except Exception:
            lines.put({"error": "this is a bug in countenance; the terminal says more"})
            raise
        finally:
            lines.put(None)

    threading.Thread(target=work, daemon=True).start()
    while (line := lines.get()) is not None:
        yield json.dumps(plain(line), ensure_ascii=False) + "\n"
