"""Downloads of a page's content: tables as CSV or Parquet, figures as SVG, PNG or PDF."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from countenance.auditing import Audit, Estimate, Finding
from countenance.errors import InputError
from countenance.report.findings import safe_cell
from countenance.view.comparing import Several, compared
from countenance.view.figures import FIGURES, forest_figure
from countenance.view.open_run import Unknown
from countenance.view.rows import Selection
from countenance.view.site import Site

TABLES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
MOST_ROWS = 200_000


def router(site: Site) -> APIRouter:
    """The routes of files to download."""
    routes = APIRouter()

    @routes.get("/runs/{run}/export/estimates.{form}")
    def estimates(run: str, form: str, request: Request) -> Response:
        opened = site.library.open(run)
        rows = opened.estimates(opened.question(request.query_params.multi_items()))
        return table(
            f"{opened.id}-estimates", form, list(Estimate.model_fields), [entry.model_dump() for entry in rows]
        )

    @routes.get("/runs/{run}/export/findings.{form}")
    def findings(run: str, form: str, request: Request) -> Response:
        opened = site.library.open(run)
        audit: Audit = opened.tested(opened.question(request.query_params.multi_items()))
        rows = [entry.model_dump() for entry in audit.findings]
        return table(f"{opened.id}-findings", form, list(Finding.model_fields), rows)

    @routes.get("/runs/{run}/export/rows.{form}")
    def rows(run: str, form: str, request: Request) -> Response:
        opened = site.library.open(run)
        places, _ = Selection.of(opened, request.query_params.multi_items()).places()
        rows = opened.rows_at([int(place) for place in places[:MOST_ROWS]])
        names = [name for name in opened.columns.names if any(name in row for row in rows[:1])]
        return table(f"{opened.id}-rows", form, names, rows)

    @routes.get("/runs/{run}/export/figure.{form}")
    def figure(run: str, form: str, request: Request) -> Response:
        opened = site.library.open(run)
        question = opened.question(request.query_params.multi_items())
        if form not in FIGURES:
            raise Unknown(f"figures are {', '.join(FIGURES)}, not {form}")
        metric = request.query_params.get("by_metric") or question.metrics[0]
        if metric not in question.metrics:
            raise InputError(f"by_metric {metric!r}, expected one of {', '.join(question.metrics)}")
        return _file(forest_figure(opened, question, form, metric), FIGURES[form], f"{opened.id}-{metric}.{form}")

    @routes.get("/compare/export/changes.{form}")
    def changes(form: str, request: Request) -> Response:
        several = Several.of(site, request.query_params.multi_items())
        rows: list[dict[str, Any]] = []
        for comparison in compared(site, several)[1]:
            for part, listed in (
                ("overall", comparison.overall),
                ("group", comparison.groups),
                ("gap", comparison.gaps),
            ):
                rows += [{"part": part} | entry.model_dump() for entry in listed]
        return table("changes", form, list(dict.fromkeys(name for row in rows for name in row)), rows)

    return routes


def table(name: str, form: str, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> Response:
    """Rows as a file."""
    if form not in TABLES:
        raise Unknown(f"tables are {', '.join(TABLES)}, not {form}")
    content = csv_bytes(columns, rows) if form == "csv" else parquet_bytes(columns, rows)
    return _file(content, TABLES[form], f"{name}.{form}")


def csv_bytes(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    """CSV in which spreadsheets take no cell for a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([safe_cell(name) for name in columns])
    for row in rows:
        cells = (row.get(name) for name in columns)
        writer.writerow([safe_cell("; ".join(map(str, cell)) if isinstance(cell, list) else cell) for cell in cells])
    return ("\ufeff" + buffer.getvalue()).encode("utf-8", "replace")


def parquet_bytes(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    """The content of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(
        pa.table({name: pa.array((row.get(name) for row in rows), from_pandas=True) for name in columns}), buffer
    )
    return buffer.getvalue()


def _file(content: bytes, kind: str, name: str) -> Response:
    """A download; its name is an id and a metric, reduced to plain characters."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in ".-_@") else "-" for c in name)
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{plain}"'})
