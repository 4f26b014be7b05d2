"""The report as PDF: the page's headline, statements and figures, for people who file or print reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from countenance.auditing import Audit
from countenance.report import numbers
from countenance.report.cards.tables import finding_row
from countenance.report.draw.mpl import curve_figures, forest_figures, heat_figures
from countenance.report.findings import in_order
from countenance.report.markup import put_markup, put_table
from countenance.report.names import attribute_label
from countenance.report.open_questions import Open
from countenance.report.page import TableOrigin, context, table_context
from countenance.report.paper import Paper, pdf_path
from countenance.report.pdf_first_page import put_first
from countenance.report.source import Audited, ReportSource
from countenance.report.words import UNTESTABLE
from countenance.run import Run
from countenance.run.licences import in_words, of_manifest

MOST_FINDINGS, MOST_OPEN = 60, 24


def write_pdf(
    run: Run | ReportSource, out: Path | str, *, content: dict[str, Any] | None = None, verdicts: bool = True
) -> Path:
    """Write the report of an audited run as PDF and return its path; it never shows a real face.

    `content` is the content of the HTML page (`countenance.report.page.context`), so that both have the same headline,
    statements, numbers and sections of a suite. Without `verdicts` no group is marked by its verdict in the figures.
    The same run gives the same bytes.
    """
    path = pdf_path(out)
    source = run if isinstance(run, ReportSource) else ReportSource.of(run)
    content = context(source, "auto") if content is None else content
    manifest = content["manifest"]
    title = f"{source.run.model_label} on {content['data_name']}"
    licences = in_words(of_manifest(source.run.manifest))
    day = str(manifest["finished"])[:10]
    paper = Paper(
        title,
        f"{title} · run finished {day} · countenance {manifest['countenance']}",
        finished=manifest["finished"],
        about=f"Licences: {licences}",
    )
    paper.text(f"{content['first_of']} · {content['first'].counted}", 8, soft=True, gap=1)
    put_first(paper, content["first"], content["first_notes"], faces=not content["real_people"])
    _numbers(paper, content)
    _groups(paper, content, verdicts)
    _curves(paper, source)
    _heat_maps(paper, source)
    _tables(paper, content)
    for _, name, markup in content["extra"]:
        paper.heading(name)
        put_markup(paper, markup)
    _open(paper, content)
    _findings(paper, source)
    _background(paper, content, licences)
    return paper.write(path)


def _meaning(meaning: str, better: str | None, content: dict[str, Any]) -> str:
    level = 100 * (1 - float(content["settings"]["alpha"]))
    sentence = f"{meaning[:1].upper()}{meaning[1:].rstrip('.')}. " if meaning else ""
    way = f"{better.capitalize()} is better" if better else "Which way is better was not said"
    return f"{sentence}{way}. Lines are {level:g} % intervals; all groups share one scale."


def write_table_pdf(table: Path | str, audit: Audit, out: Path | str, origin: TableOrigin | None = None) -> Path:
    """Write the report of a table's audit as PDF, with the content of its page, and return its path.

    The same table gives the same bytes.
    """
    path = pdf_path(out)
    source, content = table_context(table, audit, path, origin)
    foot = f"{content['name']} · of {content['changed'][:10]} · SHA-256 {content['hash'][:16]}"
    foot += f" · countenance {content['version']}"
    paper = Paper(content["name"], foot, finished=content["changed"])
    paper.text(
        f"{content['name']} · {numbers.plural(content['rows'], 'row')}{_compared(content['settings'])}",
        8,
        soft=True,
        gap=1,
    )
    put_first(paper, content["first"], content["first_notes"], faces=False)
    _numbers(paper, content)
    _groups(paper, content, verdicts=True)
    _open(paper, content)
    _findings(paper, source)
    _method(paper, content)
    paper.heading("Provenance")
    paper.code([content["command"]])
    paper.facts(
        [
            ("Table", f"{content['name']}, last changed {content['changed']}, SHA-256 {content['hash']}"),
            ("Versions", f"countenance {content['version']}"),
            ("Audit settings", "; ".join(f"{name} {value}" for name, value in content["recorded"])),
        ]
    )
    return paper.write(path)


def _compared(settings: dict[str, Any]) -> str:
    """The attributes and rows that were compared, for the first sentence."""
    words = f", compared by {', '.join(map(attribute_label, settings['by']))}" if settings["by"] else ""
    for name, values in (settings["where"] or {}).items():
        words += f"; only rows with {attribute_label(name)} {' or '.join(values)}"
    return words


def _groups(paper: Paper, content: dict[str, Any], verdicts: bool) -> None:
    for forest in content["forests"]:
        figures = forest_figures(forest if verdicts else forest.unmarked())
        rows = "; ".join(f"{row.label}: {row.text}" for row in forest.rows)
        height = 25.4 * float(figures[0].get_size_inches()[1])
        paper.heading(f"Groups: {forest.noun}", need=min(height + 30, 250))
        paper.text(_meaning(forest.meaning, forest.better, content), soft=True)
        for figure in figures:
            paper.figure(figure, f"{forest.noun} of each group with its interval. {rows}")


def _numbers(paper: Paper, content: dict[str, Any]) -> None:
    """The numbers of everybody."""
    manifest = content["manifest"]
    rows = [
        (number.name, number.value, number.interval, number.n, number.meaning) for number in content["numbers_on_top"]
    ]
    if manifest["dataset"]["images"] is not None:
        failed, images = manifest["failed"], numbers.count(manifest["dataset"]["images"])
        name = "images without a prediction" if failed else "images that failed"
        meaning = content["in_numbers"].clause() if failed else "no image failed"
        rows.append((name, numbers.count(failed), f"of {images}", "", meaning))
    if rows:
        paper.heading("Everyone", need=40)
        paper.table(("number", "value", "interval", "from", "meaning"), rows, "LRRRL")


def _curves(paper: Paper, source: ReportSource) -> None:
    figures = curve_figures(source)
    if not figures:
        return
    paper.heading("Curves", need=100)
    for name, figure in figures:
        paper.heading(name, 9.5, need=88)
        paper.figure(figure, f"curves: {name}")


def _heat_maps(paper: Paper, source: ReportSource) -> None:
    figures = heat_figures(source)
    if figures:
        paper.heading("Intersections and matrices", need=paper.height_of(figures[0][1]) + 25)
        paper.text("Stronger tint is worse, in a matrix higher; ◆ marks a group that is served worse.", soft=True)
    for name, figure in figures:
        paper.figure(figure, f"heat map: {name}")


def _tables(paper: Paper, content: dict[str, Any]) -> None:
    """Print those tables of the results that the page shows."""
    for sheet in content["results"].sheets:
        paper.heading(sheet.title)
        if sheet.about:
            paper.text(sheet.about, soft=True)
        put_table(paper, [sheet.columns, *sheet.rows])
        if sheet.left:
            paper.text(f"{numbers.plural(sheet.left, 'more row is', 'more rows are')} in results.json.", soft=True)


def _open(paper: Paper, content: dict[str, Any]) -> None:
    """Print the groups that could not be judged, each with what a verdict would need."""
    open_ones: list[Open] = [*content["cannot_tell"].unsure, *content["cannot_tell"].untested]
    paper.heading("What we cannot tell")
    if content["cannot_tell"].nothing:
        paper.text("Every requested comparison has an answer.")
        return
    if not open_ones:
        paper.text("Only intersections of attributes are open; the page and findings.parquet list them.")
        return
    rows = [
        (
            question.metric,
            f"{question.attribute}: {question.group}",
            numbers.count(question.clusters),
            question.estimate,
            question.seen,
            question.needed,
        )
        for question in open_ones[:MOST_OPEN]
    ]
    many = content["cluster_noun"][1]
    paper.table(
        ("metric", "group", many, "estimate (interval)", "smallest gap we could see", "it takes"), rows, "LLRRRL"
    )
    if len(open_ones) > MOST_OPEN:
        paper.text(f"The first {MOST_OPEN} of {len(open_ones):,}; the page lists all.", soft=True)


def _findings(paper: Paper, source: Audited) -> None:
    findings = in_order(source.audit.findings)
    small = [f.verdict == UNTESTABLE and f.depth > 1 for f in findings]
    rows = [finding_row(f, source) for f, left_out in zip(findings, small, strict=True) if not left_out]
    if not rows:
        return
    paper.heading("Findings", need=50)
    paper.text(
        "Worst first; groups before intersections. Each difference is the group minus the other side.", soft=True
    )
    paper.table(
        ("metric", "group", "against", "n", "estimates", "difference (interval)", "adj. p", "verdict"),
        rows[:MOST_FINDINGS],
        "LLLRRRRL",
    )
    if len(rows) > MOST_FINDINGS:
        paper.text(f"The first {MOST_FINDINGS} of {len(rows):,}; findings.parquet has all.", soft=True)
    if any(small):
        many = numbers.plural(sum(small), "intersection is", "intersections are")
        paper.text(f"{many} too small to test; findings.parquet lists them.", soft=True)


def _method(paper: Paper, content: dict[str, Any]) -> None:
    paper.heading("Method")
    for head, text in content["method"]:
        paper.facts([(head, text)])


def _background(paper: Paper, content: dict[str, Any], licences: str) -> None:
    manifest, card, model = content["manifest"], content["card"], content["model"]
    paper.heading("Data and model")
    paper.facts(
        [
            ("Data", f"{card['name']}, version {card['version']}. {card['description']}"),
            ("Consent", card["consent"]),
            ("Citation", card["citation"]),
            ("Model", f"{model['name']}, version {model['version']}. {model['description']}"),
            ("Licences", licences),
        ]
    )
    _method(paper, content)
    paper.heading("Provenance")
    paper.code(content["commands"])
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    settings = "; ".join(f"{name} {value}" for name, value in content["recorded"])
    paper.facts(
        [
            ("Run finished", str(manifest["finished"])),
            ("Run key", str(manifest["key"])),
            ("Dataset fingerprint", str(manifest["dataset"]["fingerprint"])),
            ("Versions", f"countenance {manifest['countenance']}{', ' if versions else ''}{versions}"),
            ("Audit settings", settings),
        ]
    )
