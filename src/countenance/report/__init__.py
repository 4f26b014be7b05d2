"""A run, or a dataset, as one page that opens from disk and needs nothing else."""

from countenance.report.evidence import write_evidence
from countenance.report.page import write_report

__all__ = ["write_evidence", "write_report"]
