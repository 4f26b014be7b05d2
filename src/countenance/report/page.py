"""The report: one page from one run directory, or from one table."""

import hashlib
import shlex
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

import countenance
from countenance.auditing import Audit
from countenance.calibration_table import calibration_hash
from countenance.decoding import json_of
from countenance.files import to_json
from countenance.report import charts, findings, held_equal, method, open_questions, render, words
from countenance.report import gallery as pictures
from countenance.report.album import Album
from countenance.report.draw.svg.bars import tally_bar
from countenance.report.face_matrix import face_matrix
from countenance.report.first_screen import first_screen
from countenance.report.handle import handles
from countenance.report.harms import harms
from countenance.report.ladder import FIRST_ROWS
from countenance.report.members import GroupRows
from countenance.report.metric_words import words_of
from countenance.report.notes import first_notes, together
from countenance.report.results import result_sections
from countenance.report.sentences import decision
from countenance.report.source import Audited, ReportSource, TableSource
from countenance.report.tiles import EACH_DOT
from countenance.run import Run
from countenance.run.file_names import PAGES, REPORT
from countenance.run.suite import Section, Suite, suite_of
from countenance.storage import Missing, is_url

LISTED_FAILURES = 200
NO_PICTURES = f"A table has no pictures{EACH_DOT}."
KINDS = {
    "image": "the picture could not be read",
    "model": "the model raised an error, hung or crashed",
    "answer": "the prediction was not valid",
    "declined": "the model said that it cannot answer",
}
DEFAULTS: dict[str, Any] = {
    "question": "",
    "failed": 0,
    "max_failures": 0.05,
    "seconds": None,
    "images_per_second": None,
    "cores": None,
    "finished": "not recorded",
    "command": "not recorded",
    "key": "",
    "engine": {},
    "versions": {},
    "batch": None,
    "limit": None,
    "seed": 0,
    "countenance": "",
    "notes": [],
}
AUDITED: dict[str, Any] = {
    "alpha": 0.05,
    "delta": 0.05,
    "h0": 0.2,
    "power": 0.8,
    "min_n": 20,
    "depth": 2,
    "seed": 0,
    "replicates": 2000,
    "by": [],
    "where": {},
    "unit": "",
    "not_compared": [],
    "notes": [],
    "adjust": "holm",
    "permutations": 0,
}
"""Values that a page shows for a run whose manifest or audit does not record them."""


HEAVIEST, FEWER = 1_500_000, 200
"""The most bytes of a report, and how many findings a heavier report lists."""


def write_report(run: Run, out: Path | str | None = None, *, gallery: str = "auto") -> Path:
    """Write the report of an audited run as one self-contained HTML file and return its path.

    Everything comes from the run directory; the dataset is loaded again for the gallery alone. `gallery` is auto
    (rendered people are shown, real people are not), off, blurred or full. No clock is read: the same run gives the
    same bytes. The page includes the sections of the run's suite.
    """
    return write_page(ReportSource.of(run), out, gallery)


def write_page(
    source: ReportSource, out: Path | str | None, gallery: str, content: dict[str, Any] | None = None
) -> Path:
    """Write the page of a source (with its `content` where it was computed before) and return its path."""
    content = content or context(source, gallery)
    return put(source.run, REPORT, _light_page("report.html.j2", source, content), out, gallery)


def _light_page(template: str, source: Audited, content: dict[str, Any]) -> str:
    """A page that lists fewer findings if it would be too heavy with all of them."""
    text = render.page(template, **content)
    if len(text.encode()) <= HEAVIEST:
        return text
    return render.page(template, **(content | _listed(source, FEWER)))


def put(run: Run, name: str, text: str, out: Path | str | None, gallery: str) -> Path:
    """Write a page to a file, or into the run, which records it.

    Returns the path of the page; for a run at a URL, its name in the run.
    """
    inside = Path(name) if is_url(run.place) else run.path / name
    if out is not None and (is_url(run.place) or Path(out).absolute() != inside.absolute()):
        return render.write(Path(out), text)
    with run.store.replacing(name, PAGES):
        run.store.storage.write(name, text.encode())
        run.store.storage.write(PAGES, to_json(pages_of(run) | {name: {"gallery": gallery}}).encode())
    return inside


def pages_of(run: Run) -> dict[str, Any]:
    """The pages that a run has, with how pictures are shown in each."""
    try:
        pages = json_of(run.store.storage.read(PAGES), PAGES)
    except (Missing, ValueError):
        return {}
    return pages if isinstance(pages, dict) else {}


@dataclass(frozen=True)
class TableOrigin:
    """The user's own table, and the options of `countenance audit` by which the rows of a page were made from it."""

    path: Path
    options: tuple[str, ...] = ()


def write_table_report(table: Path | str, audit: Audit, out: Path | str, origin: TableOrigin | None = None) -> Path:
    """Write the report of a table's audit as one self-contained HTML file and return its path.

    It has the sections of a run's report that need no run. The same table gives the same bytes. With `origin` the
    page names that table, from which `table` was made.
    """
    source, content = table_context(table, audit, Path(out), origin)
    return render.write(Path(out), _light_page("table.html.j2", source, content))


def table_context(
    table: Path | str, audit: Audit, out: Path, origin: TableOrigin | None = None
) -> tuple[TableSource, dict[str, Any]]:
    """The content of a table's report, for the page and the PDF."""
    named = origin or TableOrigin(Path(table))
    path = named.path
    source = TableSource(audit.without_given(), None, Path(table))
    first = first_screen(source, "The model", Album("off", NO_PICTURES))
    options = " ".join(shlex.quote(option) for option in (*named.options, *method.audit_options(audit.settings)))
    option = "--pdf" if out.suffix.lower() == ".pdf" else "--report"
    return source, audited(source) | {
        "manifest": {"failed": 0, "notes": [], "dataset": {"images": None}},
        "card": {"warning": ""},
        "too_many_failed": False,
        "headline": first.sentence,
        "first": first,
        "first_of": path.name,
        "first_heading": "h1",
        "first_notes": first_notes(source, [], {}),
        "matrix": None,
        "name": path.name,
        "rows": source.scores.num_rows,
        "hash": hashlib.sha256(path.read_bytes()).hexdigest(),
        "changed": datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds"),
        "command": f"countenance audit {shlex.quote(path.name)} {options} {option} {shlex.quote(out.name)}",
        "version": countenance.__version__,
    }


def context(source: ReportSource, choice: str) -> dict[str, Any]:
    """Everything that the template prints; `extra` are the sections of the run's suite: (id, title, markup) each."""
    suite = suite_of(source.run)
    extra = [] if suite is None else [*suite.sections(replace(source, gallery=choice)), _protocol(suite)]
    album = Album.of(source, choice)
    return evidence(source, choice, album) | {
        "gallery": pictures.gallery(source, album),
        "gallery_choice": choice,
        "extra": extra,
        "first_heading": "h1",
    }


def _protocol(suite: Suite) -> Section:
    """The citation that the authors of a suite ask for, and the rights of its data."""
    facts = Markup("").join(
        Markup("<dt>{}</dt><dd>{}</dd>").format(what, text) for what, text in suite.rights().items()
    )
    return (
        "protocol",
        f"The protocol: {suite.name}",
        Markup("<p>{}</p><dl class='facts'>{}</dl>").format(suite.question, facts),
    )


def evidence(source: ReportSource, choice: str = "auto", album: Album | None = None) -> dict[str, Any]:
    """The content of the sections on the audit, the data and the method; with an album also faces."""
    manifest, settings = DEFAULTS | source.run.plain_manifest(), AUDITED | source.audit.settings
    failed = too_many_failed(manifest)
    first = first_screen(source, source.run.model_label, album, too_many_failed=failed)
    name = source.run.dataset_label
    return audited(source) | {
        "manifest": manifest,
        "card": manifest["dataset"]["card"],
        "data_name": name,
        "model": manifest["model"],
        "model_label": source.run.model_label,
        "headline": first.sentence,
        "first": first,
        "first_of": f"{source.run.model_label} on {name}: {manifest['question']}".strip(": "),
        "first_notes": first_notes(source, manifest["notes"], manifest["dataset"]),
        "matrix": face_matrix(source, harms(source), album or Album("off"), GroupRows(source)),
        "real_people": bool(manifest["dataset"]["card"].get("real_people")),
        "too_many_failed": failed,
        "curves": charts.curve_panels(source),
        "results": result_sections(source.results, source.names),
        "failures": source.failures[:LISTED_FAILURES],
        "failure_kinds": Counter(row["kind"] for row in source.failures).most_common(),
        "unanswered": source.unanswered(),
        "in_numbers": source.in_numbers,
        "kind_words": KINDS,
        "commands": method.commands(manifest, settings, choice),
        "from_program": manifest["dataset"].get("source") is None or manifest["engine"].get("workers") == 0,
    }


def _listed(source: Audited, most: int | None = None) -> dict[str, Any]:
    """The table of findings, worst first, and its file: complete, or limited to the first if there are very many."""
    ordered, heavy = findings.in_order(source.audit.findings), most is not None
    most = most or (len(ordered) if len(ordered) <= findings.MOST else findings.FIRST)
    return {
        "findings": findings.table_rows(ordered[:most], source),
        "all_findings": len(ordered),
        "csv": findings.csv_uri(ordered[:most], short=heavy),
    }


def audited(source: Audited) -> dict[str, Any]:
    """The content of every audit's page, of a run or of a table."""
    audit, settings = source.audit, AUDITED | source.audit.settings
    lead = next((harm.metric.name for harm in harms(source)), "")
    return _listed(source) | {
        "audit": audit,
        "calibration": calibration_hash(),
        "settings": settings,
        "delta": words.gap_words(settings, points=words.in_points(audit)),
        "no_gap": words.no_gap_words(settings, points=words.in_points(audit)),
        "sized": words.is_sized(settings),
        "tally": words.tally(audit),
        "tally_bar": tally_bar(words.tally(audit)),
        "first_rows": FIRST_ROWS,
        "handles": sorted(handles(source), key=lambda handle: handle.metric != lead),
        "numbers_on_top": charts.headline_numbers(source),
        "held_equal": held_equal.section(audit, {m.name: words_of(m, source.task).noun for m in source.metrics}),
        "forests": charts.forests(source),
        "heat_maps": charts.heat_maps(source),
        "cannot_tell": open_questions.cannot_tell(source),
        "together": together(list(audit.notes)),
        "decision": decision(source),
        "columns": findings.COLUMNS,
        "method": method.paragraphs(
            settings,
            tested=sum(f.verdict != words.UNTESTABLE for f in audit.findings),
            points=words.in_points(audit),
        ),
        "cluster_noun": words.cluster_noun(settings),
        "counted_nouns": words.counted_nouns(settings),
        "unit_words": words.unit_words(str(settings["unit"])),
        "recorded": recorded(settings),
    }


SAID_ELSEWHERE = ("unit", "not_compared", "notes", "levels", "named", "crosses", "ways", "nouns", "rows", "comparisons")


def recorded(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """The settings of the audit as text, without those that are unset or named elsewhere on the page."""
    rows = []
    for name, value in settings.items():
        if value in (None, {}, [], "") or name in SAID_ELSEWHERE:
            continue
        if isinstance(value, dict):
            parts = (
                f"{key} {', '.join(map(str, v)) if isinstance(v, list) else v}" for key, v in value.items() if v != []
            )
            text = ", ".join(parts)
            rows += [(name.replace("_", " "), text)] if text else []
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append((name.replace("_", " "), text))
    return rows


def too_many_failed(manifest: dict[str, Any]) -> bool:
    """Whether more images failed than a verdict may rest on."""
    images = int(manifest["dataset"]["images"]) or 1
    return int(manifest.get("failed", 0)) / images > float(manifest.get("max_failures", 0.05))
