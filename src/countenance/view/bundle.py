"""A static copy of the viewer's pages: for a web server, or as an artefact of CI.

The pages are those of the viewer with the tests already in them; links lead to files of the bundle, and parts that need
a server (controls, further rows) are left out. Pictures are copied as the privacy setting allows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import write_atomically
from countenance.report import words
from countenance.report.draw.mpl.style import is_installed
from countenance.report.numbers import plural
from countenance.view.assets import FILES
from countenance.view.cards import RunCard, card_of, face
from countenance.view.comparing import MOST_RUNS, Several, differences
from countenance.view.exporting import TABLES, csv_bytes, parquet_bytes
from countenance.view.figures import FIGURES, forest_figure
from countenance.view.library import Library, Summary
from countenance.view.live_source import Live
from countenance.view.open_run import OpenRun
from countenance.view.pages import runs_context, tests_context
from countenance.view.pictures_pages import gallery_context
from countenance.view.privacy import Privacy
from countenance.view.rows import Selection
from countenance.view.site import Site

MOST_PICTURES = 48
"""Pictures of each group that a bundle holds."""
MARK = "bundle.txt"


def write_bundle(library: Library, privacy: Privacy, out: Path) -> list[str]:
    """Write a folder of pages; returns lines on what was written and what was left out.

    The folder must be new, empty, or an earlier bundle.
    """
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).is_file())):
        raise InputError(f"{out}: is not empty and no bundle; name a new folder")
    site = Site(library, privacy)
    write = _writer(out)
    write(MARK, b"A static copy made by `countenance view --bundle`; index.html is its first page.\n")
    for name, (path, _) in FILES.items():
        write(f"static/{name}", path.read_bytes())
    lines, shown = [], []
    for summary in library.summaries():
        if summary.problem or summary.status != "complete":
            lines.append(f"left out {summary.place}: {summary.problem or 'it has not finished'}")
            continue
        try:
            pictures = _run(site, library.open(summary.id), write)
        except InputError as error:
            lines.append(f"left out {summary.place}: {error}")
            continue
        shown.append(summary.id)
        lines.append(f"run      {summary.name}, {plural(pictures, 'picture')}")
    listed = [summary for summary in library.summaries() if summary.id in shown]
    comparisons, left_out = _comparisons(site, listed, write)
    lines += left_out
    context = runs_context(site, {}) | {"runs": listed, "comparisons": comparisons}
    context["cards"] = {summary.id: _bundled_card(site, summary, write) for summary in listed}
    write("index.html", site.render("bundle_runs.html.j2", base="", index="index.html", **context).encode())
    return [*lines, f"bundle   {(out / 'index.html').resolve()}"]


def _bundled_card(site: Site, summary: Summary, write: Callable[[str, bytes], None]) -> RunCard:
    """A run of the list, with its faces written beside it."""
    card, faces = card_of(site, summary), []
    for number in range(len(card.faces)):
        try:
            write(f"{summary.id}/face-{number}.jpg", face(site, site.library.open(summary.id), number))
        except InputError:
            break
        faces.append(f"{summary.id}/face-{number}.jpg")
    return replace(card, faces=tuple(faces))


def _comparisons(
    site: Site, listed: Sequence[Summary], write: Callable[[str, bytes], None]
) -> tuple[list[tuple[list[str], str]], list[str]]:
    """One page for all runs of a task on a dataset, the oldest first, with the name and address of each."""
    pages: list[tuple[list[str], str]] = []
    lines = []
    alike: dict[tuple[str, str], list[Summary]] = {}
    for summary in sorted(listed, key=lambda summary: summary.finished):
        alike.setdefault((summary.task, summary.dataset), []).append(summary)
    for group in alike.values():
        if len(group) < 2:
            continue
        address = f"compare-{len(pages)}.html"
        try:
            several = Several.of(site, [("run", summary.id) for summary in group[:MOST_RUNS]])
            context = differences(site, several, linked=False) | {"title": "Comparison"}
        except InputError as error:
            lines.append(f"left out the comparison of {', '.join(summary.name for summary in group)}: {error}")
            continue
        text = site.render("bundle_compare.html.j2", base="", index="index.html", **context)
        write(address, text.encode())
        pages.append((several.names, address))
        lines.append(f"compare  {' → '.join(several.names)}")
    return pages, lines


def _writer(out: Path) -> Callable[[str, bytes], None]:
    def write(name: str, content: bytes) -> None:
        write_atomically(out / name, lambda part: part.write_bytes(content))

    return write


def _run(site: Site, opened: OpenRun, write: Callable[[str, bytes], None]) -> int:
    """Write the page of a run, its tables, figures and pages of failures; returns the number of pictures."""
    question = opened.question()
    audit = opened.tested(question)
    source = Live.tested(opened, question, audit)
    failed = source.failed()
    galleries: list[tuple[str, Selection]] = [("everybody", Selection.of(opened, [("show", "failed")]))]
    for finding in failed:
        address = source.pictures(finding).partition("?")[2]
        galleries.append((words.statement(finding, source.names).who, _selection(opened, address)))
    folder = f"{opened.id}/"
    count, pages = 0, []
    for number, (who, chosen) in enumerate(galleries):
        count += _gallery(site, opened, chosen, f"{folder}failures-{number}.html", who, write)
        pages.append((who, f"failures-{number}.html"))
    context = tests_context(site, opened, question)
    del context["title"]
    for name in ("rows_link", "unanswered_link"):  # a bundle holds only the rows that it shows
        del context[name]
    context["findings_csv"] = "findings.csv"
    context["worst"] = pages
    for form in TABLES:
        rows = {
            "estimates": [e.model_dump() for e in opened.estimates(question)],
            "findings": [f.model_dump() for f in audit.findings],
        }
        for name, table in rows.items():
            columns = list(table[0]) if table else []
            write(f"{folder}{name}.{form}", (csv_bytes if form == "csv" else parquet_bytes)(columns, table))
    figures = [*FIGURES] if is_installed() else []  # they need the extra `plots`
    for form in figures:
        write(f"{folder}figure.{form}", forest_figure(opened, question, form, question.metrics[0]))
    text = site.render(
        "bundle_run.html.j2",
        base="../",
        index="index.html",
        title=opened.title,
        files=[*TABLES],
        figures=figures,
        **context,
    )
    write(f"{folder}index.html", text.encode())
    return count


def _selection(opened: OpenRun, query: str) -> Selection:
    from urllib.parse import parse_qsl

    return Selection.of(opened, parse_qsl(query, keep_blank_values=True), show="failed")


def _gallery(
    site: Site, opened: OpenRun, chosen: Selection, name: str, who: str, write: Callable[[str, bytes], None]
) -> int:
    """Write a page of failures with their pictures; returns the number of pictures."""
    site.gallery(opened).wait()
    context: dict[str, Any] = gallery_context(site, opened, chosen)
    items = context["items"][:MOST_PICTURES]
    rows = {row["place"]: row for row in context["page"].rows}
    written = 0
    shown = []
    for item in items:
        picture = ""
        if item.window is not None:
            try:
                content = site.gallery(opened).thumbnail(rows[item.place])
            except InputError:
                content = b""
            if content:
                picture = f"pictures/{item.place}.jpg"
                write(f"{opened.id}/{picture}", content)
                written += 1
        shown.append((item, picture))
    text = site.render(
        "bundle_gallery.html.j2",
        base="../",
        index="index.html",
        title=f"Failures: {who}",
        who=who,
        items=shown,
        total=context["page"].total,
        selection=chosen,
        privacy=context["privacy"],
        captions=context["captions"],
        gallery=context["gallery"],
    )
    write(name, text.encode())
    return written
