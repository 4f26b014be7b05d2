"""Pages that open from disk and need nothing else: of a run, of a table of scores, of a dataset, of a comparison."""

from countenance.report.evidence import write_evidence
from countenance.report.page import write_report, write_table_report

__all__ = ["write_evidence", "write_report", "write_table_report"]
