"""The pages and files of a run, written again after people were removed from it."""

from collections.abc import Mapping
from typing import Any

from countenance.report.evidence import EVIDENCE, write_evidence
from countenance.report.gallery import CHOICES
from countenance.report.page import write_report
from countenance.run import Run
from countenance.run.file_names import AUDIT, REPORT
from countenance.run.suite import suite_of


def rewrite_pages(run: Run, journal: Mapping[str, Any]) -> list[str]:
    """Write the files again that a purge removed from a run: its suite's own, then the pages with the same gallery."""
    suite = suite_of(run)
    files = [] if suite is None else suite.files(run, journal["files"])
    pages = [name for name in (REPORT, EVIDENCE) if name in journal["files"] and name not in files]
    if not run.store.storage.has(AUDIT):
        return files
    for name in pages:
        if name == EVIDENCE:
            write_evidence(run)
        else:
            shown = journal["pages"].get(name, {}).get("gallery")
            write_report(run, gallery=shown if shown in CHOICES else "off")
    return [*files, *pages]
