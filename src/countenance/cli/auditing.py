"""`countenance audit`: compare groups of a run or of any table, and say what the evidence shows."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.audit_options import By, Metrics, Quiet, attributes_of, audit_arguments, names_of
from countenance.cli.lines import PaintedLine, PaintedText, Stopped, note, say, width, wrapped
from countenance.cli.places import is_run
from countenance.cli.settings import in_flags
from countenance.cli.shared_options import Json, Page, Pdf
from countenance.cli.tables import fitted, spark
from countenance.cli.trust_options import Unverified, keep_audit
from countenance.errors import InputError
from countenance.settings import AuditFields
from countenance.storage import place_of

if TYPE_CHECKING:
    from countenance.auditing import Audit, Finding
    from countenance.run import Run

MOST_LINES = 60
MOST_LEFT_OUT = 12


def audit(
    table: Annotated[
        Any,
        typer.Argument(
            help="A run (folder or s3://…), or any table of rows (.parquet, .csv, .tsv, .json, .jsonl, also .gz; a "
            "folder or URL of .parquet files).",
            parser=place_of,
        ),
    ],
    fields: AuditFields,
    by: By = None,
    metric: Metrics = None,
    truth: Annotated[str | None, typer.Option(help="The column with the truth, in a table of predictions.")] = None,
    pred: Annotated[
        str | None, typer.Option(help="The column with the predictions (classes, 0/1, yes/no, or numbers).")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="The column with scores, for AUC and calibration; without --truth, the scoring rate (LL144)."
        ),
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive class, where the values do not show it.")] = None,
    equity: Annotated[
        bool,
        typer.Option(
            "--equity", help="Add equity measures, with intervals and the values that a fair system would show."
        ),
    ] = False,
    json: Json = None,
    report: Page = None,
    pdf: Pdf = None,
    unverified: Unverified = False,
    quiet: Quiet = False,
) -> None:
    """Compare groups in a run, or in any table with a row for each person, picture or decision."""
    from countenance.auditing import audit as audit_table
    from countenance.auditing.parquet import SUFFIXES, fetched
    from countenance.auditing.source import Source
    from countenance.files import write_json
    from countenance.prediction_tables import prediction_table
    from countenance.report import TableOrigin, write_pdf, write_report, write_table_pdf, write_table_report
    from countenance.run import Run, audit_run
    from countenance.run.ledger import noted
    from countenance.run.licences import of_manifest
    from countenance.scratch import temporary_folder
    from countenance.table_files import is_plain, table_columns, write_columns

    check_writable([json, report, pdf], [table])
    if pdf is not None and pdf.suffix.lower() != ".pdf":
        raise InputError(f"--pdf {pdf}: expected a name that ends in .pdf")
    compared, settings = attributes_of(by), audit_arguments(fields) | {"equity": equity}
    if not is_run(table) and not table.exists():
        raise InputError(f"{table}: no such file or folder; give a run directory or a table (.parquet, .csv)")
    finished = Run(table, verified=not unverified) if is_run(table) and not _is_table(table) else None
    if finished is not None and (truth or pred or score):
        raise InputError(f"{table}: a run has its own metrics; --truth, --pred and --score are for tables")
    if finished is None and is_run(table) and (report or pdf) and not str(table).lower().endswith(SUFFIXES):
        raise InputError(f"{table}: several files; a page shows one: --report and --pdf need a single .parquet or .csv")
    with ExitStack() as stack:
        path = Path() if finished is not None else stack.enter_context(fetched(table))
        columns = {"--truth": truth, "--pred": pred, "--score": score, "--positive": positive}
        origin = TableOrigin(path, tuple(word for name, value in columns.items() if value for word in (name, value)))
        with shuffling(quiet) as progress:
            if finished is not None:
                answer = noted(finished, audit_run(finished, compared, names_of(metric), progress=progress, **settings))
            elif truth or pred or score:
                prepared = prediction_table(
                    path,
                    compared,
                    names_of(metric),
                    truth=truth,
                    pred=pred,
                    score=score,
                    positive=positive,
                    settings=settings,
                )
                for text in prepared.notes:
                    note(text)
                folder = Path(stack.enter_context(temporary_folder("predictions")))
                path = prepared.write(folder / f"{Path(table).stem}.parquet")
                answer = audit_table(
                    Source(path, label=str(table)),
                    prepared.by,
                    prepared.metrics,
                    computed=prepared.computed,
                    progress=progress,
                    **prepared.settings,
                )
            else:
                if not is_plain(path):
                    folder = Path(stack.enter_context(temporary_folder("table")))
                    remarks: list[str] = []
                    path = write_columns(table_columns(path, remarks), folder / f"{Path(table).stem}.parquet")
                    for text in remarks:
                        note(text)
                source = Source(path, label=str(table))
                answer = audit_table(source, compared, names_of(metric), progress=progress, **settings)
        for line in lines_of(answer, width(), finished):
            say(line)
        for caution in finished.cautions if finished is not None else ():
            say(f"note     {in_flags(caution)}")
        if json is not None:
            licences = {} if finished is None else {"licences": of_manifest(finished.manifest)}
            write_json(json, answer.to_dict(groups=True) | licences)
        if finished is not None:
            keep_audit(finished, answer)
        if report is not None:
            page = (
                write_report(finished, report)
                if finished is not None
                else write_table_report(path, answer, report, origin)
            )
            say(f"report   {page.resolve()}")
        if pdf is not None:
            page = write_pdf(finished, pdf) if finished is not None else write_table_pdf(path, answer, pdf, origin)
            say(f"pdf      {page.resolve()}")


def _is_table(place: Path | str) -> bool:
    """Whether a folder or a URL holds Parquet files and no run."""
    from countenance.auditing.parquet import SUFFIXES
    from countenance.run.store import RunStore

    if str(place).lower().endswith(SUFFIXES):
        return True
    store = RunStore(place)
    return not store.exists() and any(entry.name.lower().endswith(SUFFIXES) for entry in store.storage.entries())


def check_writable(paths: Sequence[Path | None], inputs: Sequence[Any] = ()) -> None:
    """Refuse a place that cannot be written, or that is read, before the work, not after it."""
    for path in paths:
        if path is not None and path.is_file() and any(_is_file(path, place) for place in inputs):
            raise InputError(f"{path}: is read by this command and would be replaced; name another file")
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            what = "is a folder" if path.is_dir() else f"{path.parent} is not a folder"
            raise InputError(f"{path}: cannot be written ({what})")


def _is_file(path: Path, other: Any) -> bool:
    return isinstance(other, Path) and other.is_file() and path.samefile(other)


@contextmanager
def shuffling(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar for the permutations of an audit, shown from their first step; Ctrl-C stops without a trace."""
    from countenance.cli.progress import progress

    state: dict[str, object] = {"done": 0, "total": 0}
    with ExitStack() as stack:

        def step(done: int, total: int) -> None:
            if state["total"] != total:  # the permutations begin, or more of them follow
                stack.close()
                state["step"] = stack.enter_context(progress("permutations", total, quiet=quiet))
                state["total"], state["done"] = total, 0
            state["step"](done - int(str(state["done"])))  # type: ignore[operator]
            state["done"] = done

        try:
            yield step
        except KeyboardInterrupt:
            stack.close()
            say("stopped; nothing was written (--adjust holm needs no permutations)", err=True)
            raise Stopped from None


def lines_of(result: "Audit", columns: int | None = None, finished: "Run | None" = None) -> list[str]:
    """An audit for a terminal: the verdict, everyone's scores, the table of findings, and who was left out.

    `columns` is how wide the terminal is; `finished` is the run that was audited, None for a table.
    """
    from countenance.auditing.headline import headline
    from countenance.report.names import in_group_order
    from countenance.report.words import mark

    every, result = result, result.without_given()
    worst = "severe" if any(f.severity == "severe" for f in result.findings) else "minor"
    lines: list[str] = [PaintedLine(["verdict  ", PaintedText(result.verdict, mark(result.verdict, worst))])]
    short = headline(result) if finished is None else _run_sentences(finished, result)
    lines += wrapped("in short", in_flags(short), columns)
    lines += wrapped("findings", tally(result), columns)
    lines += wrapped("overall", overall_words(result), columns) if result.overall else []
    lines += [*unit_lines(result, columns), ""]
    listed = in_group_order([f for f in result.findings if f.depth == 1] or result.findings)
    permutations = result.settings["permutations"] if result.settings["adjust"] == "minp" else 0
    lines += _table(listed[:MOST_LINES], 1 / (permutations + 1) if permutations else 0.0, columns)
    hidden = len(result.findings) - min(len(listed), MOST_LINES)
    if hidden:
        further = "1 further finding" if hidden == 1 else f"{hidden:,} further findings"
        lines.append(f"{further} (intersections): --json, findings.parquet or the report has them")
    return [*lines, *_left_out(result, columns), *_equity_lines(result, columns), *given_lines(every, columns)]


def given_lines(result: "Audit", columns: int | None = None) -> list[str]:
    """The gaps with conditions held equal, as a table; empty where no conditions were."""
    from countenance.auditing.given_finding import PART_OF_GAP, not_recorded_words
    from countenance.report.names import in_group_order

    if not result.given:
        return []
    head = ("metric", "attribute = group", "raw", "held equal", "p adj.", "verdict")
    rows = [head, *(_given_row(finding) for finding in in_group_order(result.given))]
    first = result.given[0]
    lost = max(1 - finding.overlap for finding in result.given)
    text = f"{', '.join(first.given)}; at most {100 * lost:.1f} % of rows have nobody to compare with"
    if left_out := not_recorded_words(result.given):
        text += f"; {left_out}"
    if first.note == PART_OF_GAP:
        text += f"; what is measured on the face {PART_OF_GAP}"
    return ["", *wrapped("held equal", text, columns), *fitted(rows, columns)]


def _given_row(finding: Any) -> tuple[str, ...]:
    from countenance.auditing.verdict import p_words

    tested = finding.low == finding.low
    ends = f"{finding.held_equal:+.3f} [{finding.low:+.3f}, {finding.high:+.3f}]" if tested else ""
    p = p_words(finding.p_adjusted, 0.0) if tested else ""
    group = f"{finding.attribute} = {finding.group}"
    return finding.metric, group, f"{finding.raw:+.3f}", ends, p, finding.verdict


def overall_words(result: "Audit") -> str:
    """Everyone's scores: each metric with its interval."""
    from countenance.auditing.verdict import shown

    return "; ".join(f"{e.metric} {shown(e.estimate)} [{shown(e.low)}, {shown(e.high)}]" for e in result.overall if e.n)


def tally(result: "Audit", adjusted: bool = False) -> str:
    """How many comparisons ended in each verdict, and optionally how they were adjusted."""
    if not result.findings:
        return "none: nothing was compared"
    counts = Counter(finding.verdict for finding in result.findings)
    verdicts = ", ".join(f"{n:,} {verdict}" for verdict, n in counts.most_common())
    return f"{len(result.findings):,}: {verdicts}{f'; adjusted {adjustment(result.settings)}' if adjusted else ''}"


def _equity_lines(answer: "Audit", columns: int | None = None) -> list[str]:
    """The equity measures as a table, the reasons why some are undefined, and the groups too small for them."""
    if not answer.equity:
        return []
    head = ("attribute", "of", "measure", "value", "interval", "a fair system shows", "p")
    rows = [head]
    for measure in answer.equity:
        if measure.undefined:
            rows.append((measure.attribute, measure.metric, measure.measure, "undefined", "", "", ""))
        else:
            rows.append(
                (
                    measure.attribute,
                    measure.metric,
                    measure.measure,
                    f"{measure.value:.3f}",
                    f"[{measure.low:.3f}, {measure.high:.3f}]",
                    f"{measure.fair:.3f}, 19 of 20 within {measure.fair_limit:.3f}",
                    f"{measure.p:.2g}",
                )
            )
    table = fitted(rows, columns, spare=("a fair system shows", "p"))
    why = list(dict.fromkeys(measure.undefined for measure in answer.equity if measure.undefined))
    small = list(
        dict.fromkeys(f"{measure.attribute} = {group}" for measure in answer.equity for group in measure.left_out)
    )
    left = [f"too small for equity measures: {', '.join(small[:MOST_LEFT_OUT])}"] if small else []
    return ["", "equity measures", *table, *(f"undefined {reason}" for reason in why), *left]


def unit_lines(result: "Audit", columns: int | None = None) -> list[str]:
    """Lines on the unit, the conditions on rows, the adjustment, notes, and the attributes that were not compared."""
    settings = result.settings
    lines = wrapped("unit", in_flags(settings["unit"]), columns)
    if settings["where"]:
        conditions = " and ".join(f"{name} = {' or '.join(values)}" for name, values in settings["where"].items())
        lines += wrapped("where", conditions, columns)
    lines += wrapped("adjusted", adjustment(settings), columns)
    for text in settings["notes"]:
        lines += wrapped("note", in_flags(text), columns)
    left = settings["not_compared"]
    unnamed = [str(entry["attribute"]) for entry in left if entry["why"] == "not named"]
    reasons = [f"{entry['attribute']} ({entry['why']})" for entry in left if entry["why"] != "not named"]
    if unnamed:
        more = f" and {len(unnamed) - MOST_LEFT_OUT} more" if len(unnamed) > MOST_LEFT_OUT else ""
        reasons.append(f"{', '.join(unnamed[:MOST_LEFT_OUT])}{more} (not named)")
    if not reasons:
        return lines
    text = f"not compared: {'; '.join(reasons)}"
    return [*lines, *(textwrap.wrap(text, columns, subsequent_indent=" " * 9) if columns else [text])]


def adjustment(settings: dict[str, object]) -> str:
    """How many comparisons were accounted for, in words."""
    if settings["adjust"] == "minp":
        return f"by min-p over {settings['permutations']:,} joint permutations of the labels"
    names = {"holm": "Holm", "bh": "Benjamini and Hochberg (false discovery rate)"}
    why = f" ({settings['adjust_why']})" if settings["adjust_why"] else ""
    return f"by {names[str(settings['adjust'])]}{why}"


HEAD = ("metric", "attribute = group", "n", "estimate and interval", "", "versus", "difference", "p adj.", "verdict")
SPARE = ("p adj.", "n", "", "metric")
"""Columns that a narrow terminal leaves out, in this order; the bar has no name."""


def _short(f: "Finding", way: str) -> str:
    """A verdict for a narrow terminal."""
    if f.severity:
        return "differs" if way == "differs" else f"served {way}"
    return {"insufficient evidence": "too little data", "untestable": "too few"}.get(f.verdict, "no gap")


def _table(findings: list["Finding"], floor: float, columns: int | None) -> list[str]:
    from countenance.auditing.verdict import p_words
    from countenance.report.words import own_mark

    if not findings:
        return []
    rows: list[Sequence[str]] = [HEAD]
    for f in findings:
        way = f.direction if f.direction in ("worse", "better") else "differs" if f.severity else ""
        colour = "favoured" if way == "better" and f.severity else own_mark(f)
        rows.append(
            (
                f.measure,
                f"{f.attribute} = {f.group}",
                PaintedText(f.counted or f"{f.n:,}", short=f"{f.clusters:,}"),
                f"{f.estimate:.3f} [{f.low:.3f}, {f.high:.3f}]" if f.n else "no units",
                spark(f.estimate) if f.metric_kind == "rate" and f.n else "",
                f"{f.versus} {f.estimate_versus:.3f}" if f.n_versus else f"{f.versus}: no units",
                f"{f.difference:+.3f}" if f.difference == f.difference else "",
                p_words(f.p_adjusted, floor) if f.p_adjusted == f.p_adjusted else "",
                PaintedText(f.verdict + (f" ({f.severity}, {way})" if f.severity else ""), colour, _short(f, way)),
            )
        )
    if len({f.measure for f in findings}) == 1 and columns is not None:
        return [f"{findings[0].measure}", *fitted([row[1:] for row in rows], columns, SPARE)]
    return list(fitted(rows, columns, SPARE))


def _left_out(answer: "Audit", columns: int | None = None) -> list[str]:
    """The groups that were not compared; many intersections, and groups without rows for one reason, are counted."""
    from countenance.report.names import Names

    named, names = set(answer.settings["named"]), Names.of(answer)
    blocks = list(dict.fromkeys((left["metric"], left["attribute"]) for left in answer.excluded))

    def place(left: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
        return blocks.index((left["metric"], left["attribute"])), names.place(left["attribute"], left["group"])

    crossed = sum(left["attribute"] not in named for left in answer.excluded)
    shown = sorted((left for left in answer.excluded if left["attribute"] in named), key=place)
    without_rows = Counter((left["attribute"], left["why"]) for left in shown if not left["n"])
    reasons = []
    for left in shown:
        alike = 0 if left["n"] else without_rows[left["attribute"], left["why"]]
        alone = f"{left['attribute']} = {left['group']} (n = {left['n']:,})"
        who = f"{alike:,} groups of {left['attribute']}" if alike > 1 else alone
        reasons.append(f"{who}: {left['why']}")
    lines = [line for reason in dict.fromkeys(reasons) for line in wrapped("left out", reason, columns)]
    if crossed:
        word = "1 intersection is" if crossed == 1 else f"{crossed:,} intersections are"
        further = "--json, findings.parquet or the report lists them"
        lines += wrapped("left out", f"{word} too small to test: {further}", columns)
    return lines


def _run_sentences(finished: "Run", result: "Audit") -> str:
    """The sentence with which the page of the run begins."""
    from countenance.report.first_screen import terminal_words
    from countenance.report.page import too_many_failed
    from countenance.report.source import ReportSource

    short = terminal_words(ReportSource(result, finished.task(), finished), finished.model_label)
    if too_many_failed(finished.manifest.model_dump()):
        return f"{result.reason.partition('. ')[0]}. {short}"
    return short


def run_lines(finished: "Run", result: "Audit", columns: int | None = None) -> list[str]:
    """The verdict on a run, everyone's scores, and how many comparisons ended how."""
    from countenance.report.numbers import plural
    from countenance.report.words import mark

    every, result = result, result.without_given()
    manifest = finished.manifest
    failed = f", {manifest['failed']} without a prediction" if manifest["failed"] else ""
    images = f"{plural(manifest['dataset']['images'], 'image')} of {manifest['dataset']['card']['name']}{failed}"
    short = _run_sentences(finished, result)
    scores = f": {overall_words(result)}" if result.overall else ""
    worst = "severe" if any(f.severity == "severe" for f in result.findings) else "minor"
    return [
        PaintedLine(["verdict  ", PaintedText(result.verdict, mark(result.verdict, worst))]),
        *wrapped("in short", in_flags(short), columns),
        *wrapped("model", f"{manifest['model']['name']} on {images}{scores}", columns),
        *wrapped("unit", in_flags(result.settings["unit"]), columns),
        *wrapped("findings", tally(result, adjusted=True), columns),
        *given_lines(every, columns),
    ]
