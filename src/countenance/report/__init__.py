"""Pages without external files: of a run, a table, a dataset, a comparison; PDF, cards, tables."""

from pathlib import Path
from typing import Any

from countenance.report.evidence import rewrite_pages, write_evidence
from countenance.report.page import TableOrigin, write_report, write_table_report

__all__ = [
    "TableOrigin",
    "rewrite_pages",
    "write_audit_report",
    "write_evidence",
    "write_pdf",
    "write_report",
    "write_table_pdf",
    "write_table_report",
]


def write_audit_report(source: Any, audit: Any, out: Path) -> Path:
    """Write the page (or, by its name, the PDF) of an audit of a run, a path or a table."""
    from countenance.auditing.source import Source
    from countenance.run import Run
    from countenance.scratch import temporary_folder

    paper = out.suffix.lower() == ".pdf"
    if isinstance(source, Run):
        return write_pdf(source, out) if paper else write_report(source, out)
    if isinstance(source, str | Path):
        return write_table_pdf(source, audit, out) if paper else write_table_report(source, audit, out)
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = Source(source)
    with temporary_folder("table") as folder:
        path = Path(folder) / "table.parquet"
        pq.write_table(pa.table(columns.read([], columns.names)), path)
        return write_table_pdf(path, audit, out) if paper else write_table_report(path, audit, out)


def write_pdf(run: Any, out: Path | str, **options: Any) -> Path:
    """Write the report of an audited run as PDF; see `countenance.report.pdf.write_pdf`."""
    from countenance.report.pdf import write_pdf as write

    return write(run, out, **options)


def write_table_pdf(table: Path | str, audit: Any, out: Path | str, origin: TableOrigin | None = None) -> Path:
    """Write the report of a table's audit as PDF; see `countenance.report.pdf.write_table_pdf`."""
    from countenance.report.pdf import write_table_pdf as write

    return write(table, audit, out, origin)
