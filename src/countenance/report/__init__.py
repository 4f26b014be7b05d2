"""Pages that open from disk and need nothing else: of a run, a table, a dataset, a comparison; PDF, cards, tables."""

from pathlib import Path
from typing import Any

from countenance.report.again import pages_again
from countenance.report.evidence import write_evidence
from countenance.report.page import write_report, write_table_report

__all__ = ["pages_again", "write_evidence", "write_pdf", "write_report", "write_table_pdf", "write_table_report"]


def write_pdf(run: Any, out: Path | str, **options: Any) -> Path:
    """Write the report of an audited run as PDF; see `countenance.report.pdf.write_pdf`."""
    from countenance.report.pdf import write_pdf as write

    return write(run, out, **options)


def write_table_pdf(table: Path | str, audit: Any, out: Path | str) -> Path:
    """Write the report of a table's audit as PDF; see `countenance.report.pdf.write_table_pdf`."""
    from countenance.report.pdf import write_table_pdf as write

    return write(table, audit, out)
