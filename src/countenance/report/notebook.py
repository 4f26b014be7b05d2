"""The first screen in a notebook: a fragment with its own style, that changes nothing around it."""

from __future__ import annotations

from countenance.auditing import Audit
from countenance.report import render
from countenance.report.album import Album
from countenance.report.first_screen import FirstScreen, first_screen
from countenance.report.fragments import fragment
from countenance.report.ladder import FIRST_ROWS
from countenance.report.notes import first_notes
from countenance.report.page import too_many_failed
from countenance.report.source import AuditSource, ReportSource
from countenance.run import Run, read_audit
from countenance.run.file_names import AUDIT


def audit_html(audit: Audit) -> str:
    """The first screen of an audit alone: it has no pictures, so people are dots."""
    source = AuditSource.of(audit)
    return _first(first_screen(source, _model(audit), Album("off")), "audit", first_notes(source, [], {}))


def _model(audit: Audit) -> str:
    """The model of an audited run; an audit of a table does not know it."""
    return audit.audited.model_label if isinstance(audit.audited, Run) else "The model"


def run_html(run: Run) -> str:
    """The first screen of a run from its stored audit; before there is an audit, the run as text."""
    if not run.complete or not run.store.storage.has(AUDIT):
        return f"<pre>{render.environment().from_string('{{ text }}').render(text=repr(run))}</pre>"
    source = ReportSource(read_audit(run), run.task(), run)
    manifest = run.plain_manifest()
    first = first_screen(
        source,
        run.model_label,
        Album.of(source, "auto"),
        too_many_failed=too_many_failed({"max_failures": 0.05} | manifest),
    )
    title = f"{run.model_label} on {run.dataset_label}: {manifest.get('question', '')}".strip(": ")
    return _first(first, title, first_notes(source, list(manifest.get("notes") or []), manifest["dataset"]))


def _first(first: FirstScreen, title: str, notes: list[str]) -> str:
    """A first screen as markup for a notebook, without the links into the page."""
    return fragment(
        "sections/verdict.html.j2",
        first=first,
        first_of=title,
        first_notes=notes,
        first_rows=FIRST_ROWS,
        first_heading="h2",
        alone=True,
    )


def audit_lines(audit: Audit) -> str:
    """An audit in five lines."""
    first = first_screen(AuditSource.of(audit), _model(audit), Album("off"))
    return "\n".join(_lines("Audit", audit.verdict, first))


def _lines(kind: str, verdict: str, first: FirstScreen) -> list[str]:
    return [
        f"{kind}: {verdict} ({first.counted})",
        f"  {first.sentence} {first.second}".rstrip(),
        f"  Who:  {first.who[0].label}, {first.who[0].text}" if first.who else f"  Who:  {first.no_who}",
        f"  When: {first.when[0].label}, {first.when[0].text}" if first.when else f"  When: {first.no_when}",
        f"  {first.forest.note if first.forest else first.how_sure}",
    ]


def run_lines(run: Run) -> str:
    """A run in at most five lines."""
    head = f"Run({run.place!r}, {run.manifest.task} of {run.model_label} on {run.dataset_label})"
    if not run.complete or not run.store.storage.has(AUDIT):
        return head
    source = ReportSource(read_audit(run), run.task(), run)
    first = first_screen(source, run.model_label)
    return "\n".join([head, *_lines("Audit", source.audit.verdict, first)[1:]])
